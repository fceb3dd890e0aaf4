//! A small reader of command lines for the tests: it knows the options of the vectors, and panics
//! on nothing but reports what it does not know.
#![allow(dead_code)]

pub(crate) mod engine;
mod values;

use std::path::PathBuf;

use ferrio_options::{
    Data, Distribution, EngineSpec, ErrorPolicy, ExitWhat, FileService, Generator, JobSpec,
    LibaioOptions, Pacing, Pattern, Placement, Queue, Reporting, Sequencer, Sizes, Strided, Target,
    Unified,
};
use ferrio_workload::{RealSize, TargetSize};

/// The first job of a command line.
pub(crate) fn job(command: &str) -> Result<JobSpec, String> {
    jobs(command)?
        .into_iter()
        .next()
        .ok_or_else(|| String::from("no job"))
}

/// All jobs of a command line, clones included.
pub(crate) fn jobs(command: &str) -> Result<Vec<JobSpec>, String> {
    let words = command.split_whitespace().filter(|word| *word != "fio");
    let mut sections: Vec<(String, Vec<(String, String)>)> = Vec::new();
    let mut globals = Vec::new();
    for word in words {
        let option = word
            .strip_prefix("--")
            .ok_or_else(|| format!("not an option: {word}"))?;
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        if name == "name" {
            sections.push((value.to_owned(), globals.clone()));
        } else if let Some((_, options)) = sections.last_mut() {
            options.push((name.to_owned(), value.to_owned()));
        } else {
            globals.push((name.to_owned(), value.to_owned()));
        }
    }
    let mut jobs = Vec::new();
    for (name, options) in &sections {
        let count = values::last(options, "numjobs")
            .map_or(Ok(1), |v| v.parse::<u32>().map_err(|e| e.to_string()))?;
        for clone in (0..count).map(|i| if i == 0 { 0 } else { count - i }) {
            jobs.push(section(name, options, jobs.len() as u32 + 1, clone)?);
        }
    }
    Ok(jobs)
}

/// Sizes of a job's files: those of `existing`, else none yet.
pub(crate) fn target_sizes(job: &JobSpec, existing: &[(String, u64)]) -> Vec<TargetSize> {
    let size = |path: &PathBuf| match existing
        .iter()
        .find(|(name, _)| path.as_os_str() == name.as_str())
    {
        Some((_, bytes)) => RealSize::Bytes(*bytes),
        None if job.engine.diskless() => RealSize::Unlimited,
        None => RealSize::Bytes(0),
    };
    job.target
        .files
        .iter()
        .map(|path| TargetSize {
            regular: true,
            size: size(path),
        })
        .collect()
}

fn section(
    name: &str,
    options: &[(String, String)],
    job_number: u32,
    clone_index: u32,
) -> Result<JobSpec, String> {
    let mut job = empty_job(name, job_number, clone_index);
    let mut zone = (0, 0, 0);
    let mut strided = false;
    for (option, value) in options {
        set(&mut job, option, value, &mut zone, &mut strided)
            .map_err(|error| format!("{option}={value}: {error}"))?;
    }
    finish(&mut job, strided.then_some(zone));
    Ok(job)
}

