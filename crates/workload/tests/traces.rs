//! Traces of fio 3.42: the stream yields the same events in the same order.

mod common;

use std::path::{Path, PathBuf};

use common::engine::{Event, run, word};
use ferrio_options::JobSpec;
use ferrio_workload::geometry;

/// Names and sizes.
type Files = Vec<(String, u64)>;

/// Traces that do not apply, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("workload-verify-", "verify phases are not built"),
    (
        "workload-trim-backlog",
        "trims of verify jobs are not built",
    ),
    ("workload-sprandom", "sprandom is not built"),
];

/// Time-based traces are cut after so many operations.
const TIMED_OPS: usize = 60;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The parts of a trace file, one for each job; a part is its lines.
fn parts(text: &str) -> Vec<Vec<String>> {
    let mut parts = vec![Vec::new()];
    for line in text
        .lines()
        .filter(|line| !line.starts_with("# ") && !line.is_empty())
    {
        if line.starts_with("## ") {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(line.to_owned());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn line(event: &Event) -> String {
    match event {
        Event::Open(file) => format!("open {file}"),
        Event::Close(file) => format!("close {file}"),
        Event::Op(op) => format!("{} {} {} {}", word(op.kind), op.file, op.offset, op.len),
    }
}

fn drop_sync_offset(line: &mut String) {
    if line.starts_with("sync") {
        let words: Vec<&str> = line.split(' ').take(2).collect();
        *line = words.join(" ");
    }
}

/// Files that the command line makes first, and the rest of it.
fn existing(command: &str) -> Result<(Files, &str), String> {
    let mut files = Vec::new();
    let mut rest = command;
    while let Some((truncate, after)) = rest
        .split_once(';')
        .filter(|(head, _)| head.trim().starts_with("truncate"))
    {
        let words: Vec<&str> = truncate.split_whitespace().collect();
        let [_, "-s", size, name] = words[..] else {
            return Err(format!("unknown: {truncate}"));
        };
        let kib = size
            .strip_suffix('k')
            .map(|v| (v, 1024))
            .or(size.strip_suffix('m').map(|v| (v, 1 << 20)));
        let (number, unit) = kib.ok_or("size of a file")?;
        files.push((
            name.to_owned(),
            number.parse::<u64>().map_err(|e| e.to_string())? * unit,
        ));
        rest = after;
    }
    Ok((files, rest))
}

fn job_lines(job: &JobSpec, files: &Files, data_only: bool) -> Result<Vec<String>, String> {
    let plan = geometry::plan(job, &common::target_sizes(job, files))
        .map_err(|error| error.to_string())?;
    let limit = if job.pacing.time_based {
        TIMED_OPS
    } else {
        usize::MAX
    };
    let events = run(job, &plan, limit, &mut ())?;
    let wanted = |event: &&Event| {
        !data_only || matches!(event, Event::Op(op) if op.kind.direction().is_some())
    };
    Ok(events.iter().filter(wanted).map(line).collect())
}

fn compare(text: &str) -> Result<(), String> {
    let command = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("# "))
        .ok_or("no command line")?;
    let (files, options) = existing(command)?;
    let jobs = common::jobs(options)?;
    let parts = parts(text);
    if jobs.len() != parts.len() {
        return Err(format!("{} jobs, {} parts", jobs.len(), parts.len()));
    }
    let data_only = command.contains("write_bw_log");
    for (job, mut expected) in jobs.iter().zip(parts) {
        let mut lines = job_lines(job, &files, data_only)?;
        if job.queue.depth > 1 {
            // The offset of a sync is what its slot held before: it means nothing.
            lines
                .iter_mut()
                .chain(&mut expected)
                .for_each(drop_sync_offset);
        }
        if job.pacing.time_based {
            // The file service goes on behind the cut.
            let shorter = lines.len().min(expected.len());
            if shorter < TIMED_OPS {
                return Err(format!("only {shorter} lines"));
            }
            lines.truncate(shorter);
            expected.truncate(shorter);
        }
        if let Some(at) =
            (0..lines.len().max(expected.len())).find(|at| lines.get(*at) != expected.get(*at))
        {
            let (got, wanted) = (lines.get(at), expected.get(at));
            return Err(format!(
                "job {}, event {at}: {got:?} in place of {wanted:?}",
                job.job_number
            ));
        }
    }
    Ok(())
}

#[test]
fn all_traces() -> Result<(), Box<dyn std::error::Error>> {
    let mut compared = 0;
    let mut left_out = 0;
    let mut failures = Vec::new();
    for entry in std::fs::read_dir(data())? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !name.starts_with("workload-") || !name.ends_with(".txt") {
            continue;
        }
        if LEFT_OUT.iter().any(|(prefix, _)| name.starts_with(prefix)) {
            left_out += 1;
            continue;
        }
        compared += 1;
        if let Err(error) = compare(&std::fs::read_to_string(&path)?) {
            failures.push(format!("{name}: {error}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {compared} traces differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert_eq!((compared, left_out), (183, 17), "traces compared, left out");
    Ok(())
}
