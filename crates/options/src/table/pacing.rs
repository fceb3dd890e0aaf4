//! Run time, rates, flow, steady state.

use super::{Kind, Opt, Set, word};
use crate::draft::{Ctx, Draft};
use crate::spec::ClockSource;
use crate::value::number::{Quantity, quantity, time_us};
use crate::value::{TimeUnit, Value, float};

/// How long and how often.
pub(super) static RUN: &[Opt] = &[
    Opt::new("loops", Kind::Int, "Run the job's I/O this many times")
        .at("General", "Runtime")
        .default("1")
        .sets(Set::U64(|d| &mut d.spec.sizes.loops)),
    Opt::new(
        "numjobs",
        Kind::Int,
        "Start this number of clones of the job",
    )
    .at("General", "Runtime")
    .default("1")
    .sets(Set::U32(|d| &mut d.spec.numjobs)),
    Opt::new(
        "startdelay",
        Kind::Time(TimeUnit::Seconds),
        "Wait before starting; a LOW-HIGH range draws the delay at random",
    )
    .at("General", "Runtime")
    .default("0")
    .slots(2)
    .sets(Set::LowHigh(|d| &mut d.spec.pacing.start_delay_us)),
    Opt::new(
        "runtime",
        Kind::Time(TimeUnit::Seconds),
        "Stop after this wall time",
    )
    .aka(&["timeout"])
    .at("General", "Runtime")
    .default("0")
    .sets(Set::U64(|d| &mut d.spec.pacing.runtime_us)),
    Opt::new(
        "time_based",
        Kind::Flag,
        "Restart the workload until the runtime is used up",
    )
    .at("General", "Runtime")
    .sets(Set::Switch(|d| &mut d.spec.pacing.time_based)),
    Opt::new(
        "verify_only",
        Kind::Flag,
        "Only check data written by an earlier run",
    )
    .at("General", "Runtime"),
    Opt::new(
        "ramp_time",
        Kind::Time(TimeUnit::Seconds),
        "Warm-up time left out of the statistics",
    )
    .at("General", "Runtime")
    .sets(Set::U64(|d| &mut d.spec.pacing.ramp_us)),
    Opt::new(
        "ramp_size",
        Kind::Size,
        "Warm-up volume left out of the statistics",
    )
    .at("General", "Runtime")
    .min(1)
    .sets(Set::U64(|d| &mut d.spec.pacing.ramp_bytes)),
    Opt::new(
        "clocksource",
        Kind::Word,
        "Clock used for all timing (program wide)",
    )
    .at("General", "Clock settings")
    .words(&[
        word("gettimeofday", "gettimeofday"),
        word("clock_gettime", "monotonic clock"),
        word("cpu", "CPU cycle counter"),
    ])
    .sets(Set::Run(clocksource)),
];

