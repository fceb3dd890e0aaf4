//! Settings after all adjustments: `options-effective.json`, `options-jobfiles.json`,
//! `options-groups.json`, `options-files.json`.

use std::ffi::OsString;

use serde_json::{Map, Value as Json, json};

use super::{known, stored, text};
use crate::common::FakeHost;
use crate::diag::Persona;
use crate::draft::{DistributionKind, Draft, ZoneMode};
use crate::host::PathKind;
use crate::session::Session;
use crate::spec::{FileService, Generator, Sequencer};

/// Keys of options that are not built: nothing holds them.
const NOT_BUILT: &[&str] = &[
    "trim_verify_active",
    "io_submit_mode",
    "verify",
    "do_verify",
    "verify_interval",
    "verify_offset",
    "verify_only",
    "verify_write_sequence",
    "verify_header_seed",
    "verify_policy",
    "verify_pattern_bytes",
    "rate_bytes_per_sec",
    "latency_target_nsec",
    "ss_dur",
    "steadystate",
    "ss_interval_usec",
    "dataplacement",
    "trim_percentage",
    "trim_backlog",
    "verify_backlog",
    "verify_active",
    "backlog_active",
    "size_zones",
    "io_size_zones",
    "offset_zones",
    "offset_increment_zones",
];

fn number(value: bool) -> Json {
    json!(u8::from(value))
}

/// A job's settings in the words of the vectors.
fn effective(draft: &Draft) -> Map<String, Json> {
    let spec = &draft.spec;
    let pattern = &spec.pattern;
    let mut map = Map::new();
    let mut put = |key: &str, value: Json| {
        map.insert(key.to_string(), value);
    };
    put("job", json!(spec.name));
    put("job_number", json!(spec.job_number));
    put("clone_index", json!(spec.clone_index));
    put("group", json!(spec.group));
    put(
        "numjobs",
        json!(if spec.clone_index == 0 {
            spec.numjobs
        } else {
            1
        }),
    );
    put("loops", json!(spec.sizes.loops));
    put("rw", json!(pattern.word()));
    put("rw_batch", json!(pattern.batch));
    put("rw_step", json!(pattern.step));
    put("rw_seq", number(pattern.sequencer == Sequencer::Identical));
    put(
        "unit_base",
        json!(if spec.reporting.unit_base == 8 {
            "byte"
        } else {
            "bit"
        }),
    );
    put("iodepth", json!(spec.queue.depth));
    put("iodepth_low", json!(spec.queue.low));
    put("iodepth_batch", json!(spec.queue.batch));
    put("iodepth_batch_complete_min", json!(spec.queue.complete_min));
    put("iodepth_batch_complete_max", json!(spec.queue.complete_max));
    put("serialize_overlap", number(spec.queue.serialize_overlap));
    for (name, amount) in [
        ("size", spec.sizes.size),
        ("io_size", spec.sizes.io_size),
        ("offset", spec.sizes.offset),
        ("offset_increment", spec.sizes.offset_increment),
    ] {
        put(name, json!(amount.bytes));
        put(
            &format!("{name}_percent"),
            json!(amount.percent.unwrap_or(0)),
        );
    }
    put("fill_device", number(spec.target.fill_device));
    let (low, high) = spec.target.filesize.unwrap_or((0, 0));
    put("filesize_low", json!(low));
    put("filesize_high", json!(high));
    put("bs", json!(draft.blocks.bs));
    put(
        "blockalign",
        json!(pattern.block.clone().map(|block| block.align)),
    );
    put(
        "bs_min",
        json!(pattern.block.clone().map(|block| block.min)),
    );
    put(
        "bs_max",
        json!(pattern.block.clone().map(|block| block.max)),
    );
    put("bs_min_all", json!(pattern.min_block_all));
    put("bs_unaligned", number(pattern.unaligned));
    put("bs_is_seq_rand", number(pattern.seq_rand_sizes));
    for (index, direction) in ["read", "write", "trim"].iter().enumerate() {
        let split = pattern.block[index].split.iter();
        let split: Vec<Json> = split
            .map(|entry| json!([entry.size, entry.percent]))
            .collect();
        put(&format!("bssplit_{direction}"), json!(split));
        let zones = draft.zones[index].iter();
        let zones: Vec<Json> = zones
            .map(|zone| json!([zone.access_percent, zone.size]))
            .collect();
        put(&format!("zones_{direction}"), json!(zones));
    }
    put("norandommap", number(pattern.norandommap));
    put("softrandommap", number(pattern.softrandommap));
    put(
        "random_distribution",
        json!(match draft.distribution {
            DistributionKind::Random => "random",
            DistributionKind::Zipf(..) => "zipf",
            DistributionKind::Pareto(..) => "pareto",
            DistributionKind::Normal(..) => "normal",
            DistributionKind::Zoned => "zoned",
            DistributionKind::ZonedAbs => "zoned_abs",
            DistributionKind::Sequence(_) => "sequence",
        }),
    );
    put(
        "random_generator",
        json!(match pattern.generator {
            Generator::Tausworthe => "tausworthe",
            Generator::Tausworthe64 => "tausworthe64",
            Generator::Lfsr => "lfsr",
        }),
    );
    put("percentage_random", json!(pattern.percentage_random));
    // A given seed switches the variation off, which the spec leaves to who reads both.
    put(
        "randrepeat",
        number(pattern.randrepeat && pattern.randseed.is_none()),
    );
    put("randseed", json!(pattern.randseed.unwrap_or(137)));
    put("rwmixread", json!(pattern.mix_read));
    put("rwmixwrite", json!(100 - pattern.mix_read));
    target(draft, &mut put);
    reporting(draft, &mut put);
    map
}

