//! The generators against recorded values.

use serde_json::Value;

use crate::hash::{name_hash, rank_hash};
use crate::lfsr::Lfsr;
use crate::map::RandomMap;
use crate::rank::{RankDistribution, RankKind, ZetaCache};
use crate::rng::Rng;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A JSON number, or a number in a JSON string.
fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .or_else(|| value.as_str()?.parse().ok())
        .unwrap_or_else(|| panic!("no number: {value}"))
}

fn numbers(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("no array: {value}"))
        .iter()
        .map(number)
        .collect()
}

fn rows(value: &Value) -> &Vec<Value> {
    let rows = value
        .as_array()
        .unwrap_or_else(|| panic!("no array: {value}"));
    assert!(!rows.is_empty());
    rows
}

#[test]
fn generators() -> Outcome {
    let vectors: Value =
        serde_json::from_str(include_str!("../tests/data/workload-gen-prng.json"))?;
    for row in rows(&vectors["raw"]) {
        let mut rng = Rng::new(number(&row["seed"]), row["width"] == 64);
        for (at, expected) in numbers(&row["out"]).into_iter().enumerate() {
            assert_eq!(rng.next(), expected, "{row} at {at}");
        }
    }
    for row in rows(&vectors["between"]) {
        let mut rng = Rng::new(number(&row["seed"]), row["width"] == 64);
        for (at, expected) in numbers(&row["out"]).into_iter().enumerate() {
            assert_eq!(
                rng.between(number(&row["lo"]), number(&row["hi"])),
                expected,
                "{row} at {at}"
            );
        }
    }
    Ok(())
}

#[test]
fn master_seeds() -> Outcome {
    let vectors: Value =
        serde_json::from_str(include_str!("../tests/data/workload-gen-seeds.json"))?;
    for row in rows(&vectors) {
        let text = row["randseed"]
            .as_str()
            .unwrap_or_default()
            .trim_end_matches(" (default)");
        let randseed = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16)?,
            None => text.parse()?,
        };
        let job_number = u32::try_from(number(&row["thread_number"]))?;
        assert_eq!(
            crate::seeds::master(randseed, job_number).to_vec(),
            numbers(&row["seeds"]),
            "{row}"
        );
    }
    Ok(())
}

#[test]
fn hashes() -> Outcome {
    let vectors: Value =
        serde_json::from_str(include_str!("../tests/data/workload-gen-hash.json"))?;
    for row in rows(&vectors["name_hash"]) {
        let name = row[0].as_str().unwrap_or_default();
        assert_eq!(
            u64::from(name_hash(name.as_bytes())),
            number(&row[1]),
            "{name}"
        );
    }
    for row in rows(&vectors["rank_hash"]) {
        assert_eq!(rank_hash(number(&row[0])), number(&row[1]), "{row}");
    }
    Ok(())
}

#[test]
fn registers() -> Outcome {
    let vectors: Value =
        serde_json::from_str(include_str!("../tests/data/workload-gen-lfsr.json"))?;
    for row in rows(&vectors) {
        let made = Lfsr::new(
            number(&row["blocks"]),
            number(&row["seed"]),
            number(&row["spin"]),
        );
        if number(&row["init_error"]) != 0 {
            assert!(made.is_err(), "{row}");
            continue;
        }
        let mut register = made?;
        let out = numbers(&row["out"]);
        for (at, expected) in out.iter().enumerate() {
            assert_eq!(register.next(), Some(*expected), "{row} at {at}");
        }
        if let Some(exhausted) = row["exhausted_after"].as_u64() {
            for _ in out.len() as u64..exhausted {
                assert!(register.next().is_some(), "{row}");
            }
            assert_eq!(register.next(), None, "{row}");
        }
        register.restart();
        for (at, expected) in numbers(&row["after_reset"]).into_iter().enumerate() {
            assert_eq!(
                register.next(),
                Some(expected),
                "{row} after a restart, at {at}"
            );
        }
    }
    Ok(())
}

