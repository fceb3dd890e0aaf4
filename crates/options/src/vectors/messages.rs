//! What is refused or remarked: `options-messages.json`.
//!
//! Sentences are ferrio's own; compared are the status, whether anything was said, and the
//! option that is named.

use std::ffi::OsString;

use serde_json::Value as Json;

use super::{known, text};
use crate::common::FakeHost;
use crate::diag::Persona;
use crate::session::Session;

struct Ended {
    status: u8,
    texts: Vec<String>,
    unbuilt: bool,
}

fn run(case: &Json) -> Ended {
    let host = FakeHost::default();
    let words = case["args"].as_array().into_iter().flatten();
    let words: Vec<OsString> = words
        .map(|word| word.as_str().unwrap_or_default().into())
        .collect();
    let mut session = Session::new(&host, Persona::Fio);
    let result = crate::read(&mut session, &words);
    let texts = session.diagnostics.iter().map(|d| d.text.clone()).collect();
    let unbuilt = session
        .jobs
        .iter()
        .any(|job| !job.effective_unbuilt().is_empty());
    Ended {
        status: result.err().map_or(0, |stop| stop.status),
        texts,
        unbuilt,
    }
}

fn check(case: &Json, ended: &Ended) -> Option<String> {
    let lines = |key: &str| case[key].as_array().map_or(0, Vec::len);
    if u64::from(ended.status) != case["exit"].as_u64().unwrap_or(0) {
        return Some(format!("status {}: {:?}", ended.status, ended.texts));
    }
    let said = lines("stderr") + lines("stdout_messages") > 0;
    if said == ended.texts.is_empty() {
        return Some(format!("said {:?}", ended.texts));
    }
    let option = text(case, "id")
        .strip_prefix("value:")
        .and_then(|id| id.split('=').next());
    if let Some(option) = option
        && said
        && !ended.texts.iter().any(|line| line.contains(option))
    {
        return Some(format!("'{option}' is not named: {:?}", ended.texts));
    }
    None
}

#[test]
fn messages() {
    let vectors: Json =
        serde_json::from_str(include_str!("../../tests/data/options-messages.json"))
            .expect("vector file");
    let cases = vectors["cases"].as_array().expect("cases");
    let mut wrong = Vec::new();
    let mut unbuilt = 0;
    for case in cases {
        let id = text(case, "id");
        let ended = run(case);
        if ended.unbuilt {
            // The run ends with status 1 and names the option, whatever fio says.
            unbuilt += 1;
            continue;
        }
        let listed = known::MESSAGES.iter().any(|(_, ids)| ids.contains(&id));
        match (check(case, &ended), listed) {
            (Some(why), false) => wrong.push(format!("{id}: {why}")),
            (None, true) => wrong.push(format!("{id}: listed, but is the same")),
            _ => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        unbuilt < cases.len() / 3,
        "{unbuilt} cases ask for what is not built"
    );
}
