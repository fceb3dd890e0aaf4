//! Workers that make no progress.
//!
//! A worker that is past its end (run time over, or asked to stop) and has not moved for a grace
//! is given up: it is named, ended by force, and what it measured is reported. The grace counts
//! from its last progress: 5 s while it does I/O, 300 s inside a flush. The environment variable
//! `FERRIO_STALL_SECONDS` sets both.

use ferrio_stats::Severity;

use super::Supervisor;
use super::job::{Job, Phase};
use crate::failure;
use crate::page::State;

const GRACE_IO_S: u64 = 5;
const GRACE_FLUSH_S: u64 = 300;
/// A worker that has not said that it is ready.
const GRACE_START_S: u64 = 60;

/// A running job that may take its time is only named after so long, once per silence.
const NAMED_AFTER_S: u64 = 10;

/// What the user wants instead of the graces above.
fn adjusted_s() -> Option<u64> {
    std::env::var("FERRIO_STALL_SECONDS").ok()?.parse().ok()
}

/// Silence in seconds that is borne from a target.
pub(super) fn io_grace_s() -> u64 {
    adjusted_s().unwrap_or(GRACE_IO_S)
}

/// Longest silence in seconds that is borne now; `None` while the job may take its time.
fn grace_s(job: &Job<'_>, now_ns: u64) -> Option<u64> {
    let flushing = job.page.state() == State::Fsyncing || job.page.syncs_in_flight.get() > 0;
    let grace = adjusted_s().unwrap_or(if flushing { GRACE_FLUSH_S } else { GRACE_IO_S });
    match job.phase {
        // A command of the user's takes the time that it takes. What stops it is a signal, whose
        // second one ends the run.
        Phase::Running if matches!(job.page.state(), State::PreRun | State::PostRun) => None,
        Phase::Running if job.terminated || is_overdue(job, now_ns) => Some(grace),
        Phase::Starting | Phase::Ready if job.terminated => Some(grace),
        // Laying files out in the worker may take any time.
        Phase::Starting if job.spec.target.create_serialize => Some(GRACE_START_S),
        _ => None,
    }
}

/// The job's run time is over.
fn is_overdue(job: &Job<'_>, now_ns: u64) -> bool {
    let pacing = &job.spec.pacing;
    let epoch_ns = job.page.epoch_ns.get();
    if pacing.runtime_us == 0 || epoch_ns == 0 {
        return false;
    }
    let ramp_us = if job.in_ramp() { pacing.ramp_us } else { 0 };
    let length_ns = pacing
        .runtime_us
        .saturating_add(ramp_us)
        .saturating_mul(1000);
    now_ns > epoch_ns.saturating_add(length_ns)
}

impl Supervisor<'_> {
    /// Gives up workers that will not end.
    pub(super) fn watch_for_stalls(&mut self, now_ns: u64) {
        for index in 0..self.jobs.len() {
            let job = &mut self.jobs[index];
            // A burn of CPU time may be as long as was asked for; a stop request ends it.
            let burns = !job.spec.engine.does_io() && !job.page.stop_requested();
            if !job.is_alive() || burns {
                continue;
            }
            let silent_s = job.silence_ns(now_ns) / 1_000_000_000;
            if grace_s(job, now_ns).is_some_and(|grace| silent_s >= grace) {
                self.give_up(index, silent_s, now_ns);
            } else if silent_s >= adjusted_s().unwrap_or(NAMED_AFTER_S) {
                self.name_silence(index, silent_s);
            }
        }
    }

    /// Tells the user that a running job stands still.
    fn name_silence(&mut self, index: usize, silent_s: u64) {
        let job = &mut self.jobs[index];
        let flushing = job.page.syncs_in_flight.get() > 0;
        // Preparations may take long without a count of anything.
        let preparing = job.page.epoch_ns.get() == 0 || job.page.state() == State::PostRun;
        if job.phase != Phase::Running
            || flushing
            || preparing
            || std::mem::replace(&mut job.silence_named, true)
        {
            return;
        }
        let text = format!(
            "no progress for {silent_s} s (worker {}): the target does not answer, or the worker \
             was stopped; an interrupt ends the run",
            job.pid_shown
        );
        self.say(Severity::Warning, Some(index), text);
    }

    /// Names the workers that a second signal leaves no time to end.
    pub(super) fn name_abandoned(&mut self) {
        let now_ns = self.common.clock.now_ns();
        for index in 0..self.jobs.len() {
            let job = &mut self.jobs[index];
            if !job.is_alive() {
                continue;
            }
            let silent_ms = job.silence_ns(now_ns) / 1_000_000;
            let text = format!(
                "the worker ({}) had not ended when a second signal came and is given up; its last \
                 sign of life was {silent_ms} ms before",
                job.pid_shown
            );
            self.say(Severity::Warning, Some(index), text);
        }
    }

    fn give_up(&mut self, index: usize, silent_s: u64, now_ns: u64) {
        let job = &mut self.jobs[index];
        let kind = if job.spec.thread { "thread" } else { "process" };
        let what = format!(
            "the worker ({kind} {}) has made no progress for {silent_s} s and did not end; it is \
             given up, and what it had measured is reported",
            job.pid_shown
        );
        // Counted up to its last sign of life.
        let last_seen_ns = job.last_progress.1.min(now_ns);
        job.close_measurement(last_seen_ns);
        job.kill();
        job.end(now_ns);
        self.say(Severity::Error, Some(index), what);
        self.failures += u32::from(self.jobs[index].failure.is_none());
        let failure = failure!(libc::ETIMEDOUT, "worker", "no progress for {silent_s} s");
        self.observer
            .job_failed(self.jobs[index].pid_shown, &failure);
        self.jobs[index].failure.get_or_insert(failure);
        self.after_end(index);
    }
}
