//! Value languages: the text of an option becomes a typed [`Value`].
//!
//! This level knows the option table but neither the job nor the machine; what a value does to
//! the job is the entry's business.

pub(crate) mod errno;
mod expr;
pub(crate) mod float;
pub(crate) mod list;
pub(crate) mod number;
pub(crate) mod pattern;
pub(crate) mod split;

use std::borrow::Cow;

pub(crate) use number::TimeUnit;
use number::{Quantity, quantity, strip_comment, switch, time_us};

use crate::table::{Kind, Opt};

/// What an option text means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// Numbers, sizes, times and switches: one entry per piece, `None` for an empty piece.
    Numbers(Vec<Option<u64>>),
    /// Amounts in bytes, per cent or zones; the last piece counts.
    Amount(Quantity),
    /// One word of the entry, by its index, and the text behind ':'.
    Word(usize, Option<String>),
    /// Words of the entry, a bit for each index, and the text behind the last ':'.
    Words(u32, Option<String>),
    /// Ranges, low end first.
    Ranges(Vec<Option<(u64, u64)>>),
    /// Floating numbers and the digits behind their points.
    Floats(Vec<f64>, u32),
    /// Text as given, or a bare name.
    Text(Option<Vec<u8>>),
    /// A deprecated option.
    Ignored,
}

/// Parses `text` in the language of `opt`. `None` is a bare name.
pub(crate) fn parse(opt: &Opt, text: Option<&[u8]>, kb_base: u32) -> Result<Value, String> {
    match opt.kind {
        Kind::Ignored => return Ok(Value::Ignored),
        Kind::Refused => return Err("is deprecated and has no effect any more".to_string()),
        Kind::Flag if text.is_none() => return Ok(Value::Numbers(vec![Some(1)])),
        Kind::OptionalText if text.is_none() => return Ok(Value::Text(None)),
        _ => {}
    }
    let Some(bytes) = text else {
        return Err("needs a value".to_string());
    };
    if bytes.is_empty() {
        return Err("has an empty value".to_string());
    }
    let lossy = String::from_utf8_lossy(bytes);
    let text: &str = &lossy;
    match opt.kind {
        Kind::Text | Kind::OptionalText | Kind::Custom => {
            if bytes.len() >= opt.limit {
                return Err(format!("is longer than {} bytes", opt.limit));
            }
            Ok(Value::Text(Some(bytes.to_vec())))
        }
        Kind::Word => word(opt, text),
        Kind::Words => words(opt, text),
        Kind::Amount => amount(opt, text, kb_base),
        Kind::Range => ranges(opt, text, kb_base),
        Kind::Floats => float::list(opt, strip_comment(text)).map(|(v, p)| Value::Floats(v, p)),
        Kind::Int | Kind::Wide | Kind::Size | Kind::Time(_) | Kind::Bool | Kind::Flag => {
            numbers(opt, text, kb_base)
        }
        Kind::Ignored | Kind::Refused => Ok(Value::Ignored),
    }
}

impl Value {
    /// The first number; 0 where there is none.
    pub(crate) fn number(&self) -> u64 {
        match self {
            Value::Numbers(pieces) => pieces.iter().flatten().next().copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// The number of the last piece, for options whose entry says `last_counts`.
    pub(crate) fn last_number(&self) -> u64 {
        match self {
            Value::Numbers(pieces) => pieces.iter().flatten().next_back().copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// The text, lossy.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Value::Text(Some(bytes)) => String::from_utf8_lossy(bytes),
            _ => Cow::Borrowed(""),
        }
    }

    /// The text's bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Value::Text(Some(bytes)) => bytes,
            _ => &[],
        }
    }

    /// Index of the word; 0 where there is none.
    pub(crate) fn word(&self) -> usize {
        match self {
            Value::Word(index, _) => *index,
            _ => 0,
        }
    }

    /// The text behind the word's ':'.
    pub(crate) fn parameter(&self) -> Option<&str> {
        match self {
            Value::Word(_, parameter) | Value::Words(_, parameter) => parameter.as_deref(),
            _ => None,
        }
    }

    /// Stores pieces by direction: the n-th piece in the n-th slot; if the last piece is the
    /// first it goes to all, if it is the second also to trim. Empty pieces store nothing.
    pub(crate) fn fill<T: Copy>(pieces: &[Option<T>], slots: &mut [T; 3]) {
        for (slot, piece) in slots.iter_mut().zip(pieces) {
            if let Some(value) = piece {
                *slot = *value;
            }
        }
        if let Some(Some(last)) = pieces.last() {
            for slot in slots.iter_mut().skip(pieces.len()) {
                *slot = *last;
            }
        }
    }