#[test]
fn distributions() -> Outcome {
    let vectors: Value = serde_json::from_str(include_str!(
        "../tests/data/workload-gen-distributions.json"
    ))?;
    let mut sums = ZetaCache::default();
    for row in rows(&vectors) {
        let parameter = row["param"].as_f64().unwrap_or_default();
        let kind = match row["kind"].as_str().unwrap_or_default() {
            "zipf" => RankKind::Zipf(parameter),
            "pareto" => RankKind::Pareto(parameter),
            "normal" => RankKind::Normal(parameter),
            other => panic!("unknown kind {other}"),
        };
        let seed = u32::try_from(number(&row["seed"]))?;
        let hashed = row["hashed"] == true;
        let mut drawn = RankDistribution::new(
            kind,
            number(&row["ranges"]),
            row["center"].as_f64(),
            seed,
            hashed,
            &mut sums,
        );
        for (at, expected) in numbers(&row["out"]).into_iter().enumerate() {
            assert_eq!(drawn.next(), expected, "{row} at {at}");
        }
    }
    Ok(())
}

#[test]
fn a_normal_distribution_over_two_ends() {
    let mut drawn = RankDistribution::new(
        RankKind::Normal(20.0),
        2,
        None,
        1,
        true,
        &mut ZetaCache::default(),
    );
    assert!((0..10_000).all(|_| drawn.next() < 2));
}

#[test]
fn random_maps() -> Outcome {
    let vectors: Value =
        serde_json::from_str(include_str!("../tests/data/workload-gen-random-map.json"))?;
    for row in rows(&vectors) {
        let mut map = RandomMap::new(number(&row["blocks"])).ok_or("no memory")?;
        for step in rows(&row["steps"]) {
            let drawn = number(&step[0]);
            let found = map.free_from(drawn);
            assert_eq!(
                found,
                step[1].as_u64(),
                "{} blocks, step {step}",
                row["blocks"]
            );
            let taken = found.map_or(0, |block| map.take(block, number(&step[2])));
            assert_eq!(
                taken,
                number(&step[3]),
                "{} blocks, step {step}",
                row["blocks"]
            );
        }
    }
    Ok(())
}

#[test]
fn content_seeds() -> Outcome {
    let vectors: Value = serde_json::from_str(include_str!("../tests/data/verify-rng.json"))?;
    let draws = vectors["draws"].as_object().ok_or("no draws")?;
    let mut compared = 0;
    for (title, values) in draws {
        let words: Vec<&str> = title.split([' ', ':']).collect();
        let [generator, purpose, "job", job, ..] = words[..] else {
            continue;
        };
        let seed = number(&vectors["seeds"][job][purpose]);
        if title.ends_with("values 1..100") {
            let mut rng = crate::rng::Taus32::new(seed);
            for (at, expected) in numbers(values).into_iter().enumerate() {
                assert_eq!(u64::from(rng.percent()), expected, "{title} at {at}");
            }
            compared += 1;
            continue;
        }
        if title.contains("raw 32-bit draws") {
            let mut rng = Rng::new(seed, false);
            for (at, expected) in numbers(values).into_iter().enumerate() {
                assert_eq!(rng.next(), expected, "{title} at {at}");
            }
            compared += 1;
            continue;
        }
        assert!(title.ends_with("content seeds"), "{title}");
        let mut rng = Rng::new(seed, generator == "tausworthe64");
        for (at, expected) in numbers(values).into_iter().enumerate() {
            assert_eq!(rng.wide_seed(), expected, "{title} at {at}");
        }
        compared += 1;
    }
    assert_eq!(compared, draws.len());
    Ok(())
}

#[test]
fn fills() -> Outcome {
    let vectors: Value = serde_json::from_str(include_str!("../tests/data/verify-rng.json"))?;
    for row in rows(&vectors["fill"]) {
        let mut buffer = vec![0xee; usize::try_from(number(&row["len"]))?];
        let seed = number(&row["seed"]);
        match row["percentage"].as_u64() {
            None => crate::content::fill_random(&mut buffer, seed),
            Some(percentage) => {
                let digits = row["pattern_hex"].as_str().ok_or("no pattern")?;
                let pairs = digits.as_bytes().chunks(2);
                let pattern: Vec<u8> = pairs
                    .map(|pair| {
                        u8::from_str_radix(std::str::from_utf8(pair)?, 16).map_err(Into::into)
                    })
                    .collect::<Result<_, Box<dyn std::error::Error>>>()?;
                let percentage = u32::try_from(percentage)?;
                crate::content::fill_compressible(&mut buffer, seed, percentage, &pattern);
            }
        }
        let hex: String = buffer.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(Some(hex.as_str()), row["hex"].as_str(), "{row}");
    }
    Ok(())
}
