//! The JSON report.
//!
//! Keys, their order and the layout are fio's; a key never repeats in an object and every string
//! is valid JSON. ferrio's own part is the last member of the root.

use std::collections::HashSet;

use ferrio_stats::counters::DISTRIBUTION_LABELS;
use ferrio_stats::summary::{
    DirectionSummary, DiskSummary, EntrySummary, LatencySummary, SteadySummary, summarise,
};
use ferrio_stats::{CpuIdle, FerrioInfo, RunResult, Severity, SteadyMetric, UnifiedShow};

use crate::json_writer::JsonWriter;
use crate::{RenderOptions, date};

/// Renders a run as one JSON document that ends with a newline. A run without jobs gives a
/// complete document too.
pub fn json(run: &RunResult, options: &RenderOptions) -> String {
    let summary = summarise(run, options.percentiles);
    JsonWriter::document(|w| {
        w.string("fio version", options.version);
        w.integer("timestamp", run.timestamp_ms / 1000);
        w.integer("timestamp_ms", run.timestamp_ms);
        w.string("time", &date(run.timestamp_ms, &options.zone));
        option_object(w, "global options", &run.global_options);
        w.array("jobs", |w| {
            for entry in &summary.entries {
                w.object_item(|w| job(w, entry, options.json_bins));
            }
        });
        if !summary.disks.is_empty() {
            w.array("disk_util", |w| {
                for summary in &summary.disks {
                    w.object_item(|w| disk(w, summary));
                }
            });
        }
        if let Some(idle) = &summary.cpu_idle {
            w.object("cpu_idleness", |w| cpu_idleness(w, idle));
        }
        if let Some(info) = &run.ferrio {
            w.object("ferrio", |w| ferrio(w, info));
        }
    })
}

/// Recorded options. An option given twice shows with the value that counts, the last.
fn option_object(w: &mut JsonWriter, key: &str, options: &[(String, String)]) {
    if options.is_empty() {
        return;
    }
    w.object(key, |w| {
        for (index, (name, value)) in options.iter().enumerate() {
            if !options[index + 1..].iter().any(|(later, _)| later == name) {
                w.string(name, value);
            }
        }
    });
}

fn job(w: &mut JsonWriter, summary: &EntrySummary, bins: bool) {
    let entry = &summary.entry;
    w.string("jobname", &entry.name);
    w.integer("groupid", entry.group);
    w.integer("job_start", entry.job_start_ms);
    w.integer("error", entry.error.as_ref().map_or(0, |error| error.code));
    w.integer("eta", entry.eta_s);
    w.integer("elapsed", entry.elapsed_s);
    option_object(w, "job options", &entry.options);
    directions(w, summary, bins);
    w.integer("job_runtime", entry.counters.run_time_ms);
    w.float("usr_cpu", summary.usr_percent);
    w.float("sys_cpu", summary.sys_percent);
    w.integer("ctx", entry.counters.cpu.ctx);
    w.integer("majf", entry.counters.cpu.majf);
    w.integer("minf", entry.counters.cpu.minf);
    maps(w, summary);
    latency_target(w, summary);
    if let Some(description) = &entry.description {
        w.string("desc", description);
    }
    if let Some(state) = &summary.steady_state {
        w.object("steadystate", |w| steady_state(w, state));
    }
    if let Some(resets) = entry.counters.zone_resets {
        w.integer("zone_resets", resets);
    }
}

/// Read, write, trim and sync, or all of them as one; with both the merged one follows.
fn directions(w: &mut JsonWriter, summary: &EntrySummary, bins: bool) {
    let [read, write, trim] = &summary.directions;
    let cache_hits = summary.cache_hit_percent;
    if summary.entry.show.unified == UnifiedShow::Mixed {
        w.object("mixed", |w| direction(w, read, summary, cache_hits, bins));
        return;
    }
    for (key, figures) in [("read", read), ("write", write), ("trim", trim)] {
        w.object(key, |w| direction(w, figures, summary, cache_hits, bins));
    }
    let show = &summary.entry.show;
    w.object("sync", |w| {
        w.integer("total_ios", summary.entry.counters.sync_ios);
        let percentiles = show.lat_percentiles || show.clat_percentiles;
        latency(w, "lat_ns", &summary.sync, percentiles, bins);
    });
    if let Some(mixed) = &summary.mixed {
        w.object("mixed", |w| direction(w, mixed, summary, None, bins));
    }
}

