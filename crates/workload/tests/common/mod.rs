//! Jobs from command lines, through the real parser, and a world without files around them.
#![allow(dead_code)]

pub(crate) mod engine;

use std::ffi::OsString;
use std::path::Path;

use ferrio_options::{JobSpec, Outcome, SystemHost, parse};
use ferrio_workload::{RealSize, TargetSize};

/// Options of the vectors' command lines that only serve to record a trace or to keep it short.
const RECORDING: [&str; 6] = [
    "--write_iolog",
    "--write_bw_log",
    "--log_offset",
    "--per_job_logs",
    "--log_avg_msec",
    "--output",
];

/// The first job of a command line.
pub(crate) fn job(command: &str) -> Result<JobSpec, String> {
    jobs(command)?
        .into_iter()
        .next()
        .ok_or_else(|| String::from("no job"))
}

/// All jobs of a command line, clones included.
pub(crate) fn jobs(command: &str) -> Result<Vec<JobSpec>, String> {
    let wanted = |word: &&str| {
        let name = word.split('=').next().unwrap_or(word);
        *word != "fio" && !RECORDING.contains(&name)
    };
    let mut args = vec![OsString::from("ferrio")];
    args.extend(
        command
            .split_whitespace()
            .filter(wanted)
            .map(OsString::from),
    );
    let parsed = parse(&args, &SystemHost);
    match parsed.outcome {
        Outcome::Run(spec) => Ok(spec.jobs),
        Outcome::Exit { .. } => {
            let texts: Vec<String> = parsed.diagnostics.into_iter().map(|d| d.text).collect();
            Err(texts.join("; "))
        }
    }
}

/// Sizes of a job's files: those of `existing`, else none yet.
pub(crate) fn target_sizes(job: &JobSpec, existing: &[(String, u64)]) -> Vec<TargetSize> {
    let size = |path: &Path| match existing
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
