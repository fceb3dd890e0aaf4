//! One worker: a job clone doing its I/O, in a process or thread of its own.

mod account;
mod hooks;
mod io_loop;
pub(crate) mod locks;
mod pacing;
mod place;
mod start;
mod table;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use ferrio_engines::Engine;
use ferrio_options::{DebugSpec, FileLock, JobSpec};
use ferrio_workload::content::BufferStart;
use ferrio_workload::seeds::Seeds;
use ferrio_workload::{Op, OpKind, OpStream};
use tracing::subscriber::NoSubscriber;

use crate::clock::{Clock, wall_clock_ms};
use crate::failure;
use crate::files::{self, PrepareEvents, Prepared, Rules, code_of};
use crate::iolog::Destination;
use crate::link::{self, Failure, FromWorker, ToWorker};
use crate::memory::{BufferMemory, LockedMemory};
use crate::page::{PageRef, State};
use crate::sys;
use account::Timers;
use hooks::When;
use io_loop::{IoLoop, IoSlot, Limits, Measure};
use locks::FileLocks;
use pacing::Pacer;
use table::FileTable;

/// Everything a worker is started with.
#[derive(Debug)]
pub(crate) struct Assignment<'a> {
    pub(crate) job: &'a JobSpec,
    pub(crate) seeds: &'a Seeds,
    /// Where the contents of all jobs start, if a job wants to know.
    pub(crate) peers: &'a [BufferStart],
    /// Files that the supervisor prepared; `None` when the worker is to do it.
    pub(crate) prepared: Option<Prepared>,
    pub(crate) page: PageRef,
    pub(crate) link: UnixStream,
    pub(crate) clock: Clock,
    pub(crate) rules: Rules,
    pub(crate) locks: Option<Arc<OwnedFd>>,
    /// Pages whose bytes count for `ramp_size`; empty without it.
    pub(crate) ramp_group: Vec<PageRef>,
    pub(crate) debug: &'a DebugSpec,
    /// Where `write_iolog` goes.
    pub(crate) iolog: Option<Destination>,
}

/// What all workers of a run have in common.
#[derive(Clone, Debug)]
pub(crate) struct Common<'a> {
    pub(crate) clock: Clock,
    pub(crate) rules: Rules,
    /// Where the contents of all jobs start, if a job wants to know.
    pub(crate) peers: &'a [BufferStart],
    /// Where the locks of `lockfile` are.
    pub(crate) locks: Option<Arc<OwnedFd>>,
    pub(crate) debug: &'a DebugSpec,
}

/// Sends messages to the supervisor. A supervisor that is gone ends the worker by other means,
/// so failures to send are no concern here.
#[derive(Debug)]
pub(crate) struct Reporter {
    link: UnixStream,
}

impl Reporter {
    fn send(&mut self, message: &FromWorker) {
        let _ = link::send(&mut self.link, message);
    }

    fn io_error(&mut self, text: String) {
        self.send(&FromWorker::IoError(text));
    }

    fn ignored(&mut self, text: String) {
        self.send(&FromWorker::Ignored(text));
    }

    fn warning(&mut self, text: String) {
        self.send(&FromWorker::Warning(text));
    }
}

impl PrepareEvents for (&mut Reporter, &PageRef) {
    fn laying_out(&mut self, job: &str, files: u32, bytes: u64) {
        self.0.send(&FromWorker::LayingOut {
            job: job.into(),
            files,
            bytes,
        });
    }

    fn warning(&mut self, _job: &str, text: String) {
        self.0.warning(text);
    }

    fn stopped(&mut self) -> bool {
        self.1.stop_requested()
    }
}

/// The present time by the clock that the job wants its start told in, in milliseconds.
fn start_ms(job: &JobSpec) -> u64 {
    match job.reporting.job_start_clock {
        0 => wall_clock_ms(),
        number => sys::clock_ms(number).unwrap_or(0),
    }
}

