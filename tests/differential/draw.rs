//! Random but valid jobs.

use std::fmt;

/// A small generator (SplitMix64); the draws must be the same everywhere and for ever.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True in so many of 100 cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.between(0, from.len() as u64 - 1) as usize]
    }
}

/// Seeds of per-file distributions differ between 3.33 and 3.42 by a factor: the hash of the file's name
/// times the job's number. For these names the factor is 1.
const NEUTRAL_NAMES: &[(u64, &str)] = &include!("neutral_names.rs");

/// One job: its options, and the files that are there before it, with their sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) options: Vec<(&'static str, String)>,
    pub(crate) files: Vec<(String, u64)>,
}

impl Job {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &'static str, value: impl ToString) {
        self.options.push((name, value.to_string()));
    }

    pub(crate) fn depth(&self) -> u64 {
        self.get("iodepth")
            .map_or(1, |text| text.parse().expect("a number"))
    }

    pub(crate) fn timed(&self) -> bool {
        self.get("time_based").is_some()
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, size) in &self.files {
            write!(f, "truncate -s {size} {name}; ")?;
        }
        for (name, value) in &self.options {
            write!(f, "--{name}={value} ")?;
        }
        Ok(())
    }
}

/// What a job moves, for the choices that depend on it.
struct Shape {
    random: bool,
    mixed: bool,
    trims: bool,
    writes: bool,
    /// Largest block in bytes.
    block: u64,
    /// Smallest block in bytes.
    smallest: u64,
    fixed: bool,
    /// About how many blocks.
    blocks: u64,
    size: u64,
    nrfiles: u64,
    real_files: bool,
    rank_names: usize,
    /// Writes repeat the trims before them; 3.33 adds the start of the region twice then.
    repeats_trims: bool,
}

const PATTERNS: &[&str] = &[
    "read",
    "write",
    "rw",
    "trim",
    "trimwrite",
    "randread",
    "randread",
    "randread",
    "randwrite",
    "randwrite",
    "randrw",
    "randrw",
    "randtrim",
    "randtrimwrite",
];

const BLOCKS: &[u64] = &[512, 1024, 2048, 4096, 4096, 8192, 3072, 1000, 700];

/// Draws the job with this number (from 1) of a job file.
pub(crate) fn job(dice: &mut Dice, number: u64) -> Job {
    let mut job = Job {
        options: Vec::new(),
        files: Vec::new(),
    };
    let pattern = dice.pick(PATTERNS);
    let names: Vec<&str> = NEUTRAL_NAMES
        .iter()
        .filter(|(own, _)| *own == number)
        .map(|(_, name)| *name)
        .collect();
    let mut shape = Shape {
        random: pattern.starts_with("rand"),
        mixed: pattern.ends_with("rw"),
        trims: pattern.contains("trim"),
        writes: pattern.contains("write") || pattern.ends_with("rw"),
        block: 0,
        smallest: 0,
        fixed: true,
        blocks: dice.between(1, 120),
        size: 0,
        nrfiles: 1,
        real_files: false,
        rank_names: names.len(),
        repeats_trims: pattern == "randtrimwrite",
    };
    draw_engine(dice, &mut job, &mut shape);
    draw_pattern(dice, &mut job, &shape, pattern);
    draw_blocks(dice, &mut job, &mut shape);
    draw_sizes(dice, &mut job, &mut shape);
    draw_files(dice, &mut job, &mut shape, number, &names);
    draw_offsets(dice, &mut job, &shape);
    draw_randomness(dice, &mut job, &shape);
    draw_zones(dice, &mut job, &shape);
    draw_syncs(dice, &mut job, &shape);
    draw_end(dice, &mut job, &shape);
    job.set("randrepeat", 0);
    let seed = if dice.percent(50) {
        137
    } else {
        dice.between(0, 1 << 40)
    };
    job.set("randseed", seed);
    job
}

fn draw_engine(dice: &mut Dice, job: &mut Job, shape: &mut Shape) {
    let engine = if shape.trims || dice.percent(65) {
        "null"
    } else {
        shape.real_files = true;
        dice.pick(&["psync", "libaio", "sync"])
    };
    job.set("ioengine", engine);
    let queues = matches!(engine, "null" | "libaio");
    if queues && dice.percent(30) {
        job.set("iodepth", dice.between(2, 9));
        if dice.percent(30) {
            job.set("serialize_overlap", 1);
        }
        if dice.percent(30) {
            job.set("iodepth_batch", dice.between(1, 4));
        }
        if dice.percent(20) {
            job.set("iodepth_low", dice.between(1, 2));
        }
    }
}

