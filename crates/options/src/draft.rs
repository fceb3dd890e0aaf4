//! A job while its options are read: what was typed, and the settings that came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;

use crate::diag::{Diagnostic, Severity};
use crate::host::Host;
use crate::spec::{
    ClockSource, CpuioOptions, Data, EngineSpec, ErrorPolicy, FileKind, Hooks, IoUringOptions,
    JobSpec, LibaioOptions, MmapOptions, Pacing, Pattern, Placement, Pvsync2Options, Queue,
    Reporting, Sizes, SplitEntry, StatCall, Target, Zone,
};
use crate::table::{self, Built, Opt, Set};
use crate::value::{self, Value};

/// Where a line of a job file stands.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) file: Rc<str>,
    pub(crate) line: u32,
    pub(crate) section: Rc<str>,
}

/// `FILE:LINE`, in front of messages.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What the entries' actions may look at besides the job.
pub(crate) struct Ctx<'a> {
    pub(crate) host: &'a dyn Host,
    /// `--parse-only` or `--showcmd`: values are parsed, the machine is not looked at.
    pub(crate) dry_run: bool,
    /// `--readonly` was read already.
    pub(crate) readonly: bool,
    pub(crate) diagnostics: &'a mut Vec<Diagnostic>,
    /// `--debug=parse`: accepted values are told.
    pub(crate) tells_values: bool,
    /// The option's line; `None` on the command line.
    pub(crate) place: Option<Place>,
    /// Set by an action whose value has an effect that is not implemented.
    unbuilt: bool,
}

impl<'a> Ctx<'a> {
    pub(crate) fn new(
        host: &'a dyn Host,
        dry_run: bool,
        readonly: bool,
        diagnostics: &'a mut Vec<Diagnostic>,
    ) -> Ctx<'a> {
        Ctx {
            host,
            dry_run,
            readonly,
            diagnostics,
            tells_values: false,
            place: None,
            unbuilt: false,
        }
    }

    /// The value just read has an effect that is not implemented.
    pub(crate) fn mark_unbuilt(&mut self) {
        self.unbuilt = true;
    }

    pub(crate) fn warn(&mut self, text: impl fmt::Display) {
        self.tell(Severity::Warning, text);
    }

    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        self.tell(Severity::Note, text);
    }

    fn tell(&mut self, severity: Severity, text: impl fmt::Display) {
        let text = match &self.place {
            Some(place) => format!("{place}: {text}"),
            None => text.to_string(),
        };
        self.diagnostics.push(Diagnostic::new(severity, text));
    }
}

/// One accepted option, as typed.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) opt: &'static Opt,
    /// `None` for a bare name.
    pub(crate) text: Option<Vec<u8>>,
}

/// Bytes, per cent or zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZonedAmount {
    pub(crate) bytes: u64,
    /// 0 when not given in per cent.
    pub(crate) percent: u32,
    pub(crate) zones: u32,
}

/// Block sizes as given, per direction; 0 is unset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) bs: [u64; 3],
    pub(crate) min: [u64; 3],
    pub(crate) max: [u64; 3],
    pub(crate) align: [u64; 3],
    pub(crate) split: [Vec<SplitEntry>; 3],
}

/// How `mem`, buffers and their refilling were asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    /// `refill_buffers` as a setting; whether it acts is decided when the job is added.
    pub(crate) refill: bool,
    pub(crate) scramble: bool,
}

/// `random_distribution` as given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum DistributionKind {
    #[default]
    Random,
    Zipf(f64, Option<f64>),
    Pareto(f64, Option<f64>),
    Normal(f64, Option<f64>),
    Zoned,
    ZonedAbs,
    Sequence(Vec<u64>),
}

/// `zonemode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ZoneMode {
    #[default]
    None,
    Strided,
    Zbd,
}

/// Zone settings as given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Zoning {
    pub(crate) mode: ZoneMode,
    pub(crate) size: u64,
    pub(crate) range: u64,
    pub(crate) skip: ZonedAmount,
}

/// Where file names come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Paths given by `filename` or found by `opendir`.
    pub(crate) files: Vec<PathBuf>,
    /// What `filetype` was when each of them was read.
    pub(crate) kinds: Vec<FileKind>,
    /// `filetype` of names to come.
    pub(crate) kind: FileKind,
    /// `directory`, in order.
    pub(crate) directories: Vec<PathBuf>,
    /// `filename_format`.
    pub(crate) format: Vec<u8>,
}

