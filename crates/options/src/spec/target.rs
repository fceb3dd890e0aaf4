//! Files and devices of a job.

use serde::{Deserialize, Serialize};

use crate::file_list::FileList;

/// Files and devices of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Paths in file-index order, with the directory prefix.
    pub files: FileList,
    /// `filetype` of each file, in the order of `files`. Files beyond the end of the list are
    /// what they are found to be.
    pub kinds: Vec<FileKind>,
    /// `lockfile`.
    pub lock: FileLock,
    /// The names were made from the job's name (not given by `filename`).
    pub generated: bool,
    /// `nrfiles` after it was bounded by the files known.
    pub nrfiles: u32,
    /// `openfiles` after its default was filled in; `1..=nrfiles`.
    pub openfiles: u32,
    /// `openfiles` was given and above 1.
    pub openfiles_given: bool,
    /// `file_service_type`.
    pub service: FileService,
    /// `filesize` low and high bound in bytes; `None` when unset.
    pub filesize: Option<(u64, u64)>,
    /// `direct`.
    pub direct: bool,
    /// `atomic`: writes are not torn (only in jobs that write, with an engine that can).
    pub atomic: bool,
    /// `sync`.
    pub sync: OpenSync,
    /// `invalidate`.
    pub invalidate: bool,
    /// `fadvise_hint`.
    pub fadvise: Fadvise,
    /// `write_hint`: the kernel's word for how long written data will live (`F_SET_RW_HINT` of
    /// `fcntl(2)`, 1 to 5); `None` when it is not given.
    pub write_hint: Option<u64>,
    /// `fallocate`.
    pub fallocate: Fallocate,
    /// `overwrite`: files are laid out with data before they are written (always for read jobs).
    pub overwrite: bool,
    /// `file_append`.
    pub append: bool,
    /// `fill_device`.
    pub fill_device: bool,
    /// `create_serialize`: files are set up in the parent, one job after the other.
    pub create_serialize: bool,
    /// `create_fsync`: laid-out files are flushed.
    pub create_fsync: bool,
    /// `create_on_open`: files are made when they are opened, not laid out.
    pub create_on_open: bool,
    /// `create_only`: the job ends after set-up.
    pub create_only: bool,
    /// `pre_read`: files are read into the cache before the job.
    pub pre_read: bool,
    /// `allow_file_create`.
    pub allow_create: bool,
    /// `allow_mounted_write`.
    pub allow_mounted_write: bool,
    /// `unlink`: regular files are removed when the job ends.
    pub unlink: bool,
    /// `unlink_each_loop`.
    pub unlink_each_loop: bool,
}

impl Target {
    /// `filetype` of a file.
    pub fn kind(&self, file: usize) -> FileKind {
        self.kinds.get(file).copied().unwrap_or_default()
    }
}

/// `filetype`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileKind {
    /// What it is found to be.
    #[default]
    Found,
    /// A regular file.
    Regular,
    /// A block device.
    Block,
    /// A character device: without a size of its own, never made or laid out.
    Character,
}

/// `lockfile`: a lock that the jobs of a run share for each file, taken while an operation is
/// handed to the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileLock {
    /// None.
    #[default]
    None,
    /// One operation at a time.
    Exclusive,
    /// Shared by reads, exclusive for everything else.
    ReadWrite,
}

/// Which file serves the next operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileService {
    /// Each file in turn, `count` operations a visit.
    RoundRobin {
        /// Operations a visit, at least 1 (0 counts as 1).
        count: u32,
    },
    /// One file to its end, then the next.
    Sequential {
        /// As written; without effect.
        count: u32,
    },
    /// Uniform.
    Random {
        /// Operations a visit.
        count: u32,
    },
    /// Zipf over the files.
    Zipf {
        /// Exponent.
        theta: f64,
        /// Centre in 0..=1.
        center: Option<f64>,
    },
    /// Pareto over the files.
    Pareto {
        /// Skew, between 0 and 1.
        h: f64,
        /// Centre in 0..=1.
        center: Option<f64>,
    },
    /// Normal over the files.
    Normal {
        /// Deviation in per cent.
        deviation: f64,
        /// Centre in 0..=1.
        center: Option<f64>,
    },
}

impl Default for FileService {
    fn default() -> Self {
        FileService::RoundRobin { count: 1 }
    }
}

/// Synchronous open flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpenSync {
    /// None.
    #[default]
    None,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    Dsync,
}

/// `fadvise_hint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fadvise {
    /// No advice.
    None,
    /// Random for random jobs, else sequential.
    #[default]
    ByPattern,
    /// Sequential.
    Sequential,
    /// Random.
    Random,
    /// No reuse.
    NoReuse,
}

/// `fallocate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fallocate {
    /// No preallocation.
    None,
    /// `fallocate(2)`, failure tolerated.
    #[default]
    Native,
    /// `posix_fallocate(3)`.
    Posix,
    /// `fallocate(2)` that keeps the size.
    Keep,
    /// `ftruncate(2)`.
    Truncate,
}
