//! `io_submit_mode=offload`: a pool of threads, each with an engine and open files of its own, that
//! executes what the job's thread hands over.
//!
//! Any kernel. A thread opens a file again the first time that it meets it, through
//! `/proc/self/fd`, so that engines with a file position do not disturb each other. Completions
//! come in any order.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::pool::{Perform, Pool, PoolRules};
use crate::{Capabilities, Completion, Engine, EngineError, Outcome, Queued, Request};

/// More threads than this gain nothing.
const THREADS_MAX: u32 = 1024;

/// A pool of engines.
#[derive(Debug)]
pub struct Offload {
    pool: Pool,
    /// Grows whenever a file is opened or closed: threads let go of theirs.
    epoch: Arc<AtomicU64>,
}

/// The pool for up to `depth` requests in flight, with an engine of depth 1 for each thread.
///
/// # Errors
/// No thread can be made, or `make` says why an engine cannot.
pub fn offload<E: Engine + 'static>(
    depth: u32,
    make: impl Fn() -> Result<E, EngineError> + Send + Sync + 'static,
) -> Result<Offload, EngineError> {
    let rules = PoolRules {
        name: "offload",
        threads_max: THREADS_MAX,
        ordered_flushes: false,
        trims_at_once: false,
    };
    let epoch = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&epoch);
    let make = move || {
        let mut thread = Submitter {
            engine: make()?,
            files: Vec::new(),
            epoch: Arc::clone(&seen),
            last_epoch: 0,
            completions: Vec::with_capacity(1),
        };
        Ok(Box::new(move |request: &Request| thread.perform(request)) as Perform)
    };
    Ok(Offload {
        pool: Pool::new(rules, depth, Arc::new(make))?,
        epoch,
    })
}

impl Engine for Offload {
    fn capabilities(&self) -> Capabilities {
        self.pool.capabilities()
    }

    fn opened(&mut self, _file: u32) {
        self.epoch.fetch_add(1, Relaxed);
    }

    fn closed(&mut self, _file: u32) {
        self.epoch.fetch_add(1, Relaxed);
    }

    fn queue(&mut self, slot: u32, request: &Request) -> Queued {
        self.pool.queue(slot, request)
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        completions: &mut Vec<Completion>,
        submitted: &mut impl FnMut(&[u32]),
    ) -> Result<(), EngineError> {
        self.pool.reap(min, max, completions, submitted)
    }
}

/// One thread's engine and files.
struct Submitter<E> {
    engine: E,
    /// Own descriptor per file index, with the job's that it was made from.
    files: Vec<Option<(RawFd, OwnedFd)>>,
    epoch: Arc<AtomicU64>,
    last_epoch: u64,
    completions: Vec<Completion>,
}

impl<E: Engine> Submitter<E> {
    fn perform(&mut self, request: &Request) -> Outcome {
        let fd = match self.own_file(request) {
            Ok(fd) => fd,
            Err(error) => {
                return Outcome::failed(error.raw_os_error().unwrap_or(libc::EIO), request.len);
            }
        };
        match self.engine.queue(0, &Request { fd, ..*request }) {
            Queued::Completed(outcome) => outcome,
            Queued::Queued => self
                .wait()
                .unwrap_or_else(|error| Outcome::failed(error.code, request.len)),
            // Cannot be: nothing else is in flight.
            Queued::Busy => Outcome::failed(libc::EAGAIN, request.len),
        }
    }

    fn wait(&mut self) -> Result<Outcome, EngineError> {
        self.engine.commit(&mut |_: &[u32]| {})?;
        loop {
            let done = &mut self.completions;
            self.engine.reap(1, 1, done, &mut |_: &[u32]| {})?;
            if let Some(completion) = done.pop() {
                return Ok(completion.outcome);
            }
        }
    }

    /// This thread's descriptor of the request's file.
    fn own_file(&mut self, request: &Request) -> std::io::Result<RawFd> {
        if request.fd < 0 {
            return Ok(request.fd);
        }
        let epoch = self.epoch.load(Relaxed);
        if epoch != self.last_epoch {
            self.last_epoch = epoch;
            for (file, slot) in self.files.iter_mut().enumerate() {
                if slot.take().is_some() {
                    self.engine.closed(file as u32);
                }
            }
        }
        let index = request.file as usize;
        if self.files.len() <= index {
            self.files.resize_with(index + 1, || None);
        }
        if let Some((of, own)) = &self.files[index]
            && *of == request.fd
        {
            return Ok(own.as_raw_fd());
        }
        let own = open_again(request.fd)?;
        let fd = own.as_raw_fd();
        self.files[index] = Some((request.fd, own));
        self.engine.opened(request.file);
        Ok(fd)
    }
}

/// Opens the file behind a descriptor again, with the same access and modes.
fn open_again(fd: RawFd) -> std::io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let kept = libc::O_DIRECT | libc::O_SYNC | libc::O_DSYNC | libc::O_NOATIME;
    let access = flags & libc::O_ACCMODE;
    File::options()
        .read(access != libc::O_WRONLY)
        .write(access != libc::O_RDONLY)
        .custom_flags(flags & kept)
        .open(format!("/proc/self/fd/{fd}"))
        .map(OwnedFd::from)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::request;
    use crate::{Kind, Seeking};

    /// Engines with a file position work side by side, each on its own.
    #[test]
    fn positions_do_not_mix() {
        let file = tempfile::tempfile().expect("file");
        let fd = file.as_raw_fd();
        let make = || Ok(crate::Immediate::Seeking(Seeking::default()));
        let mut engine = offload(8, make).expect("engine");
        let mut out: Vec<Vec<u8>> = (0..64).map(|byte| vec![byte + 1; 1024]).collect();
        for round in 0..8 {
            engine.opened(0);
            for slot in 0..8 {
                let at = round * 8 + slot;
                let request = request(fd, Kind::Write, 1024 * at as u64, &mut out[at]);
                assert_eq!(engine.queue(slot as u32, &request), Queued::Queued);
            }
            let mut done = Vec::new();
            engine
                .reap(8, 8, &mut done, &mut |_: &[u32]| {})
                .expect("reap");
            assert!(done.iter().all(|done| done.outcome == Outcome::default()));
            engine.closed(0);
        }
        let mut back = vec![0; 64 * 1024];
        file.read_exact_at(&mut back, 0).expect("contents");
        assert_eq!(back, out.concat());
    }

    #[test]
    fn an_engine_that_cannot_be_made_is_told() {
        let error = offload(4, || -> Result<crate::Null, EngineError> {
            Err(EngineError::new(libc::ENOSPC, "test"))
        });
        assert_eq!(error.err().map(|error| error.code), Some(libc::ENOSPC));
    }
}
