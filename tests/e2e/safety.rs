//! No data is lost by accident.

use std::fs;
use std::path::Path;

use crate::support::*;

const MIB: u64 = 1 << 20;

/// A loop device with an ext4 file system that holds a file.
fn formatted(dir: &Path) -> Option<LoopDevice> {
    let device = LoopDevice::new(dir, 16 * MIB)?;
    if !has_tool("mkfs.ext4") {
        skip("mkfs.ext4 is missing");
        return None;
    }
    tool("mkfs.ext4", &["-q", &device.path]).expect("an ext4 file system");
    Some(device)
}

/// Runs a write to `target`, expects a refusal that says `what`, and nothing written.
fn refuses(dir: &Path, target: &str, device: &LoopDevice, what: &str) {
    tool("sync", &[]);
    let before = fs::read(&device.image).unwrap();
    for rw in ["write", "randwrite", "randrw", "trim"] {
        let args = [
            "--name=w",
            &format!("--filename={target}"),
            &format!("--rw={rw}"),
            "--bs=4k",
        ];
        let mut args = args.to_vec();
        args.push("--size=4k");
        let run = run(dir, &args).expect(1);
        assert!(
            run.stderr.contains(what),
            "{rw} on {target}: {}",
            run.stderr
        );
        assert!(run.stderr.contains("allow_mounted_write"), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
    assert!(
        fs::read(&device.image).unwrap() == before,
        "{target} was written"
    );
}

#[test]
fn a_mounted_device_is_not_written_by_whatever_path() {
    let dir = scratch();
    let Some(device) = formatted(dir.path()) else {
        return;
    };
    let at = dir.path().join("m");
    let Some(_mount) = Mounted::new(&at, &["-o", "ro", &device.path]) else {
        return;
    };
    refuses(dir.path(), &device.path, &device, "mounted at");
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&device.path, &link).unwrap();
    refuses(dir.path(), link.to_str().unwrap(), &device, "mounted at");
    let image = device.image.to_str().unwrap().to_string();
    refuses(dir.path(), &image, &device, "mounted at");
    // Reading is no danger.
    let read = [
        "--name=r",
        &format!("--filename={}", device.path),
        "--rw=read",
        "--size=64k",
    ];
    run(dir.path(), &read).expect(0);
}

#[test]
fn what_is_stacked_on_a_device_protects_it() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 16 * MIB) else {
        return;
    };
    let Some(upper) = LoopDevice::over(Path::new(&device.path)) else {
        return;
    };
    if !has_tool("mkfs.ext4") {
        return skip("mkfs.ext4 is missing");
    }
    tool("mkfs.ext4", &["-q", &upper.path]).expect("an ext4 file system");
    let Some(_mount) = Mounted::new(&dir.path().join("m"), &["-o", "ro", &upper.path]) else {
        return;
    };
    refuses(dir.path(), &device.path, &device, "mounted at");
}

#[test]
fn the_override_writes() {
    let dir = scratch();
    let Some(device) = formatted(dir.path()) else {
        return;
    };
    let Some(_mount) = Mounted::new(&dir.path().join("m"), &["-o", "ro", &device.path]) else {
        return;
    };
    // The last block of the device, so that the mounted file system stays whole.
    let target = format!("--filename={}", device.path);
    let offset = format!("--offset={}", 16 * MIB - 4096);
    let args = [
        "--allow_mounted_write=1",
        "--name=w",
        &target,
        "--rw=write",
        "--bs=4k",
        &offset,
    ];
    run(dir.path(), &args).expect(0);
    // A job file cannot give the permission.
    let file = format!(
        "[w]\nallow_mounted_write=1\nfilename={}\nrw=write\nbs=4k\nsize=4k\n",
        device.path
    );
    fs::write(dir.path().join("j.fio"), file).unwrap();
    let refused = run(dir.path(), &["j.fio"]).expect(1);
    assert!(refused.stderr.contains("mounted at"), "{}", refused.stderr);
    // The command line's permission holds for the jobs of its file.
    fs::write(
        dir.path().join("k.fio"),
        format!(
            "[w]\nfilename={}\nrw=write\nbs=4k\n{}\n",
            device.path,
            &offset[2..]
        ),
    )
    .unwrap();
    run(dir.path(), &["--allow_mounted_write=1", "k.fio"]).expect(0);
}

#[test]
fn swap_is_not_written() {
    let dir = scratch();
    let Some(device) = LoopDevice::new(dir.path(), 16 * MIB) else {
        return;
    };
    if tool("mkswap", &[&device.path]).is_none() || tool("swapon", &[&device.path]).is_none() {
        return skip("no swap space can be made");
    }
    let target = format!("--filename={}", device.path);
    let run = run(
        dir.path(),
        &["--name=w", &target, "--rw=write", "--bs=4k", "--size=4k"],
    );
    tool("swapoff", &[&device.path]);
    let run = run.expect(1);
    assert!(run.stderr.contains("swap"), "{}", run.stderr);
}

