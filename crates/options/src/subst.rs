//! Substitution in job file lines: environment, machine keywords, arithmetic.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::host::Host;

/// A line with its variables does not grow beyond this; a variable that does not fit is left out.
const LINE_BYTES_MAX: usize = 8192;
/// Arithmetic looks at short lines only.
const ARITHMETIC_LINE_MAX: usize = 128;
const ARITHMETIC_VALUE_MAX: usize = 100;

/// The line `NAME=VALUE` with everything replaced.
pub(crate) fn substitute(line: &[u8], host: &dyn Host) -> Result<Vec<u8>, String> {
    let line = environment(line, host);
    let (line, replaced) = keywords(line, host);
    if replaced { arithmetic(line) } else { Ok(line) }
}

/// `${VAR}`; the inserted text is not looked at again.
fn environment(line: &[u8], host: &dyn Host) -> Vec<u8> {
    let mut result = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = find(rest, b"${") {
        let Some(len) = rest[start + 2..].iter().position(|b| *b == b'}') else {
            break;
        };
        let name = &rest[start + 2..start + 2 + len];
        result.extend_from_slice(&rest[..start]);
        rest = &rest[start + 2 + len + 1..];
        if let Some(value) = host.env(OsStr::from_bytes(name)) {
            let value = value.into_vec();
            if result.len() + value.len() + rest.len() <= LINE_BYTES_MAX {
                result.extend_from_slice(&value);
            }
        }
    }
    result.extend_from_slice(rest);
    result
}

/// `$pagesize`, `$mb_memory`, `$ncpus`, wherever they stand.
fn keywords(line: Vec<u8>, host: &dyn Host) -> (Vec<u8>, bool) {
    let mut line = line;
    let mut replaced = false;
    let page_size = || host.page_size();
    let memory = || host.memory_mib();
    let cpus = || u64::from(host.configured_cpus());
    let values: [(&[u8], &dyn Fn() -> u64); 3] = [
        (b"$pagesize", &page_size),
        (b"$mb_memory", &memory),
        (b"$ncpus", &cpus),
    ];
    for (keyword, value) in values {
        while let Some(at) = find(&line, keyword) {
            let text = value().to_string();
            line.splice(at..at + keyword.len(), text.into_bytes());
            replaced = true;
        }
    }
    (line, replaced)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// The value is calculated where the line holds an operator. The rules are those of the
/// calculator `bc` with scale 0, which fio calls.
fn arithmetic(line: Vec<u8>) -> Result<Vec<u8>, String> {
    let operators = line.iter().any(|b| matches!(b, b'+' | b'-' | b'*' | b'/'));
    let Some(equals) = line.iter().position(|b| *b == b'=') else {
        return Ok(line);
    };
    let value = &line[equals + 1..];
    let calculated = operators
        && !line.contains(&b'\'')
        && line.len() < ARITHMETIC_LINE_MAX
        && value.len() <= ARITHMETIC_VALUE_MAX;
    if !calculated {
        return Ok(line);
    }
    let shown = String::from_utf8_lossy(value).into_owned();
    let mut calculator = Calculator {
        text: value,
        at: 0,
        depth: 0,
        by_zero: false,
    };
    let number = calculator.whole().ok_or_else(|| {
        if calculator.by_zero {
            format!("'{shown}' cannot be calculated: division by zero")
        } else {
            format!("'{shown}' cannot be calculated (operators: + - * / % ^)")
        }
    })?;
    let mut result = line[..=equals].to_vec();
    result.extend_from_slice(number.to_string().as_bytes());
    Ok(result)
}

/// A decimal number: `units` divided by 10 to the power of `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    units: i128,
    scale: u32,
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let power = 10_u128.pow(self.scale);
        let magnitude = self.units.unsigned_abs();
        let sign = if self.units < 0 { "-" } else { "" };
        write!(f, "{sign}{}", magnitude / power)?;
        if self.scale > 0 {
            write!(
                f,
                ".{:0width$}",
                magnitude % power,
                width = self.scale as usize
            )?;
        }
        Ok(())
    }
}

/// Digits behind the point beyond this are not worth the overflow.
const SCALE_MAX: u32 = 18;
const CALCULATOR_DEPTH_MAX: u32 = 64;

struct Calculator<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
    /// What failed was a division by zero.
    by_zero: bool,
}

