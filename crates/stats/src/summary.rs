//! The figures that reports print, computed once for all formats.
//!
//! [`summarise`] turns a [`RunResult`] into a [`Summary`]; a report only chooses units and puts
//! the figures into its layout. What each figure means: `docs/statistics.md`.

use crate::counters::{
    CpuUse, DISTRIBUTION_SLOTS, DirectionCounters, JobCounters, Latency, Moments, SampleStats,
};
use crate::histogram::bucket_value;
use crate::merge::{Entry, entries};
use crate::percentile;
use crate::result::{CpuIdle, RunResult, ShowSettings, SteadyState, UnifiedShow};

mod disk;
mod group;

use disk::disks;
pub use disk::{DiskAggregate, DiskSummary};
use group::groups;
pub use group::{GroupRates, GroupSummary};

/// Which value a percentile has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PercentileRule {
    /// The middle of the bucket that answers it, moved into the range of the samples.
    #[default]
    InRange,
    /// The middle of the bucket that answers it, even where no sample is that small or large.
    BucketMiddle,
}

/// All figures of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Report entries in job order.
    pub entries: Vec<EntrySummary>,
    /// Report groups from 0 on, also those without I/O.
    pub groups: Vec<GroupSummary>,
    /// Block devices in order of first use.
    pub disks: Vec<DiskSummary>,
    /// CPU idleness, if it was profiled.
    pub cpu_idle: Option<CpuIdle>,
}

/// Computes all figures of a run.
pub fn summarise(run: &RunResult, rule: PercentileRule) -> Summary {
    let entries = entries(run);
    let groups = groups(run, &entries);
    let none = GroupSummary::default();
    let entries = entries
        .into_iter()
        .map(|entry| {
            let group = groups.get(entry.group as usize).unwrap_or(&none);
            EntrySummary::of(entry, group, rule)
        })
        .collect();
    Summary {
        entries,
        groups,
        disks: disks(&run.disks),
        cpu_idle: run.cpu_idle.clone(),
    }
}

/// Figures of one report entry.
#[derive(Clone, Debug, PartialEq)]
pub struct EntrySummary {
    /// Identity, settings and raw counters.
    pub entry: Entry,
    /// Read, write, trim.
    pub directions: [DirectionSummary; 3],
    /// The three together, if they are to be shown together as well.
    pub mixed: Option<DirectionSummary>,
    /// Latency of sync-type operations, always with percentiles.
    pub sync: LatencySummary,
    /// Percentiles in use, ascending.
    pub percentile_list: Vec<f64>,
    /// User time as per cent of the run time.
    pub usr_percent: f64,
    /// System time as per cent of the run time.
    pub sys_percent: f64,
    /// Depth classes, per cent of all reads, writes and trims; above 100 in sum where syncs
    /// were issued too.
    pub depth_percent: [f64; 7],
    /// Submissions by batch size, per cent of all submissions.
    pub submit_percent: [f64; 7],
    /// Completions by batch size, per cent of all reaping calls.
    pub complete_percent: [f64; 7],
    /// Completion latencies by class, per cent of all reads, writes and trims.
    pub distribution_percent: [f64; DISTRIBUTION_SLOTS],
    /// The ten nanosecond classes together; not a number without I/O.
    pub below_microsecond_percent: f64,
    /// Device cache hits, per cent of hits and misses; `None` if there were neither.
    pub cache_hit_percent: Option<f64>,
    /// Steady state, if it was to be detected.
    pub steady_state: Option<SteadySummary>,
}

/// Slots of the nanosecond part of the latency distribution.
const NANOSECOND_SLOTS: usize = 10;

