//! A whole run's result: everything any report prints.

use serde::{Deserialize, Serialize};

use crate::counters::JobCounters;

/// Result of a run, final or as of now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Wall clock at report time, milliseconds since the epoch.
    pub timestamp_ms: u64,
    /// Recorded global options, for JSON.
    pub global_options: Vec<(String, String)>,
    /// One per worker, in job-number order; merging into report entries is the reader's.
    pub jobs: Vec<JobResult>,
    /// Block devices used, in order of first use.
    pub disks: Vec<DiskResult>,
    /// CPU idleness, if it was profiled.
    pub cpu_idle: Option<CpuIdle>,
    /// What the `ferrio` object of a JSON report holds; `None` leaves the object out.
    pub ferrio: Option<FerrioInfo>,
}

/// How idle the machine's CPUs were during the run (`--idle-prof`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuIdle {
    /// Mean over all CPUs, per cent.
    pub system_percent: f64,
    /// Each CPU, per cent; empty unless asked for.
    pub cpu_percent: Vec<f64>,
    /// Mean duration of the calibrated unit of work, microseconds.
    pub unit_mean_us: f64,
    /// Standard deviation of that duration, microseconds.
    pub unit_stddev_us: f64,
}

/// ferrio's own part of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FerrioInfo {
    /// ferrio's version.
    pub version: String,
    /// Errors, warnings and notes of the run, in order of time.
    pub messages: Vec<Message>,
}

/// How grave a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    /// For the record only.
    Note,
    /// The figures or the target may not be what the user thinks.
    Warning,
    /// Something asked for was not done; the exit status is not 0.
    Error,
}

/// One error, warning or note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// How grave.
    pub severity: Severity,
    /// Job it is about, if one.
    pub job: Option<String>,
    /// One line, without prefix.
    pub text: String,
}

/// The system's text for an error number, as reports and messages show it.
pub fn error_text(code: i32) -> String {
    let text = std::io::Error::from_raw_os_error(code).to_string();
    // The standard library appends the number, which is shown elsewhere.
    match text.rsplit_once(" (os error ") {
        Some((text, _)) => text.to_string(),
        None => text,
    }
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobError {
    /// System error number, or the number the report shows.
    pub code: i32,
    /// `file:SOURCE:LINE, func=LABEL, error=MESSAGE`.
    pub text: String,
}

/// One worker's result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// Name.
    pub name: String,
    /// `description`.
    pub description: Option<String>,
    /// Report group.
    pub group: u32,
    /// Process id, or thread id; 0 if it never started.
    pub pid: u32,
    /// Wall clock of the epoch, milliseconds; 0 if it never ran.
    pub job_start_ms: u64,
    /// Recorded options, for JSON.
    pub options: Vec<(String, String)>,
    /// How to merge and show it.
    pub show: ShowSettings,
    /// Priority word of its requests (class·2^13 + hint·2^3 + level); 0 if none was set.
    pub priority: u32,
    /// What it counted.
    pub counters: JobCounters,
    /// Steady-state detection, if it was asked for.
    pub steady_state: Option<SteadyState>,
    /// What ended it, if an error did.
    pub error: Option<JobError>,
    /// Text recorded with the last error that was counted and ignored.
    pub last_ignored_error: Option<String>,
    /// Remaining seconds; 2147483647 is unknown.
    pub eta_s: i64,
    /// Seconds since the run's start, rounded up.
    pub elapsed_s: u64,
}

/// What a steady-state detection watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SteadyMetric {
    /// Operations per second.
    #[default]
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean completion latency.
    Latency,
}

impl SteadyMetric {
    /// The name that the `steadystate` option and reports use.
    pub fn name(self) -> &'static str {
        match self {
            SteadyMetric::Iops => "iops",
            SteadyMetric::Bandwidth => "bw",
            SteadyMetric::Latency => "lat",
        }
    }
}

/// Result of a steady-state detection (`steadystate`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// What was watched.
    pub metric: SteadyMetric,
    /// The slope of the values was judged, not their largest deviation from the mean.
    pub slope_mode: bool,
    /// Limit and criterion are per cent of the mean.
    pub percent: bool,
    /// Limit that the criterion must fall below.
    pub limit: f64,
    /// `steadystate_duration`, seconds.
    pub duration_s: u64,
    /// The steady state was reached.
    pub attained: bool,
    /// Latest criterion.
    pub criterion: f64,
    /// Latest largest deviation from the mean.
    pub max_deviation: f64,
    /// Latest slope per interval.
    pub slope: f64,
    /// Operations per second of each interval, oldest first.
    pub iops: Vec<u64>,
    /// Bytes per second of each interval, oldest first.
    pub bw: Vec<u64>,
    /// Mean completion latency of each interval in nanoseconds, oldest first; empty unless
    /// latency is watched.
    pub lat_ns: Vec<u64>,
}

