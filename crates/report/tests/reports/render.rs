//! The specification's vectors: numbers in, text out.

use ferrio_report::number::{Unit, scaled};
use ferrio_report::{
    PercentileRule, REPORT_VERSION, RenderOptions, TimeZone, banner, headline, json, normal,
    starting, terse,
};
use serde::Deserialize;

use crate::vectors::{Case, clones, data, headline_of, sections};

pub(crate) const CASES: [&str; 14] = [
    "01-read-usec",
    "02-rw-msec-bw",
    "03-nsec-trim-sync",
    "04-unified-mixed",
    "05-unified-both",
    "06-group",
    "07-group-off",
    "08-two-groups",
    "09-bits-kb1000-sig6",
    "10-percentiles",
    "11-errors",
    "12-lattarget-zone-cache",
    "13-disk-slaves",
    "14-nostats-nothing",
];

/// The one known difference from the vectors: their percentiles are bucket middles, which may
/// lie outside the samples. ferrio's reports keep them inside unless asked otherwise, as here.
const VECTOR_PERCENTILES: PercentileRule = PercentileRule::BucketMiddle;

fn options(case: &Case, terse_version: u32, json_bins: bool) -> RenderOptions {
    assert_eq!(case.timezone, "UTC");
    RenderOptions {
        terse_version,
        json_bins,
        version: REPORT_VERSION,
        zone: TimeZone::UTC,
        percentiles: VECTOR_PERCENTILES,
    }
}

/// Points at the first line that differs.
fn assert_text(found: &str, expected: &str, what: &str) {
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{what}, line {}", number + 1);
    }
    assert_eq!(found, expected, "{what}");
}

#[test]
fn normal_reports() {
    for id in CASES {
        let case = Case::read(id);
        let mut text = String::new();
        let (mut group, mut processes) = (0, 0);
        for (index, section) in sections(&case.args).iter().enumerate() {
            if index > 0 && section.iter().any(|(key, _)| key == "stonewall") {
                group += 1;
            }
            text += &headline(&headline_of(section, group));
            if clones(section) > 1 {
                text += banner::CLONES;
            }
            processes += clones(section);
        }
        text += &banner::version(REPORT_VERSION);
        text += &starting(0, processes);
        text += &normal(&case.run(), &options(&case, 3, false));
        assert_text(&text, &case.expected["normal"], id);
    }
}

#[test]
fn terse_reports() {
    for id in CASES {
        let case = Case::read(id);
        for version in 2..=5 {
            let key = format!("terse{version}");
            let text = terse(&case.run(), &options(&case, version, false));
            assert_text(&text, &case.expected[&key], &format!("{id} {key}"));
        }
    }
}

#[test]
fn json_reports() {
    for id in CASES {
        let case = Case::read(id);
        for (key, bins) in [("json", false), ("json+", true)] {
            let text = json(&case.run(), &options(&case, 3, bins));
            assert_text(&text, &case.expected[key], &format!("{id} {key}"));
        }
    }
}

#[test]
fn numbers() {
    #[derive(Deserialize)]
    struct Row {
        value: u64,
        digits: u32,
        multiplier: u32,
        binary: bool,
        unit: String,
        text: String,
    }
    let rows: Vec<Row> = serde_json::from_str(&data("output-number-format.json")).expect("rows");
    assert_eq!(rows.len(), 646);
    for row in rows {
        let unit = match row.unit.as_str() {
            "" => Unit::None,
            "B" => Unit::Bytes,
            "B/s" => Unit::BytesPerSecond,
            "bit/s" => Unit::BitsPerSecond,
            other => panic!("unit {other}"),
        };
        let text = scaled(row.value, row.digits, row.multiplier, row.binary, unit);
        assert_eq!(text, row.text, "{} in {} digits", row.value, row.digits);
    }
}