fn direction(
    w: &mut JsonWriter,
    figures: &DirectionSummary,
    summary: &EntrySummary,
    cache_hit_percent: Option<f64>,
    bins: bool,
) {
    w.integer("io_bytes", figures.bytes);
    w.integer("io_kbytes", figures.kib);
    w.integer("bw_bytes", figures.bw_bytes);
    w.integer("bw", figures.bw_kib);
    w.float("iops", figures.iops);
    w.integer("runtime", figures.runtime_ms);
    w.integer("total_ios", figures.ios);
    w.integer("short_ios", figures.short_ios);
    w.integer("drop_ios", figures.drop_ios);
    latency(w, "slat_ns", &figures.slat, true, bins);
    latency(w, "clat_ns", &figures.clat, true, bins);
    latency(w, "lat_ns", &figures.lat, true, bins);
    if !figures.priorities.is_empty() {
        let key = if summary.entry.show.lat_percentiles {
            "lat_ns"
        } else {
            "clat_ns"
        };
        w.array("prios", |w| {
            for priority in &figures.priorities {
                w.object_item(|w| {
                    w.integer("prioclass", priority.class);
                    w.integer("prio", priority.level);
                    w.integer("priohint", priority.hint);
                    latency(w, key, &priority.latency, true, bins);
                });
            }
        });
    }
    let bw = &figures.bw_samples;
    w.integer("bw_min", bw.min);
    w.integer("bw_max", bw.max);
    w.float("bw_agg", figures.bw_share.of_whole_mean);
    w.float("bw_mean", bw.mean);
    w.float("bw_dev", bw.stddev);
    w.integer("bw_samples", bw.samples);
    let iops = &figures.iops_samples;
    w.integer("iops_min", iops.min);
    w.integer("iops_max", iops.max);
    w.float("iops_mean", iops.mean);
    w.float("iops_stddev", iops.stddev);
    w.integer("iops_samples", iops.samples);
    if let Some(percent) = cache_hit_percent {
        w.float("cachehit", percent);
    }
}

fn latency(w: &mut JsonWriter, key: &str, latency: &LatencySummary, percentiles: bool, bins: bool) {
    w.object(key, |w| {
        w.integer("min", latency.min_ns);
        w.integer("max", latency.max_ns);
        w.float("mean", latency.mean_ns);
        w.float("stddev", latency.stddev_ns);
        w.integer("N", latency.samples);
        let Some(found) = latency.percentiles.as_ref().filter(|_| percentiles) else {
            return;
        };
        w.object("percentile", |w| {
            // Entries of the list may differ by less than the key shows.
            let mut keys = HashSet::new();
            for &(percentile, ns) in &found.answers {
                let key = format!("{percentile:.6}");
                if keys.insert(key.clone()) {
                    w.integer(&key, ns);
                }
            }
        });
        if bins {
            w.object("bins", |w| {
                for &(ns, count) in &found.bins {
                    w.integer(&ns.to_string(), count);
                }
            });
        }
    });
}

const DEPTH_LABELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCH_LABELS: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

/// Depth, submit and complete maps and the latency distribution.
fn maps(w: &mut JsonWriter, summary: &EntrySummary) {
    for (key, labels, shares) in [
        ("iodepth_level", DEPTH_LABELS, summary.depth_percent),
        ("iodepth_submit", BATCH_LABELS, summary.submit_percent),
        ("iodepth_complete", BATCH_LABELS, summary.complete_percent),
    ] {
        w.object(key, |w| {
            for (label, share) in labels.into_iter().zip(shares) {
                w.float(label, share);
            }
        });
    }
    let labels = DISTRIBUTION_LABELS.map(|label| label.to_string());
    let (ns, rest) = summary.distribution_percent.split_at(labels.len());
    let (us, ms) = rest.split_at(labels.len());
    for (key, shares) in [("latency_ns", ns), ("latency_us", us), ("latency_ms", ms)] {
        w.object(key, |w| {
            let labels = labels.iter().map(String::as_str).chain(["2000", ">=2000"]);
            for (label, &share) in labels.zip(shares) {
                w.float(label, share);
            }
        });
    }
}

