//! Why a stream cannot start or go on, and what the user should know.

/// A fault of the job that ends it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// `randrepeat=0` without `randseed`: the seeds have to be passed in.
    #[error(
        "job {job}: randrepeat=0 without randseed= takes its seeds from the system, and none were passed"
    )]
    NeedsSeeds {
        /// The job's name.
        job: String,
    },
    /// The plan has no files, or another number than the job.
    #[error("job {job}: {planned} files were planned, the job has {files}")]
    FileCount {
        /// The job's name.
        job: String,
        /// Files of the plan.
        planned: usize,
        /// Files of the job.
        files: usize,
    },
    /// There is no memory for the list of files.
    #[error("{files} files are more than fits in memory: use a smaller nrfiles=")]
    TooManyFiles {
        /// Files of the job.
        files: usize,
    },
    /// The memory of a random map cannot be had.
    #[error(
        "file {file}: the random map needs {bytes} bytes of memory, which are not available: use norandommap, random_generator=lfsr or softrandommap=1, or a smaller size="
    )]
    MapMemory {
        /// The file's path.
        file: String,
        /// Size of the map in bytes.
        bytes: u64,
    },
    /// The register's start value is the one that it never leaves.
    #[error(
        "random_generator=lfsr cannot start over {blocks} blocks with this seed (all bits of its start value are set): give another randseed= or more blocks"
    )]
    LfsrStart {
        /// Blocks of the file.
        blocks: u64,
    },
    /// More blocks than the widest register covers.
    #[error(
        "random_generator=lfsr covers at most 2^63-1 blocks, the file has {blocks}: use a larger bs="
    )]
    LfsrTooLong {
        /// Blocks of the file.
        blocks: u64,
    },
    /// More than 15 values would be skipped between two.
    #[error("random_generator=lfsr skips at most 15 values, not {spin}")]
    LfsrSpin {
        /// Values to skip.
        spin: u64,
    },
    /// An entry of `random_distribution=sequence` lies behind the end of the file.
    #[error(
        "random_distribution=sequence names block {block}, but file {file} has only {blocks} blocks: remove the entry, or give a larger size="
    )]
    SequenceBlock {
        /// The entry.
        block: u64,
        /// Blocks of the file.
        blocks: u64,
        /// The file's path.
        file: String,
    },
}

/// Something that does not end the job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Notice {
    /// A file has more blocks than a 32-bit generator reaches.
    #[error(
        "file {file} has more blocks than the 32-bit generator can draw: {}",
        if *switched { "using tausworthe64 (give random_generator= to choose)" } else { "its end is never reached; use random_generator=tausworthe64 or lfsr" }
    )]
    NarrowGenerator {
        /// The file's path.
        file: String,
        /// The 64-bit generator was taken, as `random_generator` was not given.
        switched: bool,
    },
    /// `softrandommap`: no memory for the map, so blocks may repeat.
    #[error(
        "file {file}: no {bytes} bytes of memory for the random map; running without it, so blocks may repeat"
    )]
    MapLeftOut {
        /// The file's path.
        file: String,
        /// Size of the map in bytes.
        bytes: u64,
    },
    /// A zone of `zoned_abs` ends behind the end of the file.
    #[error(
        "file {file}: a zone of random_distribution=zoned_abs ends behind the end of the file; it is never used"
    )]
    ZoneBehindEnd {
        /// The file's path.
        file: String,
    },
}