#[test]
fn a_refusal_is_a_document_too() {
    let dir = scratch();
    let Some(device) = formatted(dir.path()) else {
        return;
    };
    let Some(_mount) = Mounted::new(&dir.path().join("m"), &["-o", "ro", &device.path]) else {
        return;
    };
    let target = format!("--filename={}", device.path);
    let (run, json) = run_json(
        dir.path(),
        &["--name=w", &target, "--rw=write", "--size=4k"],
    );
    run.expect(1);
    let message = json["ferrio"]["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("mounted at"), "{message}");
    assert_ne!(json["jobs"][0]["error"], 0);
}

#[test]
fn a_read_job_keeps_what_the_file_holds() {
    let dir = scratch();
    let file = dir.path().join("f");
    fs::write(&file, "precious\n").unwrap();
    let read = [
        "--name=r",
        "--filename=f",
        "--rw=read",
        "--bs=4k",
        "--size=64k",
    ];
    run(dir.path(), &read).expect(0);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(&bytes[..9], b"precious\n");
    assert_eq!(bytes.len(), 65536);
    assert!(
        bytes[9..]
            .chunks(4096)
            .all(|chunk| chunk.iter().any(|byte| *byte != 0))
    );

    fs::write(&file, "precious\n").unwrap();
    let mut readonly = vec!["--readonly"];
    readonly.extend(read);
    let refused = run(dir.path(), &readonly).expect(1);
    assert!(refused.stderr.contains("readonly"), "{}", refused.stderr);
    assert_eq!(fs::read(&file).unwrap(), b"precious\n");
}

#[test]
fn a_write_job_never_shortens_or_replaces_a_file() {
    let dir = scratch();
    let file = dir.path().join("f");
    let old: Vec<u8> = (0..100_000u32).map(|n| n as u8 | 1).collect();
    fs::write(&file, &old).unwrap();
    let small = [
        "--name=w",
        "--filename=f",
        "--rw=write",
        "--bs=4k",
        "--size=8k",
    ];
    run(dir.path(), &small).expect(0);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(bytes.len(), old.len());
    assert!(bytes[8192..] == old[8192..]);

    // A larger job extends the file behind its old end; only what is written changes.
    fs::write(&file, &old).unwrap();
    let large = [
        "--name=w",
        "--filename=f",
        "--rw=randwrite",
        "--bs=4k",
        "--size=1m",
        "--io_size=4k",
    ];
    run(dir.path(), &large).expect(0);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(bytes.len() as u64, MIB);
    let changed = bytes[..old.len()]
        .chunks(4096)
        .zip(old.chunks(4096))
        .filter(|(a, b)| a != b);
    assert!(changed.count() <= 1);
}

#[test]
fn no_plain_files_among_devices() {
    let dir = scratch();
    let target = "/dev/nosuchdisk9";
    for rw in ["write", "read"] {
        let run = run(
            dir.path(),
            &[
                "--name=w",
                "--filename=/dev/nosuchdisk9",
                &format!("--rw={rw}"),
                "--size=64k",
            ],
        )
        .expect(1);
        assert!(run.stderr.contains("no such device"), "{}", run.stderr);
        assert!(!Path::new(target).exists());
    }
}

#[test]
fn readonly_forbids_writing_jobs() {
    let dir = scratch();
    for rw in ["write", "randrw", "trim"] {
        let args = [
            "--readonly",
            "--name=w",
            "--filename=f",
            &format!("--rw={rw}"),
            "--size=4k",
        ];
        run(dir.path(), &args).expect(1);
    }
    assert!(!dir.path().join("f").exists());
    // What a reading job would remove or overwrite all the same.
    fs::write(dir.path().join("f"), "precious").unwrap();
    for option in [
        "--unlink=1",
        "--unlink_each_loop=1",
        "--mem=mmapshared:f",
        "--mem=mmap:new",
    ] {
        let args = ["--readonly", "--name=r", "--filename=f", "--bs=1", option];
        let run = run(dir.path(), &args).expect(1);
        assert!(run.stderr.contains("--readonly"), "{}", run.stderr);
    }
    assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"precious");
}

#[test]
fn links_and_other_mounts_do_not_lead_into_dev() {
    let dir = scratch();
    let target = "/dev/nosuchdisk8";
    std::os::unix::fs::symlink(target, dir.path().join("link")).unwrap();
    let args = ["--name=w", "--filename=link", "--rw=write", "--size=4k"];
    let refused = run(dir.path(), &args).expect(1);
    assert!(
        refused.stderr.contains("no such device"),
        "{}",
        refused.stderr
    );
    let output = run(
        dir.path(),
        &["--output=/dev/nosuchdisk8", "--name=a", "--ioengine=null"],
    );
    assert_eq!(output.status, 1);
    assert!(!Path::new(target).exists());
    let at = dir.path().join("bound");
    let Some(_mount) = Mounted::new(&at, &["--bind", "/dev"]) else {
        return;
    };
    let args = [
        "--name=w",
        "--filename=bound/nosuchdisk8",
        "--rw=write",
        "--size=4k",
    ];
    run(dir.path(), &args).expect(1);
    assert!(!Path::new(target).exists());
}

/// The dry run that looks at everything does no I/O.
#[test]
fn a_set_up_alone_writes_nothing() {
    let dir = scratch();
    for format in ["normal", "json"] {
        let line =
            format!("--merge-blktrace-only --name=a --rw=write --size=1m --output-format={format}");
        let run = run(dir.path(), &words(&line)).expect(0);
        assert_eq!(run.stdout.contains("rw=write"), format == "normal");
    }
    let line = "--name=a --rw=write --size=1m --merge-blktrace-only";
    run(dir.path(), &words(line)).expect(0);
    assert_eq!(
        std::fs::read_dir(dir.path())
            .expect("the scratch directory")
            .count(),
        0
    );
}
