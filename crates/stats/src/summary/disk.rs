//! Figures of block devices.

use crate::result::DiskResult;

/// Figures of one block device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskSummary {
    /// Its counters.
    pub disk: DiskResult,
    /// Time with I/O in flight, per cent of the time covered.
    pub util_percent: f64,
    /// Means over the devices below it, if it has any.
    pub below: Option<DiskAggregate>,
}

/// Means over the devices below another, rounded down; the utilisation is the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskAggregate {
    /// Completed reads, writes.
    pub ios: [u64; 2],
    /// Merged reads, writes.
    pub merges: [u64; 2],
    /// Sectors read, written.
    pub sectors: [u64; 2],
    /// Milliseconds spent in reads, writes.
    pub ticks: [u64; 2],
    /// Weighted milliseconds in queue.
    pub in_queue: u64,
    /// Largest utilisation, per cent.
    pub util_percent: f64,
}

pub(super) fn disks(disks: &[DiskResult]) -> Vec<DiskSummary> {
    disks
        .iter()
        .map(|disk| DiskSummary {
            disk: disk.clone(),
            util_percent: util_percent(disk),
            below: aggregate(
                disks
                    .iter()
                    .filter(|d| d.slave_of.as_ref() == Some(&disk.name)),
            ),
        })
        .collect()
}

fn aggregate<'a>(below: impl Iterator<Item = &'a DiskResult> + Clone) -> Option<DiskAggregate> {
    let count = below.clone().count() as u64;
    if count == 0 {
        return None;
    }
    let mean = |value: fn(&DiskResult) -> u64| below.clone().map(value).sum::<u64>() / count;
    Some(DiskAggregate {
        ios: [mean(|d| d.ios[0]), mean(|d| d.ios[1])],
        merges: [mean(|d| d.merges[0]), mean(|d| d.merges[1])],
        sectors: [mean(|d| d.sectors[0]), mean(|d| d.sectors[1])],
        ticks: [mean(|d| d.ticks[0]), mean(|d| d.ticks[1])],
        in_queue: mean(|d| d.in_queue),
        util_percent: below.clone().map(util_percent).fold(0.0, f64::max),
    })
}

fn util_percent(disk: &DiskResult) -> f64 {
    if disk.msec == 0 {
        return 0.0;
    }
    (100.0 * disk.io_ticks as f64 / disk.msec as f64).min(100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_below_another_are_averaged() {
        let below = |name: &str, io_ticks| DiskResult {
            name: name.into(),
            slave_of: Some("md0".into()),
            ios: [3, 5],
            io_ticks,
            msec: 1000,
            ..DiskResult::default()
        };
        let top = DiskResult {
            name: "md0".into(),
            ..DiskResult::default()
        };
        let disks = disks(&[top, below("a", 5000), below("b", 10)]);
        let aggregate = disks[0].below.expect("devices below");
        assert_eq!((aggregate.ios, aggregate.util_percent), ([3, 5], 100.0));
        assert_eq!((disks[0].util_percent, disks[2].util_percent), (0.0, 1.0));
        assert_eq!(disks[1].below, None);
    }
}
