//! Single option values: `parsing-values.json` and `parsing-expr.json`.

use serde_json::Value as Json;

use super::{compare, known, rows, stored, text};
use crate::common::FakeHost;
use crate::draft::{Ctx, Draft};
use crate::table;

/// Members of stored values that only options write that are not built.
const NOT_STORED: &[&str] = &["criterion", "percent", "ss_limit", "replay_skip"];

#[test]
fn values() {
    let rows = rows(include_str!("../../tests/data/parsing-values.json"));
    compare(&rows, known::VALUES, check);
}

#[test]
fn expressions() {
    let rows = rows(include_str!("../../tests/data/parsing-expr.json"));
    compare(&rows, known::EXPRESSIONS, check);
}

/// What a warning says of too many values is what happens, for every option that takes numbers.
#[test]
fn too_many_values() {
    let host = FakeHost::default();
    let read = |opt: &'static table::Opt, text: &str| -> Option<(String, Vec<String>)> {
        let mut diagnostics = Vec::new();
        let mut draft = Draft::new(&host);
        let mut ctx = Ctx::new(&host, false, false, &mut diagnostics);
        draft.apply(opt, Some(text.as_bytes()), &mut ctx).ok()?;
        let settings = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?}",
            draft.spec,
            draft.blocks,
            draft.filesize,
            draft.zoning,
            draft.all_cpus,
            draft.engine_options
        );
        Some((settings, diagnostics.into_iter().map(|d| d.text).collect()))
    };
    let mut told = 0;
    for opt in table::JOB_OPTIONS.iter().copied() {
        for (a, b) in [("0", "1"), ("1", "0"), ("1", "2"), ("4096", "8192")] {
            let many = vec![a; opt.slots].join(",") + "," + b;
            let Some((settings, warnings)) = read(opt, &many) else {
                continue;
            };
            let counting = match (opt.slots, opt.last_counts) {
                (_, true) => b.to_string(),
                (2, false) => format!("{a},{b}"),
                (slots, false) => vec![a; slots].join(","),
            };
            let alone = read(opt, &counting).map(|(settings, _)| settings);
            let name = opt.name;
            if opt.kind != table::Kind::Floats && warnings.iter().any(|w| w.contains("count")) {
                told += 1;
                assert_eq!(
                    Some(settings),
                    alone,
                    "{name}={many} is not {counting}: {warnings:?}"
                );
            }
        }
    }
    assert!(told > 100, "{told} lists");
    for (name, list, what) in [
        ("rwmixread", "50,20", "only the last value counts"),
        ("bs", "4k,8k,16k,32k", "only the first three values"),
        ("startdelay", "1,2,3", "the first and the last value"),
        ("iodepth", "4,2", "only the first value counts"),
    ] {
        let opt = table::find(name).expect(name);
        let (_, warnings) = read(opt, list).expect(list);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains(what) && warnings[0].contains(list),
            "{warnings:?}"
        );
    }
}

/// One row: is the value accepted, and what does the job hold then?
fn check(row: &Json) -> Option<String> {
    let (name, value) = (text(row, "option"), text(row, "value"));
    let host = FakeHost::default();
    let mut draft = Draft::new(&host);
    let mut words: Vec<(String, String)> = Vec::new();
    for word in row["before"].as_array().into_iter().flatten() {
        let word = word.as_str().unwrap_or_default().trim_start_matches('-');
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        words.push((name.to_string(), value.to_string()));
    }
    words.push((name.to_string(), value.to_string()));
    let mut result = Ok(());
    for (name, value) in &words {
        let mut diagnostics = Vec::new();
        let mut ctx = Ctx::new(&host, false, false, &mut diagnostics);
        result = match table::find(name) {
            Some(opt) => draft.apply(opt, Some(value.as_bytes()), &mut ctx),
            None => Err("unknown option".to_string()),
        };
    }
    // Unknown options and engines have "accepted" in the vectors, though nothing takes them.
    let known = table::find(name).is_some();
    let accepted = row["accepted"].as_bool() == Some(true) && known;
    match (&result, accepted) {
        (Ok(()), true) => {}
        (Err(_), false) => return None,
        (Ok(()), false) => return Some("accepted".to_string()),
        (Err(why), true) => return Some(format!("refused: {why}")),
    }
    let mut actual = stored::stored(&draft);
    stored::add_unbuilt(&mut actual, name, value);
    for (key, expected) in row["stored"].as_object().into_iter().flatten() {
        if NOT_STORED.contains(&key.as_str()) {
            continue;
        }
        let actual = actual.get(key).unwrap_or(&Json::Null);
        if !stored::same(key, expected, actual) {
            return Some(format!("{key}: {actual}, not {expected}"));
        }
    }
    None
}