impl EntrySummary {
    fn of(entry: Entry, group: &GroupSummary, rule: PercentileRule) -> Self {
        let counters = &entry.counters;
        let ios = counters.total_ios();
        let list = percentile::in_use(&entry.show.percentiles);
        let context = Context {
            show: &entry.show,
            list: &list,
            rule,
        };
        let direction = |index: usize| {
            let aggregate = group.aggregate_bw(index);
            context.direction(&counters.directions[index], aggregate)
        };
        let mixed = (entry.show.unified == UnifiedShow::Both)
            .then(|| context.direction(&counters.all_directions(), group.aggregate_bw(0)));
        let below_microsecond: u64 = counters.distribution[..NANOSECOND_SLOTS].iter().sum();
        let (usr_percent, sys_percent) = cpu_percent(&counters.cpu, counters.run_time_ms);
        EntrySummary {
            directions: std::array::from_fn(direction),
            mixed,
            sync: context.latency(&counters.sync_lat, true),
            usr_percent,
            sys_percent,
            depth_percent: shares(&counters.depth_map, ios, DEPTH_FLOOR),
            submit_percent: shares(&counters.submit_map, counters.submit_total, DEPTH_FLOOR),
            complete_percent: shares(&counters.complete_map, counters.complete_total, DEPTH_FLOOR),
            distribution_percent: shares(&counters.distribution, ios, DISTRIBUTION_FLOOR),
            below_microsecond_percent: 100.0 * below_microsecond as f64 / ios as f64,
            cache_hit_percent: cache_hit_percent(counters),
            steady_state: entry.steady_state.clone().map(SteadySummary::of),
            percentile_list: list,
            entry,
        }
    }

    /// Anything was transferred or issued.
    pub fn has_io(&self) -> bool {
        self.directions
            .iter()
            .any(|direction| direction.bytes > 0 || direction.ios > 0)
    }
}

/// Figures of one direction, or of all together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionSummary {
    /// Bytes transferred.
    pub bytes: u64,
    /// Whole KiB transferred.
    pub kib: u64,
    /// Bytes per second over the runtime, rounded down.
    pub bw_bytes: u64,
    /// KiB per second over the runtime, rounded down.
    pub bw_kib: u64,
    /// Operations issued per second of the runtime.
    pub iops: f64,
    /// The same, rounded down.
    pub iops_whole: u64,
    /// Milliseconds in I/O phases.
    pub runtime_ms: u64,
    /// Operations issued.
    pub ios: u64,
    /// Partial transfers.
    pub short_ios: u64,
    /// Packets lost.
    pub drop_ios: u64,
    /// Submission latency.
    pub slat: LatencySummary,
    /// Completion latency.
    pub clat: LatencySummary,
    /// Total latency.
    pub lat: LatencySummary,
    /// Latency by priority; empty unless two or more priorities have samples.
    pub priorities: Vec<PrioritySummary>,
    /// Bandwidth samples, KiB/s.
    pub bw_samples: RateSummary,
    /// Share of the group's bandwidth.
    pub bw_share: BandwidthShare,
    /// IOPS samples.
    pub iops_samples: RateSummary,
}

/// What part of its group's bandwidth an entry had by its samples, per cent, at most 100.
///
/// The two forms differ in what is rounded down; formats have used one or the other for so long
/// that both stay. 0 without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BandwidthShare {
    /// Mean in whole KiB/s by the group's exact bandwidth (normal, JSON).
    pub of_whole_mean: f64,
    /// Exact mean by the group's bandwidth in whole KiB/s (terse).
    pub of_whole_aggregate: f64,
}

/// Bandwidth or IOPS samples; zeros without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSummary {
    /// Number of samples.
    pub samples: u64,
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub stddev: f64,
}

impl RateSummary {
    fn of(samples: &SampleStats) -> Self {
        if samples.count == 0 {
            return RateSummary::default();
        }
        RateSummary {
            samples: samples.count,
            min: samples.min,
            max: samples.max,
            mean: samples.mean,
            stddev: samples.stddev(),
        }
    }
}

/// Figures of one kind of latency in nanoseconds; zeros without samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencySummary {
    /// Number of samples.
    pub samples: u64,
    /// Smallest.
    pub min_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Sample standard deviation.
    pub stddev_ns: f64,
    /// Percentiles, if they are wanted and there are samples.
    pub percentiles: Option<Percentiles>,
}

/// Percentiles of one kind of latency, and the histogram that they come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// Percentile and latency in nanoseconds, ascending.
    pub answers: Vec<(f64, u64)>,
    /// No latency was longer than this, so a coarser unit must not be rounded up beyond it.
    pub ceiling_ns: u64,
    /// Non-empty buckets: middle in nanoseconds and count, ascending.
    pub bins: Vec<(u64, u64)>,
}

