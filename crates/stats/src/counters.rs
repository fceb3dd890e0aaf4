//! Plain, serialisable copies of what a worker counted.

use serde::{Deserialize, Serialize};

use crate::histogram::BUCKETS;

/// Exact moments of integer samples (latencies in nanoseconds).
///
/// The sums are exact, so the order of samples and merges cannot change a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// Number of samples.
    pub count: u64,
    /// Smallest sample; `u64::MAX` without samples.
    pub min: u64,
    /// Largest sample; 0 without samples.
    pub max: u64,
    /// Sum of the samples.
    pub sum: u64,
    /// Sum of the squared samples.
    pub sum_squares: u128,
}

impl Default for Moments {
    fn default() -> Self {
        Moments {
            count: 0,
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_squares: 0,
        }
    }
}

impl Moments {
    /// Adds one sample.
    pub fn add(&mut self, sample: u64) {
        self.count += 1;
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
        self.sum = self.sum.wrapping_add(sample);
        self.sum_squares += u128::from(sample) * u128::from(sample);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Moments) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.wrapping_add(other.sum);
        self.sum_squares += other.sum_squares;
    }

    /// Arithmetic mean; 0 without samples.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum as f64 / self.count as f64
        }
    }

    /// Sample standard deviation (divisor n-1); 0 with fewer than two samples.
    pub fn stddev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        // n*Σx² - (Σx)² is exact in integers where it fits 128 bits; beyond that, floats do.
        let n = u128::from(self.count);
        let sum = u128::from(self.sum);
        let spread = match (n.checked_mul(self.sum_squares), sum.checked_mul(sum)) {
            (Some(a), Some(b)) => a.saturating_sub(b) as f64 / n as f64,
            _ => (self.sum_squares as f64 - self.sum as f64 * self.mean()).max(0.0),
        };
        (spread / (self.count - 1) as f64).sqrt()
    }
}

/// Bandwidth (KiB/s) or IOPS samples of one job and direction.
///
/// Unlike [`Moments`] these are kept as mean and sum of squared deviations, since the samples of
/// jobs that are reported together are *added*, not pooled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleStats {
    /// Number of samples.
    pub count: u64,
    /// Smallest sample; `u64::MAX` without samples.
    pub min: u64,
    /// Largest sample.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Sum of squared deviations from the mean.
    pub squared_deviation: f64,
}

impl Default for SampleStats {
    fn default() -> Self {
        SampleStats {
            count: 0,
            min: u64::MAX,
            max: 0,
            mean: 0.0,
            squared_deviation: 0.0,
        }
    }
}

impl SampleStats {
    /// Adds one sample (running form).
    pub fn add(&mut self, sample: u64) {
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
        let delta = sample as f64 - self.mean;
        if delta != 0.0 {
            self.mean += delta / (self.count + 1) as f64;
            self.squared_deviation += delta * (sample as f64 - self.mean);
        }
        self.count += 1;
    }

    /// Adds the samples of a job that is reported together with this one: rates add up.
    pub fn merge_sum(&mut self, other: &SampleStats) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count += other.count;
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.squared_deviation += other.squared_deviation;
    }

    /// Sample standard deviation; 0 with fewer than two samples.
    pub fn stddev(&self) -> f64 {
        if self.count < 2 {
            0.0
        } else {
            (self.squared_deviation / (self.count - 1) as f64).sqrt()
        }
    }
}

/// A latency histogram with [`BUCKETS`] counts, or nothing if it was never filled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// A histogram of these counts; `counts` is empty or [`BUCKETS`] long.
    pub fn from_counts(counts: Vec<u64>) -> Self {
        assert!(
            counts.is_empty() || counts.len() == BUCKETS,
            "histogram of {} buckets",
            counts.len()
        );
        Histogram { counts }
    }

    /// Counts one latency.
    pub fn add(&mut self, ns: u64) {
        if self.counts.is_empty() {
            self.counts.resize(BUCKETS, 0);
        }
        self.counts[crate::histogram::bucket_of(ns)] += 1;
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// Counts per bucket; empty or [`BUCKETS`] long.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

/// One kind of latency: its moments, and its histogram where one is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Moments in nanoseconds.
    pub moments: Moments,
    /// Histogram; empty unless percentiles of this kind are wanted.
    pub histogram: Histogram,
}

impl Latency {
    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Latency) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
    }
}

/// Latency of the requests of one I/O priority.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityLatency {
    /// Priority word as `ioprio_set` takes it: class·2^13 + hint·2^3 + level.
    pub priority: u32,
    /// Total latency if the job keeps its percentiles, else completion latency.
    pub latency: Latency,
}

/// Counters of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionCounters {
    /// Bytes of successful completions.
    pub bytes: u64,
    /// Operations accepted by the engine, failed ones included.
    pub ios: u64,
    /// Partial transfers.
    pub short_ios: u64,
    /// Packets lost (network engines).
    pub drop_ios: u64,
    /// Time in I/O phases of this direction, milliseconds, rounded up.
    pub runtime_ms: u64,
    /// Submission latency.
    pub slat: Latency,
    /// Completion latency.
    pub clat: Latency,
    /// Total latency.
    pub lat: Latency,
    /// Bandwidth samples, KiB/s.
    pub bw: SampleStats,
    /// IOPS samples.
    pub iops: SampleStats,
    /// Latency by priority; empty unless the job issues more than one priority.
    pub priorities: Vec<PriorityLatency>,
}

/// CPU use of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// User time, milliseconds.
    pub usr_ms: u64,
    /// System time, milliseconds.
    pub sys_ms: u64,
    /// Voluntary and involuntary context switches.
    pub ctx: u64,
    /// Major faults.
    pub majf: u64,
    /// Minor faults.
    pub minf: u64,
}

/// Upper labels of the latency distribution's nanosecond and microsecond tables: a bucket
/// labelled L counts values below L and not below the label before.
pub const DISTRIBUTION_LABELS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Slots of the whole distribution: 10 nanosecond, 10 microsecond, 12 millisecond slots (the
/// last two are `2000` and `>=2000`).
pub const DISTRIBUTION_SLOTS: usize = 32;

/// Everything that one worker counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobCounters {
    /// Read, write, trim.
    pub directions: [DirectionCounters; 3],
    /// Sync-type operations issued.
    pub sync_ios: u64,
    /// Latency of sync-type operations.
    pub sync_lat: Latency,
    /// Requests held, per depth class 1, 2, 4, 8, 16, 32, >=64.
    pub depth_map: [u64; 7],
    /// Submissions by batch size 0, 4, 8, 16, 32, 64, >=64.
    pub submit_map: [u64; 7],
    /// Submission events.
    pub submit_total: u64,
    /// Completions by batch size.
    pub complete_map: [u64; 7],
    /// Completion events.
    pub complete_total: u64,
    /// Completion latencies by class, see [`DISTRIBUTION_LABELS`]: 10 ns, 10 µs, 12 ms slots.
    pub distribution: [u64; DISTRIBUTION_SLOTS],
    /// Whole milliseconds from the job's epoch to its end.
    pub run_time_ms: u64,
    /// CPU use since the epoch.
    pub cpu: CpuUse,
    /// Errors that were counted under `continue_on_error`.
    pub total_errors: u64,
    /// Code of the first of them.
    pub first_error: i32,
    /// Zone resets, if the engine tracks them.
    pub zone_resets: Option<u64>,
    /// Cache hits and misses reported by the device.
    pub cache_hits: u64,
    /// Cache misses reported by the device.
    pub cache_misses: u64,
}