fn draw_pattern(dice: &mut Dice, job: &mut Job, shape: &Shape, pattern: &str) {
    let postfix = if !dice.percent(20) {
        String::new()
    } else if shape.random {
        format!(":{}", dice.between(1, 9))
    } else {
        let step = 512 * dice.between(1, 40);
        if dice.percent(40) {
            format!(":-{step}")
        } else {
            format!(":{step}")
        }
    };
    job.set("rw", format!("{pattern}{postfix}"));
    if !postfix.is_empty() && dice.percent(70) {
        job.set("rw_sequencer", dice.pick(&["sequential", "identical"]));
    }
    if shape.mixed && dice.percent(60) {
        let name = dice.pick(&["rwmixread", "rwmixwrite"]);
        job.set(name, dice.between(0, 100));
    }
    if shape.random && dice.percent(15) {
        let one = dice.between(0, 100);
        let more = format!("{one},{},{}", dice.between(0, 100), dice.between(0, 100));
        let text = if dice.percent(50) {
            one.to_string()
        } else {
            more
        };
        job.set("percentage_random", text);
    }
}

/// Every size gets a share: where those without one come into it, 3.33 may draw for ever.
fn split(dice: &mut Dice, unit: u64, largest: &mut u64, smallest: &mut u64) -> String {
    let count = dice.between(1, 5);
    let mut left = 100;
    let mut entries = Vec::new();
    for at in 0..count {
        let size = unit * dice.between(1, 8);
        *largest = (*largest).max(size);
        *smallest = (*smallest).min(size);
        let others = 3 * (count - at - 1);
        let share = if others == 0 {
            left
        } else {
            dice.between(3, left - others)
        };
        left -= share;
        entries.push(if dice.percent(15) {
            format!("{size}/")
        } else {
            format!("{size}/{share}")
        });
    }
    entries.join(":")
}

fn draw_blocks(dice: &mut Dice, job: &mut Job, shape: &mut Shape) {
    let unit = dice.pick(BLOCKS);
    (shape.block, shape.smallest) = (unit, unit);
    let form = dice.between(1, 100);
    let groups = dice.pick(&[1, 1, 1, 2, 3]);
    let mut each = Vec::new();
    for _ in 0..groups {
        let (low, times) = (unit * dice.between(1, 4), dice.between(1, 8));
        each.push(match form {
            ..60 => {
                shape.block = shape.block.max(low);
                shape.smallest = shape.smallest.min(low);
                low.to_string()
            }
            60..80 => {
                shape.fixed = false;
                let high = low * times + if dice.percent(30) { unit / 2 } else { 0 };
                shape.block = shape.block.max(high);
                shape.smallest = shape.smallest.min(low);
                format!("{low}-{high}")
            }
            _ => {
                shape.fixed = false;
                split(dice, unit, &mut shape.block, &mut shape.smallest)
            }
        });
    }
    let name = match form {
        ..60 => "bs",
        60..80 => "bsrange",
        _ => "bssplit",
    };
    job.set(name, each.join(","));
    if !shape.fixed && dice.percent(25) {
        job.set("bs_unaligned", 1);
    }
    if dice.percent(8) {
        job.set("bs_is_seq_rand", 1);
    }
    if shape.random && dice.percent(12) {
        job.set("blockalign", unit * dice.pick(&[1, 2, 4]));
    }
}

fn draw_sizes(dice: &mut Dice, job: &mut Job, shape: &mut Shape) {
    let odd = if dice.percent(40) {
        dice.between(1, shape.block)
    } else {
        0
    };
    shape.size = shape.block * shape.blocks + odd;
    job.set("size", shape.size);
    let stepped = job.get("rw").is_some_and(|rw| rw.contains(':'));
    let partly = stepped || job.get("percentage_random").is_some();
    let sequential_writes = shape.writes && (!shape.random || partly);
    if dice.percent(20) {
        // Sequential writes beyond the size wrap in another way in 3.33.
        let highest = if sequential_writes {
            shape.size
        } else {
            shape.size * 3
        };
        job.set("io_size", dice.between(shape.block.min(highest), highest));
    }
    if dice.percent(15) {
        job.set("number_ios", dice.between(1, 2 * shape.blocks));
    }
    if dice.percent(25) {
        job.set("loops", dice.between(2, 4));
    }
}

