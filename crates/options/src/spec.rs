//! What a run is: one [`RunSpec`] with a [`JobSpec`] for every worker, resolved and validated.
//!
//! Everything here is plain data. Nothing later looks at option text again, except to show it
//! (the recorded options of a JSON report).

mod engine;
mod pattern;
mod target;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use pattern::*;
pub use target::*;

pub use engine::{
    CpuMode, CpuioOptions, EngineSpec, FileOperation, IoUringOptions, LibaioOptions, MmapOptions,
    Pvsync2Options, StatCall,
};

/// The three data directions, in the order of every per-direction array: read, write, trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Direction {
    /// Data moves from the target to memory.
    Read = 0,
    /// Data moves from memory to the target.
    Write = 1,
    /// A range of the target is discarded; no data moves.
    Trim = 2,
}

impl Direction {
    /// All directions in array order.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// The lower-case word used in reports and messages.
    pub fn word(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }
}

/// Everything that one invocation runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// One entry per worker (clones expanded), in job-number order.
    pub jobs: Vec<JobSpec>,
    /// Where and how results are shown.
    pub output: OutputSpec,
    /// Recorded options of the global section, in order: primary name and text as given
    /// (empty for a bare flag).
    pub global_options: Vec<(String, String)>,
    /// `--readonly`: nothing may be written, created or extended.
    pub readonly: bool,
    /// `exitall` was given by any job: the first job to end ends the jobs in its scope.
    pub exitall: bool,
    /// `clocksource`, when given.
    pub clocksource: Option<ClockSource>,
    /// `--warnings-fatal`: what goes wrong while files are set up, and would only be told, fails
    /// the job.
    pub warnings_fatal: bool,
    /// `--debug`.
    pub debug: DebugSpec,
    /// `--merge-blktrace-only`: jobs are set up and announced, but nothing is run; status 0.
    pub setup_only: bool,
}

/// What is told about the run while it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugSpec {
    /// Names of the categories (`io`, `file`, `process`, ...); empty is off.
    pub categories: Vec<String>,
    /// `--debug=job:N`: of the workers, only the one with this job number tells.
    pub job: Option<u32>,
}

impl DebugSpec {
    /// A category is on.
    pub fn has(&self, category: &str) -> bool {
        self.categories.iter().any(|name| name == category)
    }
}

/// Where and how results are shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// Formats to render; at least one is set.
    pub formats: Formats,
    /// `--output`: the report goes there in place of standard output.
    pub file: Option<PathBuf>,
    /// `--terse-version`, 2 to 5.
    pub terse_version: u32,
    /// `--eta`.
    pub eta: EtaMode,
    /// `--eta-interval` in milliseconds, at least 250.
    pub eta_interval_ms: u64,
    /// `--eta-newline` in milliseconds; `None` is off.
    pub eta_newline_ms: Option<u64>,
    /// `--status-interval` in milliseconds; `None` is off.
    pub status_interval_ms: Option<u64>,
}

impl Default for OutputSpec {
    fn default() -> Self {
        OutputSpec {
            formats: Formats {
                normal: true,
                ..Formats::default()
            },
            file: None,
            terse_version: 3,
            eta: EtaMode::Auto,
            eta_interval_ms: 1000,
            eta_newline_ms: None,
            status_interval_ms: None,
        }
    }
}

/// The set of report formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Formats {
    /// The report that people read.
    pub normal: bool,
    /// Semicolon-separated fields.
    pub terse: bool,
    /// JSON.
    pub json: bool,
    /// JSON with the histogram bins (`json+`); implies `json`.
    pub json_bins: bool,
    /// Each JSON document is one line (`json-lines`); implies `json`.
    pub json_lines: bool,
}

/// When the progress line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EtaMode {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The clock asked for with `clocksource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClockSource {
    /// Wall clock.
    GetTimeOfDay,
    /// Monotonic system clock.
    ClockGetTime,
    /// The CPU's counter.
    Cpu,
}

