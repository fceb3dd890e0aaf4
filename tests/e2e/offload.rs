//! `io_submit_mode=offload` and `serialize_overlap`.

use std::fs;

use crate::support::*;

const OFFLOADED: &[&str] = &[
    "psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "mmap", "splice",
];

/// What the threads write is what the job's own thread would have written.
#[test]
fn threads_write_what_the_job_would_have_written() {
    let dir = scratch();
    let base = "--name=j --rw=randwrite --bs=4k --size=1m --refill_buffers=1 --scramble_buffers=0 \
                --overwrite=1 --iodepth=8 --fsync=16 --nrfiles=3 --openfiles=2";
    let names = |engine: &str| format!("--filename_format={engine}.$filenum");
    let line = format!("{base} --ioengine=psync {}", names("wanted"));
    run(dir.path(), &words(&line)).expect(0);
    for engine in OFFLOADED {
        let line = format!(
            "{base} --ioengine={engine} --io_submit_mode=offload {}",
            names(engine)
        );
        let (run, json) = run_json(dir.path(), &words(&line));
        run.expect(0);
        let job = &json["jobs"][0];
        assert_eq!(job["write"]["total_ios"], 255, "{engine}");
        assert!(
            job["iodepth_level"]["8"].as_f64().unwrap() > 50.0,
            "{engine}"
        );
        for file in 0..3 {
            let read = |name: &str| fs::read(dir.path().join(format!("{name}.{file}"))).unwrap();
            assert!(read(engine) == read("wanted"), "{engine}: file {file}");
        }
    }
}

#[test]
fn engines_that_cannot_be_shared_are_refused() {
    let dir = scratch();
    for engine in ["io_uring", "filecreate"] {
        for line in [
            format!("--name=j --io_submit_mode=offload --ioengine={engine} --size=1m"),
            format!("--name=j --ioengine={engine} --io_submit_mode=offload --size=1m"),
        ] {
            let run = run(dir.path(), &words(&line)).expect(1);
            assert!(
                run.stderr.contains("io_submit_mode=offload"),
                "{}",
                run.stderr
            );
        }
    }
    let line = "--io_submit_mode=offload --serialize_overlap=1 --size=1m --rw=randwrite \
                --norandommap --iodepth=4 --name=a --name=b";
    let run = run(dir.path(), &words(line)).expect(1);
    assert!(run.stderr.contains("serialize_overlap"), "{}", run.stderr);
}

#[test]
fn an_error_in_a_thread_is_the_jobs() {
    let dir = scratch();
    let line = "--name=j --filename=/dev/full --rw=write --bs=4k --size=64k --iodepth=4 \
                --io_submit_mode=offload";
    let (run, json) = run_json(dir.path(), &words(line));
    run.expect(1);
    assert_eq!(json["jobs"][0]["error"], 28);
}

/// Two blocks never have three operations in flight.
#[test]
fn overlapping_operations_are_not_in_flight_together() {
    let dir = scratch();
    for mode in [
        "--ioengine=libaio",
        "--ioengine=posixaio",
        "--io_submit_mode=offload",
    ] {
        let line = format!(
            "--name=j --filename=f --rw=randwrite --bs=4k --size=8k --norandommap --io_size=2m \
             --iodepth=16 {mode}"
        );
        let levels = |more: &str| {
            let line = format!("{line} {more}");
            let (run, json) = run_json(dir.path(), &words(&line));
            run.expect(0);
            let job = &json["jobs"][0];
            assert_eq!(job["write"]["total_ios"], 512, "{mode}");
            let level = |depth: &str| job["iodepth_level"][depth].as_f64().unwrap();
            level("4") + level("8") + level("16")
        };
        assert!(levels("") > 90.0, "{mode}: the depth is used");
        assert!(levels("--serialize_overlap=1") < 1.0, "{mode}");
    }
}
