//! File sizes, amounts of I/O and refusals of fio 3.42.

mod common;

use common::engine::{Event, run};
use ferrio_options::JobSpec;
use ferrio_workload::geometry::{self, GeometryError};
use ferrio_workload::{RealSize, TargetSize};
use serde_json::Value;

/// Rows whose subject lies elsewhere: an option that they contain, and the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("directory=", "names of files"),
    ("filename_format=", "names of files"),
    ("filename='x", "names of files"),
    ("filename=:p", "names of files"),
    ("--name=a/b", "names of files"),
    ("--name=dd", "names of files"),
    ("opendir=", "names of files"),
    ("unlink=", "end of a job"),
    ("readonly", "refusals of the runner"),
    ("create_only=", "the job does not start"),
    ("create_on_open=", "the job ends with a short read"),
    ("allow_file_create=", "refusals of the runner"),
    ("/dev/zero", "device files"),
];

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn pairs(rows: &Value) -> Vec<(String, u64)> {
    let row = |row: &Value| Some((row["name"].as_str()?.to_owned(), row["size"].as_u64()?));
    rows.as_array()
        .into_iter()
        .flatten()
        .filter_map(row)
        .collect()
}

/// Runs a row's jobs one after the other, as their files are set up in that order.
fn check(row: &Value) -> Outcome {
    let mut files = pairs(&row["before"]);
    let jobs = common::jobs(row["args"].as_str().ok_or("no arguments")?)?;
    let mut refused = false;
    for (job, expected) in jobs.iter().zip(row["jobs"].as_array().ok_or("no jobs")?) {
        let plan = match geometry::plan(job, &common::target_sizes(job, &files)) {
            Ok(plan) => plan,
            Err(_) => {
                refused = true;
                continue;
            }
        };
        for (path, file) in job.target.files.iter().zip(&plan.files) {
            let name = path.display().to_string();
            if !job.engine.diskless() {
                files.retain(|(known, _)| *known != name);
                files.push((name, file.real_size));
            }
        }
        let mut bytes = [0; 3];
        let mut ops = [0; 3];
        for event in run(job, &plan, usize::MAX, &mut ())? {
            if let Event::Op(op) = event {
                bytes[op.kind as usize] += op.len;
                ops[op.kind as usize] += 1;
            }
        }
        for (direction, name) in ["read", "write"].into_iter().enumerate() {
            assert_eq!(
                Some(bytes[direction]),
                expected[format!("{name}_bytes")].as_u64(),
                "{name} bytes of {row}"
            );
            assert_eq!(
                Some(ops[direction]),
                expected[format!("{name}_ios")].as_u64(),
                "{name} I/Os of {row}"
            );
        }
    }
    assert_eq!(refused, row["exit"] == 1, "{row}");
    files.sort();
    let mut after = pairs(&row["files_after"]);
    after.sort();
    assert_eq!(files, after, "{row}");
    Ok(())
}

#[test]
fn files_and_amounts() -> Outcome {
    let vectors: Value = serde_json::from_str(include_str!("data/lifecycle-files.json"))?;
    let mut compared = 0;
    for row in vectors.as_array().ok_or("no rows")? {
        let arguments = row["args"].as_str().ok_or("no arguments")?;
        if LEFT_OUT
            .iter()
            .any(|(option, _)| arguments.contains(option))
        {
            continue;
        }
        check(row).map_err(|error| format!("{arguments}: {error}"))?;
        compared += 1;
    }
    assert_eq!(compared, 50, "rows compared");
    Ok(())
}

#[test]
fn drawn_file_sizes() -> Outcome {
    let vectors: Value = serde_json::from_str(include_str!("data/lifecycle-filesize-range.json"))?;
    let rows = vectors.as_array().ok_or("no rows")?;
    assert_eq!(rows.len(), 8);
    rows.iter()
        .try_for_each(|row| check(row).map_err(|error| format!("{row}: {error}").into()))
}

fn regular(bytes: u64) -> [TargetSize; 1] {
    [TargetSize {
        regular: true,
        size: RealSize::Bytes(bytes),
    }]
}

fn refusal(command: &str, sizes: &[TargetSize]) -> GeometryError {
    let job: JobSpec = common::job(command).expect("a known command line");
    geometry::plan(&job, sizes).expect_err(command)
}

#[test]
fn refusals_name_what_is_wrong() {
    let missing = refusal("--name=j --rw=read --bs=4k", &regular(0));
    assert!(
        matches!(&missing, GeometryError::NeedsSize { job } if job == "j"),
        "{missing}"
    );
    let offset = refusal(
        "--name=j --rw=read --bs=4k --offset=120k",
        &regular(102_400),
    );
    assert!(
        matches!(
            offset,
            GeometryError::BadOffset {
                start: 122_880,
                end: 102_400,
                ..
            }
        ),
        "{offset}"
    );
    let block = refusal("--name=j --rw=read --bs=128k", &regular(102_400));
    assert!(
        matches!(
            block,
            GeometryError::BlockTooLarge {
                size: 102_400,
                block: 131_072,
                ..
            }
        ),
        "{block}"
    );
    let seeds = refusal(
        "--name=j --rw=read --bs=4k --randrepeat=0 --filesize=4k-8k",
        &regular(0),
    );
    assert!(matches!(seeds, GeometryError::NeedsSeeds { .. }), "{seeds}");
    let count = refusal("--name=j --rw=read --bs=4k", &[]);
    assert!(
        matches!(
            count,
            GeometryError::FileCount {
                files: 1,
                sizes: 0,
                ..
            }
        ),
        "{count}"
    );
    let device = refusal(
        "--name=j --rw=read --bs=4k",
        &[TargetSize {
            regular: false,
            size: RealSize::Unlimited,
        }],
    );
    assert!(
        matches!(device, GeometryError::NeedsSize { .. }),
        "{device}"
    );
}

#[test]
fn devices_are_never_laid_out() -> Outcome {
    let job = common::job("--name=j --rw=write --bs=4k --size=1m --offset=4k")?;
    let plan = geometry::plan(
        &job,
        &[TargetSize {
            regular: false,
            size: RealSize::Bytes(65_536),
        }],
    )?;
    assert_eq!(plan.files[0].extend_to, None);
    assert_eq!(
        (plan.files[0].real_size, plan.files[0].len),
        (65_536, 1 << 20)
    );
    let plan = geometry::plan(&job, &regular(65_536))?;
    assert_eq!(plan.files[0].extend_to, Some((1 << 20) + 4096));
    Ok(())
}

#[test]
fn only_a_job_without_io_has_no_end() -> Outcome {
    let job = common::job("--name=j --ioengine=null --rw=read --bs=4k")?;
    let refused = geometry::plan(&job, &common::target_sizes(&job, &[]));
    assert!(matches!(refused, Err(GeometryError::NeedsSize { .. })));
    let job = common::job("--name=j --ioengine=cpuio --cpuload=50")?;
    let plan = geometry::plan(&job, &common::target_sizes(&job, &[]))?;
    assert_eq!((plan.size, plan.total_bytes), (u64::MAX, u64::MAX));
    let job = common::job("--name=j --ioengine=null --rw=read --bs=4k --size=1m --loops=3")?;
    let plan = geometry::plan(&job, &common::target_sizes(&job, &[]))?;
    assert_eq!((plan.size, plan.total_bytes), (1 << 20, 3 << 20));
    Ok(())
}
