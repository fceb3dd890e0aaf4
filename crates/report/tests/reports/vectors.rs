//! What the tests of the reports share: the render vectors and a strict JSON reader.

use std::collections::BTreeMap;
use std::path::Path;

use ferrio_report::Headline;
use ferrio_stats::histogram::bucket_of;
use ferrio_stats::live::distribution_slot;
use ferrio_stats::{
    CpuUse, DiskResult, JobError, JobResult, Latency, RunResult, SampleStats, ShowSettings,
    UnifiedShow,
};
use serde::Deserialize;

/// Reads a data file of the tests.
pub(crate) fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A render vector: raw counters and the text of every format.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) args: Vec<String>,
    clock_seconds: u64,
    pub(crate) timezone: String,
    jobs: Vec<RawJob>,
    disks: Vec<RawDisk>,
    pub(crate) expected: BTreeMap<String, String>,
}

/// (direction, value, repeat)
type Samples = Vec<(String, u64, u64)>;

#[derive(Deserialize)]
struct RawJob {
    bytes: [u64; 3],
    ios: [u64; 4],
    short: [u64; 3],
    drop: [u64; 3],
    runtime: [u64; 3],
    total_run_time: u64,
    cpu: [u64; 5],
    map: [u64; 7],
    submit: [u64; 8],
    complete: [u64; 8],
    #[serde(default)]
    slat: Samples,
    #[serde(default)]
    clat: Samples,
    #[serde(default)]
    lat: Samples,
    #[serde(default)]
    bw: Samples,
    #[serde(default)]
    iops: Samples,
    #[serde(default)]
    sync: Vec<(u64, u64)>,
    #[serde(default)]
    error: i32,
    #[serde(default)]
    verror: String,
    #[serde(default)]
    errcount: (u64, i32),
    latency_depth: Option<u32>,
    zone_resets: Option<u64>,
    #[serde(default)]
    cache: [u64; 2],
}

#[derive(Deserialize)]
struct RawDisk {
    name: String,
    slave_of: Option<String>,
    v: [u64; 11],
}

/// The job sections of a command line, each with its options in order.
pub(crate) fn sections(args: &[String]) -> Vec<Vec<(String, String)>> {
    let mut sections: Vec<Vec<(String, String)>> = Vec::new();
    for arg in args {
        let option = arg.strip_prefix("--").expect("an option");
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        if key == "name" {
            sections.push(Vec::new());
        }
        let section = sections.last_mut().expect("the name comes first");
        section.push((key.to_string(), value.to_string()));
    }
    sections
}

fn value<'a>(section: &'a [(String, String)], key: &str) -> Option<&'a str> {
    section
        .iter()
        .find(|(name, _)| name == key)
        .map(|(_, value)| value.as_str())
}

fn number<T: std::str::FromStr>(section: &[(String, String)], key: &str, default: T) -> T {
    value(section, key).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{key}={text} is no number"))
    })
}

/// Clones of a section.
pub(crate) fn clones(section: &[(String, String)]) -> u32 {
    number(section, "numjobs", 1)
}

/// The headline of a section.
pub(crate) fn headline_of(section: &[(String, String)], group: u32) -> Headline {
    let show = show_settings(section);
    let words = ["read", "rw", "randrw", "trimwrite"];
    let rw = value(section, "rw").expect("rw");
    let sizes: Vec<u64> = value(section, "bs")
        .unwrap_or("4k")
        .split(',')
        .map(bytes)
        .collect();
    let size = |index: usize| sizes[index.min(sizes.len() - 1)];
    Headline {
        name: value(section, "name").expect("name").to_string(),
        group,
        rw: words
            .into_iter()
            .find(|word| *word == rw)
            .expect("a known direction"),
        block_bytes: [0, 1, 2].map(|index| (size(index), size(index))),
        seq_rand: false,
        engine: "null",
        iodepth: number(section, "iodepth", 1),
        kb_base: show.kb_base,
        significant_figures: show.significant_figures,
    }
}

fn bytes(text: &str) -> u64 {
    match text {
        "4k" => 4096,
        "1m" => 1 << 20,
        _ => panic!("size {text} is not in the vectors"),
    }
}

fn show_settings(section: &[(String, String)]) -> ShowSettings {
    let mut show = ShowSettings {
        group_reporting: value(section, "group_reporting").is_some(),
        slat_percentiles: number(section, "slat_percentiles", 0) == 1,
        clat_percentiles: number(section, "clat_percentiles", 1) == 1,
        lat_percentiles: number(section, "lat_percentiles", 0) == 1,
        significant_figures: number(section, "significant_figures", 4),
        kb_base: number(section, "kb_base", 1024),
        unit_base: number(section, "unit_base", 8),
        unified: match value(section, "unified_rw_reporting") {
            None => UnifiedShow::None,
            Some("1") => UnifiedShow::Mixed,
            Some("both") => UnifiedShow::Both,
            Some(other) => panic!("unified_rw_reporting={other}"),
        },
        continue_on_error: value(section, "continue_on_error").is_some(),
        latency_depth: number(section, "iodepth", 1),
        latency_percentile: number(section, "latency_percentile", 100.0),
        ..ShowSettings::default()
    };
    if let Some(list) = value(section, "percentile_list") {
        show.percentiles = list
            .split(':')
            .map(|text| text.parse().expect("number"))
            .collect();
        let digits = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len());
        show.percentile_precision = list.split(':').map(digits).max().unwrap_or(0) as u32;
    }
    if value(section, "latency_target") == Some("10ms") {
        show.latency_target_ns = 10_000_000;
        show.latency_window_us = 5_000_000;
    }
    show
}

