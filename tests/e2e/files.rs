//! Files of jobs: kinds, how they come to be and go, and what is refused.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use serde_json::Value;

use crate::support::*;

fn refuses(line: &str, part: &str) {
    let dir = scratch();
    let run = run(dir.path(), &words(line)).expect(1);
    assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
}

fn ios(json: &Value, direction: &str) -> u64 {
    json["jobs"][0][direction]["total_ios"].as_u64().unwrap()
}

#[test]
fn the_kind_of_a_file_can_be_said() {
    let dir = scratch();
    let run_json = |line: &str| run_json(dir.path(), &words(line));
    // A character device has no size and is not laid out.
    let (run, json) =
        run_json("--name=a --filetype=char --filename=/dev/zero --rw=read --bs=4k --size=64k");
    run.expect(0);
    assert_eq!(ios(&json, "read"), 16);
    // A plain file as one: never made, never extended.
    fs::write(dir.path().join("f"), vec![1; 8192]).unwrap();
    let (_, json) = run_json("--name=a --filetype=char --filename=f --rw=read --bs=4k --size=64k");
    assert_eq!(ios(&json, "read"), 2 + 1);
    assert_eq!(fs::metadata(dir.path().join("f")).unwrap().size(), 8192);
    refuses(
        "--name=a --filetype=char --filename=none --rw=write --size=64k",
        "none",
    );
    // It holds for names that come later.
    let line = "--name=a --filename=f --filetype=block --rw=read --bs=4k --size=8k";
    run_json(line).0.expect(0);
    refuses(
        "--name=a --filetype=block --filename=/dev/null --rw=read --size=64k",
        "no block device",
    );
    // Nothing is laid out over a device.
    refuses(
        "--name=a --filetype=file --filename=/dev/null --rw=write --size=64k",
        "is a device",
    );
    refuses("--name=a --filetype=disk --rw=read --size=64k", "filetype");
    if let Some(device) = LoopDevice::new(dir.path(), 1 << 20) {
        let line = format!(
            "--name=a --filetype=block --filename={} --rw=read --bs=4k",
            device.path
        );
        let (run, json) = run_json(&line);
        run.expect(0);
        assert_eq!(ios(&json, "read"), 256);
    }
}

#[test]
fn pipes_have_no_size() {
    let dir = scratch();
    let pipe = dir.path().join("p");
    tool("mkfifo", &[pipe.to_str().unwrap()]).expect("mkfifo");
    for name in ["p", "-"] {
        let line = format!("--name=a --filename={name} --rw=write --size=64k");
        let run = run(dir.path(), &words(&line)).expect(1);
        assert!(run.stderr.contains("pipe"), "{}", run.stderr);
    }
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(!dir.path().join("-").exists());
}

#[test]
fn all_files_below_a_directory() {
    let dir = scratch();
    fs::create_dir_all(dir.path().join("d/e/g")).unwrap();
    for (name, len) in [("d/x", 8192), ("d/e/y", 4096), ("d/e/g/z", 16384)] {
        fs::write(dir.path().join(name), vec![1; len]).unwrap();
    }
    std::os::unix::fs::symlink("x", dir.path().join("d/link")).unwrap();
    let (run, json) = run_json(dir.path(), &words("--name=a --opendir=d --rw=read --bs=4k"));
    run.expect(0);
    assert_eq!(ios(&json, "read"), 2 + 1 + 4);
    refuses("--name=a --opendir=nowhere --rw=read", "nowhere");
}

#[test]
fn devices_are_filled() {
    let dir = scratch();
    let small = ["-t", "tmpfs", "-o", "size=2m", "none"];
    let Some(disk) = Mounted::new(&dir.path().join("small"), &small) else {
        return;
    };
    let file = disk.at.join("a.0.0");
    // A share of nothing is no end either.
    for size in ["", " --size=50%"] {
        let line = format!("--name=a --directory=small --rw=write --bs=64k --fill_device=1{size}");
        let (run, json) = run_json(dir.path(), &words(&line));
        let run = run.expect(0);
        assert_eq!(json["jobs"][0]["error"], 0);
        assert_eq!(json["jobs"][0]["write"]["io_bytes"], 2 << 20);
        assert!(!run.stderr.contains("invalidation"), "{}", run.stderr);
        assert_eq!(fs::metadata(&file).unwrap().size(), 2 << 20);
        fs::remove_file(&file).unwrap();
    }
    // A reader fills it first, and reads what there is then.
    let line = "--name=a --directory=small --rw=read --bs=64k --fill_device=1";
    let (run, json) = run_json(dir.path(), &words(line));
    run.expect(0);
    assert_eq!(json["jobs"][0]["read"]["io_bytes"], 2 << 20);
}

#[test]
fn space_is_reserved_as_asked() {
    let dir = scratch();
    // Kind, size after one write of 4 KiB out of 64, and whether the blocks are there.
    for (kind, size, reserved) in [
        ("none", 4096, false),
        ("0", 4096, false),
        ("native", 65536, true),
        ("posix", 65536, true),
        ("1", 65536, true),
        ("keep", 4096, true),
        ("truncate", 65536, false),
    ] {
        let line = format!(
            "--name=a --filename=f --rw=write --bs=4k --size=64k --number_ios=1 --fallocate={kind}"
        );
        run(dir.path(), &words(&line)).expect(0);
        let metadata = fs::metadata(dir.path().join("f")).unwrap();
        assert_eq!(metadata.size(), size, "{kind}");
        assert_eq!(metadata.blocks() >= 128, reserved, "{kind}");
        fs::remove_file(dir.path().join("f")).unwrap();
    }
    refuses(
        "--name=a --rw=write --size=64k --fallocate=some",
        "fallocate",
    );
}

