//! Numbers, sizes and times.
//!
//! A value is taken whole or refused: fractions mean what they say (`4.5k` is 4608) and text that
//! has no meaning behind a number is an error, where fio drops it without a word.

use super::expr;

/// What a number text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// A plain number, or a size in bytes.
    Number(i128),
    /// Per cent.
    Percent(u64),
    /// Zones of a zoned device.
    Zones(u64),
}

/// Unit of a bare number where the option is a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Microseconds.
    Microseconds,
}

/// A sign, digits with an optional fraction, and what follows.
struct Decimal<'a> {
    negative: bool,
    /// All digits without the point.
    digits: i128,
    /// 10 to the number of digits behind the point.
    scale: i128,
    rest: &'a str,
}

/// Longest run of digits that still fits the arithmetic below with every multiplier.
const DIGITS_MAX: usize = 20;
/// Digits behind the point beyond this number carry no information for a size or a time.
const FRACTION_DIGITS_MAX: usize = 9;

/// Cuts a comment and the blanks around a value. Job file lines come without comments already;
/// on the command line number values may carry one.
pub(crate) fn strip_comment(text: &str) -> &str {
    let end = text.find([';', '#']).unwrap_or(text.len());
    text[..end].trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}')
}

/// A number or size: `4096`, `0x1000`, `4k`, `1.5m`, `20%`, `3z`, `(2*3k)`.
///
/// `kb_base` 1024: `k`, `kb`, `ki` are 1024 and `kib` is 1000; 1000 turns these around. fio's
/// manual calls this backward compatibility and many job files depend on it.
pub(crate) fn quantity(text: &str, kb_base: u32) -> Result<Quantity, String> {
    let text = text.trim();
    if is_expression(text) {
        return expr::evaluate_size(text).map(Quantity::Number);
    }
    if let Some(number) = hexadecimal(text)? {
        return Ok(Quantity::Number(number));
    }
    let decimal = decimal(text)?;
    let unit = decimal.rest.to_ascii_lowercase();
    let whole = |what: &str| -> Result<i128, String> {
        if decimal.digits % decimal.scale != 0 {
            return Err(format!("'{text}': a fraction of a {what} has no meaning"));
        }
        let number = decimal.digits / decimal.scale;
        Ok(if decimal.negative { -number } else { number })
    };
    match unit.as_str() {
        "" | "b" => return whole("unit").map(Quantity::Number),
        // The doubled sign is what templates and batch files make of an escaped one.
        "%" | "%%" | "z" => {
            let zones = unit == "z";
            let number = whole(if zones { "zone" } else { "per cent" })?;
            let number =
                u64::try_from(number).map_err(|_| format!("'{text}': must not be negative"))?;
            return Ok(if zones {
                Quantity::Zones(number)
            } else {
                Quantity::Percent(number)
            });
        }
        _ => {}
    }
    let factor = size_factor(&unit, kb_base).ok_or_else(|| {
        let units = "k, m, g, t or p, alone or followed by b, i or ib";
        no_unit(text, decimal.rest, "size", units)
    })?;
    // Whole bytes: what is left of a byte is dropped, 1.3g has no exact meaning anyway.
    let bytes = decimal
        .digits
        .checked_mul(factor)
        .ok_or_else(|| format!("'{text}': too large"))?
        / decimal.scale;
    Ok(Quantity::Number(if decimal.negative {
        -bytes
    } else {
        bytes
    }))
}

