//! The normal report: the one that people read.

use ferrio_stats::summary::{
    DirectionSummary, DiskSummary, EntrySummary, GroupRates, GroupSummary, RateSummary,
    SteadySummary, summarise,
};
use ferrio_stats::{CpuIdle, RunResult, ShowSettings, SteadyMetric, UnifiedShow};

use crate::normal_latency::{distribution, latency_line, percentile_block};
use crate::number::{Unit, is_binary, scaled};
use crate::{RenderOptions, date};

/// Renders a run for people. The text begins with an empty line; a run without jobs has none.
///
/// Entries without I/O are left out, report groups are not.
pub fn normal(run: &RunResult, options: &RenderOptions) -> String {
    if run.jobs.is_empty() {
        return String::new();
    }
    let summary = summarise(run, options.percentiles);
    let date = date(run.timestamp_ms, &options.zone);
    let mut text = String::from("\n");
    for entry in summary.entries.iter().filter(|entry| entry.has_io()) {
        text += &entry_block(entry, &date);
    }
    for (number, group) in summary.groups.iter().enumerate() {
        text += &group_block(number, group);
    }
    text += &disk_block(&summary.disks);
    if let Some(idle) = &summary.cpu_idle {
        text += &idle_block(idle);
    }
    text
}

fn entry_block(summary: &EntrySummary, date: &str) -> String {
    let entry = &summary.entry;
    let mut text = header(summary, date);
    if let Some(description) = &entry.description {
        text += &format!("  Description  : [{description}]\n");
    }
    text += &direction_blocks(summary);
    text += &distribution(&summary.distribution_percent);
    if summary.sync.samples > 0 {
        text += "  fsync/fdatasync/sync_file_range/syncfs:\n";
        text += &latency_line("sync", &summary.sync);
        text += &percentile_block("sync", &summary.sync, entry.show.percentile_precision);
    }
    text += &usage_lines(summary);
    if entry.show.continue_on_error {
        text += &format!(
            "     errors    : total={}, first_error={}/<{}>\n",
            entry.counters.total_errors,
            entry.counters.first_error,
            ferrio_stats::error_text(entry.counters.first_error)
        );
    }
    if entry.show.latency_depth != 0 {
        text += &target_line(&entry.show);
    }
    if let Some(state) = &summary.steady_state {
        text += &steady_line(state, &entry.show);
    }
    text
}

fn header(summary: &EntrySummary, date: &str) -> String {
    let entry = &summary.entry;
    let error = match &entry.error {
        Some(error) => format!("{:2} ({})", error.code, error.text),
        None => " 0".to_string(),
    };
    let (name, group, members, pid) = (&entry.name, entry.group, entry.members, entry.pid);
    format!("{name}: (groupid={group}, jobs={members}): err={error}: pid={pid}: {date}\n")
}

/// Read, write and trim, or one block for all; with both the merged one follows.
fn direction_blocks(summary: &EntrySummary) -> String {
    let show = &summary.entry.show;
    let names = match show.unified {
        UnifiedShow::Mixed => ["mixed", "", ""],
        UnifiedShow::None | UnifiedShow::Both => ["read", "write", "trim"],
    };
    let mut text = String::new();
    for (index, (name, figures)) in names.into_iter().zip(&summary.directions).enumerate() {
        let note = device_note(summary, index == 0);
        text += &direction_block(name, figures, show, &note);
    }
    if let Some(mixed) = &summary.mixed {
        // The merged copy has never had a bandwidth unit; readers match it as it is.
        let unitless = ShowSettings {
            unit_base: 0,
            ..show.clone()
        };
        text += &direction_block("mixed", mixed, &unitless, "");
    }
    text
}

/// What the device reported, at the end of a direction's first line.
fn device_note(summary: &EntrySummary, is_read: bool) -> String {
    let counters = &summary.entry.counters;
    if let Some(resets) = counters.zone_resets {
        return format!("; {resets} zone resets");
    }
    match summary.cache_hit_percent {
        Some(percent) if is_read && counters.cache_hits > 0 && counters.cache_misses > 0 => {
            format!("; Cachehit={percent:.2}%")
        }
        _ => String::new(),
    }
}

