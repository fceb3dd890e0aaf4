//! The posixaio engine: POSIX asynchronous I/O, as a pool of threads that call `pread64`,
//! `pwrite64` and `fsync`, which is what the C library's is.
//!
//! Any kernel. Where the C library works on the requests of one file one after the other, these
//! run side by side. Every flush is an `fsync`; it begins when the requests queued before it are
//! done. Trims are executed at once when nothing is in flight.

use std::sync::Arc;

use crate::file_ops::{outcome_of, run_at_once};
use crate::pool::{Perform, Pool, PoolRules};
use crate::{EngineError, Kind, Outcome, Request};

/// More threads than this gain nothing.
const THREADS_MAX: u32 = 128;

/// The engine for up to `depth` requests in flight.
///
/// # Errors
/// Not even one thread can be made.
pub fn posix_aio(depth: u32) -> Result<Pool, EngineError> {
    let rules = PoolRules {
        name: "posixaio",
        threads_max: THREADS_MAX,
        ordered_flushes: true,
        trims_at_once: true,
    };
    Pool::new(rules, depth, Arc::new(|| Ok(Box::new(perform) as Perform)))
}

fn perform(request: &Request) -> Outcome {
    let len = request.len as usize;
    let offset = request.offset as i64;
    match request.kind {
        Kind::Read => {
            // SAFETY: the slot's buffer holds `len` bytes and is ours until it completes.
            let result = unsafe { libc::pread64(request.fd, request.buffer.cast(), len, offset) };
            outcome_of(result, request.len)
        }
        Kind::Write => {
            // SAFETY: as above.
            let result = unsafe { libc::pwrite64(request.fd, request.buffer.cast(), len, offset) };
            outcome_of(result, request.len)
        }
        _ => run_at_once(&Request {
            kind: Kind::Fsync,
            ..*request
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::request;
    use crate::{Completion, Engine, Queued};

    fn reap(engine: &mut Pool, min: u32, max: u32) -> Vec<Completion> {
        let mut done = Vec::new();
        engine
            .reap(min, max, &mut done, &mut |_: &[u32]| {})
            .expect("reap");
        done
    }

    #[test]
    fn data_goes_both_ways() {
        let file = tempfile::tempfile().expect("file");
        let fd = file.as_raw_fd();
        let mut out: Vec<Vec<u8>> = (0..16).map(|byte| vec![byte + 1; 4096]).collect();
        let mut engine = posix_aio(16).expect("engine");
        for (slot, buffer) in out.iter_mut().enumerate() {
            let request = request(fd, Kind::Write, 4096 * slot as u64, buffer);
            assert_eq!(engine.queue(slot as u32, &request), Queued::Queued);
        }
        let mut done = reap(&mut engine, 10, 12);
        assert!((10..=12).contains(&done.len()));
        let rest = 16 - done.len() as u32;
        done.extend(reap(&mut engine, rest, rest));
        let mut slots: Vec<u32> = done.iter().map(|done| done.slot).collect();
        slots.sort_unstable();
        assert_eq!(slots, (0..16).collect::<Vec<u32>>());
        let mut back = vec![0; 16 * 4096];
        file.read_exact_at(&mut back, 0).expect("contents");
        assert_eq!(back, out.concat());
        let mut read = vec![0; 4096];
        engine.queue(3, &request(fd, Kind::Read, 8192, &mut read));
        let expected = Completion {
            slot: 3,
            outcome: Outcome::default(),
        };
        assert_eq!(reap(&mut engine, 1, 1), [expected]);
        assert_eq!(read, out[2]);
    }

    #[test]
    fn short_transfers_and_errors_are_the_requests_own() {
        let file = tempfile::tempfile().expect("file");
        file.set_len(5000).expect("size");
        let mut engine = posix_aio(2).expect("engine");
        let mut buffers = vec![vec![0; 4096]; 2];
        let (a, b) = buffers.split_at_mut(1);
        engine.queue(0, &request(file.as_raw_fd(), Kind::Read, 4096, &mut a[0]));
        engine.queue(1, &request(-1, Kind::Read, 0, &mut b[0]));
        let mut done = reap(&mut engine, 2, 2);
        done.sort_by_key(|done| done.slot);
        assert_eq!((done[0].outcome.error, done[0].outcome.residual), (0, 3192));
        assert_eq!(done[1].outcome, Outcome::failed(libc::EBADF, 4096));
    }

    #[test]
    fn a_trim_waits_until_nothing_is_in_flight() {
        let file = tempfile::tempfile().expect("file");
        let fd = file.as_raw_fd();
        let mut engine = posix_aio(4).expect("engine");
        let mut buffer = vec![0; 512];
        engine.queue(0, &request(fd, Kind::Write, 0, &mut buffer));
        let trim = request(fd, Kind::Trim, 0, &mut []);
        assert_eq!(engine.queue(1, &trim), Queued::Busy);
        reap(&mut engine, 1, 1);
        let refused = Outcome::failed(libc::ENOTTY, 0);
        assert_eq!(engine.queue(1, &trim), Queued::Completed(refused));
    }

    /// Flushes among writes, more requests than threads, and an engine dropped in between.
    #[test]
    fn flushes_pass_through_the_queue() {
        let file = tempfile::tempfile().expect("file");
        let fd = file.as_raw_fd();
        let depth = THREADS_MAX + 40;
        let mut engine = posix_aio(depth).expect("engine");
        assert_eq!(engine.threads(), THREADS_MAX as usize);
        let mut buffers = vec![vec![6; 512]; depth as usize];
        for round in 0..3 {
            for (slot, buffer) in buffers.iter_mut().enumerate() {
                let request = if slot % 7 == 3 {
                    request(fd, Kind::Fdatasync, 0, &mut [])
                } else {
                    request(fd, Kind::Write, 512 * slot as u64, buffer)
                };
                engine.queue(slot as u32, &request);
            }
            if round < 2 {
                let done = reap(&mut engine, depth, depth);
                assert!(done.iter().all(|done| done.outcome == Outcome::default()));
            }
        }
        drop(engine);
    }
}