fn set(
    job: &mut JobSpec,
    option: &str,
    value: &str,
    zone: &mut (u64, u64, u64),
    strided: &mut bool,
) -> Result<(), String> {
    let size = || values::size(value);
    let flag = || {
        if value.is_empty() {
            Ok(true)
        } else {
            values::size(value).map(|v| v != 0)
        }
    };
    let number = || values::size(value).map(|v| v as u32);
    match option {
        "ioengine" => job.engine = values::engine(value)?,
        "iodepth" => job.queue.depth = number()?,
        "rw" => values::pattern(value, &mut job.pattern)?,
        "rw_sequencer" => job.pattern.sequencer = values::sequencer(value)?,
        "bs" => values::per_direction(value, |d, v| {
            let size = values::size(v)?;
            (job.pattern.block[d].min, job.pattern.block[d].max) = (size, size);
            Ok(())
        })?,
        "bsrange" => values::per_direction(value, |d, v| {
            (job.pattern.block[d].min, job.pattern.block[d].max) = values::range(v)?;
            Ok(())
        })?,
        "bssplit" => {
            values::per_direction(value, |d, v| values::split(v, &mut job.pattern.block[d]))?;
        }
        "ba" => values::per_direction(value, |d, v| {
            values::size(v).map(|v| job.pattern.block[d].align = v)
        })?,
        "bs_unaligned" => job.pattern.unaligned = flag()?,
        "bs_is_seq_rand" => job.pattern.seq_rand_sizes = flag()?,
        "size" => job.sizes.size = values::amount(value)?,
        "io_size" => job.sizes.io_size = values::amount(value)?,
        "offset" => job.sizes.offset = values::amount(value)?,
        "offset_increment" => job.sizes.offset_increment = values::amount(value)?,
        "offset_align" => job.sizes.offset_align = size()?,
        "number_ios" => job.sizes.number_ios = size()?,
        "loops" => job.sizes.loops = size()?,
        "nrfiles" => job.target.nrfiles = number()?,
        "openfiles" => job.target.openfiles = number()?,
        "filename" => job.target.files = value.split(':').map(PathBuf::from).collect(),
        "filesize" => job.target.filesize = Some(values::range(value)?),
        "file_service_type" => job.target.service = values::service(value)?,
        "file_append" => job.target.append = flag()?,
        "overwrite" => job.target.overwrite = flag()?,
        "rwmixread" => job.pattern.mix_read = number()?,
        "rwmixwrite" => job.pattern.mix_read = 100 - number()?,
        "norandommap" => job.pattern.norandommap = flag()?,
        "random_generator" => {
            job.pattern.generator = values::generator(value)?;
            job.pattern.generator_given = true;
        }
        "random_distribution" => job.pattern.distribution = values::distribution(value)?,
        "random_sequence_stride" => {
            let set = flag()?;
            for distribution in &mut job.pattern.distribution {
                if let Distribution::Sequence { stride, .. } = distribution {
                    *stride = set;
                }
            }
        }
        "percentage_random" => {
            values::per_direction(value, |d, v| {
                values::size(v).map(|v| job.pattern.percentage_random[d] = v as u32)
            })?;
        }
        "randseed" => job.pattern.randseed = Some(size()?),
        "randrepeat" => job.pattern.randrepeat = flag()?,
        "fsync" => job.pattern.fsync_every = size()?,
        "fdatasync" => job.pattern.fdatasync_every = size()?,
        "sync_file_range" => {
            let (_, every) = value.split_once(':').ok_or("no interval")?;
            job.pattern.sync_file_range_every = values::size(every)?;
        }
        "end_fsync" => job.pattern.end_fsync = flag()?,
        "time_based" => job.pacing.time_based = flag()?,
        "runtime" => job.pacing.runtime_us = size()? * 1_000_000,
        "zonemode" => *strided = value == "strided",
        "zonesize" => zone.0 = size()?,
        "zonerange" => zone.1 = size()?,
        "zoneskip" => zone.2 = size()?,
        "serialize_overlap" => job.queue.serialize_overlap = flag()?,
        "scramble_buffers" => job.data.scramble = flag()?,
        "refill_buffers" => job.data.refill = flag()?,
        "zero_buffers" => (job.data.zero, job.data.scramble) = (flag()?, false),
        "buffer_pattern" => {
            job.data.pattern = values::hex_pattern(value)?;
            (job.data.scramble, job.data.zero, job.data.refill) = (false, false, job.pattern.reads);
        }
        // What does not bear on the operations themselves.
        "numjobs" | "write_iolog" | "write_bw_log" | "log_offset" | "rate_iops" | "gtod_reduce"
        | "fallocate" => {}
        _ => return Err(String::from("unknown to the tests")),
    }
    Ok(())
}