impl Case {
    /// Reads the vector `output-render-ID.json`.
    pub(crate) fn read(id: &str) -> Self {
        serde_json::from_str(&data(&format!("output-render-{id}.json"))).expect("a vector")
    }

    /// The result whose reports are expected.
    pub(crate) fn run(&self) -> RunResult {
        let mut jobs = Vec::new();
        let mut raw = self.jobs.iter();
        let mut group = 0;
        for (index, section) in sections(&self.args).iter().enumerate() {
            if index > 0 && value(section, "stonewall").is_some() {
                group += 1;
            }
            for _ in 0..clones(section) {
                let raw = raw.next().expect("counters of every clone");
                jobs.push(job(section, group, 4000 + jobs.len() as u32, raw));
            }
        }
        assert!(raw.next().is_none(), "more counters than clones");
        RunResult {
            timestamp_ms: self.clock_seconds * 1000 + 123,
            jobs,
            disks: self.disks.iter().map(disk).collect(),
            ..RunResult::default()
        }
    }
}

fn job(section: &[(String, String)], group: u32, pid: u32, raw: &RawJob) -> JobResult {
    let mut show = show_settings(section);
    show.latency_depth = raw.latency_depth.unwrap_or(show.latency_depth);
    let mut job = JobResult {
        name: value(section, "name").expect("name").to_string(),
        description: value(section, "description").map(String::from),
        group,
        pid,
        job_start_ms: 1_700_000_000_000,
        options: section.to_vec(),
        eta_s: 2_147_483_647,
        elapsed_s: 1,
        ..JobResult::default()
    };
    if raw.error != 0 {
        job.error = Some(JobError {
            code: raw.error,
            text: raw.verror.clone(),
        });
    }
    fill_counters(&mut job, &show, raw);
    job.show = show;
    job
}

fn fill_counters(job: &mut JobResult, show: &ShowSettings, raw: &RawJob) {
    let counters = &mut job.counters;
    for (index, direction) in counters.directions.iter_mut().enumerate() {
        direction.bytes = raw.bytes[index];
        direction.ios = raw.ios[index];
        direction.short_ios = raw.short[index];
        direction.drop_ios = raw.drop[index];
        direction.runtime_ms = raw.runtime[index];
        add_latencies(&mut direction.slat, &raw.slat, index, show.slat_percentiles);
        add_latencies(&mut direction.clat, &raw.clat, index, show.clat_percentiles);
        add_latencies(&mut direction.lat, &raw.lat, index, show.lat_percentiles);
        add_rates(&mut direction.bw, &raw.bw, index);
        add_rates(&mut direction.iops, &raw.iops, index);
    }
    for (_, ns, repeat) in &raw.clat {
        counters.distribution[distribution_slot(bucket_of(*ns), *ns)] += repeat;
    }
    counters.sync_ios = raw.ios[3];
    for &(ns, repeat) in &raw.sync {
        for _ in 0..repeat {
            counters.sync_lat.moments.add(ns);
            counters.sync_lat.histogram.add(ns);
        }
    }
    counters.depth_map = raw.map;
    counters.submit_map.copy_from_slice(&raw.submit[..7]);
    counters.submit_total = raw.submit[7];
    counters.complete_map.copy_from_slice(&raw.complete[..7]);
    counters.complete_total = raw.complete[7];
    counters.run_time_ms = raw.total_run_time;
    let [usr_ms, sys_ms, ctx, majf, minf] = raw.cpu;
    counters.cpu = CpuUse {
        usr_ms,
        sys_ms,
        ctx,
        majf,
        minf,
    };
    (counters.total_errors, counters.first_error) = raw.errcount;
    counters.zone_resets = raw.zone_resets;
    [counters.cache_hits, counters.cache_misses] = raw.cache;
}

fn of_direction(samples: &Samples, direction: usize) -> impl Iterator<Item = u64> {
    let name = ["read", "write", "trim"][direction];
    samples
        .iter()
        .filter(move |sample| sample.0 == name)
        .flat_map(|sample| std::iter::repeat_n(sample.1, sample.2 as usize))
}

fn add_latencies(latency: &mut Latency, samples: &Samples, direction: usize, histogram: bool) {
    for ns in of_direction(samples, direction) {
        latency.moments.add(ns);
        if histogram {
            latency.histogram.add(ns);
        }
    }
}

fn add_rates(rates: &mut SampleStats, samples: &Samples, direction: usize) {
    for rate in of_direction(samples, direction) {
        rates.add(rate);
    }
}

fn disk(raw: &RawDisk) -> DiskResult {
    let v = raw.v;
    DiskResult {
        name: raw.name.clone(),
        slave_of: raw.slave_of.clone(),
        ios: [v[0], v[1]],
        merges: [v[2], v[3]],
        sectors: [v[4], v[5]],
        ticks: [v[6], v[7]],
        io_ticks: v[8],
        in_queue: v[9],
        msec: v[10],
    }
}
