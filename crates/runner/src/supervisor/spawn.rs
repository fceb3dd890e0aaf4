//! Starting workers: a process each, or threads of one host process.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, setsid, waitpid};

use super::Supervisor;
use super::job::{Death, Phase};
use crate::failure;
use crate::link::{self, FromWorker, ToHost};
use crate::page::State;
use crate::sys::{self, Fork};
use crate::worker::{self, Assignment};

/// Exit status of a worker whose code panicked (Rust's own).
const PANICKED: i32 = 101;

/// The process whose threads are the workers of `thread=1` jobs.
#[derive(Debug)]
pub(super) struct ThreadHost {
    process: Option<Pid>,
    /// How it ended, once it has.
    death: Option<Death>,
    /// Closing it tells the host that no more jobs come.
    control: UnixStream,
    /// Our ends of the links of jobs not started yet.
    links: BTreeMap<usize, UnixStream>,
}

/// Lets go of the supervisor's standard streams: a worker that is stuck in the kernel must not
/// keep whoever reads them waiting. Workers speak over their links; only what `--debug` shows goes to
/// standard error.
pub(super) fn leave_streams(keep_stderr: bool) {
    let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") else {
        return;
    };
    let _ = rustix::stdio::dup2_stdin(&null);
    let _ = rustix::stdio::dup2_stdout(&null);
    if !keep_stderr {
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Starts a worker as a thread of the host; where the system has none left the job fails.
fn start_thread_in<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    assignment: Assignment<'scope>,
) {
    let Ok(mut link) = assignment.link.try_clone() else {
        return;
    };
    let thread = std::thread::Builder::new();
    if let Err(error) = thread.spawn_scoped(scope, move || run_guarded(assignment)) {
        let code = crate::files::code_of(&error);
        let failure = failure!(code, "pthread_create").advise(
            "the worker could not be started: the limit of threads (ulimit -u, a container's \
             pids limit) or of memory (ulimit -v) is reached",
        );
        let _ = link::send(&mut link, &FromWorker::Failed(failure));
        let _ = link::send(&mut link, &FromWorker::Done);
    }
}

/// Runs a worker; a panic in it becomes the job's error, told over the link.
fn run_guarded(assignment: Assignment<'_>) -> i32 {
    let Ok(mut link) = assignment.link.try_clone() else {
        return libc::EMFILE;
    };
    catch_unwind(AssertUnwindSafe(|| worker::run(assignment))).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        let failure = failure!(PANICKED, "worker", "internal error: {message}")
            .advise("this is a fault of ferrio: please report it with the command line");
        let _ = link::send(&mut link, &FromWorker::Failed(failure));
        let _ = link::send(&mut link, &FromWorker::Done);
        PANICKED
    })
}