/// One worker's work: a job section or one of its clones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Display name.
    pub name: String,
    /// `description`.
    pub description: Option<String>,
    /// Position in the order of creation, from 1; enters seeds, log names and the CPU split.
    pub job_number: u32,
    /// Clone index inside the section: 0 for the section itself, then `numjobs-1` down to 1.
    pub clone_index: u32,
    /// `numjobs` of the section as given (each clone carries the same number).
    pub numjobs: u32,
    /// Report group, from 0.
    pub group: u32,
    /// `stonewall`: wait for all earlier jobs before this one starts.
    pub stonewall: bool,
    /// `wait_for`: wait for all clones of the job of that name.
    pub wait_for: Option<String>,
    /// `group_reporting`.
    pub group_reporting: bool,
    /// `thread`: run as a thread, not as a process of its own.
    pub thread: bool,
    /// `exit_what`.
    pub exit_what: ExitWhat,
    /// `exitall_on_error`.
    pub exitall_on_error: bool,
    /// Files and devices.
    pub target: Target,
    /// How much, and where on the target.
    pub sizes: Sizes,
    /// Which operations.
    pub pattern: Pattern,
    /// How long, and when.
    pub pacing: Pacing,
    /// How many at a time.
    pub queue: Queue,
    /// The engine and its options.
    pub engine: EngineSpec,
    /// What the buffers hold.
    pub data: Data,
    /// CPUs, priorities.
    pub placement: Placement,
    /// Commands around the job.
    pub hooks: Hooks,
    /// Which errors end the job.
    pub errors: ErrorPolicy,
    /// What is measured and shown.
    pub reporting: Reporting,
    /// Recorded options of this job (without the globals), for the JSON report: primary name and
    /// text as given (empty for a bare flag), in order of parsing.
    pub recorded: Vec<(String, String)>,
}

impl JobSpec {
    /// The line that stands for the headline of a job that burns CPU time.
    pub fn burn_line(&self) -> Option<String> {
        let burner = self.engine.burner()?;
        Some(format!(
            "{} ({}): ioengine={}, cpuload={}, cpucycle={}",
            self.name,
            burner.mode.word(),
            self.engine.name(),
            burner.load_percent,
            burner.chunk_us
        ))
    }
}

/// Scope of `exitall` and `exitall_on_error`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitWhat {
    /// Jobs of the same report group.
    #[default]
    Group,
    /// Every job that runs.
    Stonewall,
    /// Every job, those not started included.
    All,
}

/// An amount given in bytes or in per cent of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Bytes; 0 when unset or given in per cent. `u64::MAX` is "without limit".
    pub bytes: u64,
    /// Per cent, 0 to 100; `None` when not given in per cent.
    pub percent: Option<u32>,
}

/// How much, and where on the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// `size`.
    pub size: Amount,
    /// `io_size`.
    pub io_size: Amount,
    /// `offset`.
    pub offset: Amount,
    /// `offset_increment`.
    pub offset_increment: Amount,
    /// `offset_align` in bytes; 0 when unset.
    pub offset_align: u64,
    /// `number_ios`; 0 is no limit.
    pub number_ios: u64,
    /// `loops`, at least 1.
    pub loops: u64,
}

/// How long, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pacing {
    /// `runtime` in microseconds; 0 is no limit.
    pub runtime_us: u64,
    /// `time_based`.
    pub time_based: bool,
    /// `ramp_time` in microseconds.
    pub ramp_us: u64,
    /// `ramp_size` in bytes, over all jobs of the group with `group_reporting`; 0 is none.
    pub ramp_bytes: u64,
    /// `startdelay` low and high end in microseconds; the delay is drawn by the runner from the
    /// job's start-delay stream. `(0, 0)` is none.
    pub start_delay_us: (u64, u64),
    /// `max_latency` in microseconds, per direction: the job fails when one operation takes
    /// longer; 0 is no limit.
    pub max_latency_us: [u64; 3],
    /// `rate` and its kin.
    pub rate: Rate,
    /// `thinktime` and its kin.
    pub think: Think,
}

