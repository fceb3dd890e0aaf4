//! Report entries: which workers are reported together, and how their counters add up.
//!
//! Without `group_reporting` every worker is an entry of its own. A worker with it joins the
//! entry before it if both belong to the same report group. Latencies pool, rates add, runtimes
//! take the longest: see `docs/statistics.md`.

use crate::counters::{CpuUse, DirectionCounters, JobCounters, PriorityLatency};
use crate::result::{
    JobError, JobResult, Message, RunResult, Severity, ShowSettings, SteadyState, UnifiedShow,
};

/// Group number of an entry that stands for a job without statistics.
pub const NO_GROUP: u32 = u32::MAX;

/// One or more workers that are reported together.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the first member; empty if the entry only stands for a job without statistics.
    pub name: String,
    /// Description of the first member.
    pub description: Option<String>,
    /// Report group, or [`NO_GROUP`].
    pub group: u32,
    /// Members.
    pub members: u32,
    /// Process or thread id of the first member.
    pub pid: u32,
    /// Wall clock of the first member's epoch, milliseconds.
    pub job_start_ms: u64,
    /// Recorded options of the last member.
    pub options: Vec<(String, String)>,
    /// Bases, digits and unification as of the first member, the rest as of the last.
    pub show: ShowSettings,
    /// Merged counters. With [`UnifiedShow::Mixed`] all directions are in the first.
    pub counters: JobCounters,
    /// Error of the first member that has one.
    pub error: Option<JobError>,
    /// Steady state of the last member.
    pub steady_state: Option<SteadyState>,
    /// Remaining seconds of the first member.
    pub eta_s: i64,
    /// Seconds since the run's start.
    pub elapsed_s: u64,
    /// Priority word of the members while all of them have the same one.
    priority: u32,
    /// The members' priorities differ, so latencies are also kept by priority.
    by_priority: bool,
}

/// The report entries of a run in job order.
///
/// A job without statistics (`stats=0`) is left out. If it is not reported with its group it
/// still leaves an empty entry at the end, so that readers find as many entries as they expect.
pub fn entries(run: &RunResult) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut empty = Vec::new();
    for job in &run.jobs {
        if !job.show.stats {
            if !job.show.group_reporting {
                empty.push(Entry::empty(job));
            }
            continue;
        }
        match entries.last_mut() {
            Some(entry) if entry.takes(job) => entry.merge(job),
            _ => entries.push(Entry::of(job)),
        }
    }
    for entry in &mut entries {
        entry.unify();
    }
    entries.append(&mut empty);
    entries
}

/// Notes about members of one entry that count in different bases or units: the entry is shown
/// in those of its first member.
pub fn base_notes(run: &RunResult) -> Vec<Message> {
    let mut notes = Vec::new();
    let mut first: Option<&JobResult> = None;
    for job in run.jobs.iter().filter(|job| job.show.stats) {
        let Some(head) = first.filter(|head| job.show.group_reporting && head.group == job.group)
        else {
            first = Some(job);
            continue;
        };
        let (show, theirs) = (&head.show, &job.show);
        for (option, ours, other) in [
            ("kb_base", show.kb_base, theirs.kb_base),
            ("unit_base", show.unit_base, theirs.unit_base),
        ] {
            if ours == other {
                continue;
            }
            notes.push(Message {
                severity: Severity::Note,
                job: Some(job.name.clone()),
                text: format!(
                    "{option}={other} differs from {option}={ours} of job '{}' in the same \
                     report group {}; the group is shown with {option}={ours}",
                    head.name, head.group
                ),
            });
        }
    }
    notes
}

impl Entry {
    fn of(job: &JobResult) -> Self {
        Entry {
            name: job.name.clone(),
            description: job.description.clone(),
            group: job.group,
            members: 1,
            pid: job.pid,
            job_start_ms: job.job_start_ms,
            options: job.options.clone(),
            show: job.show.clone(),
            counters: job.counters.clone(),
            error: reported_error(job),
            steady_state: job.steady_state.clone(),
            eta_s: job.eta_s,
            elapsed_s: job.elapsed_s,
            priority: job.priority,
            by_priority: has_priorities(&job.counters),
        }
    }

    /// The entry that stands for a job without statistics.
    fn empty(job: &JobResult) -> Self {
        let show = ShowSettings {
            clat_percentiles: false,
            percentiles: Vec::new(),
            latency_depth: 0,
            ..ShowSettings::default()
        };
        let nameless = JobResult {
            group: NO_GROUP,
            show,
            eta_s: job.eta_s,
            elapsed_s: job.elapsed_s,
            ..JobResult::default()
        };
        Entry::of(&nameless)
    }