/// The job's options that decide how its result is merged and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShowSettings {
    /// `group_reporting`.
    pub group_reporting: bool,
    /// `stats`: the job appears in reports.
    pub stats: bool,
    /// `slat_percentiles`.
    pub slat_percentiles: bool,
    /// `clat_percentiles`.
    pub clat_percentiles: bool,
    /// `lat_percentiles`.
    pub lat_percentiles: bool,
    /// Percentile list as given.
    pub percentiles: Vec<f64>,
    /// Digits after the point in the list.
    pub percentile_precision: u32,
    /// Digit budget of scaled numbers.
    pub significant_figures: u32,
    /// 1024 or 1000.
    pub kb_base: u32,
    /// 8 bytes, 1 bits, 0 none (merged copies).
    pub unit_base: u32,
    /// `unified_rw_reporting`.
    pub unified: UnifiedShow,
    /// Any class of `continue_on_error` is on.
    pub continue_on_error: bool,
    /// Depth of the latency-target search, practically `iodepth`.
    pub latency_depth: u32,
    /// `latency_target` in nanoseconds.
    pub latency_target_ns: u64,
    /// `latency_window` in microseconds.
    pub latency_window_us: u64,
    /// `latency_percentile`.
    pub latency_percentile: f64,
}

/// How directions are unified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnifiedShow {
    /// Apart.
    #[default]
    None,
    /// One sum.
    Mixed,
    /// Apart and their sum.
    Both,
}

impl Default for ShowSettings {
    fn default() -> Self {
        ShowSettings {
            group_reporting: false,
            stats: true,
            slat_percentiles: false,
            clat_percentiles: true,
            lat_percentiles: false,
            percentiles: DEFAULT_PERCENTILES.to_vec(),
            percentile_precision: 2,
            significant_figures: 4,
            kb_base: 1024,
            unit_base: 8,
            unified: UnifiedShow::None,
            continue_on_error: false,
            latency_depth: 1,
            latency_target_ns: 0,
            latency_window_us: 0,
            latency_percentile: 100.0,
        }
    }
}

/// The default `percentile_list`.
pub const DEFAULT_PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// One block device's use during the run: differences of its kernel counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskResult {
    /// Kernel name, `sda`.
    pub name: String,
    /// Name of the device stacked on it, for a slave that is listed under its master.
    pub slave_of: Option<String>,
    /// Completed reads, writes.
    pub ios: [u64; 2],
    /// Merged reads, writes.
    pub merges: [u64; 2],
    /// Sectors read, written.
    pub sectors: [u64; 2],
    /// Milliseconds spent in reads, writes.
    pub ticks: [u64; 2],
    /// Milliseconds with I/O in flight.
    pub io_ticks: u64,
    /// Weighted milliseconds in queue.
    pub in_queue: u64,
    /// Wall milliseconds that the samples cover.
    pub msec: u64,
}

/// What the progress line shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Jobs running (verifying, flushing, pre-reading, finishing, ramping included).
    pub running: u32,
    /// Their open files.
    pub files: u32,
    /// One letter per job in job order, see the state letters of the progress line.
    pub states: Vec<char>,
    /// All running jobs are in their ramp.
    pub all_in_ramp: bool,
    /// Jobs that are being set up.
    pub setting_up: u32,
    /// Seconds since the run's start, rounded up.
    pub elapsed_s: u64,
    /// Remaining seconds; `None` is unknown.
    pub eta_s: Option<u64>,
    /// No remaining time can ever be known (an engine without progress): dashes are shown.
    pub endless: bool,
    /// Sums of the minimum rates and the rates asked for, bytes per second, if any is set.
    pub rate_limits: Option<(u64, u64)>,
    /// Sums of the minimum and the wanted operations per second, if any is set.
    pub iops_limits: Option<(u64, u64)>,
    /// Bytes per second in each direction since the last line.
    pub rate: [u64; 3],
    /// Operations per second in each direction since the last line.
    pub iops: [u64; 3],
    /// Any job has unified reporting: all is shown as reads.
    pub unified: bool,
    /// `kb_base` of the first job.
    pub kb_base: u32,
    /// `unit_base` of the first job.
    pub unit_base: u32,
    /// `significant_figures` of the first job, for the limits.
    pub significant_figures: u32,
}
