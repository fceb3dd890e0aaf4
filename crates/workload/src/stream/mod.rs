//! The stream of operations of a job.
//!
//! What depends on options alone is decided in [`OpStream::new`]. The common patterns then take a
//! short path in [`OpStream::next`]; what few jobs use stands in functions of its own, off that path.

mod errors;
mod file;
mod offset;
mod op;
mod pass;
mod pick;
mod setup;
mod syncs;

use ferrio_options::{BlockSize, Direction, Sequencer, Strided};

pub use errors::{Notice, StreamError};
pub use pass::PassEnd;
pub use setup::random_map_bytes;

use crate::divisor::Divisor;
use crate::rng::{Rng, Taus32};
use crate::seeds::Seeds;
use crate::sizes::Lengths;
use crate::zones::ZoneTable;
use file::File;
use pick::Picker;
use syncs::Syncs;

/// Array indices of the directions.
const READ: usize = Direction::Read as usize;
const WRITE: usize = Direction::Write as usize;
const TRIM: usize = Direction::Trim as usize;

/// Kinds of operations; the first three equal [`Direction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OpKind {
    /// Data moves from the target to memory.
    Read = 0,
    /// Data moves from memory to the target.
    Write = 1,
    /// The range is discarded.
    Trim = 2,
    /// `fsync(2)` of the file.
    Fsync = 3,
    /// `fdatasync(2)` of the file.
    Fdatasync = 4,
    /// `sync_file_range(2)` over [`OpStream::sync_range`].
    SyncFileRange = 5,
}

impl OpKind {
    const DATA: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];

    /// The data direction; `None` for the sync kinds.
    pub fn direction(self) -> Option<Direction> {
        Direction::ALL.get(self as usize).copied()
    }
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What to do.
    pub kind: OpKind,
    /// Index of the file.
    pub file: u32,
    /// First byte. Of a sync kind: that of the latest data operation, which means nothing but is
    /// what logs of operations show.
    pub offset: u64,
    /// Length in bytes; 0 for the sync kinds.
    pub len: u64,
}

/// Answer of [`OpStream::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The operation to issue.
    Op(Op),
    /// No file may be opened before another one closes: reap, and ask again.
    Busy,
    /// This pass has no further operation.
    End,
}

/// The files as the stream uses them: they are opened at first use and closed at their end.
pub trait FileEvents {
    /// Opens a file. `false`: it could not be opened; its turn is skipped.
    fn open(&mut self, file: u32) -> bool;
    /// Closes a file. None of its operations is outstanding.
    fn close(&mut self, file: u32);
    /// A file has come to its end, and will be closed when its last operation completes. Called
    /// once before each [`FileEvents::close`]: logs of operations show the close here.
    fn closing(&mut self, _file: u32) {}
    /// The file starts over without being opened again: its cached pages are to be dropped.
    fn invalidate(&mut self, file: u32);
}

/// How a random block is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Draw {
    Uniform,
    Rank,
    Zoned,
    ZonedAbs,
    Sequence,
}

/// Block sizes of a direction, as used by offsets and the map.
#[derive(Clone, Copy, Debug)]
struct Block {
    min: Divisor,
    align: Divisor,
}

/// The operations of one job, in order.
#[derive(Debug)]
pub struct OpStream {
    /// Nothing but offsets, block sizes and the mix: the short path applies.
    plain: bool,
    /// Operations have no file, place or length: the job does no I/O.
    empty: bool,
    random: bool,
    mixed: bool,
    trimwrite: bool,
    /// Direction of jobs that are not mixed (trimwrite: before the alternation).
    direction: usize,
    draw: Draw,
    uses_lfsr: bool,
    /// The only file is open and has not ended: no choice to make.
    single_open: bool,
    files: Vec<File>,
    /// The operation that the path for all cases found last.
    found: Op,
    offsets: Rng,
    lengths: [Lengths; 3],
    length_draws: [Rng; 3],
    block: [Block; 3],

    /// Operations issued per direction, over all passes.
    issued_ops: [u64; 3],
    mix_draws: Taus32,
    mix_direction: usize,
    /// Issued operations of the mix direction up to which no new direction is drawn.
    mix_threshold: u64,
    mix_percent: [u64; 3],

    picker: Picker,
    syncs: Syncs,
    rare: Rare,
    end: EndRules,

    seeds: Seeds,
    reseeds: bool,
    sizes: [BlockSize; 3],
    unaligned: bool,
    /// `random_generator=tausworthe64`, or switched to it for a large file.
    wide: bool,
    verdict: Option<StreamError>,
    notices: Vec<Notice>,
}

/// State of the features that few jobs use.
#[derive(Debug)]
struct Rare {
    percentage_random: [u32; 3],
    seq_or_random: [Taus32; 3],
    batch: u64,
    /// Operations until the next offset is drawn.
    batch_left: u64,
    sequencer: Sequencer,
    step: i64,
    seq_rand_sizes: bool,
    strided: Option<Strided>,
    zone_range: Divisor,
    /// Bytes done in the current strided zone, over all files.
    zone_bytes: u64,
    zone_draws: Taus32,
    zones: [Option<Box<ZoneTable>>; 3],
    sequence: Vec<u64>,
    sequence_len: Divisor,
    sequence_stride: bool,
    /// A time-based job with one file starts over inside the pass.
    wraps_by_time: bool,
    /// A writer of more than its size starts over inside the pass.
    wraps_by_amount: bool,
    /// A failed random draw starts the file over and is tried once more.
    draws_again: bool,
    /// Direction of the next operation, where the caller has a say in it.
    chosen: Option<usize>,
}

/// When a pass, and the job, ends.
#[derive(Clone, Debug)]
struct EndRules {
    time_based: bool,
    loops: u64,
    loops_left: u64,
    io_size: u64,
    /// Bytes of a pass: `io_size`, else `size`.
    amount: u64,
    /// Bytes of all loops.
    limit: u64,
    /// Directions whose bytes count for the limit.
    counts: [bool; 3],
    /// Bytes issued in these directions.
    bytes: u64,
    number_ios: u64,
    /// Data operations issued.
    ops: u64,
    /// Bytes that an asynchronous engine may accept in a pass.
    pass_cap: u64,
    /// Bytes accepted in this pass.
    queued: u64,
    /// The engine is asynchronous: what it accepts counts for the cap.
    counts_queued: bool,
    largest_block: u64,
    first_pass: bool,
    job_done: bool,
    end_sync: bool,
}
