//! Each engine on real targets: what it leaves there, and what it counts.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::*;

/// Engines that move data.
const DATA: &[&str] = &[
    "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap", "splice",
];

/// Runs a job that must succeed; its part of the report.
fn job(dir: &Path, line: &str) -> Value {
    let (run, json) = run_json(dir, &words(line));
    let job = json["jobs"][0].clone();
    run.expect(0);
    job
}

fn issued(job: &Value) -> [u64; 4] {
    ["read", "write", "trim", "sync"].map(|name| job[name]["total_ios"].as_u64().unwrap_or(0))
}

/// Data that depends on the order of operations alone.
const PATTERN: &str = "--name=j --bs=4k --size=1m --iodepth=4 --refill_buffers=1 \
                       --scramble_buffers=0 --randseed=7 --invalidate=1 --overwrite=1";

#[test]
fn files_hold_what_psync_would_have_written() {
    let dir = scratch();
    for rw in ["randwrite", "rw", "write"] {
        let wanted = dir.path().join(rw);
        job(
            dir.path(),
            &format!("{PATTERN} --ioengine=psync --rw={rw} --filename={rw} --fsync=9"),
        );
        let wanted = fs::read(wanted).unwrap();
        assert_eq!(wanted.len(), 1 << 20);
        for engine in DATA {
            let file = format!("{engine}-{rw}");
            let line =
                format!("{PATTERN} --ioengine={engine} --rw={rw} --filename={file} --fsync=9");
            let done = job(dir.path(), &line);
            assert_eq!(issued(&done)[0] + issued(&done)[1], 256, "{engine} {rw}");
            assert!(issued(&done)[3] > 10, "{engine} {rw}");
            let found = fs::read(dir.path().join(&file)).unwrap();
            assert!(found == wanted, "{engine} {rw}");
        }
    }
}

#[test]
fn devices_hold_what_psync_would_have_written() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 4 << 20) else {
        return;
    };
    let line = |engine: &str| {
        format!(
            "{PATTERN} --ioengine={engine} --rw=randwrite --direct=1 --offset=64k --filename={}",
            device.path
        )
    };
    let contents = || {
        tool("sync", &[]);
        let image = fs::File::open(&device.image).unwrap();
        let mut bytes = vec![0; 2 << 20];
        image.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    job(dir.path(), &line("psync"));
    let wanted = contents();
    assert!(wanted[..64 << 10].iter().all(|byte| *byte == 0));
    for engine in DATA {
        let trim = format!(
            "--name=t --ioengine={engine} --rw=trim --bs=64k --size=2m --filename={}",
            device.path
        );
        assert_eq!(issued(&job(dir.path(), &trim)), [0, 0, 32, 0], "{engine}");
        assert!(contents().iter().all(|byte| *byte == 0), "{engine}");
        job(dir.path(), &line(engine));
        assert!(contents() == wanted, "{engine}");
    }
}

/// Requests of one file that follow each other are one call, others are not.
#[test]
fn vsync_hands_over_batches() {
    let dir = scratch();
    let line = "--name=j --ioengine=vsync --size=1m --bs=4k --iodepth=8 --iodepth_batch=8 \
                --filename=f";
    let sequential = job(dir.path(), &format!("{line} --rw=write"));
    for map in ["iodepth_submit", "iodepth_complete"] {
        assert_eq!(sequential[map]["8"], 100.0, "{map}");
    }
    assert_eq!(sequential["iodepth_level"]["8"], 100.0);
    assert_eq!(sequential["write"]["slat_ns"]["max"], 0);
    let random = job(dir.path(), &format!("{line} --rw=randread"));
    assert!(random["iodepth_submit"]["4"].as_f64().unwrap() > 90.0);
    assert_eq!(issued(&random), [256, 0, 0, 0]);
}

/// Each request counts as a submission and a completion, and the reaping on top of that.
#[test]
fn posixaio_counts_as_fio_does() {
    let dir = scratch();
    let done = job(
        dir.path(),
        "--name=j --ioengine=posixaio --rw=write --size=1m --bs=4k --iodepth=16 \
         --iodepth_batch=16 --iodepth_batch_complete_min=16 --filename=f --thread",
    );
    assert_eq!(done["iodepth_submit"]["4"], 100.0);
    let share = |slot: &str| done["iodepth_complete"][slot].as_f64().unwrap();
    assert!((94.0..94.2).contains(&share("4")), "{}", share("4"));
    assert!((5.8..6.0).contains(&share("16")), "{}", share("16"));
    assert!(done["write"]["slat_ns"]["max"].as_u64().unwrap() > 0);
}

