//! The commands of the clouds' disk-test pages, exactly as they are pasted, on a raw device, on
//! a file, in a directory. Sizes and times are scaled to the machine.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::*;

const MIB: u64 = 1 << 20;

/// Runs a command line with a JSON report and returns its first job.
fn job(dir: &Path, line: &str) -> Value {
    let (run, json) = run_json(dir, &words(line));
    run.expect(0);
    json["jobs"][0].clone()
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn cloud_disk_on_a_raw_device() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 32 * MIB) else {
        return;
    };
    for (rw, direction) in [("randwrite", "write"), ("randread", "read")] {
        let done = job(
            dir.path(),
            &format!(
                "-direct=1 -iodepth=128 -rw={rw} -ioengine=libaio -bs=4k -size=16M -numjobs=1 \
                 -runtime=1000 -group_reporting -filename={} -name=Rand_Write_Testing",
                device.path
            ),
        );
        assert_eq!(done["jobname"], "Rand_Write_Testing");
        assert_eq!(number(&done[direction]["io_bytes"]), 16 * MIB);
        assert_eq!(number(&done[direction]["total_ios"]), 4096);
        assert!(done["iodepth_level"][">=64"].as_f64().unwrap() > 50.0);
        assert_eq!(number(&done[direction]["clat_ns"]["N"]), 4096);
    }
    for (rw, direction) in [("write", "write"), ("read", "read")] {
        let done = job(
            dir.path(),
            &format!(
                "-direct=1 -iodepth=64 -rw={rw} -ioengine=libaio -bs=1024k -size=1G -numjobs=1 \
                 -runtime=1000 -group_reporting -filename={} -name=Write_PPS_Testing",
                device.path
            ),
        );
        // A size beyond the device ends at the device's end.
        assert_eq!(number(&done[direction]["io_bytes"]), 32 * MIB);
    }
    let latency = job(
        dir.path(),
        &format!(
            "-direct=1 -iodepth=1 -rw=randread -ioengine=libaio -bs=4k -size=4M -numjobs=1 \
             -runtime=1000 -group_reporting -filename={} -name=Rand_Read_Latency",
            device.path
        ),
    );
    assert_eq!(latency["iodepth_level"]["1"].as_f64(), Some(100.0));
}

#[test]
fn written_blocks_reach_the_device() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 4 * MIB) else {
        return;
    };
    job(
        dir.path(),
        &format!(
            "-direct=1 -iodepth=32 -rw=randwrite -ioengine=libaio -bs=4k -size=4M \
             -filename={} -name=w",
            device.path
        ),
    );
    let image = fs::read(&device.image).unwrap();
    let empty = image
        .chunks(4096)
        .filter(|block| block.iter().all(|byte| *byte == 0))
        .count();
    assert_eq!(empty, 0, "every block of the device was written once");
}

#[test]
fn local_disk_with_clones() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 32 * MIB) else {
        return;
    };
    for (rw, direction) in [("randwrite", "write"), ("randread", "read")] {
        let (run, json) = run_json(
            dir.path(),
            &words(&format!(
                "-direct=1 -iodepth=32 -rw={rw} -ioengine=libaio -bs=4k -numjobs=4 -time_based=1 \
                 -runtime=1 -group_reporting -filename={} -name=test",
                device.path
            )),
        );
        run.expect(0);
        assert_eq!(
            json["jobs"].as_array().unwrap().len(),
            1,
            "one entry for the group"
        );
        let runtime = number(&json["jobs"][0][direction]["runtime"]);
        assert!((1000..3000).contains(&runtime), "{runtime} ms");
        assert!(json["jobs"][0][direction]["iops"].as_f64().unwrap() > 0.0);
    }
    for rw in ["write", "read"] {
        let done = job(
            dir.path(),
            &format!(
                "-direct=1 -iodepth=128 -rw={rw} -ioengine=libaio -bs=128k -numjobs=1 \
                 -time_based=1 -runtime=1 -group_reporting -filename={} -name=test",
                device.path
            ),
        );
        // More than the device holds: a time-based job starts over.
        assert!(number(&done[rw]["io_bytes"]) > 32 * MIB);
    }
    for rw in ["write", "read", "randwrite", "randread"] {
        let done = job(
            dir.path(),
            &format!(
                "-direct=1 -iodepth=1 -rw={rw} -ioengine=libaio -bs=4k -numjobs=1 -time_based=1 \
                 -runtime=1 -group_reporting -filename={} -name=test",
                device.path
            ),
        );
        assert!((1000..3000).contains(&number(&done["job_runtime"])));
    }
}

