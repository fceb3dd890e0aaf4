//! The vsync engine: adjacent requests of one file and direction go into one `readv` or `writev`.
//!
//! System calls: `lseek`, then `readv` or `writev` with one element per request. Any kernel. Up to
//! `depth` requests are collected until `commit`; one that does not continue the last one has to
//! wait for that. A short transfer is spread over the requests in their order. Flushes and trims
//! are executed at once when nothing is collected.

use std::os::fd::RawFd;

use crate::file_ops::{errno, run_at_once};
use crate::{Capabilities, Completion, Engine, EngineError, Kind, Outcome, Queued, Request};

/// What collected requests have in common, and where the next one must begin.
#[derive(Clone, Copy, Debug)]
struct Run {
    kind: Kind,
    fd: RawFd,
    start: u64,
    end: u64,
}

/// See the module's head.
#[derive(Debug)]
pub struct Vsync {
    /// Collected requests: none is more than `depth`.
    slots: Vec<u32>,
    vectors: Vec<libc::iovec>,
    run: Option<Run>,
    depth: usize,
    /// Transferred and not reaped.
    done: Vec<Completion>,
}

impl Vsync {
    /// An engine for up to `depth` requests; more than a call takes (1024) are never collected.
    pub fn new(depth: u32) -> Self {
        let slots = depth as usize;
        Vsync {
            slots: Vec::with_capacity(slots),
            vectors: Vec::with_capacity(slots),
            run: None,
            depth: slots.min(libc::UIO_MAXIOV as usize),
            done: Vec::with_capacity(slots),
        }
    }

    fn transfer(&mut self, run: Run) -> Result<u64, i32> {
        // SAFETY: no memory is passed.
        let moved = unsafe { libc::lseek64(run.fd, run.start as i64, libc::SEEK_SET) };
        if moved < 0 {
            return Err(errno());
        }
        let (vectors, count) = (self.vectors.as_ptr(), self.vectors.len() as i32);
        // SAFETY: each element describes a slot's buffer, which is valid by the trait's contract;
        // the elements live across the call.
        let result = unsafe {
            if run.kind == Kind::Read {
                libc::readv(run.fd, vectors, count)
            } else {
                libc::writev(run.fd, vectors, count)
            }
        };
        u64::try_from(result).map_err(|_| errno())
    }
}