/// What follows from other options.
fn finish(job: &mut JobSpec, zone: Option<(u64, u64, u64)>) {
    let target = &mut job.target;
    target.generated = target.files.is_empty();
    if target.generated {
        let (name, clone) = (&job.name, job.clone_index);
        target.files = (0..target.nrfiles.max(1))
            .map(|i| PathBuf::from(format!("{name}.{clone}.{i}")))
            .collect();
    }
    target.nrfiles = target.files.len() as u32;
    target.openfiles_given = target.openfiles > 1;
    target.openfiles = if target.openfiles == 0 {
        target.nrfiles
    } else {
        target.openfiles.min(target.nrfiles)
    };
    let pattern = &mut job.pattern;
    for block in &mut pattern.block {
        if block.align == 0 || !pattern.random {
            block.align = block.min;
        }
    }
    pattern.min_block_all = pattern
        .block
        .iter()
        .map(|block| block.min)
        .min()
        .unwrap_or(1);
    if pattern.distribution[0] != Distribution::Random
        || pattern.block.iter().any(|block| block.align != block.min)
    {
        pattern.norandommap = true;
    }
    pattern.strided = zone
        .filter(|_| !target.openfiles_given)
        .map(|(size, range, skip)| Strided {
            size,
            range: if range == 0 { size } else { range },
            skip,
        });
}

fn empty_job(name: &str, job_number: u32, clone_index: u32) -> JobSpec {
    let block = || ferrio_options::BlockSize {
        min: 4096,
        max: 4096,
        align: 0,
        split: Vec::new(),
    };
    JobSpec {
        name: name.to_owned(),
        description: None,
        job_number,
        clone_index,
        numjobs: 1,
        group: 0,
        stonewall: false,
        wait_for: None,
        group_reporting: false,
        thread: false,
        exit_what: ExitWhat::default(),
        exitall_on_error: false,
        target: Target {
            nrfiles: 1,
            service: FileService::default(),
            ..Target::default()
        },
        sizes: Sizes {
            loops: 1,
            ..Sizes::default()
        },
        pattern: Pattern {
            reads: true,
            writes: false,
            trims: false,
            random: false,
            batch: 1,
            step: 0,
            sequencer: Sequencer::default(),
            block: [block(), block(), block()],
            min_block_all: 4096,
            unaligned: false,
            seq_rand_sizes: false,
            mix_read: 50,
            norandommap: false,
            softrandommap: false,
            generator: Generator::default(),
            generator_given: false,
            distribution: [const { Distribution::Random }; 3],
            percentage_random: [100; 3],
            randseed: None,
            randrepeat: true,
            fsync_every: 0,
            fdatasync_every: 0,
            sync_file_range_every: 0,
            sync_file_range_flags: 0,
            end_fsync: false,
            fsync_on_close: false,
            strided: None,
        },
        pacing: Pacing::default(),
        queue: Queue {
            depth: 1,
            low: 1,
            batch: 1,
            complete_min: 1,
            complete_max: 1,
            serialize_overlap: false,
        },
        engine: EngineSpec::Psync,
        data: Data {
            scramble: true,
            ..Data::default()
        },
        placement: Placement::default(),
        errors: ErrorPolicy::default(),
        reporting: reporting(),
        recorded: Vec::new(),
    }
}

fn reporting() -> Reporting {
    Reporting {
        slat: false,
        clat: false,
        lat: false,
        bw: false,
        slat_percentiles: false,
        clat_percentiles: false,
        lat_percentiles: false,
        percentiles: Vec::new(),
        percentile_precision: 2,
        significant_figures: 4,
        kb_base: 1024,
        unit_base: 8,
        unified: Unified::None,
        stats: true,
        disk_util: false,
        bw_avg_ms: 500,
        iops_avg_ms: 500,
        gtod_reduce: true,
    }
}

/// The engine of a name, with its defaults.
pub(crate) fn libaio() -> EngineSpec {
    EngineSpec::Libaio(LibaioOptions::default())
}
