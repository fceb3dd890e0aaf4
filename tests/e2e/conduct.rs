//! What a run says, when its jobs start and end, and what state it shows them in, beside fio
//! 3.42 (`tests/data`).

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::*;
use crate::vectors::{Known, args_of, check, shell};

/// The lines whose form programs read, without process ids and places in the source.
fn readable(lines: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for line in lines {
        let is_form = line.contains(": (g=")
            || line.contains(": (groupid=")
            || line.starts_with("fio-")
            || line.starts_with("Starting ")
            || line == "..."
            || line.starts_with("fio: pid=")
            || line.contains(": Laying out IO file")
            || line.contains(" : Saving output of ")
            || line.starts_with("     errors    :");
        if is_form {
            found.push(without_numbers(line));
        }
    }
    found
}

/// `pid=123: Mon…` becomes `pid=N`, `file:x.c:12` becomes `file:*`.
fn without_numbers(line: &str) -> String {
    let mut line = line.trim_end().to_string();
    if let Some((front, rest)) = line.clone().rsplit_once("pid=")
        && !front.ends_with("grou")
    {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == 'N');
        // The time of day follows in the report.
        let rest = if rest.starts_with(": ") { "" } else { rest };
        line = format!("{front}pid=N{rest}");
    }
    if let Some((front, rest)) = line.clone().split_once("file:") {
        let rest = rest.split_once(", func=").map_or("", |(_, rest)| rest);
        line = format!("{front}file:*, func={rest}");
    }
    line
}

fn strings(value: &Value) -> Vec<String> {
    let lines = value.as_array().into_iter().flatten();
    lines
        .map(|line| line.as_str().expect("a line").to_string())
        .collect()
}

#[test]
fn what_a_run_says() {
    const TOLD: &str = "a job that could not be set up is shown with its error, on standard output";
    const HUGE: &str = "huge pages are not built";
    const KNOWN: Known = &[
        (
            "--exec_prerun='exit 3'",
            "a job whose prerun fails has failed",
        ),
        ("--name=j --rw=read --bs=4k", TOLD),
        ("--offset=120k", TOLD),
        ("--offset=100k", TOLD),
        ("--bs=128k", TOLD),
        ("--allow_file_create=0", TOLD),
        (
            "--rw=read --size=8k --readonly",
            "refused because of --readonly, not for want of the file later",
        ),
        (
            "--filename=dd",
            "a directory is found before anything is laid out",
        ),
        ("--name=b --rw=read --bs=4k", TOLD),
        ("--mem=shmhuge", HUGE),
        ("--mem=mmaphuge", HUGE),
    ];
    check(
        include_str!("../data/lifecycle-console.json"),
        KNOWN,
        |dir, case| {
            let run = finish(shell(dir, "", &args_of(case)));
            if case["exit"] != run.status {
                return Some(format!("status {}: {}", run.status, run.stderr));
            }
            let lines: Vec<String> = run.stdout.lines().map(str::to_string).collect();
            let (found, expected) = (readable(&lines), readable(&strings(&case["stdout"])));
            if found != expected {
                return Some(format!("{found:#?}\n  not {expected:#?}"));
            }
            let complains = !strings(&case["stderr"]).is_empty();
            (complains && run.stderr.is_empty()).then(|| "nothing on standard error".into())
        },
    );
}

/// Runs a job file and returns the report; sends a signal after a while if the case wants one.
fn run_file(dir: &Path, case: &Value) -> Run {
    let text = strings(&case["jobfile"]).join("\n");
    fs::write(dir.join("j.fio"), text + "\n").expect("a job file");
    let child = ferrio(dir, &["--output-format=json", "j.fio"])
        .spawn()
        .expect("ferrio");
    if let Some([number, seconds]) = case["signal"].as_array().map(Vec::as_slice) {
        std::thread::sleep(Duration::from_secs_f64(seconds.as_f64().expect("seconds")));
        signal(&number.to_string(), child.id());
    }
    wait(child)
}

/// Starts and run times may be so much later than in the vectors.
const LATE_MS: u64 = 1500;
/// An event-driven start may be so much earlier for each barrier that was passed, and a polled one
/// so much later.
const EARLY_MS: u64 = 170;