    /// Cuts a list of floating numbers to its longest length; true if something was cut off.
    pub(crate) fn cut_list(&mut self, limit: usize) -> bool {
        match self {
            Value::Floats(numbers, _) if numbers.len() > limit => {
                numbers.truncate(limit);
                true
            }
            _ => false,
        }
    }

    /// More pieces than the option has places for.
    pub(crate) fn surplus(&self, opt: &Opt) -> bool {
        match self {
            Value::Numbers(pieces) => pieces.len() > opt.slots.max(1),
            _ => false,
        }
    }
}

/// Cuts a value at ','; where none is left, at ':'; where none of these is left, at '-'. A '-' in
/// front is a sign, and nothing is cut inside parentheses.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let cut = cut(rest, ',').or_else(|| cut(rest, ':')).or_else(|| {
            let skip = usize::from(rest.starts_with('-'));
            cut(&rest[skip..], '-').map(|at| at + skip)
        });
        match cut {
            Some(at) => {
                found.push(&rest[..at]);
                rest = &rest[at + 1..];
            }
            None => {
                found.push(rest);
                return found;
            }
        }
    }
}

/// Position of `separator` outside parentheses.
fn cut(text: &str, separator: char) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if c == separator && depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

fn numbers(opt: &Opt, text: &str, kb_base: u32) -> Result<Value, String> {
    let text = strip_comment(text);
    // A comma at the end keeps the other directions as they are; the other separators have no
    // such meaning, and a time of day is no length of time.
    if text.len() > 1 && text.ends_with([':', '-']) {
        return Err(format!("'{text}': nothing follows the last separator"));
    }
    if opt.slots <= 1 && matches!(opt.kind, Kind::Time(_)) && text.contains(':') {
        return Err(format!(
            "'{text}' is no length of time: write 90s, 5m or 1h"
        ));
    }
    let mut values = Vec::new();
    for piece in pieces(text) {
        if piece.trim().is_empty() {
            values.push(None);
            continue;
        }
        values.push(Some(one_number(opt, piece, kb_base)?));
    }
    if values.iter().all(Option::is_none) {
        return Err(format!("'{text}' holds no number"));
    }
    if opt.slots <= 1 && !opt.last_counts && values[0].is_none() {
        return Err(format!(
            "'{text}': the first value is missing, and no other counts"
        ));
    }
    Ok(Value::Numbers(values))
}

fn one_number(opt: &Opt, piece: &str, kb_base: u32) -> Result<u64, String> {
    match opt.kind {
        Kind::Bool | Kind::Flag => {
            let number = switch(piece)?;
            if opt.kind == Kind::Bool && number > 1 {
                return Err(format!("{number} is out of range: it is a switch, 0 or 1"));
            }
            // A negative switch is on, as any number but zero.
            Ok(u64::from(number != 0).max(u64::try_from(number).unwrap_or(0)))
        }
        Kind::Time(unit) => {
            let us = time_us(piece, unit)?;
            bounds(opt, i128::from(us))?;
            Ok(us)
        }
        Kind::Int => {
            let number = plain_number(piece, kb_base)?;
            int_32(opt, number)
        }
        _ => {
            let number = plain_number(piece, kb_base)?;
            let wide = i64::try_from(number).map_err(|_| format!("'{piece}': too large"))?;
            // Negative numbers are the upper half of the unsigned range, as in fio.
            let number = wide.cast_unsigned();
            bounds(opt, i128::from(number))?;
            Ok(number)
        }
    }
}

fn plain_number(piece: &str, kb_base: u32) -> Result<i128, String> {
    match quantity(piece, kb_base)? {
        Quantity::Number(number) => Ok(number),
        Quantity::Percent(_) => Err(format!("'{piece}': per cent has no meaning here")),
        Quantity::Zones(_) => Err(format!("'{piece}': a number of zones has no meaning here")),
    }
}

/// A 32-bit number: signed where negative values are allowed, else unsigned.
fn int_32(opt: &Opt, number: i128) -> Result<u64, String> {
    let narrow = |n: i128| -> Result<u64, String> {
        i32::try_from(n)
            .map(|n| u64::from(n.cast_unsigned()))
            .or_else(|_| u32::try_from(n).map(u64::from))
            .map_err(|_| format!("{n} does not fit into 32 bits"))
    };
    if opt.pow2 && (number <= 0 || number & (number - 1) != 0) {
        return Err(format!("{number} is no power of two"));
    }
    // Without a real upper bound the whole 32 bits count, -1 being the largest value.
    let unbounded = opt.max.is_none_or(|max| max >= i128::from(u32::MAX));
    let signed_bits = number < 0 || number > i128::from(i32::MAX);
    if unbounded && signed_bits && opt.min.unwrap_or(0) <= 0 {
        return narrow(number);
    }
    bounds(opt, number)?;
    if number < 0 && opt.min.is_none_or(|min| min >= 0) {
        return Err(format!("{number} is out of range: it must not be negative"));
    }
    if signed_bits && opt.min.unwrap_or(0) > 0 {
        return Err(format!("{number} is out of range: at most {}", i32::MAX));
    }
    narrow(number)
}

