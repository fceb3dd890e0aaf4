//! The progress line's figures and the remaining time.

use ferrio_options::JobSpec;
use ferrio_stats::Progress;

use super::Supervisor;
use super::job::{Job, Phase};
use super::sampler::per_second;
use crate::page::State;

/// Remaining time is not told before this many seconds have begun.
const ETA_AFTER_S: u64 = 3;

/// Counters at the time of the last line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    at_ns: u64,
    bytes: [u64; 3],
    ios: [u64; 3],
}

impl Supervisor<'_> {
    /// What a progress line shows now.
    pub(super) fn progress(&mut self, now_ns: u64) -> Progress {
        let alive = |job: &&Job<'_>| {
            matches!(job.phase, Phase::Running | Phase::Closing)
                && job.page.state() >= State::PreRun
                && job.page.state() < State::Exited
        };
        let running: Vec<&Job<'_>> = self.jobs.iter().filter(alive).collect();
        let mut sums = Pace {
            at_ns: now_ns,
            ..Pace::default()
        };
        for job in &self.jobs {
            for direction in 0..3 {
                let counters = &job.page.stats.directions[direction];
                sums.bytes[direction] += counters.bytes.get();
                sums.ios[direction] += counters.completed.get();
            }
        }
        let from_ns = if self.pace.at_ns == 0 {
            self.run_start_ns
        } else {
            self.pace.at_ns
        };
        let ms = now_ns.saturating_sub(from_ns) / 1_000_000;
        let rate = |now: [u64; 3], then: [u64; 3]| {
            std::array::from_fn(|d| per_second(now[d].saturating_sub(then[d]), ms))
        };
        let first = self.jobs.first().map(|job| &job.spec.reporting);
        let progress = Progress {
            running: running.len() as u32,
            files: running
                .iter()
                .filter(|job| !job.in_ramp())
                .map(|job| job.page.open_files.get() as u32)
                .sum(),
            states: self.jobs.iter().map(letter).collect(),
            all_in_ramp: !running.is_empty() && running.iter().all(|job| job.in_ramp()),
            setting_up: self
                .jobs
                .iter()
                .filter(|job| matches!(job.phase, Phase::Starting | Phase::Ready))
                .count() as u32,
            elapsed_s: now_ns
                .saturating_sub(self.run_start_ns)
                .div_ceil(1_000_000_000),
            eta_s: self.eta_s(now_ns),
            rate: rate(sums.bytes, self.pace.bytes),
            iops: rate(sums.ios, self.pace.ios),
            unified: self
                .jobs
                .iter()
                .any(|job| job.spec.reporting.unified != ferrio_options::Unified::None),
            kb_base: first.map_or(1024, |show| show.kb_base),
            unit_base: first.map_or(8, |show| show.unit_base),
            significant_figures: first.map_or(4, |show| show.significant_figures),
            ..Progress::default()
        };
        self.pace = sums;
        progress
    }

    /// Enough time has passed for the remaining time to mean something.
    pub(super) fn eta_is_due(&self, now_ns: u64) -> bool {
        let elapsed_ns = now_ns.saturating_sub(self.run_start_ns);
        elapsed_ns.div_ceil(1_000_000_000) >= ETA_AFTER_S
    }

    /// Seconds until the last job ends; `None` while that is not known.
    ///
    /// Jobs that run together count once (the longest), jobs behind a barrier add up.
    pub(super) fn eta_s(&self, now_ns: u64) -> Option<u64> {
        if !self.eta_is_due(now_ns) {
            return None;
        }
        let mut together = 0;
        let mut behind = 0;
        // Longest job of each barrier section that has not begun.
        let mut section = 0;
        for job in &self.jobs {
            match job.phase {
                Phase::Ended => {}
                Phase::Waiting => {
                    if job.spec.stonewall {
                        behind += std::mem::take(&mut section);
                    }
                    section = section.max(planned_s(job.spec));
                }
                _ => together = together.max(remaining_s(job, now_ns)?),
            }
        }
        Some(together + behind + section)
    }
}

/// Length of a job that has not begun, as far as its options tell.
fn planned_s(spec: &JobSpec) -> u64 {
    let pacing = &spec.pacing;
    (pacing.runtime_us + pacing.ramp_us + pacing.start_delay_us.1).div_ceil(1_000_000)
}

/// Remaining seconds of a running job; `None` when nothing tells.
fn remaining_s(job: &Job<'_>, now_ns: u64) -> Option<u64> {
    let pacing = &job.spec.pacing;
    let epoch_ns = job.page.epoch_ns.get();
    if epoch_ns == 0 {
        return Some(planned_s(job.spec));
    }
    let elapsed_s = now_ns
        .saturating_sub(epoch_ns)
        .div_ceil(1_000_000_000)
        .max(1);
    let ramp_us = if job.in_ramp() { pacing.ramp_us } else { 0 };
    let by_time = (pacing.runtime_us > 0).then(|| {
        (pacing.runtime_us + ramp_us)
            .div_ceil(1_000_000)
            .saturating_sub(elapsed_s)
    });
    if pacing.time_based {
        return by_time;
    }
    let done: u64 = job
        .page
        .stats
        .directions
        .iter()
        .map(|d| d.bytes.get())
        .sum();
    let by_amount = if done == 0 || job.total_bytes == 0 || job.total_bytes == u64::MAX {
        None
    } else {
        let share = (done as f64 / job.total_bytes as f64).min(1.0);
        Some((elapsed_s as f64 / share) as u64 - elapsed_s)
    };
    match (by_time, by_amount) {
        (Some(time), Some(amount)) => Some(time.min(amount)),
        (time, amount) => time.or(amount),
    }
}

/// The state letter of a job.
fn letter(job: &Job<'_>) -> char {
    match (job.phase, job.page.state()) {
        (Phase::Ended, _)
            if job
                .failure
                .as_ref()
                .is_some_and(|failure| failure.message.contains("killed by")) =>
        {
            'K'
        }
        (Phase::Ended, _) if job.failure.is_some() => 'X',
        (Phase::Ended, State::NotCreated) => 'P',
        (Phase::Ended, _) => '_',
        (_, State::NotCreated) => 'P',
        (_, State::Created) => 'C',
        (_, State::SettingUp | State::Initialized | State::PreRun) => 'I',
        (_, State::PreReading) => 'p',
        (_, State::Ramp) => '/',
        (_, State::Running) => pattern_letter(job.spec),
        (_, State::Fsyncing) => 'F',
        (_, State::Finishing | State::PostRun) => 'f',
        (_, State::Exited) => 'E',
    }
}

fn pattern_letter(spec: &JobSpec) -> char {
    let pattern = &spec.pattern;
    let letter = match (pattern.reads, pattern.writes) {
        (true, true) if pattern.mix_read == 100 => 'R',
        (true, true) if pattern.mix_read == 0 => 'W',
        (true, true) => 'M',
        (true, false) => 'R',
        (false, true) => 'W',
        (false, false) => 'D',
    };
    if pattern.random {
        letter.to_ascii_lowercase()
    } else {
        letter
    }
}