fn draw_files(dice: &mut Dice, job: &mut Job, shape: &mut Shape, number: u64, names: &[&str]) {
    if dice.percent(35) {
        shape.nrfiles = dice.between(2, 6).min(shape.blocks.max(1));
    }
    // Names whose hash does no harm, as far as there are any.
    let own: Vec<String> = (0..shape.nrfiles as usize)
        .map(|at| match names.get(at) {
            Some(name) => (*name).to_string(),
            None => format!("f{number}.{at}"),
        })
        .collect();
    job.set("filename", own.join(":"));
    if shape.nrfiles > 1 {
        job.set("nrfiles", shape.nrfiles);
        if dice.percent(60) {
            let kind = dice.pick(&["roundrobin", "sequential", "random"]);
            let count = dice.pick(&["", ":2", ":3"]);
            job.set("file_service_type", format!("{kind}{count}"));
        } else if dice.percent(50) {
            let kind = dice.pick(&["zipf:1.2", "zipf:0.6", "pareto:0.3", "normal:20", "gauss:5"]);
            job.set("file_service_type", kind);
        }
        if dice.percent(40) {
            job.set("openfiles", dice.between(1, shape.nrfiles));
        }
    }
    if shape.real_files {
        for name in own {
            if dice.percent(70) {
                let size = shape.size * dice.between(0, 3) + dice.between(0, shape.block);
                job.files.push((name, size));
            }
        }
    }
}

fn draw_offsets(dice: &mut Dice, job: &mut Job, shape: &Shape) {
    if shape.repeats_trims {
        return;
    }
    if dice.percent(20) {
        job.set(
            "offset",
            shape.smallest * dice.between(1, 20) + dice.pick(&[0, 0, 1]) * 512,
        );
    } else if shape.real_files && dice.percent(10) {
        job.set("offset", format!("{}%", dice.between(1, 80)));
        if dice.percent(50) {
            job.set("offset_align", dice.pick(&[512, 4096, 8192]));
        }
    }
    if shape.writes && !shape.trims && shape.real_files && dice.percent(6) {
        job.set("file_append", 1);
    }
}

fn draw_randomness(dice: &mut Dice, job: &mut Job, shape: &Shape) {
    if !shape.random {
        return;
    }
    match dice.between(1, 100) {
        ..15 => job.set("random_generator", "tausworthe64"),
        15..30 => job.set("random_generator", "lfsr"),
        _ => {}
    }
    match dice.between(1, 100) {
        ..25 => job.set("norandommap", 1),
        25..30 => job.set("softrandommap", 1),
        _ => {}
    }
    let ranks = shape.rank_names >= shape.nrfiles as usize;
    if dice.percent(30) {
        let cut = dice.between(1, 99);
        let share = dice.between(1, 99);
        let zoned = format!("zoned:{cut}/{share}:{}/{}", 100 - cut, 100 - share);
        let bytes = shape.size / shape.nrfiles.max(1);
        let absolute = format!("zoned_abs:{cut}/{}:{}/{}", bytes / 4, 100 - cut, bytes / 3);
        let theta = dice.pick(&["0.3", "0.8", "1.2", "2.5"]);
        let center = dice.pick(&["", "", ":0.3", ":0.9"]);
        let text = match dice.between(1, 5) {
            1 if ranks => format!("zipf:{theta}{center}"),
            2 if ranks => format!("pareto:0.{}{center}", dice.between(1, 9)),
            3 if ranks => format!("normal:{}{center}", dice.between(0, 60)),
            4 => absolute,
            _ => zoned,
        };
        job.set("random_distribution", text);
    }
}

fn draw_zones(dice: &mut Dice, job: &mut Job, shape: &Shape) {
    if !dice.percent(12) || shape.repeats_trims {
        return;
    }
    let range = shape.block * dice.between(1, 1 + shape.blocks / 3);
    job.set("zonemode", "strided");
    job.set("zonerange", range);
    let size = if dice.percent(70) {
        range
    } else {
        shape.block * dice.between(1, 30)
    };
    job.set("zonesize", size);
    job.set("zoneskip", shape.block * dice.between(0, 3));
}

fn draw_syncs(dice: &mut Dice, job: &mut Job, shape: &Shape) {
    // The null engine is busy all the time when it has a queue; in 3.33 that disturbs syncs.
    if !shape.writes || job.depth() > 1 && job.get("ioengine") == Some("null") {
        return;
    }
    // 3.33 repeats a sync when it has tried another operation since: a read or trim of a mixed job, or
    // one that did not fit any more.
    let once = ["loops", "io_size"]
        .iter()
        .all(|name| job.get(name).is_none());
    let plain = !shape.mixed && !shape.trims && shape.nrfiles == 1 && once;
    if plain && dice.percent(40) {
        for (name, before) in [
            ("fsync", ""),
            ("fdatasync", ""),
            ("sync_file_range", "write:"),
        ] {
            if dice.percent(40) && (before.is_empty() || shape.real_files) {
                job.set(name, format!("{before}{}", dice.between(1, 12)));
            }
        }
    } else if dice.percent(20) {
        job.set(dice.pick(&["end_fsync", "fsync_on_close"]), 1);
    }
}

fn draw_end(dice: &mut Dice, job: &mut Job, shape: &Shape) {
    // A rate in a mixed job chooses the direction by the clock.
    if !shape.mixed && dice.percent(3) {
        job.set("time_based", 1);
        job.set("runtime", "60ms");
        job.set("rate_iops", 2000);
    }
}
