//! Which operations a job issues, and how large they are.

use serde::{Deserialize, Serialize};

use super::Direction;

/// Which operations a job issues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    /// `rw` contains reads.
    pub reads: bool,
    /// `rw` contains writes.
    pub writes: bool,
    /// `rw` contains trims.
    pub trims: bool,
    /// Random offsets.
    pub random: bool,
    /// `rw=rand…:N`: operations until a new offset is drawn, at least 1.
    pub batch: u32,
    /// `rw=…:N` of sequential jobs: bytes added after each operation.
    pub step: i64,
    /// `rw_sequencer`.
    pub sequencer: Sequencer,
    /// Block sizes per direction.
    pub block: [BlockSize; 3],
    /// Smallest `min` of the three directions (unused ones included).
    pub min_block_all: u64,
    /// `bs_unaligned`.
    pub unaligned: bool,
    /// `bs_is_seq_rand`.
    pub seq_rand_sizes: bool,
    /// `rwmixread` in per cent (the write share is the rest).
    pub mix_read: u32,
    /// `norandommap` as adjusted.
    pub norandommap: bool,
    /// `softrandommap`.
    pub softrandommap: bool,
    /// `random_generator`.
    pub generator: Generator,
    /// `random_generator` was given by the user.
    pub generator_given: bool,
    /// `random_distribution`, per direction (all three are of one kind).
    pub distribution: [Distribution; 3],
    /// `percentage_random` per direction, 0 to 100.
    pub percentage_random: [u32; 3],
    /// `randseed`, when given.
    pub randseed: Option<u64>,
    /// `randrepeat` as the user gave it (default true), before `randseed` is looked at.
    pub randrepeat: bool,
    /// `fsync`: an fsync after every so many writes; 0 is off.
    pub fsync_every: u64,
    /// `fdatasync`; 0 is off.
    pub fdatasync_every: u64,
    /// `sync_file_range` interval; 0 is off.
    pub sync_file_range_every: u64,
    /// Flags of `sync_file_range` (1 wait_before, 2 write, 4 wait_after).
    pub sync_file_range_flags: u32,
    /// `end_fsync`.
    pub end_fsync: bool,
    /// `fsync_on_close`.
    pub fsync_on_close: bool,
    /// `end_syncfs`: the file systems are flushed at the end of a pass, in place of the files.
    pub end_syncfs: bool,
    /// `zonemode=strided`: zones that are walked one after the other.
    pub strided: Option<Strided>,
}

impl Pattern {
    /// The word of `rw` that means this pattern.
    pub fn word(&self) -> &'static str {
        match (self.reads, self.writes, self.trims, self.random) {
            (true, true, _, false) => "rw",
            (true, true, _, true) => "randrw",
            (false, true, true, false) => "trimwrite",
            (false, true, true, true) => "randtrimwrite",
            (true, false, _, false) => "read",
            (true, false, _, true) => "randread",
            (false, true, false, false) => "write",
            (false, true, false, true) => "randwrite",
            (false, false, _, false) => "trim",
            (false, false, _, true) => "randtrim",
        }
    }

    /// Reads and writes are both present.
    pub fn mixed(&self) -> bool {
        self.reads && self.writes
    }

    /// Trims and writes are both present.
    pub fn trimwrite(&self) -> bool {
        self.trims && self.writes
    }

    /// Largest block that a buffer must hold, over the directions that move data.
    pub fn max_buffer_len(&self) -> u64 {
        let mut largest = 0;
        for direction in [Direction::Read, Direction::Write] {
            let block = &self.block[direction as usize];
            largest = block
                .split
                .iter()
                .map(|s| s.size)
                .fold(largest.max(block.max), u64::max);
        }
        if self.trimwrite() {
            largest.max(self.block[2].max)
        } else {
            largest
        }
    }
}

/// Strided zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strided {
    /// `zonesize`: bytes issued in a zone before moving on.
    pub size: u64,
    /// `zonerange`: bytes that a zone spans.
    pub range: u64,
    /// `zoneskip`: bytes between zones.
    pub skip: u64,
}

/// `rw_sequencer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sequencer {
    /// The next sequential offset.
    #[default]
    Sequential,
    /// The same offset again.
    Identical,
}

/// Block sizes of one direction, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSize {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Offsets are multiples of this.
    pub align: u64,
    /// `bssplit` entries in walking order (ascending share); empty without a split.
    pub split: Vec<SplitEntry>,
}

/// One entry of a `bssplit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitEntry {
    /// Block size in bytes.
    pub size: u64,
    /// Share in per cent, as a 32-bit number (wrapped values are kept, see the bssplit rules).
    pub percent: u32,
}

/// `random_generator`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Generator {
    /// 32-bit combined Tausworthe.
    #[default]
    Tausworthe,
    /// 64-bit combined Tausworthe.
    Tausworthe64,
    /// Linear feedback shift register.
    Lfsr,
}

/// `random_distribution` of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Distribution {
    /// Uniform.
    #[default]
    Random,
    /// Zipf.
    Zipf {
        /// Exponent, not 1.
        theta: f64,
        /// Centre in 0..=1.
        center: Option<f64>,
    },
    /// Pareto.
    Pareto {
        /// Skew, between 0 and 1.
        h: f64,
        /// Centre in 0..=1.
        center: Option<f64>,
    },
    /// Normal.
    Normal {
        /// Deviation in per cent.
        deviation: f64,
        /// Centre in 0..=1.
        center: Option<f64>,
    },
    /// Zones with their share of accesses and of the file in per cent; empty behaves as `Random`.
    Zoned(Vec<Zone>),
    /// Zones with their share of accesses in per cent and size in bytes.
    ZonedAbs(Vec<Zone>),
    /// Fixed block indices in turn.
    Sequence {
        /// Up to 64 block indices.
        blocks: Vec<u64>,
        /// `random_sequence_stride`.
        stride: bool,
    },
}

/// One zone of a zoned distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// Share of accesses in per cent.
    pub access_percent: u32,
    /// Size: per cent of the file (`Zoned`) or bytes (`ZonedAbs`).
    pub size: u64,
}
