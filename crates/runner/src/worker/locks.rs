//! `lockfile`: locks that the jobs of a run share, one for each path.
//!
//! All locks are bytes of one anonymous file that the supervisor makes before it forks. Each
//! worker opens it anew, so that its locks are its own, and takes the byte that stands for the
//! path while an operation is handed to the engine. A killed worker holds nothing.

use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use ferrio_engines::Engine;
use ferrio_options::{FileLock, JobSpec};
use ferrio_workload::OpKind;
use rustix::fs::{MemfdFlags, memfd_create};

use super::io_loop::IoLoop;
use crate::failure;
use crate::files::code_of;
use crate::sys::{self, RangeLock};

/// The file whose bytes are the locks, if any of the jobs wants one.
pub(crate) fn make<'a>(mut jobs: impl Iterator<Item = &'a JobSpec>) -> io::Result<Option<OwnedFd>> {
    if jobs.all(|job| job.target.lock == FileLock::None) {
        return Ok(None);
    }
    Ok(Some(memfd_create("ferrio-locks", MemfdFlags::CLOEXEC)?))
}

/// A worker's view of the locks.
#[derive(Debug)]
pub(super) struct FileLocks {
    file: File,
    kind: FileLock,
    /// Byte of each file, by index.
    bytes: Vec<u64>,
}

impl FileLocks {
    /// Opens the locks for a job; to be done before the worker changes its user.
    pub(super) fn open(job: &JobSpec, shared: &OwnedFd) -> io::Result<FileLocks> {
        let path = format!("/proc/self/fd/{}", shared.as_raw_fd());
        let byte = |path: &std::path::Path| {
            let mut hasher = DefaultHasher::new();
            path.hash(&mut hasher);
            hasher.finish()
        };
        Ok(FileLocks {
            file: OpenOptions::new().read(true).write(true).open(path)?,
            kind: job.target.lock,
            bytes: job.target.files.iter().map(byte).collect(),
        })
    }

    fn set(&self, file: u32, how: RangeLock) -> io::Result<()> {
        sys::lock_byte(self.file.as_fd(), self.bytes[file as usize], how)
    }
}

impl<E: Engine> IoLoop<'_, E> {
    /// Hands a slot to the engine under the lock of its file.
    #[cold]
    pub(super) fn offer_locked(&mut self, index: u32) -> bool {
        let op = self.slots[index as usize].op;
        let Some(locks) = &self.locks else {
            return self.offer(index);
        };
        let how = match (locks.kind, op.kind) {
            (FileLock::ReadWrite, OpKind::Read) => RangeLock::Shared,
            _ => RangeLock::Exclusive,
        };
        if let Err(error) = locks.set(op.file, how) {
            self.fail(failure!(code_of(&error), "lockfile"));
            self.requeued.push_front(index);
            return true;
        }
        let busy = self.offer(index);
        if let Some(locks) = &self.locks {
            // Giving a lock back does not fail.
            let _ = locks.set(op.file, RangeLock::None);
        }
        busy
    }
}