    /// The job is reported as part of this entry.
    fn takes(&self, job: &JobResult) -> bool {
        job.show.group_reporting && self.group == job.group
    }

    fn merge(&mut self, job: &JobResult) {
        self.members += 1;
        self.options.clone_from(&job.options);
        self.steady_state.clone_from(&job.steady_state);
        self.error = self.error.take().or_else(|| reported_error(job));
        self.merge_priorities(job);
        self.show = ShowSettings {
            significant_figures: self.show.significant_figures,
            kb_base: self.show.kb_base,
            unit_base: self.show.unit_base,
            unified: self.show.unified,
            ..job.show.clone()
        };
        self.counters.merge(&job.counters);
    }

    /// Splits the latencies by priority as soon as two members differ.
    fn merge_priorities(&mut self, job: &JobResult) {
        let differs = self.priority != job.priority || has_priorities(&job.counters);
        if !self.by_priority && !differs {
            return;
        }
        if !self.by_priority {
            self.by_priority = true;
            for direction in &mut self.counters.directions {
                direction.priorities =
                    priority_rows(direction, self.priority, self.show.lat_percentiles);
            }
        }
        for (mine, theirs) in self
            .counters
            .directions
            .iter_mut()
            .zip(&job.counters.directions)
        {
            // A job's own rows come with its counters.
            if theirs.priorities.is_empty() {
                let rows = priority_rows(theirs, job.priority, job.show.lat_percentiles);
                merge_rows(&mut mine.priorities, &rows);
            }
        }
    }

    /// With [`UnifiedShow::Mixed`], moves all directions into the first.
    fn unify(&mut self) {
        if self.show.unified == UnifiedShow::Mixed {
            let mixed = self.counters.all_directions();
            self.counters.directions = [mixed, Default::default(), Default::default()];
        }
    }
}

/// The error to report for a job: its own, else the first one that it counted and went on after.
fn reported_error(job: &JobResult) -> Option<JobError> {
    if job.error.is_some() || !job.show.continue_on_error || job.counters.total_errors == 0 {
        return job.error.clone();
    }
    Some(JobError {
        code: job.counters.first_error,
        text: job.last_ignored_error.clone().unwrap_or_default(),
    })
}

fn has_priorities(counters: &JobCounters) -> bool {
    counters
        .directions
        .iter()
        .any(|direction| !direction.priorities.is_empty())
}

/// The latencies of a direction by priority; all under `priority` if they were not kept apart.
fn priority_rows(
    direction: &DirectionCounters,
    priority: u32,
    total_latency: bool,
) -> Vec<PriorityLatency> {
    let latency = if total_latency {
        &direction.lat
    } else {
        &direction.clat
    };
    if !direction.priorities.is_empty() {
        direction.priorities.clone()
    } else if latency.moments.count > 0 {
        vec![PriorityLatency {
            priority,
            latency: latency.clone(),
        }]
    } else {
        Vec::new()
    }
}

/// Adds the samples of `others` to the rows of the same priority; new priorities go to the end.
fn merge_rows(rows: &mut Vec<PriorityLatency>, others: &[PriorityLatency]) {
    for other in others {
        match rows.iter_mut().find(|row| row.priority == other.priority) {
            Some(row) => row.latency.merge(&other.latency),
            None => rows.push(other.clone()),
        }
    }
}

impl DirectionCounters {
    /// Adds what another worker or direction counted at the same time.
    pub fn merge(&mut self, other: &DirectionCounters) {
        self.bytes += other.bytes;
        self.ios += other.ios;
        self.short_ios += other.short_ios;
        self.drop_ios += other.drop_ios;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.slat.merge(&other.slat);
        self.clat.merge(&other.clat);
        self.lat.merge(&other.lat);
        self.bw.merge_sum(&other.bw);
        self.iops.merge_sum(&other.iops);
        merge_rows(&mut self.priorities, &other.priorities);
    }
}

