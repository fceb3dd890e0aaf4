//! Runs end: when they should, when asked, and when something breaks; nothing outlives them.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::*;

/// Starts a run in the background with a JSON report.
fn start(dir: &Path, line: &str) -> Child {
    let mut args = vec!["--output-format=json"];
    args.extend(words(line));
    ferrio(dir, &args).spawn().unwrap()
}

/// Process ids of the workers, once there are `count`.
fn workers(parent: u32, count: usize) -> Vec<u32> {
    let mut pids = Vec::new();
    until("workers", || {
        pids = workers_of(parent);
        pids.len() == count
    });
    pids.sort_unstable();
    pids
}

fn exists(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

fn read_ios(json: &Value, job: usize) -> u64 {
    json["jobs"][job]["read"]["total_ios"].as_u64().unwrap()
}

const ENDLESS: &str = "--name=a --ioengine=null --rw=read --size=1g --time_based --runtime=60";

#[test]
fn an_interrupt_reports_what_was_done() {
    for name in ["INT", "TERM"] {
        let dir = scratch();
        let child = start(dir.path(), ENDLESS);
        workers(child.id(), 1);
        std::thread::sleep(Duration::from_millis(300));
        let asked = Instant::now();
        signal(name, child.id());
        let run = wait(child).expect(128);
        assert!(asked.elapsed() < Duration::from_secs(10));
        assert!(
            run.stderr.contains("terminating on signal"),
            "{}",
            run.stderr
        );
        let json = run.json();
        assert!(read_ios(&json, 0) > 0);
        assert_eq!(json["jobs"][0]["error"], 0);
        let warning = json["ferrio"]["warnings"][0]["message"].as_str().unwrap();
        assert!(warning.contains("ended by signal"), "{warning}");
    }
}

#[test]
fn a_signal_to_one_worker_is_no_success() {
    let dir = scratch();
    let child = start(
        dir.path(),
        "--ioengine=null --rw=read --size=1g --time_based --runtime=1 --name=a --name=b",
    );
    let pids = workers(child.id(), 2);
    std::thread::sleep(Duration::from_millis(300));
    signal("TERM", pids[0]);
    let json = wait(child).expect(1).json();
    assert_ne!(json["jobs"][0]["error"], 0);
    assert_eq!(json["jobs"][1]["error"], 0);
}

#[test]
fn very_long_times_do_not_wrap() {
    let dir = scratch();
    let line = "--name=a --ioengine=null --rw=read --size=64k --ramp_time=99999999d --time_based --runtime=1";
    let child = start(dir.path(), line);
    std::thread::sleep(Duration::from_millis(2500));
    signal("INT", child.id());
    wait(child).expect(128);
}

#[test]
fn jobs_behind_a_barrier_do_not_start_after_an_interrupt() {
    let dir = scratch();
    let line = format!("{ENDLESS} --name=b --stonewall --ioengine=null --rw=read --size=1m");
    let child = start(dir.path(), &line);
    workers(child.id(), 1);
    std::thread::sleep(Duration::from_millis(200));
    signal("INT", child.id());
    let json = wait(child).expect(128).json();
    assert_eq!(read_ios(&json, 1), 0);
    assert_eq!(json["jobs"][1]["job_start"], 0);
}

#[test]
fn a_second_signal_ends_at_once() {
    let dir = scratch();
    let child = start(dir.path(), ENDLESS);
    let worker = workers(child.id(), 1)[0];
    std::thread::sleep(Duration::from_millis(200));
    signal("STOP", worker);
    signal("INT", child.id());
    std::thread::sleep(Duration::from_millis(300));
    let asked = Instant::now();
    signal("INT", child.id());
    let run = wait(child).expect(128);
    let json = run.json();
    assert!(asked.elapsed() < Duration::from_secs(10));
    assert!(read_ios(&json, 0) > 0);
    assert!(!exists(worker));
    // The worker that was left behind is named, and one fact stands there once.
    let named = format!("the worker ({worker}) had not ended");
    assert!(run.stderr.contains(&named), "{}", run.stderr);
    let texts = run.stdout.matches("ended by signal 2").count();
    assert_eq!(texts, 1, "{}", run.stdout);
}

#[test]
fn a_killed_worker_is_an_error_and_keeps_its_figures() {
    let dir = scratch();
    let line = "--ioengine=null --rw=read --size=1g --time_based --runtime=1 --name=a --name=b";
    let child = start(dir.path(), line);
    let pids = workers(child.id(), 2);
    std::thread::sleep(Duration::from_millis(500));
    signal("KILL", pids[0]);
    let run = wait(child).expect(1);
    let json = run.json();
    assert!(run.stderr.contains("killed by signal 9"), "{}", run.stderr);
    let errors = json["ferrio"]["errors"].to_string();
    assert!(errors.contains("killed by signal 9"), "{errors}");
    assert_ne!(json["jobs"][0]["error"], 0);
    assert!(read_ios(&json, 0) > 0, "what it had measured is there");
    assert_eq!(json["jobs"][1]["error"], 0);
    let runtime = json["jobs"][1]["read"]["runtime"].as_u64().unwrap();
    assert!((1000..3000).contains(&runtime), "{runtime}");
}

#[test]
fn a_stopped_worker_is_given_up() {
    let dir = scratch();
    let line = "--ioengine=null --rw=read --size=1g --time_based --runtime=1 --name=a --name=b";
    let mut args = vec!["--output-format=json"];
    args.extend(words(line));
    let mut command = ferrio(dir.path(), &args);
    command.env("FERRIO_STALL_SECONDS", "2");
    let child = command.spawn().unwrap();
    let pids = workers(child.id(), 2);
    std::thread::sleep(Duration::from_millis(400));
    let stopped = Instant::now();
    signal("STOP", pids[0]);
    let run = wait(child).expect(1);
    assert!(stopped.elapsed() < Duration::from_secs(20));
    let json = run.json();
    assert!(run.stderr.contains(&pids[0].to_string()), "{}", run.stderr);
    assert!(run.stderr.contains("no progress"), "{}", run.stderr);
    assert!(read_ios(&json, 0) > 0);
    assert_eq!(json["jobs"][1]["error"], 0);
    assert!(read_ios(&json, 1) > 0);
    assert!(!exists(pids[0]), "nothing is left behind");
}

#[test]
fn workers_die_with_the_main_process() {
    for thread in ["", " --thread"] {
        let dir = scratch();
        let child = start(dir.path(), &format!("{ENDLESS} --numjobs=3{thread}"));
        let count = if thread.is_empty() { 3 } else { 1 };
        let pids = workers(child.id(), count);
        signal("KILL", child.id());
        let _ = wait(child);
        until("the workers' end", || pids.iter().all(|pid| !exists(*pid)));
    }
}

#[test]
fn threads_and_processes_mix() {
    let dir = scratch();
    let line = "--ioengine=null --rw=read --size=4m --name=p --name=t --thread --numjobs=2 \
                --name=late --stonewall --thread";
    let run = run(dir.path(), &words(line)).expect(0);
    assert_eq!(run.line("Starting"), "Starting 3 threads and 1 process");
    let (_, json) = run_json(dir.path(), &words(line));
    for job in 0..4 {
        assert_eq!(json["jobs"][job]["read"]["io_bytes"], 4 << 20);
    }
}

#[test]
fn time_limits_hold() {
    let dir = scratch();
    // By time though the size is done long before, and by size though time is left.
    let (_, json) = run_json(
        dir.path(),
        &words("--name=a --ioengine=null --size=1m --time_based --runtime=1"),
    );
    let runtime = json["jobs"][0]["read"]["runtime"].as_u64().unwrap();
    assert!((1000..3000).contains(&runtime), "{runtime}");
    assert!(json["jobs"][0]["read"]["io_bytes"].as_u64().unwrap() > 1 << 20);
    let (_, json) = run_json(
        dir.path(),
        &words("--name=a --ioengine=null --size=1m --runtime=9"),
    );
    assert_eq!(json["jobs"][0]["read"]["io_bytes"], 1 << 20);
    let (_, json) = run_json(
        dir.path(),
        &words("--name=a --ioengine=null --size=1m --loops=3"),
    );
    assert_eq!(json["jobs"][0]["read"]["io_bytes"], 3 << 20);
}

#[test]
fn a_ramp_is_not_measured() {
    let dir = scratch();
    let line = "--name=a --ioengine=null --iodepth=4 --rw=randread --size=1g --time_based \
                --ramp_time=1 --runtime=1";
    let started = Instant::now();
    let (_, json) = run_json(dir.path(), &words(line));
    assert!(started.elapsed() >= Duration::from_secs(2));
    let job = &json["jobs"][0];
    let runtime = job["read"]["runtime"].as_u64().unwrap();
    assert!((1000..3000).contains(&runtime), "{runtime}");
    let (ios, samples) = (&job["read"]["total_ios"], &job["read"]["clat_ns"]["N"]);
    let (ios, samples) = (ios.as_u64().unwrap(), samples.as_u64().unwrap());
    assert!(
        ios.abs_diff(samples) <= 4,
        "{ios} operations, {samples} samples"
    );
}

#[test]
fn delays_and_dependencies() {
    let dir = scratch();
    let line = "--ioengine=null --rw=read --size=1m --name=a --name=b --startdelay=500ms \
                --name=c --wait_for=b";
    let (run, json) = run_json(dir.path(), &words(line));
    run.expect(0);
    let start = |job: usize| json["jobs"][job]["job_start"].as_u64().unwrap();
    let delay = start(1) - start(0);
    assert!((450..3000).contains(&delay), "{delay} ms");
    assert!(start(2) >= start(1));
}

#[test]
fn files_are_unlinked_when_asked() {
    let dir = scratch();
    let line = "--name=a --rw=write --bs=4k --size=64k --unlink=1";
    run(dir.path(), &words(line)).expect(0);
    assert!(!dir.path().join("a.0.0").exists());
}

#[test]
fn many_jobs_start_and_end() {
    let dir = scratch();
    let line = "--name=a --ioengine=null --rw=read --size=4k --numjobs=256";
    let (run, json) = run_json(dir.path(), &words(line));
    run.expect(0);
    let jobs = json["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 256);
    assert!(jobs.iter().all(|job| job["read"]["total_ios"] == 1));
}

#[test]
fn a_worker_that_stands_still_is_named() {
    let dir = scratch();
    let line = "--output-format=json --name=a --ioengine=null --rw=read --size=64t";
    let mut command = ferrio(dir.path(), &words(line));
    command.env("FERRIO_STALL_SECONDS", "1");
    let child = command.spawn().unwrap();
    let worker = workers(child.id(), 1)[0];
    std::thread::sleep(Duration::from_millis(300));
    signal("STOP", worker);
    std::thread::sleep(Duration::from_millis(3000));
    signal("CONT", worker);
    signal("INT", child.id());
    let run = wait(child).expect(128);
    assert!(run.stderr.contains("no progress"), "{}", run.stderr);
    assert!(run.stderr.contains(&worker.to_string()), "{}", run.stderr);
    assert_eq!(run.json()["jobs"][0]["error"], 0);
}

#[test]
fn a_range_of_delays_is_drawn_from() {
    let dir = scratch();
    let line = "--ioengine=null --rw=read --size=4k --name=first --name=a --numjobs=8 \
                --startdelay=400ms-1200ms";
    let starts = || -> Vec<u64> {
        let (run, json) = run_json(dir.path(), &words(line));
        run.expect(0);
        let start = |job: usize| json["jobs"][job]["job_start"].as_u64().unwrap();
        (1..9).map(|job| start(job) - start(0)).collect()
    };
    let delays = starts();
    assert!(
        delays.iter().all(|delay| (350..3500).contains(delay)),
        "{delays:?}"
    );
    let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
    assert!(most - least > 100, "{delays:?}");
}

#[test]
fn jobs_that_cannot_be_set_up_end_nobody() {
    let dir = scratch();
    // `exitall` acts when a job that ran ends.
    let line = "--exitall --ioengine=null --rw=read --name=bad --ioengine=psync --filename=nofile \
                --name=good --ioengine=null --size=1g --time_based --runtime=600ms";
    let (run, json) = run_json(dir.path(), &words(line));
    run.expect(1);
    let runtime = json["jobs"][1]["read"]["runtime"].as_u64().unwrap();
    assert!((600..3000).contains(&runtime), "{runtime}");
}