fn bounds(opt: &Opt, number: i128) -> Result<(), String> {
    if let Some(max) = opt.max
        && number > max
    {
        return Err(format!("{number} is out of range: at most {max}"));
    }
    if let Some(min) = opt.min
        && number < min
    {
        return Err(format!("{number} is out of range: at least {min}"));
    }
    Ok(())
}

fn amount(opt: &Opt, text: &str, kb_base: u32) -> Result<Value, String> {
    let mut last = None;
    for piece in pieces(strip_comment(text)) {
        if piece.trim().is_empty() {
            continue;
        }
        let quantity = quantity(piece, kb_base)?;
        match quantity {
            Quantity::Percent(_) if !opt.percent => {
                return Err(format!("'{piece}': per cent has no meaning here"));
            }
            Quantity::Percent(percent) if percent > 100 => {
                return Err(format!("'{piece}': more than 100 % is not possible"));
            }
            Quantity::Zones(zones) if u32::try_from(zones).is_err() => {
                return Err(format!("'{piece}': too many zones"));
            }
            Quantity::Number(number) if number < 0 => {
                return Err(format!("'{piece}': must not be negative"));
            }
            Quantity::Number(number) if i64::try_from(number).is_err() => {
                return Err(format!("'{piece}': too large"));
            }
            _ => {}
        }
        last = Some(quantity);
    }
    last.map(Value::Amount)
        .ok_or_else(|| format!("'{text}' holds no size"))
}

fn ranges(opt: &Opt, text: &str, kb_base: u32) -> Result<Value, String> {
    let text = strip_comment(text);
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let (piece, more) = match cut(rest, ',') {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        found.push(if piece.trim().is_empty() {
            None
        } else {
            Some(one_range(opt, piece.trim(), kb_base)?)
        });
        match more {
            Some(more) => rest = more,
            None => break,
        }
    }
    if found.iter().all(Option::is_none) {
        return Err(format!("'{text}' holds no range"));
    }
    Ok(Value::Ranges(found))
}

fn one_range(opt: &Opt, piece: &str, kb_base: u32) -> Result<(u64, u64), String> {
    let skip = usize::from(piece.starts_with('-'));
    let at = cut(&piece[skip..], '-')
        .or_else(|| cut(&piece[skip..], ':'))
        .ok_or_else(|| format!("'{piece}' is no range: write for example 4k-8k"))?
        + skip;
    let end = |text: &str| -> Result<u64, String> {
        let number = plain_number(text, kb_base)?;
        bounds(opt, number)?;
        u64::try_from(number).map_err(|_| format!("'{text}' is out of range"))
    };
    let (a, b) = (end(&piece[..at])?, end(&piece[at + 1..])?);
    Ok((a.min(b), a.max(b)))
}

/// Cuts the word from its parameter. Text that the option has no use for is an error.
fn split_word<'a>(opt: &Opt, text: &'a str) -> Result<(&'a str, Option<&'a str>), String> {
    let Some(at) = text.find([':', ',']) else {
        return Ok((text, None));
    };
    let (name, tail) = (&text[..at], &text[at + 1..]);
    if opt.parameter && text[at..].starts_with(':') {
        return Ok((name, Some(tail)));
    }
    find_word(opt, name)?;
    Err(format!(
        "'{}' behind the word '{name}' has no meaning",
        &text[at..]
    ))
}

fn find_word(opt: &Opt, name: &str) -> Result<usize, String> {
    opt.words
        .iter()
        .position(|w| w.name == name)
        .ok_or_else(|| format!("'{name}' is none of its words: {}", opt.word_list()))
}

fn word(opt: &Opt, text: &str) -> Result<Value, String> {
    let (name, parameter) = split_word(opt, text)?;
    let index = find_word(opt, name)?;
    Ok(Value::Word(index, parameter.map(str::to_string)))
}

fn words(opt: &Opt, text: &str) -> Result<Value, String> {
    let mut bits = 0;
    let mut parameter = None;
    for piece in text.split(',').filter(|piece| !piece.is_empty()) {
        let (name, tail) = split_word(opt, piece)?;
        bits |= 1 << find_word(opt, name)?;
        if let Some(tail) = tail {
            parameter = Some(tail.to_string());
        }
    }
    if bits == 0 {
        return Err(format!(
            "'{text}' holds none of its words: {}",
            opt.word_list()
        ));
    }
    Ok(Value::Words(bits, parameter))
}
