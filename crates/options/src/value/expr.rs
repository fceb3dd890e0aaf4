//! Arithmetic in parentheses: `bs=(2*3k)`, `runtime=(1m+30s)`.
//!
//! The grammar is the one that fio's manual documents, with the precedence that fio 3.42 shows:
//! sums bind loosest, then unit suffixes (postfix), then products, powers (right), modulo, sign.
//! An integer and a floating result are carried side by side; which one goes on is decided by the
//! left operand.

/// Nesting and operator chains beyond this are refused; the parser is recursive.
const DEPTH_MAX: u32 = 64;

#[derive(Clone, Copy, Debug)]
struct Number {
    int: i128,
    float: f64,
    is_float: bool,
}

impl Number {
    fn integer(int: i128) -> Number {
        Number {
            int,
            float: int as f64,
            is_float: false,
        }
    }

    fn floating(float: f64) -> Number {
        Number {
            int: float as i128,
            float,
            is_float: true,
        }
    }
}

/// What the letter `m` means, and whether a suffix occurred.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    time: bool,
    suffixed: bool,
    depth: u32,
}

/// An expression of a size or plain number.
pub(crate) fn evaluate_size(text: &str) -> Result<i128, String> {
    Ok(evaluate(text, false)?.0.int)
}

/// An expression of a time, in microseconds. Without any unit the result counts in the option's
/// own unit.
pub(crate) fn evaluate_time_us(text: &str, default_factor: i128) -> Result<i128, String> {
    let (number, suffixed) = evaluate(text, true)?;
    if suffixed {
        return Ok(number.int);
    }
    number
        .int
        .checked_mul(default_factor)
        .ok_or_else(|| too_large(text))
}

/// An expression where a floating number is wanted.
pub(crate) fn evaluate_float(text: &str) -> Result<f64, String> {
    Ok(evaluate(text, false)?.0.float)
}

fn evaluate(text: &str, time: bool) -> Result<(Number, bool), String> {
    let mut parser = Parser {
        text: text.as_bytes(),
        at: 0,
        time,
        suffixed: false,
        depth: 0,
    };
    let number = parser.sum().map_err(|why| format!("'{text}': {why}"))?;
    if parser.peek().is_some() {
        let rest = text.get(parser.at..).unwrap_or_default();
        return Err(format!("'{text}': '{rest}' is not understood here"));
    }
    // A unit makes the result 64 bits wide; a bare result of any width keeps its true value.
    if i64::try_from(number.int).is_err() || !number.float.is_finite() {
        return Err(too_large(text));
    }
    Ok((number, parser.suffixed))
}

fn too_large(text: &str) -> String {
    format!("'{text}': the result is too large")
}

