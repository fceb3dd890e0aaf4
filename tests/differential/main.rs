//! ferrio against fio: random jobs, the same operations.
//!
//! Jobs are drawn with a fixed seed, run by both programs with `write_iolog`, and their logs are compared
//! without times. `FERRIO_DRAWS=20000` draws more than the usual number, `FERRIO_SEED=7` others.
//! A difference is shown with the smallest job that still shows it.
//!
//! Debian's fio 3.33 stands in for 3.42. What the two do differently is not drawn but left to the traces
//! in `crates/workload/tests/data`:
//!
//! - syncs behind attempts that fail (several files, loops) and in queues of the null engine,
//! - `offset` and strided zones with `randtrimwrite`,
//! - syncs in jobs that also read or trim,
//! - sequential writes with `io_size` above `size`, be it in parts of a random job,
//! - zones per direction, `random_distribution=sequence`, `sprandom`,
//! - more than 2^32 blocks in a file,
//! - re-seeding between passes (`randrepeat=1` without `randseed`),
//! - seeds of `zipf`, `pareto` and `normal`, but for names that make them equal.

mod draw;
mod oracle;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use draw::{Dice, Job};
use oracle::{Ran, Trace, comparable};

/// Jobs of one run.
const BATCH: u64 = 25;
/// Draws of a usual run.
const DRAWS: u64 = 500;

const FERRIO: &str = env!("CARGO_BIN_EXE_ferrio");

fn setting(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(usual, |text| text.parse().expect("a number"))
}

/// What differs between the traces of a job, if something does.
fn difference(job: &Job, theirs: &Trace, ours: &Trace) -> Option<String> {
    let (mut expected, mut found) = (comparable(job, theirs), comparable(job, ours));
    if job.timed() {
        let shorter = expected.len().min(found.len());
        expected.truncate(shorter);
        found.truncate(shorter);
    }
    let longer = expected.len().max(found.len());
    if let Some(at) = (0..longer).find(|at| expected.get(*at) != found.get(*at)) {
        let (theirs, ours) = (expected.get(at), found.get(at));
        return Some(format!(
            "event {at} of {longer}: fio {theirs:?}, ferrio {ours:?}"
        ));
    }
    (theirs.failed != ours.failed)
        .then(|| format!("fails: fio {}, ferrio {}", theirs.failed, ours.failed))
}

/// The jobs of a range that the programs do not treat alike, and how. Those before it are replaced, so that
/// all keep their numbers.
fn differences(jobs: &[Job], range: Range<usize>, counts: &Counts) -> Vec<(usize, String)> {
    let mut run = vec![filler(); range.start];
    run.extend_from_slice(&jobs[range.clone()]);
    match (oracle::run("fio", &run), oracle::run(FERRIO, &run)) {
        (Ran::Jobs(theirs), Ran::Jobs(ours)) => {
            counts
                .compared
                .fetch_add(range.len() as u64, Ordering::Relaxed);
            range
                .filter_map(|at| Some((at, difference(&jobs[at], &theirs[at], &ours[at])?)))
                .collect()
        }
        // One of several is to blame.
        _ if range.len() > 1 => {
            let middle = range.start + range.len() / 2;
            let mut found = differences(jobs, range.start..middle, counts);
            found.extend(differences(jobs, middle..range.end, counts));
            found
        }
        (Ran::Refused(_), Ran::Refused(_)) => {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            Vec::new()
        }
        (Ran::Hangs, Ran::Jobs(_)) => {
            eprintln!("fio hangs: {}", jobs[range.start]);
            counts.hangs.fetch_add(1, Ordering::Relaxed);
            Vec::new()
        }
        (theirs, ours) => {
            let short = |ran| match ran {
                Ran::Jobs(_) => String::from("runs"),
                Ran::Refused(text) => format!("refuses: {text}"),
                Ran::Hangs => String::from("hangs"),
            };
            let how = format!("fio {}, ferrio {}", short(theirs), short(ours));
            vec![(range.start, how)]
        }
    }
}

#[derive(Default)]
struct Counts {
    compared: AtomicU64,
    refused: AtomicU64,
    hangs: AtomicU64,
}

/// A job that does next to nothing.
fn filler() -> Job {
    let options = [
        ("ioengine", "null"),
        ("rw", "read"),
        ("bs", "512"),
        ("size", "512"),
    ];
    Job {
        options: options
            .map(|(name, value)| (name, value.to_string()))
            .into(),
        files: Vec::new(),
    }
}

/// Without these a job differs anyhow, or is another one.
const KEPT: [&str; 4] = ["randrepeat", "randseed", "ioengine", "rw"];

/// The smallest job in the place of `jobs[at]` that still differs.
fn shrink(job: &Job, at: usize) -> (Job, String) {
    let counts = Counts::default();
    let differs = |job: &Job| {
        let mut jobs = vec![filler(); at];
        jobs.push(job.clone());
        differences(&jobs, at..at + 1, &counts).pop()
    };
    let mut smallest = job.clone();
    let mut how = String::from("not without the jobs around it");
    loop {
        let before = smallest.clone();
        for index in (0..smallest.options.len()).rev() {
            if KEPT.contains(&smallest.options[index].0) {
                continue;
            }
            let mut smaller = smallest.clone();
            smaller.options.remove(index);
            if let Some((_, found)) = differs(&smaller) {
                (smallest, how) = (smaller, found);
            }
        }
        for index in 0..smallest.files.len() {
            let mut smaller = smallest.clone();
            smaller
                .files
                .remove(smallest.files.len() - 1 - index.min(smallest.files.len() - 1));
            if let Some((_, found)) = differs(&smaller) {
                (smallest, how) = (smaller, found);
                break;
            }
        }
        if before == smallest {
            return (smallest, how);
        }
    }
}

#[test]
fn random_jobs_do_the_same_operations() {
    if !std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|directory| directory.join("fio").exists())
    {
        assert!(
            std::env::var_os("CI").is_none(),
            "the fio binary is missing"
        );
        eprintln!("skipped: the fio binary is missing");
        return;
    }
    let (draws, seed) = (setting("FERRIO_DRAWS", DRAWS), setting("FERRIO_SEED", 1));
    let counts = Counts::default();
    let next = AtomicU64::new(0);
    let found = Mutex::new(Vec::new());
    let work = || {
        loop {
            let batch = next.fetch_add(1, Ordering::Relaxed);
            if batch * BATCH >= draws {
                return;
            }
            let mut dice = Dice::new(seed.wrapping_mul(1 << 32).wrapping_add(batch));
            let jobs: Vec<Job> = (1..=BATCH)
                .map(|number| draw::job(&mut dice, number))
                .collect();
            for (at, how) in differences(&jobs, 0..jobs.len(), &counts) {
                found
                    .lock()
                    .expect("no panic")
                    .push((at, jobs[at].clone(), how));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let found = found.into_inner().expect("no panic");
    eprintln!(
        "{} jobs compared, {} refused by both, {} hang in fio, {} differ",
        counts.compared.into_inner(),
        counts.refused.into_inner(),
        counts.hangs.into_inner(),
        found.len()
    );
    for (at, job, how) in &found {
        eprintln!("job number {}: {how}\n    {job}", at + 1);
    }
    if let Some((at, job, _)) = found.first() {
        let (smallest, how) = shrink(job, *at);
        panic!("job number {}: {how}\n    {smallest}", at + 1);
    }
}
