//! Lists with shares: `bssplit`, the zoned distributions.

use super::number::{Quantity, quantity, strip_comment};
use crate::spec::{SplitEntry, Zone};

/// Most entries of a `bssplit` direction; the rest is cut off with a message.
const SPLIT_ENTRIES_MAX: usize = 64;
/// Most zones of a zoned distribution.
const ZONES_MAX: usize = 256;

/// What the three directions get: `None` leaves a direction as it was.
pub(crate) type PerDirection<T> = [Option<Vec<T>>; 3];

/// The entries of one direction. A separator at the end has no entry behind it.
fn list_entries(text: &str) -> impl Iterator<Item = &str> {
    text.strip_suffix(':').unwrap_or(text).split(':')
}

/// Gives texts to directions: one text goes to all, the second of two to write and trim.
/// An empty text leaves its directions alone.
fn directions(text: &str) -> Result<[Option<&str>; 3], String> {
    let texts: Vec<&str> = text.split(',').map(str::trim).collect();
    let some = |at: usize| texts.get(at).copied().filter(|t| !t.is_empty());
    match texts.len() {
        1 => Ok([some(0); 3]),
        2 => Ok([some(0), some(1), some(1)]),
        3 => Ok([some(0), some(1), some(2)]),
        n => Err(format!("{n} lists, but there are three directions")),
    }
}

/// `bssplit=SIZE[/PERCENT]:…[,…[,…]]`, sorted by share. The notice tells of a list cut short.
pub(crate) fn block_sizes(
    text: &str,
    kb_base: u32,
    notice: &mut Option<String>,
) -> Result<PerDirection<SplitEntry>, String> {
    let mut result = [None, None, None];
    for (direction, text) in directions(strip_comment(text))?.into_iter().enumerate() {
        if let Some(text) = text {
            result[direction] = Some(one_split(text, kb_base, notice)?);
        }
    }
    Ok(result)
}

fn one_split(
    text: &str,
    kb_base: u32,
    notice: &mut Option<String>,
) -> Result<Vec<SplitEntry>, String> {
    let mut entries: Vec<(u64, Option<u32>)> = Vec::new();
    for entry in list_entries(text) {
        if entries.len() == SPLIT_ENTRIES_MAX {
            *notice = Some(format!("only the first {SPLIT_ENTRIES_MAX} entries count"));
            break;
        }
        let (size, percent) = split_entry(entry)?;
        let size = bytes(size, kb_base)?;
        if size == 0 {
            return Err(format!("'{entry}': a block of 0 bytes is not possible"));
        }
        entries.push((size, percent));
    }
    let open = entries
        .iter()
        .filter(|(_, percent)| percent.is_none())
        .count() as u32;
    let sum: u32 = entries.iter().filter_map(|(_, percent)| *percent).sum();
    if sum > 100 && open > 1 {
        return Err(format!(
            "the shares add up to {sum} %, nothing is left for the others"
        ));
    }
    // A single open entry gets 0, as in fio: the last entry catches the rest anyway.
    let rest = if entries.len() == 1 {
        0
    } else {
        100_u32.wrapping_sub(sum)
    };
    let share = rest.checked_div(open).unwrap_or(0);
    let mut split: Vec<SplitEntry> = entries
        .into_iter()
        .map(|(size, percent)| SplitEntry {
            size,
            percent: percent.unwrap_or(share),
        })
        .collect();
    // Signed comparison: a wrapped share counts as negative and is walked first.
    split.sort_by_key(|entry| entry.percent.cast_signed());
    Ok(split)
}

/// `random_distribution=zoned:…` (`absolute` false) or `zoned_abs:…`.
pub(crate) fn zones(
    text: &str,
    absolute: bool,
    kb_base: u32,
    notice: &mut Option<String>,
) -> Result<PerDirection<Zone>, String> {
    let text = strip_comment(text);
    if text.is_empty() {
        return Ok([Some(Vec::new()), Some(Vec::new()), Some(Vec::new())]);
    }
    let mut result = [None, None, None];
    for (direction, text) in directions(text)?.into_iter().enumerate() {
        if let Some(text) = text {
            result[direction] = Some(one_zone_list(text, absolute, kb_base, notice)?);
        }
    }
    Ok(result)
}

fn one_zone_list(
    text: &str,
    absolute: bool,
    kb_base: u32,
    notice: &mut Option<String>,
) -> Result<Vec<Zone>, String> {
    let mut zones: Vec<(u32, Option<u64>)> = Vec::new();
    for entry in list_entries(text) {
        if zones.len() == ZONES_MAX {
            *notice = Some(format!("only the first {ZONES_MAX} zones count"));
            break;
        }
        let (access, size) = match entry.split_once('/') {
            Some((access, size)) => (access, Some(size)),
            None => (entry, None),
        };
        let access_percent =
            share(access)?.ok_or_else(|| format!("'{entry}': the share of accesses is missing"))?;
        let size = match size {
            Some(size) if absolute && !size.trim().is_empty() => Some(bytes(size, kb_base)?),
            Some(size) if !absolute => share(size)?.map(|p| u64::from(p.min(100))),
            _ => None,
        };
        zones.push((access_percent, size.filter(|size| *size > 0)));
    }
    let access_sum: u64 = zones.iter().map(|(access, _)| u64::from(*access)).sum();
    let size_sum: u64 = zones
        .iter()
        .filter_map(|(_, size)| *size)
        .fold(0, u64::saturating_add);
    if access_sum != 100 {
        return Err(format!(
            "the shares of accesses add up to {access_sum} %, not to 100 %"
        ));
    }
    if absolute {
        return Ok(zone_list(zones, 0));
    }
    if size_sum > 100 {
        return Err(format!("the sizes add up to {size_sum} % of the file"));
    }
    let open = zones.iter().filter(|(_, size)| size.is_none()).count() as u64;
    let rest = if zones.len() == 1 { 0 } else { 100 - size_sum };
    Ok(zone_list(zones, rest.checked_div(open).unwrap_or(0)))
}

fn zone_list(zones: Vec<(u32, Option<u64>)>, default_size: u64) -> Vec<Zone> {
    zones
        .into_iter()
        .map(|(access_percent, size)| Zone {
            access_percent,
            size: size.unwrap_or(default_size),
        })
        .collect()
}

fn split_entry(entry: &str) -> Result<(&str, Option<u32>), String> {
    let Some((size, percent)) = entry.split_once('/') else {
        return Ok((entry, None));
    };
    // 0 means "share the rest", as a missing share does; more than 100 counts as 100.
    let percent = share(percent)?.filter(|p| *p > 0).map(|p| p.min(100));
    Ok((size, percent))
}

/// A share in whole per cent; the per cent sign is allowed. Empty is `None`.
fn share(text: &str) -> Result<Option<u32>, String> {
    let digits = text.trim();
    let digits = digits.strip_suffix('%').unwrap_or(digits);
    if digits.is_empty() {
        return Ok(None);
    }
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("'{text}' is no share in whole per cent"));
    }
    digits
        .parse()
        .map(Some)
        .map_err(|_| format!("'{text}' is no share in per cent"))
}

fn bytes(text: &str, kb_base: u32) -> Result<u64, String> {
    match quantity(text, kb_base)? {
        Quantity::Number(number) => {
            u64::try_from(number).map_err(|_| format!("'{text}' is out of range"))
        }
        _ => Err(format!("'{text}' is no size in bytes")),
    }
}
