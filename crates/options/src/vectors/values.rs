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