fn target(draft: &Draft, put: &mut impl FnMut(&str, Json)) {
    let spec = &draft.spec;
    put("nrfiles", json!(spec.target.nrfiles));
    put("openfiles", json!(spec.target.openfiles));
    put("overwrite", number(spec.target.overwrite));
    put("direct", number(spec.target.direct));
    put("invalidate", number(spec.target.invalidate));
    put("pre_read", number(spec.target.pre_read));
    put(
        "zonemode",
        json!(match draft.zoning.mode {
            ZoneMode::None => "none",
            ZoneMode::Strided => "strided",
            ZoneMode::Zbd => "zbd",
        }),
    );
    put("zonesize", json!(draft.zoning.size));
    put("zonerange", json!(draft.zoning.range));
    put("zoneskip", json!(draft.zoning.skip.bytes));
    put(
        "file_service_batch",
        json!(match spec.target.service {
            FileService::RoundRobin { count }
            | FileService::Sequential { count }
            | FileService::Random { count } => count,
            _ => 1,
        }),
    );
    put("buffer_pattern_bytes", json!(spec.data.pattern.len()));
    put(
        "buffer_compress_percentage",
        json!(spec.data.compress_percent),
    );
    put("compress_chunk", json!(spec.data.compress_chunk));
    put("dedupe_percentage", json!(spec.data.dedupe.percent));
    put("compress_or_dedupe_active", json!(spec.data.compressing));
    put("refill_buffers", number(draft.buffers.refill));
    put("scramble_buffers", number(draft.buffers.scramble));
    put("zero_buffers", number(spec.data.zero));
    put("refill_active", json!(spec.data.refill));
    put("scramble_active", json!(spec.data.scramble));
    put("sync_file_range", json!(spec.pattern.sync_file_range_flags));
    put(
        "sync_file_range_nr",
        json!(spec.pattern.sync_file_range_every),
    );
}

