//! Bandwidth and IOPS samples of one job.
//!
//! A sample is taken every `bwavgtime` (`iopsavgtime`) from the job's epoch on, for each
//! direction that the job uses; an interval without I/O is a sample of 0.

use ferrio_options::JobSpec;
use ferrio_stats::SampleStats;

use crate::page::{State, WorkerPage};

/// Takes one kind of rate.
#[derive(Clone, Copy, Debug, Default)]
struct Series {
    due_ns: u64,
    last_ns: u64,
    last: [u64; 3],
    samples: [SampleStats; 3],
}

/// Takes both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampler {
    epoch_ns: u64,
    bw: Series,
    iops: Series,
}

impl Series {
    fn begin(epoch_ns: u64, interval_ns: u64) -> Self {
        Series {
            due_ns: epoch_ns + interval_ns,
            last_ns: epoch_ns,
            ..Series::default()
        }
    }

    /// Takes a sample per used direction when one is due; `rate` makes it of a difference and
    /// the milliseconds that it took.
    fn tick(
        &mut self,
        now_ns: u64,
        interval_ns: u64,
        used: [bool; 3],
        counters: [u64; 3],
        rate: impl Fn(u64, u64) -> u64,
    ) {
        // The timer may fire a little early.
        if now_ns + 1_000_000 < self.due_ns {
            return;
        }
        let spent_ms = (now_ns.saturating_sub(self.last_ns) / 1_000_000).max(1);
        for direction in 0..3 {
            if used[direction] {
                let difference = counters[direction].saturating_sub(self.last[direction]);
                self.samples[direction].add(rate(difference, spent_ms));
            }
        }
        tracing::debug!(target: "helperthread", "sample after {spent_ms} ms");
        self.last = counters;
        self.last_ns = now_ns;
        self.due_ns = (self.due_ns + interval_ns).max(now_ns + interval_ns / 2);
    }
}

impl Sampler {
    /// When the next sample is due; never before the first tick of a measurement.
    pub(super) fn due_ns(&self) -> u64 {
        if self.epoch_ns == 0 {
            u64::MAX
        } else {
            self.bw.due_ns.min(self.iops.due_ns)
        }
    }

    /// Looks at the job's counters.
    pub(super) fn tick(&mut self, now_ns: u64, job: &JobSpec, page: &WorkerPage) {
        if page.state() >= State::Running && page.state() <= State::Fsyncing {
            self.sample(now_ns, job, page);
        }
    }

    /// Takes the samples that the end of the measurement completes.
    pub(super) fn finish(&mut self, job: &JobSpec, page: &WorkerPage) {
        let end_ns = page.end_ns.get();
        if end_ns > 0 && self.epoch_ns == page.epoch_ns.get() {
            self.sample(end_ns, job, page);
        }
    }

    fn sample(&mut self, now_ns: u64, job: &JobSpec, page: &WorkerPage) {
        let show = &job.reporting;
        if !show.stats || !job.engine.measured() {
            return;
        }
        let (bw_ns, iops_ns) = (
            show.bw_avg_ms.max(1) * 1_000_000,
            show.iops_avg_ms.max(1) * 1_000_000,
        );
        let epoch_ns = page.epoch_ns.get();
        if epoch_ns != self.epoch_ns {
            self.epoch_ns = epoch_ns;
            self.bw = Series::begin(epoch_ns, bw_ns);
            self.iops = Series::begin(epoch_ns, iops_ns);
        }
        let used = [job.pattern.reads, job.pattern.writes, job.pattern.trims];
        let directions = &page.stats.directions;
        if show.bw {
            let bytes = std::array::from_fn(|d| directions[d].bytes.get());
            // KiB per second, cut twice as fio does.
            self.bw.tick(now_ns, bw_ns, used, bytes, |bytes, ms| {
                per_second(bytes, ms) / 1024
            });
        } else {
            self.bw.due_ns = u64::MAX;
        }
        let ios = std::array::from_fn(|d| directions[d].completed.get());
        self.iops.tick(now_ns, iops_ns, used, ios, per_second);
    }

    /// Bandwidth samples of a direction.
    pub(super) fn bw(&self, direction: usize) -> SampleStats {
        self.bw.samples[direction]
    }

    /// IOPS samples of a direction.
    pub(super) fn iops(&self, direction: usize) -> SampleStats {
        self.iops.samples[direction]
    }
}

/// Amount per second, rounded down.
pub(super) fn per_second(amount: u64, ms: u64) -> u64 {
    (u128::from(amount) * 1000 / u128::from(ms.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_without_io_is_a_sample_of_zero() {
        let ms = 1_000_000;
        let mut series = Series::begin(0, 500 * ms);
        let used = [true, false, false];
        series.tick(100 * ms, 500 * ms, used, [7, 0, 0], per_second);
        series.tick(500 * ms, 500 * ms, used, [50, 0, 0], per_second);
        series.tick(1000 * ms, 500 * ms, used, [50, 0, 0], per_second);
        series.tick(1500 * ms, 500 * ms, used, [100, 0, 0], per_second);
        let samples = series.samples[0];
        assert_eq!((samples.count, samples.min, samples.max), (3, 0, 100));
        assert_eq!(
            series.samples[1].count, 0,
            "a direction the job does not use has none"
        );
    }

    #[test]
    fn a_late_look_divides_by_the_time_that_passed() {
        let ms = 1_000_000;
        let mut series = Series::begin(0, 500 * ms);
        series.tick(2000 * ms, 500 * ms, [true; 3], [400, 0, 0], per_second);
        assert_eq!(series.samples[0].max, 200);
        assert!(series.due_ns > 2000 * ms);
    }
}