impl Supervisor<'_> {
    /// Forks a worker process.
    pub(super) fn start_process(&mut self, index: usize) -> io::Result<()> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let parent = getpid();
        self.jobs[index].page.set_state(State::Created);
        match sys::fork()? {
            Fork::Parent(pid) => {
                let job = &mut self.jobs[index];
                job.process = Some(pid);
                job.pid_shown = pid.as_raw_nonzero().get() as u32;
                job.link = Some(ours);
                job.phase = Phase::Starting;
                job.prepared = None;
                job.last_progress = (job.page.progress(), self.common.clock.now_ns());
                Ok(())
            }
            Fork::Child => {
                drop(ours);
                let page = self.jobs[index].page.clone();
                self.become_worker(parent, &[page]);
                let assignment = self.jobs[index].assignment(theirs, &self.common);
                sys::exit_child(run_guarded(assignment) & 0xff)
            }
        }
    }

    /// In a forked child: a session of its own, no life without the parent, no descriptors of
    /// other workers.
    fn become_worker(&mut self, parent: Pid, pages: &[crate::page::PageRef]) {
        sys::die_with(parent);
        let _ = setsid();
        leave_streams(!self.spec.debug.categories.is_empty());
        self.signals.hand_to_worker(pages);
        for job in &mut self.jobs {
            job.link = None;
        }
        self.host = None;
    }

    /// Has the host start a worker thread.
    pub(super) fn start_thread(&mut self, index: usize) -> io::Result<()> {
        if self.host.is_none() {
            self.host = Some(self.fork_host()?);
        }
        let Some(host) = &mut self.host else {
            return Err(io::ErrorKind::NotFound.into());
        };
        link::send(&mut host.control, &ToHost::Start(index as u32))?;
        let job = &mut self.jobs[index];
        job.link = host.links.remove(&index);
        job.page.set_state(State::Created);
        job.phase = Phase::Starting;
        job.prepared = None;
        job.last_progress = (job.page.progress(), self.common.clock.now_ns());
        Ok(())
    }

    /// Forks the host with the links of all thread jobs.
    fn fork_host(&mut self) -> io::Result<ThreadHost> {
        let (control, their_control) = UnixStream::pair()?;
        let mut ours = BTreeMap::new();
        let mut theirs = BTreeMap::new();
        for (index, job) in self.jobs.iter().enumerate() {
            if job.spec.thread && job.phase == Phase::Waiting {
                let (our_end, their_end) = UnixStream::pair()?;
                our_end.set_nonblocking(true)?;
                ours.insert(index, our_end);
                theirs.insert(index, their_end);
            }
        }
        let parent = getpid();
        match sys::fork()? {
            Fork::Parent(pid) => Ok(ThreadHost {
                process: Some(pid),
                death: None,
                control,
                links: ours,
            }),
            Fork::Child => {
                drop((control, ours));
                let pages: Vec<_> = self
                    .jobs
                    .iter()
                    .filter(|j| j.spec.thread)
                    .map(|j| j.page.clone())
                    .collect();
                self.become_worker(parent, &pages);
                self.host_threads(their_control, theirs);
                sys::exit_child(0)
            }
        }
    }

    /// In the host: a thread per job that the supervisor names, until it names no more.
    fn host_threads(&mut self, mut control: UnixStream, mut links: BTreeMap<usize, UnixStream>) {
        let mut assignments = BTreeMap::new();
        for (index, job) in self.jobs.iter_mut().enumerate() {
            if let Some(link) = links.remove(&index) {
                assignments.insert(index, job.assignment(link, &self.common));
            }
        }
        std::thread::scope(|scope| {
            while let Ok(ToHost::Start(index)) = link::receive(&mut control) {
                if let Some(assignment) = assignments.remove(&(index as usize)) {
                    start_thread_in(scope, assignment);
                }
            }
        });
    }

    /// How a thread worker whose link has closed ended.
    pub(super) fn thread_death(&mut self, index: usize) -> Option<Death> {
        if self.jobs[index].said_done {
            return Some(Death::Ended);
        }
        let host = self.host.as_mut()?;
        if let Some(pid) = host.process
            && let Ok(Some((_, status))) = waitpid(Some(pid), WaitOptions::NOHANG)
        {
            host.process = None;
            host.death = Some(match status.terminating_signal() {
                Some(signal) => Death::Killed(signal),
                None => Death::Status(status.exit_status().unwrap_or(PANICKED)),
            });
        }
        if host.death.is_some() {
            return host.death;
        }
        // The host lives: the thread panicked. Or it is dying, and its descriptors were closed
        // first: that shows within a few looks.
        let job = &mut self.jobs[index];
        job.looks += 1;
        (job.looks > 100).then_some(Death::Status(PANICKED))
    }
}

impl ThreadHost {
    /// Ends the host: by itself within `patience` if `gently`, else by force.
    pub(super) fn finish(self, gently: bool, patience: Duration) {
        let Some(pid) = self.process else { return };
        drop(self.control);
        let until = Instant::now() + if gently { patience } else { Duration::ZERO };
        loop {
            if !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)) {
                return;
            }
            if Instant::now() >= until {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = kill_process(pid, Signal::KILL);
        for _ in 0..50 {
            if !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