impl Parser<'_> {
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

    fn sum(&mut self) -> Result<Number, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("nested too deeply".to_string());
        }
        let mut left = self.suffixes()?;
        loop {
            if self.eat(b'+') {
                let right = self.suffixes()?;
                left = combine(left, right, i128::checked_add, |a, b| a + b)?;
            } else if self.eat(b'-') {
                let right = self.suffixes()?;
                left = combine(left, right, i128::checked_sub, |a, b| a - b)?;
            } else {
                self.depth -= 1;
                return Ok(left);
            }
        }
    }

    /// Products with unit suffixes behind them; a product may go on behind a suffix, so `8k/2k` is
    /// `((8k)/2)k`.
    fn suffixes(&mut self) -> Result<Number, String> {
        let mut number = self.power()?;
        loop {
            number = self.product(number)?;
            if !self.peek().is_some_and(|b| b.is_ascii_alphabetic()) {
                return Ok(number);
            }
            let (len, factor, float_factor) = self.suffix()?;
            self.at += len;
            self.suffixed = true;
            number = Number {
                int: checked(number.int.checked_mul(factor))?,
                float: number.float * factor as f64,
                is_float: number.is_float || float_factor,
            };
            if self.time && number.is_float {
                // Microseconds are exact: half a minute in a sum keeps its seconds.
                number.int = number.float as i128;
            }
        }
    }

    /// The suffix at the cursor: its length, factor, and whether it makes a float of its operand.
    fn suffix(&self) -> Result<(usize, i128, bool), String> {
        let word: String = self.text[self.at..]
            .iter()
            .take_while(|b| b.is_ascii_alphabetic())
            .map(|b| char::from(b.to_ascii_lowercase()))
            .collect();
        let minute = 60_000_000;
        let table: [(&str, i128, bool); 20] = [
            ("kib", 1_000, false),
            ("mib", 1_000_000, false),
            ("gib", 1_000_000_000, false),
            ("pib", 1_000_000_000_000, false),
            ("us", 1, true),
            ("ms", 1_000, true),
            ("kb", 1 << 10, false),
            ("mb", 1 << 20, false),
            ("gb", 1 << 30, false),
            ("tb", 1 << 40, false),
            ("pb", 1 << 50, false),
            ("k", 1 << 10, false),
            ("m", if self.time { minute } else { 1 << 20 }, false),
            ("g", 1 << 30, false),
            ("t", 1 << 40, false),
            ("p", 1 << 50, false),
            ("s", 1_000_000, false),
            ("h", 3_600_000_000, false),
            ("d", 86_400_000_000, false),
            ("", 0, false),
        ];
        // "tib" and a lone "b" are no units of this language, though "t" would match in front.
        if word.starts_with("tib") {
            return Err("'tib' is no unit".to_string());
        }
        for (name, factor, float) in table {
            if !name.is_empty() && word.starts_with(name) {
                return Ok((name.len(), factor, float));
            }
        }
        Err(format!("'{word}' is no unit"))
    }

    fn product(&mut self, left: Number) -> Result<Number, String> {
        let mut left = left;
        loop {
            if self.eat(b'*') {
                let right = self.power()?;
                left = combine(left, right, i128::checked_mul, |a, b| a * b)?;
            } else if self.eat(b'/') {
                let right = self.power()?;
                if right.int == 0 && right.float == 0.0 {
                    return Err("division by zero".to_string());
                }
                left = divide(left, right)?;
            } else {
                return Ok(left);
            }
        }
    }

    fn power(&mut self) -> Result<Number, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("nested too deeply".to_string());
        }
        let base = self.modulo()?;
        let result = if self.eat(b'^') {
            let exponent = self.power()?;
            raise(base, exponent)?
        } else {
            base
        };
        self.depth -= 1;
        Ok(result)
    }

    fn modulo(&mut self) -> Result<Number, String> {
        let mut left = self.sign()?;
        while self.eat(b'%') {
            let right = self.sign()?;
            if right.int == 0 {
                return Err("division by zero".to_string());
            }
            left = Number::integer(checked(left.int.checked_rem(right.int))?);
        }
        Ok(left)
    }

    fn sign(&mut self) -> Result<Number, String> {
        let mut negative = false;
        while self.eat(b'-') {
            negative = !negative;
        }
        let number = self.primary()?;
        if !negative {
            return Ok(number);
        }
        let int = checked(number.int.checked_neg())?;
        Ok(Number {
            int,
            float: -number.float,
            is_float: number.is_float,
        })
    }

    fn primary(&mut self) -> Result<Number, String> {
        if self.eat(b'(') {
            let inner = self.sum()?;
            if !self.eat(b')') {
                return Err("a parenthesis is not closed".to_string());
            }
            return Ok(inner);
        }
        match self.peek() {
            Some(b'0'..=b'9') => self.literal(),
            _ => Err("a number is missing".to_string()),
        }
    }

    fn literal(&mut self) -> Result<Number, String> {
        let start = self.at;
        let digits = |parser: &mut Self, hex: bool| {
            let from = parser.at;
            while parser.text.get(parser.at).is_some_and(|b| {
                if hex {
                    b.is_ascii_hexdigit()
                } else {
                    b.is_ascii_digit()
                }
            }) {
                parser.at += 1;
            }
            parser.at - from
        };
        if self.text[start] == b'0' && matches!(self.text.get(start + 1), Some(b'x' | b'X')) {
            self.at += 2;
            let from = self.at;
            if digits(self, true) == 0 {
                return Err("a hexadecimal number has no digits".to_string());
            }
            let hex = String::from_utf8_lossy(&self.text[from..self.at]);
            return i64::from_str_radix(&hex, 16)
                .map(|number| Number::integer(i128::from(number)))
                .map_err(|_| "a number is too large".to_string());
        }
        digits(self, false);
        let mut float = false;
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            float = true;
            if digits(self, false) == 0 {
                return Err("digits are missing behind the point".to_string());
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            let mut after = self.at + 1;
            after += usize::from(matches!(self.text.get(after), Some(b'+' | b'-')));
            if self.text.get(after).is_some_and(u8::is_ascii_digit) {
                self.at = after;
                digits(self, false);
                float = true;
            }
        }
        let text = String::from_utf8_lossy(&self.text[start..self.at]);
        if float {
            text.parse()
                .map(Number::floating)
                .map_err(|_| "not a number".to_string())
        } else {
            text.parse::<i64>()
                .map(|number| Number::integer(i128::from(number)))
                .map_err(|_| "a number is too large".to_string())
        }
    }
}

fn checked(number: Option<i128>) -> Result<i128, String> {
    number.ok_or_else(|| "the result is too large".to_string())
}

fn combine(
    left: Number,
    right: Number,
    int: fn(i128, i128) -> Option<i128>,
    float: fn(f64, f64) -> f64,
) -> Result<Number, String> {
    let float = float(left.float, right.float);
    let int = if left.is_float || right.is_float {
        float as i128
    } else {
        checked(int(left.int, right.int))?
    };
    Ok(Number {
        int,
        float,
        is_float: left.is_float,
    })
}

fn divide(left: Number, right: Number) -> Result<Number, String> {
    let float = left.float / right.float;
    let int = if left.is_float || right.is_float || right.int == 0 {
        float as i128
    } else {
        checked(left.int.checked_div(right.int))?
    };
    Ok(Number {
        int,
        float,
        is_float: left.is_float,
    })
}

fn raise(base: Number, exponent: Number) -> Result<Number, String> {
    let float = base.float.powf(exponent.float);
    let int = match u32::try_from(exponent.int) {
        Ok(power) if !base.is_float && !exponent.is_float => checked(base.int.checked_pow(power))?,
        _ => float as i128,
    };
    Ok(Number {
        int,
        float,
        is_float: base.is_float,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_nesting_is_an_error() {
        let text = "(".repeat(100_000);
        assert!(evaluate_size(&text).is_err());
        assert!(evaluate_size(&format!("({}1", "2^".repeat(100_000))).is_err());
    }

    #[test]
    fn division_by_zero_is_an_error() {
        assert!(evaluate_size("(1/0)").is_err());
        assert!(evaluate_size("(5%0)").is_err());
    }

    #[test]
    fn wide_results_keep_their_value() {
        assert_eq!(evaluate_size("(4*1024*1024*1024)"), Ok(4 << 30));
        assert_eq!(evaluate_time_us("(1500ms)", 1_000_000), Ok(1_500_000));
        assert_eq!(evaluate_time_us("(90)", 1_000_000), Ok(90_000_000));
    }
}
