//! The specification's vectors for histogram buckets and percentile thresholds.

use std::path::Path;

use ferrio_stats::histogram::{bucket_of, bucket_value};
use ferrio_stats::percentile::needed;
use serde::Deserialize;
use serde::de::DeserializeOwned;

fn vectors<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<T> = serde_json::from_str(&text).expect("vector file");
    assert!(!rows.is_empty());
    rows
}

#[test]
fn histogram_buckets() {
    #[derive(Deserialize)]
    struct Row {
        ns: u64,
        bucket: usize,
        representative_ns: u64,
    }
    for row in vectors::<Row>("output-histogram-buckets.json") {
        assert_eq!(bucket_of(row.ns), row.bucket, "{} ns", row.ns);
        assert_eq!(
            bucket_value(row.bucket),
            row.representative_ns,
            "bucket {}",
            row.bucket
        );
    }
}

#[test]
fn percentile_thresholds() {
    #[derive(Deserialize)]
    struct Row {
        percentile: f64,
        samples: u64,
        needed_cumulative: u64,
    }
    for row in vectors::<Row>("output-percentile-threshold.json") {
        // The vectors were measured in whole samples, so nothing is answered by less than one.
        let found = needed(row.percentile, row.samples).max(1);
        assert_eq!(
            found, row.needed_cumulative,
            "{} of {}",
            row.percentile, row.samples
        );
    }
}