/// Runs a worker from set-up to release. Returns the job's error number, 0 if it had none.
pub(crate) fn run(assignment: Assignment<'_>) -> i32 {
    let Ok(reporter_link) = assignment.link.try_clone() else {
        return libc::EMFILE;
    };
    let mut reporter = Reporter {
        link: reporter_link,
    };
    let page = assignment.page.clone();
    let watched = assignment.debug.job;
    let muted = watched.is_some_and(|job| job != assignment.job.job_number);
    let _mute = muted.then(|| tracing::subscriber::set_default(NoSubscriber::new()));
    tracing::debug!(target: "process", "job {} starts", assignment.job.name);
    page.set_state(State::SettingUp);
    let failure = set_up_and_run(assignment, &mut reporter).err();
    let code = failure.as_ref().map_or(0, |failure| failure.code);
    if let Some(failure) = failure {
        reporter.send(&FromWorker::Failed(failure));
    }
    page.set_state(State::Exited);
    reporter.send(&FromWorker::Done);
    code
}

fn set_up_and_run(assignment: Assignment<'_>, reporter: &mut Reporter) -> Result<(), Failure> {
    let Assignment {
        job,
        seeds,
        peers,
        prepared,
        page,
        link,
        clock,
        rules,
        locks,
        ramp_group,
        debug,
        iolog,
    } = assignment;
    let locks = match locks.filter(|_| job.target.lock != FileLock::None) {
        Some(shared) => Some(
            FileLocks::open(job, &shared).map_err(|error| failure!(code_of(&error), "lockfile"))?,
        ),
        None => None,
    };
    place::place(job)?;
    let locked = place::lock_memory(job, reporter)?;
    let prepared = match prepared {
        Some(prepared) => prepared,
        None => files::prepare(job, seeds, peers, rules, &mut (reporter, &page))?,
    };
    let set = SetUp {
        job,
        seeds,
        prepared: &prepared,
        page: &page,
        clock,
        readonly: rules.readonly,
        link,
        locks,
        locked,
        ramp_group,
        debug,
        iolog,
    };
    if job.target.files.is_empty() && !job.engine.ignores_files() {
        return set.without_files();
    }
    let memory = set.buffers()?;
    set.start(memory)
}

/// What set-up works with.
struct SetUp<'a> {
    job: &'a JobSpec,
    seeds: &'a Seeds,
    prepared: &'a Prepared,
    page: &'a PageRef,
    clock: Clock,
    readonly: bool,
    link: UnixStream,
    /// Taken by the loop.
    locks: Option<FileLocks>,
    locked: Option<LockedMemory>,
    ramp_group: Vec<PageRef>,
    debug: &'a DebugSpec,
    iolog: Option<Destination>,
}