/// Think time, rates and latency targets.
pub(super) static RATE: &[Opt] = &[
    Opt::new(
        "thinktime",
        Kind::Time(TimeUnit::Microseconds),
        "Pause after a block (or thinktime_blocks of them)",
    )
    .at("I/O", "I/O Thinktime")
    .default("0")
    .sets(Set::U64(|d| &mut d.spec.pacing.think.time_us)),
    Opt::new(
        "thinktime_spin",
        Kind::Time(TimeUnit::Microseconds),
        "Part of the pause spent busy",
    )
    .at("I/O", "I/O Thinktime")
    .default("0")
    .parent("thinktime")
    .sets(Set::U64(|d| &mut d.spec.pacing.think.spin_us)),
    Opt::new(
        "thinkcycles",
        Kind::Int,
        "Busy cycles burnt between requests",
    )
    .at("I/O", "I/O Thinktime")
    .default("0")
    .parent("thinktime")
    .sets(Set::U32(|d| &mut d.spec.pacing.think.cycles)),
    Opt::new(
        "thinktime_blocks",
        Kind::Int,
        "How many blocks between two pauses",
    )
    .at("I/O", "I/O Thinktime")
    .default("1")
    .parent("thinktime")
    .sets(Set::U32(|d| &mut d.spec.pacing.think.blocks)),
    Opt::new(
        "thinktime_blocks_type",
        Kind::Word,
        "Count blocks at issue or at completion",
    )
    .at("I/O", "I/O Thinktime")
    .words(&[
        word("complete", "count completions"),
        word("issue", "count submissions"),
    ])
    .default("complete")
    .parent("thinktime")
    .sets(Set::Run(thinktime_blocks_type)),
    Opt::new(
        "thinktime_iotime",
        Kind::Time(TimeUnit::Seconds),
        "I/O time between two pauses",
    )
    .at("I/O", "I/O Thinktime")
    .default("0")
    .parent("thinktime")
    .sets(Set::U64(|d| &mut d.spec.pacing.think.io_time_us)),
    Opt::new(
        "rate",
        Kind::Wide,
        "Bandwidth cap in bytes/s, per direction",
    )
    .at("I/O", "Rate")
    .slots(3)
    .sets(Set::Each(|d| &mut d.spec.pacing.rate.bytes)),
    Opt::new(
        "rate_min",
        Kind::Wide,
        "Bandwidth floor in bytes/s; the job ends when it is missed",
    )
    .aka(&["ratemin"])
    .at("I/O", "Rate")
    .slots(3)
    .parent("rate")
    .sets(Set::Each(|d| &mut d.spec.pacing.rate.min_bytes)),
    Opt::new("rate_iops", Kind::Int, "IOPS cap, per direction")
        .at("I/O", "Rate")
        .slots(3)
        .sets(Set::Each32(|d| &mut d.spec.pacing.rate.iops)),
    Opt::new(
        "rate_iops_min",
        Kind::Int,
        "IOPS floor; the job ends when it is missed",
    )
    .at("I/O", "Rate")
    .slots(3)
    .parent("rate_iops")
    .sets(Set::Each32(|d| &mut d.spec.pacing.rate.min_iops)),
    Opt::new("rate_process", Kind::Word, "Spacing of capped I/O")
        .at("I/O", "Rate")
        .words(&[
            word("linear", "even spacing"),
            word("poisson", "exponential spacing"),
        ])
        .default("linear")
        .parent("rate")
        .unless(&["rate", "rate_iops"])
        .sets(Set::Run(rate_process)),
    Opt::new(
        "rate_cycle",
        Kind::Int,
        "Window for the floor checks, in msec",
    )
    .aka(&["ratecycle"])
    .at("I/O", "Rate")
    .default("1000")
    .parent("rate")
    .sets(Set::U32(|d| &mut d.spec.pacing.rate.cycle_ms)),
    Opt::new(
        "rate_ignore_thinktime",
        Kind::Bool,
        "Catch up for pauses under a rate cap",
    )
    .at("I/O", "Rate")
    .parent("rate")
    .sets(Set::Switch(|d| &mut d.spec.pacing.rate.ignore_think)),
    Opt::new(
        "max_latency",
        Kind::Time(TimeUnit::Microseconds),
        "End the job when one I/O takes longer than this, per direction",
    )
    .at("I/O", "Latency profiling")
    .slots(3)
    .sets(Set::Each(|d| &mut d.spec.pacing.max_latency_us)),
    Opt::new(
        "latency_target",
        Kind::Time(TimeUnit::Microseconds),
        "Search the queue depth that keeps this latency",
    )
    .at("I/O", "Latency profiling"),
    Opt::new(
        "latency_window",
        Kind::Time(TimeUnit::Microseconds),
        "Sample time for latency_target",
    )
    .at("I/O", "Latency profiling")
    .sets(Set::U64(|d| &mut d.spec.reporting.latency_window_us)),
    Opt::new(
        "latency_percentile",
        Kind::Floats,
        "Percentage of I/Os that must meet latency_target",
    )
    .at("I/O", "Latency profiling")
    .default("100")
    .range(0, 100)
    .limit(1)
    .sets(Set::Run(latency_percentile)),
    Opt::new(
        "latency_run",
        Kind::Bool,
        "Keep tuning the depth for the whole run",
    )
    .at("I/O", "Latency profiling")
    .default("0")
    .unless(&["latency_target"]),
];