/// Every step yields `None` where bc would complain.
impl Calculator<'_> {
    fn whole(&mut self) -> Option<Decimal> {
        let number = self.sum()?;
        if self.peek().is_some() {
            None
        } else {
            Some(number)
        }
    }

    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn sum(&mut self) -> Option<Decimal> {
        self.depth += 1;
        if self.depth > CALCULATOR_DEPTH_MAX {
            return None;
        }
        let mut left = self.product()?;
        loop {
            let sign = match self.peek() {
                Some(b'+') => 1,
                Some(b'-') => -1,
                _ => break,
            };
            self.at += 1;
            let right = self.product()?;
            let scale = left.scale.max(right.scale);
            let units =
                rescale(left, scale)?.checked_add(rescale(right, scale)?.checked_mul(sign)?)?;
            left = Decimal { units, scale };
        }
        self.depth -= 1;
        Some(left)
    }

    fn product(&mut self) -> Option<Decimal> {
        let mut left = self.power()?;
        loop {
            match self.peek() {
                Some(b'*') => {
                    self.at += 1;
                    left = multiply(left, self.power()?)?;
                }
                Some(b'/') => {
                    self.at += 1;
                    left = divide(left, self.divisor()?)?;
                }
                Some(b'%') => {
                    self.at += 1;
                    let right = self.divisor()?;
                    let whole = multiply(divide(left, right)?, right)?;
                    let scale = left.scale.max(right.scale);
                    let units = rescale(left, scale)?.checked_sub(rescale(whole, scale)?)?;
                    left = Decimal { units, scale };
                }
                _ => return Some(left),
            }
        }
    }

    fn divisor(&mut self) -> Option<Decimal> {
        let number = self.power()?;
        self.by_zero = number.units == 0;
        (!self.by_zero).then_some(number)
    }

    fn power(&mut self) -> Option<Decimal> {
        self.depth += 1;
        if self.depth > CALCULATOR_DEPTH_MAX {
            return None;
        }
        let base = self.sign()?;
        let result = if self.eat(b'^') {
            let exponent = rescale(self.power()?, 0)?;
            let power = u32::try_from(exponent).ok()?;
            let scale = base.scale.checked_mul(power)?;
            if scale > SCALE_MAX {
                return None;
            }
            Decimal {
                units: base.units.checked_pow(power)?,
                scale,
            }
        } else {
            base
        };
        self.depth -= 1;
        Some(result)
    }

    fn sign(&mut self) -> Option<Decimal> {
        let mut negative = false;
        while self.eat(b'-') {
            negative = !negative;
        }
        let number = self.primary()?;
        let units = if negative {
            number.units.checked_neg()?
        } else {
            number.units
        };
        Some(Decimal { units, ..number })
    }

    fn primary(&mut self) -> Option<Decimal> {
        if self.eat(b'(') {
            let inner = self.sum()?;
            return if self.eat(b')') { Some(inner) } else { None };
        }
        let first = self.peek()?;
        if first.is_ascii_lowercase() {
            // A name is a variable, and all variables are 0.
            while self
                .text
                .get(self.at)
                .is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_')
            {
                self.at += 1;
            }
            return Some(Decimal { units: 0, scale: 0 });
        }
        self.number()
    }

    fn number(&mut self) -> Option<Decimal> {
        let mut units: i128 = 0;
        let mut scale = 0;
        let mut digits = 0;
        let mut point = false;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'0'..=b'9' => {
                    digits += 1;
                    scale += u32::from(point);
                    units = units
                        .checked_mul(10)?
                        .checked_add(i128::from(byte - b'0'))?;
                }
                b'.' if !point => point = true,
                _ => break,
            }
            self.at += 1;
        }
        if digits == 0 || scale > SCALE_MAX {
            return None;
        }
        Some(Decimal { units, scale })
    }
}

fn rescale(number: Decimal, scale: u32) -> Option<i128> {
    if scale >= number.scale {
        number
            .units
            .checked_mul(10_i128.checked_pow(scale - number.scale)?)
    } else {
        number
            .units
            .checked_div(10_i128.checked_pow(number.scale - scale)?)
    }
}

/// The scale of a product is that of the factors, as far as one of them had it.
fn multiply(a: Decimal, b: Decimal) -> Option<Decimal> {
    let scale = (a.scale + b.scale).min(a.scale.max(b.scale));
    let full = Decimal {
        units: a.units.checked_mul(b.units)?,
        scale: a.scale + b.scale,
    };
    Some(Decimal {
        units: rescale(full, scale)?,
        scale,
    })
}

/// Whole numbers only.
fn divide(a: Decimal, b: Decimal) -> Option<Decimal> {
    let scale = a.scale.max(b.scale);
    let units = rescale(a, scale)?.checked_div(rescale(b, scale)?)?;
    Some(Decimal { units, scale: 0 })
}

#[cfg(test)]
mod tests {
    use super::arithmetic;

    fn calculate(text: &str) -> Option<String> {
        let line = format!("x={text}").into_bytes();
        let result = arithmetic(line).ok()?;
        Some(String::from_utf8_lossy(&result[2..]).into_owned())
    }

    #[test]
    fn calculates_as_bc_does() {
        for (text, expected) in [
            ("4096*2", "8192"),
            ("4096/3", "1365"),
            ("(4096+512)*2", "9216"),
            ("1.5*4096", "6144.0"),
            ("4096^2/4096", "4096"),
            ("2+x", "2"),
            ("-3+5", "2"),
            ("7%4-1", "2"),
        ] {
            assert_eq!(calculate(text).as_deref(), Some(expected), "{text}");
        }
        for bad in [
            "4096*",
            "/tmp/4096",
            "2m*4096",
            "4096-64k",
            "4096*2,3",
            "1/0",
            "+1",
        ] {
            assert_eq!(calculate(bad), None, "{bad}");
        }
    }
}
