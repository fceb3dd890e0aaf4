//! Job files and command lines: `parsing-jobs.json` and `parsing-tool.json`.

use std::ffi::OsString;

use serde_json::Value as Json;

use super::{compare, known, rows, stored, text};
use crate::common::FakeHost;
use crate::diag::{Persona, Severity};
use crate::host::PathKind;
use crate::session::{Session, recorded_pairs};

/// The machine of a row: its files, environment and standard input.
fn host(row: &Json) -> FakeHost {
    let mut host = FakeHost {
        stdin: text(row, "stdin").into(),
        ..FakeHost::default()
    };
    for (name, content) in row["files"].as_object().into_iter().flatten() {
        host = host.with_file(name, content.as_str().unwrap_or_default());
    }
    for (name, value) in row["env"].as_object().into_iter().flatten() {
        host = host.with_env(name, value.as_str().unwrap_or_default());
    }
    host.with_kind("d", PathKind::Directory)
}

fn words(row: &Json) -> Vec<OsString> {
    let words = row["args"].as_array().into_iter().flatten();
    words
        .map(|word| word.as_str().unwrap_or_default().into())
        .collect()
}

/// What a row came to.
struct Ended {
    status: u8,
    stdout: String,
    errors: Vec<String>,
    bare: Vec<String>,
    diagnostics: usize,
    jobs: Vec<serde_json::Map<String, Json>>,
}

fn run(row: &Json) -> Ended {
    let host = host(row);
    let mut session = Session::new(&host, Persona::Fio);
    let result = crate::read(&mut session, &words(row));
    let jobs = session.jobs.iter().map(stored::stored).collect();
    let (status, stdout, diagnostics) = match result {
        Err(stop) => (stop.status, stop.stdout, session.diagnostics),
        Ok(()) => {
            let (outcome, diagnostics, _) = session.finish();
            match outcome {
                crate::Outcome::Run(_) => (0, String::new(), diagnostics),
                crate::Outcome::Exit { status, stdout } => (status, stdout, diagnostics),
            }
        }
    };
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    let bare = diagnostics.iter().filter(|d| d.bare);
    Ended {
        status,
        stdout,
        errors: errors.map(|d| d.text.clone()).collect(),
        bare: bare.map(|d| d.text.clone()).collect(),
        diagnostics: diagnostics.len(),
        jobs,
    }
}

#[test]
fn jobs() {
    compare(
        &rows(include_str!("../../tests/data/parsing-jobs.json")),
        known::JOBS,
        |row| {
            let ended = run(row);
            common(row, &ended).or_else(|| {
                let expected = row["jobs"].as_array().cloned().unwrap_or_default();
                if ended.jobs.len() != expected.len() {
                    return Some(format!("{} jobs", ended.jobs.len()));
                }
                for (expected, actual) in expected.iter().zip(&ended.jobs) {
                    for (key, expected) in expected.as_object().into_iter().flatten() {
                        let actual = actual.get(key).unwrap_or(&Json::Null);
                        if !stored::same(key, expected, actual) {
                            return Some(format!("{key}: {actual}, not {expected}"));
                        }
                    }
                }
                None
            })
        },
    );
}

/// Status, whether anything was said, forms to the character, and the option that is named.
fn common(row: &Json, ended: &Ended) -> Option<String> {
    if u64::from(ended.status) != row["rc"].as_u64().unwrap_or(0) {
        return Some(format!("status {}: {:?}", ended.status, ended.errors));
    }
    let stderr = text(row, "stderr");
    if stderr.is_empty() != (ended.diagnostics == 0) {
        let remark = text(row, "stdout").starts_with("Option ");
        if !remark {
            return Some(format!("diagnostics: {:?}", ended.errors));
        }
    }
    let bad: Vec<&str> = stderr
        .lines()
        .filter(|line| line.starts_with("Bad option"))
        .collect();
    if bad != ended.bare {
        return Some(format!("bare lines {:?}", ended.bare));
    }
    for line in stderr.lines() {
        let named = line
            .strip_prefix("fio: failed parsing ")
            .filter(|what| !what.contains("time ") && !what.contains("eta "))
            .map(|what| what.split('=').next().unwrap_or_default().trim())
            .or_else(|| {
                line.split("Did you mean ")
                    .nth(1)
                    .map(|name| name.trim_end_matches('?'))
            });
        if let Some(named) = named
            && !ended.errors.iter().any(|error| error.contains(named))
        {
            return Some(format!("'{named}' is not named: {:?}", ended.errors));
        }
    }
    None
}

#[test]
fn tool() {
    compare(
        &rows(include_str!("../../tests/data/parsing-tool.json")),
        known::TOOL,
        |row| {
            let ended = run(row);
            let first = words(row)
                .first()
                .cloned()
                .unwrap_or_default()
                .into_string()
                .unwrap_or_default();
            let failed = common(row, &ended);
            if failed.is_some() {
                return failed;
            }
            let expected = text(row, "stdout");
            let (expected, actual) = if first.contains("help=") && !first.starts_with("--debug") {
                // The layout is kept, the sentences are our own.
                (layout(expected), layout(&ended.stdout))
            } else {
                (expected.to_string(), ended.stdout)
            };
            (expected != actual).then(|| format!("{actual:?}, not {expected:?}"))
        },
    );
}

/// A help text without the sentences of options and words.
fn layout(text: &str) -> String {
    let mut result = String::new();
    for line in text.lines() {
        let (label, rest) = line.split_once(": ").unwrap_or((line, ""));
        let kept = match label.trim() {
            "alias" | "default" | "range" => rest.to_string(),
            "type" if rest != "(null)" && !rest.starts_with("size") => rest.to_string(),
            "valid values" | "" => rest
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_string(),
            _ => String::new(),
        };
        result += &format!("{label}:{kept}\n");
    }
    result
}

/// `parsing-jsonopts.json` has every option as often as it was typed; a JSON object has each name
/// once, with the last value.
#[test]
fn recorded_options() {
    for row in rows(include_str!("../../tests/data/parsing-jsonopts.json")) {
        let host = host(&row);
        let mut session = Session::new(&host, Persona::Fio);
        let result = crate::read(&mut session, &words(&row));
        assert!(result.is_ok(), "{row}: {:?}", session.diagnostics);
        let jobs = row["jobs"].as_array().cloned().unwrap_or_default();
        assert_eq!(session.jobs.len(), jobs.len(), "{row}");
        for (draft, job) in session.jobs.iter().zip(&jobs) {
            assert_eq!(draft.spec.name, text(job, "jobname"), "{row}");
            assert_eq!(
                recorded_pairs(&draft.recorded),
                once(&job["job_options"]),
                "{row}"
            );
        }
        let global = recorded_pairs(&session.global.recorded);
        assert_eq!(global, once(&row["global_options"]), "{row}");
    }
}

/// Pairs of a vector, escapes taken out, each name at its first place with its last value.
fn once(pairs: &Json) -> Vec<(String, String)> {
    let mut result: Vec<(String, String)> = Vec::new();
    for pair in pairs.as_array().into_iter().flatten() {
        let name = pair[0].as_str().unwrap_or_default().to_string();
        let value = pair[1].as_str().unwrap_or_default();
        let value = value.replace("\\\"", "\"").replace("\\\\", "\\");
        match result.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => result.push((name, value)),
        }
    }
    result
}
