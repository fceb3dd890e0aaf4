//! Published job files and command lines run: each on small files in a scratch directory, for a
//! second at most.
//!
//! What a job does stays as it is written; what it needs is scaled: targets become files here, sizes
//! a few MiB, clones two, times a second. Commands that a file would run are replaced.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::published::{self, Case};
use crate::support::{Run, scratch};

/// Files that end by name, with a part of the message: engines and options that are not built, and
/// files that are refused by design.
const REFUSED: &[(&str, &str)] = &[
    ("001-hole-inside-blocks.fio", "'verify"),
    ("002-stripe-write-ten-jobs.fio", "'verify"),
    ("010-mixed-engines-verify.fio", "'verify"),
    ("011-libpmem-fsdax.fio", "'ioengine=libpmem"),
    (
        "012-atomic-and-buffered-mmap.fio",
        "does not support atomic writes",
    ),
    ("014-time-to-first-byte.fio", "a direct I/O was refused"),
    // A twentieth of 8 MiB is less than its block.
    ("018-db-mix-with-trim-env.fio", "the smallest block"),
    ("019-bssplit-per-direction-env.fio", "cannot trim"),
    ("020-rate-and-offset-align-env.fio", "cannot trim"),
    ("022-polled-pvsync2-percentiles.fio", "'write_bw_log"),
    ("024-write-pressure-rate.fio", "'log_avg_msec"),
    // The job names no target, so its share is one of nothing.
    ("030-precondition-double-percent.fio", "give size="),
    ("039-percent-offsets-and-trim.fio", "'verify"),
    ("042-steadystate-long-names-env.fio", "'steadystate"),
    ("045-chromium-8k-verify-env.fio", "'verify"),
    ("048-ignore-errors-arithmetic.fio", "outside parentheses"),
    ("049-falloc-punch-hole-verifier.fio", "outside parentheses"),
    ("050-e4defrag-donor-file.fio", "outside parentheses"),
    ("053-iops-under-latency-sla.fio", "'latency_target"),
    ("060-net-listener-pingpong.fio", "'ioengine=net"),
    ("067-five-jobs-verify-meta-fill-fs.cmd", "'verify"),
    ("069-zbd-mode.cmd", "'zonemode"),
    ("074-bs-unaligned-offset-align.cmd", "'verify"),
    ("080-cgroup-two-jobs.cmd", "'cgroup"),
    ("082-zone-sizes-and-sqpoll.cmd", "'ioengine=io_uring_cmd"),
];

/// Direct writes, mappings and the cache on one file: the kernel may report that they collided.
const COLLIDES: &str = "051-one-file-nine-engines.fio";

fn corpus() -> PathBuf {
    published::folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/options"))
}

/// The files that are good input, their environment fit for here.
fn cases() -> Vec<Case> {
    let mut cases = published::cases(&corpus());
    cases.retain(|case| case.status == 0);
    for (_, value) in cases.iter_mut().flat_map(|case| &mut case.env) {
        if value.starts_with('/') {
            *value = ".".into();
        }
    }
    cases
}

/// The value that an option gets here; `None` drops the option.
fn scaled(name: &str, value: &str) -> Option<String> {
    let percent = value.trim_end().ends_with('%');
    let small = |limit: u64| {
        let number = value.trim().parse::<u64>().unwrap_or(limit);
        number.min(limit).to_string()
    };
    Some(match name {
        "filename" => {
            let names = value.split(':').filter(|part| !part.is_empty());
            let names: Vec<String> = names.enumerate().map(|(at, _)| format!("t{at}")).collect();
            names.join(":")
        }
        "directory" | "opendir" => ".".into(),
        "size" | "io_size" | "io_limit" | "filesize" | "file_size" if !percent => "8m".into(),
        "offset" | "offset_increment" | "zonesize" | "zonerange" if !percent => "1m".into(),
        "runtime" | "timeout" => "1".into(),
        "ramp_time" | "startdelay" => "100ms".into(),
        "numjobs" => small(2),
        "nrfiles" | "nr_files" => small(4),
        "loops" => "1".into(),
        "bs" | "blocksize" if value.to_lowercase().contains("256m") => "1m".into(),
        "cpus_allowed" => "0-1".into(),
        "cpumask" => "3".into(),
        "exec_prerun" | "exec_postrun" => "true".into(),
        // These would change the machine.
        "ioscheduler" | "output" => return None,
        _ => value.into(),
    })
}

/// A job file with scaled values.
fn scaled_file(text: &[u8]) -> Vec<u8> {
    let mut result = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let shown = String::from_utf8_lossy(line);
        let pair = shown.split_once('=').filter(|(name, _)| {
            let name = name.trim();
            !name.is_empty() && !name.starts_with(['#', ';', '['])
        });
        match pair {
            Some((name, value)) => {
                let value = value
                    .split(['#', ';'])
                    .next()
                    .unwrap_or_default()
                    .trim_end();
                if let Some(value) = scaled(name.trim(), value) {
                    result.extend_from_slice(format!("{name}={value}\n").as_bytes());
                }
            }
            None => {
                result.extend_from_slice(line);
                result.push(b'\n');
            }
        }
    }
    result
}

/// Words of a command line with scaled values.
fn scaled_words(words: &[String]) -> Vec<String> {
    let mut result = Vec::new();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let name = word.trim_start_matches('-');
        match name.split_once('=') {
            Some((option, value)) => {
                if let Some(value) = scaled(option, value) {
                    result.push(format!("--{option}={value}"));
                }
            }
            None => {
                result.push(word.to_string());
                if let Some(value) = words.next_if(|next| !next.starts_with('-'))
                    && let Some(value) = scaled(name, value)
                {
                    result.push(value);
                }
            }
        }
    }
    result
}

/// Runs one of them.
fn attempt(case: &Case) -> Run {
    let dir = scratch();
    // Shares of a target need one that has a size.
    for name in ["t0", "t1"] {
        fs::write(dir.path().join(name), vec![1; 8 << 20]).expect("a target");
    }
    let mut args: Vec<String> = ["--eta=never", "--size=8m", "--runtime=1"]
        .map(String::from)
        .to_vec();
    if case.is_command() {
        let words = published::command_words(&corpus().join(&case.file));
        args.extend(scaled_words(&words));
    } else {
        for entry in fs::read_dir(corpus()).expect("the corpus").flatten() {
            let text = fs::read(entry.path()).expect("a file");
            let name = entry.file_name();
            fs::write(dir.path().join(name), scaled_file(&text)).expect("a copy");
        }
        args.push(case.file.clone());
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = crate::support::ferrio(dir.path(), &args);
    for (name, value) in &case.env {
        command.env(
            name,
            scaled(&name.to_lowercase(), value).unwrap_or_default(),
        );
    }
    crate::support::finish(command)
}

#[test]
fn published_job_files_run() {
    let cases = cases();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let run = attempt(case);
                    let file = &case.file;
                    let refused = REFUSED.iter().find(|(name, _)| name == file);
                    let as_listed = match refused {
                        Some((_, part)) => run.status != 0 && run.stderr.contains(part),
                        None if file == COLLIDES => {
                            run.status == 0 || run.stderr.contains("Input/output error")
                        }
                        None => run.status == 0,
                    };
                    if !as_listed {
                        let stderr = run
                            .stderr
                            .lines()
                            .filter(|line| !line.contains("is synchronous"))
                            .take(3)
                            .collect::<Vec<_>>()
                            .join(" | ");
                        wrong
                            .lock()
                            .expect("a lock")
                            .push(format!("{file}: status {}: {stderr}", run.status));
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("a lock");
    wrong.sort();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
