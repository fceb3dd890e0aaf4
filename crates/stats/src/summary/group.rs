//! Figures of report groups.

use super::per_second;
use crate::counters::DirectionCounters;
use crate::merge::Entry;
use crate::result::{RunResult, ShowSettings, UnifiedShow};

/// Figures of one report group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSummary {
    /// Read, write, trim; `None` for a direction without runtime.
    pub directions: [Option<GroupRates>; 3],
    /// The three together, if they are to be shown together as well.
    pub mixed: Option<GroupRates>,
    /// Unification, base, unit and digits as of the group's last entry.
    pub show: ShowSettings,
}

/// Bandwidth of a report group in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupRates {
    /// Bytes of all entries.
    pub bytes: u64,
    /// Those bytes per second of the longest runtime.
    pub aggregate_bw: u64,
    /// Slowest entry, bytes per second.
    pub min_bw: u64,
    /// Fastest entry, bytes per second.
    pub max_bw: u64,
    /// Shortest runtime, milliseconds.
    pub min_runtime_ms: u64,
    /// Longest runtime, milliseconds.
    pub max_runtime_ms: u64,
}

impl GroupRates {
    /// Rates of several entries in one direction; `None` if none of them has runtime.
    fn of<'a>(members: impl Iterator<Item = &'a DirectionCounters>) -> Option<Self> {
        let rates = members
            .filter(|member| member.runtime_ms > 0)
            .map(|member| {
                let bw = per_second(member.bytes, member.runtime_ms);
                GroupRates {
                    bytes: member.bytes,
                    aggregate_bw: bw,
                    min_bw: bw,
                    max_bw: bw,
                    min_runtime_ms: member.runtime_ms,
                    max_runtime_ms: member.runtime_ms,
                }
            });
        let mut all = rates.reduce(GroupRates::span)?;
        all.aggregate_bw = per_second(all.bytes, all.max_runtime_ms);
        Some(all)
    }

    /// Sums of bytes and bandwidth, extremes of the rest.
    fn span(self, other: Self) -> Self {
        GroupRates {
            bytes: self.bytes + other.bytes,
            aggregate_bw: self.aggregate_bw.saturating_add(other.aggregate_bw),
            min_bw: self.min_bw.min(other.min_bw),
            max_bw: self.max_bw.max(other.max_bw),
            min_runtime_ms: self.min_runtime_ms.min(other.min_runtime_ms),
            max_runtime_ms: self.max_runtime_ms.max(other.max_runtime_ms),
        }
    }
}

impl GroupSummary {
    fn of<'a>(members: impl Iterator<Item = &'a Entry> + Clone) -> Self {
        let direction =
            |index: usize| GroupRates::of(members.clone().map(|m| &m.counters.directions[index]));
        let directions: [_; 3] = std::array::from_fn(direction);
        let show = members
            .clone()
            .last()
            .map(|member| member.show.clone())
            .unwrap_or_default();
        let mixed = match show.unified {
            UnifiedShow::Both => directions
                .iter()
                .flatten()
                .copied()
                .reduce(GroupRates::span),
            UnifiedShow::None | UnifiedShow::Mixed => None,
        };
        GroupSummary {
            directions,
            mixed,
            show,
        }
    }

    /// Bandwidth in one direction, bytes per second; 0 without runtime.
    pub(super) fn aggregate_bw(&self, direction: usize) -> u64 {
        self.directions[direction].map_or(0, |rates| rates.aggregate_bw)
    }
}

/// All groups that a job belongs to or that lie before one.
pub(super) fn groups(run: &RunResult, entries: &[Entry]) -> Vec<GroupSummary> {
    let count = run
        .jobs
        .iter()
        .map(|job| u64::from(job.group) + 1)
        .max()
        .unwrap_or(0);
    // Groups are numbered without gaps, so there cannot be more of them than jobs.
    let count = count.min(run.jobs.len() as u64) as u32;
    (0..count)
        .map(|group| GroupSummary::of(entries.iter().filter(move |entry| entry.group == group)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{PercentileRule, Summary, summarise};
    use super::*;
    use crate::result::JobResult;

    fn job(bytes: u64, runtime_ms: u64) -> JobResult {
        let mut job = JobResult::default();
        job.counters.directions[0].bytes = bytes;
        job.counters.directions[0].runtime_ms = runtime_ms;
        job
    }

    fn summary(jobs: Vec<JobResult>) -> Summary {
        let run = RunResult {
            jobs,
            ..RunResult::default()
        };
        summarise(&run, PercentileRule::InRange)
    }

    #[test]
    fn a_group_spans_its_entries() {
        let summary = summary(vec![job(4_096_000, 1000), job(4_096_000, 1500), job(0, 0)]);
        let group = summary.groups[0].directions[0].expect("runtime");
        assert_eq!((group.min_bw, group.max_bw), (2_730_666, 4_096_000));
        assert_eq!((group.min_runtime_ms, group.max_runtime_ms), (1000, 1500));
        assert_eq!((group.bytes, group.aggregate_bw), (8_192_000, 5_461_333));
        assert_eq!(summary.groups[0].directions[1], None);
    }

    #[test]
    fn groups_without_entries_are_listed() {
        let mut jobs = vec![job(1, 1), job(1, 1), job(1, 1)];
        jobs[1].group = 1;
        jobs[1].show.stats = false;
        jobs[2].group = 2;
        let summary = summary(jobs);
        let listed: Vec<_> = summary
            .groups
            .iter()
            .map(|g| g.directions[0].is_some())
            .collect();
        assert_eq!(listed, [true, false, true]);
    }
}