impl Engine for Vsync {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            synchronous: false,
            commits: true,
            issues_at_commit: false,
        }
    }

    fn queue(&mut self, slot: u32, request: &Request) -> Queued {
        if !matches!(request.kind, Kind::Read | Kind::Write) {
            if !self.slots.is_empty() {
                return Queued::Busy;
            }
            return Queued::Completed(run_at_once(request));
        }
        let end = request.offset + u64::from(request.len);
        match &mut self.run {
            Some(run) => {
                let continues = run.kind == request.kind
                    && run.fd == request.fd
                    && run.end == request.offset
                    && self.slots.len() < self.depth;
                if !continues {
                    return Queued::Busy;
                }
                run.end = end;
            }
            None => {
                self.run = Some(Run {
                    kind: request.kind,
                    fd: request.fd,
                    start: request.offset,
                    end,
                });
            }
        }
        self.slots.push(slot);
        self.vectors.push(libc::iovec {
            iov_base: request.buffer.cast(),
            iov_len: request.len as usize,
        });
        Queued::Queued
    }

    fn commit(&mut self, submitted: &mut impl FnMut(&[u32])) -> Result<(), EngineError> {
        let Some(run) = self.run.take() else {
            return Ok(());
        };
        submitted(&self.slots);
        let mut result = self.transfer(run);
        for (slot, vector) in self.slots.drain(..).zip(self.vectors.drain(..)) {
            let len = vector.iov_len as u32;
            let outcome = match &mut result {
                Ok(left) => {
                    let part = u64::from(len).min(*left);
                    *left -= part;
                    Outcome {
                        error: 0,
                        residual: len - part as u32,
                    }
                }
                Err(code) => Outcome::failed(*code, len),
            };
            self.done.push(Completion { slot, outcome });
        }
        Ok(())
    }

    fn reap(
        &mut self,
        min: u32,
        _max: u32,
        completions: &mut Vec<Completion>,
        submitted: &mut impl FnMut(&[u32]),
    ) -> Result<(), EngineError> {
        if self.done.len() < min as usize {
            self.commit(submitted)?;
        }
        // What one call transferred is reaped at once, even beyond `max`: so it is in fio.
        completions.append(&mut self.done);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::request;

    fn ignore(_: &[u32]) {}

    #[test]
    fn adjacent_writes_are_one_batch() {
        let file = tempfile::tempfile().expect("file");
        let fd = file.as_raw_fd();
        let mut engine = Vsync::new(4);
        let mut buffers: Vec<Vec<u8>> = (0..5).map(|byte| vec![byte; 512]).collect();
        for (slot, buffer) in buffers.iter_mut().enumerate().take(4) {
            let request = request(fd, Kind::Write, 512 * slot as u64, buffer);
            assert_eq!(engine.queue(slot as u32, &request), Queued::Queued);
        }
        // Full, and a flush must wait.
        let next = request(fd, Kind::Write, 2048, &mut buffers[4]);
        assert_eq!(engine.queue(4, &next), Queued::Busy);
        let flush = request(fd, Kind::Fsync, 0, &mut []);
        assert_eq!(engine.queue(4, &flush), Queued::Busy);
        let mut batches = Vec::new();
        engine
            .commit(&mut |batch: &[u32]| batches.push(batch.to_vec()))
            .expect("commit");
        assert_eq!(batches, [[0, 1, 2, 3]]);
        let mut done = Vec::new();
        engine.reap(1, 1, &mut done, &mut ignore).expect("reap");
        assert!(done.iter().all(|done| done.outcome == Outcome::default()));
        assert_eq!(done.len(), 4);
        let mut back = vec![0; 2048];
        file.read_exact_at(&mut back, 0).expect("contents");
        assert_eq!(back, buffers[..4].concat());
    }

    #[test]
    fn what_does_not_continue_waits() {
        let file = tempfile::tempfile().expect("file");
        let fd = file.as_raw_fd();
        let mut engine = Vsync::new(4);
        let (mut a, mut b) = (vec![1; 512], vec![2; 512]);
        let first = request(fd, Kind::Write, 0, &mut a);
        assert_eq!(engine.queue(0, &first), Queued::Queued);
        for other in [
            request(fd, Kind::Write, 1024, &mut b),
            request(fd, Kind::Read, 512, &mut b),
            request(fd + 1, Kind::Write, 512, &mut b),
        ] {
            assert_eq!(engine.queue(1, &other), Queued::Busy);
        }
    }

    #[test]
    fn a_short_read_is_spread_in_order() {
        let file = tempfile::tempfile().expect("file");
        file.set_len(700).expect("size");
        let fd = file.as_raw_fd();
        let mut engine = Vsync::new(3);
        let mut buffers = vec![vec![9; 512]; 3];
        for (slot, buffer) in buffers.iter_mut().enumerate() {
            let request = request(fd, Kind::Read, 512 * slot as u64, buffer);
            assert_eq!(engine.queue(slot as u32, &request), Queued::Queued);
        }
        let mut done = Vec::new();
        engine.reap(3, 3, &mut done, &mut ignore).expect("reap");
        let residuals: Vec<u32> = done.iter().map(|done| done.outcome.residual).collect();
        assert_eq!(residuals, [0, 324, 512]);
    }

    #[test]
    fn an_error_is_every_requests_error() {
        let mut engine = Vsync::new(2);
        let mut buffers = vec![vec![0; 512]; 2];
        for (slot, buffer) in buffers.iter_mut().enumerate() {
            let request = request(-1, Kind::Read, 512 * slot as u64, buffer);
            assert_eq!(engine.queue(slot as u32, &request), Queued::Queued);
        }
        let mut done = Vec::new();
        engine.reap(2, 2, &mut done, &mut ignore).expect("reap");
        let expected = Outcome::failed(libc::EBADF, 512);
        assert!(done.iter().all(|done| done.outcome == expected));
        assert_eq!(done.len(), 2);
    }
}
