//! Values of the options that the vectors use.

use ferrio_options::{
    Amount, BlockSize, Distribution, EngineSpec, FileService, Generator, Pattern, Sequencer,
    SplitEntry, Zone,
};

pub(super) fn last<'a>(options: &'a [(String, String)], name: &str) -> Option<&'a str> {
    options
        .iter()
        .rev()
        .find(|(option, _)| option == name)
        .map(|(_, value)| value.as_str())
}

/// A number with a binary suffix.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let text = text.to_ascii_lowercase();
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).map_err(|e| e.to_string());
    }
    let digits = text.trim_end_matches(['k', 'm', 'g', 't']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        other => return Err(format!("suffix {other}")),
    };
    Ok(digits.parse::<u64>().map_err(|e| e.to_string())? << shift)
}

pub(super) fn amount(text: &str) -> Result<Amount, String> {
    match text.strip_suffix('%') {
        Some(percent) => Ok(Amount {
            bytes: 0,
            percent: Some(size(percent)? as u32),
        }),
        None => Ok(Amount {
            bytes: size(text)?,
            percent: None,
        }),
    }
}

pub(super) fn range(text: &str) -> Result<(u64, u64), String> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    Ok((size(low)?, size(high)?))
}

/// One value is for all directions, a second one for writes and trims, a third one for trims.
pub(super) fn per_direction(
    text: &str,
    mut set: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<(), String> {
    let parts: Vec<&str> = text.split(',').collect();
    (0..3).try_for_each(|direction| set(direction, parts[direction.min(parts.len() - 1)]))
}

pub(super) fn engine(text: &str) -> Result<EngineSpec, String> {
    match text {
        "null" => Ok(EngineSpec::Null),
        "psync" => Ok(EngineSpec::Psync),
        "libaio" => Ok(super::libaio()),
        _ => Err(String::from("engine")),
    }
}

pub(super) fn sequencer(text: &str) -> Result<Sequencer, String> {
    match text {
        "sequential" => Ok(Sequencer::Sequential),
        "identical" => Ok(Sequencer::Identical),
        _ => Err(String::from("sequencer")),
    }
}

pub(super) fn generator(text: &str) -> Result<Generator, String> {
    match text {
        "tausworthe" => Ok(Generator::Tausworthe),
        "tausworthe64" => Ok(Generator::Tausworthe64),
        "lfsr" => Ok(Generator::Lfsr),
        _ => Err(String::from("generator")),
    }
}

pub(super) fn pattern(text: &str, pattern: &mut Pattern) -> Result<(), String> {
    let (word, postfix) = text.split_once(':').unwrap_or((text, ""));
    (pattern.reads, pattern.writes, pattern.trims, pattern.random) = match word {
        "read" => (true, false, false, false),
        "write" => (false, true, false, false),
        "trim" => (false, false, true, false),
        "rw" => (true, true, false, false),
        "trimwrite" => (false, true, true, false),
        "randread" => (true, false, false, true),
        "randwrite" => (false, true, false, true),
        "randtrim" => (false, false, true, true),
        "randrw" => (true, true, false, true),
        "randtrimwrite" => (false, true, true, true),
        _ => return Err(String::from("pattern")),
    };
    if postfix.is_empty() {
        return Ok(());
    }
    if pattern.random {
        pattern.batch = size(postfix)? as u32;
    } else {
        let bytes = size(postfix.trim_start_matches('-'))?.cast_signed();
        pattern.step = if postfix.starts_with('-') {
            -bytes
        } else {
            bytes
        };
    }
    Ok(())
}

/// `size/percent` entries; those without a share take equal parts of the rest.
pub(super) fn split(text: &str, block: &mut BlockSize) -> Result<(), String> {
    let mut entries = Vec::new();
    for entry in text.split(':') {
        let (bytes, percent) = entry.split_once('/').unwrap_or((entry, ""));
        let percent = if percent.is_empty() {
            None
        } else {
            Some(size(percent)? as u32).filter(|p| *p != 0)
        };
        entries.push((size(bytes)?, percent));
    }
    let given: u32 = entries.iter().filter_map(|(_, percent)| *percent).sum();
    let missing = entries
        .iter()
        .filter(|(_, percent)| percent.is_none())
        .count() as u32;
    let share = 100_u32
        .saturating_sub(given)
        .checked_div(missing)
        .unwrap_or(0);
    block.split = entries
        .iter()
        .map(|(size, percent)| SplitEntry {
            size: *size,
            percent: percent.unwrap_or(share),
        })
        .collect();
    block.split.sort_by_key(|entry| entry.percent);
    block.min = entries.iter().map(|(size, _)| *size).min().unwrap_or(0);
    block.max = entries.iter().map(|(size, _)| *size).max().unwrap_or(0);
    Ok(())
}

/// A number and a centre after a colon each.
fn parameters(text: &str, default: f64) -> Result<(f64, Option<f64>), String> {
    let float = |text: &str| text.parse::<f64>().map_err(|e| e.to_string());
    let mut parts = text.split(':').skip(1);
    Ok((
        parts.next().map_or(Ok(default), float)?,
        parts.next().map(float).transpose()?,
    ))
}

pub(super) fn service(text: &str) -> Result<FileService, String> {
    let word = text.split(':').next().unwrap_or("");
    let count = || {
        text.split_once(':')
            .map_or(Ok(1), |(_, count)| size(count))
            .map(|count| count as u32)
    };
    let skew = |default| parameters(text, default);
    Ok(match word {
        "roundrobin" => FileService::RoundRobin { count: count()? },
        "sequential" => FileService::Sequential { count: count()? },
        "random" => FileService::Random { count: count()? },
        "zipf" => skew(1.1).map(|(theta, center)| FileService::Zipf { theta, center })?,
        "pareto" => skew(0.2).map(|(h, center)| FileService::Pareto { h, center })?,
        "normal" | "gauss" => {
            skew(0.0).map(|(deviation, center)| FileService::Normal { deviation, center })?
        }
        _ => return Err(String::from("file service")),
    })
}

pub(super) fn distribution(text: &str) -> Result<[Distribution; 3], String> {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    let all =
        |distribution: Distribution| [distribution.clone(), distribution.clone(), distribution];
    Ok(match word {
        "random" => all(Distribution::Random),
        "zipf" => {
            all(parameters(text, 1.1)
                .map(|(theta, center)| Distribution::Zipf { theta, center })?)
        }
        "pareto" => {
            all(parameters(text, 0.2).map(|(h, center)| Distribution::Pareto { h, center })?)
        }
        "normal" => all(parameters(text, 0.0)
            .map(|(deviation, center)| Distribution::Normal { deviation, center })?),
        "sequence" => {
            let blocks = rest.split(',').map(size).collect::<Result<_, _>>()?;
            all(Distribution::Sequence {
                blocks,
                stride: false,
            })
        }
        "zoned" | "zoned_abs" => {
            let mut groups: Vec<Vec<Zone>> = Vec::new();
            for group in rest.split(',') {
                let zones = group.split(':').map(|zone| {
                    let (access, length) = zone.split_once('/').ok_or("zone")?;
                    Ok::<_, String>(Zone {
                        access_percent: size(access)? as u32,
                        size: size(length)?,
                    })
                });
                groups.push(zones.collect::<Result<_, _>>()?);
            }
            std::array::from_fn(|direction| {
                let zones = groups[direction.min(groups.len() - 1)].clone();
                if word == "zoned" {
                    Distribution::Zoned(zones)
                } else {
                    Distribution::ZonedAbs(zones)
                }
            })
        }
        _ => return Err(String::from("distribution")),
    })
}

pub(super) fn hex_pattern(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix("0x").ok_or("only hexadecimal patterns")?;
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|e| e.to_string());
    (0..digits.len()).step_by(2).map(byte).collect()
}
