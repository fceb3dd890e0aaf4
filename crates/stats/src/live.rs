//! The counters that a worker writes while it runs.
//!
//! They lie in memory that the supervisor reads at any time. There is one writer, so every
//! update is a relaxed load and a relaxed store (plain moves, no locked instruction). All-zero
//! memory is the valid initial state. A reader that copies while the worker runs may see one
//! sample in some counters and not yet in others; after the worker's end all agree.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::counters::{
    DISTRIBUTION_LABELS, DISTRIBUTION_SLOTS, Histogram, JobCounters, Latency, Moments,
};
use crate::histogram::{BUCKETS, bucket_of};

/// A counter with one writer.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The present value.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Replaces the value.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Adds, wrapping. Only the single writer may call this.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        self.set(self.get().wrapping_add(value));
    }
}

/// [`Moments`] being taken.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LiveMoments {
    count: Counter,
    /// Complement of the minimum, so that zero means "none yet".
    min_complement: Counter,
    max: Counter,
    sum: Counter,
    squares_low: Counter,
    squares_high: Counter,
}

impl LiveMoments {
    /// Adds one sample.
    #[inline(always)]
    pub fn record(&self, sample: u64) {
        self.count.add(1);
        if !sample > self.min_complement.get() {
            self.min_complement.set(!sample);
        }
        if sample > self.max.get() {
            self.max.set(sample);
        }
        self.sum.add(sample);
        let square = u128::from(sample) * u128::from(sample);
        let (low, carry) = self.squares_low.get().overflowing_add(square as u64);
        self.squares_low.set(low);
        let high = (square >> 64) as u64 + u64::from(carry);
        if high != 0 {
            self.squares_high.add(high);
        }
    }

    fn reset(&self) {
        for counter in [
            &self.count,
            &self.min_complement,
            &self.max,
            &self.sum,
            &self.squares_low,
            &self.squares_high,
        ] {
            counter.set(0);
        }
    }

    /// A copy.
    pub fn snapshot(&self) -> Moments {
        Moments {
            count: self.count.get(),
            min: !self.min_complement.get(),
            max: self.max.get(),
            sum: self.sum.get(),
            sum_squares: u128::from(self.squares_high.get()) << 64
                | u128::from(self.squares_low.get()),
        }
    }
}

/// A histogram being filled.
#[derive(Debug)]
#[repr(C)]
pub struct LiveHistogram {
    counts: [Counter; BUCKETS],
}

impl LiveHistogram {
    /// Counts one sample that belongs to `bucket`.
    #[inline(always)]
    pub fn count(&self, bucket: usize) {
        self.counts[bucket].add(1);
    }

    fn reset(&self) {
        // Untouched pages stay untouched: only write where something was counted.
        for counter in self.counts.iter().filter(|c| c.get() != 0) {
            counter.set(0);
        }
    }

    fn snapshot(&self) -> Histogram {
        Histogram::from_counts(self.counts.iter().map(Counter::get).collect())
    }
}

/// Counters of one direction.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LiveDirection {
    /// Bytes of successful completions.
    pub bytes: Counter,
    /// Operations accepted by the engine.
    pub ios: Counter,
    /// Operations completed (sampled by the supervisor for IOPS).
    pub completed: Counter,
    /// Partial transfers.
    pub short_ios: Counter,
    /// Microseconds of finished I/O phases.
    pub runtime_us: Counter,
    /// Submission latency.
    pub slat: LiveMoments,
    /// Completion latency.
    pub clat: LiveMoments,
    /// Total latency.
    pub lat: LiveMoments,
}

/// Which histograms of a job are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistogramsKept {
    /// `slat_percentiles`.
    pub slat: bool,
    /// `clat_percentiles`.
    pub clat: bool,
    /// `lat_percentiles`.
    pub lat: bool,
}

/// All statistics of one worker.
#[derive(Debug)]
#[repr(C)]
pub struct WorkerStats {
    /// Read, write, trim.
    pub directions: [LiveDirection; 3],
    /// Sync-type operations issued.
    pub sync_ios: Counter,
    /// Latency of sync-type operations.
    pub sync_lat: LiveMoments,
    /// Requests held, by depth class.
    pub depth_map: [Counter; 7],
    /// Submissions by batch size.
    pub submit_map: [Counter; 7],
    /// Submission events.
    pub submit_total: Counter,
    /// Completions by batch size.
    pub complete_map: [Counter; 7],
    /// Completion events.
    pub complete_total: Counter,
    /// Completion latencies by class.
    pub distribution: [Counter; DISTRIBUTION_SLOTS],
    /// Errors counted under `continue_on_error`.
    pub total_errors: Counter,
    /// Code of the first of them.
    pub first_error: Counter,
    /// Completion latency histograms.
    pub clat_histograms: [LiveHistogram; 3],
    /// Submission latency histograms.
    pub slat_histograms: [LiveHistogram; 3],
    /// Total latency histograms.
    pub lat_histograms: [LiveHistogram; 3],
    /// Sync latency histogram.
    pub sync_histogram: LiveHistogram,
}