/// A tail shorter than a block, many passes (no block fits behind the first).
#[test]
fn tails_and_passes_end() {
    let dir = scratch();
    for engine in ["psync", "posixaio", "libaio", "io_uring", "mmap", "vsync"] {
        let done = job(
            dir.path(),
            &format!(
                "--name=v --filename={engine} --randseed=100 --size=4k --bs=3k --rw=randrw \
                 --ioengine={engine} --time_based --runtime=200ms"
            ),
        );
        assert!(issued(&done)[0] + issued(&done)[1] > 2, "{engine}");
    }
}

#[test]
fn private_mappings_are_named() {
    let dir = scratch();
    let run = run(
        dir.path(),
        &words("--name=j --ioengine=mmap --thp=1 --rw=write --size=64k --bs=4k --filename=f"),
    )
    .expect(0);
    assert!(run.stderr.contains("thp"), "{}", run.stderr);
}

#[test]
fn falloc_and_ftruncate_shape_files() {
    let dir = scratch();
    let path = dir.path().join("f");
    fs::write(&path, vec![7; 64 << 10]).unwrap();
    let line = |rest: &str| format!("--name=j --bs=4k --filename=f --invalidate=0 {rest}");
    let blocks = || fs::metadata(&path).unwrap().blocks();
    let before = blocks();
    let run = run(
        dir.path(),
        &words(&line("--ioengine=falloc --rw=trim --size=32k")),
    );
    if run.status != 0 && run.stderr.contains("not supported") {
        return skip("no holes can be punched here");
    }
    run.expect(0);
    assert!(blocks() < before);
    let bytes = fs::read(&path).unwrap();
    assert!(bytes[..32 << 10].iter().all(|byte| *byte == 0));
    assert!(bytes[32 << 10..].iter().all(|byte| *byte == 7));
    let done = job(
        dir.path(),
        &line("--ioengine=falloc --rw=write --size=64k --fsync=4"),
    );
    assert_eq!(issued(&done), [0, 16, 0, 3]);
    assert_eq!(blocks(), before);
    job(
        dir.path(),
        &line("--ioengine=ftruncate --rw=write --size=32k"),
    );
    assert_eq!(fs::metadata(&path).unwrap().len(), 28 << 10);
    let (run, json) = run_json(
        dir.path(),
        &words(&line("--ioengine=ftruncate --rw=read --size=4k")),
    );
    assert_eq!(run.status, 1);
    assert_eq!(json["jobs"][0]["error"], 22);
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// One sample of completion latency for each name, and nothing else.
fn one_sample_each(done: &Value, direction: &str, names: u64) {
    let figures = &done[direction];
    assert_eq!(figures["clat_ns"]["N"], names, "{figures}");
    assert_eq!(figures["lat_ns"]["max"], 0);
    assert_eq!(figures["bw_samples"], 0);
    assert_eq!(figures["iops_samples"], 0);
    let percentile = &figures["clat_ns"]["percentile"]["50.000000"];
    assert!(percentile.as_u64().unwrap() > 0, "{figures}");
    for unit in ["latency_ns", "latency_us", "latency_ms"] {
        let classes = done[unit].as_object().unwrap();
        assert!(classes.values().all(|share| share == 0.0), "{unit}");
    }
}

#[test]
fn file_operations() {
    let dir = scratch();
    let files = dir.path().join("d");
    fs::create_dir(&files).unwrap();
    let line = |rest: &str| format!("--name=j --directory=d --nrfiles=5 --filesize=8k {rest}");
    let done = job(
        dir.path(),
        &line("--ioengine=filecreate --rw=write --bs=8k --openfiles=2"),
    );
    assert_eq!(issued(&done), [0, 5, 0, 0]);
    one_sample_each(&done, "write", 5);
    let all = ["j.0.0", "j.0.1", "j.0.2", "j.0.3", "j.0.4"];
    assert_eq!(names(&files), all);
    // What exists is opened, and keeps what it has.
    fs::write(files.join("j.0.1"), b"kept").unwrap();
    job(
        dir.path(),
        &line("--ioengine=filecreate --rw=write --bs=8k"),
    );
    assert_eq!(fs::read(files.join("j.0.1")).unwrap(), b"kept");

    for stat in ["stat", "lstat", "statx"] {
        let done = job(
            dir.path(),
            &line(&format!(
                "--ioengine=filestat --rw=read --bs=4k --stat_type={stat}"
            )),
        );
        // The files were laid out, and take two operations each.
        assert_eq!(issued(&done), [10, 0, 0, 0]);
        one_sample_each(&done, "read", 5);
    }
    assert_eq!(fs::metadata(files.join("j.0.1")).unwrap().len(), 8 << 10);

    let done = job(
        dir.path(),
        &line("--ioengine=filedelete --rw=write --bs=8k"),
    );
    one_sample_each(&done, "write", 5);
    assert!(names(&files).is_empty());
    let (run, json) = run_json(
        dir.path(),
        &words(&line("--ioengine=filedelete --rw=write --bs=8k --loops=2")),
    );
    assert_eq!((run.status, &json["jobs"][0]["error"]), (1, &2.into()));
    assert!(
        run.stderr.contains("could not be deleted"),
        "{}",
        run.stderr
    );

    job(
        dir.path(),
        &line("--ioengine=filecreate --rw=write --bs=8k --unlink=1"),
    );
    assert!(names(&files).is_empty());
}

#[test]
fn directory_operations() {
    let dir = scratch();
    let at = dir.path().join("d");
    fs::create_dir(&at).unwrap();
    let line = |rest: &str| format!("--name=j --directory=d --nrfiles=3 --filesize=4k {rest}");
    let done = job(dir.path(), &line("--ioengine=dircreate --rw=write --bs=4k"));
    assert_eq!(issued(&done), [0, 3, 0, 0]);
    one_sample_each(&done, "write", 3);
    let mode = fs::metadata(at.join("j.0.2")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // They are there already.
    let failed = run(
        dir.path(),
        &words(&line("--ioengine=dircreate --rw=write --bs=4k")),
    )
    .expect(1);
    assert!(failed.stderr.contains("j.0.0"), "{}", failed.stderr);

    let done = job(dir.path(), &line("--ioengine=dirstat --rw=read --bs=4k"));
    one_sample_each(&done, "read", 3);
    let done = job(dir.path(), &line("--ioengine=dirdelete --rw=write --bs=4k"));
    one_sample_each(&done, "write", 3);
    assert!(names(&at).is_empty());
    // Set-up makes the directories, and unlink removes them.
    for engine in ["dircreate", "dirstat", "dirdelete"] {
        job(
            dir.path(),
            &line(&format!("--ioengine={engine} --rw=read --bs=4k --unlink=1")),
        );
        assert!(names(&at).is_empty(), "{engine}");
    }
}

/// Nothing else than files and directories is made, looked at or removed.
#[test]
fn operations_refuse_other_targets() {
    let dir = scratch();
    fs::write(dir.path().join("file"), b"x").unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    for (engine, name) in [
        ("filecreate", "sub"),
        ("filestat", "sub"),
        ("filedelete", "sub"),
        ("filestat", "/dev/null"),
        ("filedelete", "/dev/null"),
        ("filecreate", "/dev/nosuch"),
        ("filecreate", "missing/f"),
        ("dircreate", "/dev/nosuch"),
        ("dirdelete", "file"),
        ("dirstat", "file"),
    ] {
        let line = format!("--name=j --ioengine={engine} --filename={name} --size=4k --rw=write");
        let run = run(dir.path(), &words(&line)).expect(1);
        assert!(run.stderr.contains(name), "{engine}: {}", run.stderr);
    }
    assert_eq!(names(dir.path()), ["file", "sub"]);
    assert!(Path::new("/dev/null").exists() && !Path::new("/dev/nosuch").exists());
    let Some(device) = LoopDevice::new(dir.path(), 1 << 20) else {
        return;
    };
    // Something is stacked on it.
    let Some(_above) = LoopDevice::over(Path::new(&device.path)) else {
        return;
    };
    let line = "--name=j --ioengine=filedelete --filename=image --size=4k --rw=read";
    let refused = run(dir.path(), &words(line)).expect(1);
    assert!(
        refused.stderr.contains("backing file"),
        "{}",
        refused.stderr
    );
    assert!(device.image.exists());
}

#[test]
fn readonly_holds_for_engines_that_change_what_they_read() {
    let dir = scratch();
    fs::write(dir.path().join("f"), vec![1; 4096]).unwrap();
    for engine in [
        "falloc",
        "filecreate",
        "filedelete",
        "dircreate",
        "dirdelete",
    ] {
        let line =
            format!("--readonly --name=j --ioengine={engine} --filename=f --size=4k --rw=read");
        let run = run(dir.path(), &words(&line)).expect(1);
        assert!(
            run.stderr.contains("--readonly"),
            "{engine}: {}",
            run.stderr
        );
    }
    let line = "--readonly --name=j --ioengine=dirstat --filename=g --size=4k --rw=read";
    let refused = run(dir.path(), &words(line)).expect(1);
    assert!(refused.stderr.contains("--readonly"), "{}", refused.stderr);
    assert_eq!(names(dir.path()), ["f"]);
    let line = "--readonly --name=j --ioengine=filestat --filename=f --size=4k --rw=read";
    run(dir.path(), &words(line)).expect(0);
}

/// Time per file does not grow with their number.
#[test]
fn many_files() {
    let dir = scratch();
    let time = |count: u32| {
        let at = format!("d{count}");
        fs::create_dir(dir.path().join(&at)).unwrap();
        let line = format!(
            "--name=j --ioengine=filecreate --rw=write --directory={at} --nrfiles={count} \
             --filesize=1k --bs=1k --openfiles=1 --fallocate=none"
        );
        let start = Instant::now();
        let done = job(dir.path(), &line);
        let elapsed = start.elapsed();
        assert_eq!(issued(&done)[1], u64::from(count));
        assert_eq!(names(&dir.path().join(at)).len(), count as usize);
        elapsed
    };
    // Sixteen times would be quadratic; the machine has other things to do.
    let few = time(5000);
    let many = time(20000);
    assert!(
        many < few * 10 + Duration::from_millis(500),
        "{few:?} for 5000, {many:?} for 20000"
    );
}

#[test]
fn cpuio_burns_and_pauses() {
    let dir = scratch();
    let done = run(
        dir.path(),
        &words("--name=c --ioengine=cpuio --cpuload=50 --runtime=1 --time_based"),
    )
    .expect(0);
    let mut lines = done.stdout.lines();
    assert_eq!(lines.next(), Some("fio-3.42"));
    assert_eq!(lines.next(), Some("Starting 1 process"));
    assert_eq!(
        lines.next(),
        Some("c (noop): ioengine=cpuio, cpuload=50, cpucycle=50000")
    );
    for absent in ["rw=", "read:", "READ:", "IOPS"] {
        assert!(!done.stdout.contains(absent), "{}", done.stdout);
    }
    let issued = done.line("issued rwts");
    let count: u64 = issued
        .split("total=")
        .nth(1)
        .and_then(|rest| rest.split(',').next()?.parse().ok())
        .unwrap();
    // A pause on a busy machine may be longer, so fewer is no fault.
    assert!((2..=11).contains(&count), "{issued}");
    assert!(done.stdout.ends_with("Run status group 0 (all jobs):\n"));

    let done = run(
        dir.path(),
        &words(
            "--name=c --ioengine=cpuio --cpuload=150 --cpuchunks=1000 --number_ios=7 --rw=write",
        ),
    )
    .expect(0);
    assert!(done.stdout.contains("cpuload=100, cpucycle=1000"));
    assert!(done.line("issued rwts").contains("total=7,0,0,0"));

    let done = run(
        dir.path(),
        &words("--name=c --ioengine=cpuio --cpuload=50 --cpumode=qsort --number_ios=2"),
    )
    .expect(0);
    assert!(
        done.stdout
            .contains("c (qsort): ioengine=cpuio, cpuload=50")
    );
    assert!(done.line("issued rwts").contains("total=2,0,0,0"));
}

/// Jobs that burn CPU time end with the last one that does I/O.
#[test]
fn cpuio_ends_with_the_io() {
    let dir = scratch();
    for option in ["--exit_on_io_done=1", "--exit_on_io_done=0"] {
        let start = Instant::now();
        let (run, json) = run_json(
            dir.path(),
            &words(&format!(
                "--name=c --ioengine=cpuio --cpuload=100 --cpuchunks=60s {option} \
                 --name=n --ioengine=null --size=1t --runtime=300ms --name=m --stonewall \
                 --ioengine=null --size=4k"
            )),
        );
        assert_ne!(run.status, 0, "60s is no number of microseconds");
        assert!(json["jobs"].as_array().is_none_or(Vec::is_empty));
        let (run, json) = run_json(
            dir.path(),
            &words(&format!(
                "--name=c --ioengine=cpuio --cpuload=100 --cpuchunks=60000000 {option} \
                 --name=n --ioengine=null --size=1t --runtime=300ms"
            )),
        );
        run.expect(0);
        assert!(start.elapsed() < Duration::from_secs(30));
        assert_eq!(issued(&json["jobs"][0])[0], 1);
        assert!(issued(&json["jobs"][1])[0] > 0);
    }
}

/// A burn may be longer than the grace of a worker that makes no progress.
#[test]
fn a_long_burn_is_no_stall() {
    let dir = scratch();
    let line = "--name=c --ioengine=cpuio --cpuload=100 --cpuchunks=2500000 --runtime=1";
    let mut command = ferrio(dir.path(), &words(line));
    command.env("FERRIO_STALL_SECONDS", "1");
    let done = finish(command).expect(0);
    assert!(done.line("issued rwts").contains("total=1,"));
    assert_eq!(done.stderr, "");
}

/// Calls that would wait fail, and are counted if that is wanted.
#[test]
fn nowait_is_an_error_like_others() {
    let dir = scratch();
    let path = dir.path().join("f");
    fs::write(&path, vec![1; 1 << 20]).unwrap();
    fs::File::open(&path).unwrap().sync_all().unwrap();
    let line = "--name=j --ioengine=pvsync2 --nowait=1 --rw=randread --size=1m --bs=4k \
                --filename=f --fadvise_hint=random";
    let (run, json) = run_json(dir.path(), &words(line));
    // Where all of it is in memory (tmpfs), or the file system knows no such flag, nothing waits.
    match json["jobs"][0]["error"].as_i64().unwrap() {
        11 => assert!(run.stderr.contains("nowait=1"), "{}", run.stderr),
        95 => assert!(run.stderr.contains("not supported"), "{}", run.stderr),
        other => assert_eq!((other, run.status), (0, 0)),
    }
    let line = format!("{line} --ignore_error=EAGAIN:EOPNOTSUPP");
    let (run, json) = run_json(dir.path(), &words(&line));
    assert_eq!(issued(&json["jobs"][0]), [256, 0, 0, 0]);
    assert_eq!(run.status, 0, "{}", run.stderr);
}

/// Interrupts end engines that wait, sleep or burn.
#[test]
fn interrupts_end_every_engine() {
    let dir = scratch();
    for engine in [
        "--ioengine=posixaio --iodepth=8 --thread",
        "--ioengine=posixaio --iodepth=8",
        "--ioengine=vsync --iodepth=4 --iodepth_batch=4",
        "--ioengine=mmap",
        "--ioengine=splice",
        "--ioengine=cpuio --cpuload=30 --cpuchunks=50000000",
    ] {
        let line = format!(
            "--name=j --rw=randrw --size=1m --filename=f --time_based --runtime=60 {engine}"
        );
        let child = ferrio(dir.path(), &words(&line)).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        signal("INT", child.id());
        wait(child).expect(128);
        assert!(start.elapsed() < Duration::from_secs(20), "{engine}");
    }
}

#[test]
fn bad_settings_are_named() {
    let dir = scratch();
    for (line, named) in [
        (
            "--ioengine=pvsync2 --hipri_percentage=101",
            "hipri_percentage",
        ),
        ("--ioengine=pvsync2 --nowait=2", "nowait"),
        (
            "--ioengine=io_uring --registerfiles --filename=x:y --openfiles=2",
            "openfiles",
        ),
        ("--ioengine=pvsync2 --uncached=x", "uncached"),
        ("--ioengine=pvsync2 --hipri=x", "hipri"),
        ("--ioengine=pvsync2 --rw=write --atomic=1", "atomic"),
        ("--ioengine=mmap --thp=x", "thp"),
        ("--ioengine=mmap --rw=write --file_append=1", "file_append"),
        (
            "--ioengine=mmap --rw=write --create_on_open=1",
            "create_on_open",
        ),
        ("--ioengine=mmap --rw=write --direct=1 --bs=1k", "multiples"),
        ("--ioengine=filestat --stat_type=x", "stat_type"),
        ("--ioengine=cpuio", "cpuload"),
        ("--ioengine=cpuio --cpuload=x", "cpuload"),
        ("--ioengine=cpuio --cpuload=5 --cpumode=x", "cpumode"),
        ("--ioengine=cpuio --cpuload=5 --cpuchunks=x", "cpuchunks"),
        (
            "--ioengine=cpuio --cpuload=5 --exit_on_io_done=2",
            "exit_on_io_done",
        ),
        ("--ioengine=psync --cpuload=5", "cpuload"),
    ] {
        let mut args = vec!["--name=j", "--size=16k", "--filename=f"];
        args.extend(words(line));
        let run = run(dir.path(), &args).expect(1);
        assert!(run.stderr.contains(named), "{line}: {}", run.stderr);
    }
}

#[test]
fn the_list_of_engines_is_in_fios_order() {
    let dir = scratch();
    let run = run(dir.path(), &["--enghelp"]).expect(0);
    let names: Vec<&str> = run.stdout.lines().skip(1).map(str::trim).collect();
    let wanted = "cpuio mmap sync psync vsync pvsync pvsync2 null ftruncate filecreate filestat \
                  filedelete dircreate dirstat dirdelete posixaio falloc splice io_uring libaio";
    assert_eq!(names, words(wanted));
}
