//! Engines: which there are, their options, and what is particular about each.

use serde::{Deserialize, Serialize};

/// The engine and its options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EngineSpec {
    /// No I/O.
    Null,
    /// `pread`/`pwrite`.
    Psync,
    /// `lseek` and `read`/`write`.
    Sync,
    /// `lseek` and `readv`/`writev` over adjacent operations.
    Vsync,
    /// `preadv`/`pwritev`.
    Pvsync,
    /// `preadv2`/`pwritev2`.
    Pvsync2(Pvsync2Options),
    /// Kernel asynchronous I/O.
    Libaio(LibaioOptions),
    /// io_uring.
    IoUring(IoUringOptions),
    /// POSIX asynchronous I/O: threads that call `pread`/`pwrite`.
    Posixaio,
    /// Copies to and from a mapping of the file.
    Mmap(MmapOptions),
    /// `splice` and `vmsplice` through a pipe.
    Splice,
    /// `fallocate`: reserves, and punches holes.
    Falloc,
    /// `ftruncate` to each offset.
    Ftruncate,
    /// One operation on each file or directory, when it is opened.
    FileOperation(FileOperation),
    /// Burns CPU time.
    Cpuio(CpuioOptions),
}

/// What an engine does to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileOperation {
    /// `filecreate`: opens a file that is made if need be.
    CreateFile,
    /// `filestat`.
    StatFile(StatCall),
    /// `filedelete`.
    DeleteFile,
    /// `dircreate`.
    CreateDirectory,
    /// `dirstat`.
    StatDirectory(StatCall),
    /// `dirdelete`.
    DeleteDirectory,
}

impl FileOperation {
    /// The names are those of directories.
    pub fn on_directories(self) -> bool {
        matches!(
            self,
            FileOperation::CreateDirectory
                | FileOperation::StatDirectory(_)
                | FileOperation::DeleteDirectory
        )
    }

    /// The directories are made before the job.
    pub fn needs_directories(self) -> bool {
        matches!(
            self,
            FileOperation::StatDirectory(_) | FileOperation::DeleteDirectory
        )
    }
}

/// `stat_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StatCall {
    /// `stat`: follows symbolic links.
    #[default]
    Stat,
    /// `lstat`.
    Lstat,
    /// `statx`, everything asked for.
    Statx,
}

/// When an engine completes what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completes {
    /// Inside the call that issues it.
    AtOnce,
    /// So at depth 1; with more, later.
    AtOnceAlone,
    /// Inside the call that hands several of them over.
    Batched,
    Later,
}

/// What is particular about an engine, whatever its options.
#[derive(Clone, Copy, Debug)]
struct Properties {
    name: &'static str,
    completes: Completes,
    /// Files are names only: nothing is laid out, and directories, caches and disks are not looked at.
    diskless: bool,
    /// Writes make a file longer; otherwise it is laid out in full before.
    extends: bool,
    /// Offsets mean something.
    seekable: bool,
    /// Operations have offsets, lengths and files. Without them the job only runs beside others.
    does_io: bool,
    /// Operations have data.
    moves_data: bool,
    /// Latencies and bandwidths of operations are measured; otherwise only what opening takes.
    measured: bool,
    /// Targets are changed by jobs that only read, too.
    always_changes: bool,
    /// Label of a transfer that failed, in the job's error line.
    label: &'static str,
}

/// An engine that transfers data between memory and files, inside the call.
const TRANSFER: Properties = Properties {
    name: "",
    completes: Completes::AtOnce,
    diskless: false,
    extends: true,
    seekable: true,
    does_io: true,
    moves_data: true,
    measured: true,
    always_changes: false,
    label: "xfer",
};
/// The same, with operations in flight.
const QUEUE: Properties = Properties {
    completes: Completes::Later,
    label: "io_u error",
    ..TRANSFER
};
/// An engine that changes what a file is, without data.
const SHAPE: Properties = Properties {
    moves_data: false,
    label: "io_u error",
    ..TRANSFER
};
/// An operation on a name.
const NAME: Properties = Properties {
    measured: false,
    ..SHAPE
};