impl WorkerStats {
    /// Records one completion latency: moments, histogram if kept, distribution.
    #[inline(always)]
    pub fn record_clat(&self, direction: usize, ns: u64, histogram: bool) {
        let bucket = bucket_of(ns);
        self.directions[direction].clat.record(ns);
        if histogram {
            self.clat_histograms[direction].count(bucket);
        }
        self.distribution[distribution_slot(bucket, ns)].add(1);
    }

    /// Records a completion latency that an engine has measured in its own way: moments, and the
    /// histogram if kept. The distribution of the job's operations leaves it out, as in fio.
    pub fn record_own_clat(&self, direction: usize, ns: u64, histogram: bool) {
        self.directions[direction].clat.record(ns);
        if histogram {
            self.clat_histograms[direction].count(bucket_of(ns));
        }
    }

    /// Records one submission latency.
    #[inline(always)]
    pub fn record_slat(&self, direction: usize, ns: u64, histogram: bool) {
        self.directions[direction].slat.record(ns);
        if histogram {
            self.slat_histograms[direction].count(bucket_of(ns));
        }
    }

    /// Records one total latency.
    #[inline(always)]
    pub fn record_lat(&self, direction: usize, ns: u64, histogram: bool) {
        self.directions[direction].lat.record(ns);
        if histogram {
            self.lat_histograms[direction].count(bucket_of(ns));
        }
    }

    /// Records the latency of a sync-type operation.
    pub fn record_sync(&self, ns: u64) {
        self.sync_lat.record(ns);
        self.sync_histogram.count(bucket_of(ns));
    }

    /// Adds `count` requests to the depth class of a job that holds `held` (at least 1).
    #[inline(always)]
    pub fn record_depth(&self, held: u32, count: u64) {
        self.depth_map[(held.max(1).ilog2() as usize).min(6)].add(count);
    }

    /// Counts one submission of `batch` requests.
    #[inline(always)]
    pub fn record_submit(&self, batch: u32) {
        self.submit_map[batch_slot(batch)].add(1);
        self.submit_total.add(1);
    }

    /// Counts one reaping call that yielded `batch` completions.
    #[inline(always)]
    pub fn record_complete(&self, batch: u32) {
        self.complete_map[batch_slot(batch)].add(1);
        self.complete_total.add(1);
    }

    /// Forgets everything but the error counts: the ramp has ended.
    pub fn reset_after_ramp(&self) {
        for direction in &self.directions {
            for counter in [
                &direction.bytes,
                &direction.ios,
                &direction.completed,
                &direction.short_ios,
                &direction.runtime_us,
            ] {
                counter.set(0);
            }
            direction.slat.reset();
            direction.clat.reset();
            direction.lat.reset();
        }
        self.sync_ios.set(0);
        self.sync_lat.reset();
        let maps = self
            .depth_map
            .iter()
            .chain(&self.submit_map)
            .chain(&self.complete_map);
        for counter in maps.chain(&self.distribution) {
            counter.set(0);
        }
        self.submit_total.set(0);
        self.complete_total.set(0);
        let histograms = self.clat_histograms.iter().chain(&self.slat_histograms);
        for histogram in histograms.chain(&self.lat_histograms) {
            histogram.reset();
        }
        self.sync_histogram.reset();
    }

    /// A copy of all counters. Runtime, CPU use and sampled rates are the caller's to add.
    pub fn snapshot(&self, kept: HistogramsKept) -> JobCounters {
        let mut counters = JobCounters::default();
        for (index, live) in self.directions.iter().enumerate() {
            let latency = |moments: &LiveMoments, histograms: &[LiveHistogram; 3], kept: bool| {
                let moments = moments.snapshot();
                let wanted = kept && moments.count > 0;
                let histogram = if wanted {
                    histograms[index].snapshot()
                } else {
                    Histogram::default()
                };
                Latency { moments, histogram }
            };
            let direction = &mut counters.directions[index];
            direction.bytes = live.bytes.get();
            direction.ios = live.ios.get();
            direction.short_ios = live.short_ios.get();
            direction.runtime_ms = live.runtime_us.get().div_ceil(1000);
            direction.slat = latency(&live.slat, &self.slat_histograms, kept.slat);
            direction.clat = latency(&live.clat, &self.clat_histograms, kept.clat);
            direction.lat = latency(&live.lat, &self.lat_histograms, kept.lat);
        }
        counters.sync_ios = self.sync_ios.get();
        counters.sync_lat.moments = self.sync_lat.snapshot();
        if counters.sync_lat.moments.count > 0 {
            counters.sync_lat.histogram = self.sync_histogram.snapshot();
        }
        counters.depth_map = copy(&self.depth_map);
        counters.submit_map = copy(&self.submit_map);
        counters.complete_map = copy(&self.complete_map);
        counters.distribution = copy(&self.distribution);
        counters.submit_total = self.submit_total.get();
        counters.complete_total = self.complete_total.get();
        counters.total_errors = self.total_errors.get();
        counters.first_error = self.first_error.get() as i32;
        counters
    }
}

