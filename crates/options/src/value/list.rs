//! Lists: names split at ':', CPU sets, identifiers, errors.

use super::errno;
use super::number::strip_comment;

/// Most CPUs that a set can name (the size of the kernel's affinity mask in fio and here).
pub(crate) const CPUS_MAX: u32 = 1024;

/// Names split at ':'; `\:` is a literal colon, empty names vanish. A comment is cut off.
pub(crate) fn names(text: &[u8]) -> Vec<Vec<u8>> {
    let text = strip_byte_comment(text);
    let mut found = Vec::new();
    let mut name = Vec::new();
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' if rest.peek() == Some(&b':') => {
                name.push(b':');
                rest.next();
            }
            b':' => found.push(std::mem::take(&mut name)),
            _ => name.push(byte),
        }
    }
    found.push(name);
    found.retain(|name| !name.is_empty());
    found
}

/// Leading blanks and a comment go; bytes that are no text stay as they are.
pub(crate) fn strip_byte_comment(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .position(|b| !b.is_ascii_whitespace())
        .unwrap_or(text.len());
    let text = &text[start..];
    let end = text
        .iter()
        .position(|b| matches!(b, b';' | b'#'))
        .unwrap_or(text.len());
    text[..end].trim_ascii_end()
}

/// A CPU set: `0-3,6`. Ascending, without duplicates.
pub(crate) fn cpus(text: &str, configured: u32) -> Result<Vec<u32>, String> {
    let mut set = Vec::new();
    for item in strip_comment(text).split(',') {
        let item = item.trim();
        if item.is_empty() {
            break;
        }
        let (first, last) = match item.split_once('-') {
            Some((first, last)) => (cpu(first, configured)?, cpu(last, configured)?),
            None => {
                let only = cpu(item, configured)?;
                (only, only)
            }
        };
        set.extend(first..=last);
    }
    set.sort_unstable();
    set.dedup();
    Ok(set)
}

fn cpu(text: &str, configured: u32) -> Result<u32, String> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("'{text}' is no CPU number"));
    }
    let limit = configured.min(CPUS_MAX);
    match text.parse::<u32>() {
        Ok(cpu) if cpu < limit => Ok(cpu),
        _ => Err(format!(
            "there is no CPU {text}: the last one is {}",
            limit.saturating_sub(1)
        )),
    }
}

/// Placement identifiers: `A-B,C`, sorted.
pub(crate) fn placement_ids(text: &str) -> Result<Vec<u16>, String> {
    const IDS_MAX: usize = 128;
    let mut ids = Vec::new();
    for item in strip_comment(text).split(',') {
        let (first, last) = match item.split_once('-') {
            Some((first, last)) => (placement_id(first)?, placement_id(last)?),
            None => {
                let only = placement_id(item)?;
                (only, only)
            }
        };
        if first > last {
            return Err(format!("'{item}' runs backwards"));
        }
        ids.extend(first..=last);
        if ids.len() > IDS_MAX {
            return Err(format!("more than {IDS_MAX} identifiers"));
        }
    }
    ids.sort_unstable();
    Ok(ids)
}

fn placement_id(text: &str) -> Result<u16, String> {
    let text = text.trim();
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse::<u64>(),
    };
    let number = number.map_err(|_| format!("'{text}' is no placement identifier"))?;
    u16::try_from(number).map_err(|_| format!("the placement identifier {text} exceeds 0xffff"))
}

/// `ignore_error`: lists of errors for read, write and verify.
pub(crate) fn errors(text: &str) -> Result<[Vec<i32>; 3], String> {
    let mut classes = [Vec::new(), Vec::new(), Vec::new()];
    for (index, list) in strip_comment(text).split(',').enumerate() {
        let Some(class) = classes.get_mut(index) else {
            return Err("there are three lists only: read, write, verify".to_string());
        };
        for element in list.split(':') {
            let element = element.trim();
            if element.is_empty() {
                break;
            }
            class.push(error(element)?);
        }
    }
    Ok(classes)
}

fn error(text: &str) -> Result<i32, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let number = if text.starts_with('E') {
        errno::number(text)
    } else if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        i32::from_str_radix(hex, 16).ok()
    } else if digits.bytes().all(|b| b.is_ascii_digit()) {
        digits.parse().ok()
    } else {
        None
    };
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("'{text}' is no error: use a name such as EIO or a number"))
}