/// Settings of the engines that are implemented.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EngineOptions {
    pub(crate) libaio: LibaioOptions,
    pub(crate) io_uring: IoUringOptions,
    pub(crate) pvsync2: Pvsync2Options,
    pub(crate) mmap: MmapOptions,
    pub(crate) stat_call: StatCall,
    pub(crate) cpuio: CpuioOptions,
}

/// Settings that belong to the whole program, whatever job gives them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Program {
    pub(crate) exitall: bool,
    pub(crate) clocksource: Option<ClockSource>,
}

/// A job while its options are read. The global settings are one too.
#[derive(Clone)]
pub(crate) struct Draft {
    /// Settings that options write directly; derived ones are filled in when the job is added.
    pub(crate) spec: JobSpec,
    /// Section name, or the `--name` value: makes file names.
    pub(crate) section: Vec<u8>,
    /// The section's header; `None` on the command line.
    pub(crate) header: Option<Place>,
    /// Primary names of options given by the user, here or in the global settings.
    pub(crate) given: BTreeSet<&'static str>,
    /// The last line of each option that was read from a job file.
    places: BTreeMap<&'static str, Place>,
    /// What was typed for this job, in order of parsing.
    pub(crate) recorded: Vec<Recorded>,
    /// Accepted values whose effect is not implemented, by primary name.
    pub(crate) unbuilt: BTreeMap<&'static str, String>,
    pub(crate) engine: String,
    pub(crate) engine_options: EngineOptions,
    pub(crate) names: Names,
    pub(crate) blocks: Blocks,
    pub(crate) size: ZonedAmount,
    pub(crate) io_size: ZonedAmount,
    pub(crate) offset: ZonedAmount,
    pub(crate) offset_increment: ZonedAmount,
    pub(crate) filesize: (u64, u64),
    pub(crate) zoning: Zoning,
    pub(crate) buffers: Buffers,
    pub(crate) distribution: DistributionKind,
    pub(crate) zones: [Vec<Zone>; 3],
    pub(crate) sequence_stride: bool,
    pub(crate) new_group: bool,
    pub(crate) cpus_split: bool,
    /// `cpus_allowed` or `cpumask` before the set is split.
    pub(crate) all_cpus: Option<Vec<u32>>,
    pub(crate) prio: u32,
    pub(crate) prioclass: u32,
    pub(crate) priohint: u32,
    /// `steadystate_check_interval`, the same in all jobs.
    pub(crate) steady_interval_us: u64,
    pub(crate) program: Program,
}

impl Draft {
    /// Every option at its default.
    pub(crate) fn new(host: &dyn Host) -> Draft {
        let mut draft = Draft::blank();
        let mut ignored = Vec::new();
        let mut ctx = Ctx::new(host, true, false, &mut ignored);
        draft.set_defaults(table::JOB_OPTIONS.iter().copied(), &mut ctx);
        draft
    }

    /// The engine is another one now: its options are at their defaults.
    pub(crate) fn set_engine(&mut self, name: &str, ctx: &mut Ctx<'_>) {
        self.engine = name.to_string();
        self.unbuilt
            .retain(|option, _| table::find(option).is_some());
        self.engine_options = EngineOptions::default();
        let options = table::engine_options(name);
        self.set_defaults(options.filter(|opt| opt.built == Built::Yes), ctx);
    }

    fn set_defaults(&mut self, options: impl Iterator<Item = &'static Opt>, ctx: &mut Ctx<'_>) {
        for opt in options {
            if let Some(default) = opt.default {
                let value = value::parse(opt, Some(default.as_bytes()), 1024);
                // A default that does not parse is caught by the table's own test.
                if let Ok(value) = value {
                    let _ = store(opt, &value, self, ctx);
                }
            }
        }
    }

    fn blank() -> Draft {
        Draft {
            spec: blank_spec(),
            section: Vec::new(),
            header: None,
            given: BTreeSet::new(),
            places: BTreeMap::new(),
            recorded: Vec::new(),
            unbuilt: BTreeMap::new(),
            engine: String::new(),
            engine_options: EngineOptions::default(),
            names: Names::default(),
            blocks: Blocks::default(),
            size: ZonedAmount::default(),
            io_size: ZonedAmount::default(),
            offset: ZonedAmount::default(),
            offset_increment: ZonedAmount::default(),
            filesize: (0, 0),
            zoning: Zoning::default(),
            buffers: Buffers::default(),
            distribution: DistributionKind::default(),
            zones: Default::default(),
            sequence_stride: false,
            new_group: false,
            cpus_split: false,
            all_cpus: None,
            prio: 0,
            prioclass: 0,
            priohint: 0,
            steady_interval_us: 0,
            program: Program::default(),
        }
    }

