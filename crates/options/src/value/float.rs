//! Floating numbers.

use super::expr;
use crate::table::Opt;

/// One floating number, taken whole: `1.2`, `1e-3`, `(1+0.2)`.
pub(crate) fn float(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = if text.starts_with('(') {
        expr::evaluate_float(text)?
    } else {
        // The standard parser also takes words such as "inf"; a setting must be finite.
        text.parse::<f64>()
            .map_err(|_| format!("'{text}' is no number"))?
    };
    if number.is_finite() {
        Ok(number)
    } else {
        Err(format!("'{text}' is no finite number"))
    }
}

/// A list split at ':', and the largest number of digits behind a point in it.
///
/// A list of the single number 0 is the empty list, as in fio, where 0 ends a list.
pub(crate) fn list(opt: &Opt, text: &str) -> Result<(Vec<f64>, u32), String> {
    let mut numbers = Vec::new();
    let mut precision = 0;
    let entries: Vec<&str> = text.trim_end_matches(':').split(':').collect();
    for entry in &entries {
        let number = float(entry)?;
        for (bound, out) in [(opt.max, "at most"), (opt.min, "at least")] {
            let Some(bound) = bound else { continue };
            let beyond = if out == "at most" {
                number > bound as f64
            } else {
                number < bound as f64
            };
            if beyond {
                return Err(format!("{number} is out of range: {out} {bound}"));
            }
        }
        if number == 0.0 && entries.len() > 1 {
            return Err("0 has no place in a list of several numbers".to_string());
        }
        if number != 0.0 {
            numbers.push(number);
            precision = precision.max(digits_behind_point(entry));
        }
    }
    Ok((numbers, precision))
}

fn digits_behind_point(text: &str) -> u32 {
    let Some((_, fraction)) = text.split_once('.') else {
        return 0;
    };
    fraction.bytes().take_while(u8::is_ascii_digit).count() as u32
}

/// Parameters of a distribution: `VALUE[:CENTER]`. `what` names the value in messages.
pub(crate) fn value_and_center(text: &str, what: &str) -> Result<(f64, Option<f64>), String> {
    let (value, center) = match text.split_once(':') {
        Some((value, center)) => (value, Some(center)),
        None => (text, None),
    };
    let value = float(value).map_err(|why| format!("{what}: {why}"))?;
    let center = match center {
        None => None,
        Some(center) => {
            let center = float(center).map_err(|why| format!("center: {why}"))?;
            if !(0.0..=1.0).contains(&center) {
                return Err(format!("the center {center} is out of range: 0 to 1"));
            }
            Some(center)
        }
    };
    Ok((value, center))
}

/// Zipf: the exponent must not be 1.
pub(crate) fn zipf(text: Option<&str>) -> Result<(f64, Option<f64>), String> {
    let Some(text) = text else {
        return Ok((1.1, None));
    };
    let (theta, center) = value_and_center(text, "zipf theta")?;
    if theta == 1.0 {
        return Err("a zipf theta of exactly 1 is not possible".to_string());
    }
    Ok((theta, center))
}

/// Pareto: the skew lies between 0 and 1.
pub(crate) fn pareto(text: Option<&str>) -> Result<(f64, Option<f64>), String> {
    let Some(text) = text else {
        return Ok((0.2, None));
    };
    let (h, center) = value_and_center(text, "pareto h")?;
    if h <= 0.0 || h >= 1.0 {
        return Err(format!(
            "a pareto value of {h} is out of range: above 0 and below 1"
        ));
    }
    Ok((h, center))
}

/// Normal: a deviation of 0 up to below 100 per cent.
pub(crate) fn normal(text: Option<&str>) -> Result<(f64, Option<f64>), String> {
    let Some(text) = text else {
        return Ok((0.0, None));
    };
    let (deviation, center) = value_and_center(text, "normal deviation")?;
    if !(0.0..100.0).contains(&deviation) {
        return Err(format!(
            "a normal deviation of {deviation} is out of range: 0 to below 100"
        ));
    }
    Ok((deviation, center))
}
