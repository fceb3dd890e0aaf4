//! The supervisor: starts workers, keeps groups and barriers, samples, stops, reaps, and builds
//! the result.

mod job;
mod logs;
mod probe;
mod progress;
mod result;
mod sampler;
mod schedulers;
mod signals;
mod spawn;
mod status_file;
mod watch;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferrio_device::{DiskCounters, Disks, System};
use ferrio_options::{ExitWhat, JobSpec, RunSpec};
use ferrio_stats::{Message, Progress, RunResult, Severity};
use ferrio_workload::content::BufferStart;
use ferrio_workload::seeds::{self, Seeds};
use rustix::event::{PollFd, PollFlags, poll};

use crate::clock;
use crate::failure;
use crate::files::{self, PrepareEvents, Rules};
use crate::iolog;
use crate::link::{Failure, FromWorker, ToWorker};
use crate::page::{self, PageRef, State};
use crate::worker::{Common, locks};
use job::{Job, Phase};
use schedulers::Schedulers;
use signals::Signals;
use status_file::{Found, StatusFile};

/// The loop looks at everything at least this often.
const TICK_NS: u64 = 250_000_000;
/// How soon a process whose link has closed is asked again whether it has ended.
const REAP_RETRY_NS: u64 = 1_000_000;

/// How long the end of the run waits for processes that were ended by force: one that is stuck
/// in the kernel dies when it comes back.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// What the caller wants to be told about, and how often.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cadence {
    /// Progress lines, milliseconds.
    pub progress_ms: Option<u64>,
    /// Status reports, milliseconds.
    pub status_ms: Option<u64>,
}

/// Told what happens while it happens.
pub trait Observer {
    /// An error, a warning or a note.
    fn message(&mut self, message: &Message);
    /// Files are set up; the workers will start.
    fn starting(&mut self, threads: u32, processes: u32);
    /// Files are about to be laid out.
    fn laying_out(&mut self, job: &str, files: u32, bytes: u64);
    /// What a worker does; a line of the normal report's stream.
    fn notice(&mut self, text: &str);
    /// A job ended with an error: process id, code, text of the error line.
    fn job_failed(&mut self, pid: u32, failure: &Failure);
    /// What a job without headline does; a line of its own, once it is set up.
    fn announce(&mut self, line: &str);
    /// A signal ends the run.
    fn terminating(&mut self, signal: i32);
    /// Time for a progress line.
    fn progress(&mut self, progress: &Progress);
    /// A report on demand.
    fn status(&mut self, result: RunResult);
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// What was measured.
    pub result: RunResult,
    /// Exit status: the number of failed jobs, 128 after a signal.
    pub status: u8,
}

/// Runs all jobs and returns what was measured, whatever happens.
pub fn run(
    spec: &RunSpec,
    starting: clock::Starting,
    cadence: Cadence,
    observer: &mut dyn Observer,
) -> Outcome {
    raise_file_limit();
    let pages = match page::allocate(spec.jobs.len()) {
        Ok(pages) => pages,
        Err(error) => {
            let text = format!(
                "no memory for the statistics of {} jobs: {error}",
                spec.jobs.len()
            );
            return refused(spec, text, observer);
        }
    };
    let signals = match Signals::register() {
        Ok(signals) => signals,
        Err(error) => {
            return refused(
                spec,
                format!("signals cannot be watched: {error} (is ulimit -n very low?)"),
                observer,
            );
        }
    };
    let all_seeds: Vec<Seeds> = spec.jobs.iter().map(seeds_of).collect();
    let peers = buffer_starts(spec, &all_seeds);
    let jobs = all_jobs(spec, &all_seeds, &pages);
    let clock = starting.settle(spec.clocksource);
    tracing::debug!(target: "time", "{clock:?} after asking for {:?}", spec.clocksource);
    let locks = match locks::make(spec.jobs.iter()) {
        Ok(locks) => locks.map(Arc::new),
        Err(error) => return refused(spec, format!("no locks for lockfile=: {error}"), observer),
    };
    let rules = Rules {
        readonly: spec.readonly,
        strict: spec.warnings_fatal,
    };
    let mut supervisor = Supervisor {
        spec,
        common: Common {
            clock,
            rules,
            peers: &peers,
            locks,
            debug: &spec.debug,
        },
        observer,
        cadence,
        signals,
        jobs,
        host: None,
        disks: Disks::new(System::default()),
        disk_base: Vec::new(),
        messages: Vec::new(),
        run_start_ns: clock.now_ns(),
        failures: 0,
        signalled: false,
        abandoned: false,
        next_tick_ns: 0,
        next_progress_ns: 0,
        next_status_ns: 0,
        pace: progress::Pace::default(),
        schedulers: Schedulers::new(),
        status_file: StatusFile::new(),
    };
    supervisor.run()
}

