//! What is measured and shown.

use super::{Kind, Opt, Set, word};
use crate::draft::{Ctx, Draft};
use crate::spec::Unified;
use crate::value::Value;

/// Samples and grouping of results.
pub(super) static SAMPLES: &[Opt] = &[
    Opt::new(
        "bwavgtime",
        Kind::Int,
        "Window of the bandwidth samples, in msec",
    )
    .at("Logging", "")
    .default("500")
    .parent("write_bw_log")
    .sets(Set::U64(|d| &mut d.spec.reporting.bw_avg_ms)),
    Opt::new(
        "iopsavgtime",
        Kind::Int,
        "Window of the IOPS samples, in msec",
    )
    .at("Logging", "")
    .default("500")
    .parent("write_iops_log")
    .sets(Set::U64(|d| &mut d.spec.reporting.iops_avg_ms)),
    Opt::new(
        "group_reporting",
        Kind::Flag,
        "Report the jobs of a group as one",
    )
    .at("Statistics", "")
    .sets(Set::Switch(|d| &mut d.spec.group_reporting)),
    Opt::new("stats", Kind::Bool, "Include the job in the reports")
        .at("Statistics", "")
        .default("1")
        .sets(Set::Switch(|d| &mut d.spec.reporting.stats)),
];

/// Latencies and clocks.
pub(super) static LATENCY: &[Opt] = &[
    Opt::new(
        "clat_percentiles",
        Kind::Bool,
        "Report completion latency percentiles",
    )
    .at("Statistics", "")
    .default("1")
    .sets(Set::Switch(|d| &mut d.spec.reporting.clat_percentiles)),
    Opt::new(
        "lat_percentiles",
        Kind::Bool,
        "Report total latency percentiles",
    )
    .at("Statistics", "")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.reporting.lat_percentiles)),
    Opt::new(
        "slat_percentiles",
        Kind::Bool,
        "Report submission latency percentiles",
    )
    .at("Statistics", "")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.reporting.slat_percentiles)),
    Opt::new(
        "percentile_list",
        Kind::Floats,
        "Which percentiles are reported (':' list, at most 20)",
    )
    .at("Statistics", "")
    .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99")
    .range(0, 100)
    .limit(20)
    .sets(Set::Run(percentile_list)),
    Opt::new(
        "significant_figures",
        Kind::Int,
        "Digits used for numbers in normal output",
    )
    .at("Statistics", "")
    .default("4")
    .range(1, 10)
    .sets(Set::U32(|d| &mut d.spec.reporting.significant_figures)),
    Opt::new("disk_util", Kind::Bool, "Report disk utilisation")
        .at("Statistics", "")
        .default("1")
        .sets(Set::Switch(|d| &mut d.spec.reporting.disk_util)),
    Opt::new(
        "gtod_reduce",
        Kind::Bool,
        "Take far fewer time stamps (switches several statistics off)",
    )
    .at("Statistics", "")
    .default("0")
    .sets(Set::Run(gtod_reduce))
    .last_counts(),
    Opt::new("disable_lat", Kind::Bool, "No total latency statistics")
        .at("Statistics", "")
        .default("0")
        .parent("gtod_reduce")
        .sets(Set::Run(|d, v, _| {
            d.spec.reporting.lat = v.number() == 0;
            Ok(())
        })),
    Opt::new(
        "disable_clat",
        Kind::Bool,
        "No completion latency statistics",
    )
    .at("Statistics", "")
    .default("0")
    .parent("gtod_reduce")
    .sets(Set::Run(|d, v, _| {
        d.spec.reporting.clat = v.number() == 0;
        Ok(())
    })),
    Opt::new(
        "disable_slat",
        Kind::Bool,
        "No submission latency statistics",
    )
    .at("Statistics", "")
    .default("0")
    .parent("gtod_reduce")
    .sets(Set::Run(|d, v, _| {
        d.spec.reporting.slat = v.number() == 0;
        Ok(())
    })),
    Opt::new(
        "disable_bw_measurement",
        Kind::Bool,
        "No bandwidth statistics",
    )
    .aka(&["disable_bw"])
    .at("Statistics", "")
    .default("0")
    .parent("gtod_reduce")
    .sets(Set::Run(|d, v, _| {
        d.spec.reporting.bw = v.number() == 0;
        Ok(())
    })),
    Opt::new(
        "gtod_cpu",
        Kind::Int,
        "CPU reserved for a clock-reading thread (program wide)",
    )
    .at("General", "Clock settings")
    .unbuilt_at_all(),
    Opt::new(
        "job_start_clock_id",
        Kind::Int,
        "Clock used for the job start time in JSON",
    )
    .at("General", "Clock settings")
    .sets(Set::Run(job_start_clock))
    .last_counts(),
    Opt::new(
        "unified_rw_reporting",
        Kind::Word,
        "Report directions apart, summed, or both",
    )
    .at("General", "")
    .words(&[
        word("none", "apart"),
        word("mixed", "summed only"),
        word("both", "apart and summed"),
        word("0", "none"),
        word("1", "mixed"),
        word("2", "both"),
    ])
    .default("none")
    .sets(Set::Run(unified)),
];

fn percentile_list(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    if let Value::Floats(percentiles, precision) = value {
        draft.spec.reporting.percentiles.clone_from(percentiles);
        draft.spec.reporting.percentile_precision = *precision;
    }
    Ok(())
}

/// 1 switches measurements off that later options may switch on again; 0 does nothing.
fn gtod_reduce(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    if value.last_number() == 0 {
        return Ok(());
    }
    let reporting = &mut draft.spec.reporting;
    (reporting.lat, reporting.clat, reporting.slat) = (false, false, false);
    reporting.bw = false;
    reporting.clat_percentiles = false;
    reporting.lat_percentiles = false;
    reporting.slat_percentiles = false;
    reporting.gtod_reduce = true;
    Ok(())
}

/// Clocks of the kernel, by number (`clock_gettime(2)`).
const CLOCKS: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11];

fn job_start_clock(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    let number = value.last_number() as u32;
    if !CLOCKS.contains(&number) {
        return Err(format!(
            "there is no clock {number}: 0 is the wall clock, 1 the monotonic one, 4 the raw \
             monotonic one, 7 counts suspended time too"
        ));
    }
    draft.spec.reporting.job_start_clock = number;
    Ok(())
}

fn unified(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.reporting.unified = match value.word() {
        0 | 3 => Unified::None,
        1 | 4 => Unified::Mixed,
        _ => Unified::Both,
    };
    Ok(())
}