/// Latency of the requests of one priority.
#[derive(Clone, Debug, PartialEq)]
pub struct PrioritySummary {
    /// Scheduling class.
    pub class: u32,
    /// Level within the class.
    pub level: u32,
    /// Hint.
    pub hint: u32,
    /// Per cent of the direction's samples.
    pub share_percent: f64,
    /// Total or completion latency, whichever the entry's priorities are kept for.
    pub latency: LatencySummary,
}

/// What all latencies of one entry are summarised with.
struct Context<'a> {
    show: &'a ShowSettings,
    list: &'a [f64],
    rule: PercentileRule,
}

impl Context<'_> {
    fn direction(&self, counters: &DirectionCounters, aggregate_bw: u64) -> DirectionSummary {
        let bw_bytes = per_second(counters.bytes, counters.runtime_ms);
        DirectionSummary {
            bytes: counters.bytes,
            kib: counters.bytes / 1024,
            bw_bytes,
            bw_kib: bw_bytes / 1024,
            iops: if counters.runtime_ms == 0 {
                0.0
            } else {
                1000.0 * counters.ios as f64 / counters.runtime_ms as f64
            },
            iops_whole: per_second(counters.ios, counters.runtime_ms),
            runtime_ms: counters.runtime_ms,
            ios: counters.ios,
            short_ios: counters.short_ios,
            drop_ios: counters.drop_ios,
            slat: self.latency(&counters.slat, self.show.slat_percentiles),
            clat: self.latency(&counters.clat, self.show.clat_percentiles),
            lat: self.latency(&counters.lat, self.show.lat_percentiles),
            priorities: self.priorities(counters),
            bw_samples: RateSummary::of(&counters.bw),
            bw_share: bandwidth_share(&counters.bw, aggregate_bw),
            iops_samples: RateSummary::of(&counters.iops),
        }
    }

    fn latency(&self, latency: &Latency, percentiles: bool) -> LatencySummary {
        let moments = &latency.moments;
        if moments.count == 0 {
            return LatencySummary::default();
        }
        LatencySummary {
            samples: moments.count,
            min_ns: moments.min,
            max_ns: moments.max,
            mean_ns: moments.mean(),
            stddev_ns: moments.stddev(),
            percentiles: percentiles
                .then(|| self.percentiles(latency, moments))
                .flatten(),
        }
    }

    /// `None` if the histogram was not kept.
    fn percentiles(&self, latency: &Latency, moments: &Moments) -> Option<Percentiles> {
        let counts = latency.histogram.counts().iter().enumerate();
        let bins: Vec<_> = counts
            .filter(|&(_, &count)| count > 0)
            .map(|(bucket, &count)| (bucket_value(bucket), count))
            .collect();
        if bins.is_empty() {
            return None;
        }
        let mut answers = percentile::answers(&latency.histogram, self.list);
        let ceiling_ns = match self.rule {
            PercentileRule::InRange => {
                percentile::keep_in_range(&mut answers, moments);
                moments.max
            }
            PercentileRule::BucketMiddle => u64::MAX,
        };
        Some(Percentiles {
            answers,
            ceiling_ns,
            bins,
        })
    }

    fn priorities(&self, counters: &DirectionCounters) -> Vec<PrioritySummary> {
        let (whole, percentiles) = match self.show.lat_percentiles {
            true => (&counters.lat, true),
            false => (&counters.clat, self.show.clat_percentiles),
        };
        let rows = counters
            .priorities
            .iter()
            .filter(|row| row.latency.moments.count > 0);
        let rows: Vec<_> = rows
            .map(|row| PrioritySummary {
                class: row.priority >> 13,
                level: row.priority & 7,
                hint: row.priority >> 3 & 0x3FF,
                share_percent: 100.0 * row.latency.moments.count as f64
                    / whole.moments.count.max(1) as f64,
                latency: self.latency(&row.latency, percentiles),
            })
            .collect();
        if rows.len() < 2 { Vec::new() } else { rows }
    }
}

