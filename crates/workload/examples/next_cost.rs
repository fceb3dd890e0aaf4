//! Prints what one operation of a stream costs: `next`, `issued` and `completed` together.
//!
//! ```text
//! cargo run --release -p ferrio-workload --example next_cost
//! ```
//!
//! Each line is the best of several rounds on an otherwise idle machine. An argument selects the
//! lines whose title contains it.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use ferrio_workload::{FileEvents, Next, OpStream, geometry};

/// Operations of a round, and rounds.
const OPS: u64 = 2_000_000;
const ROUNDS: u32 = 7;

/// Patterns, with what they show.
const PATTERNS: &[(&str, &str)] = &[
    ("sequential 4k", "--rw=read --bs=4k --size=1t"),
    ("sequential mixed 4k", "--rw=rw --bs=4k --size=1t"),
    ("random 4k, map of 1g", "--rw=randread --bs=4k --size=1g"),
    (
        "random 4k, map of 256g",
        "--rw=randread --bs=4k --size=256g",
    ),
    ("random 4k, map of 1t", "--rw=randread --bs=4k --size=1t"),
    (
        "random 4k, no map",
        "--rw=randread --bs=4k --size=1t --norandommap",
    ),
    (
        "random mixed 4k, no map",
        "--rw=randrw --rwmixread=70 --bs=4k --size=1t --norandommap",
    ),
    (
        "random 4k, 64-bit generator",
        "--rw=randread --bs=4k --size=1t --norandommap --random_generator=tausworthe64",
    ),
    (
        "random 4k, register",
        "--rw=randread --bs=4k --size=1t --random_generator=lfsr",
    ),
    ("random 3000, map", "--rw=randread --bs=3000 --size=1g"),
    (
        "random 4k-64k, map",
        "--rw=randread --bsrange=4k-64k --size=64g",
    ),
    (
        "random split, map",
        "--rw=randread --bssplit=4k/60:16k/30:64k/10 --size=64g",
    ),
    (
        "random 4k, zipf",
        "--rw=randread --bs=4k --size=1g --random_distribution=zipf:1.1",
    ),
    (
        "random 4k, normal",
        "--rw=randread --bs=4k --size=1g --random_distribution=normal:20",
    ),
    (
        "random 4k, zones",
        "--rw=randread --bs=4k --size=1t --random_distribution=zoned:60/10:30/20:8/30:2/40",
    ),
    (
        "random 4k, half random",
        "--rw=randread --bs=4k --size=1t --norandommap --percentage_random=50",
    ),
    (
        "random 4k, runs of 8",
        "--rw=randread:8 --bs=4k --size=1t --norandommap",
    ),
    (
        "random 4k, 16 files",
        "--rw=randread --bs=4k --size=16g --nrfiles=16",
    ),
    (
        "random trim and write 4k",
        "--rw=randtrimwrite --bs=4k --size=1t --norandommap",
    ),
    (
        "sequential 4k, strided",
        "--rw=read --bs=4k --size=1t --zonemode=strided --zonesize=1m --zonerange=2m",
    ),
    (
        "sequential write 4k, fsync=32",
        "--rw=write --bs=4k --size=1t --fsync=32",
    ),
];

struct Names;

impl FileEvents for Names {
    fn open(&mut self, _file: u32) -> bool {
        true
    }
    fn close(&mut self, _file: u32) {}
    fn invalidate(&mut self, _file: u32) {}
}

/// Best nanoseconds per operation over the rounds.
fn measure(options: &str) -> Result<f64, String> {
    let job = common::job(&format!("--ioengine=null --name=a --time_based {options}"))?;
    let plan = geometry::plan(&job, &common::target_sizes(&job, &[]))
        .map_err(|error| error.to_string())?;
    let mut best = f64::MAX;
    let mut stream = OpStream::new(&job, &plan, true).map_err(|error| error.to_string())?;
    let mut unmarked = false;
    stream.begin_pass([0; 3], &mut Names);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..OPS {
            if !stream.pass_goes_on() {
                return Err(String::from("the pass ended"));
            }
            let Next::Op(op) = stream.next(&mut unmarked, &mut Names) else {
                return Err(String::from("no operation"));
            };
            black_box((op.offset, op.len, op.kind));
            stream.issued(&op, false);
            stream.completed(&op);
            unmarked = false;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / OPS as f64);
    }
    Ok(best)
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    for (title, options) in PATTERNS.iter().filter(|(title, _)| title.contains(&filter)) {
        match measure(options) {
            Ok(ns) => println!("{title:<32} {ns:6.1} ns  {options}"),
            Err(error) => println!("{title:<32} {error}"),
        }
    }
}
