//! A job as the supervisor sees it.

use std::os::unix::net::UnixStream;

use ferrio_options::JobSpec;
use ferrio_workload::seeds::{self, Seeds};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::sampler::Sampler;
use crate::files::Prepared;
use crate::iolog::Destination;
use crate::link::{Failure, Inbox};
use crate::page::{PageRef, State};
use crate::worker::{Assignment, Common};

/// Where a job is in its life, as far as the supervisor is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not started.
    Waiting,
    /// Started; sets itself up.
    Starting,
    /// Waits for the release of its batch.
    Ready,
    /// Released.
    Running,
    /// Its link has closed; not collected yet.
    Closing,
    /// Collected, or never started.
    Ended,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    /// By itself, without error.
    Ended,
    /// By itself, with an error number.
    Status(i32),
    /// By a signal.
    Killed(i32),
}

pub(super) struct Job<'a> {
    pub(super) spec: &'a JobSpec,
    pub(super) seeds: &'a Seeds,
    pub(super) page: PageRef,
    pub(super) phase: Phase,
    pub(super) prepared: Option<Prepared>,
    /// Planned bytes of all loops, for the remaining time; 0 is unknown.
    pub(super) total_bytes: u64,
    /// Process of the worker; `None` for threads.
    pub(super) process: Option<Pid>,
    /// Process or thread id for reports.
    pub(super) pid_shown: u32,
    pub(super) link: Option<UnixStream>,
    pub(super) inbox: Inbox,
    pub(super) failure: Option<Failure>,
    /// Text of the last error that was counted and ignored.
    pub(super) ignored: Option<String>,
    pub(super) start_delay_ns: u64,
    /// Asked to end.
    pub(super) terminated: bool,
    pub(super) terminated_ns: u64,
    /// The worker said that everything is released.
    pub(super) said_done: bool,
    /// Looks at a closed link whose worker is not known to be dead.
    pub(super) looks: u32,
    pub(super) sampler: Sampler,
    /// The user was told that the job stands still.
    pub(super) silence_named: bool,
    /// The page's progress number and when it last changed.
    pub(super) last_progress: (u64, u64),
    /// Pages whose bytes count for `ramp_size`.
    pub(super) ramp_group: Vec<PageRef>,
    /// Where the worker's log of operations goes.
    pub(super) iolog: Option<Destination>,
}

impl<'a> Job<'a> {
    pub(super) fn new(spec: &'a JobSpec, seeds: &'a Seeds, page: PageRef) -> Self {
        let start_delay_ns = if spec.pacing.start_delay_us == (0, 0) {
            0
        } else {
            seeds::start_delay_us_with(spec, seeds).saturating_mul(1000)
        };
        Job {
            spec,
            seeds,
            page,
            phase: Phase::Waiting,
            prepared: None,
            total_bytes: 0,
            process: None,
            pid_shown: 0,
            link: None,
            inbox: Inbox::default(),
            failure: None,
            ignored: None,
            start_delay_ns,
            terminated: false,
            terminated_ns: 0,
            said_done: false,
            looks: 0,
            sampler: Sampler::default(),
            silence_named: false,
            last_progress: (0, 0),
            ramp_group: Vec::new(),
            iolog: None,
        }
    }

    /// What the worker is started with.
    pub(super) fn assignment(&mut self, link: UnixStream, common: &Common<'a>) -> Assignment<'a> {
        Assignment {
            job: self.spec,
            seeds: self.seeds,
            peers: common.peers,
            prepared: self.prepared.take(),
            page: self.page.clone(),
            link,
            clock: common.clock,
            rules: common.rules,
            locks: common.locks.clone(),
            debug: common.debug,
            ramp_group: std::mem::take(&mut self.ramp_group),
            iolog: self.iolog.clone(),
        }
    }

    /// When the job may start.
    pub(super) fn due_ns(&self, run_start_ns: u64) -> u64 {
        run_start_ns.saturating_add(self.start_delay_ns)
    }

    /// Started and not collected.
    pub(super) fn is_alive(&self) -> bool {
        matches!(
            self.phase,
            Phase::Starting | Phase::Ready | Phase::Running | Phase::Closing
        )
    }

    /// Time since the worker's last sign of life, in nanoseconds.
    pub(super) fn silence_ns(&mut self, now_ns: u64) -> u64 {
        let progress = self.page.progress();
        if progress != self.last_progress.0 {
            self.last_progress = (progress, now_ns);
            self.silence_named = false;
        }
        now_ns.saturating_sub(self.last_progress.1)
    }

    /// Asks the job to end.
    pub(super) fn terminate(&mut self, now_ns: u64) {
        if !std::mem::replace(&mut self.terminated, true) {
            self.terminated_ns = now_ns;
        }
        self.page.request_stop();
    }

    /// Reads what the worker sent. `true` when it closed its end.
    pub(super) fn read_link(&mut self) -> bool {
        match &mut self.link {
            Some(link) => self.inbox.fill(link),
            None => false,
        }
    }

    /// Collects the worker's process if it has ended.
    pub(super) fn process_death(&mut self) -> Option<Death> {
        let Some(pid) = self.process else {
            return Some(Death::Ended);
        };
        let status = match waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => status,
            Ok(None) => return None,
            // No such child: somebody else collected it.
            Err(_) => {
                self.process = None;
                return Some(Death::Ended);
            }
        };
        self.process = None;
        Some(match (status.terminating_signal(), status.exit_status()) {
            (Some(signal), _) => Death::Killed(signal),
            (None, Some(0) | None) => Death::Ended,
            (None, Some(code)) => Death::Status(code),
        })
    }

    /// The worker is gone.
    pub(super) fn end(&mut self, now_ns: u64) {
        self.phase = Phase::Ended;
        self.link = None;
        self.close_measurement(now_ns);
        self.sampler.finish(self.spec, &self.page);
    }

    /// Fixes the end of a measurement that the worker could not end itself.
    pub(super) fn close_measurement(&mut self, now_ns: u64) {
        if self.page.epoch_ns.get() > 0 && self.page.end_ns.get() == 0 {
            self.page.end_ns.set(now_ns);
            let start = self.page.phase_start_ns.get();
            if start > 0 {
                let elapsed_us = now_ns.saturating_sub(start) / 1000;
                self.page.phase_start_ns.set(0);
                for direction in &self.page.stats.directions {
                    if direction.bytes.get() > 0 {
                        direction.runtime_us.add(elapsed_us);
                    }
                }
            }
        }
    }

    /// Ends the worker's process by force.
    pub(super) fn kill(&self) {
        if let Some(pid) = self.process {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// In its ramp.
    pub(super) fn in_ramp(&self) -> bool {
        self.page.state() == State::Ramp
    }
}