/// A steady-state result with the means of its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteadySummary {
    /// The detection's settings and values.
    pub state: SteadyState,
    /// Mean operations per second, rounded down.
    pub iops_mean: u64,
    /// Mean bytes per second, rounded down.
    pub bw_mean: u64,
    /// Mean latency in nanoseconds, rounded down; 0 unless latency was watched.
    pub lat_mean_ns: u64,
}

impl SteadySummary {
    fn of(state: SteadyState) -> Self {
        let mean = |values: &[u64]| {
            let sum: u128 = values.iter().copied().map(u128::from).sum();
            (sum / values.len().max(1) as u128) as u64
        };
        SteadySummary {
            iops_mean: mean(&state.iops),
            bw_mean: mean(&state.bw),
            lat_mean_ns: mean(&state.lat_ns),
            state,
        }
    }
}

impl JobCounters {
    /// Reads, writes and trims issued.
    pub fn total_ios(&self) -> u64 {
        self.directions.iter().map(|direction| direction.ios).sum()
    }
}

/// `amount` per second of `runtime_ms`, rounded down; 0 without runtime.
pub fn per_second(amount: u64, runtime_ms: u64) -> u64 {
    if runtime_ms == 0 {
        return 0;
    }
    let rate = u128::from(amount) * 1000 / u128::from(runtime_ms);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Smallest share above 0 that the depth, submit and complete maps show, per cent.
const DEPTH_FLOOR: f64 = 0.1;
/// Smallest share above 0 that the latency distribution shows, per cent.
const DISTRIBUTION_FLOOR: f64 = 0.01;

/// Each count as per cent of `total`, at least `floor` where anything was counted; zeros if
/// `total` is 0.
fn shares<const N: usize>(counts: &[u64; N], total: u64, floor: f64) -> [f64; N] {
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        _ => (100.0 * count as f64 / total as f64).max(floor),
    })
}

fn cpu_percent(cpu: &CpuUse, run_time_ms: u64) -> (f64, f64) {
    if run_time_ms == 0 {
        return (0.0, 0.0);
    }
    let percent = |ms: u64| 100.0 * ms as f64 / run_time_ms as f64;
    (percent(cpu.usr_ms), percent(cpu.sys_ms))
}

fn cache_hit_percent(counters: &JobCounters) -> Option<f64> {
    let (hits, misses) = (counters.cache_hits as f64, counters.cache_misses as f64);
    (hits + misses > 0.0).then(|| 100.0 * hits / (hits + misses))
}

