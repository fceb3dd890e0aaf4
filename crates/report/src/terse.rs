//! The terse report: one line of semicolon-separated fields per entry.
//!
//! Versions 2 to 5 differ in their head, in whether trims, disks and sample counts are listed,
//! and in where the description stands.

use ferrio_stats::UnifiedShow;
use ferrio_stats::summary::{
    DirectionSummary, DiskSummary, EntrySummary, LatencySummary, Summary, summarise,
};
use ferrio_stats::{DISTRIBUTION_LABELS, RunResult};

use crate::RenderOptions;

/// Percentile fields of a direction, whether used or not.
const PERCENTILE_FIELDS: usize = 20;

/// Renders a run in the terse format of the version that `options` ask for.
pub fn terse(run: &RunResult, options: &RenderOptions) -> String {
    let summary = summarise(run, options.percentiles);
    summary
        .entries
        .iter()
        .map(|entry| line(entry, &summary, options))
        .collect()
}

fn line(entry: &EntrySummary, summary: &Summary, options: &RenderOptions) -> String {
    let version = options.terse_version;
    let mut fields = Fields::default();
    head(&mut fields, entry, options);
    for direction in listed_directions(entry, version) {
        self::direction(&mut fields, direction, entry, version);
    }
    usage(&mut fields, entry);
    if version >= 3 {
        for summary in &summary.disks {
            disk(&mut fields, summary);
        }
    }
    let (show, counters) = (&entry.entry.show, &entry.entry.counters);
    if show.continue_on_error {
        fields.add(counters.total_errors);
        fields.add(counters.first_error);
    }
    let mut line = fields.text;
    if let Some(description) = &entry.entry.description {
        if version == 2 {
            line.push('\n');
        }
        line += &format!(";{description}");
    }
    line.push('\n');
    line
}

fn head(fields: &mut Fields, summary: &EntrySummary, options: &RenderOptions) {
    let entry = &summary.entry;
    fields.add(options.terse_version);
    if options.terse_version >= 3 {
        fields.add(options.version);
    }
    fields.add(&entry.name);
    // An entry without a group shows as -1.
    fields.add(entry.group as i32);
    fields.add(entry.error.as_ref().map_or(0, |error| error.code));
}

fn listed_directions(entry: &EntrySummary, version: u32) -> Vec<&DirectionSummary> {
    let [read, write, trim] = &entry.directions;
    let mut listed = match (entry.entry.show.unified, version) {
        (UnifiedShow::Mixed, _) => vec![read],
        (_, 3) => vec![read, write],
        _ => vec![read, write, trim],
    };
    listed.extend(&entry.mixed);
    listed
}

fn direction(
    fields: &mut Fields,
    direction: &DirectionSummary,
    entry: &EntrySummary,
    version: u32,
) {
    fields.add(direction.kib);
    fields.add(direction.bw_kib);
    fields.add(direction.iops_whole);
    fields.add(direction.runtime_ms);
    latency(fields, &direction.slat);
    latency(fields, &direction.clat);
    percentiles(fields, direction, entry);
    latency(fields, &direction.lat);
    let bw = &direction.bw_samples;
    fields.add(bw.min);
    fields.add(bw.max);
    fields.add(format_args!(
        "{:.6}%",
        direction.bw_share.of_whole_aggregate
    ));
    fields.float(bw.mean);
    fields.float(bw.stddev);
    if version >= 5 {
        let iops = &direction.iops_samples;
        fields.add(bw.samples);
        fields.add(iops.min);
        fields.add(iops.max);
        fields.float(iops.mean);
        fields.float(iops.stddev);
        fields.add(iops.samples);
    }
}

/// Latency in microseconds.
fn latency(fields: &mut Fields, latency: &LatencySummary) {
    fields.add(latency.min_ns / 1000);
    fields.add(latency.max_ns / 1000);
    fields.float(latency.mean_ns / 1000.0);
    fields.float(latency.stddev_ns / 1000.0);
}

/// Percentiles in microseconds: of the total latency if they are kept, else of the completion
/// latency. Without samples the list shows with zeros.
fn percentiles(fields: &mut Fields, direction: &DirectionSummary, entry: &EntrySummary) {
    let show = &entry.entry.show;
    let (wanted, latency) = match show.lat_percentiles {
        true => (true, &direction.lat),
        false => (show.clat_percentiles, &direction.clat),
    };
    let list = if wanted {
        entry.percentile_list.as_slice()
    } else {
        &[]
    };
    let answers = latency
        .percentiles
        .as_ref()
        .map_or(&[][..], |found| &found.answers);
    for index in 0..PERCENTILE_FIELDS {
        match list.get(index) {
            Some(percentile) => {
                let ns = answers.get(index).map_or(0, |answer| answer.1);
                fields.add(format_args!("{percentile:.6}%={}", ns / 1000));
            }
            None => fields.add("0%=0"),
        }
    }
}

/// CPU use, depths and latency distribution.
fn usage(fields: &mut Fields, entry: &EntrySummary) {
    let cpu = &entry.entry.counters.cpu;
    fields.add(format_args!("{:.6}%", entry.usr_percent));
    fields.add(format_args!("{:.6}%", entry.sys_percent));
    fields.add(cpu.ctx);
    fields.add(cpu.majf);
    fields.add(cpu.minf);
    for share in entry.depth_percent {
        fields.add(format_args!("{share:.1}%"));
    }
    // There are no nanosecond fields: the first microsecond field takes them in.
    let microseconds = &entry.distribution_percent[DISTRIBUTION_LABELS.len()..];
    let first = microseconds[0] + entry.below_microsecond_percent;
    if first.is_nan() {
        fields.add("-nan%");
    } else {
        fields.add(format_args!("{first:.2}%"));
    }
    for share in &microseconds[1..] {
        fields.add(format_args!("{share:.2}%"));
    }
}

fn disk(fields: &mut Fields, summary: &DiskSummary) {
    let disk = &summary.disk;
    fields.add(&disk.name);
    fields.pairs([disk.ios, disk.merges, disk.ticks]);
    fields.add(disk.in_queue);
    fields.add(format_args!("{:.2}%", summary.util_percent));
    if let Some(below) = &summary.below {
        fields.add("slaves");
        fields.pairs([below.ios, below.merges, below.ticks]);
        fields.add(below.in_queue);
        fields.add(format_args!("{:.2}%", below.util_percent));
    }
}

/// Fields of one line.
#[derive(Default)]
struct Fields {
    text: String,
}

impl Fields {
    fn add(&mut self, field: impl std::fmt::Display) {
        if !self.text.is_empty() {
            self.text.push(';');
        }
        self.text += &field.to_string();
    }

    fn float(&mut self, value: f64) {
        self.add(format_args!("{value:.6}"));
    }

    fn pairs(&mut self, pairs: [[u64; 2]; 3]) {
        for value in pairs.into_iter().flatten() {
            self.add(value);
        }
    }
}
