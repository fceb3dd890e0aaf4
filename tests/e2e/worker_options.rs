//! What a worker is and has: its user, name and place, its memory, commands around it, locks.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde_json::Value;

use crate::support::*;

/// A job without files that prints what `command` says into `a.prerun.txt`.
fn with_prerun(dir: &Path, options: &str, command: &str) -> String {
    let line = format!("--name=a --ioengine=null --size=64k {options}");
    let mut args = words(&line);
    let hook = format!("--exec_prerun={command}");
    args.push(&hook);
    run(dir, &args).expect(0);
    fs::read_to_string(dir.join("a.prerun.txt")).expect("the output of the command")
}

fn refuses(line: &str, part: &str) {
    let dir = scratch();
    let run = run(dir.path(), &words(line)).expect(1);
    assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
}

fn bytes(json: &Value, job: usize, direction: &str) -> u64 {
    json["jobs"][job][direction]["io_bytes"].as_u64().unwrap()
}

#[test]
fn commands_around_a_job() {
    let dir = scratch();
    let args = [
        "--name=a",
        "--ioengine=null",
        "--size=64k",
        "--exec_prerun=echo one; echo two >&2",
        "--exec_postrun=echo three; exit 4",
    ];
    let (run, json) = run_json(dir.path(), &args);
    // The document stands alone, and a failing command behind the job is only told.
    let run = run.expect(0);
    assert!(run.stderr.contains("status 4"), "{}", run.stderr);
    assert_eq!(bytes(&json, 0, "read"), 65536);
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("a.prerun.txt"), "one\ntwo\n");
    assert_eq!(read("a.postrun.txt"), "three\n");
}

#[test]
fn a_failing_command_before_a_job_fails_it_alone() {
    let dir = scratch();
    let args = [
        "--ioengine=null",
        "--size=64k",
        "--name=a",
        "--exec_prerun=exit 3",
        "--name=b",
    ];
    let (run, json) = run_json(dir.path(), &args);
    let run = run.expect(1);
    assert!(run.stderr.contains("exec_prerun"), "{}", run.stderr);
    assert_ne!(json["jobs"][0]["error"], 0);
    assert_eq!(bytes(&json, 0, "read"), 0);
    assert_eq!(bytes(&json, 1, "read"), 65536);
    // Its output has no place to go.
    refuses(
        "--name=no/dir --ioengine=null --size=4k --exec_prerun=true",
        "exec_prerun",
    );
}

#[test]
fn commands_end_with_an_interrupt_and_with_the_main_process() {
    for name in ["INT", "KILL"] {
        let dir = scratch();
        let args = [
            "--output-format=json",
            "--name=a",
            "--ioengine=null",
            "--size=64k",
            "--exec_prerun=echo $$ > pid; exec sleep 61",
        ];
        let child = ferrio(dir.path(), &args).spawn().unwrap();
        let mut pid = 0;
        until("the command", || {
            let text = fs::read_to_string(dir.path().join("pid")).unwrap_or_default();
            pid = text.trim().parse().unwrap_or(0);
            pid != 0
        });
        signal(name, child.id());
        let run = wait(child);
        if name == "INT" {
            assert_eq!(run.expect(128).json()["jobs"][0]["read"]["io_bytes"], 0);
        }
        until("the end of the command", || {
            !Path::new(&format!("/proc/{pid}")).exists()
        });
    }
}

#[test]
fn a_worker_has_its_name_and_place() {
    let dir = scratch();
    let told = with_prerun(dir.path(), "--comm=spindle", "cat /proc/$PPID/comm");
    assert_eq!(told.trim(), "spindle");
    // Niceness is added to what is there.
    let nice = "cut -d' ' -f19 /proc/$PPID/stat";
    let told = with_prerun(dir.path(), "--nice=0", nice);
    let before: i32 = told.trim().parse().unwrap();
    if before <= 14 {
        let told = with_prerun(dir.path(), "--nice=5", nice);
        assert_eq!(told.trim(), (before + 5).to_string());
    }
    let cpus = "grep Cpus_allowed_list /proc/$PPID/status";
    let told = with_prerun(dir.path(), "--cpus_allowed=0", cpus);
    assert!(told.trim().ends_with("\t0"), "{told}");
    let told = with_prerun(dir.path(), "--cpumask=1", cpus);
    assert!(told.trim().ends_with("\t0"), "{told}");
    if has_tool("ionice") {
        let told = with_prerun(dir.path(), "--prio=3", "ionice -p $PPID");
        assert_eq!(told.trim(), "best-effort: prio 3");
        let told = with_prerun(dir.path(), "--prioclass=3", "ionice -p $PPID");
        assert_eq!(told.trim(), "idle");
    } else {
        skip("ionice is not installed");
    }
    for (option, part) in [
        ("--nice=20", "nice"),
        ("--prio=8", "prio"),
        ("--prioclass=4", "prioclass"),
        ("--priohint=1024", "priohint"),
        ("--cpus_allowed=9999", "cpus_allowed"),
        ("--cpus_allowed_policy=each", "cpus_allowed_policy"),
        ("--comm=", "comm"),
    ] {
        refuses(
            &format!("--name=a --ioengine=null --size=4k {option}"),
            part,
        );
    }
}