/// Caps and floors of the rate, per direction; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// `rate`: bytes per second.
    pub bytes: [u64; 3],
    /// `rate_iops`: operations per second. Never set together with `bytes`, in any direction.
    pub iops: [u32; 3],
    /// `rate_min`: bytes per second below which the job fails.
    pub min_bytes: [u64; 3],
    /// `rate_iops_min`: operations per second below which the job fails.
    pub min_iops: [u32; 3],
    /// `rate_process=poisson`: exponentially distributed spaces, not even ones.
    pub poisson: bool,
    /// `rate_cycle`: milliseconds between two looks at the floors.
    pub cycle_ms: u32,
    /// `rate_ignore_thinktime`: what a pause missed is not caught up.
    pub ignore_think: bool,
}

impl Rate {
    /// A direction has a cap.
    pub fn caps(&self) -> bool {
        self.bytes != [0; 3] || self.iops != [0; 3]
    }

    /// A direction has a floor.
    pub fn floors(&self) -> bool {
        self.min_bytes != [0; 3] || self.min_iops != [0; 3]
    }
}

/// Pauses between operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Think {
    /// `thinktime`: length of a pause in microseconds; 0 is none.
    pub time_us: u64,
    /// `thinktime_spin`: the part of it that is spent busy, at most `time_us`.
    pub spin_us: u64,
    /// `thinktime_blocks`: operations between two pauses.
    pub blocks: u32,
    /// `thinktime_blocks` was given.
    pub blocks_given: bool,
    /// `thinktime_blocks_type=issue`: operations count when they are issued, not when they complete.
    pub at_issue: bool,
    /// `thinktime_iotime`: time between two pauses in microseconds; 0 is off.
    pub io_time_us: u64,
    /// `thinkcycles`: steps of a busy loop after each operation.
    pub cycles: u32,
}

/// How many operations at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// `iodepth`, at least 1.
    pub depth: u32,
    /// `iodepth_low`, `1..=depth`.
    pub low: u32,
    /// `iodepth_batch`, `1..=depth`.
    pub batch: u32,
    /// `iodepth_batch_complete_min`; 0 is polling.
    pub complete_min: u32,
    /// `iodepth_batch_complete_max`, at least `complete_min`.
    pub complete_max: u32,
    /// `serialize_overlap` as adjusted.
    pub serialize_overlap: bool,
    /// `io_submit_mode=offload`: threads of the job execute what it generates.
    pub offload: bool,
}

/// What the buffers hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// `zero_buffers` as adjusted.
    pub zero: bool,
    /// Buffers are filled anew for each write.
    pub refill: bool,
    /// Sectors are marked with offset and time before each write, unless it is filled anew or
    /// [`Data::compressing`].
    pub scramble: bool,
    /// A compression or dedupe percentage was given, even 0: marks would spoil such data.
    pub compressing: bool,
    /// `buffer_pattern`; empty when unset.
    pub pattern: Vec<u8>,
    /// `buffer_compress_percentage` as adjusted, below 100; 0 is off.
    pub compress_percent: u32,
    /// `buffer_compress_chunk` in bytes; 0 is a whole block.
    pub compress_chunk: u64,
    /// How many buffers are duplicates.
    pub dedupe: Dedupe,
    /// `mem`: where the buffers come from.
    pub memory: Memory,
    /// `iomem_align`: bytes added to a page-aligned start; 0 when unset.
    pub memory_align: u64,
}

/// How many buffers are duplicates, and of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dedupe {
    /// `dedupe_percentage`; 0 is off.
    pub percent: u32,
    /// `dedupe_mode`.
    pub mode: DedupeMode,
    /// `dedupe_working_set_percentage`: size of the working set as a share of `size`.
    pub set_percent: u32,
    /// `dedupe_global`: the working set holds contents of all jobs.
    pub global: bool,
}

/// `dedupe_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DedupeMode {
    /// The contents that the next buffer of its own has.
    #[default]
    Repeat,
    /// One of a fixed set of contents.
    WorkingSet,
}

