//! Requests handed to a pool of threads: what the `posixaio` engine and `io_submit_mode=offload`
//! have in common.
//!
//! Threads are made at the start, as many as requests may be in flight, up to a bound; none is
//! made later. Requests and completions pass under two mutexes: a few hundred nanoseconds that
//! every hand-over pays.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use std::sync::mpsc;

use crate::file_ops::run_at_once;
use crate::{Capabilities, Completion, Engine, EngineError, Kind, Outcome, Queued, Request};

/// Executes one request, in a thread of the pool.
pub(crate) type Perform = Box<dyn FnMut(&Request) -> Outcome>;

/// What a pool does with requests beside executing them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolRules {
    /// Name of the threads, and of the engine in messages.
    pub(crate) name: &'static str,
    /// No more threads than this.
    pub(crate) threads_max: u32,
    /// A flush begins when all requests queued before it are done.
    pub(crate) ordered_flushes: bool,
    /// Trims are executed by the caller, when nothing is in flight.
    pub(crate) trims_at_once: bool,
}

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

struct Shared {
    ordered_flushes: bool,
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
                if self.ordered_flushes && is_flush(&work.request) {
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

    fn serve(&self, mut perform: Perform) {
        while let Some(Work { slot, request }) = self.take() {
            let outcome = perform(&request);
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
pub struct Pool {
    rules: PoolRules,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Requests accepted and not reaped.
    in_flight: u32,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("threads", &self.threads.len())
            .finish_non_exhaustive()
    }
}

/// Makes what a thread executes requests with, in that thread.
type Make = Arc<dyn Fn() -> Result<Perform, EngineError> + Send + Sync>;

impl Pool {
    /// Makes the threads for `depth` requests.
    ///
    /// # Errors
    /// Not even one thread can be made, or what `make` says.
    pub(crate) fn new(rules: PoolRules, depth: u32, make: Make) -> Result<Self, EngineError> {
        let slots = depth as usize;
        let shared = Arc::new(Shared {
            ordered_flushes: rules.ordered_flushes,
            todo: Mutex::default(),
            work: Condvar::new(),
            idle: Condvar::new(),
            done: Mutex::default(),
            ready: Condvar::new(),
        });
        lock(&shared.todo).waiting.reserve(slots);
        lock(&shared.done).completions.reserve(slots);
        let count = depth.min(rules.threads_max);
        let mut pool = Pool {
            rules,
            shared,
            threads: Vec::with_capacity(count as usize),
            in_flight: 0,
        };
        let (told, started) = mpsc::channel();
        for _ in 0..count {
            match pool.spawn(&make, told.clone()) {
                Ok(thread) => pool.threads.push(thread),
                // Fewer do the work more slowly; the C library's do not promise more either.
                Err(_) if !pool.threads.is_empty() => break,
                Err(error) => {
                    let code = error.raw_os_error().unwrap_or(libc::EAGAIN);
                    return Err(EngineError::new(code, "pthread_create").advise(
                        "no thread can be made: the limit of processes (ulimit -u, a container's \
                         pids limit) or of memory is reached",
                    ));
                }
            }
        }
        for _ in 0..pool.threads.len() {
            // A thread that is gone without a word said so by its end: nothing is lost.
            if let Ok(Err(error)) = started.recv() {
                return Err(error);
            }
        }
        Ok(pool)
    }

    fn spawn(
        &self,
        make: &Make,
        told: mpsc::Sender<Result<(), EngineError>>,
    ) -> std::io::Result<JoinHandle<()>> {
        let (own, make) = (Arc::clone(&self.shared), Arc::clone(make));
        let builder = Builder::new()
            .name(self.rules.name.into())
            .stack_size(STACK_BYTES);
        builder.spawn(move || {
            block_signals();
            match make() {
                Ok(perform) => {
                    let _ = told.send(Ok(()));
                    own.serve(perform);
                }
                Err(error) => {
                    let _ = told.send(Err(error));
                }
            }
        })
    }

    #[cfg(test)]
    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }
}

impl Engine for Pool {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            synchronous: false,
            commits: false,
            issues_at_commit: false,
        }
    }

    fn queue(&mut self, slot: u32, request: &Request) -> Queued {
        if self.rules.trims_at_once && request.kind == Kind::Trim {
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

impl Drop for Pool {
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