fn direction_block(
    name: &str,
    figures: &DirectionSummary,
    show: &ShowSettings,
    note: &str,
) -> String {
    if figures.bytes == 0 || figures.runtime_ms == 0 {
        return String::new();
    }
    let sizes = Sizes::of(show);
    let mut text = format!(
        "  {name}: IOPS={}, BW={}({}/{}msec){note}\n",
        scaled(
            figures.iops_whole,
            show.significant_figures,
            1,
            false,
            Unit::None
        ),
        sizes.bandwidths(figures.bw_bytes),
        sizes.total(figures.bytes),
        figures.runtime_ms,
    );
    let kinds = [
        ("slat", &figures.slat),
        ("clat", &figures.clat),
        (" lat", &figures.lat),
    ];
    for (kind, latency) in kinds {
        text += &latency_line(kind, latency);
    }
    let kind = if show.lat_percentiles { "lat" } else { "clat" };
    let priorities: Vec<_> = figures
        .priorities
        .iter()
        .map(|row| {
            (
                format!("{kind} prio {}/{}/{}", row.class, row.level, row.hint),
                row,
            )
        })
        .collect();
    for (name, row) in &priorities {
        text += &latency_line(name, &row.latency);
    }
    let precision = show.percentile_precision;
    for (kind, latency) in kinds {
        text += &percentile_block(kind.trim_start(), latency, precision);
    }
    for (name, row) in &priorities {
        let name = format!("{name} ({:.2}% of IOs)", row.share_percent);
        text += &percentile_block(&name, &row.latency, precision);
    }
    text += &bandwidth_line(figures, show.kb_base);
    text += &iops_line(&figures.iops_samples);
    text
}

/// Sampled bandwidth, in KiB/s or, from 1024 MiB/s (1000 in base 1000) on, in a base more.
fn bandwidth_line(figures: &DirectionSummary, kb_base: u32) -> String {
    let bw = &figures.bw_samples;
    if bw.samples == 0 {
        return String::new();
    }
    let base = u64::from(kb_base.max(1));
    let (unit, divisor) = if bw.mean > (base * base) as f64 {
        ("MiB", base)
    } else if is_binary(kb_base) {
        ("KiB", 1)
    } else {
        ("kB", 1)
    };
    format!(
        "   bw ({unit:>5}/s): min={:5}, max={:5}, per={:.2}%, avg={:5.2}, stdev={:5.2}, \
         samples={}\n",
        bw.min / divisor,
        bw.max / divisor,
        figures.bw_share.of_whole_mean,
        bw.mean / divisor as f64,
        bw.stddev / divisor as f64,
        bw.samples
    )
}

fn iops_line(iops: &RateSummary) -> String {
    if iops.samples == 0 {
        return String::new();
    }
    format!(
        "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}\n",
        iops.min, iops.max, iops.mean, iops.stddev, iops.samples
    )
}

/// CPU, depth, submit, complete and issued lines.
fn usage_lines(summary: &EntrySummary) -> String {
    let counters = &summary.entry.counters;
    let cpu = &counters.cpu;
    let mut text = format!(
        "  cpu          : usr={:.2}%, sys={:.2}%, ctx={}, majf={}, minf={}\n",
        summary.usr_percent, summary.sys_percent, cpu.ctx, cpu.majf, cpu.minf
    );
    let depths = ["1", "2", "4", "8", "16", "32", ">=64"];
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    for (title, labels, shares) in [
        ("  IO depths    ", depths, summary.depth_percent),
        ("     submit    ", batches, summary.submit_percent),
        ("     complete  ", batches, summary.complete_percent),
    ] {
        let cells = labels
            .iter()
            .zip(shares)
            .map(|(label, share)| format!("{label}={share:.1}%"));
        text += &format!("{title}: {}\n", cells.collect::<Vec<_>>().join(", "));
    }
    let [read, write, trim] = &summary.directions;
    text += &format!(
        "     issued rwts: total={},{},{},{} short={},{},{},0 dropped={},{},{},0\n",
        read.ios,
        write.ios,
        trim.ios,
        counters.sync_ios,
        read.short_ios,
        write.short_ios,
        trim.short_ios,
        read.drop_ios,
        write.drop_ios,
        trim.drop_ios
    );
    text
}

