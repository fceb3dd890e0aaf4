//! What a draft holds, in the words of the vectors.

use serde_json::{Map, Value as Json, json};

use crate::draft::{DistributionKind, Draft};
use crate::spec::FileService;
use crate::table::{self, Kind};
use crate::value::{self, Value};

fn each<T: Copy + Into<u64>>(values: [T; 3]) -> Json {
    let [read, write, trim] = values.map(Into::into);
    json!({"read": read, "write": write, "trim": trim})
}

/// Settings right after parsing, under the vectors' names.
pub(super) fn stored(draft: &Draft) -> Map<String, Json> {
    let mut map = Map::new();
    let mut put = |key: &str, value: Json| {
        map.insert(key.to_string(), value);
    };
    put("section", json!(String::from_utf8_lossy(&draft.section)));
    put("name", json!(draft.spec.name));
    put("description", json!(draft.spec.description));
    put("bs", each(draft.blocks.bs));
    put("min_bs", each(draft.blocks.min));
    put("max_bs", each(draft.blocks.max));
    put("blockalign", each(draft.blocks.align));
    for (index, direction) in ["read", "write", "trim"].iter().enumerate() {
        let split: Vec<Json> = draft.blocks.split[index]
            .iter()
            .map(|entry| json!({"bs": entry.size, "pct": entry.percent}))
            .collect();
        put(&format!("split_{direction}"), json!(split));
        let size = match draft.distribution {
            DistributionKind::ZonedAbs => "size",
            _ => "size_pct",
        };
        let zones: Vec<Json> = draft.zones[index]
            .iter()
            .map(|zone| json!({"access_pct": zone.access_percent, size: zone.size}))
            .collect();
        put(&format!("zones_{direction}"), json!(zones));
    }
    for (name, amount) in [
        ("size", draft.size),
        ("io_size", draft.io_size),
        ("offset", draft.offset),
        ("offset_increment", draft.offset_increment),
        ("zoneskip", draft.zoning.skip),
    ] {
        put(name, json!(amount.bytes));
        put(&format!("{name}_percent"), json!(amount.percent));
        put(&format!("{name}_nz"), json!(amount.zones));
    }
    put("file_size_low", json!(draft.filesize.0));
    put("file_size_high", json!(draft.filesize.1));
    put("runtime_us", json!(draft.spec.pacing.runtime_us));
    put("startdelay_us", json!(draft.spec.pacing.start_delay_us.0));
    put(
        "startdelay_high_us",
        json!(draft.spec.pacing.start_delay_us.1),
    );
    put("percentile_list", json!(draft.spec.reporting.percentiles));
    put(
        "percentile_precision",
        json!(draft.spec.reporting.percentile_precision),
    );
    for (index, class) in ["read", "write", "verify"].iter().enumerate() {
        let codes = draft.spec.errors.codes[index].clone().unwrap_or_default();
        put(class, json!(codes));
    }
    let [read, write, verify] = draft.spec.errors.continue_on.map(u32::from);
    put("continue_on_error", json!(read | write << 1 | verify << 2));
    put("cpus", json!(draft.all_cpus));
    put("rw", json!(draft.spec.pattern.word()));
    put("rw_seq_nr", json!(draft.spec.pattern.batch));
    put("rw_seq_add", json!(draft.spec.pattern.step));
    put("iodepth", json!(draft.spec.queue.depth));
    put("nrfiles", json!(draft.spec.target.nrfiles));
    put("numjobs", json!(draft.spec.numjobs));
    put("stonewall", json!(u8::from(draft.spec.stonewall)));
    put("rwmixread", json!(draft.spec.pattern.mix_read));
    put("rwmixwrite", json!(100 - draft.spec.pattern.mix_read));
    put("kb_base", json!(draft.spec.reporting.kb_base));
    put(
        "unit_base",
        json!(match draft.spec.reporting.unit_base {
            0 => "auto",
            8 => "bytes",
            _ => "bits",
        }),
    );
    put("direct", json!(u8::from(draft.spec.target.direct)));
    put("thread", json!(u8::from(draft.spec.thread)));
    put("time_based", json!(u8::from(draft.spec.pacing.time_based)));
    put("randseed", json!(draft.spec.pattern.randseed));
    put("ioengine", json!(draft.engine));
    let pattern: String = draft
        .spec
        .data
        .pattern
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    put("buffer_pattern", json!(pattern));
    put("files", json!(draft.names.files));
    distribution(draft, &mut put);
    service(draft, &mut put);
    map
}

fn distribution(draft: &Draft, put: &mut impl FnMut(&str, Json)) {
    let center = |center: &Option<f64>| json!(center.unwrap_or(-1.0));
    match &draft.distribution {
        DistributionKind::Random => put("distribution", json!("random")),
        DistributionKind::Zipf(theta, c) => {
            put("distribution", json!("zipf"));
            put("zipf_theta", json!(theta));
            put("random_center", center(c));
        }
        DistributionKind::Pareto(h, c) => {
            put("distribution", json!("pareto"));
            put("pareto_h", json!(h));
            put("random_center", center(c));
        }
        DistributionKind::Normal(deviation, c) => {
            put("distribution", json!("normal"));
            put("gauss_dev", json!(deviation));
            put("random_center", center(c));
        }
        DistributionKind::Zoned => put("distribution", json!("zoned")),
        DistributionKind::ZonedAbs => put("distribution", json!("zoned_abs")),
        DistributionKind::Sequence(_) => put("distribution", json!("sequence")),
    }
}

fn service(draft: &Draft, put: &mut impl FnMut(&str, Json)) {
    let (name, count) = match draft.spec.target.service {
        FileService::RoundRobin { count } => ("roundrobin", count),
        FileService::Sequential { count } => ("sequential", count),
        FileService::Random { count } => ("random", count),
        FileService::Zipf { .. } => ("zipf", 1),
        FileService::Pareto { .. } => ("pareto", 1),
        FileService::Normal { .. } => ("normal", 1),
    };
    put("type", json!(name));
    put("nr", json!(count));
}

/// Adds the numbers of options that are not built: these are not stored anywhere, but parsed.
pub(super) fn add_unbuilt(map: &mut Map<String, Json>, name: &str, text: &str) {
    let Some(opt) = table::find(name) else { return };
    if let Ok(Value::Numbers(pieces)) = value::parse(opt, Some(text.as_bytes()), 1024) {
        let mut slots = [0_u64; 3];
        Value::fill(&pieces, &mut slots);
        let key = match opt.kind {
            Kind::Time(_) => format!("{}_us", opt.name),
            _ => opt.name.to_string(),
        };
        if opt.slots == 3 {
            map.entry(key).or_insert_with(|| each(slots));
        } else {
            map.entry(key).or_insert_with(|| json!(slots[0]));
        }
    }
}

/// Numbers are equal up to the digits that the vectors show; where a vector shows a number of a
/// switch, zero or not is all that counts.
pub(super) fn same(key: &str, expected: &Json, actual: &Json) -> bool {
    if matches!(key, "direct" | "thread" | "stonewall" | "time_based") {
        return (expected.as_u64() != Some(0)) == (actual.as_u64() != Some(0));
    }
    match (expected, actual) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(key, a, b))
        }
        (Json::Number(a), Json::Number(b)) => match (a.as_i128(), b.as_i128()) {
            (Some(a), Some(b)) => a == b,
            _ => {
                let (a, b) = (
                    a.as_f64().unwrap_or(f64::NAN),
                    b.as_f64().unwrap_or(f64::NAN),
                );
                (a - b).abs() <= 1e-5 * a.abs().max(1.0)
            }
        },
        _ => expected == actual,
    }
}