/// The jobs as the supervisor keeps them.
fn all_jobs<'a>(spec: &'a RunSpec, seeds: &'a [Seeds], pages: &[PageRef]) -> Vec<Job<'a>> {
    let logs = iolog::destinations(spec.jobs.iter(), std::process::id());
    let job = |(index, own): (usize, &'a JobSpec)| {
        let mut job = Job::new(own, &seeds[index], pages[index].clone());
        job.iolog = logs[index].clone();
        if own.pacing.ramp_bytes > 0 {
            // Jobs that report together leave their ramp together.
            let together = |(at, other): &(usize, &JobSpec)| {
                *at == index
                    || own.group_reporting && other.group_reporting && other.group == own.group
            };
            let members = spec.jobs.iter().enumerate().filter(together);
            job.ramp_group = members.map(|(at, _)| pages[at].clone()).collect();
        }
        job
    };
    spec.jobs.iter().enumerate().map(job).collect()
}

/// Where the contents of all jobs start; empty when no job makes duplicates of other jobs' data.
fn buffer_starts(spec: &RunSpec, seeds: &[Seeds]) -> Vec<BufferStart> {
    if !spec.jobs.iter().any(|job| job.data.dedupe.global) {
        return Vec::new();
    }
    let jobs = spec.jobs.iter().zip(seeds);
    jobs.map(|(job, seeds)| BufferStart::new(job, seeds))
        .collect()
}

/// Seeds of a job; from the system when it asked for no repeatability.
fn seeds_of(job: &ferrio_options::JobSpec) -> Seeds {
    seeds::of_job(job).unwrap_or_else(|| {
        let mut seeds: Seeds = [0; seeds::COUNT];
        for seed in &mut seeds {
            let mut bytes = [0; 8];
            let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
            *seed = u64::from_ne_bytes(bytes);
        }
        seeds
    })
}

/// Many jobs need many descriptors: use what the user may have.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}

fn refused(spec: &RunSpec, text: String, observer: &mut dyn Observer) -> Outcome {
    let message = Message {
        severity: Severity::Error,
        job: None,
        text,
    };
    observer.message(&message);
    Outcome {
        result: result::empty(spec, vec![message]),
        status: 1,
    }
}

struct Supervisor<'a> {
    spec: &'a RunSpec,
    common: Common<'a>,
    observer: &'a mut dyn Observer,
    cadence: Cadence,
    signals: Signals,
    jobs: Vec<Job<'a>>,
    host: Option<spawn::ThreadHost>,
    disks: Disks,
    disk_base: Vec<DiskCounters>,
    messages: Vec<Message>,
    run_start_ns: u64,
    /// Failed jobs so far; 128 and up after a signal.
    failures: u32,
    /// A signal asked for the end.
    signalled: bool,
    /// A second signal asked for it at once.
    abandoned: bool,
    next_tick_ns: u64,
    next_progress_ns: u64,
    next_status_ns: u64,
    pace: progress::Pace,
    schedulers: Schedulers,
    status_file: StatusFile,
}

/// What preparing files in the supervisor tells.
struct Preparing<'b> {
    observer: &'b mut dyn Observer,
    signals: &'b mut Signals,
    messages: &'b mut Vec<Message>,
}