/// Flow control and steady state.
pub(super) static FLOW: &[Opt] = &[
    Opt::new("flow_id", Kind::Int, "Flow that the job belongs to")
        .at("I/O", "I/O Flow")
        .default("0")
        .unless(&["flow"]),
    Opt::new("flow", Kind::Int, "Weight of the job inside its flow")
        .at("I/O", "I/O Flow")
        .default("0")
        .range(0, 1000)
        .parent("flow_id"),
    Opt::new(
        "flow_watermark",
        Kind::Ignored,
        "Former option, accepted and ignored",
    )
    .at("I/O", "I/O Flow"),
    Opt::new(
        "flow_sleep",
        Kind::Int,
        "Pause in usec when the job is ahead of its flow",
    )
    .at("I/O", "I/O Flow")
    .default("0")
    .parent("flow_id")
    .unless(&["flow"]),
    Opt::new(
        "steadystate",
        Kind::Word,
        "Criterion and limit for ending when results are steady",
    )
    .aka(&["ss"])
    .at("General", "Runtime")
    .words(&[
        word("iops", "largest deviation of IOPS from the mean"),
        word("iops_slope", "slope of IOPS"),
        word("bw", "largest deviation of bandwidth"),
        word("bw_slope", "slope of bandwidth"),
        word("lat", "largest deviation of latency"),
        word("lat_slope", "slope of latency"),
    ])
    .default("iops_slope:0.01%")
    .parameter()
    .checks(steadystate)
    .unless(&["steadystate_duration"]),
    Opt::new(
        "steadystate_duration",
        Kind::Time(TimeUnit::Seconds),
        "Length of the observed window; 0 switches the detection off",
    )
    .aka(&["ss_dur"])
    .at("General", "Runtime")
    .default("0")
    .parent("steadystate"),
    Opt::new(
        "steadystate_ramp_time",
        Kind::Time(TimeUnit::Seconds),
        "Time before data is gathered for the detection",
    )
    .aka(&["ss_ramp"])
    .at("General", "Runtime")
    .default("0")
    .parent("steadystate")
    .unless(&["steadystate_duration"]),
    Opt::new(
        "steadystate_check_interval",
        Kind::Time(TimeUnit::Seconds),
        "Time between two checks; the same in all jobs",
    )
    .aka(&["ss_interval"])
    .at("General", "Runtime")
    .default("1")
    .parent("steadystate")
    .checks(steadystate_check_interval)
    .unless(&["steadystate_duration"]),
];

fn clocksource(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.program.clocksource = Some(match value.word() {
        0 => ClockSource::GetTimeOfDay,
        1 => ClockSource::ClockGetTime,
        _ => ClockSource::Cpu,
    });
    Ok(())
}

fn thinktime_blocks_type(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.pacing.think.at_issue = value.word() == 1;
    Ok(())
}

fn rate_process(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.pacing.rate.poisson = value.word() == 1;
    Ok(())
}

/// `CRITERION:LIMIT`; the limit is a percentage with '%', else IOPS, a bandwidth or a time.
fn steadystate(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    let limit = value
        .parameter()
        .ok_or_else(|| "needs a limit behind the criterion: iops:5%".to_string())?
        .trim();
    if let Some(percent) = limit.strip_suffix('%') {
        return float::float(percent).map(|_| ());
    }
    match value.word() {
        0 | 1 => float::float(limit).map(|_| ()),
        2 | 3 => match quantity(limit, draft.spec.reporting.kb_base)? {
            Quantity::Number(_) => Ok(()),
            _ => Err(format!("'{limit}' is no bandwidth")),
        },
        _ => time_us(limit, TimeUnit::Microseconds).map(|_| ()),
    }
}

fn steadystate_check_interval(
    draft: &mut Draft,
    value: &Value,
    _: &mut Ctx<'_>,
) -> Result<(), String> {
    draft.steady_interval_us = value.number();
    Ok(())
}

/// Shown by reports; without a latency target nothing else reads it.
fn latency_percentile(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    if let Value::Floats(percentiles, _) = value {
        draft.spec.reporting.latency_percentile = percentiles.first().copied().unwrap_or(100.0);
    }
    Ok(())
}