fn reporting(draft: &Draft, put: &mut impl FnMut(&str, Json)) {
    let spec = &draft.spec;
    let reporting = &spec.reporting;
    put("runtime_usec", json!(spec.pacing.runtime_us));
    put("time_based", number(spec.pacing.time_based));
    // The delay itself is drawn from this range when the job starts.
    put("startdelay_high_usec", json!(spec.pacing.start_delay_us.1));
    put("ramp_time_usec", json!(spec.pacing.ramp_us));
    let (rate, think) = (spec.pacing.rate, spec.pacing.think);
    put("rate", json!(rate.bytes));
    put("rate_min", json!(rate.min_bytes));
    put("rate_iops", json!(rate.iops));
    put("rate_iops_min", json!(rate.min_iops));
    put("rate_cycle", json!(rate.cycle_ms));
    put("rate_check_active", json!(rate.caps() || rate.floors()));
    put("thinktime_usec", json!(think.time_us));
    put("thinktime_spin_usec", json!(think.spin_us));
    put("thinktime_blocks", json!(think.blocks));
    put("thinktime_iotime_usec", json!(think.io_time_us));
    put("ramp_size", json!(spec.pacing.ramp_bytes));
    put(
        "max_latency_nsec",
        json!(spec.pacing.max_latency_us.map(|us| us.saturating_mul(1000))),
    );
    put("latency_window_usec", json!(reporting.latency_window_us));
    put("disable_lat", number(!reporting.lat));
    put("disable_clat", number(!reporting.clat));
    put("disable_slat", number(!reporting.slat));
    put("disable_bw_measurement", number(!reporting.bw));
    put("lat_percentiles", number(reporting.lat_percentiles));
    put("clat_percentiles", number(reporting.clat_percentiles));
    put("slat_percentiles", number(reporting.slat_percentiles));
    put("bwavgtime_msec", json!(reporting.bw_avg_ms));
    put("iopsavgtime_msec", json!(reporting.iops_avg_ms));
    put("percentile_digits", json!(reporting.percentile_precision));
    put("percentile_list", json!(reporting.percentiles));
    put("thread", number(spec.thread));
}

struct Ended {
    status: u8,
    jobs: Vec<Draft>,
    unbuilt: bool,
    texts: Vec<String>,
}

/// Sets jobs up without the refusal of what is not built.
fn set_up(words: &[OsString], host: &FakeHost) -> Ended {
    let mut session = Session::new(host, Persona::Ferrio);
    let result = crate::read(&mut session, words);
    let texts = session.diagnostics.iter().map(|d| d.text.clone()).collect();
    let jobs = session.jobs;
    let unbuilt = jobs.iter().any(|job| !job.effective_unbuilt().is_empty());
    Ended {
        status: result.err().map_or(0, |stop| stop.status),
        jobs,
        unbuilt,
        texts,
    }
}

fn list(json: &Json) -> Vec<OsString> {
    json.as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .map(OsString::from)
        .collect()
}

/// Compares jobs with the baseline and the keys that differ from it.
fn differences(baseline: &Json, case: &Json, ended: &Ended) -> Option<String> {
    let expected = case["jobs"].as_array().cloned().unwrap_or_default();
    if u64::from(ended.status) != case["exit"].as_u64().unwrap_or(0) {
        return Some(format!("status {}: {:?}", ended.status, ended.texts));
    }
    if expected.len() != ended.jobs.len() {
        return Some(format!("{} jobs", ended.jobs.len()));
    }
    for (expected, draft) in expected.iter().zip(&ended.jobs) {
        let actual = effective(draft);
        for (key, default) in baseline.as_object().into_iter().flatten() {
            let wanted = expected.get(key).unwrap_or(default);
            if NOT_BUILT.contains(&key.as_str()) || key == "startdelay_usec" {
                continue;
            }
            let Some(actual) = actual.get(key) else {
                return Some(format!("no key {key}"));
            };
            let switch = wanted.as_u64() == Some(5) && key == "norandommap";
            if !switch && !stored::same(key, wanted, actual) {
                return Some(format!("{key}: {actual}, not {wanted}"));
            }
        }
    }
    None
}

fn file(name: &str) -> Json {
    serde_json::from_str(name).expect("vector file")
}

