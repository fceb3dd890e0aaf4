//! How I/O is done: the [`Engine`] trait and one module per engine.
//!
//! An engine takes a [`Request`] that belongs to a numbered slot and either completes it at
//! once or accepts it for later. It knows nothing of jobs, statistics or clocks. The worker loop
//! is generic over the engine, so no call is dispatched dynamically while I/O runs.
//!
//! What each engine calls, which kernel it needs and what happens on an older one stands at the
//! head of its module.

mod aio_abi;
mod burn;
pub mod file_ops;
mod immediate;
mod libaio;
mod mapped;
pub mod names;
mod null;
mod offload;
mod pool;
mod posixaio;
mod psync;
mod shape;
mod spliced;
mod uring;
mod vsync;

pub use burn::{Burn, Burner};
pub use immediate::Immediate;
pub use libaio::{Libaio, LibaioSettings};
pub use mapped::{Hint, MapSettings, Mapped, Region};
pub use null::Null;
pub use offload::offload;
pub use pool::Pool;
pub use posixaio::posix_aio;
pub use psync::{Positional, RwFlags, Seeking};
pub use spliced::Spliced;
pub use uring::{IoUring, IoUringSettings};
pub use vsync::Vsync;

use std::os::fd::RawFd;

/// What a request does. The first three are the data directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Move data from the file to the buffer.
    Read = 0,
    /// Move data from the buffer to the file.
    Write = 1,
    /// Discard a range (block devices only).
    Trim = 2,
    /// Flush data and metadata.
    Fsync = 3,
    /// Flush data.
    Fdatasync = 4,
    /// Start or await write-back of a range.
    SyncFileRange = 5,
}

impl Kind {
    /// The word used in reports and messages.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Trim => "trim",
            Kind::Fsync => "sync",
            Kind::Fdatasync => "datasync",
            Kind::SyncFileRange => "sync_file_range",
        }
    }
}

/// One I/O as an engine sees it.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// What to do.
    pub kind: Kind,
    /// Flags of `sync_file_range(2)`, for that kind only.
    pub sync_flags: u32,
    /// Index of the file in the job (registered files are addressed by it).
    pub file: u32,
    /// Open descriptor of the file; -1 for engines without files.
    pub fd: RawFd,
    /// Byte offset.
    pub offset: u64,
    /// Length in bytes, below 2^32; of a range to be flushed 0 is "to the end of the file".
    pub len: u32,
    /// Start of the data inside the slot's buffer, for reads and writes.
    pub buffer: *mut u8,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// System error number; 0 is none.
    pub error: i32,
    /// Bytes asked for that were not transferred.
    pub residual: u32,
}

impl Outcome {
    /// Nothing was transferred, because of this error.
    fn failed(error: i32, len: u32) -> Outcome {
        Outcome {
            error,
            residual: len,
        }
    }

    /// Judges a kernel result: a byte count, or a negative error number.
    #[inline(always)]
    fn of(result: i64, len: u32) -> Outcome {
        match u32::try_from(result) {
            Ok(done) if done <= len => Outcome {
                error: 0,
                residual: len - done,
            },
            // More bytes than asked for cannot be; treat it as the kernel's input/output error.
            Ok(_) => Outcome::failed(libc::EIO, len),
            Err(_) => Outcome::failed(i32::try_from(-result).unwrap_or(libc::EIO), len),
        }
    }
}

/// Answer to [`Engine::queue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// Done inside the call.
    Completed(Outcome),
    /// Accepted; a later [`Engine::reap`] yields its slot.
    Queued,
    /// Not accepted now: commit, reap, and offer it again.
    Busy,
}

/// A reaped request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Slot given to [`Engine::queue`].
    pub slot: u32,
    /// How it ended.
    pub outcome: Outcome,
}

/// A failure of the engine itself, not of one request.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{label}: {}", std::io::Error::from_raw_os_error(*code))]
pub struct EngineError {
    /// System error number.
    pub code: i32,
    /// What was being done: the label of the job's error line.
    pub label: &'static str,
    /// One line that says what to do about it; empty when there is nothing to add.
    pub advice: String,
}

impl EngineError {
    fn new(code: i32, label: &'static str) -> Self {
        EngineError {
            code,
            label,
            advice: String::new(),
        }
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

/// What the worker loop must know about an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Every request completes inside [`Engine::queue`].
    pub synchronous: bool,
    /// [`Engine::commit`] hands requests over, and its batches count as submissions; without it
    /// each call of [`Engine::queue`] counts as a submission and a completion of one.
    pub commits: bool,
    /// A request is issued when it is handed over by [`Engine::commit`], otherwise when it is
    /// queued.
    pub issues_at_commit: bool,
}

impl Capabilities {
    /// Requests complete inside the call that takes them.
    pub const AT_ONCE: Capabilities = Capabilities {
        synchronous: true,
        commits: false,
        issues_at_commit: false,
    };
    /// Requests are collected, and handed over in batches.
    pub const IN_BATCHES: Capabilities = Capabilities {
        synchronous: false,
        commits: true,
        issues_at_commit: true,
    };
}

/// Memory of all slots' buffers: slot `i` owns `stride` bytes from `base + i * stride`.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Start of slot 0's buffer.
    pub base: *mut u8,
    /// Bytes per slot.
    pub stride: usize,
    /// Number of slots.
    pub slots: u32,
}

/// One way to do I/O.
///
/// # Safety contract of buffers
/// The caller keeps each queued request's buffer and descriptor valid until its completion was
/// reaped or the engine was dropped.
pub trait Engine {
    /// What the engine can do.
    fn capabilities(&self) -> Capabilities;

    /// A file of the job was opened (again); called before its first request.
    fn opened(&mut self, _file: u32) {}

    /// A file was closed; called some time after that, before it is opened again.
    fn closed(&mut self, _file: u32) {}

    /// Microseconds that the job is to pause after each request, where the engine decides it.
    fn pause_us(&self) -> Option<u64> {
        None
    }

    /// Offers one request.
    fn queue(&mut self, slot: u32, request: &Request) -> Queued;

    /// Hands accepted requests to the kernel. `submitted` is called once per system call with
    /// the slots that it took, in order. Synchronous engines have nothing to hand over.
    ///
    /// # Errors
    /// When the kernel refuses the batch as a whole.
    fn commit(&mut self, _submitted: &mut impl FnMut(&[u32])) -> Result<(), EngineError> {
        Ok(())
    }

    /// Appends between `min` and `max` completions to `completions`, waiting for the first
    /// `min`. `min` is at most the number of outstanding requests. Requests that a partial
    /// submission left behind are submitted on the way and reported to `submitted`.
    ///
    /// # Errors
    /// When waiting fails.
    fn reap(
        &mut self,
        _min: u32,
        _max: u32,
        _completions: &mut Vec<Completion>,
        _submitted: &mut impl FnMut(&[u32]),
    ) -> Result<(), EngineError> {
        Ok(())
    }

    /// Makes the job's files known before the first I/O (registered files).
    ///
    /// # Errors
    /// When the kernel refuses them.
    fn register_files(&mut self, _fds: &[RawFd]) -> Result<(), EngineError> {
        Ok(())
    }
}

/// A request of the engines' tests: on file 0, with `buffer` as its data.
#[cfg(test)]
fn request(fd: RawFd, kind: Kind, offset: u64, buffer: &mut [u8]) -> Request {
    Request {
        kind,
        sync_flags: 0,
        file: 0,
        fd,
        offset,
        len: buffer.len() as u32,
        buffer: buffer.as_mut_ptr(),
    }
}