fn order_differs(dir: &Path, case: &Value) -> Option<String> {
    let run = run_file(dir, case);
    if case["exit"] != run.status {
        return Some(format!("status {}: {}", run.status, run.stderr));
    }
    let report = run.json();
    let jobs = report["jobs"].as_array().expect("jobs");
    let starts = jobs.iter().filter_map(|job| job["job_start"].as_u64());
    let first = starts.filter(|start| *start > 0).min().unwrap_or(0);
    let expected = case["jobs"].as_array().expect("jobs");
    if expected.len() != jobs.len() {
        return Some(format!("{} jobs", jobs.len()));
    }
    for (job, expected) in jobs.iter().zip(expected) {
        let name = &expected["name"];
        let start = job["job_start"].as_u64().unwrap_or(0);
        for (key, found) in [
            ("name", &job["jobname"]),
            ("group", &job["groupid"]),
            ("error", &job["error"]),
        ] {
            if expected[key] != *found {
                return Some(format!("{name}: {key} is {found}"));
            }
        }
        let Some(wanted) = expected["start_ms"].as_u64() else {
            if start != 0 {
                return Some(format!("{name} was started"));
            }
            continue;
        };
        if start == 0 {
            return Some(format!("{name} was not started"));
        }
        let offset = start - first;
        let barriers = 1 + expected["group"].as_u64().unwrap_or(0);
        if offset + EARLY_MS * barriers < wanted || offset > wanted + LATE_MS {
            return Some(format!("{name} starts at {offset} ms, not {wanted}"));
        }
        let wanted = expected["run_ms"].as_u64().expect("a time");
        let found = job["read"]["runtime"].as_u64().unwrap_or(0);
        if found + 100 < wanted || found > wanted + LATE_MS {
            return Some(format!("{name} runs for {found} ms, not {wanted}"));
        }
    }
    None
}

#[test]
fn order_of_jobs() {
    // A case takes seconds of waiting, so they run side by side.
    let cases = crate::vectors::cases(include_str!("../data/lifecycle-order.json"));
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = cases
            .iter()
            .map(|case| {
                scope.spawn(move || {
                    let dir = scratch();
                    let differs = order_differs(dir.path(), case)?;
                    Some(format!("{}: {differs}", case["note"]))
                })
            })
            .collect();
        runs.into_iter()
            .filter_map(|run| run.join().expect("a run"))
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The state letters of the progress lines, each once, in order of their first appearance.
fn letters(stdout: &str) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for part in stdout.split("Jobs: ").skip(1) {
        let Some((_, rest)) = part.split_once('[') else {
            continue;
        };
        let states = rest.split(']').next().unwrap_or_default().to_string();
        if !seen.contains(&states) {
            seen.push(states);
        }
    }
    seen
}

#[test]
fn states_of_jobs() {
    let dir = scratch();
    // Letters are shown once a remaining time can be told, after two seconds.
    let line = "--eta=always --eta-interval=250ms --ioengine=null --size=1g --time_based \
                --name=ramp --rw=randrw --ramp_time=3 --runtime=1200ms \
                --name=short --rw=trim --runtime=3 \
                --name=bad --ioengine=psync --rw=write --filename=/dev/full --bs=4k --size=4k \
                --runtime=1 \
                --name=late --startdelay=3 --rw=randread --runtime=1200ms \
                --name=prepared --rw=read --runtime=700ms";
    let mut args = words(line);
    args.push("--exec_prerun=sleep 3");
    let run = run(dir.path(), &args).expect(1);
    let seen = letters(&run.stdout);
    let has = |place: usize, wanted: char| {
        let at = |states: &String| plain(states).chars().nth(place);
        assert!(
            seen.iter().any(|states| at(states) == Some(wanted)),
            "no {wanted} for job {place} in {seen:?}"
        );
    };
    for (place, states) in ["/m", "D_", "X", "Pr", "IR_"].iter().enumerate() {
        states.chars().for_each(|state| has(place, state));
    }
}

/// `_(2),R(1)` as `__R`.
fn plain(states: &str) -> String {
    let mut all = String::new();
    for part in states.split(',') {
        let mut parts = part.split(['(', ')']);
        let letter = parts.next().unwrap_or_default();
        let count = parts.next().and_then(|count| count.parse().ok());
        all.push_str(&letter.repeat(count.unwrap_or(1)));
    }
    all
}