/// A time in microseconds: `10`, `10s`, `1.5`, `250ms`, `(2*30s)`.
pub(crate) fn time_us(text: &str, unit: TimeUnit) -> Result<u64, String> {
    let text = text.trim();
    let default_factor = match unit {
        TimeUnit::Seconds => 1_000_000,
        TimeUnit::Microseconds => 1,
    };
    let us = if is_expression(text) {
        expr::evaluate_time_us(text, default_factor)?
    } else if let Some(number) = hexadecimal(text)? {
        number
            .checked_mul(default_factor)
            .ok_or_else(|| format!("'{text}': too large"))?
    } else {
        let decimal = decimal(text)?;
        let factor = match decimal.rest.to_ascii_lowercase().as_str() {
            "" => default_factor,
            "us" | "usec" => 1,
            "ms" | "msec" => 1_000,
            "s" => 1_000_000,
            "m" => 60 * 1_000_000,
            "h" => 3_600 * 1_000_000,
            "d" => 86_400 * 1_000_000,
            _ => {
                let units = "us, usec, ms, msec, s, m for minutes, h, d";
                return Err(no_unit(text, decimal.rest, "time", units));
            }
        };
        let us = decimal
            .digits
            .checked_mul(factor)
            .ok_or_else(|| format!("'{text}': too large"))?
            / decimal.scale;
        if decimal.negative { -us } else { us }
    };
    if us < 0 {
        return Err(format!("'{text}': a time must not be negative"));
    }
    u64::try_from(us).map_err(|_| format!("'{text}': too large"))
}

/// A switch: any whole number, zero is off.
pub(crate) fn switch(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let number = match lower.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(plain_digits(hex), 16).ok(),
        None => plain_digits(&lower).parse::<u32>().ok(),
    };
    match number {
        Some(number) if negative => Ok(-i64::from(number)),
        Some(number) => Ok(i64::from(number)),
        None => Err(format!("'{text}' is no switch: use 1 or 0")),
    }
}

/// `from_str_radix` accepts a sign of its own; a second sign is an error here.
fn plain_digits(text: &str) -> &str {
    if text.starts_with(['+', '-']) {
        ""
    } else {
        text
    }
}

/// Arithmetic stands in parentheses. Elsewhere fio drops all from the operator on, so an operator
/// there is an error: any way to calculate it would be another size than fio's.
fn is_expression(text: &str) -> bool {
    text.starts_with('(')
}

/// What is wrong with text behind a number that is no unit: `kind` and `units` say what would be.
fn no_unit(text: &str, rest: &str, kind: &str, units: &str) -> String {
    let operator = rest.find(['+', '-', '*', '/', '%', '^']);
    match operator.map(|at| &rest[at..=at]) {
        // A sign of per cent is none where nothing follows it.
        Some(operator) if rest != "%" => format!(
            "'{text}': the operator '{operator}' has no meaning outside parentheses; write the \
             result, or the calculation in parentheses"
        ),
        _ => format!("'{text}': '{rest}' is no unit of {kind} ({units})"),
    }
}

/// The multiplier of a lower-case size unit.
fn size_factor(unit: &str, kb_base: u32) -> Option<i128> {
    let mut letters = unit.chars();
    let power = match letters.next()? {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        _ => return None,
    };
    let iec = match letters.as_str() {
        "" | "b" | "i" => false,
        "ib" => true,
        _ => return None,
    };
    let base: i128 = if iec == (kb_base == 1000) { 1024 } else { 1000 };
    Some(base.pow(power))
}

/// The value of a hexadecimal number, or `None` where the text is none. Units do not combine with
/// hexadecimal digits.
fn hexadecimal(text: &str) -> Result<Option<i128>, String> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    else {
        return Ok(None);
    };
    if hex.is_empty() || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!(
            "'{text}' is no hexadecimal number (these take no unit)"
        ));
    }
    let number = i64::from_str_radix(hex, 16).map_err(|_| format!("'{text}': too large"))?;
    Ok(Some(if negative {
        -i128::from(number)
    } else {
        i128::from(number)
    }))
}