/// The latency target; without one the depth is that of the queue.
fn target_line(show: &ShowSettings) -> String {
    format!(
        "     latency   : target={}, window={}, percentile={:.2}%, depth={}\n",
        duration(show.latency_target_ns as f64),
        duration(show.latency_window_us as f64 * 1000.0),
        show.latency_percentile,
        show.latency_depth
    )
}

/// Nanoseconds in the largest unit of which there are at least two.
fn duration(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    match units.into_iter().find(|(size, _)| ns >= 2.0 * size) {
        Some((size, unit)) => format!("{:.2}{unit}", ns / size),
        None => format!("{ns:.2}ns"),
    }
}

fn steady_line(summary: &SteadySummary, show: &ShowSettings) -> String {
    let state = &summary.state;
    let attained = if state.attained { "yes" } else { "no" };
    // Both numbers are the same one with either prefix; readers match it as it is.
    let base = show.kb_base.max(1);
    let mean = summary.bw_mean / u64::from(base);
    let unit = Unit::of_bandwidth(show.unit_base);
    let bw = |binary| scaled(mean, show.significant_figures, base, binary, unit);
    let binary = is_binary(show.kb_base);
    let number = |value| scaled(value, show.significant_figures, 1, false, Unit::None);
    let latency = match state.metric {
        SteadyMetric::Latency => format!(", lat={}nsec", number(summary.lat_mean_ns)),
        SteadyMetric::Iops | SteadyMetric::Bandwidth => String::new(),
    };
    format!(
        "  steadystate  : attained={attained}, bw={} ({}), iops={}{latency}, {} {}={:.3}{}\n",
        bw(binary),
        bw(!binary),
        number(summary.iops_mean),
        state.metric.name(),
        if state.slope_mode {
            "slope"
        } else {
            "mean dev"
        },
        state.criterion,
        if state.percent { "%" } else { "" }
    )
}

fn group_block(number: usize, group: &GroupSummary) -> String {
    let mut text = format!("\nRun status group {number} (all jobs):\n");
    let names = match group.show.unified {
        UnifiedShow::Mixed => ["MIXED", "", ""],
        UnifiedShow::None | UnifiedShow::Both => ["READ", "WRITE", "TRIM"],
    };
    for (name, rates) in names.into_iter().zip(&group.directions) {
        text += &group_line(name, rates.as_ref(), &group.show);
    }
    text += &group_line("MIXED", group.mixed.as_ref(), &group.show);
    text
}

fn group_line(name: &str, rates: Option<&GroupRates>, show: &ShowSettings) -> String {
    let Some(rates) = rates else {
        return String::new();
    };
    let sizes = Sizes::of(show);
    let range = |bandwidth: &dyn Fn(u64) -> String| {
        format!("{}-{}", bandwidth(rates.min_bw), bandwidth(rates.max_bw))
    };
    format!(
        "{name:>7}: bw={}, {} ({}), io={} ({}), run={}-{}msec\n",
        sizes.bandwidths(rates.aggregate_bw),
        range(&|bw| sizes.bandwidth(bw)),
        range(&|bw| sizes.other_base().bandwidth(bw)),
        sizes.total(rates.bytes),
        sizes.other_base().total(rates.bytes),
        rates.min_runtime_ms,
        rates.max_runtime_ms
    )
}

/// How byte counts and bandwidths of an entry or group are written.
#[derive(Clone, Copy)]
struct Sizes {
    digits: u32,
    binary: bool,
    unit: Unit,
}

impl Sizes {
    fn of(show: &ShowSettings) -> Self {
        Sizes {
            digits: show.significant_figures,
            binary: is_binary(show.kb_base),
            unit: Unit::of_bandwidth(show.unit_base),
        }
    }

    fn other_base(self) -> Self {
        Sizes {
            binary: !self.binary,
            ..self
        }
    }

    fn bandwidth(self, bytes_per_second: u64) -> String {
        scaled(bytes_per_second, self.digits, 1, self.binary, self.unit)
    }

    /// In the entry's base, and in the other one in parentheses.
    fn bandwidths(self, bytes_per_second: u64) -> String {
        let other = self.other_base().bandwidth(bytes_per_second);
        format!("{} ({other})", self.bandwidth(bytes_per_second))
    }

