//! From pages to a result.

use ferrio_options::{JobSpec, RunSpec, Unified};
use ferrio_stats::live::HistogramsKept;
use ferrio_stats::{
    CpuUse, DiskResult, FerrioInfo, JobError, JobResult, Message, RunResult, ShowSettings,
    UnifiedShow,
};

use super::Supervisor;
use super::job::{Job, Phase};
use crate::clock::wall_clock_ms;

/// Result of a run that did not begin.
pub(super) fn empty(spec: &RunSpec, messages: Vec<Message>) -> RunResult {
    RunResult {
        timestamp_ms: wall_clock_ms(),
        global_options: spec.global_options.clone(),
        ferrio: Some(FerrioInfo {
            version: env!("CARGO_PKG_VERSION").into(),
            messages,
        }),
        ..RunResult::default()
    }
}

impl Supervisor<'_> {
    /// The result as of now.
    pub(super) fn result(&self) -> RunResult {
        let now_ns = self.common.clock.now_ns();
        let mut result = empty(self.spec, self.messages.clone());
        result.jobs = self
            .jobs
            .iter()
            .map(|job| self.job_result(job, now_ns))
            .collect();
        let counters = self.disks.read();
        let msec = now_ns.saturating_sub(self.run_start_ns) / 1_000_000;
        for (((name, slave_of), now), base) in self.disks.names().zip(counters).zip(&self.disk_base)
        {
            let used = now.since(base);
            result.disks.push(DiskResult {
                name: name.into(),
                slave_of: slave_of.map(str::to_string),
                ios: used.ios,
                merges: used.merges,
                sectors: used.sectors,
                ticks: used.ticks,
                io_ticks: used.io_ticks,
                in_queue: used.in_queue,
                msec,
            });
        }
        result
    }

    fn job_result(&self, job: &Job<'_>, now_ns: u64) -> JobResult {
        let show = &job.spec.reporting;
        let page = &job.page;
        let kept = HistogramsKept {
            slat: show.slat_percentiles,
            clat: show.clat_percentiles,
            lat: show.lat_percentiles,
        };
        let mut counters = page.stats.snapshot(kept);
        let (epoch_ns, end_ns) = (page.epoch_ns.get(), page.end_ns.get());
        if epoch_ns > 0 {
            let end_ns = if end_ns == 0 { now_ns } else { end_ns };
            counters.run_time_ms = end_ns.saturating_sub(epoch_ns) / 1_000_000;
        }
        let phase_start_ns = page.phase_start_ns.get();
        for (index, direction) in counters.directions.iter_mut().enumerate() {
            if phase_start_ns > 0 && direction.bytes > 0 {
                let live_us = now_ns.saturating_sub(phase_start_ns) / 1000;
                let past_us = page.stats.directions[index].runtime_us.get();
                direction.runtime_ms = (past_us + live_us).div_ceil(1000);
            }
            direction.bw = job.sampler.bw(index);
            direction.iops = job.sampler.iops(index);
        }
        let cpu = &page.cpu;
        counters.cpu = CpuUse {
            usr_ms: cpu[0].get(),
            sys_ms: cpu[1].get(),
            ctx: cpu[2].get(),
            majf: cpu[3].get(),
            minf: cpu[4].get(),
        };
        JobResult {
            name: job.spec.name.clone(),
            description: job.spec.description.clone(),
            group: job.spec.group,
            pid: job.pid_shown,
            job_start_ms: page.job_start_ms.get(),
            options: job.spec.recorded.clone(),
            show: show_settings(job.spec),
            counters,
            error: job.failure.as_ref().map(|failure| JobError {
                code: failure.code,
                text: failure.text(),
            }),
            last_ignored_error: job.ignored.clone(),
            eta_s: self.eta_for_report(job, now_ns),
            elapsed_s: now_ns
                .saturating_sub(self.run_start_ns)
                .div_ceil(1_000_000_000),
            priority: job.spec.placement.io_priority.unwrap_or(0),
            ..JobResult::default()
        }
    }

    /// Remaining seconds as a report shows them: 0 at the end, unknown in the first seconds.
    fn eta_for_report(&self, job: &Job<'_>, now_ns: u64) -> i64 {
        const UNKNOWN: i64 = 2_147_483_647;
        if !self.eta_is_due(now_ns) {
            UNKNOWN
        } else if job.phase == Phase::Ended {
            0
        } else {
            self.eta_s(now_ns)
                .map_or(UNKNOWN, |eta| i64::try_from(eta).unwrap_or(UNKNOWN))
        }
    }
}

fn show_settings(job: &JobSpec) -> ShowSettings {
    let show = &job.reporting;
    ShowSettings {
        group_reporting: job.group_reporting,
        stats: show.stats,
        slat_percentiles: show.slat_percentiles,
        clat_percentiles: show.clat_percentiles,
        lat_percentiles: show.lat_percentiles,
        percentiles: show.percentiles.clone(),
        percentile_precision: show.percentile_precision,
        significant_figures: show.significant_figures,
        kb_base: show.kb_base,
        unit_base: show.unit_base,
        unified: match show.unified {
            Unified::None => UnifiedShow::None,
            Unified::Mixed => UnifiedShow::Mixed,
            Unified::Both => UnifiedShow::Both,
        },
        continue_on_error: job.errors.continues(),
        latency_depth: job.queue.depth,
        latency_window_us: show.latency_window_us,
        latency_percentile: show.latency_percentile,
        ..ShowSettings::default()
    }
}