/// Where the buffers come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Memory {
    /// Memory of the process.
    #[default]
    Private,
    /// A System V shared memory segment.
    Shm,
    /// A mapping of a file, private to the worker: the file's contents do not change.
    File(PathBuf),
    /// A shared mapping of a file: the file holds the buffers.
    SharedFile(PathBuf),
}

/// CPUs, priorities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// `cpus_allowed` or `cpumask`, ascending; `None` leaves the affinity alone.
    /// With `cpus_allowed_policy=split` this is already the job's own CPU.
    pub cpus: Option<Vec<u32>>,
    /// `nice`, added to the present niceness.
    pub nice: i32,
    /// I/O priority word for `ioprio_set` (class·2^13 + hint·2^3 + level); `None` leaves it alone.
    pub io_priority: Option<u32>,
    /// `uid` of the worker.
    pub uid: Option<u32>,
    /// `gid` of the worker.
    pub gid: Option<u32>,
    /// `comm`: the worker's name as the kernel shows it (cut to 15 bytes).
    pub comm: Option<String>,
    /// `lockmem`: bytes that the worker holds in memory while it runs; 0 is none.
    pub lock_memory: u64,
    /// `ioscheduler`: scheduler of the devices under the job's files while the run lasts.
    pub io_scheduler: Option<String>,
}

/// Shell commands around a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hooks {
    /// `exec_prerun`: a job whose command fails does not run.
    pub before: Option<String>,
    /// `exec_postrun`.
    pub after: Option<String>,
}

/// Which errors end the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPolicy {
    /// `continue_on_error` (with what `ignore_error` switched on): read, write, verify.
    pub continue_on: [bool; 3],
    /// Tolerated codes per class read, write, verify; `None` is the default {EIO, EILSEQ}.
    pub codes: [Option<Vec<i32>>; 3],
    /// `error_dump`.
    pub dump: bool,
}

impl ErrorPolicy {
    /// Any class continues: the report shows the error count.
    pub fn continues(&self) -> bool {
        self.continue_on.iter().any(|c| *c)
    }
}

/// What is measured and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reporting {
    /// Submission latency is measured (`disable_slat` off).
    pub slat: bool,
    /// Completion latency is measured.
    pub clat: bool,
    /// Total latency is measured.
    pub lat: bool,
    /// Bandwidth and IOPS are sampled.
    pub bw: bool,
    /// `slat_percentiles` as adjusted.
    pub slat_percentiles: bool,
    /// `clat_percentiles` as adjusted.
    pub clat_percentiles: bool,
    /// `lat_percentiles` as adjusted.
    pub lat_percentiles: bool,
    /// `percentile_list`, as given or the default; at most 20 entries.
    pub percentiles: Vec<f64>,
    /// Digits after the point in the percentile list.
    pub percentile_precision: u32,
    /// `significant_figures`, 1 to 10.
    pub significant_figures: u32,
    /// `kb_base`: 1024 or 1000.
    pub kb_base: u32,
    /// `unit_base`: 8 bytes, 1 bits.
    pub unit_base: u32,
    /// `latency_window` in microseconds; shown only, as long as there is no latency target.
    pub latency_window_us: u64,
    /// `latency_percentile`, 0 to 100; shown only.
    pub latency_percentile: f64,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// `stats`.
    pub stats: bool,
    /// `disk_util`.
    pub disk_util: bool,
    /// `bwavgtime` in milliseconds.
    pub bw_avg_ms: u64,
    /// `iopsavgtime` in milliseconds.
    pub iops_avg_ms: u64,
    /// `job_start_clock_id`: the kernel's number of the clock that the start of the job is told
    /// in; 0 is the wall clock.
    pub job_start_clock: u32,
    /// `gtod_reduce`: time stamps are refreshed every 64th operation only.
    pub gtod_reduce: bool,
    /// `write_iolog`: the file that operations are recorded in.
    pub io_log: Option<String>,
    /// `iolog_version`: form of the recorded lines, 2 or 3.
    pub io_log_version: u32,
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unified {
    /// Directions apart.
    #[default]
    None,
    /// One sum of all.
    Mixed,
    /// Directions apart, and their sum.
    Both,
}