    fn total(self, bytes: u64) -> String {
        scaled(bytes, self.digits, 1, self.binary, Unit::Bytes)
    }
}

fn disk_block(disks: &[DiskSummary]) -> String {
    if disks.is_empty() {
        return String::new();
    }
    let lines: String = disks.iter().map(disk_line).collect();
    format!("\nDisk stats (read/write):\n{lines}")
}

fn disk_line(summary: &DiskSummary) -> String {
    let disk = &summary.disk;
    let indent = if summary.below.is_some() {
        "    "
    } else {
        "  "
    };
    let pair = |[read, write]: [u64; 2]| format!("{read}/{write}");
    let mut line = format!(
        "{indent}{}: ios={}, sectors={}, merge={}, ticks={}, in_queue={}, util={:.2}%",
        disk.name,
        pair(disk.ios),
        pair(disk.sectors),
        pair(disk.merges),
        pair(disk.ticks),
        disk.in_queue,
        summary.util_percent
    );
    if let Some(below) = &summary.below {
        line += &format!(
            ", aggrios={}, aggsectors={}, aggrmerge={}, aggrticks={}, aggrin_queue={}, \
             aggrutil={:.2}%",
            pair(below.ios),
            pair(below.sectors),
            pair(below.merges),
            pair(below.ticks),
            below.in_queue,
            below.util_percent
        );
    }
    line.push('\n');
    line
}

fn idle_block(idle: &CpuIdle) -> String {
    let mut text = format!("\nCPU idleness:\n  system: {:.2}%\n", idle.system_percent);
    if !idle.cpu_percent.is_empty() {
        let cpus: Vec<_> = idle
            .cpu_percent
            .iter()
            .map(|share| format!("{share:.2}%"))
            .collect();
        text += &format!("  percpu: {}\n", cpus.join(", "));
    }
    text += &format!(
        "  unit work: mean={:.2}us, stddev={:.2}\n",
        idle.unit_mean_us, idle.unit_stddev_us
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrio_stats::SteadyState;

    #[test]
    fn durations_take_the_largest_unit_with_two() {
        for (ns, text) in [
            (0.0, "0.00ns"),
            (1999.0, "1999.00ns"),
            (2000.0, "2.00us"),
            (1e7, "10.00ms"),
            (5e9, "5.00s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn steady_states() {
        let mut summary = SteadySummary {
            state: SteadyState {
                attained: true,
                percent: true,
                ..SteadyState::default()
            },
            iops_mean: 256,
            bw_mean: 1_048_576,
            lat_mean_ns: 220,
        };
        let show = ShowSettings::default();
        assert_eq!(
            steady_line(&summary, &show),
            "  steadystate  : attained=yes, bw=1024KiB/s (1024kB/s), iops=256, \
             iops mean dev=0.000%\n"
        );
        summary.state.metric = SteadyMetric::Latency;
        summary.state.slope_mode = true;
        summary.state.percent = false;
        summary.state.criterion = -16.5;
        assert_eq!(
            steady_line(&summary, &show),
            "  steadystate  : attained=yes, bw=1024KiB/s (1024kB/s), iops=256, lat=220nsec, \
             lat slope=-16.500\n"
        );
    }

    #[test]
    fn idleness() {
        let mut idle = CpuIdle {
            system_percent: 60.141290,
            cpu_percent: vec![80.368897, 39.913683],
            unit_mean_us: 15.144500,
            unit_stddev_us: 0.632861,
        };
        let unit = "  unit work: mean=15.14us, stddev=0.63\n";
        assert_eq!(
            idle_block(&idle),
            format!("\nCPU idleness:\n  system: 60.14%\n  percpu: 80.37%, 39.91%\n{unit}")
        );
        idle.cpu_percent.clear();
        assert_eq!(
            idle_block(&idle),
            format!("\nCPU idleness:\n  system: 60.14%\n{unit}")
        );
    }

    #[test]
    fn a_run_without_jobs_has_no_text() {
        assert_eq!(normal(&RunResult::default(), &RenderOptions::default()), "");
    }
}