    /// The user gave this option (primary name).
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    /// Reads one option. The error says what is wrong with the value.
    pub(crate) fn apply(
        &mut self,
        opt: &'static Opt,
        text: Option<&[u8]>,
        ctx: &mut Ctx<'_>,
    ) -> Result<(), String> {
        let kb_base = match opt.scope {
            table::Scope::Job => self.spec.reporting.kb_base,
            _ => 1024,
        };
        let mut value = value::parse(opt, text, kb_base)?;
        ctx.unbuilt = false;
        if value.cut_list(opt.limit) {
            ctx.warn(format!(
                "option '{}': only the first {} entries count",
                opt.name, opt.limit
            ));
        }
        store(opt, &value, self, ctx)?;
        if value == Value::Ignored {
            ctx.warn(format!("option '{}' is deprecated and ignored", opt.name));
        }
        if value.surplus(opt) {
            ctx.warn(format!(
                "option '{}={}': {}",
                opt.name,
                String::from_utf8_lossy(text.unwrap_or_default()),
                opt.counting()
            ));
        }
        if ctx.tells_values {
            let text = format!("parse    option '{}': {value:?}", opt.name);
            ctx.diagnostics.push(Diagnostic::bare(Severity::Note, text));
        }
        self.note_unbuilt(opt, &value, text, ctx.unbuilt);
        self.given.insert(opt.name);
        match &ctx.place {
            Some(place) => self.places.insert(opt.name, place.clone()),
            None => self.places.remove(opt.name),
        };
        self.recorded.push(Recorded {
            opt,
            text: text.map(<[u8]>::to_vec),
        });
        Ok(())
    }

    /// The line of the job file that gave this option (primary name).
    pub(crate) fn place(&self, name: &str) -> Option<&Place> {
        self.places.get(name)
    }

    /// Remembers, or forgets, that this option asks for something that is not implemented.
    fn note_unbuilt(&mut self, opt: &Opt, value: &Value, text: Option<&[u8]>, marked: bool) {
        let unbuilt = match opt.built {
            Built::Yes => marked || word_unbuilt(opt, value),
            Built::NoAtAll => true,
            Built::No | Built::NoUnless(_) => marked || *value != default_value(opt, value),
        };
        if unbuilt && *value != Value::Ignored {
            let shown = match text {
                Some(text) => format!("{}={}", opt.name, String::from_utf8_lossy(text)),
                None => opt.name.to_string(),
            };
            self.unbuilt.insert(opt.name, shown);
        } else {
            self.unbuilt.remove(opt.name);
        }
    }

    /// Options given in this job whose effect is not implemented, as typed.
    pub(crate) fn effective_unbuilt(&self) -> Vec<(&'static str, &str)> {
        let acts = |name: &&'static str| -> bool {
            let built = table::find(name)
                .map(|opt| opt.built)
                .or_else(|| table::find_engine_option(&self.engine, name).map(|opt| opt.built));
            match built {
                Some(Built::NoUnless(others)) => {
                    others.iter().any(|other| self.unbuilt.contains_key(other))
                }
                // An option of an engine that is not the job's any more.
                None => false,
                Some(_) => true,
            }
        };
        self.unbuilt
            .iter()
            .filter(|(name, _)| acts(name))
            .map(|(name, shown)| (*name, shown.as_str()))
            .collect()
    }
}

/// The option's words include one that is not implemented.
fn word_unbuilt(opt: &Opt, value: &Value) -> bool {
    match value {
        Value::Word(index, _) => opt.words.get(*index).is_some_and(|w| !w.built),
        _ => false,
    }
}

/// What the option means when it is not given. Numbers without a default are 0.
fn default_value(opt: &Opt, like: &Value) -> Value {
    let parsed = opt
        .default
        .and_then(|text| value::parse(opt, Some(text.as_bytes()), 1024).ok());
    match (parsed, like) {
        (Some(Value::Numbers(default)), Value::Numbers(pieces)) => {
            let mut slots = [0; 3];
            Value::fill(&default, &mut slots);
            Value::Numbers(same_shape(&slots, pieces))
        }
        (None, Value::Numbers(pieces)) => Value::Numbers(same_shape(&[0; 3], pieces)),
        (Some(value), _) => value,
        (None, _) => Value::Ignored,
    }
}

/// Default numbers in the places where `pieces` has numbers, so that the two compare equal.
fn same_shape(defaults: &[u64; 3], pieces: &[Option<u64>]) -> Vec<Option<u64>> {
    pieces
        .iter()
        .enumerate()
        .map(|(index, piece)| piece.map(|_| defaults[index.min(2)]))
        .collect()
}