impl EngineSpec {
    /// All that is particular about each engine, in one place.
    fn properties(&self) -> Properties {
        use EngineSpec as E;
        use FileOperation as F;
        #[rustfmt::skip]
        let properties = match self {
            E::Null => Properties { name: "null", completes: Completes::AtOnceAlone, diskless: true, ..QUEUE },
            E::Psync => Properties { name: "psync", ..TRANSFER },
            E::Sync => Properties { name: "sync", ..TRANSFER },
            E::Vsync => Properties { name: "vsync", completes: Completes::Batched, label: "xfer vsync", ..TRANSFER },
            E::Pvsync => Properties { name: "pvsync", ..TRANSFER },
            E::Pvsync2(_) => Properties { name: "pvsync2", ..TRANSFER },
            E::Libaio(_) => Properties { name: "libaio", ..QUEUE },
            E::IoUring(_) => Properties { name: "io_uring", ..QUEUE },
            E::Posixaio => Properties { name: "posixaio", ..QUEUE },
            E::Mmap(_) => Properties { name: "mmap", extends: false, label: "msync", ..TRANSFER },
            E::Splice => Properties { name: "splice", seekable: false, ..TRANSFER },
            E::Falloc => Properties { name: "falloc", always_changes: true, ..SHAPE },
            E::Ftruncate => Properties { name: "ftruncate", ..SHAPE },
            E::FileOperation(F::CreateFile) => Properties { name: "filecreate", diskless: true, always_changes: true, ..NAME },
            E::FileOperation(F::StatFile(_)) => Properties { name: "filestat", ..NAME },
            E::FileOperation(F::DeleteFile) => Properties { name: "filedelete", always_changes: true, ..NAME },
            E::FileOperation(F::CreateDirectory) => Properties { name: "dircreate", diskless: true, always_changes: true, ..NAME },
            E::FileOperation(F::StatDirectory(_)) => Properties { name: "dirstat", diskless: true, ..NAME },
            E::FileOperation(F::DeleteDirectory) => Properties { name: "dirdelete", diskless: true, always_changes: true, ..NAME },
            E::Cpuio(_) => Properties { name: "cpuio", diskless: true, does_io: false, ..SHAPE },
        };
        properties
    }

    /// The engine's name as reports print it.
    pub fn name(&self) -> &'static str {
        self.properties().name
    }

    /// Files are names only: nothing is laid out, and directories, caches and disks are left
    /// alone.
    pub fn diskless(&self) -> bool {
        self.properties().diskless
    }

    /// The engine has nothing to do with the names of its files.
    pub fn ignores_files(&self) -> bool {
        self.diskless() && self.file_operation().is_none()
    }

    /// Operations complete inside the calls that issue them: there is no submission latency.
    pub fn synchronous(&self, depth: u32) -> bool {
        match self.properties().completes {
            Completes::AtOnce | Completes::Batched => true,
            Completes::AtOnceAlone => depth == 1,
            Completes::Later => false,
        }
    }

    /// No more than one operation is held at a time, whatever the depth.
    pub fn one_at_a_time(&self) -> bool {
        self.properties().completes == Completes::AtOnce
    }

    /// Writing behind the end of a file makes it longer.
    pub fn extends(&self) -> bool {
        self.properties().extends
    }

    /// Offsets mean something to the engine.
    pub fn seekable(&self) -> bool {
        self.properties().seekable
    }

    /// The job does I/O. One that does not has operations without file, offset and length.
    pub fn does_io(&self) -> bool {
        self.properties().does_io
    }

    /// Operations carry data.
    pub fn moves_data(&self) -> bool {
        self.properties().moves_data
    }

    /// Each operation's latency is a sample, and the rates are sampled.
    pub fn measured(&self) -> bool {
        self.properties().measured
    }

    /// The targets are changed even by jobs that only read.
    pub fn always_changes(&self) -> bool {
        self.properties().always_changes
    }

    /// Writes can be asked to be whole or not at all (`atomic`).
    pub fn writes_atomically(&self) -> bool {
        matches!(
            self,
            EngineSpec::Pvsync2(_) | EngineSpec::Libaio(_) | EngineSpec::IoUring(_)
        )
    }

    /// Threads with an engine each may share the work (`io_submit_mode=offload`).
    pub fn can_be_offloaded(&self) -> bool {
        !matches!(
            self,
            EngineSpec::IoUring(_) | EngineSpec::FileOperation(_) | EngineSpec::Cpuio(_)
        )
    }

    /// Label of a failed transfer in the job's error line.
    pub fn failure_label(&self) -> &'static str {
        self.properties().label
    }

    /// What is done to each name, if that is what the engine measures.
    pub fn file_operation(&self) -> Option<FileOperation> {
        match self {
            EngineSpec::FileOperation(operation) => Some(*operation),
            _ => None,
        }
    }

    /// Files are opened for changes, and made, in every direction.
    pub fn opens_for_changes(&self) -> bool {
        matches!(self, EngineSpec::Falloc)
    }

    /// All files are opened once and made known to the kernel.
    pub fn registers_files(&self) -> bool {
        matches!(self, EngineSpec::IoUring(options) if options.register_files || options.sq_poll)
    }

    /// Completions are polled for in the device's driver.
    pub fn polls_device(&self) -> bool {
        match self {
            EngineSpec::IoUring(options) => options.hipri,
            EngineSpec::Pvsync2(options) => options.hipri,
            _ => false,
        }
    }

    /// Calls carry flags that a kernel or file system may refuse, or that make a call fail in place
    /// of waiting.
    pub fn flags_calls(&self) -> bool {
        match self {
            EngineSpec::Pvsync2(options) => options.nowait || options.uncached,
            EngineSpec::IoUring(options) => options.nowait || options.uncached,
            EngineSpec::Libaio(options) => options.nowait,
            _ => false,
        }
    }

    /// The job's options for burning CPU time, if that is what it does.
    pub fn burner(&self) -> Option<&CpuioOptions> {
        match self {
            EngineSpec::Cpuio(options) => Some(options),
            _ => None,
        }
    }
}

