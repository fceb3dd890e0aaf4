//! The data that jobs write, byte for byte against the fio binary.
//!
//! Debian's 3.33 fills buffers like 3.42. Where offsets are random it needs options to draw the same
//! ones, which also keep it from seeding again: those lines name the seed for both programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::*;

/// Options of every line. Without times nothing in the data varies.
const COMMON: &str = "--disable_lat=1 --size=64k --bs=4k";

/// What makes 3.33 draw the offsets that 3.42 draws for `--randseed=137`.
const SAME_DRAWS: &str = "--randrepeat=0 --randseed=137";

/// What the pattern of a line reads.
const PATTERN_FILE: &str = "pattern";

/// All files of the directory, by name.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).expect("a directory");
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).expect("a file"))
        })
        .filter(|(name, _)| name != PATTERN_FILE)
        .collect()
}

/// What a program writes for a command line.
fn written(program: &str, line: &str) -> BTreeMap<String, Vec<u8>> {
    let dir = scratch();
    fs::write(dir.path().join(PATTERN_FILE), b"from a file\0\x01\xff").expect("a file");
    let line = format!("{COMMON} {line}");
    finish(command(program, dir.path(), &words(&line))).expect(0);
    contents(dir.path())
}

/// Compares what both programs write for a command line, and tells what differs.
fn differences(line: &str) -> Vec<String> {
    let expected = written("fio", line);
    let found = written(env!("CARGO_BIN_EXE_ferrio"), line);
    assert!(
        expected.values().any(|bytes| !bytes.is_empty()),
        "{line}: nothing was written"
    );
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected), "{line}");
    let pairs = expected
        .iter()
        .filter(|(name, bytes)| found[*name] != **bytes);
    pairs
        .map(|(name, bytes)| {
            let ours = &found[name];
            let at = bytes.iter().zip(ours).position(|(a, b)| a != b);
            let (theirs, ours) = (bytes.len(), ours.len());
            format!("{name} from byte {at:?} on; {theirs} and {ours} bytes")
        })
        .collect()
}

