//! The system calls of a run beside those of fio 3.42, as `strace` shows them.
//!
//! Compared are the calls on the job's files in their order, with flags, offsets and lengths;
//! which call does a step (`read` or `pread64`, `unlink` or `unlinkat`) is free.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::*;
use crate::vectors::{Known, args_of, cases, check, set_up, shell};

/// One traced call.
#[derive(Clone, Debug)]
struct Call {
    pid: u32,
    /// Name and arguments as strace writes them, with the paths of descriptors.
    text: String,
    result: String,
}

/// Runs ferrio with shell-style arguments in `dir` and returns the calls of these names.
fn trace(dir: &Path, names: &str, args: &str) -> Option<Vec<Call>> {
    if !has_tool("strace") {
        skip("strace is not installed");
        return None;
    }
    let place = scratch();
    let log = place.path().join("calls");
    let before = format!("strace -f -y -s 0 -e trace={names} -o {}", log.display());
    finish(shell(dir, &before, args));
    let text = fs::read_to_string(log).expect("the trace");
    Some(calls_of(&text))
}

/// Joins the parts of calls that another process interrupted.
fn calls_of(text: &str) -> Vec<Call> {
    let mut open: Vec<(u32, String)> = Vec::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((pid, call)) = line.split_once(' ') else {
            continue;
        };
        let pid: u32 = pid.parse().expect("a process id");
        let call = call.trim_start();
        if let Some(begin) = call.strip_suffix(" <unfinished ...>") {
            open.push((pid, begin.to_string()));
            continue;
        }
        let whole = match call.split_once(" resumed>") {
            Some((_, rest)) if call.starts_with("<...") => {
                let at = open.iter().position(|(other, _)| *other == pid);
                let (_, begin) = open.remove(at.expect("the begin of a call"));
                format!("{begin}{rest}")
            }
            _ => call.to_string(),
        };
        if let Some((call, result)) = whole.rsplit_once(" = ") {
            calls.push(Call {
                pid,
                text: call.trim_end().trim_end_matches(')').to_string(),
                result: result.to_string(),
            });
        }
    }
    calls
}

impl Call {
    /// The name, and what stands in the parentheses, split at commas outside of structures.
    fn parts(&self) -> (&str, Vec<&str>) {
        let (name, arguments) = self.text.split_once('(').unwrap_or((&self.text, ""));
        (name, arguments.split(", ").collect())
    }
}

/// The file of a descriptor argument (`9</dir/name>`) relative to `dir`.
fn file_of<'a>(argument: &'a str, dir: &str) -> Option<&'a str> {
    let path = argument.split_once('<')?.1;
    // Or unlinked since: `>(deleted)`.
    let path = path.split('>').next()?;
    if path == dir {
        return Some(".");
    }
    path.strip_prefix(dir)?.strip_prefix('/')
}

/// The call in the vectors' form, if it concerns a file in `dir`.
fn event(call: &Call, main: u32, dir: &str) -> Option<String> {
    let who = if call.pid == main { "main" } else { "worker" };
    let failed = if call.result.contains("ENOENT") {
        " ENOENT"
    } else {
        ""
    };
    let (name, arguments) = call.parts();
    let text = match name {
        "setsid" => "setsid".to_string(),
        "openat" => {
            let path = arguments.get(1)?.trim_matches('"');
            if path.starts_with('/') {
                return None;
            }
            let flags = arguments.get(2)?.replace("|O_CLOEXEC", "");
            let mode = arguments.get(3).map(|mode| format!(", {mode}"));
            format!("open {path} {flags}{}{failed}", mode.unwrap_or_default())
        }
        "unlink" | "unlinkat" => {
            let path = arguments.iter().find(|a| a.starts_with('"'))?;
            let path = path.trim_matches('"');
            if path.starts_with('/') {
                return None;
            }
            format!("unlink {path}{failed}")
        }
        "fallocate" | "fadvise64" | "sync_file_range" => {
            let file = file_of(arguments.first()?, dir)?;
            format!("{name} {file} {}", arguments[1..].join(","))
        }
        "ftruncate" => format!("{name} {} {}", file_of(arguments[0], dir)?, arguments[1]),
        "fsync" | "fdatasync" | "close" | "syncfs" => {
            format!("{name} {}", file_of(arguments.first()?, dir)?)
        }
        "pread64" | "pwrite64" => {
            let file = file_of(arguments.first()?, dir)?;
            let (len, offset) = (arguments.get(2)?, arguments.get(3)?);
            format!("{name} {file} off={offset} len={len}")
        }
        _ => return None,
    };
    Some(format!("{who} {text}"))
}