impl JobCounters {
    /// Adds what another worker counted. Run times add too, so that shares of them (the CPU's)
    /// are means over the workers.
    pub fn merge(&mut self, other: &JobCounters) {
        for (mine, theirs) in self.directions.iter_mut().zip(&other.directions) {
            mine.merge(theirs);
        }
        self.sync_ios += other.sync_ios;
        self.sync_lat.merge(&other.sync_lat);
        add_each(&mut self.depth_map, &other.depth_map);
        add_each(&mut self.submit_map, &other.submit_map);
        add_each(&mut self.complete_map, &other.complete_map);
        add_each(&mut self.distribution, &other.distribution);
        self.submit_total += other.submit_total;
        self.complete_total += other.complete_total;
        self.run_time_ms += other.run_time_ms;
        self.cpu.merge(&other.cpu);
        if other.total_errors > 0 {
            self.first_error = other.first_error;
        }
        self.total_errors += other.total_errors;
        if let Some(resets) = other.zone_resets {
            self.zone_resets = Some(self.zone_resets.unwrap_or(0) + resets);
        }
        self.cache_hits += other.cache_hits;
        self.cache_misses += other.cache_misses;
    }

    /// Reads, writes and trims merged.
    pub fn all_directions(&self) -> DirectionCounters {
        let mut all = DirectionCounters::default();
        for direction in &self.directions {
            all.merge(direction);
        }
        all
    }
}

impl CpuUse {
    /// Adds the use of another worker.
    pub fn merge(&mut self, other: &CpuUse) {
        self.usr_ms += other.usr_ms;
        self.sys_ms += other.sys_ms;
        self.ctx += other.ctx;
        self.majf += other.majf;
        self.minf += other.minf;
    }
}

