//! Synchronous engines: `psync` (`pread64`/`pwrite64`) and `sync` (`lseek`, `read`/`write`).
//!
//! Any kernel. A short transfer is reported as a residual, end of file included; interruption
//! (`EINTR`) and `EAGAIN` are ordinary errors, as with fio's engines of these names.

use crate::file_ops::{errno, run_at_once};
use crate::{Capabilities, Engine, Kind, Outcome, Queued, Request};

/// Positional reads and writes.
#[derive(Debug, Default)]
pub struct Psync;

/// Reads and writes at the file position, which is moved only when the offset differs from it.
#[derive(Debug, Default)]
pub struct Seeking {
    /// File position per file index after its last transfer; `None` is unknown.
    positions: Vec<Option<u64>>,
}

fn outcome_of(result: isize, len: u32) -> Outcome {
    if result < 0 {
        return Outcome {
            error: errno(),
            residual: len,
        };
    }
    Outcome::of(result as i64, len)
}

impl Engine for Psync {
    fn capabilities(&self) -> Capabilities {
        Capabilities { synchronous: true }
    }

    #[inline]
    fn queue(&mut self, _slot: u32, request: &Request) -> Queued {
        let Request {
            fd, buffer, offset, ..
        } = *request;
        let len = request.len as usize;
        Queued::Completed(match request.kind {
            Kind::Read => {
                // SAFETY: the slot's buffer holds `len` bytes and is ours during the call.
                let result = unsafe { libc::pread64(fd, buffer.cast(), len, offset as i64) };
                outcome_of(result, request.len)
            }
            Kind::Write => {
                // SAFETY: as above.
                let result = unsafe { libc::pwrite64(fd, buffer.cast(), len, offset as i64) };
                outcome_of(result, request.len)
            }
            _ => run_at_once(request),
        })
    }
}

impl Seeking {
    fn transfer(&mut self, request: &Request) -> Outcome {
        let Request {
            fd, buffer, offset, ..
        } = *request;
        let position = &mut self.positions[request.file as usize];
        if position.take() != Some(offset) {
            // SAFETY: no memory is passed.
            let moved = unsafe { libc::lseek64(fd, offset as i64, libc::SEEK_SET) };
            if moved < 0 {
                return Outcome {
                    error: errno(),
                    residual: request.len,
                };
            }
        }
        let len = request.len as usize;
        // SAFETY: the slot's buffer holds `len` bytes and is ours during the call.
        let result = unsafe {
            if request.kind == Kind::Read {
                libc::read(fd, buffer.cast(), len)
            } else {
                libc::write(fd, buffer.cast(), len)
            }
        };
        let outcome = outcome_of(result, request.len);
        self.positions[request.file as usize] =
            Some(offset + u64::from(request.len - outcome.residual));
        outcome
    }
}

impl Engine for Seeking {
    fn capabilities(&self) -> Capabilities {
        Capabilities { synchronous: true }
    }

    fn opened(&mut self, file: u32) {
        let index = file as usize;
        if self.positions.len() <= index {
            self.positions.resize(index + 1, None);
        }
        // A fresh descriptor stands at 0.
        self.positions[index] = Some(0);
    }

    fn queue(&mut self, _slot: u32, request: &Request) -> Queued {
        Queued::Completed(match request.kind {
            Kind::Read | Kind::Write => self.transfer(request),
            _ => run_at_once(request),
        })
    }
}