#[test]
fn space_that_is_not_there_is_told_or_an_error() {
    let dir = scratch();
    let small = ["-t", "tmpfs", "-o", "size=2m", "none"];
    let Some(disk) = Mounted::new(&dir.path().join("small"), &small) else {
        return;
    };
    let line = "--name=a --directory=small --rw=randwrite --bs=4k --size=16m --io_size=256k";
    let told = run(dir.path(), &words(line)).expect(0);
    assert!(
        told.stderr.contains("could not be reserved"),
        "{}",
        told.stderr
    );
    fs::remove_file(disk.at.join("a.0.0")).unwrap();
    let mut args = words(line);
    args.insert(0, "--warnings-fatal");
    let run = run(dir.path(), &args).expect(1);
    assert!(run.stderr.contains("no room"), "{}", run.stderr);
    assert!(!disk.at.join("a.0.0").exists());
}

#[test]
fn a_plain_file_cannot_be_trimmed() {
    for engine in ["psync", "libaio", "io_uring"] {
        let dir = scratch();
        let line = format!("--name=a --filename=f --rw=trim --size=64k --ioengine={engine}");
        let run = run(dir.path(), &words(&line)).expect(1);
        let told: Vec<&str> = run.stderr.lines().collect();
        assert_eq!(told.len(), 1, "{}", run.stderr);
        assert!(told[0].contains("cannot trim"), "{}", run.stderr);
    }
}

#[test]
fn clones_without_a_file_of_their_own_say_so() {
    let dir = scratch();
    let line = "--name=a --rw=write --bs=4k --size=16k --filename_format=one --numjobs=2";
    let (run, json) = run_json(dir.path(), &words(line));
    let run = run.expect(0);
    assert!(run.stderr.contains("filename_format"), "{}", run.stderr);
    assert_eq!(json["jobs"][0]["write"]["total_ios"], 4);
    assert_eq!(json["jobs"][1]["write"]["total_ios"], 0);
    assert_eq!(json["jobs"][1]["error"], 0);
}

#[test]
fn lifetimes_of_data_are_told_to_the_kernel() {
    if !has_tool("strace") {
        return skip("no strace");
    }
    let dir = scratch();
    let own = env!("CARGO_BIN_EXE_ferrio");
    for (word, number) in [("none", 1), ("short", 2), ("extreme", 5)] {
        let line = format!(
            "-f -X raw -e trace=fcntl {own} --name=j --rw=write --size=4k --write_hint={word}"
        );
        let run = finish(command("strace", dir.path(), &words(&line))).expect(0);
        let calls = run.stderr.lines().filter(|line| line.contains(", 0x40c, "));
        assert_eq!(calls.count(), 1, "{word} ({number}): {}", run.stderr);
    }
    // Direct I/O asks for the descriptor first; a kernel without that takes the file.
    let line = "--name=d --rw=write --size=4k --bs=4k --direct=1 --write_hint=long";
    run(dir.path(), &words(line)).expect(0);
    let plain = finish(command(
        "strace",
        dir.path(),
        &words(&format!(
            "-f -X raw -e trace=fcntl {own} --name=p --rw=write --size=4k"
        )),
    ));
    assert!(!plain.stderr.contains(", 0x40c, "), "{}", plain.stderr);
}

/// Files that cannot are refused by the kernel; the flag is there, on writes alone.
#[test]
fn atomic_writes_are_asked_for() {
    if !has_tool("strace") {
        return skip("no strace");
    }
    let dir = scratch();
    let own = env!("CARGO_BIN_EXE_ferrio");
    let line = format!(
        "-f -e trace=preadv2,pwritev2,openat {own} --name=j --ioengine=pvsync2 --rw=rw --bs=4k \
         --size=16k --atomic=1 --ignore_error=,EOPNOTSUPP:EINVAL"
    );
    let run = finish(command("strace", dir.path(), &words(&line)));
    let calls = |name: &str| -> Vec<&str> {
        run.stderr
            .lines()
            .filter(|line| line.contains(name))
            .collect()
    };
    let writes = calls("pwritev2(");
    assert!(!writes.is_empty(), "{}", run.stderr);
    assert!(
        writes
            .iter()
            .all(|line| line.contains("0x40") || line.contains("ATOMIC")),
        "{writes:?}"
    );
    assert!(
        calls("preadv2(")
            .iter()
            .all(|line| !line.contains("0x40") && !line.contains("ATOMIC"))
    );
    assert!(calls("openat").iter().any(|line| line.contains("O_DIRECT")));
    for (line, part) in [
        (
            "--name=j --ioengine=psync --rw=write --size=4k --atomic=1",
            "atomic",
        ),
        (
            "--name=j --ioengine=mmap --rw=read --size=4k --atomic=1",
            "atomic",
        ),
        (
            "--name=j --ioengine=libaio --rw=write --size=4k --atomic=2",
            "atomic",
        ),
    ] {
        refuses(line, part);
    }
    // A job that only reads asks for nothing.
    let line = "--name=r --ioengine=libaio --rw=read --size=4k --bs=4k --atomic=1";
    crate::support::run(dir.path(), &words(line)).expect(0);
}