impl PrepareEvents for Preparing<'_> {
    fn laying_out(&mut self, job: &str, files: u32, bytes: u64) {
        self.observer.laying_out(job, files, bytes);
    }

    fn warning(&mut self, job: &str, text: String) {
        let job = Some(job.to_string());
        let message = Message {
            severity: Severity::Warning,
            job,
            text,
        };
        self.observer.message(&message);
        self.messages.push(message);
    }

    fn stopped(&mut self) -> bool {
        self.signals.peek_end()
    }
}

impl Supervisor<'_> {
    fn run(&mut self) -> Outcome {
        self.probe_targets();
        if self.guard() {
            self.announce();
            self.prepare_all();
            self.watch_disks();
            self.event_loop();
            self.clear_up();
        }
        let result = self.result();
        let status = match self.failures {
            0 => 0,
            count if count % 256 == 0 => 255,
            count => (count % 256) as u8,
        };
        Outcome { result, status }
    }

    /// Checks every target before anything is written. `false` when one is refused.
    fn guard(&mut self) -> bool {
        let system = System::default();
        let mut free = true;
        for index in 0..self.jobs.len() {
            if self.jobs[index].phase == Phase::Ended {
                continue;
            }
            if let Err(text) = files::guard(&system, self.jobs[index].spec) {
                free = false;
                // Clones share their section's targets: say it once.
                if !self.messages.iter().any(|message| message.text == text) {
                    self.say(Severity::Error, Some(index), text);
                }
                self.jobs[index].failure = Some(failure!(libc::EBUSY, "target in use"));
                self.jobs[index].phase = Phase::Ended;
            }
        }
        self.failures += u32::from(!free);
        free
    }

    fn announce(&mut self) {
        let threads = self.jobs.iter().filter(|job| job.spec.thread).count() as u32;
        self.observer
            .starting(threads, self.jobs.len() as u32 - threads);
    }

    /// Sets up the files of all jobs that want it done here, in job order.
    fn prepare_all(&mut self) {
        for index in 0..self.jobs.len() {
            if self.signals.peek_end() {
                return;
            }
            if !self.jobs[index].spec.target.create_serialize
                || self.jobs[index].phase == Phase::Ended
            {
                continue;
            }
            let job = &self.jobs[index];
            let mut events = Preparing {
                observer: &mut *self.observer,
                signals: &mut self.signals,
                messages: &mut self.messages,
            };
            match files::prepare(
                job.spec,
                job.seeds,
                self.common.peers,
                self.common.rules,
                &mut events,
            ) {
                Ok(prepared) => {
                    self.jobs[index].total_bytes = prepared.plan.total_bytes;
                    self.jobs[index].prepared = Some(prepared);
                }
                Err(failure) => {
                    self.job_failed(index, failure);
                    self.jobs[index].phase = Phase::Ended;
                }
            }
        }
    }

    /// Reads the counters of the disks behind the jobs' files.
    fn watch_disks(&mut self) {
        for job in self.jobs.iter().filter(|job| job.spec.reporting.disk_util) {
            if job.spec.engine.diskless() || job.phase == Phase::Ended {
                continue;
            }
            for path in &job.spec.target.files {
                if let Some(device) = files::device_of(path) {
                    tracing::debug!(target: "diskutil", "{} is on {device:?}", path.display());
                    self.disks.add(device);
                }
            }
        }
        self.disk_base = self.disks.read();
    }

    fn event_loop(&mut self) {
        self.run_start_ns = self.common.clock.now_ns();
        let now = self.run_start_ns;
        self.next_tick_ns = now + TICK_NS;
        self.next_progress_ns = now + self.cadence.progress_ms.unwrap_or(0) * 1_000_000;
        self.next_status_ns = now + self.cadence.status_ms.unwrap_or(0) * 1_000_000;
        while !self.abandoned {
            self.take_signals();
            self.schedule();
            if self.jobs.iter().all(|job| job.phase == Phase::Ended) {
                break;
            }
            self.wait();
            self.take_messages();
            self.reap();
            self.end_company();
            self.look_for_status_file();
            let now = self.common.clock.now_ns();
            self.sample(now);
            if now >= self.next_tick_ns {
                self.next_tick_ns = now + TICK_NS;
                self.watch_for_stalls(now);
            }
            self.show(now);
        }
    }

    /// Starts what may start, and releases a batch when all of it is ready.
    fn schedule(&mut self) {
        if self.jobs.iter().any(|job| job.phase == Phase::Starting) {
            return;
        }
        if self.jobs.iter().any(|job| job.phase == Phase::Ready) {
            for job in self.jobs.iter_mut().filter(|job| job.phase == Phase::Ready) {
                job.release(self.common.clock.now_ns());
            }
        }
        let now = self.common.clock.now_ns();
        for index in 0..self.jobs.len() {
            if self.jobs[index].phase != Phase::Waiting {
                continue;
            }
            if self.signalled || self.jobs[index].terminated {
                self.jobs[index].phase = Phase::Ended;
                continue;
            }
            if now < self.jobs[index].due_ns(self.run_start_ns) {
                continue;
            }
            if self.jobs[index].spec.stonewall && self.jobs.iter().any(Job::is_alive) {
                break;
            }
            if self.waits_for_others(index) {
                continue;
            }
            self.start(index);
        }
    }

    /// A job of the name given with `wait_for` has not ended.
    fn waits_for_others(&self, index: usize) -> bool {
        let Some(name) = &self.jobs[index].spec.wait_for else {
            return false;
        };
        self.jobs
            .iter()
            .any(|job| &job.spec.name == name && job.phase != Phase::Ended)
    }

    fn start(&mut self, index: usize) {
        if let Err(failure) = self.choose_scheduler(index) {
            self.job_failed(index, failure);
            self.jobs[index].phase = Phase::Ended;
            return;
        }
        let result = if self.jobs[index].spec.thread {
            self.start_thread(index)
        } else {
            self.start_process(index)
        };
        if let Err(error) = result {
            let failure = failure!(files::code_of(&error), "fork").advise(
                "the worker could not be started: the limit of processes (ulimit -u, a \
                 container's pids limit) or of descriptors (ulimit -n) is reached",
            );
            self.job_failed(index, failure);
            self.jobs[index].phase = Phase::Ended;
        }
    }

    /// Sleeps until something happens or is due.
    fn wait(&mut self) {
        let now = self.common.clock.now_ns();
        let mut due = self.next_tick_ns.min(self.status_file.due_ns());
        if self.cadence.progress_ms.is_some() {
            due = due.min(self.next_progress_ns);
        }
        if self.cadence.status_ms.is_some() {
            due = due.min(self.next_status_ns);
        }
        for job in &self.jobs {
            let start_ns = job.due_ns(self.run_start_ns);
            due = due.min(match job.phase {
                Phase::Waiting if start_ns > now => start_ns,
                Phase::Running => job.sampler.due_ns(),
                Phase::Closing => now + REAP_RETRY_NS,
                _ => continue,
            });
        }
        let timeout = rustix::time::Timespec {
            tv_sec: (due.saturating_sub(now) / 1_000_000_000) as i64,
            tv_nsec: (due.saturating_sub(now) % 1_000_000_000) as _,
        };
        let links = self.jobs.iter().filter_map(|job| job.link.as_ref());
        let sources = self.signals.fds().chain(links.map(AsFd::as_fd));
        let mut fds: Vec<PollFd<'_>> = sources
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        // An interrupted wait is a wait that ended.
        let _ = poll(&mut fds, Some(&timeout));
    }

    fn take_signals(&mut self) {
        let taken = self.signals.take();
        for signal in taken.end {
            self.observer.terminating(signal);
            let message = Message {
                severity: Severity::Warning,
                job: None,
                text: format!(
                    "ended by signal {signal}: the result covers what was done until then"
                ),
            };
            if !self.messages.contains(&message) {
                self.messages.push(message);
            }
            if std::mem::replace(&mut self.signalled, true) {
                self.abandoned = true;
            }
            // Failures before the signal are forgotten by the status.
            self.failures = 128;
            for job in &mut self.jobs {
                job.terminate(self.common.clock.now_ns());
            }
        }
        if taken.status {
            let result = self.result();
            self.observer.status(result);
        }
    }

    fn look_for_status_file(&mut self) {
        match self.status_file.look(self.common.clock) {
            Found::Nothing => {}
            Found::Request => {
                let result = self.result();
                self.observer.status(result);
            }
            Found::Stuck(text) => self.say(Severity::Warning, None, text),
        }
    }

    fn take_messages(&mut self) {
        for index in 0..self.jobs.len() {
            let closed = self.jobs[index].read_link();
            while let Some(message) = self.jobs[index].inbox.take::<FromWorker>() {
                self.take_message(index, message);
            }
            if closed {
                self.jobs[index].link = None;
                if self.jobs[index].phase != Phase::Ended {
                    self.jobs[index].phase = Phase::Closing;
                }
            }
        }
    }

    fn take_message(&mut self, index: usize, message: FromWorker) {
        match message {
            FromWorker::Ready { pid } => {
                self.jobs[index].pid_shown = pid;
                if let Some(line) = self.jobs[index].spec.burn_line() {
                    self.observer.announce(&line);
                }
                self.jobs[index].phase = Phase::Ready;
            }
            FromWorker::Failed(failure) => self.job_failed(index, failure),
            FromWorker::IoError(text) => self.say(Severity::Error, Some(index), text),
            FromWorker::Warning(text) => self.say(Severity::Warning, Some(index), text),
            FromWorker::Notice(text) => self.observer.notice(&text),
            FromWorker::Ignored(text) => self.jobs[index].ignored = Some(text),
            FromWorker::LayingOut { job, files, bytes } => {
                self.observer.laying_out(&job, files, bytes);
            }
            FromWorker::Done => {
                tracing::debug!(target: "process", "{} is done", self.jobs[index].spec.name);
                self.jobs[index].said_done = true;
                self.jobs[index].phase = Phase::Closing;
            }
        }
    }

    /// Collects workers whose links have closed.
    fn reap(&mut self) {
        for index in 0..self.jobs.len() {
            if self.jobs[index].phase == Phase::Closing {
                self.reap_one(index);
            }
        }
    }

    fn reap_one(&mut self, index: usize) {
        let death = if self.jobs[index].spec.thread {
            self.thread_death(index)
        } else {
            self.jobs[index].process_death()
        };
        let Some(death) = death else { return };
        self.jobs[index].end(self.common.clock.now_ns());
        match death {
            job::Death::Ended => {}
            job::Death::Killed(signal) => {
                let failure =
                    failure!(128 + signal, "worker", "killed by signal {signal}").advise(format!(
                        "the worker of job {} was killed by signal {signal}; what it had \
                         measured until then is reported",
                        self.jobs[index].spec.name
                    ));
                self.job_failed(index, failure);
            }
            job::Death::Status(code) if self.jobs[index].failure.is_none() => {
                let failure = failure!(code, "worker", "ended with status {code}");
                self.job_failed(index, failure);
            }
            job::Death::Status(_) => {}
        }
        self.judge_end(index);
        self.after_end(index);
    }

    /// A job that ended without an error may not have done what was asked for.
    fn judge_end(&mut self, index: usize) {
        let job = &self.jobs[index];
        if job.failure.is_some() || job.terminated || job.page.epoch_ns.get() == 0 {
            return;
        }
        if job.page.stop_requested() {
            // Not by the supervisor, so by a signal to the worker itself.
            let failure = failure!(libc::EINTR, "worker", "ended by a signal to the worker");
            self.job_failed(index, failure);
            return;
        }
        let idle = job
            .page
            .stats
            .directions
            .iter()
            .all(|direction| direction.ios.get() == 0);
        if idle && !job.spec.target.create_only {
            let text = if job.spec.target.files.is_empty() {
                "the job did no I/O: all file names of this clone belong to other clones \
                 (filename_format without $jobnum); filename= lets clones share files"
            } else {
                "the job did no I/O: what its offset, sizes and files leave holds no whole block"
            };
            self.say(Severity::Warning, Some(index), text.into());
        }
    }

    /// What a job's end means for others.
    fn after_end(&mut self, index: usize) {
        let job = &self.jobs[index];
        let spec = job.spec;
        let ran = job.page.epoch_ns.get() > 0;
        let trigger = self.spec.exitall || (spec.exitall_on_error && job.failure.is_some());
        if !trigger || !ran {
            return;
        }
        let now = self.common.clock.now_ns();
        for (other, job) in self.jobs.iter_mut().enumerate() {
            let in_scope = match spec.exit_what {
                ExitWhat::Group => job.spec.group == spec.group,
                ExitWhat::Stonewall => job.page.state() >= State::PreRun,
                ExitWhat::All => true,
            };
            if other != index && in_scope {
                job.terminate(now);
            }
        }
    }

    /// Jobs that do no I/O run beside others: the last of those takes them along.
    fn end_company(&mut self) {
        let does_io = |job: &&Job<'_>| job.spec.engine.does_io();
        let mut others = self.jobs.iter().filter(does_io).peekable();
        if others.peek().is_none() || others.any(|job| job.phase != Phase::Ended) {
            return;
        }
        let now = self.common.clock.now_ns();
        for job in self.jobs.iter_mut().filter(|job| job.phase != Phase::Ended) {
            job.terminate(now);
        }
    }

    fn job_failed(&mut self, index: usize, failure: Failure) {
        self.failures += u32::from(self.jobs[index].failure.is_none());
        let pid = self.jobs[index].pid_shown;
        self.observer.job_failed(pid, &failure);
        if !failure.told {
            self.say(Severity::Error, Some(index), failure.sentence());
        }
        self.jobs[index].failure.get_or_insert(failure);
    }

    fn say(&mut self, severity: Severity, job: Option<usize>, text: String) {
        let job = job.map(|index| self.jobs[index].spec.name.clone());
        // Names may hold line ends; a message is one line.
        let text = text.replace(|c: char| c.is_control(), " ");
        let message = Message {
            severity,
            job,
            text,
        };
        self.observer.message(&message);
        self.messages.push(message);
    }

    fn sample(&mut self, now: u64) {
        for job in self
            .jobs
            .iter_mut()
            .filter(|job| job.phase == Phase::Running)
        {
            job.sampler.tick(now, job.spec, &job.page);
        }
    }

    fn show(&mut self, now: u64) {
        if let Some(interval) = self.cadence.progress_ms
            && now >= self.next_progress_ns
        {
            self.next_progress_ns = now + interval * 1_000_000;
            if self.jobs.iter().all(|job| job.phase == Phase::Ended) {
                return;
            }
            let progress = self.progress(now);
            self.observer.progress(&progress);
        }
        if let Some(interval) = self.cadence.status_ms
            && now >= self.next_status_ns
        {
            self.next_status_ns += interval * 1_000_000;
            let result = self.result();
            self.observer.status(result);
        }
    }

    /// Nothing outlives the run.
    fn clear_up(&mut self) {
        if self.abandoned {
            self.name_abandoned();
        }
        for job in &self.jobs {
            job.kill();
        }
        let until = Instant::now() + LAST_WAIT;
        while self
            .jobs
            .iter_mut()
            .any(|job| job.process_death().is_none())
            && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(host) = self.host.take() {
            host.finish(!self.abandoned, LAST_WAIT);
        }
        self.restore_schedulers();
        self.merge_logs();
    }
}

impl Job<'_> {
    /// Lets a ready worker start.
    fn release(&mut self, now_ns: u64) {
        self.phase = Phase::Running;
        self.last_progress = (self.page.progress(), now_ns);
        if let Some(link) = &mut self.link {
            // A worker that died meanwhile is found by its closed link.
            let _ = crate::link::send(link, &ToWorker::Go);
        }
    }
}
