//! A worker's page: the memory that worker and supervisor share.
//!
//! It holds all statistics of the worker, what it is doing, and the supervisor's requests to
//! it. The worker is the only writer of everything but [`WorkerPage::stop`], the supervisor the
//! only writer of that; all accesses are relaxed, since no field guards another. The pages of
//! all workers lie in one anonymous shared mapping that is made before the first fork.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ferrio_stats::live::{Counter, WorkerStats};

/// What a worker is doing. The order is that of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum State {
    /// Not started.
    NotCreated = 0,
    /// Being created.
    Created = 1,
    /// Setting up engine, buffers, files.
    SettingUp = 2,
    /// Waiting for the start signal.
    Initialized = 3,
    /// The command before the job runs.
    PreRun = 4,
    /// Reading files into the cache.
    PreReading = 5,
    /// In the ramp.
    Ramp = 6,
    /// Doing I/O.
    Running = 7,
    /// Flushing files at the end of a pass.
    Fsyncing = 8,
    /// Final accounting.
    Finishing = 9,
    /// The command after the job runs.
    PostRun = 10,
    /// All released.
    Exited = 11,
}

impl State {
    fn of(number: u32) -> State {
        const ALL: [State; 12] = [
            State::NotCreated,
            State::Created,
            State::SettingUp,
            State::Initialized,
            State::PreRun,
            State::PreReading,
            State::Ramp,
            State::Running,
            State::Fsyncing,
            State::Finishing,
            State::PostRun,
            State::Exited,
        ];
        ALL[(number as usize).min(ALL.len() - 1)]
    }
}

/// See the module's head. All-zero memory is a worker that was not created.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerPage {
    /// Not 0: the worker shall end.
    stop: AtomicU32,
    state: AtomicU32,
    /// Files open now.
    pub open_files: Counter,
    /// Start of the measurement (after set-up, or at the ramp's end), program clock.
    pub epoch_ns: Counter,
    /// The same instant as wall clock in milliseconds; 0 before.
    pub job_start_ms: Counter,
    /// End of the measurement; 0 while it runs.
    pub end_ns: Counter,
    /// Flushes (fsync and its kind) that were issued and have not completed.
    pub syncs_in_flight: Counter,
    /// Start of the I/O phase that runs now; 0 between phases.
    pub phase_start_ns: Counter,
    /// Grows while the worker pauses on purpose (rates, think time) or removes files: a sign of
    /// life.
    pub pause_beats: Counter,
    /// User and system CPU milliseconds, context switches, major and minor faults since the
    /// epoch.
    pub cpu: [Counter; 5],
    /// Statistics.
    pub stats: WorkerStats,
}

impl WorkerPage {
    /// Asks the worker to end.
    pub fn request_stop(&self) {
        self.stop.store(1, Relaxed);
    }

    /// The worker shall end.
    #[inline(always)]
    pub fn stop_requested(&self) -> bool {
        self.stop.load(Relaxed) != 0
    }

    /// Says what the worker does now.
    pub fn set_state(&self, state: State) {
        tracing::debug!(target: "process", "{:?} -> {state:?}", self.state());
        self.state.store(state as u32, Relaxed);
    }

    /// What the worker does now.
    pub fn state(&self) -> State {
        State::of(self.state.load(Relaxed))
    }

    /// A number that changes whenever the worker gets anywhere.
    pub fn progress(&self) -> u64 {
        let directions = &self.stats.directions;
        let ios = directions
            .iter()
            .map(|d| d.ios.get().wrapping_add(d.completed.get()));
        ios.fold(self.stats.sync_ios.get(), u64::wrapping_add)
            .wrapping_add(u64::from(self.state.load(Relaxed)) << 48)
            .wrapping_add(self.epoch_ns.get())
            .wrapping_add(self.pause_beats.get() << 20)
    }
}

/// The pages of all workers.
#[derive(Debug)]
struct Pages {
    base: NonNull<WorkerPage>,
    count: usize,
}

// SAFETY: the pages hold atomics only, so any thread may use them.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `allocate` with this length; no `PageRef` is left.
        unsafe {
            libc::munmap(
                self.base.as_ptr().cast(),
                self.count * size_of::<WorkerPage>(),
            )
        };
    }
}

/// One worker's page; keeps the mapping alive.
#[derive(Clone, Debug)]
pub struct PageRef {
    pages: Arc<Pages>,
    index: usize,
}

impl std::ops::Deref for PageRef {
    type Target = WorkerPage;

    #[inline(always)]
    fn deref(&self) -> &WorkerPage {
        // SAFETY: `index` is below `count`; the mapping is zeroed (a valid page) and lives as
        // long as `pages`.
        unsafe { self.pages.base.add(self.index).as_ref() }
    }
}

/// Makes the pages of `count` workers, shared with processes forked later.
///
/// # Errors
/// When the memory cannot be had.
pub fn allocate(count: usize) -> io::Result<Vec<PageRef>> {
    let len = count.max(1) * size_of::<WorkerPage>();
    // SAFETY: a new anonymous mapping; the result is checked.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
    let pages = Arc::new(Pages {
        base,
        count: count.max(1),
    });
    Ok((0..count)
        .map(|index| PageRef {
            pages: Arc::clone(&pages),
            index,
        })
        .collect())
}

const _: () = assert!(align_of::<WorkerPage>() == 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_pages_are_workers_not_created() {
        let pages = allocate(3).unwrap();
        assert_eq!(pages[2].state(), State::NotCreated);
        pages[1].request_stop();
        assert!(pages[1].stop_requested() && !pages[0].stop_requested());
        let before = pages[0].progress();
        pages[0].stats.directions[1].completed.add(1);
        assert_ne!(pages[0].progress(), before);
    }
}
