//! What the targets share: a machine made of data, and what must hold for every answer.
#![allow(dead_code)] // each target uses a part

#[path = "../../crates/options/tests/common/mod.rs"]
mod machine;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use ferrio_options::{Outcome, Parsed};
use machine::FakeHost;
use machine::parse_words;

/// A machine with files to include, directories and devices.
fn host() -> FakeHost {
    FakeHost::default()
        .with_file("inc.fio", "bs=8k\n")
        .with_file("deep.fio", "include inc.fio\ninclude deep.fio\n")
        .with_file("d/one", "x")
        .with_kind("d", ferrio_options::PathKind::Directory)
        .with_env("SIZE", "4k")
        .with_env("EMPTY", "")
}

/// Failures say why, in one line each; a run has jobs that can run.
fn sane(parsed: &Parsed) {
    match &parsed.outcome {
        Outcome::Run(run) => {
            assert!(!run.jobs.is_empty());
            for job in &run.jobs {
                assert!(job.queue.depth > 0 && job.sizes.loops > 0);
                for block in &job.pattern.block {
                    assert!(block.min > 0 && block.min <= block.max, "{block:?}");
                }
            }
        }
        Outcome::Exit { status: 0, .. } => {}
        Outcome::Exit { stdout, .. } => {
            let told = parsed
                .diagnostics
                .iter()
                .any(|d| d.severity == ferrio_options::Severity::Error);
            assert!(told || !stdout.is_empty(), "{parsed:?}");
        }
    }
    for diagnostic in &parsed.diagnostics {
        assert!(!diagnostic.text.contains('\n'), "{diagnostic:?}");
    }
}

/// Words of a command line, separated by NUL bytes.
fn words(data: &[u8]) -> Vec<OsString> {
    let words = data.split(|byte| *byte == 0);
    words.map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// One command line.
pub(crate) fn command_line(data: &[u8]) {
    sane(&parse_words(&words(data), &host()));
}

/// One job file, run and shown.
pub(crate) fn job_file(data: &[u8]) {
    let host = host().with_file("j.fio", data);
    sane(&parse_words(&["j.fio"], &host));
    sane(&parse_words(&["--showcmd", "j.fio"], &host));
}

/// One value of an option, on a command line and in a job file.
pub(crate) fn value(option: &str, data: &[u8]) {
    if data.contains(&0) {
        return;
    }
    let mut word = format!("--{option}=").into_bytes();
    word.extend_from_slice(data);
    let words: Vec<OsString> = ["--name=a", "--ioengine=null", "--size=16m"]
        .into_iter()
        .map(OsString::from)
        .chain([OsString::from_vec(word)])
        .collect();
    sane(&parse_words(&words, &host()));
    let mut text = format!("[j]\nioengine=null\nsize=16m\n{option}=").into_bytes();
    text.extend_from_slice(data);
    let host = host().with_file("j.fio", text);
    sane(&parse_words(&["j.fio"], &host));
}