/// Compares what both programs write. A line without names is one job; such jobs run one after the
/// other, all in one run. Lines that draw offsets are given the seed.
fn compare<S: AsRef<str>>(lines: &[S]) {
    if !has_tool("fio") {
        return skip("the fio binary is missing");
    }
    let mut together = String::new();
    let mut differing = Vec::new();
    for (index, line) in lines.iter().map(AsRef::as_ref).enumerate() {
        let draws = if line.contains("rand") {
            SAME_DRAWS
        } else {
            ""
        };
        if line.contains("--name") {
            let line = format!("{draws} {line}");
            let found = differences(&line);
            differing.extend(found.into_iter().map(|text| format!("{line}: {text}")));
        } else {
            together.push_str(&format!("--name=job{index} --stonewall {line} {draws} "));
        }
    }
    if !together.is_empty() {
        for text in differences(&together) {
            let index = text.trim_start_matches("job").split('.').next();
            let index = index.and_then(|number| number.parse::<usize>().ok());
            let line = index.map_or("", |index| lines[index].as_ref());
            differing.push(format!("{line}: {text}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn plain_contents() {
    compare(&[
        "--rw=write",
        "--rw=write --scramble_buffers=0",
        "--rw=write --refill_buffers",
        "--rw=write --zero_buffers",
        "--rw=write --zero_buffers --scramble_buffers=1",
        "--rw=write --gtod_reduce=1 --iodepth=4",
        "--rw=write --randseed=99",
        "--rw=write --random_generator=tausworthe64 --refill_buffers",
        "--rw=write --bs=700 --size=63000",
        "--rw=write --bs=5000 --size=50000 --refill_buffers",
    ]);
}

#[test]
fn patterns() {
    compare(&[
        "--rw=write --buffer_pattern=\"text\"",
        "--rw=write --buffer_pattern=0xdeadbeef01",
        "--rw=write --buffer_pattern=-12",
        "--rw=write --buffer_pattern=70000",
        "--rw=write --buffer_pattern='pattern'",
        "--rw=write --buffer_pattern=\"a\"0xff'pattern'13",
        "--rw=write --buffer_pattern=0xabc --scramble_buffers=1",
        "--rw=write --buffer_pattern=0xabc --zero_buffers",
        "--rw=rw --buffer_pattern=0x010203",
        "--rw=randrw --buffer_pattern=0x010203 --bsrange=1k-3k",
    ]);
}

#[test]
fn compressible_contents() {
    let mut lines = Vec::new();
    for percent in [0, 1, 30, 50, 99, 100] {
        for chunk in [0, 512, 400, 4096] {
            lines.push(format!(
                "--rw=write --buffer_compress_percentage={percent} --buffer_compress_chunk={chunk}"
            ));
        }
    }
    for more in [
        "--buffer_pattern=0xdeadbeef01",
        "--buffer_pattern=0xab --buffer_compress_percentage=100",
        "--buffer_compress_percentage=100 --scramble_buffers=1",
        "--refill_buffers=0",
        "--bsrange=1k-2560 --bs_unaligned --buffer_compress_chunk=700",
        "--bssplit=512/30:4k/50:12k/20 --buffer_compress_chunk=4k",
        "--bs=1000 --size=50000",
        "--rw=rw",
        "--rw=read",
        "--rw=randrw --rwmixread=30",
        "--iodepth=4 --ioengine=libaio",
        "--random_generator=tausworthe64",
    ] {
        lines.push(format!("--rw=write --buffer_compress_percentage=30 {more}"));
    }
    lines.push(String::from(
        "--rw=write --buffer_pattern=0xab01 --buffer_compress_percentage=30",
    ));
    compare(&lines);
}

#[test]
fn duplicates() {
    let mut lines = Vec::new();
    for percent in [0, 30, 100] {
        for more in [
            "",
            "--buffer_compress_percentage=40",
            "--buffer_compress_chunk=0",
            "--loops=3",
            "--random_generator=tausworthe64",
            "--iodepth=4",
            "--rw=randrw",
            "--rw=read",
            "--bsrange=1k-6k",
            "--refill_buffers=0",
        ] {
            lines.push(format!("--rw=write --dedupe_percentage={percent} {more}"));
        }
    }
    for more in [
        "--dedupe_percentage=50 --buffer_pattern=0xab",
        "--dedupe_percentage=50 --buffer_pattern=0xab --rw=rw",
        "--buffer_pattern=0xab --dedupe_percentage=50",
        "--dedupe_percentage=20 --zero_buffers",
    ] {
        lines.push(format!("--rw=write {more}"));
    }
    compare(&lines);
}

#[test]
fn duplicates_of_a_working_set() {
    let mut lines = Vec::new();
    for more in [
        "",
        "--size=1m",
        "--size=1m --loops=2",
        "--size=1m --dedupe_working_set_percentage=50 --buffer_compress_chunk=0",
        "--size=1m --dedupe_working_set_percentage=0",
        "--size=1m --buffer_compress_percentage=40 --buffer_compress_chunk=400",
        "--size=1m --random_generator=tausworthe64",
        "--size=1m --bsrange=1k-7k --rw=randwrite",
        "--size=1m --rw=randrw",
        "--size=20k --bs=1k --dedupe_working_set_percentage=1",
        "--rw=read --size=1m",
        "--dedupe_percentage=100 --dedupe_working_set_percentage=0",
    ] {
        lines.push(format!(
            "--rw=write --dedupe_mode=working_set --dedupe_percentage=50 {more}"
        ));
    }
    let set = "--dedupe_mode=working_set --dedupe_percentage=50 --dedupe_global=1";
    lines.extend([
        format!("--name=a --rw=write --size=1m {set} --numjobs=2"),
        format!(
            "--name=a --rw=write --size=100k --bs=1k {set} --numjobs=7 \
             --dedupe_working_set_percentage=3"
        ),
        format!(
            "--name=a --rw=write --size=512k {set} --dedupe_working_set_percentage=40 --name=b \
             --rw=write --random_generator=tausworthe64 --name=c --rw=write --size=1m {set}"
        ),
        format!(
            "--name=a --rw=write --size=1m {set} --create_serialize=0 --numjobs=3 --thread=1 \
             --randseed=7"
        ),
    ]);
    compare(&lines);
}

#[test]
fn sizes_files_and_jobs() {
    compare(&[
        "--rw=write --bsrange=1k-8k",
        "--rw=write --bsrange=1k-8k --refill_buffers",
        "--rw=write --bs_unaligned --bsrange=1000-5000 --refill_buffers",
        "--rw=write --bssplit=1k/30:4k/50:16k/20",
        "--rw=randwrite --bssplit=1k/30:4k/50:16k/20 --refill_buffers",
        "--rw=write --bs=2k,8k,4k --refill_buffers",
        "--name=a --rw=write --nrfiles=4 --refill_buffers",
        "--name=a --rw=randwrite --nrfiles=3",
        "--name=a --rw=write --numjobs=3 --refill_buffers",
        "--name=a --rw=write --name=b --rw=randwrite --refill_buffers --name=c --rw=write --bs=1k",
        "--rw=write --loops=2",
        "--rw=write --loops=3 --refill_buffers",
        "--rw=write --loops=3 --refill_buffers --randseed=5",
        "--rw=randwrite --loops=2 --refill_buffers",
        "--rw=randwrite --norandommap --io_size=256k --refill_buffers",
    ]);
}

#[test]
fn queues() {
    let mut lines = Vec::new();
    for engine in ["libaio", "psync"] {
        for depth in [1, 4, 16] {
            for more in ["", "--scramble_buffers=0", "--refill_buffers"] {
                lines.push(format!(
                    "--rw=write --ioengine={engine} --iodepth={depth} {more}"
                ));
            }
            lines.push(format!(
                "--rw=randwrite --ioengine={engine} --iodepth={depth} --loops=2"
            ));
        }
    }
    compare(&lines);
}

/// What is laid out, and what writes leave of it.
#[test]
fn layouts() {
    compare(&[
        "--rw=read",
        "--rw=read --bs=5000 --size=48000",
        "--rw=read --bs=1k,6k",
        "--rw=read --zero_buffers",
        "--rw=read --buffer_pattern=0x616263 --bs=2k",
        "--name=a --rw=read --nrfiles=3",
        "--name=a --rw=randrw --numjobs=2 --nrfiles=2",
        "--rw=rw",
        "--rw=randrw --rwmixread=70",
        "--rw=randrw --rwmixread=30 --refill_buffers",
        "--rw=randrw --bsrange=1k-4k",
        "--rw=randrw --bs=2k,4k --loops=2",
        "--rw=write --overwrite=1",
        "--rw=write --overwrite=1 --refill_buffers",
        "--rw=randwrite --overwrite=1 --io_size=32k",
        "--rw=write --overwrite=1 --scramble_buffers=0 --iodepth=4",
    ]);
}
