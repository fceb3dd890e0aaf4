//! Numbers as reports print them: a few significant digits and a prefix.

/// What a scaled number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing named.
    None,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Bits per second; the number itself is given in bytes.
    BitsPerSecond,
}

impl Unit {
    /// Unit of a bandwidth for a `unit_base`: 8 bytes, 1 bits, 0 none.
    pub fn of_bandwidth(unit_base: u32) -> Self {
        match unit_base {
            0 => Unit::None,
            1 => Unit::BitsPerSecond,
            _ => Unit::BytesPerSecond,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::BitsPerSecond => "bit/s",
        }
    }
}

/// Whether a `kb_base` counts in powers of 1024.
pub fn is_binary(kb_base: u32) -> bool {
    kb_base.is_power_of_two()
}

const DECIMAL_PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const BINARY_PREFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Shortens `value` to about `digits` digits and names its power of 1000 or, with `binary`,
/// 1024.
///
/// `multiplier` says what `value` already counts in (1, 1000 or 1024). Digits behind the point
/// come from the last division only, and a carry is not passed on to the next prefix: 999999 in
/// four digits is `1000k`. Scripts compare these texts, so the rule is fixed.
pub fn scaled(value: u64, digits: u32, multiplier: u32, binary: bool, unit: Unit) -> String {
    let (base, prefixes) = match binary {
        true => (1024, &BINARY_PREFIXES),
        false => (1000, &DECIMAL_PREFIXES),
    };
    let mut prefix = 0;
    let mut multiplier = multiplier;
    while multiplier > 1 {
        multiplier /= base;
        prefix += 1;
    }
    let base = u64::from(base);
    let mut value = match unit {
        Unit::BitsPerSecond => value.wrapping_mul(8),
        _ => value,
    };
    let mut remainder = None;
    while prefix < prefixes.len() && decimal_digits(value) > digits {
        remainder = Some(value % base);
        value /= base;
        prefix += 1;
    }
    let prefix = prefixes.get(prefix).copied().unwrap_or_default();
    let number = match remainder {
        None => value.to_string(),
        Some(remainder) => with_remainder(value, remainder, base, digits),
    };
    format!("{number}{prefix}{}", unit.text())
}

/// `value` and as many digits of `remainder`/`base` as `digits` leaves room for.
fn with_remainder(value: u64, remainder: u64, base: u64, digits: u32) -> String {
    let room = digits.saturating_sub(decimal_digits(value));
    if room <= 1 {
        return (value + u64::from(remainder >= base / 2)).to_string();
    }
    let places = room as usize - 1;
    let fraction = format!("{:.places$}", remainder as f64 / base as f64);
    match fraction.strip_prefix("0.") {
        Some(decimals) => format!("{value}.{decimals}"),
        None => format!("{}.{}", value + 1, "0".repeat(places)),
    }
}

fn decimal_digits(value: u64) -> u32 {
    value.checked_ilog10().unwrap_or(0) + 1
}

/// Digit budget of the smallest and largest value in a latency or rate line.
const EXTREME_DIGITS: u32 = 6;

/// A smallest or largest value as latency lines print it.
pub fn extreme(value: u64) -> String {
    scaled(value, EXTREME_DIGITS, 1, false, Unit::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carries_stay_in_the_prefix() {
        let decimal = |value| scaled(value, 4, 1, false, Unit::None);
        assert_eq!(decimal(9999), "9999");
        assert_eq!(decimal(10_000), "10.0k");
        assert_eq!(decimal(99_999), "100.0k");
        assert_eq!(decimal(999_999), "1000k");
        let binary = |value| scaled(value, 4, 1, true, Unit::Bytes);
        assert_eq!(binary(10_000), "9.77KiB");
        assert_eq!(binary(10_239), "10.00KiB");
        assert_eq!(binary(1_023_999), "1000KiB");
    }

    #[test]
    fn the_largest_value_fits() {
        assert_eq!(scaled(u64::MAX, 4, 1, true, Unit::Bytes), "16.0EiB");
        assert_eq!(scaled(0, 4, 1, false, Unit::BitsPerSecond), "0bit/s");
    }
}