/// The same step, whichever call does it.
fn same_step(found: &str, expected: &str) -> bool {
    if found == expected {
        return true;
    }
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_string).collect() };
    let (found, expected) = (words(found), words(expected));
    let (Some(f), Some(e)) = (found.get(1), expected.get(1)) else {
        return false;
    };
    let plain = |call: &str, positioned: &str| {
        // Sequential calls carry no offset.
        e == call
            && f == positioned
            && found.first() == expected.first()
            && found.get(2) == expected.get(2)
            && found.last() == expected.last()
    };
    let directory = e == "open" && f == "open" && found.get(2) == expected.get(2);
    plain("read", "pread64")
        || plain("write", "pwrite64")
        || (directory && expected.get(2).is_some_and(|path| path == "."))
}

const FILE_CALLS: &str = "openat,unlink,unlinkat,fallocate,ftruncate,fsync,fdatasync,\
    sync_file_range,fadvise64,write,pwrite64,pread64,read,close,syncfs,setsid";

#[test]
fn calls_on_files() {
    const KNOWN: Known = &[
        (
            "--rw=write --size=16k",
            "an old file that is too short is extended, not removed",
        ),
        (
            "--rw=read --offset=8k --size=16k",
            "an old file that is too short is extended, not removed",
        ),
        ("--verify=crc32c", "verification is not built"),
    ];
    // The same arguments occur with and without an old file.
    let applies = |case: &Value| {
        let short = case["before"][0]["size"]
            .as_u64()
            .is_some_and(|size| size < 24576);
        short || args_of(case).contains("--verify")
    };
    let mut wrong = Vec::new();
    for case in cases(include_str!("../data/lifecycle-syscalls.json")) {
        let dir = scratch();
        set_up(dir.path(), &case);
        let args = args_of(&case);
        let Some(calls) = trace(dir.path(), FILE_CALLS, &args) else {
            return;
        };
        let here = fs::canonicalize(dir.path()).expect("a directory");
        let here = here.to_str().expect("a plain path");
        let main = calls.first().map_or(0, |call| call.pid);
        let found = calls.iter().filter_map(|call| event(call, main, here));
        let found: Vec<String> = found.collect();
        let expected: Vec<String> = case["events"]
            .as_array()
            .expect("events")
            .iter()
            .map(|event| event.as_str().expect("an event").to_string())
            // A layout neither removes nor cuts what is there.
            .filter(|event| !(event.contains(" unlink ") && event.ends_with("ENOENT")))
            .map(|event| event.replace("|O_TRUNC", ""))
            .collect();
        let same = found.len() == expected.len()
            && found.iter().zip(&expected).all(|(f, e)| same_step(f, e));
        let listed = applies(&case) && KNOWN.iter().any(|(row, _)| args.ends_with(row));
        if same == listed {
            wrong.push(format!(
                "{args} ({listed})\n  found {found:#?}\n  expected {expected:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `submit 1 -> 1 x4` as four entries; what waits for completions is free.
fn submissions(case: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for call in case["calls"].as_array().expect("calls") {
        let call = call.as_str().expect("a call");
        let (call, times) = match call.rsplit_once(" x") {
            Some((call, times)) => (call, times.parse().expect("a number")),
            None => (call, 1),
        };
        if !call.starts_with("getevents") {
            all.extend(std::iter::repeat_n(call.to_string(), times));
        }
    }
    all
}

#[test]
fn submissions_of_a_queue() {
    check(
        include_str!("../data/lifecycle-queue.json"),
        &[],
        |dir, case| {
            fs::write(dir.join("f"), vec![1; 1 << 20]).expect("a file");
            let calls = trace(dir, "io_setup,io_submit", &args_of(case))?;
            let found: Vec<String> = calls
                .iter()
                .map(|call| {
                    let (name, arguments) = call.parts();
                    match name {
                        "io_setup" => format!("setup {}", arguments[0]),
                        _ => format!("submit {} -> {}", arguments[1], call.result),
                    }
                })
                .collect();
            let expected = submissions(case);
            (found != expected).then(|| format!("{found:?}, not {expected:?}"))
        },
    );
}

/// A value per worker, in job order.
fn per_worker(calls: &[Call], value: impl Fn(&Call) -> Option<String>) -> Vec<String> {
    let mut found: Vec<(u32, String)> = Vec::new();
    for call in calls {
        if let (None, Some(value)) = (found.iter().find(|(pid, _)| *pid == call.pid), value(call)) {
            found.push((call.pid, value));
        }
    }
    // Workers are started in job order.
    found.sort_unstable();
    found.into_iter().map(|(_, value)| value).collect()
}

#[test]
fn cpus_of_workers() {
    const KNOWN: Known = &[("--gtod_cpu=1 --cpus_allowed=0-1", "gtod_cpu is not built")];
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        skip("two CPUs are needed");
        return;
    }
    check(
        include_str!("../data/lifecycle-cpus.json"),
        KNOWN,
        |dir, case| {
            let calls = trace(dir, "sched_setaffinity", &args_of(case))?;
            let found = per_worker(&calls, |call| {
                Some(call.text.rsplit_once(", ")?.1.to_string())
            });
            let expected = &case["job_affinity_in_job_order"];
            (serde_json::json!(found) != *expected).then(|| format!("{found:?}, not {expected}"))
        },
    );
}

#[test]
fn clones_have_their_files_and_offsets() {
    check(
        include_str!("../data/lifecycle-clones.json"),
        &[],
        |dir, case| {
            // The debug output of fio; here the layout shows the files.
            let args = args_of(case).replace("--debug=file ", "");
            let args = args.replace("--ioengine=null", "--ioengine=psync");
            let calls = trace(dir, "openat,pread64", &args)?;
            let here = fs::canonicalize(dir).expect("a directory");
            let here = here.to_str().expect("a plain path");
            let main = calls.first().map_or(0, |call| call.pid);
            let (found, expected) = if case["files_in_job_order"].is_array() {
                let opened = calls.iter().filter(|call| call.pid == main);
                let opened = opened.filter_map(|call| event(call, main, here));
                let names = opened.filter_map(|event| Some(event.split(' ').nth(2)?.to_string()));
                (
                    serde_json::json!(names.collect::<Vec<_>>()),
                    &case["files_in_job_order"],
                )
            } else {
                let offsets = per_worker(&calls, |call| {
                    let event = event(call, main, here)?;
                    let offset = event.split_once("off=")?.1.split(' ').next()?;
                    Some(offset.to_string())
                });
                let numbers: Vec<u64> = offsets.iter().filter_map(|o| o.parse().ok()).collect();
                (
                    serde_json::json!(numbers),
                    &case["first_offset_in_job_order"],
                )
            };
            (found != *expected).then(|| format!("{found}, not {expected}"))
        },
    );
}

/// What a worker holds while it does I/O, by the order of its calls.
#[test]
fn operations_happen_under_their_lock() {
    let dir = scratch();
    let args = "--name=a --filename=f --rw=rw --bs=4k --size=64k --numjobs=2 --lockfile=readwrite";
    let Some(calls) = trace(dir.path(), "fcntl,pread64,pwrite64", args) else {
        return;
    };
    let mut held: Vec<(u32, String)> = Vec::new();
    let (mut reads, mut writes) = (0, 0);
    let main = calls.first().map_or(0, |call| call.pid);
    for call in calls.iter().filter(|call| call.pid != main) {
        let at = held.iter().position(|(pid, _)| *pid == call.pid);
        let mine = at.map(|at| held[at].1.clone());
        if call.text.contains("F_UNLCK") {
            held.remove(at.expect("a lock to give back"));
        } else if call.text.contains("F_OFD_SETLKW") {
            let kind = if call.text.contains("F_RDLCK") {
                "shared"
            } else {
                "alone"
            };
            held.push((call.pid, kind.into()));
        } else if call.text.starts_with("pread64") {
            assert_eq!(mine.as_deref(), Some("shared"), "{call:?}");
            reads += 1;
        } else if call.text.starts_with("pwrite64") {
            assert_eq!(mine.as_deref(), Some("alone"), "{call:?}");
            writes += 1;
        }
    }
    assert!(reads > 0 && writes > 0 && held.is_empty());
    assert_eq!(reads + writes, 32);
}

#[test]
fn each_file_system_is_flushed_once() {
    let dir = scratch();
    fs::create_dir(dir.path().join("d")).expect("a directory");
    let args =
        "--name=a --filename=f:g:d/h --rw=write --bs=4k --size=48k --end_syncfs=1 --end_fsync=1";
    let Some(calls) = trace(dir.path(), "syncfs,fsync", args) else {
        return;
    };
    let names: Vec<&str> = calls.iter().map(|call| call.parts().0).collect();
    assert_eq!(names, ["syncfs"]);
}
