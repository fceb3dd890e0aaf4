//! The two programs, and what they are compared by.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::draw::Job;

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(8);

/// What one job did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Events of the log of operations, without times.
    pub(crate) events: Vec<String>,
    pub(crate) failed: bool,
}

/// How a run of several jobs went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    Jobs(Vec<Trace>),
    /// Nothing was run.
    Refused(String),
    Hangs,
}

/// The job file of these jobs.
fn job_file(jobs: &[Job]) -> String {
    let mut text = String::new();
    for (index, job) in jobs.iter().enumerate() {
        text += &format!("[j{index}]\nwrite_iolog={index}.log\n");
        for (name, value) in &job.options {
            text += &format!("{name}={value}\n");
        }
    }
    text
}

/// Runs a program on these jobs in a directory of its own.
pub(crate) fn run(program: &str, jobs: &[Job]) -> Ran {
    let dir = tempfile::tempdir().expect("a scratch directory");
    for (name, size) in jobs.iter().flat_map(|job| &job.files) {
        let file = fs::File::create(dir.path().join(name)).expect("a file");
        file.set_len(*size).expect("a size");
    }
    fs::write(dir.path().join("jobs"), job_file(jobs)).expect("a job file");
    let said = fs::File::create(dir.path().join("said")).expect("a file");
    let mut child = Command::new(program)
        .args(["--output-format=json", "--output=report", "jobs"])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .spawn()
        .expect("the program starts");
    let until = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().expect("wait") {
            Some(status) => break status,
            None if Instant::now() > until => {
                stop(&mut child);
                return Ran::Hangs;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let errors = errors(dir.path(), jobs.len());
    match errors {
        Some(errors) => Ran::Jobs(
            errors
                .into_iter()
                .enumerate()
                .map(|(index, failed)| Trace {
                    events: events(&dir.path().join(format!("{index}.log")), &jobs[index]),
                    failed,
                })
                .collect(),
        ),
        None => {
            let said = fs::read_to_string(dir.path().join("said")).unwrap_or_default();
            Ran::Refused(format!("{status}: {said}"))
        }
    }
}

/// Ends a program that hangs, and the workers that would go on without it.
fn stop(child: &mut std::process::Child) {
    let parent = child.id().to_string();
    let _ = Command::new("pkill")
        .args(["-KILL", "-P", &parent])
        .status();
    let _ = child.kill();
    let _ = child.wait();
}

/// Which jobs failed, from the report; `None` when there is none of these jobs.
fn errors(dir: &Path, jobs: usize) -> Option<Vec<bool>> {
    let text = fs::read_to_string(dir.join("report")).ok()?;
    let start = text.find('{')?;
    let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter();
    let report: serde_json::Value = documents.next()?.ok()?;
    let list = report["jobs"]
        .as_array()
        .filter(|list| list.len() == jobs)?;
    Some(list.iter().map(|job| job["error"] != 0).collect())
}

/// The events of a log; those of a job that ends by time as far as that end is not near.
fn events(log: &Path, job: &Job) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let events: Vec<(u64, &str)> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(us, event)| Some((us.parse().ok()?, event)))
        .collect();
    let last_us = events.last().map_or(0, |(us, _)| *us);
    let until_us = if job.timed() {
        last_us.saturating_sub(10_000)
    } else {
        last_us
    };
    let events = events.into_iter().filter(|(us, _)| *us <= until_us);
    events.map(|(_, event)| event.to_string()).collect()
}

/// Makes traces comparable: what means nothing is left out.
pub(crate) fn comparable(job: &Job, trace: &Trace) -> Vec<String> {
    let mut events = trace.events.clone();
    for event in &mut events {
        let words: Vec<&str> = event.split(' ').collect();
        if let [name, kind @ ("sync" | "datasync" | "sync_file_range"), _, _] = words[..] {
            // What the slot held before, be it an attempt that failed.
            *event = format!("{name} {kind}");
        }
    }
    if trace.failed && events.iter().all(|event| event.ends_with(" add")) {
        // A job that could not be set up.
        events.clear();
    }
    if job.depth() > 1 {
        // fio writes an operation again each time that the engine was busy.
        events.dedup();
    }
    events
}