fn add_each(mine: &mut [u64], theirs: &[u64]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine += theirs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Latency, SampleStats};

    fn job(name: &str, group: u32, group_reporting: bool) -> JobResult {
        JobResult {
            name: name.into(),
            group,
            show: ShowSettings {
                group_reporting,
                ..ShowSettings::default()
            },
            ..JobResult::default()
        }
    }

    fn run(jobs: Vec<JobResult>) -> RunResult {
        RunResult {
            jobs,
            ..RunResult::default()
        }
    }

    fn members(run: &RunResult) -> Vec<(String, u32)> {
        entries(run)
            .into_iter()
            .map(|entry| (entry.name, entry.members))
            .collect()
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
    fn a_job_joins_the_entry_before_it_in_its_group() {
        let jobs = vec![
            job("a", 0, true),
            job("b", 0, false),
            job("c", 0, true),
            job("d", 1, true),
            job("e", 1, true),
        ];
        let expected = [("a", 1), ("b", 2), ("d", 2)].map(|(name, n)| (name.to_string(), n));
        assert_eq!(members(&run(jobs)), expected);
    }

    #[test]
    fn a_job_without_statistics_leaves_an_empty_entry_at_the_end() {
        let mut jobs = vec![job("a", 0, false), job("b", 0, false), job("c", 0, true)];
        jobs[0].show.stats = false;
        jobs[0].elapsed_s = 7;
        jobs[2].show.stats = false;
        let entries = entries(&run(jobs));
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].name, "b");
        assert_eq!((entries[1].name.as_str(), entries[1].group), ("", NO_GROUP));
        assert_eq!(
            (entries[1].elapsed_s, entries[1].show.latency_depth),
            (7, 0)
        );
    }

    #[test]
    fn settings_come_from_the_first_or_the_last_member() {
        let (mut first, mut last) = (job("a", 0, true), job("b", 0, true));
        first.show.kb_base = 1000;
        first.pid = 11;
        last.pid = 12;
        last.options = vec![("rw".into(), "read".into())];
        last.show.percentiles = vec![50.0];
        last.show.latency_depth = 9;
        let entries = entries(&run(vec![first, last]));
        let entry = &entries[0];
        assert_eq!((entry.show.kb_base, entry.pid), (1000, 11));
        assert_eq!(
            (entry.show.latency_depth, entry.show.percentiles.len()),
            (9, 1)
        );
        assert_eq!(entry.options.len(), 1);
    }

    #[test]
    fn latencies_pool_rates_add_and_the_longest_runtime_counts() {
        let member = |ns: &[u64], runtime_ms, rate| {
            let mut bw = SampleStats::default();
            bw.add(rate);
            bw.add(rate + 2);
            let clat = latency(ns);
            let mut counters = JobCounters {
                run_time_ms: runtime_ms,
                ..JobCounters::default()
            };
            counters.directions[0] = DirectionCounters {
                bytes: 10,
                runtime_ms,
                clat,
                bw,
                ..Default::default()
            };
            JobResult {
                counters,
                ..job("a", 0, true)
            }
        };
        let jobs = vec![member(&[1, 3], 100, 5), member(&[8], 300, 7)];
        let merged = &entries(&run(jobs))[0].counters;
        let read = &merged.directions[0];
        assert_eq!(
            (read.bytes, read.runtime_ms, merged.run_time_ms),
            (20, 300, 400)
        );
        assert_eq!(
            (read.clat.moments.count, read.clat.moments.mean()),
            (3, 4.0)
        );
        assert_eq!((read.clat.moments.min, read.clat.moments.max), (1, 8));
        assert_eq!(read.clat.histogram.counts().iter().sum::<u64>(), 3);
        assert_eq!(
            (read.bw.count, read.bw.min, read.bw.max, read.bw.mean),
            (4, 12, 16, 14.0)
        );
    }

    #[test]
    fn mixed_moves_everything_into_one_direction() {
        let mut mixed = job("a", 0, false);
        mixed.show.unified = UnifiedShow::Mixed;
        for (direction, bytes) in [(0, 5), (1, 6), (2, 7)] {
            mixed.counters.directions[direction].bytes = bytes;
        }
        let entry = &entries(&run(vec![mixed]))[0];
        assert_eq!(
            entry.counters.directions.each_ref().map(|d| d.bytes),
            [18, 0, 0]
        );
    }

    #[test]
    fn the_first_error_is_reported() {
        let (mut first, mut second, mut third) =
            (job("a", 0, true), job("b", 0, true), job("c", 0, true));
        first.counters.total_errors = 0;
        second.show.continue_on_error = true;
        second.counters.total_errors = 3;
        second.counters.first_error = 5;
        second.last_ignored_error = Some("text".into());
        third.error = Some(JobError {
            code: 28,
            text: "full".into(),
        });
        let entry = &entries(&run(vec![first, second, third]))[0];
        assert_eq!(
            entry.error,
            Some(JobError {
                code: 5,
                text: "text".into()
            })
        );
        assert_eq!(
            (entry.counters.total_errors, entry.counters.first_error),
            (3, 5)
        );
    }

    #[test]
    fn members_of_different_priority_are_kept_apart() {
        let member = |priority, ns: &[u64]| {
            let mut member = job("a", 0, true);
            member.priority = priority;
            member.counters.directions[0].clat = latency(ns);
            member
        };
        let jobs = vec![
            member(1, &[5]),
            member(1, &[6]),
            member(2, &[7, 8]),
            member(1, &[9]),
        ];
        let entries = entries(&run(jobs));
        let rows = &entries[0].counters.directions[0].priorities;
        let rows: Vec<_> = rows
            .iter()
            .map(|r| (r.priority, r.latency.moments.count))
            .collect();
        assert_eq!(rows, [(1, 3), (2, 2)]);
        assert!(entries[0].counters.directions[1].priorities.is_empty());
    }

    #[test]
    fn members_of_one_priority_are_not_kept_apart() {
        let jobs = vec![job("a", 0, true), job("a", 0, true)];
        assert!(!entries(&run(jobs))[0].by_priority);
    }

    #[test]
    fn rows_of_a_member_are_counted_once() {
        let mut member = job("a", 0, true);
        member.counters.directions[0].clat = latency(&[5, 6]);
        member.counters.directions[0].priorities = vec![
            PriorityLatency {
                priority: 0,
                latency: latency(&[5]),
            },
            PriorityLatency {
                priority: 9,
                latency: latency(&[6]),
            },
        ];
        let entries = entries(&run(vec![member.clone(), member]));
        let rows = &entries[0].counters.directions[0].priorities;
        let rows: Vec<_> = rows
            .iter()
            .map(|r| (r.priority, r.latency.moments.count))
            .collect();
        assert_eq!(rows, [(0, 2), (9, 2)]);
    }

    #[test]
    fn different_bases_in_one_entry_are_noted() {
        let (mut first, second) = (job("a", 0, true), job("b", 0, true));
        first.show.kb_base = 1000;
        let notes = base_notes(&run(vec![first.clone(), second.clone()]));
        assert_eq!(notes.len(), 1);
        assert!(
            notes[0]
                .text
                .contains("kb_base=1024 differs from kb_base=1000")
        );
        let apart = JobResult { group: 1, ..second };
        assert!(base_notes(&run(vec![first, apart])).is_empty());
    }
}
