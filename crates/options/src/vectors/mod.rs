//! The specification's vectors at the level of single values, tables and drafts.
//!
//! Vectors record what fio 3.42 does. Where ferrio differs on purpose, the row stands in the list
//! `known` with its reason, and the test insists that it really differs.

mod corpus;
mod effective;
mod jobs;
mod known;
mod messages;
#[path = "../../tests/common/published.rs"]
mod published;
mod stored;
mod table;
mod values;

use serde_json::Value as Json;

/// Rows of a vector file.
fn rows(text: &str) -> Vec<Json> {
    let json: Json = serde_json::from_str(text).expect("vector file");
    json["rows"].as_array().expect("rows").clone()
}

/// The text of a member; empty where there is none.
fn text<'a>(row: &'a Json, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_default()
}

/// Compares rows by `check`, which tells what is wrong. Rows in `known` must differ.
fn compare(rows: &[Json], known: known::Known, check: impl Fn(&Json) -> Option<String>) {
    let mut wrong = Vec::new();
    for row in rows {
        let id = text(row, "id");
        let expected_to_differ = known.iter().any(|(_, ids)| ids.contains(&id));
        match (check(row), expected_to_differ) {
            (Some(why), false) => wrong.push(format!("{id}: {why}\n    {row}")),
            (None, true) => wrong.push(format!("{id}: listed as different, but is the same")),
            _ => {}
        }
    }
    for (_, ids) in known {
        for id in *ids {
            if !rows.iter().any(|row| text(row, "id") == *id) {
                wrong.push(format!("{id}: listed, but there is no such row"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