impl SetUp<'_> {
    /// Waits for the start signal; `false` when the job shall not start after all.
    fn wait_for_release(&self, reporter: &mut Reporter) -> bool {
        reporter.send(&FromWorker::Ready {
            pid: rustix::thread::gettid().as_raw_pid() as u32,
        });
        self.page.set_state(State::Initialized);
        link::receive::<ToWorker>(&mut &self.link).is_ok() && !self.page.stop_requested()
    }

    /// A clone whose names all belong to other clones: it does nothing, and that well.
    fn without_files(&self) -> Result<(), Failure> {
        let link = self
            .link
            .try_clone()
            .map_err(|error| failure!(code_of(&error), "dup"))?;
        if self.wait_for_release(&mut Reporter { link }) {
            let now_ns = self.clock.now_ns();
            self.page.epoch_ns.set(now_ns);
            self.page.job_start_ms.set(start_ms(self.job));
            self.page.end_ns.set(now_ns);
        }
        Ok(())
    }

    fn moves_data(&self) -> bool {
        let job = self.job;
        job.engine.moves_data() && (job.pattern.reads || job.pattern.writes)
    }

    /// Memory for the data: none for jobs that move no data.
    fn buffers(&self) -> Result<BufferMemory, Failure> {
        let job = self.job;
        let moves_data = self.moves_data();
        let stride = if moves_data {
            job.pattern.max_buffer_len() as usize
        } else {
            0
        };
        let offset = job.data.memory_align as usize;
        tracing::debug!(
            target: "mem",
            "{} buffers of {stride} bytes, {offset} behind a page's start", job.queue.depth
        );
        BufferMemory::allocate(&job.data.memory, job.queue.depth, stride, offset)
    }

    fn run<E: Engine>(mut self, engine: E, memory: BufferMemory) -> Result<(), Failure> {
        let locks = self.locks.take();
        let locked = self.locked.take();
        let mut io = self.io_loop(engine, memory)?;
        io.watched |= locks.is_some();
        io.locks = locks;
        if !self.wait_for_release(&mut io.reporter) {
            return Ok(());
        }
        if let Some(command) = &self.job.hooks.before {
            let (name, page) = (&self.job.name, self.page);
            hooks::run(command, When::Before, name, page, &mut io.reporter)?;
        }
        io.work();
        drop(locked);
        io.conclude();
        io.failure.take().map_or(Ok(()), Err)
    }

    fn io_loop<E: Engine>(
        &self,
        mut engine: E,
        mut memory: BufferMemory,
    ) -> Result<IoLoop<'_, E>, Failure> {
        let job = self.job;
        let capabilities = engine.capabilities();
        let stream = OpStream::with_seeds(
            job,
            &self.prepared.plan,
            capabilities.synchronous,
            *self.seeds,
        )
        .map_err(|error| failure!(libc::EINVAL, "init_random_map", "{error}"))?;
        let mut content = self.prepared.content.clone();
        if self.moves_data() && job.pattern.writes {
            let stride = memory.buffers().stride;
            for slot in 0..job.queue.depth {
                content.fill_start(memory.slice(slot, stride));
            }
        }
        let mut table = FileTable::new(
            job,
            &self.prepared.plan,
            &self.prepared.targets,
            self.page,
            self.clock,
            self.readonly,
        );
        if job.engine.registers_files() {
            table.pin_all()?;
            engine
                .register_files(&table.fds)
                .map_err(|error| failure!(error.code, error.label))?;
        }
        if let Some(to) = &self.iolog {
            table.start_log(to)?;
        }
        let link = self
            .link
            .try_clone()
            .map_err(|error| failure!(code_of(&error), "dup"))?;
        let depth = job.queue.depth;
        let measure = Measure::new(job, capabilities);
        let empty = IoSlot {
            op: Op {
                kind: OpKind::Read,
                file: 0,
                offset: 0,
                len: 0,
            },
            done: 0,
            unmarked: false,
            in_flight: false,
            start_ns: 0,
            issue_ns: 0,
        };
        let fills_writes = self.moves_data() && content.touches_writes();
        let pacer = Pacer::new(job, self.seeds, self.ramp_group.clone());
        if pacer.is_some() {
            // Sleeps are to end when they should; the default slack is 50 us. A refusal leaves that.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        let serializes = job.queue.serialize_overlap && !capabilities.synchronous;
        let traced = self.debug.has("io");
        Ok(IoLoop {
            job,
            policy: &job.errors,
            page: self.page,
            stats: &self.page.stats,
            clock: self.clock,
            engine,
            memory,
            files: table,
            stream,
            content,
            slots: vec![empty; depth as usize].into(),
            free: (0..depth).collect(),
            requeued: VecDeque::with_capacity(depth as usize),
            completions: Vec::with_capacity(depth as usize),
            measure,
            limits: Limits {
                low: job.queue.low,
                batch: job.queue.batch,
                complete_min: job.queue.complete_min,
                complete_max: job.queue.complete_max,
            },
            synchronous: capabilities.synchronous,
            counts_calls: !capabilities.commits,
            fills_writes,
            uncommitted: 0,
            outstanding: 0,
            now_ns: 0,
            timer_ns: 0,
            timers: Timers::new(&job.pacing),
            watched: serializes || traced || pacer.is_some() || self.iolog.is_some(),
            offered: empty.op,
            notes_completions: traced || measure.limits,
            serializes,
            traced,
            pacer,
            ending: false,
            failure: None,
            reporter: Reporter { link },
            locks: None,
        })
    }
}

