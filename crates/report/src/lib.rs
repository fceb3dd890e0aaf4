//! ferrio's reports: every rendering of a run's result.
//!
//! [`normal()`], [`terse()`] and [`json()`] render a [`RunResult`](ferrio_stats::RunResult); all
//! figures come from [`ferrio_stats::summary`], so the formats cannot disagree. [`banner`] holds
//! the lines before a run and [`progress`] the line during it.
//!
//! ```
//! use ferrio_report::{RenderOptions, json};
//! use ferrio_stats::RunResult;
//!
//! let options = RenderOptions::default();
//! assert!(json(&RunResult::default(), &options).starts_with("{\n  \"fio version\" : \"fio-"));
//! ```
#![forbid(unsafe_code)]

use jiff::Timestamp;
pub use jiff::tz::TimeZone;

pub use ferrio_stats::summary::PercentileRule;

pub mod banner;
mod json;
mod json_writer;
mod normal;
mod normal_latency;
pub mod number;
pub mod progress;
mod terse;

pub use banner::{Headline, headline, laying_out, starting};
pub use json::json;
pub use normal::normal;
pub use progress::ProgressLine;
pub use terse::terse;

/// The version that reports name. Programs that read them look for the prefix `fio-`.
pub const REPORT_VERSION: &str = "fio-3.42";

/// How to render a result.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// Version of the terse format, 2 to 5.
    pub terse_version: u32,
    /// JSON lists the histogram bins (`json+`).
    pub json_bins: bool,
    /// Version that the report names.
    pub version: &'static str,
    /// Time zone of dates.
    pub zone: TimeZone,
    /// Which value a percentile has.
    pub percentiles: PercentileRule,
}

impl Default for RenderOptions {
    /// Terse version 3, no bins, the system's time zone, percentiles within the samples.
    fn default() -> Self {
        RenderOptions {
            terse_version: 3,
            json_bins: false,
            version: REPORT_VERSION,
            zone: TimeZone::system(),
            percentiles: PercentileRule::InRange,
        }
    }
}

/// A date as reports show it: `Tue Nov 14 22:13:20 2023`. Times beyond the calendar's end show
/// as its end.
fn date(timestamp_ms: u64, zone: &TimeZone) -> String {
    let timestamp = i64::try_from(timestamp_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .unwrap_or(Timestamp::MAX);
    timestamp
        .to_zoned_datetime(zone.clone())
        .strftime("%a %b %e %H:%M:%S %Y")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let utc = TimeZone::UTC;
        assert_eq!(date(1_700_000_000_123, &utc), "Tue Nov 14 22:13:20 2023");
        assert_eq!(date(1_699_000_000_000, &utc), "Fri Nov  3 08:26:40 2023");
        let east = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(date(1_700_000_000_123, &east), "Wed Nov 15 00:13:20 2023");
        assert!(date(u64::MAX, &utc).ends_with("9999"));
    }
}
