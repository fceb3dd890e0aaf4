//! Single option values: `parsing-values.json` and `parsing-expr.json`.

use serde_json::Value as Json;

use super::{compare, rows, stored, text};
use crate::common::FakeHost;
use crate::draft::{Ctx, Draft};
use crate::table;

/// Members of stored values that only options write that are not built.
const NOT_STORED: &[&str] = &["criterion", "percent", "ss_limit", "replay_skip"];

/// Values that mean something else here than in fio 3.42.
const VALUES_DIFFER: &[(&str, &[&str])] = &[
    (
        "text behind a number is refused, not dropped: unknown units, a second unit, blanks \
         inside, operators outside parentheses",
        &[
            "v018", "v019", "v022", "v023", "v026", "v029", "v031", "v032", "v035", "v044", "v045",
            "v080", "v084", "v095", "v119", "v120", "v122", "v131", "v136", "v137", "v138", "v139",
            "v142", "v148", "v189", "v380", "v408",
        ],
    ),
    (
        "a blank in front of a number does not hide its unit",
        &["v033", "v192"],
    ),
    (
        "fractions count, or are refused where only whole numbers have a meaning",
        &[
            "v034", "v091", "v132", "v133", "v191", "v379", "v389", "v412",
        ],
    ),
    (
        "one bad piece of a list is an error, not skipped",
        &["v059", "v060", "v061", "v184", "v185"],
    ),
    (
        "per cent above 100, negative, or where it has no meaning",
        &["v076", "v077", "v078", "v090", "v108", "v113", "v388"],
    ),
    (
        "negative times, sizes and shares have no meaning",
        &["v089", "v107", "v134", "v156", "v385"],
    ),
    (
        "each time of a list has its own unit",
        &["v144", "v152", "v159"],
    ),
    ("a hexadecimal time counts in the option's unit", &["v135"]),
    (
        "numbers that do not fit are refused, not wrapped",
        &["v088", "v373", "v414", "v415"],
    ),
    (
        "an empty entry or a second share in a bssplit is an error",
        &["v211", "v212", "v214"],
    ),
    (
        "text behind a word or its parameter is refused, not dropped",
        &[
            "v227", "v240", "v241", "v330", "v332", "v337", "v342", "v475",
        ],
    ),
    (
        "a bad or comma-separated percentile list is refused",
        &["v272", "v275"],
    ),
    (
        "CPU numbers are taken whole",
        &["v299", "v301", "v302", "v303", "v304", "v305"],
    ),
    ("0 operations a visit count as 1 at once", &["v348"]),
    (
        "aliases of an engine are resolved at once",
        &["v472", "v473"],
    ),
];

const EXPRESSIONS_DIFFER: &[(&str, &[&str])] = &[
    (
        "nothing is split inside parentheses",
        &["x013", "x014", "x015", "x049", "x106"],
    ),
    ("division by zero is an error", &["x034", "x035"]),
    (
        "operators outside parentheses are refused, not dropped",
        &["x046", "x047", "x099"],
    ),
    (
        "results beyond 32 bits keep their value",
        &["x068", "x069", "x086"],
    ),
    (
        "times are exact to the microsecond, not cut to whole seconds",
        &["x076", "x078", "x079", "x083", "x085", "x091"],
    ),
    ("the vector's command gives size=100% before", &["x101"]),
];

#[test]
fn values() {
    let rows = rows(include_str!("../../tests/data/parsing-values.json"));
    compare(&rows, VALUES_DIFFER, check);
}

#[test]
fn expressions() {
    let rows = rows(include_str!("../../tests/data/parsing-expr.json"));
    compare(&rows, EXPRESSIONS_DIFFER, check);
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