fn decimal(text: &str) -> Result<Decimal<'_>, String> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let whole_len = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, mut rest) = unsigned.split_at(whole_len);
    let mut fraction = "";
    if let Some(tail) = rest.strip_prefix('.') {
        let len = tail.bytes().take_while(u8::is_ascii_digit).count();
        if len > 0 {
            (fraction, rest) = tail.split_at(len);
        }
    }
    if whole.is_empty() {
        return Err(format!("'{text}' does not begin with a number"));
    }
    let whole = whole.trim_start_matches('0');
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS_MAX)];
    if whole.len() > DIGITS_MAX {
        return Err(format!("'{text}': too large"));
    }
    let mut digits: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        digits = digits * 10 + i128::from(digit - b'0');
    }
    let scale = 10_i128.pow(fraction.len() as u32);
    if digits / scale > i128::from(i64::MAX) {
        return Err(format!("'{text}': too large"));
    }
    Ok(Decimal {
        negative,
        digits,
        scale,
        rest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Option<i128> {
        match quantity(text, 1024) {
            Ok(Quantity::Number(number)) => Some(number),
            _ => None,
        }
    }

    #[test]
    fn sizes_are_taken_whole() {
        assert_eq!(bytes("4.5k"), Some(4608));
        assert_eq!(bytes(" 8k "), Some(8192));
        assert_eq!(bytes("1.5m"), Some(1_572_864));
        assert_eq!(bytes("4kib"), Some(4000));
        assert_eq!(bytes("6144.0"), Some(6144));
        assert_eq!(bytes("(128*1)"), Some(128));
        assert_eq!(bytes("(4k*2)"), Some(8192));
        assert_eq!(bytes("-1k"), Some(-1024));
        for bad in [
            "4q", "4kk", "4k4", "4k junk", "4 k", "1.5", "1e", "0x10k", "100x", "", "k", "1.",
            "--4", "4k*2", "8k/2k", "4k/2", "4+4", "128*1", "2^12", "9%5", "-4*2", "0x10*2",
        ] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn operators_outside_parentheses_are_named() {
        for (text, operator) in [
            ("8k/2k", "/"),
            ("4*2", "*"),
            ("4096^2", "^"),
            ("4096%1000", "%"),
        ] {
            let why = quantity(text, 1024).expect_err(text);
            let named = format!("operator '{operator}'");
            assert!(why.contains(text) && why.contains(&named), "{why}");
        }
        let why = time_us("10%", TimeUnit::Seconds).expect_err("per cent");
        assert!(why.contains("'%' is no unit of time"), "{why}");
    }

    #[test]
    fn base_1000_turns_the_units_around() {
        assert_eq!(quantity("4k", 1000), Ok(Quantity::Number(4000)));
        assert_eq!(quantity("4kib", 1000), Ok(Quantity::Number(4096)));
        assert_eq!(quantity("4ki", 1000), Ok(Quantity::Number(4000)));
    }

    #[test]
    fn times_keep_fractions_and_refuse_unknown_units() {
        assert_eq!(time_us("30", TimeUnit::Seconds), Ok(30_000_000));
        assert_eq!(time_us("30s", TimeUnit::Seconds), Ok(30_000_000));
        assert_eq!(time_us("1.5", TimeUnit::Seconds), Ok(1_500_000));
        assert_eq!(time_us("10", TimeUnit::Microseconds), Ok(10));
        assert_eq!(time_us("1M", TimeUnit::Seconds), Ok(60_000_000));
        assert_eq!(time_us("(40+20)", TimeUnit::Seconds), Ok(60_000_000));
        for bad in [
            "10sec",
            "10min",
            "10ns",
            "-1",
            "s",
            "10%",
            "1w",
            "40+20",
            "2*30s",
            "99999999999d",
        ] {
            assert!(time_us(bad, TimeUnit::Seconds).is_err(), "{bad}");
        }
    }

    #[test]
    fn switches() {
        assert_eq!(switch("0x1"), Ok(1));
        assert_eq!(switch(" 00 "), Ok(0));
        assert_eq!(switch("-1"), Ok(-1));
        for bad in ["", "true", "1abc", "1.5", "--1", "4294967296"] {
            assert!(switch(bad).is_err(), "{bad}");
        }
    }
}