/// Options of the pvsync2 engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pvsync2Options {
    /// `hipri`: polled completions.
    pub hipri: bool,
    /// `hipri_percentage`: share of operations that are polled, 0 to 100.
    pub hipri_percent: u32,
    /// `uncached`.
    pub uncached: bool,
    /// `nowait`.
    pub nowait: bool,
}

/// Options of the mmap engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MmapOptions {
    /// `thp`: a private mapping with huge pages; writes do not reach the file.
    pub huge_pages: bool,
}

/// `cpumode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CpuMode {
    /// A busy loop.
    #[default]
    Spin,
    /// Sorting.
    Sort,
}

impl CpuMode {
    /// The option's word.
    pub fn word(self) -> &'static str {
        match self {
            CpuMode::Spin => "noop",
            CpuMode::Sort => "qsort",
        }
    }
}

/// Options of the cpuio engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuioOptions {
    /// `cpuload` in per cent of one CPU, 1 to 100.
    pub load_percent: u32,
    /// `cpumode`.
    pub mode: CpuMode,
    /// `cpuchunks`: length of a burn in microseconds.
    pub chunk_us: u32,
}

impl CpuioOptions {
    /// The pause that follows a burn of `burn_us` microseconds.
    pub fn pause_us(&self, burn_us: u64) -> u64 {
        let load = u64::from(self.load_percent.clamp(1, 100));
        burn_us.saturating_mul(100 - load) / load
    }
}

/// Options of the libaio engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibaioOptions {
    /// `userspace_reap`.
    pub userspace_reap: bool,
    /// `nowait`.
    pub nowait: bool,
    /// `libaio_vectored`.
    pub vectored: bool,
}

/// Options of the io_uring engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoUringOptions {
    /// `hipri`: polled completions.
    pub hipri: bool,
    /// `fixedbufs`: registered buffers.
    pub fixed_buffers: bool,
    /// `registerfiles` (forced by `sqthread_poll`).
    pub register_files: bool,
    /// `sqthread_poll`.
    pub sq_poll: bool,
    /// `sqthread_poll_cpu`.
    pub sq_poll_cpu: Option<u32>,
    /// `nonvectored`: `None` probes.
    pub nonvectored: Option<bool>,
    /// `uncached`.
    pub uncached: bool,
    /// `nowait`.
    pub nowait: bool,
    /// `force_async`: every N-th operation; 0 is off.
    pub force_async: u32,
}