fn bandwidth_share(samples: &SampleStats, aggregate_bw: u64) -> BandwidthShare {
    if samples.count == 0 {
        return BandwidthShare::default();
    }
    // A group of a KiB/s or less has no share worth a figure.
    let of_whole_mean = match aggregate_bw {
        0..=1024 => 100.0,
        _ => 100.0 * samples.mean.trunc() / (aggregate_bw as f64 / 1024.0),
    };
    let of_whole_aggregate = match aggregate_bw / 1024 {
        0 => 100.0,
        whole_kib => 100.0 * samples.mean / whole_kib as f64,
    };
    BandwidthShare {
        of_whole_mean: of_whole_mean.min(100.0),
        of_whole_aggregate: of_whole_aggregate.min(100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::PriorityLatency;
    use crate::result::{JobResult, SteadyMetric};

    fn job(bytes: u64, runtime_ms: u64) -> JobResult {
        let mut job = JobResult::default();
        job.counters.directions[0].bytes = bytes;
        job.counters.directions[0].ios = bytes / 4096;
        job.counters.directions[0].runtime_ms = runtime_ms;
        job
    }

    fn summary(jobs: Vec<JobResult>) -> Summary {
        summarise(
            &RunResult {
                jobs,
                ..RunResult::default()
            },
            PercentileRule::InRange,
        )
    }

    fn latency(samples: &[u64]) -> Latency {
        let mut latency = Latency::default();
        for &ns in samples {
            latency.moments.add(ns);
            latency.histogram.add(ns);
        }
        latency
    }

    #[test]
    fn rates_are_rounded_down_and_need_runtime() {
        assert_eq!(per_second(1_072_168, 1013), 1_058_408);
        assert_eq!(per_second(5, 0), 0);
        assert_eq!(per_second(u64::MAX, 1), u64::MAX);
        let read = &summary(vec![job(4096 * 3, 0)]).entries[0].directions[0];
        assert_eq!((read.bw_bytes, read.iops, read.iops_whole), (0, 0.0, 0));
    }

    #[test]
    fn a_run_without_jobs_has_no_figures() {
        assert_eq!(summary(Vec::new()), Summary::default());
    }

    #[test]
    fn small_shares_show_as_the_floor() {
        assert_eq!(shares(&[0, 1, 99_999], 100_000, 0.1), [0.0, 0.1, 99.999]);
        assert_eq!(shares(&[0, 1], 0, 0.01), [0.0, 0.0]);
    }

    #[test]
    fn bandwidth_shares_are_capped() {
        let mut samples = SampleStats::default();
        assert_eq!(bandwidth_share(&samples, 5000), BandwidthShare::default());
        samples.add(1000);
        samples.add(1047);
        let share = bandwidth_share(&samples, 2048 * 1024);
        assert_eq!(share.of_whole_mean, 100.0 * 1023.0 / 2048.0);
        assert_eq!(share.of_whole_aggregate, 100.0 * 1023.5 / 2048.0);
        let capped = BandwidthShare {
            of_whole_mean: 100.0,
            of_whole_aggregate: 100.0,
        };
        for aggregate in [0, 1023, 1024, 1025] {
            assert_eq!(bandwidth_share(&samples, aggregate), capped, "{aggregate}");
        }
    }

    #[test]
    fn percentiles_follow_the_rule() {
        let mut one = job(4096, 1);
        one.counters.directions[0].clat = latency(&[1_203_456]);
        let run = RunResult {
            jobs: vec![one],
            ..RunResult::default()
        };
        let value = |rule| {
            let entry = &summarise(&run, rule).entries[0];
            let found = entry.directions[0]
                .clat
                .percentiles
                .as_ref()
                .expect("percentiles");
            (found.answers[0].1, found.bins.clone())
        };
        let bins = vec![(1_204_224, 1)];
        assert_eq!(value(PercentileRule::InRange), (1_203_456, bins.clone()));
        assert_eq!(value(PercentileRule::BucketMiddle), (1_204_224, bins));
    }

    #[test]
    fn percentiles_need_their_option_and_a_histogram() {
        let mut one = job(4096, 1);
        one.counters.directions[0].clat.moments.add(5);
        one.counters.directions[0].lat = latency(&[6]);
        let read = &summary(vec![one]).entries[0].directions[0];
        assert_eq!((read.clat.samples, &read.clat.percentiles), (1, &None));
        assert_eq!((read.lat.samples, &read.lat.percentiles), (1, &None));
    }

    #[test]
    fn priorities_show_from_two_on() {
        let row = |priority, samples: &[u64]| PriorityLatency {
            priority,
            latency: latency(samples),
        };
        let mut one = job(4096, 1);
        one.counters.directions[0].clat = latency(&[1, 2, 3, 4]);
        one.counters.directions[0].priorities = vec![row(0, &[1]), row(2 << 13 | 5 << 3 | 3, &[])];
        assert!(
            summary(vec![one.clone()]).entries[0].directions[0]
                .priorities
                .is_empty()
        );
        one.counters.directions[0].priorities[1].latency = latency(&[2, 3, 4]);
        let rows = &summary(vec![one]).entries[0].directions[0].priorities;
        assert_eq!((rows[1].class, rows[1].level, rows[1].hint), (2, 3, 5));
        assert_eq!((rows[0].share_percent, rows[1].share_percent), (25.0, 75.0));
    }

    #[test]
    fn steady_state_means_are_rounded_down() {
        let state = SteadyState {
            metric: SteadyMetric::Iops,
            iops: vec![22232, 22132, 22099],
            ..SteadyState::default()
        };
        let summary = SteadySummary::of(state);
        assert_eq!((summary.iops_mean, summary.lat_mean_ns), (22154, 0));
    }
}
