//! Byte patterns: `"text"`, `'file'`, `0xhex`, decimal numbers, `%o`, one behind the other.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::host::Host;

/// Longest pattern in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 27;

/// The bytes of a pattern. `%o` stands for eight bytes of offset where `offsets` allows it.
pub(crate) fn parse(text: &[u8], offsets: bool, host: &dyn Host) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.trim_ascii_end();
    while !rest.is_empty() {
        rest = element(rest, offsets, host, &mut bytes)?;
        if bytes.len() > PATTERN_BYTES_MAX {
            return Err(format!(
                "the pattern is longer than {PATTERN_BYTES_MAX} bytes"
            ));
        }
    }
    if bytes.is_empty() {
        Err("the pattern is empty".to_string())
    } else {
        Ok(bytes)
    }
}

fn element<'a>(
    text: &'a [u8],
    offsets: bool,
    host: &dyn Host,
    bytes: &mut Vec<u8>,
) -> Result<&'a [u8], String> {
    let shown = String::from_utf8_lossy(text);
    match text {
        [b'"', tail @ ..] => {
            let (inner, rest) = quoted(tail, b'"')?;
            if inner.is_empty() {
                return Err("a text in quotes must not be empty".to_string());
            }
            bytes.extend_from_slice(inner);
            Ok(rest)
        }
        [b'\'', tail @ ..] => {
            let (inner, rest) = quoted(tail, b'\'')?;
            let path = Path::new(std::ffi::OsStr::from_bytes(inner));
            let content = host
                .read_file(path)
                .map_err(|error| format!("cannot read the file '{}': {error}", path.display()))?;
            bytes.extend_from_slice(&content);
            Ok(rest)
        }
        [b'0', b'x' | b'X', tail @ ..] => {
            // The next element may begin with 0x directly behind the digits.
            let mut len = tail.iter().take_while(|b| b.is_ascii_hexdigit()).count();
            if len > 1 && matches!(tail.get(len), Some(b'x' | b'X')) && tail[len - 1] == b'0' {
                len -= 1;
            }
            if len == 0 {
                return Err(format!("'{shown}': hexadecimal digits are missing"));
            }
            hex_bytes(&tail[..len], bytes);
            Ok(&tail[len..])
        }
        [b'%', b'o', rest @ ..] if offsets => {
            bytes.extend_from_slice(&[0; 8]);
            Ok(rest)
        }
        _ => decimal(text, bytes).ok_or_else(|| {
            format!("'{shown}' is no pattern: use \"text\", 'file', 0x.. or a number")
        }),
    }
}

fn quoted(text: &[u8], quote: u8) -> Result<(&[u8], &[u8]), String> {
    match text.iter().position(|b| *b == quote) {
        Some(end) => Ok((&text[..end], &text[end + 1..])),
        None => Err("a quote is not closed".to_string()),
    }
}

/// Pairs of digits from the left; an odd count gets a zero in front.
fn hex_bytes(digits: &[u8], bytes: &mut Vec<u8>) {
    let nibble = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    let mut rest = digits;
    if let [first, tail @ ..] = rest
        && rest.len() % 2 == 1
    {
        bytes.push(nibble(*first));
        rest = tail;
    }
    for pair in rest.chunks_exact(2) {
        bytes.push(nibble(pair[0]) << 4 | nibble(pair[1]));
    }
}

/// A signed 32-bit number, little endian without leading zero bytes.
fn decimal<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let text = text.trim_ascii_start();
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let len = sign
        + text[sign..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
    let number: i32 = std::str::from_utf8(&text[..len]).ok()?.parse().ok()?;
    let encoded = number.to_le_bytes();
    let used = encoded
        .iter()
        .rposition(|b| *b != 0)
        .map_or(1, |last| last + 1);
    bytes.extend_from_slice(&encoded[..used]);
    Some(&text[len..])
}
