//! Direction, block sizes, randomness, mix.

use super::{Kind, Opt, Set, word};
use crate::draft::{Ctx, DistributionKind, Draft};
use crate::spec::{Generator, Sequencer};
use crate::value::number::{Quantity, quantity};
use crate::value::{Value, float, number, split};

/// Direction of I/O.
pub(super) static DIRECTION: &[Opt] = &[
    Opt::new(
        "rw",
        Kind::Word,
        "Direction and pattern of the I/O; a ':N' postfix changes the sequencing",
    )
    .aka(&["readwrite"])
    .at("I/O", "General I/O")
    .words(&[
        word("read", "sequential reads"),
        word("write", "sequential writes"),
        word("trim", "sequential trims"),
        word("randread", "random reads"),
        word("randwrite", "random writes"),
        word("randtrim", "random trims"),
        word("rw", "sequential mix"),
        word("readwrite", "same as rw"),
        word("randrw", "random mix"),
        word("trimwrite", "each block trimmed, then written"),
        word("randtrimwrite", "same at random blocks"),
    ])
    .default("read")
    .parameter()
    .sets(Set::Run(direction)),
    Opt::new(
        "rw_sequencer",
        Kind::Word,
        "What a ':N' postfix on a random rw value means for the N I/Os of one batch",
    )
    .at("I/O", "General I/O")
    .words(&[
        word(
            "sequential",
            "the batch goes on sequentially from the random start",
        ),
        word("identical", "the batch repeats the same offset"),
    ])
    .default("sequential")
    .sets(Set::Run(sequencer)),
];

/// Block sizes and randomness.
pub(super) static OPTIONS: &[Opt] = &[
    Opt::new("bs", Kind::Wide, "Block size, per direction")
        .aka(&["blocksize"])
        .at("I/O", "")
        .default("4096")
        .min(1)
        .slots(3)
        .parent("rw")
        .sets(Set::Each(|d| &mut d.blocks.bs)),
    Opt::new(
        "ba",
        Kind::Wide,
        "Alignment of random offsets, per direction; default is the smallest block size",
    )
    .aka(&["blockalign"])
    .at("I/O", "")
    .min(1)
    .slots(3)
    .parent("rw")
    .sets(Set::Each(|d| &mut d.blocks.align)),
    Opt::new(
        "bsrange",
        Kind::Range,
        "Lowest and highest block size, per direction",
    )
    .aka(&["blocksize_range"])
    .at("I/O", "")
    .min(1)
    .slots(3)
    .parent("rw")
    .sets(Set::Run(block_range)),
    Opt::new(
        "bssplit",
        Kind::Custom,
        "Weighted list of block sizes, SIZE/PERCENT:..., per direction",
    )
    .at("I/O", "")
    .slots(3)
    .parent("rw")
    .sets(Set::Run(block_split)),
    Opt::new(
        "bs_unaligned",
        Kind::Flag,
        "Allow any byte count in a block size range instead of multiples of the lowest size",
    )
    .aka(&["blocksize_unaligned"])
    .at("I/O", "")
    .parent("rw")
    .sets(Set::Switch(|d| &mut d.spec.pattern.unaligned)),
    Opt::new(
        "bs_is_seq_rand",
        Kind::Bool,
        "Read the two block sizes as sequential,random instead of read,write",
    )
    .at("I/O", "")
    .default("0")
    .parent("blocksize")
    .sets(Set::Switch(|d| &mut d.spec.pattern.seq_rand_sizes)),
    Opt::new(
        "randrepeat",
        Kind::Bool,
        "Seed generators from fixed values so that runs repeat",
    )
    .aka(&["allrandrepeat"])
    .at("I/O", "Randomizations")
    .default("1")
    .parent("rw")
    .sets(Set::Switch(|d| &mut d.spec.pattern.randrepeat)),
    Opt::new(
        "randseed",
        Kind::Size,
        "Base seed of all generators of the job",
    )
    .at("I/O", "Randomizations")
    .default("0x89")
    .parent("rw")
    .sets(Set::Run(randseed)),
    Opt::new(
        "norandommap",
        Kind::Flag,
        "Do not track which random blocks were already used",
    )
    .at("I/O", "Randomizations")
    .parent("rw")
    .sets(Set::Switch(|d| &mut d.spec.pattern.norandommap)),
    Opt::new(
        "softrandommap",
        Kind::Bool,
        "Go on without a map when the map cannot be allocated",
    )
    .at("I/O", "Randomizations")
    .default("0")
    .parent("norandommap")
    .sets(Set::Switch(|d| &mut d.spec.pattern.softrandommap)),
    Opt::new(
        "sprandom",
        Kind::Bool,
        "Precondition an SSD with a pseudo-random pattern (SPRandom)",
    )
    .at("I/O", "Randomizations")
    .default("0")
    .parent("rw"),
    Opt::new(
        "spr_num_regions",
        Kind::Int,
        "Number of regions the SPRandom curve is cut into",
    )
    .at("I/O", "Randomizations")
    .default("100")
    .parent("sprandom")
    .unless(&["sprandom"]),
    Opt::new(
        "spr_op",
        Kind::Floats,
        "Over-provisioning ratio assumed by SPRandom",
    )
    .at("I/O", "Randomizations")
    .default("0.15")
    .parent("sprandom")
    .limit(1)
    .unless(&["sprandom"]),
    Opt::new(
        "spr_cs",
        Kind::Wide,
        "Device write cache size assumed by SPRandom",
    )
    .at("I/O", "Randomizations")
    .default("0")
    .parent("sprandom")
    .unless(&["sprandom"]),
    Opt::new(
        "random_generator",
        Kind::Word,
        "Pseudo-random generator for offsets",
    )
    .at("I/O", "Randomizations")
    .words(&[
        word("tausworthe", "32-bit Tausworthe"),
        word("lfsr", "LFSR, each block exactly once without a map"),
        word("tausworthe64", "64-bit Tausworthe"),
    ])
    .default("tausworthe")
    .sets(Set::Run(generator)),
    Opt::new(
        "random_distribution",
        Kind::Word,
        "Distribution of random offsets, with optional ':' parameters",
    )
    .at("I/O", "Randomizations")
    .words(&[
        word("random", "uniform"),
        word("zipf", "':THETA[:CENTER]', theta != 1, default 1.1"),
        word("pareto", "':H[:CENTER]', 0<h<1, default 0.2"),
        word("normal", "':DEV[:CENTER]', 0<=dev<100, default 0"),
        word("zoned", "'ACCESS%/SIZE%:...', per direction"),
        word("zoned_abs", "'ACCESS%/BYTES:...', per direction"),
        word("sequence", "'N,N,...' block numbers, at most 64"),
    ])
    .default("random")
    .parameter()
    .sets(Set::Run(distribution)),
    Opt::new(
        "random_sequence_stride",
        Kind::Bool,
        "Repeat the 'sequence' distribution shifted along the file",
    )
    .at("I/O", "Randomizations")
    .default("0")
    .sets(Set::Switch(|d| &mut d.sequence_stride)),
    Opt::new(
        "percentage_random",
        Kind::Int,
        "Share of the I/Os that are random, per direction",
    )
    .at("I/O", "Randomizations")
    .default("100,100,100")
    .range(0, 100)
    .slots(3)
    .sets(Set::Each32(|d| &mut d.spec.pattern.percentage_random)),
    Opt::new(
        "percentage_sequential",
        Kind::Refused,
        "Former option, no effect (using it is an error)",
    )
    .at("I/O", "Randomizations"),
];

