//! Job files and command lines that people have published: `jobfiles/`, with what is expected of
//! each in its `expected.tsv`.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::published::{self, Case};
use crate::common::FakeHost;
use crate::diag::{Persona, Severity};
use crate::session::Session;

/// Files that ferrio takes or refuses in another way, each with its reason.
const KNOWN: &[(&str, &str)] = &[
    (
        "015-rbd-two-depths.fio",
        "the recorded program lacks the engine and with it these options; ferrio knows them",
    ),
    (
        "048-ignore-errors-arithmetic.fio",
        "iodepth=128*1, runtime=40+20: an operator outside parentheses is refused, not dropped",
    ),
    (
        "049-falloc-punch-hole-verifier.fio",
        "iodepth=128*1, runtime=100*1: likewise",
    ),
    (
        "050-e4defrag-donor-file.fio",
        "iodepth=128*1, runtime=30*1: likewise",
    ),
    (
        "086-glued-options.cmd",
        "numjobs=1--group_reporting: text behind a number is refused, not dropped",
    ),
];

/// Reads a case as a dry run.
fn differs(case: &Case, dir: &Path) -> Option<String> {
    let mut host = FakeHost::default();
    for entry in fs::read_dir(dir).expect("the corpus").flatten() {
        let text = fs::read(entry.path()).expect("a file of the corpus");
        host = host.with_file(&entry.file_name().to_string_lossy(), text);
    }
    for (name, value) in &case.env {
        host = host.with_env(name, value);
    }
    let mut words = vec![OsString::from("--parse-only")];
    if case.is_command() {
        let given = published::command_words(&dir.join(&case.file));
        words.extend(given.into_iter().map(OsString::from));
    } else {
        words.push(OsString::from(&case.file));
    }
    let mut session = Session::new(&host, Persona::Fio);
    let status = crate::read(&mut session, &words).map_or_else(|stop| stop.status, |()| 0);
    let told: Vec<&str> = session
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error || d.bare)
        .map(|d| d.text.as_str())
        .collect();
    if status != case.status {
        return Some(format!("status {status}: {told:?}"));
    }
    // A dry run makes no clones.
    let clones = session.jobs.iter().map(|draft| draft.spec.numjobs as usize);
    let clones: usize = clones.sum();
    if let Some(jobs) = case.jobs
        && clones != jobs
    {
        return Some(format!("{clones} jobs, not {jobs}"));
    }
    let error = case.error.as_deref()?;
    (!names_the_same(error, &told)).then(|| format!("{told:?}, not {error}"))
}

/// Whether the messages name the option, file or line that fio's first message names.
fn names_the_same(error: &str, told: &[&str]) -> bool {
    let named = if let Some(what) = error.strip_prefix("fio: failed parsing ") {
        what.split('=').next().unwrap_or_default().trim()
    } else if error.starts_with("Bad option <") {
        error
    } else if let Some((_, rest)) = error.split_once('<') {
        rest.split('>').next().unwrap_or_default()
    } else {
        error.split('\'').nth(1).unwrap_or(error)
    };
    told.iter().any(|text| text.contains(named))
}

#[test]
fn published_job_files() {
    let dir = published::folder(Path::new(env!("CARGO_MANIFEST_DIR")));
    let cases = published::cases(&dir);
    assert!(cases.len() > 100, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let known = KNOWN.iter().find(|(file, _)| *file == case.file);
        match (differs(case, &dir), known) {
            (Some(what), None) => wrong.push(format!("{}: {what}", case.file)),
            (None, Some(_)) => wrong.push(format!("{}: does not differ any more", case.file)),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