#[test]
fn random_write_in_the_current_directory() {
    let dir = scratch();
    let done = job(
        dir.path(),
        "--name=rand-write --ioengine=libaio --iodepth=32 --rw=randwrite --invalidate=1 \
         --bsrange=4k:4k,4k:4k --size=16m --runtime=1 --time_based --do_verify=1 --direct=1 \
         --group_reporting --numjobs=1",
    );
    assert!(number(&done["write"]["io_bytes"]) > 0);
    assert_eq!(
        fs::metadata(dir.path().join("rand-write.0.0"))
            .unwrap()
            .len(),
        16 * MIB
    );
}

#[test]
fn mounted_share() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 256 * MIB) else {
        return;
    };
    if !has_tool("mkfs.ext4") {
        return skip("mkfs.ext4 is missing");
    }
    tool("mkfs.ext4", &["-q", &device.path]).expect("an ext4 file system");
    let Some(mount) = Mounted::new(&dir.path().join("share"), &[&device.path]) else {
        return;
    };
    let at = mount.at.to_str().unwrap();
    let write = job(
        dir.path(),
        &format!(
            "--size=64m --fallocate=none --direct=1 --runtime=1 --time_based --ramp_time=1 \
             --directory={at} --ioengine=libaio --rw=randwrite --bs=4k --iodepth=1 --name=nv"
        ),
    );
    let runtime = number(&write["write"]["runtime"]);
    assert!(
        (1000..3000).contains(&runtime),
        "the ramp is not counted: {runtime} ms"
    );
    let read = job(
        dir.path(),
        &format!(
            "--size=64m --fallocate=none --direct=1 --runtime=1 --time_based --ramp_time=1 \
             --directory={at} --ioengine=libaio --rw=randread --bs=4k --iodepth=32 --name=nv"
        ),
    );
    assert!(number(&read["read"]["total_ios"]) > 0);
    let (run, json) = run_json(
        dir.path(),
        &words(&format!(
            "--size=4m --fallocate=none --direct=1 --runtime=1 --time_based --directory={at} \
             --ioengine=libaio --rw=read --bs=64k --iodepth=32 --numjobs=16 --name=nv2"
        )),
    );
    run.expect(0);
    assert_eq!(json["jobs"].as_array().unwrap().len(), 16);
    for clone in 0..16 {
        assert_eq!(
            fs::metadata(mount.at.join(format!("nv2.{clone}.0")))
                .unwrap()
                .len(),
            4 * MIB
        );
    }
}

#[test]
fn many_cores_with_split_cpus() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 64 * MIB) else {
        return;
    };
    let cpus = std::thread::available_parallelism().unwrap().get();
    let mut command = ferrio(
        dir.path(),
        &words(&format!(
            "--output-format=json --ioengine=libaio --runtime=2s --numjobs=4 --iodepth=128 \
             --bs=4k --size=1024g --rw=randwrite --filename={} --time_based=1 --direct=1 \
             --name=test --group_reporting --cpus_allowed=0-{} --cpus_allowed_policy=split",
            device.path,
            cpus - 1
        )),
    );
    let child = command.spawn().unwrap();
    let parent = child.id();
    let mut masks = Vec::new();
    until("four pinned workers", || {
        let mut pids = children_of(parent);
        pids.sort_unstable();
        masks = pids.iter().filter_map(|pid| cpu_list(*pid)).collect();
        masks.len() == 4 && masks.iter().all(|mask| mask.parse::<usize>().is_ok())
    });
    for (worker, mask) in masks.iter().enumerate() {
        assert_eq!(
            mask.parse::<usize>().unwrap(),
            worker % cpus,
            "masks {masks:?}"
        );
    }
    let run = wait(child).expect(0);
    let json = run.json();
    assert!(number(&json["jobs"][0]["write"]["total_ios"]) > 0);
}