/// Mix of reads and writes.
pub(super) static MIX: &[Opt] = &[
    Opt::new(
        "rwmixread",
        Kind::Int,
        "Percentage of reads in a mix; sets the write share to the rest",
    )
    .at("I/O", "Read/write mix")
    .default("50")
    .range(0, 100)
    .sets(Set::Run(mix_read))
    .last_counts(),
    Opt::new(
        "rwmixwrite",
        Kind::Int,
        "Percentage of writes in a mix; sets the read share to the rest",
    )
    .at("I/O", "Read/write mix")
    .default("50")
    .range(0, 100)
    .sets(Set::Run(mix_write))
    .last_counts(),
    Opt::new(
        "rwmixcycle",
        Kind::Refused,
        "Former option, using it is an error",
    )
    .at("I/O", "Read/write mix"),
];

/// The word, and behind ':' how many I/Os share a random start, or the step of sequential ones.
fn direction(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    // Index of the word -> reads, writes, trims, random.
    let (reads, writes, trims, random) = match value.word() {
        0 => (true, false, false, false),
        1 => (false, true, false, false),
        2 => (false, false, true, false),
        3 => (true, false, false, true),
        4 => (false, true, false, true),
        5 => (false, false, true, true),
        6 | 7 => (true, true, false, false),
        8 => (true, true, false, true),
        9 => (false, true, true, false),
        _ => (false, true, true, true),
    };
    let (mut batch, mut step) = (1, 0);
    if let (Some(text), false) = (value.parameter(), ctx.dry_run) {
        let number = match quantity(number::strip_comment(text), draft.spec.reporting.kb_base)? {
            Quantity::Number(number) => number,
            _ => return Err(format!("'{text}' is no number")),
        };
        if random {
            batch = u32::try_from(number)
                .ok()
                .filter(|batch| *batch > 0)
                .ok_or_else(|| format!("{number} is out of range: 1 to {}", u32::MAX))?;
        } else {
            step = i64::try_from(number).map_err(|_| format!("{number} is out of range"))?;
        }
    }
    if ctx.readonly && (writes || trims) {
        return Err("writes or trims, which --readonly forbids".to_string());
    }
    let pattern = &mut draft.spec.pattern;
    (pattern.reads, pattern.writes) = (reads, writes);
    (pattern.trims, pattern.random) = (trims, random);
    (pattern.batch, pattern.step) = (batch, step);
    Ok(())
}