const NOBODY: u32 = 65534;

#[test]
fn workers_become_the_user_given() {
    if !is_root() {
        skip("changing the user needs root");
        return;
    }
    let dir = scratch();
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(dir.path(), open).unwrap();
    // From [global], in clones, and thread by thread.
    let text = format!(
        "[global]\nrw=write\nsize=64k\ncreate_serialize=0\nuid={NOBODY}\ngid={NOBODY}\n\
         [p]\nnumjobs=2\n[t]\nthread\n[other]\nthread\nuid=0\ngid=0\n"
    );
    fs::write(dir.path().join("j.fio"), text).unwrap();
    run(dir.path(), &["j.fio"]).expect(0);
    let owner = |name: &str| {
        let metadata = fs::metadata(dir.path().join(name)).unwrap();
        (metadata.uid(), metadata.gid())
    };
    for name in ["p.0.0", "p.1.0", "t.0.0"] {
        assert_eq!(owner(name), (NOBODY, NOBODY), "{name}");
    }
    assert_eq!(owner("other.0.0"), (0, 0));
    // Who is not root may not become another.
    let line = format!("--uid={NOBODY} --name=a --rw=read --filename=secret --size=4k");
    fs::write(dir.path().join("secret"), vec![0; 4096]).unwrap();
    fs::set_permissions(dir.path().join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    let run = run(dir.path(), &words(&line)).expect(1);
    assert!(run.stderr.contains("secret"), "{}", run.stderr);
    refuses("--name=a --ioengine=null --size=4k --uid=me", "uid");
}

#[test]
fn workers_with_another_user_die_with_the_main_process() {
    if !is_root() {
        skip("changing the user needs root");
        return;
    }
    let dir = scratch();
    let line = format!(
        "--name=a --ioengine=null --size=1g --time_based --runtime=60 --uid={NOBODY} --output=o"
    );
    let child = ferrio(dir.path(), &words(&line)).spawn().unwrap();
    let mut worker = 0;
    until("the worker", || {
        let children = workers_of(child.id());
        worker = children.first().copied().unwrap_or(0);
        let status = fs::metadata(format!("/proc/{worker}"));
        worker != 0 && status.is_ok_and(|metadata| metadata.uid() == NOBODY)
    });
    std::thread::sleep(std::time::Duration::from_millis(200));
    signal("KILL", child.id());
    let _ = wait(child);
    until("the worker's end", || {
        let status = fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
        status.is_empty() || status.contains("State:\tZ")
    });
}

#[test]
fn buffers_in_all_kinds_of_memory() {
    let dir = scratch();
    for memory in [
        "malloc",
        "shm",
        "mmap",
        "mmapshared",
        "mmap:m",
        "mmapshared:m",
    ] {
        for engine in ["psync", "libaio", "io_uring"] {
            let line = format!(
                "--name=a --filename=f --rw=rw --bs=4k --size=64k --iodepth=4 --ioengine={engine} \
                 --mem={memory} --iomem_align=512"
            );
            let (run, json) = run_json(dir.path(), &words(&line));
            run.expect(0);
            assert_eq!(bytes(&json, 0, "read") + bytes(&json, 0, "write"), 65536);
            assert!(!dir.path().join("m").exists(), "{memory}");
        }
    }
    // The contents are those of other memory.
    let digest = |memory: &str| {
        let line = format!("--name=a --filename=d --rw=write --bs=4k --size=64k --mem={memory}");
        run(dir.path(), &words(&line)).expect(0);
        let written = fs::read(dir.path().join("d")).unwrap();
        fs::remove_file(dir.path().join("d")).unwrap();
        written
    };
    let plain = digest("malloc --scramble_buffers=0");
    assert_eq!(digest("shm --scramble_buffers=0"), plain);
    assert_eq!(digest("mmap:m --scramble_buffers=0"), plain);
    // The user's file stays as it is, and is refused where it would be too short.
    fs::write(dir.path().join("short"), "precious").unwrap();
    let line = "--name=a --filename=f --rw=write --size=64k --mem=mmapshared:short";
    let refused = run(dir.path(), &words(line)).expect(1);
    assert!(refused.stderr.contains("short"), "{}", refused.stderr);
    assert_eq!(fs::read(dir.path().join("short")).unwrap(), b"precious");
    // An alignment that direct I/O will hardly take is told beforehand.
    let line = "--name=a --filename=f --rw=write --size=64k --direct=1 --create_only=1";
    for (align, told) in [(300, true), (512, false)] {
        let line = format!("{line} --iomem_align={align}");
        let run = run(dir.path(), &words(&line)).expect(0);
        assert_eq!(run.stderr.contains("iomem_align"), told, "{}", run.stderr);
    }
    refuses("--name=a --ioengine=null --size=4k --mem=malloc:x", "mem");
    refuses("--name=a --ioengine=null --size=4k --mem=shmhuge", "mem");
}

#[test]
fn memory_is_locked_while_the_job_runs() {
    let dir = scratch();
    let command = "grep VmLck /proc/$PPID/status";
    let kib = |text: &str| -> u64 {
        let number = text.split_whitespace().nth(1).unwrap();
        number.parse().unwrap()
    };
    let told = with_prerun(dir.path(), "--lockmem=256k", command);
    assert!(kib(&told) >= 256, "{told}");
    // Root may lock what it wants, everybody else up to the limit.
    let user = if is_root() { "--uid=65534" } else { "" };
    let line = format!("--name=a --ioengine=null --size=64k --lockmem=1m {user}");
    let run = finish(command_with_limit(dir.path(), &line)).expect(1);
    assert!(run.stderr.contains("lockmem"), "{}", run.stderr);
}

/// The program with 64 KiB of memory that may be locked.
fn command_with_limit(dir: &Path, line: &str) -> std::process::Command {
    let program = env!("CARGO_BIN_EXE_ferrio");
    let line = format!("ulimit -l 64; exec {program} {line}");
    command("sh", dir, &["-c", &line])
}

#[test]
fn locked_files_are_worked_on_by_one_at_a_time() {
    let dir = scratch();
    for kind in ["exclusive", "readwrite"] {
        for options in [
            "--ioengine=psync",
            "--ioengine=libaio --iodepth=4",
            "--thread",
        ] {
            let line = format!(
                "--name=a --filename=f:g --rw=randrw --bs=4k --size=256k --numjobs=4 {options} \
                 --lockfile={kind} --group_reporting"
            );
            let (run, json) = run_json(dir.path(), &words(&line));
            run.expect(0);
            let all = bytes(&json, 0, "read") + bytes(&json, 0, "write");
            assert_eq!(all, 4 * 256 * 1024, "{line}");
        }
    }
    // A worker that is killed with a lock holds nobody up.
    let line = "--name=a --filename=f --rw=randwrite --bs=64k --size=256k --numjobs=2 --sync=1 \
                --time_based --runtime=1 --lockfile=exclusive --output-format=json";
    let child = ferrio(dir.path(), &words(line)).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    if let Some(worker) = workers_of(child.id()).first() {
        signal("KILL", *worker);
    }
    let json = wait(child).expect(1).json();
    let errors: Vec<bool> = (0..2).map(|job| json["jobs"][job]["error"] == 0).collect();
    assert!(errors.contains(&true), "{json}");
    refuses(
        "--name=a --ioengine=null --size=4k --lockfile=all",
        "lockfile",
    );
}

#[test]
fn a_job_starts_by_the_clock_given() {
    let dir = scratch();
    let line = "--name=a --ioengine=null --size=64k --job_start_clock_id=7";
    let (_, json) = run_json(dir.path(), &words(line));
    let start = json["jobs"][0]["job_start"].as_u64().unwrap();
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let now: f64 = uptime.split_whitespace().next().unwrap().parse().unwrap();
    assert!(start.abs_diff((now * 1000.0) as u64) < 60_000, "{start}");
    refuses(
        "--name=a --ioengine=null --size=4k --job_start_clock_id=10",
        "job_start_clock_id",
    );
}

/// The scheduler in use.
fn scheduler(device: &LoopDevice) -> String {
    let name = device.path.trim_start_matches("/dev/");
    let file = format!("/sys/block/{name}/queue/scheduler");
    let text = fs::read_to_string(file).unwrap_or_default();
    let chosen = text.split(['[', ']']).nth(1);
    chosen.unwrap_or_default().to_string()
}

#[test]
fn the_scheduler_is_that_of_the_run_and_then_what_it_was() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 1 << 20) else {
        return;
    };
    let name = device.path.trim_start_matches("/dev/");
    let choices = fs::read_to_string(format!("/sys/block/{name}/queue/scheduler"));
    let before = scheduler(&device);
    let choices = choices.unwrap_or_default();
    let other = choices
        .split_whitespace()
        .map(|word| word.trim_matches(['[', ']']))
        .find(|word| *word != before);
    let Some(other) = other.filter(|_| !before.is_empty()) else {
        skip("the kernel has one scheduler only");
        return;
    };
    let line = format!(
        "--output-format=json --name=a --filename={} --rw=read --time_based --runtime=60 \
         --ioscheduler={other}",
        device.path
    );
    // An interrupt, and the death of the worker.
    for end in ["INT", "KILL"] {
        let child = ferrio(dir.path(), &words(&line)).spawn().unwrap();
        until("the scheduler", || scheduler(&device) == other);
        if end == "INT" {
            signal("INT", child.id());
            wait(child).expect(128);
        } else {
            let mut workers = Vec::new();
            until("the worker", || {
                workers = workers_of(child.id());
                workers.len() == 1
            });
            signal("KILL", workers[0]);
            wait(child).expect(1);
        }
        assert_eq!(scheduler(&device), before, "after {end}");
    }
    let line = format!(
        "--name=a --filename={} --rw=read --size=64k --ioscheduler=nosuch",
        device.path
    );
    let run = run(dir.path(), &words(&line)).expect(1);
    assert!(run.stderr.contains("nosuch"), "{}", run.stderr);
    assert_eq!(scheduler(&device), before);
}