/// Counted errors and the latency target.
fn latency_target(w: &mut JsonWriter, summary: &EntrySummary) {
    let (show, counters) = (&summary.entry.show, &summary.entry.counters);
    if show.continue_on_error {
        w.integer("total_err", counters.total_errors);
        w.integer("first_error", counters.first_error);
    }
    if show.latency_depth != 0 {
        w.integer("latency_depth", show.latency_depth);
        w.integer("latency_target", show.latency_target_ns);
        w.integer("latency_target_ns", show.latency_target_ns);
        w.float("latency_percentile", show.latency_percentile);
        w.integer("latency_window", show.latency_window_us);
        w.integer("latency_window_us", show.latency_window_us);
    }
}

fn steady_state(w: &mut JsonWriter, summary: &SteadySummary) {
    let state = &summary.state;
    let sign = if state.percent { "%" } else { "" };
    let slope = if state.slope_mode { "_slope" } else { "" };
    w.string(
        "ss",
        &format!("{}{slope}:{:.6}{sign}", state.metric.name(), state.limit),
    );
    w.integer("duration", state.duration_s);
    w.integer("attained", u32::from(state.attained));
    w.string("criterion", &format!("{:.6}{sign}", state.criterion));
    w.float("max_deviation", state.max_deviation);
    w.float("slope", state.slope);
    w.object("data", |w| {
        w.integer("bw_mean", summary.bw_mean);
        w.integer("iops_mean", summary.iops_mean);
        if state.metric == SteadyMetric::Latency {
            w.integer("lat_mean", summary.lat_mean_ns);
            integer_array(w, "lat_ns", &state.lat_ns);
        }
        integer_array(w, "iops", &state.iops);
        integer_array(w, "bw", &state.bw);
    });
}

fn integer_array(w: &mut JsonWriter, key: &str, values: &[u64]) {
    w.array(key, |w| {
        for &value in values {
            w.integer_item(value);
        }
    });
}

fn disk(w: &mut JsonWriter, summary: &DiskSummary) {
    let disk = &summary.disk;
    w.string("name", &disk.name);
    w.integer("read_ios", disk.ios[0]);
    w.integer("write_ios", disk.ios[1]);
    w.integer("read_sectors", disk.sectors[0]);
    w.integer("write_sectors", disk.sectors[1]);
    w.integer("read_merges", disk.merges[0]);
    w.integer("write_merges", disk.merges[1]);
    w.integer("read_ticks", disk.ticks[0]);
    w.integer("write_ticks", disk.ticks[1]);
    w.integer("in_queue", disk.in_queue);
    w.float("util", summary.util_percent);
    let Some(below) = &summary.below else {
        return;
    };
    w.integer("aggr_read_ios", below.ios[0]);
    w.integer("aggr_write_ios", below.ios[1]);
    w.integer("aggr_read_sectors", below.sectors[0]);
    w.integer("aggr_write_sectors", below.sectors[1]);
    w.integer("aggr_read_merges", below.merges[0]);
    // Singular in this one place: readers know it so.
    w.integer("aggr_write_merge", below.merges[1]);
    w.integer("aggr_read_ticks", below.ticks[0]);
    w.integer("aggr_write_ticks", below.ticks[1]);
    w.integer("aggr_in_queue", below.in_queue);
    w.float("aggr_util", below.util_percent);
}

fn cpu_idleness(w: &mut JsonWriter, idle: &CpuIdle) {
    w.float("system", idle.system_percent);
    for (cpu, &percent) in idle.cpu_percent.iter().enumerate() {
        w.float(&format!("cpu-{cpu}"), percent);
    }
    w.float("unit_mean", idle.unit_mean_us);
    w.float("unit_stddev", idle.unit_stddev_us);
}

/// ferrio's own part: its version and everything it had to say about the run.
fn ferrio(w: &mut JsonWriter, info: &FerrioInfo) {
    w.string("version", &info.version);
    for (key, severity) in [
        ("errors", Severity::Error),
        ("warnings", Severity::Warning),
        ("notes", Severity::Note),
    ] {
        w.array(key, |w| {
            for message in info.messages.iter().filter(|m| m.severity == severity) {
                w.object_item(|w| {
                    w.optional_string("job", message.job.as_deref());
                    w.string("message", &message.text);
                });
            }
        });
    }
}
