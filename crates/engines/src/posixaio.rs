//! The posixaio engine: POSIX asynchronous I/O, as a pool of threads that call `pread64`,
//! `pwrite64` and `fsync`, which is what the C library's is.
//!
//! Any kernel. Threads are made at the start, as many as requests may be in flight, up to
//! 128; none is made later. Where the C library works on the requests of one file one
//! after the other, these run side by side. Every flush is an `fsync`; it begins when the requests
//! queued before it are done. Trims are executed at once when nothing is in flight. Requests and
//! completions pass under two mutexes: a few hundred nanoseconds that every emulation pays.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::file_ops::{outcome_of, run_at_once};
use crate::{Capabilities, Completion, Engine, EngineError, Kind, Outcome, Queued, Request};

/// More threads than this gain nothing.
const THREADS_MAX: u32 = 128;

/// Bytes of stack of a thread: it makes one call.
const STACK_BYTES: usize = 128 << 10;

/// A request on its way to a thread.
struct Work {
    slot: u32,
    request: Request,
}

// SAFETY: the buffer that the request points to stays valid and is used by nobody else until its
// completion was reaped or the engine, which joins its threads, was dropped: the trait's contract.
unsafe impl Send for Work {}

#[derive(Default)]
struct Todo {
    waiting: VecDeque<Work>,
    /// Requests that threads work on.
    running: u32,
    /// A flush waits for `running` to become 0; nothing else is taken.
    barrier: bool,
    closing: bool,
}

#[derive(Default)]
struct Done {
    completions: Vec<Completion>,
    /// Completions that the reaper sleeps for; 0 when it does not.
    wanted: usize,
}

#[derive(Default)]
struct Shared {
    todo: Mutex<Todo>,
    /// Work came, or a barrier fell.
    work: Condvar,
    /// No request is running.
    idle: Condvar,
    done: Mutex<Done>,
    ready: Condvar,
}

/// A panic elsewhere leaves these lists whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition
        .wait(guard)
        .unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The next request; `None` when the engine closes.
    fn take(&self) -> Option<Work> {
        let mut todo = lock(&self.todo);
        loop {
            if todo.closing {
                return None;
            }
            if !todo.barrier
                && let Some(work) = todo.waiting.pop_front()
            {
                if is_flush(&work.request) {
                    // What was queued before is done first.
                    todo.barrier = true;
                    while todo.running > 0 && !todo.closing {
                        todo = wait(&self.idle, todo);
                    }
                    todo.barrier = false;
                    self.work.notify_all();
                }
                todo.running += 1;
                return Some(work);
            }
            todo = wait(&self.work, todo);
        }
    }

    fn finish(&self, slot: u32, outcome: Outcome) {
        let mut todo = lock(&self.todo);
        todo.running -= 1;
        if todo.running == 0 && todo.barrier {
            self.idle.notify_one();
        }
        drop(todo);
        let mut done = lock(&self.done);
        done.completions.push(Completion { slot, outcome });
        if done.wanted != 0 && done.completions.len() >= done.wanted {
            done.wanted = 0;
            self.ready.notify_one();
        }
    }

    fn serve(&self) {
        block_signals();
        while let Some(Work { slot, request }) = self.take() {
            let len = request.len as usize;
            let offset = request.offset as i64;
            let outcome = match request.kind {
                Kind::Read => {
                    // SAFETY: the slot's buffer holds `len` bytes and is ours until it completes.
                    let result =
                        unsafe { libc::pread64(request.fd, request.buffer.cast(), len, offset) };
                    outcome_of(result, request.len)
                }
                Kind::Write => {
                    // SAFETY: as above.
                    let result =
                        unsafe { libc::pwrite64(request.fd, request.buffer.cast(), len, offset) };
                    outcome_of(result, request.len)
                }
                _ => run_at_once(&Request {
                    kind: Kind::Fsync,
                    ..request
                }),
            };
            self.finish(slot, outcome);
        }
    }
}

fn is_flush(request: &Request) -> bool {
    !matches!(request.kind, Kind::Read | Kind::Write)
}

/// Signals are for the worker's own thread; here they would only interrupt I/O.
fn block_signals() {
    // SAFETY: the set is filled before it is used, and nothing is read back.
    unsafe {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// See the module's head.
pub struct PosixAio {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Requests accepted and not reaped.
    in_flight: u32,
}

impl std::fmt::Debug for PosixAio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PosixAio")
            .field("threads", &self.threads.len())
            .finish_non_exhaustive()
    }
}

impl PosixAio {
    /// Makes the threads for `depth` requests.
    ///
    /// # Errors
    /// Not even one thread can be made.
    pub fn new(depth: u32) -> Result<Self, EngineError> {
        let slots = depth as usize;
        let shared = Arc::new(Shared::default());
        lock(&shared.todo).waiting.reserve(slots);
        lock(&shared.done).completions.reserve(slots);
        let mut threads = Vec::with_capacity(depth.min(THREADS_MAX) as usize);
        for _ in 0..depth.min(THREADS_MAX) {
            let own = Arc::clone(&shared);
            let builder = Builder::new()
                .name("posixaio".into())
                .stack_size(STACK_BYTES);
            match builder.spawn(move || own.serve()) {
                Ok(thread) => threads.push(thread),
                // Fewer do the work more slowly; the C library's do not promise more either.
                Err(_) if !threads.is_empty() => break,
                Err(error) => {
                    let code = error.raw_os_error().unwrap_or(libc::EAGAIN);
                    return Err(EngineError::new(code, "aio_init").advise(
                        "no thread can be made: the limit of processes (ulimit -u, a container's \
                         pids limit) or of memory is reached",
                    ));
                }
            }
        }
        Ok(PosixAio {
            shared,
            threads,
            in_flight: 0,
        })
    }
}

impl Engine for PosixAio {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            synchronous: false,
            commits: false,
            issues_at_commit: false,
        }
    }

    fn queue(&mut self, slot: u32, request: &Request) -> Queued {
        if request.kind == Kind::Trim {
            if self.in_flight > 0 {
                return Queued::Busy;
            }
            return Queued::Completed(run_at_once(request));
        }
        let mut todo = lock(&self.shared.todo);
        todo.waiting.push_back(Work {
            slot,
            request: *request,
        });
        drop(todo);
        self.shared.work.notify_one();
        self.in_flight += 1;
        Queued::Queued
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        completions: &mut Vec<Completion>,
        _submitted: &mut impl FnMut(&[u32]),
    ) -> Result<(), EngineError> {
        let mut done = lock(&self.shared.done);
        while done.completions.len() < min as usize {
            done.wanted = min as usize;
            done = wait(&self.shared.ready, done);
        }
        done.wanted = 0;
        let count = done.completions.len().min(max as usize);
        completions.extend(done.completions.drain(..count));
        self.in_flight -= count as u32;
        Ok(())
    }
}

impl Drop for PosixAio {
    fn drop(&mut self) {
        let mut todo = lock(&self.shared.todo);
        todo.closing = true;
        todo.waiting.clear();
        drop(todo);
        self.shared.work.notify_all();
        self.shared.idle.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd, RawFd};
    use std::os::unix::fs::FileExt;

    use super::*;

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

    fn reap(engine: &mut PosixAio, min: u32, max: u32) -> Vec<Completion> {
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
        let mut engine = PosixAio::new(16).expect("engine");
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
        let mut engine = PosixAio::new(2).expect("engine");
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
        let mut engine = PosixAio::new(4).expect("engine");
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
        let mut engine = PosixAio::new(depth).expect("engine");
        assert_eq!(engine.threads.len(), THREADS_MAX as usize);
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