fn cpu_list(pid: u32) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_string())
}

#[test]
fn sections_with_a_barrier() {
    let dir = scratch();
    let file = "\
[global]
ioengine=libaio
direct=0
bs=4k
size=4m
filename=data
group_reporting

[fill]
rw=write

[random]
stonewall
rw=randread
iodepth=16
numjobs=2
";
    fs::write(dir.path().join("jobs.fio"), file).unwrap();
    let run = run(dir.path(), &["jobs.fio"]).expect(0);
    assert!(run.line("fill: (g=0)").contains("rw=write"));
    assert_eq!(run.line("Starting"), "Starting 3 processes");
    run.line("Run status group 0 (all jobs):");
    run.line("Run status group 1 (all jobs):");
    run.line("random: (groupid=1, jobs=2)");
    let (_, json) = run_json(dir.path(), &["jobs.fio"]);
    let starts: Vec<u64> = json["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|j| number(&j["job_start"]))
        .collect();
    let first_ms = number(&json["jobs"][0]["job_runtime"]);
    assert!(
        starts[1] >= starts[0] + first_ms,
        "the barrier holds: {starts:?}, {first_ms} ms"
    );
}

#[test]
fn every_engine_reads_what_was_written() {
    let dir = scratch();
    for engine in ["psync", "sync", "libaio", "io_uring"] {
        let line = format!(
            "--name=e --ioengine={engine} --iodepth=8 --filename=data --size=1m --bs=4k \
             --rw=randrw --rwmixread=60"
        );
        let done = job(dir.path(), &line);
        let (reads, writes) = (
            number(&done["read"]["total_ios"]),
            number(&done["write"]["total_ios"]),
        );
        assert_eq!(reads + writes, 256, "{engine}");
        assert!(
            (140..170).contains(&reads),
            "{engine}: {reads} reads of 256 at 60 %"
        );
    }
    let options = [
        "--fixedbufs",
        "--registerfiles",
        "--fixedbufs --registerfiles --sqthread_poll",
        "--nonvectored=0",
        "--force_async=4",
        "--iodepth_batch_submit=4 --iodepth_batch_complete_min=2 --iodepth_batch_complete_max=8",
    ];
    for option in options {
        let line = format!(
            "--name=u --ioengine=io_uring --iodepth=8 --filename=data --size=1m --bs=4k \
             --rw=randread {option}"
        );
        assert_eq!(
            number(&job(dir.path(), &line)["read"]["io_bytes"]),
            MIB,
            "{option}"
        );
    }
    for option in [
        "--userspace_reap --iodepth_batch_complete_min=0",
        "--libaio_vectored=1",
    ] {
        let line = format!(
            "--name=l --ioengine=libaio --iodepth=8 --filename=data --size=1m --bs=4k \
             --rw=randread {option}"
        );
        assert_eq!(
            number(&job(dir.path(), &line)["read"]["io_bytes"]),
            MIB,
            "{option}"
        );
    }
}

#[test]
fn a_maximum_of_completions_lets_the_queue_fill() {
    let dir = scratch();
    let line = "--name=q --ioengine=libaio --iodepth=64 --rw=write --bs=4k --size=1m --filename=f \
                --iodepth_batch_complete_min=0";
    // Without a maximum each submission is followed by a look for completions.
    let polled = job(dir.path(), line);
    assert_eq!(polled["iodepth_level"]["1"].as_f64(), Some(100.0));
    for max in [1, 8] {
        let filled = job(
            dir.path(),
            &format!("{line} --iodepth_batch_complete_max={max}"),
        );
        let shallow = filled["iodepth_level"]["1"].as_f64().unwrap();
        assert!(shallow < 5.0, "{filled}");
    }
}
