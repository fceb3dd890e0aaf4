//! Bad input gets one clear line and a status; other jobs' results are kept; nothing is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::support::*;

/// Runs, expects status 1 and one line on standard error that holds all of `parts`.
fn fails(dir: &Path, args: &[&str], parts: &[&str]) -> Run {
    let run = run(dir, args).expect(1);
    for part in parts {
        assert!(
            run.stderr.contains(part),
            "{args:?}: no {part:?} in {:?}",
            run.stderr
        );
    }
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    run
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn unknown_and_misspelt_options() {
    let dir = scratch();
    fails(
        dir.path(),
        &["--name=a", "--iodpth=4"],
        &["iodpth", "iodepth"],
    );
    fails(
        dir.path(),
        &["--name=a", "--nosuchoption=1"],
        &["nosuchoption"],
    );
    fails(dir.path(), &["--name=a", "--bs"], &["bs", "needs a value"]);
    fs::write(dir.path().join("j.fio"), "[a]\nrw=read\niodpth=4\n").unwrap();
    fails(
        dir.path(),
        &["j.fio"],
        &["Bad option <iodpth=4>", "'iodepth'"],
    );
}

#[test]
fn bad_values() {
    let dir = scratch();
    for (option, text) in [
        ("--rw=raed", "raed"),
        ("--bs=4q", "4q"),
        ("--bs=4kk", "4kk"),
        ("--bs=4k4", "4k4"),
        ("--bs=4k-", "4k-"),
        ("--runtime=00:00:01", "00:00:01"),
        ("--bs=4k junk", "junk"),
        ("--iodepth=1.5", "1.5"),
        ("--numjobs=2.5", "2.5"),
        ("--iodepth=0", "iodepth"),
        ("--size=abc", "abc"),
        ("--direct=2", "direct"),
        ("--runtime=soon", "soon"),
        ("--numjobs=0", "numjobs"),
    ] {
        fails(
            dir.path(),
            &["--name=a", "--ioengine=null", "--size=4k", option],
            &[text],
        );
    }
    assert!(is_empty(dir.path()));
}

#[test]
fn values_with_fractions_are_taken_whole() {
    let dir = scratch();
    let args = [
        "--name=a",
        "--ioengine=null",
        "--rw=read",
        "--bs=4.5k",
        "--size=1.5m",
    ];
    let (run, json) = run_json(dir.path(), &args);
    run.expect(0);
    let ios = json["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
    assert_eq!(ios, 1_572_864 / 4608);
}

#[test]
fn options_that_are_not_built_end_the_run_by_name() {
    let dir = scratch();
    for option in [
        "--flow=100",
        "--verify=crc32c",
        "--write_bw_log=x",
        "--latency_target=10",
        "--mem=shmhuge",
    ] {
        let name = option.trim_start_matches('-').split('=').next().unwrap();
        let args = [
            "--name=a",
            "--filename=f",
            "--rw=write",
            "--size=4k",
            option,
        ];
        let run = fails(dir.path(), &args, &[name, "not built"]);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
    // Without an effect they pass.
    for option in ["--flow=0", "--do_verify=1", "--latency_target=0"] {
        run(
            dir.path(),
            &["--name=a", "--ioengine=null", "--size=4k", option],
        )
        .expect(0);
    }
    fails(
        dir.path(),
        &["--name=a", "--ioengine=sg", "--size=4k"],
        &["sg"],
    );
    fails(
        dir.path(),
        &["--name=a", "--ioengine=nosuch", "--size=4k"],
        &["nosuch"],
    );
    assert!(is_empty(dir.path()));
}

#[test]
fn missing_things() {
    let dir = scratch();
    fails(dir.path(), &["nosuch.fio"], &["nosuch.fio"]);
    let none = run(dir.path(), &[]).expect(1);
    assert!(none.stderr.contains("no job"), "{}", none.stderr);
    fails(dir.path(), &["--name=a", "--rw=read"], &["size="]);
    fails(
        dir.path(),
        &["--name=a", "--directory=nodir", "--size=4k", "--rw=write"],
        &["nodir"],
    );
    fails(
        dir.path(),
        &["--name=a", "--filename=/etc", "--size=4k", "--rw=read"],
        &["directory"],
    );
    assert!(is_empty(dir.path()));
}

#[test]
fn a_full_target_keeps_what_was_measured() {
    let dir = scratch();
    let args = [
        "--name=w",
        "--filename=/dev/full",
        "--rw=write",
        "--bs=4k",
        "--size=4k",
    ];
    let (run, json) = run_json(dir.path(), &args);
    let run = run.expect(1);
    assert!(
        run.stderr.contains("No space left on device"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("offset=0, buflen=4096"),
        "{}",
        run.stderr
    );
    assert_eq!(json["jobs"][0]["error"], 28);
    assert!(!json["ferrio"]["errors"].as_array().unwrap().is_empty());

    let at = dir.path().join("m");
    let Some(mount) = Mounted::new(&at, &["-t", "tmpfs", "-o", "size=4m", "none"]) else {
        return;
    };
    let directory = format!("--directory={}", mount.at.display());
    let args = [
        "--name=w",
        &directory,
        "--rw=write",
        "--bs=64k",
        "--size=8m",
        "--fallocate=none",
        "--name=ok",
        "--ioengine=null",
        "--rw=read",
        "--size=1m",
    ];
    let (run, json) = run_json(dir.path(), &args);
    run.expect(1);
    assert_eq!(json["jobs"][0]["error"], 28);
    assert!(json["jobs"][0]["write"]["io_bytes"].as_u64().unwrap() > 3 << 20);
    assert_eq!(json["jobs"][1]["read"]["io_bytes"], 1 << 20);
    assert_eq!(json["jobs"][1]["error"], 0);

    fs::remove_file(mount.at.join("w.0.0")).unwrap();
    let args = ["--name=r", &directory, "--rw=read", "--bs=64k", "--size=8m"];
    let run = fails(dir.path(), &args, &["room"]);
    assert!(run.stderr.contains("No space left"), "{}", run.stderr);
    assert!(is_empty(&mount.at), "the half-made file is gone");
}

#[test]
fn a_read_only_mount() {
    let dir = scratch();
    let at = dir.path().join("m");
    let Some(mount) = Mounted::new(&at, &["-t", "tmpfs", "-o", "ro", "none"]) else {
        return;
    };
    let directory = format!("--directory={}", mount.at.display());
    fails(
        dir.path(),
        &["--name=w", &directory, "--rw=write", "--size=64k"],
        &["read-only", "w.0.0"],
    );
}

#[test]
fn direct_io_that_is_not_aligned() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 1 << 20) else {
        return;
    };
    let target = format!("--filename={}", device.path);
    for engine in [
        "--ioengine=psync",
        "--ioengine=libaio",
        "--ioengine=io_uring",
    ] {
        let args = [
            "--name=a",
            &target,
            engine,
            "--direct=1",
            "--rw=read",
            "--bs=1000",
        ];
        fails(
            dir.path(),
            &args,
            &["direct", "Invalid argument", "bs=1000"],
        );
    }
    fails(
        dir.path(),
        &[
            "--name=a",
            "--filename=/dev/zero",
            "--direct=1",
            "--rw=read",
            "--size=4k",
        ],
        &["/dev/zero", "direct"],
    );
}

#[test]
fn polled_io_where_it_cannot_be() {
    let dir = scratch();
    let args = [
        "--name=a",
        "--ioengine=io_uring",
        "--hipri=1",
        "--filename=f",
        "--rw=randread",
        "--size=64k",
    ];
    let run = run(dir.path(), &args);
    if run.status == 0 {
        return; // This file system polls.
    }
    assert_eq!(run.status, 1);
    assert!(run.stderr.contains("hipri"), "{}", run.stderr);
}

#[test]
fn limits_are_named() {
    let dir = scratch();
    let limit: u64 = fs::read_to_string("/proc/sys/fs/aio-max-nr")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let depth = format!("--iodepth={}", limit + 1);
    let args = [
        "--name=a",
        "--ioengine=libaio",
        "--bs=512",
        "--size=64k",
        "--rw=read",
        &depth,
    ];
    fails(dir.path(), &args, &["aio-max-nr", "iodepth"]);
    let deep = [
        "--name=a",
        "--ioengine=io_uring",
        "--bs=512",
        "--size=64k",
        "--iodepth=40000",
    ];
    fails(dir.path(), &deep, &["iodepth"]);
}

#[test]
fn output_that_cannot_be_written() {
    let dir = scratch();
    fails(
        dir.path(),
        &[
            "--output=nodir/x",
            "--name=a",
            "--ioengine=null",
            "--size=4k",
        ],
        &["nodir/x"],
    );
    fails(
        dir.path(),
        &[
            "--output=/dev/full",
            "--name=a",
            "--ioengine=null",
            "--size=4k",
        ],
        &["/dev/full", "No space left"],
    );
    // A reader that went away.
    let mut command = ferrio(dir.path(), &["--name=a", "--ioengine=null", "--size=4k"]);
    command.stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let run = wait(child);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("standard output"), "{}", run.stderr);
}

#[test]
fn one_failing_job_of_several() {
    let dir = scratch();
    let args = [
        "--name=bad",
        "--filename=/etc",
        "--rw=read",
        "--size=4k",
        "--name=good",
        "--ioengine=null",
        "--rw=read",
        "--size=1m",
    ];
    let (run, json) = run_json(dir.path(), &args);
    run.expect(1);
    assert_ne!(json["jobs"][0]["error"], 0);
    assert_eq!(json["jobs"][1]["read"]["io_bytes"], 1 << 20);
    let clones = [
        "--name=w",
        "--filename=/dev/full",
        "--rw=write",
        "--size=4k",
        "--numjobs=3",
    ];
    run_json(dir.path(), &clones).0.expect(3);
}

#[test]
fn errors_that_the_user_tolerates() {
    let dir = scratch();
    let args = [
        "--name=w",
        "--filename=/dev/full",
        "--rw=write",
        "--bs=4k",
        "--size=16k",
        "--ignore_error=,ENOSPC",
    ];
    let (run, json) = run_json(dir.path(), &args);
    run.expect(0);
    assert_eq!(json["jobs"][0]["total_err"], 4);
    assert_eq!(json["jobs"][0]["first_error"], 28);
}

#[test]
fn a_file_that_may_not_be_opened() {
    let dir = scratch();
    if is_root() {
        // Root may open everything: an immutable directory does not help on every file system.
        return;
    }
    fs::write(dir.path().join("f"), [0; 4096]).unwrap();
    let closed = fs::Permissions::from_mode(0o000);
    fs::set_permissions(dir.path().join("f"), closed).unwrap();
    fails(
        dir.path(),
        &["--name=a", "--filename=f", "--rw=read"],
        &["permission"],
    );
}

/// Runs a shell line with `$FERRIO` set.
fn shell(dir: &Path, line: &str) -> Run {
    let mut command = command("sh", dir, &["-c", line]);
    command.env("FERRIO", env!("CARGO_BIN_EXE_ferrio"));
    finish(command)
}

#[test]
fn a_closed_standard_output() {
    let dir = scratch();
    let run = shell(dir.path(), "$FERRIO --name=a --ioengine=null --size=4k >&-").expect(1);
    assert!(
        run.stderr.contains("standard output is closed"),
        "{}",
        run.stderr
    );
    let to_file = "$FERRIO --output=o --name=a --ioengine=null --size=4k >&-";
    shell(dir.path(), to_file).expect(0);
    shell(
        dir.path(),
        "$FERRIO --name=a --ioengine=null --size=4k >/dev/null",
    )
    .expect(0);
}

#[test]
fn the_limit_of_file_sizes() {
    let dir = scratch();
    for fallocate in ["native", "none"] {
        let line = format!(
            "ulimit -f 100; $FERRIO --name=big --rw=write --size=8m --bs=64k --filename=f \
             --fallocate={fallocate} --name=ok --ioengine=null --rw=read --size=1m"
        );
        let run = shell(dir.path(), &line).expect(1);
        assert!(run.stderr.contains("ulimit -f"), "{}", run.stderr);
        run.line("READ: bw=");
    }
}

#[test]
fn threads_that_cannot_be_started() {
    let dir = scratch();
    let line = "ulimit -v 100000; $FERRIO --name=a --ioengine=null --size=1m --rw=read \
                --numjobs=50 --thread=1 --group_reporting";
    let run = shell(dir.path(), line);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert_ne!(run.status, 0);
    // Which allocation meets the limit first differs: a thread that cannot start names the limit,
    // one that runs out of memory later dies and is reported so.
    let named = run.stderr.contains("ulimit") || run.stderr.contains("killed by signal 6");
    assert!(named, "{}", run.stderr);
}

#[test]
fn a_layout_that_fails_takes_all_of_it_back() {
    let dir = scratch();
    let at = dir.path().join("m");
    let Some(mount) = Mounted::new(&at, &["-t", "tmpfs", "-o", "size=4m", "none"]) else {
        return;
    };
    let directory = format!("--directory={}", mount.at.display());
    let args = [
        "--name=r",
        "--rw=randread",
        "--bs=64k",
        "--size=8m",
        "--nrfiles=10",
        &directory,
    ];
    fails(dir.path(), &args, &["room"]);
    assert!(is_empty(&mount.at));
}

#[test]
fn job_files_that_are_none() {
    let dir = scratch();
    fails(dir.path(), &["/dev/zero"], &["/dev/zero", "device"]);
    fs::create_dir(dir.path().join("jf")).unwrap();
    fails(dir.path(), &["jf"], &["'jf' is a directory"]);
}

#[test]
fn a_job_that_can_do_nothing_says_so() {
    let dir = scratch();
    let args = [
        "--name=a",
        "--rw=write",
        "--bs=4k",
        "--size=64k",
        "--nrfiles=17",
    ];
    let (run, json) = run_json(dir.path(), &args);
    let run = run.expect(0);
    assert!(run.stderr.contains("did no I/O"), "{}", run.stderr);
    assert_eq!(json["ferrio"]["warnings"].as_array().unwrap().len(), 1);
    fails(
        dir.path(),
        &["--name=a", "--ioengine=null", "--size=4k", "--nrfiles=0"],
        &["nrfiles"],
    );
}

/// What is found when files are set up has fio's exit status, and a reason.
#[test]
fn refusals_of_the_set_up() {
    let path = "crates/options/tests/data/options-messages.json";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let vectors: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for case in vectors["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        if ![
            "readonly-layout",
            "size-zero",
            "need-size",
            "bad-offset",
            "bs-too-big",
            "no-create",
            "direct-devnull",
        ]
        .contains(&id)
        {
            continue;
        }
        let dir = scratch();
        let args = case["args"].as_array().unwrap().iter();
        let mut words = vec!["--output-format=terse", "--eta=never"];
        words.extend(args.map(|word| word.as_str().unwrap()));
        let run = run(dir.path(), &words);
        assert_eq!(
            i64::from(run.status),
            case["exit"].as_i64().unwrap(),
            "{id}: {}",
            run.stderr
        );
        assert!(!run.stderr.is_empty(), "{id}");
        compared += 1;
    }
    assert_eq!(compared, 7);
}