fn copy<const N: usize>(counters: &[Counter; N]) -> [u64; N] {
    std::array::from_fn(|i| counters[i].get())
}

/// Slot of the submit and complete maps for a batch of `n`.
#[inline(always)]
fn batch_slot(n: u32) -> usize {
    match n {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        9..=16 => 3,
        17..=32 => 4,
        33..=64 => 5,
        _ => 6,
    }
}

/// Slot of a latency in the distribution; `bucket` is its histogram bucket.
///
/// A bucket holds at most one class boundary, so its first slot and that boundary decide.
#[inline(always)]
pub fn distribution_slot(bucket: usize, ns: u64) -> usize {
    SLOTS.first[bucket] as usize + usize::from(ns >= SLOTS.boundary[bucket])
}

struct SlotTable {
    first: [u8; BUCKETS],
    boundary: [u64; BUCKETS],
}

static SLOTS: SlotTable = slot_table();

const fn slot_table() -> SlotTable {
    let mut table = SlotTable {
        first: [0; BUCKETS],
        boundary: [u64::MAX; BUCKETS],
    };
    let mut bucket = 0;
    while bucket < BUCKETS {
        let low = bucket_low(bucket);
        let first = slot_of(low);
        table.first[bucket] = first as u8;
        if bucket + 1 < BUCKETS {
            let next = bucket_low(bucket + 1);
            let mut ns = slot_upper(first);
            if ns >= next {
                ns = u64::MAX;
            }
            table.boundary[bucket] = ns;
        }
        bucket += 1;
    }
    table
}

/// Smallest latency that a bucket counts.
const fn bucket_low(bucket: usize) -> u64 {
    if bucket < 128 {
        return bucket as u64;
    }
    let exponent = bucket / 64 - 1;
    ((64 + bucket % 64) as u64) << exponent
}

/// Slot of a latency by the definition of the classes.
const fn slot_of(ns: u64) -> usize {
    let mut slot = 0;
    while slot < DISTRIBUTION_SLOTS - 1 && ns >= slot_upper(slot) {
        slot += 1;
    }
    slot
}

/// First latency behind a slot.
const fn slot_upper(slot: usize) -> u64 {
    match slot {
        0..10 => DISTRIBUTION_LABELS[slot],
        10..20 => DISTRIBUTION_LABELS[slot - 10] * 1000,
        20..30 => DISTRIBUTION_LABELS[slot - 20] * 1_000_000,
        30 => 2_000_000_000,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_table_agrees_with_the_classes() {
        let mut values: Vec<u64> = (0..5000).collect();
        for slot in 0..DISTRIBUTION_SLOTS - 1 {
            let edge = slot_upper(slot);
            values.extend([edge - 1, edge, edge + 1]);
        }
        values.extend((0..64).map(|shift| 1u64 << shift));
        for ns in values {
            assert_eq!(distribution_slot(bucket_of(ns), ns), slot_of(ns), "{ns} ns");
        }
    }

    #[test]
    fn classes_follow_the_labels() {
        // Below the label, at or above the one before.
        for (ns, slot) in [
            (0, 0),
            (1, 0),
            (2, 1),
            (9, 2),
            (999, 9),
            (1000, 10),
            (1999, 10),
        ] {
            assert_eq!(slot_of(ns), slot, "{ns} ns");
        }
        assert_eq!(slot_of(999_999), 19);
        assert_eq!(slot_of(1_000_000), 20);
        assert_eq!(slot_of(1_999_999_999), 30);
        assert_eq!(slot_of(2_000_000_000), 31);
        assert_eq!(slot_of(u64::MAX), 31);
    }

    #[test]
    fn live_moments_equal_plain_moments() {
        let (live, mut plain) = (LiveMoments::default(), Moments::default());
        assert_eq!(live.snapshot(), plain);
        for sample in [7, 0, u64::from(u32::MAX) * 3, 1 << 40, 12345, 1 << 41] {
            live.record(sample);
            plain.add(sample);
        }
        assert_eq!(live.snapshot(), plain);
    }
}