#[test]
fn effective_settings() {
    let vectors = file(include_str!("../../tests/data/options-effective.json"));
    let baseline = &vectors["baseline"]["job"];
    let baseline = if baseline.is_object() {
        baseline
    } else {
        &vectors["baseline"]
    };
    let mut wrong = Vec::new();
    let mut skipped = 0;
    for case in vectors["cases"].as_array().expect("cases") {
        let mut words = list(&vectors["base_args"]);
        words.extend(list(&case["add"]));
        let shown: Vec<String> = list(&case["add"])
            .into_iter()
            .filter_map(|word| word.into_string().ok())
            .collect();
        let shown = shown.join(" ");
        let ended = set_up(&words, &FakeHost::default());
        if ended.unbuilt {
            skipped += 1;
            continue;
        }
        let listed = known::EFFECTIVE
            .iter()
            .any(|(_, options)| options.contains(&shown.as_str()));
        match (differences(baseline, case, &ended), listed) {
            (Some(why), false) => wrong.push(format!("{shown}: {why}")),
            (None, true) => wrong.push(format!("{shown}: listed, but is the same")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(skipped < 90, "{skipped} cases ask for what is not built");
}

#[test]
fn effective_settings_of_job_files() {
    let vectors = file(include_str!("../../tests/data/options-jobfiles.json"));
    let effective = file(include_str!("../../tests/data/options-effective.json"));
    let mut wrong = Vec::new();
    for case in vectors["cases"].as_array().expect("cases") {
        let host = FakeHost::default()
            .with_file("j.fio", text(case, "jobfile"))
            .with_kind("d", PathKind::Directory);
        let ended = set_up(&["j.fio".into()], &host);
        if ended.unbuilt {
            continue;
        }
        if let Some(why) = differences(&effective["baseline"], case, &ended) {
            wrong.push(format!("{}: {why}", text(case, "id")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn groups() {
    let vectors = file(include_str!("../../tests/data/options-groups.json"));
    for case in vectors["cases"].as_array().expect("cases") {
        let mut host = FakeHost::default();
        for (name, content) in case["files"].as_object().into_iter().flatten() {
            host = host.with_file(name, content.as_str().unwrap_or_default());
        }
        let ended = set_up(&list(&case["args"]), &host);
        // What is reported: a member of a group opens no entry of its own.
        let mut reported: Vec<Json> = Vec::new();
        let mut last: Option<u32> = None;
        for draft in &ended.jobs {
            let spec = &draft.spec;
            if !spec.group_reporting || last != Some(spec.group) {
                reported.push(json!([spec.name, spec.group]));
            }
            last = Some(spec.group);
        }
        assert_eq!(
            Json::from(reported),
            case["json_jobs"],
            "{}: {:?}",
            text(case, "id"),
            ended.texts
        );
    }
}

#[test]
fn file_names() {
    let vectors = file(include_str!("../../tests/data/options-files.json"));
    let mut wrong = Vec::new();
    for case in vectors["cases"].as_array().expect("cases") {
        if text(case, "id") == "unlink" {
            // The file is gone at the end of a run, which does not take place here.
            continue;
        }
        let mut host = FakeHost::default();
        for dir in list(&case["dirs"]) {
            host = host.with_kind(dir.to_str().unwrap_or_default(), PathKind::Directory);
        }
        let ended = set_up(&list(&case["args"]), &host);
        let mut names: Vec<String> = ended
            .jobs
            .iter()
            .flat_map(|draft| &draft.spec.target.files)
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names.dedup();
        let expected = case["files"].as_array().cloned().unwrap_or_default();
        let mut expected: Vec<String> = expected
            .iter()
            .map(|pair| pair[0].as_str().unwrap_or_default().to_string())
            .collect();
        expected.sort();
        if names != expected || u64::from(ended.status) != case["exit"].as_u64().unwrap_or(0) {
            wrong.push(format!(
                "{}: status {} {names:?}, not {expected:?} {:?}",
                text(case, "id"),
                ended.status,
                ended.texts
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