/// Writes an accepted value to the option's setting.
fn store(opt: &Opt, value: &Value, draft: &mut Draft, ctx: &mut Ctx<'_>) -> Result<(), String> {
    match opt.set {
        Set::Nothing => {}
        Set::Switch(field) => *field(draft) = value.number() != 0,
        Set::U32(field) => *field(draft) = value.number() as u32,
        Set::U64(field) => *field(draft) = value.number(),
        Set::Each(field) => {
            if let Value::Numbers(pieces) = value {
                Value::fill(pieces, field(draft));
            }
        }
        Set::Each32(field) => {
            if let Value::Numbers(pieces) = value {
                let narrow: Vec<Option<u32>> = pieces
                    .iter()
                    .map(|piece| piece.map(|number| number as u32))
                    .collect();
                Value::fill(&narrow, field(draft));
            }
        }
        Set::LowHigh(field) => {
            if let Value::Numbers(pieces) = value {
                let slot = field(draft);
                if let Some(Some(low)) = pieces.first() {
                    slot.0 = *low;
                }
                if let Some(Some(high)) = pieces.last() {
                    slot.1 = *high;
                }
            }
        }
        Set::Text(field) => *field(draft) = Some(value.text().into_owned()),
        Set::Run(action) => action(draft, value, ctx)?,
    }
    Ok(())
}

impl ZonedAmount {
    /// A plain number clears neither a percentage nor a zone count given earlier; those clear the
    /// number.
    pub(crate) fn add(&mut self, quantity: value::number::Quantity) {
        use value::number::Quantity;
        match quantity {
            Quantity::Number(number) => {
                self.bytes = i64::try_from(number).unwrap_or(i64::MAX).cast_unsigned();
            }
            Quantity::Percent(percent) => {
                *self = ZonedAmount {
                    bytes: 0,
                    percent: percent as u32,
                    zones: 0,
                };
            }
            Quantity::Zones(zones) => {
                self.bytes = 0;
                self.zones = zones as u32;
            }
        }
    }

    /// As `add`, but a plain number clears the rest (`size`, `io_size`).
    pub(crate) fn replace(&mut self, quantity: value::number::Quantity) {
        *self = ZonedAmount::default();
        self.add(quantity);
    }
}

/// Settings before the defaults of the table are applied.
fn blank_spec() -> JobSpec {
    JobSpec {
        name: String::new(),
        description: None,
        job_number: 0,
        clone_index: 0,
        numjobs: 1,
        group: 0,
        stonewall: false,
        wait_for: None,
        group_reporting: false,
        thread: false,
        exit_what: Default::default(),
        exitall_on_error: false,
        target: Target::default(),
        sizes: Sizes::default(),
        pattern: Pattern {
            reads: true,
            writes: false,
            trims: false,
            random: false,
            batch: 1,
            step: 0,
            sequencer: Default::default(),
            block: Default::default(),
            min_block_all: 0,
            unaligned: false,
            seq_rand_sizes: false,
            mix_read: 50,
            norandommap: false,
            softrandommap: false,
            generator: Default::default(),
            generator_given: false,
            distribution: Default::default(),
            percentage_random: [100; 3],
            randseed: None,
            randrepeat: true,
            fsync_every: 0,
            fdatasync_every: 0,
            sync_file_range_every: 0,
            sync_file_range_flags: 0,
            end_fsync: false,
            fsync_on_close: false,
            end_syncfs: false,
            strided: None,
        },
        pacing: Pacing::default(),
        queue: Queue {
            depth: 1,
            low: 0,
            batch: 1,
            complete_min: 1,
            complete_max: 0,
            serialize_overlap: false,
            offload: false,
        },
        engine: EngineSpec::Psync,
        data: Data::default(),
        placement: Placement::default(),
        hooks: Hooks::default(),
        errors: ErrorPolicy::default(),
        reporting: Reporting {
            slat: true,
            clat: true,
            lat: true,
            bw: true,
            slat_percentiles: false,
            clat_percentiles: true,
            lat_percentiles: false,
            percentiles: Vec::new(),
            percentile_precision: 0,
            significant_figures: 4,
            kb_base: 1024,
            unit_base: 0,
            latency_window_us: 0,
            latency_percentile: 100.0,
            unified: Default::default(),
            stats: true,
            disk_util: true,
            bw_avg_ms: 500,
            iops_avg_ms: 500,
            job_start_clock: 0,
            gtod_reduce: false,
            io_log: None,
            io_log_version: 3,
        },
        recorded: Vec::new(),
    }
}