fn sequencer(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.pattern.sequencer = if value.word() == 0 {
        Sequencer::Sequential
    } else {
        Sequencer::Identical
    };
    Ok(())
}

fn block_range(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    if let Value::Ranges(pieces) = value {
        let low: Vec<Option<u64>> = pieces.iter().map(|p| p.map(|(low, _)| low)).collect();
        let high: Vec<Option<u64>> = pieces.iter().map(|p| p.map(|(_, high)| high)).collect();
        Value::fill(&low, &mut draft.blocks.min);
        Value::fill(&high, &mut draft.blocks.max);
    }
    Ok(())
}

/// The smallest and largest size of a direction become its bounds.
fn block_split(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    let mut notice = None;
    let kb_base = draft.spec.reporting.kb_base;
    let lists = split::block_sizes(&value.text(), kb_base, &mut notice)?;
    if let Some(notice) = notice {
        ctx.warn(format!("option 'bssplit': {notice}"));
    }
    for (direction, list) in lists.into_iter().enumerate() {
        let Some(list) = list else { continue };
        draft.blocks.min[direction] = list.iter().map(|entry| entry.size).min().unwrap_or(0);
        draft.blocks.max[direction] = list.iter().map(|entry| entry.size).max().unwrap_or(0);
        draft.blocks.split[direction] = list;
    }
    Ok(())
}

fn randseed(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.pattern.randseed = Some(value.number());
    Ok(())
}

fn generator(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.pattern.generator = match value.word() {
        0 => Generator::Tausworthe,
        1 => Generator::Lfsr,
        _ => Generator::Tausworthe64,
    };
    Ok(())
}

fn distribution(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    let parameter = value.parameter();
    draft.distribution = match value.word() {
        0 => match parameter.map(str::trim) {
            None | Some("") => DistributionKind::Random,
            Some(text) => return Err(format!("'{text}' behind the word 'random' has no meaning")),
        },
        1 => {
            let (theta, center) = float::zipf(parameter)?;
            DistributionKind::Zipf(theta, center)
        }
        2 => {
            let (h, center) = float::pareto(parameter)?;
            DistributionKind::Pareto(h, center)
        }
        3 => {
            let (deviation, center) = float::normal(parameter)?;
            DistributionKind::Normal(deviation, center)
        }
        index @ (4 | 5) => {
            let absolute = index == 5;
            let text = parameter
                .ok_or_else(|| "needs a list of zones: zoned:ACCESS/SIZE:...".to_string())?;
            let mut notice = None;
            let kb_base = draft.spec.reporting.kb_base;
            let lists = split::zones(text, absolute, kb_base, &mut notice)?;
            if let Some(notice) = notice {
                ctx.warn(format!("option 'random_distribution': {notice}"));
            }
            for (direction, list) in lists.into_iter().enumerate() {
                if let Some(list) = list {
                    draft.zones[direction] = list;
                }
            }
            if absolute {
                DistributionKind::ZonedAbs
            } else {
                DistributionKind::Zoned
            }
        }
        _ => DistributionKind::Sequence(sequence(parameter)?),
    };
    Ok(())
}

/// Block indices of a fixed sequence.
fn sequence(text: Option<&str>) -> Result<Vec<u64>, String> {
    const BLOCKS_MAX: usize = 64;
    let text = text.ok_or_else(|| "needs a list of blocks: sequence:N,N,...".to_string())?;
    let blocks: Vec<u64> = number::strip_comment(text)
        .split(',')
        .map(|element| {
            let element = element.trim();
            let digits = !element.is_empty() && element.bytes().all(|b| b.is_ascii_digit());
            let number = if digits { element.parse().ok() } else { None };
            number.ok_or_else(|| format!("'{element}' is no block number"))
        })
        .collect::<Result<_, _>>()?;
    if blocks.len() > BLOCKS_MAX {
        return Err(format!(
            "{} blocks, but at most {BLOCKS_MAX} are possible",
            blocks.len()
        ));
    }
    Ok(blocks)
}

/// The two shares set each other; the last value of the two options wins.
fn mix_read(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.pattern.mix_read = (value.last_number() as u32).min(100);
    Ok(())
}

fn mix_write(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.pattern.mix_read = 100 - (value.last_number() as u32).min(100);
    Ok(())
}