impl<E: Engine> IoLoop<'_, E> {
    /// Pre-reads, then runs passes until the job is done.
    fn work(&mut self) {
        if self.job.target.pre_read && !self.job.engine.diskless() {
            self.page.set_state(State::PreReading);
            self.pre_read();
        }
        self.begin();
        if self.job.target.create_only {
            return;
        }
        let mut first = true;
        while !self.ending
            && self
                .stream
                .begin_pass(self.completed_bytes(), &mut self.files)
        {
            if !std::mem::take(&mut first) {
                self.content.reseed();
                self.reseed_pacer();
                if self.job.target.unlink_each_loop {
                    self.unlink_files();
                }
            }
            self.files.begin_pass();
            let before = self.completed_bytes().iter().sum::<u64>();
            self.page.phase_start_ns.set(self.now_ns);
            self.pass();
            self.account_phase();
            // A ramp that ended inside the pass set the counters back: that is progress too.
            let moved = self
                .completed_bytes()
                .iter()
                .sum::<u64>()
                .wrapping_sub(before);
            self.close_pass(moved);
        }
    }

    /// End of a pass: collect what went wrong, flush files.
    fn close_pass(&mut self, bytes_moved: u64) {
        let end = self.stream.end_pass(bytes_moved, &mut self.files);
        for notice in self.stream.take_notices() {
            self.reporter.warning(notice.to_string());
        }
        for warning in std::mem::take(&mut self.files.warnings) {
            self.reporter.warning(warning);
        }
        if let Some(failure) = self.files.failure.take() {
            self.fail(failure);
        }
        if let Some(error) = end.error {
            self.fail(failure!(libc::EINVAL, "fill_io_u", "{error}"));
        }
        if self.failure.is_none() && !end.sync_files.is_empty() {
            let state = self.page.state();
            self.page.set_state(State::Fsyncing);
            let (mut sync_files, offset) = (end.sync_files, end.sync_offset);
            let flushed = if self.job.pattern.end_syncfs {
                self.files.flush_file_systems(offset)
            } else {
                sync_files.try_for_each(|file| self.files.flush(file, offset))
            };
            if let Err(failure) = flushed {
                self.fail(failure);
            }
            self.page.set_state(state);
        }
    }

    fn completed_bytes(&self) -> [u64; 3] {
        std::array::from_fn(|direction| self.stats.directions[direction].bytes.get())
    }

    /// Adds the phase that just ended to the run time of each direction that has bytes.
    fn account_phase(&mut self) {
        self.now_ns = self.clock.now_ns();
        let start = self.page.phase_start_ns.get();
        let elapsed_us = self.now_ns.saturating_sub(start) / 1000;
        self.page.phase_start_ns.set(0);
        for direction in &self.stats.directions {
            if direction.bytes.get() > 0 {
                direction.runtime_us.add(elapsed_us);
            }
        }
    }

    /// Reads the job's regions into the cache.
    fn pre_read(&mut self) {
        let page = self.page;
        if let Err(failure) = self.files.pre_read(|| page.stop_requested()) {
            self.fail(failure);
        }
    }

    fn unlink_files(&mut self) {
        if let Err(failure) = self.files.unlink() {
            self.fail(failure);
        }
    }

    /// Final accounting, and release of the files.
    fn conclude(&mut self) {
        self.page.end_ns.set(self.clock.now_ns());
        self.refresh_cpu();
        self.page.set_state(State::Finishing);
        if self.in_ramp() && !self.page.stop_requested() && self.failure.is_none() {
            self.reporter.warning(
                "the job ended inside its ramp: nothing was measured after it; raise size= or \
                 lower ramp_time="
                    .into(),
            );
        }
        if let Some(command) = &self.job.hooks.after {
            let (name, page) = (&self.job.name, self.page);
            let result = hooks::run(command, When::After, name, page, &mut self.reporter);
            if let Err(failure) = result {
                // The job has its result all the same.
                self.reporter.warning(failure.sentence());
            }
        }
        if self.job.target.unlink {
            self.unlink_files();
        }
        self.stream.close_all(&mut self.files);
        self.files.close_all();
        self.files.finish_log();
        if let Some(failure) = self.files.failure.take() {
            self.fail(failure);
        }
    }
}
