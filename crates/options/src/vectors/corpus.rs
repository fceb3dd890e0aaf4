//! Job files and command lines that people have published: `jobfiles/`, with what is expected of
//! each in its `expected.tsv`.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

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
        "086-glued-options.cmd",
        "numjobs=1--group_reporting: text behind a number is refused, not dropped",
    ),
];

/// One line of the table.
struct Case {
    file: String,
    status: u8,
    /// Clones counted; `None` when refused.
    jobs: Option<usize>,
    error: Option<String>,
    env: Vec<(String, String)>,
}

fn cases(table: &str) -> Vec<Case> {
    let given = |field: &str| (field != "-").then(|| field.to_string());
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let env = given(fields[4]).unwrap_or_default();
            let env = env
                .split_whitespace()
                .filter_map(|pair| pair.split_once('='));
            Case {
                file: fields[0].to_string(),
                status: fields[1].parse().expect("a status"),
                jobs: given(fields[2]).and_then(|count| count.parse().ok()),
                error: given(fields[3]),
                env: env
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect(),
            }
        })
        .collect()
}

/// A shell's words: blanks separate, quotes group.
fn shell_words(text: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ' | '\n') => words.extend(word.take().map(OsString::from)),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word.map(OsString::from));
    words
}

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
    if case.file.ends_with(".cmd") {
        let text = fs::read_to_string(dir.join(&case.file)).expect("a command line");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        words.extend(lines.flat_map(shell_words));
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
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jobfiles");
    let table = fs::read_to_string(dir.join("expected.tsv")).expect("the table");
    let cases = cases(&table);
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
