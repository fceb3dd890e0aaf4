//! Latency lines, percentile blocks and the latency distribution of the normal report.

use ferrio_stats::DISTRIBUTION_LABELS;
use ferrio_stats::summary::{LatencySummary, Percentiles};

use crate::number::extreme;

/// Units of latencies.
#[derive(Clone, Copy)]
enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
}

impl TimeUnit {
    /// Of figures in nanoseconds. All of them must be large for a coarse unit; where the spread
    /// is known it counts too.
    fn of(min_ns: u64, max_ns: u64, stddev_ns: Option<f64>) -> Self {
        let spread = |limit| stddev_ns.is_none_or(|stddev| stddev > limit);
        if min_ns > 2_000_000 && max_ns > 99_999_999 && spread(1e6) {
            TimeUnit::Milliseconds
        } else if min_ns > 2000 && max_ns > 99_999 && spread(1e3) {
            TimeUnit::Microseconds
        } else {
            TimeUnit::Nanoseconds
        }
    }

    fn name(self) -> &'static str {
        match self {
            TimeUnit::Nanoseconds => "nsec",
            TimeUnit::Microseconds => "usec",
            TimeUnit::Milliseconds => "msec",
        }
    }

    fn ns(self) -> u64 {
        match self {
            TimeUnit::Nanoseconds => 1,
            TimeUnit::Microseconds => 1000,
            TimeUnit::Milliseconds => 1_000_000,
        }
    }

    /// Rounds up to the unit, microseconds before milliseconds.
    fn round_up(self, ns: u64) -> u64 {
        match self {
            TimeUnit::Nanoseconds => ns,
            TimeUnit::Microseconds => ns.div_ceil(1000),
            TimeUnit::Milliseconds => ns.div_ceil(1000).div_ceil(1000),
        }
    }
}

/// One kind of latency; nothing without samples.
pub(crate) fn latency_line(name: &str, latency: &LatencySummary) -> String {
    if latency.samples == 0 {
        return String::new();
    }
    let unit = TimeUnit::of(latency.min_ns, latency.max_ns, Some(latency.stddev_ns));
    let divisor = unit.ns() as f64;
    format!(
        "    {name} ({}): min={}, max={}, avg={:5.2}, stdev={:5.2}\n",
        unit.name(),
        extreme(latency.min_ns / unit.ns()),
        extreme(latency.max_ns / unit.ns()),
        latency.mean_ns / divisor,
        latency.stddev_ns / divisor
    )
}

/// Width that the cells of a percentile row may take together.
const ROW_WIDTH: usize = 73;
/// Most digits behind the point that a percentile shows; more than any number has.
const PRECISION_MAX: u32 = 1000;

/// The percentiles of one kind of latency; nothing if there are none.
pub(crate) fn percentile_block(name: &str, latency: &LatencySummary, precision: u32) -> String {
    let Some(Percentiles {
        answers,
        ceiling_ns,
        ..
    }) = &latency.percentiles
    else {
        return String::new();
    };
    let (Some((_, min_ns)), Some((_, max_ns))) = (answers.first(), answers.last()) else {
        return String::new();
    };
    let unit = TimeUnit::of(*min_ns, *max_ns, None);
    let precision = precision.min(PRECISION_MAX) as usize;
    let digits = (max_ns / unit.ns()).checked_ilog10().unwrap_or(0) as usize + 1;
    let value_width = digits.max(5);
    let percentile_width = precision + 3;
    let row_len = (ROW_WIDTH / (precision + 10 + value_width)).max(1);
    // Rounding up must not show more than the largest latency's own figure.
    let ceiling = ceiling_ns / unit.ns();
    let cells: Vec<String> = answers
        .iter()
        .map(|&(percentile, ns)| {
            let value = unit.round_up(ns).min(ceiling);
            format!(" {percentile:percentile_width$.precision$}th=[{value:value_width$}]")
        })
        .collect();
    let rows: Vec<String> = cells
        .chunks(row_len)
        .map(|row| format!("     |{}", row.join(",")))
        .collect();
    format!(
        "    {name} percentiles ({}):\n{}\n",
        unit.name(),
        rows.join(",\n")
    )
}

/// Cells in a line of the latency distribution.
const CELLS_PER_LINE: usize = 5;

/// The classes of the latency distribution that hold anything, per cent.
pub(crate) fn distribution(shares: &[f64]) -> String {
    let (ns, rest) = shares.split_at(DISTRIBUTION_LABELS.len());
    let (us, ms) = rest.split_at(DISTRIBUTION_LABELS.len());
    let mut text = String::new();
    for (unit, shares) in [("nsec", ns), ("usec", us), ("msec", ms)] {
        let labels = DISTRIBUTION_LABELS.iter().map(|label| label.to_string());
        let labels = labels.chain(["2000".to_string(), ">=2000".to_string()]);
        let cells: Vec<String> = labels
            .zip(shares)
            .filter(|(_, share)| **share > 0.0)
            .map(|(label, share)| format!("{label}={share:.2}%"))
            .collect();
        for cells in cells.chunks(CELLS_PER_LINE) {
            text += &format!("  lat ({unit})   : {}\n", cells.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(min_ns: u64, max_ns: u64, stddev_ns: f64) -> LatencySummary {
        let mean_ns = min_ns as f64;
        LatencySummary {
            samples: 2,
            min_ns,
            max_ns,
            mean_ns,
            stddev_ns,
            percentiles: None,
        }
    }

    #[test]
    fn units_need_size_and_spread() {
        let unit = |min, max, stddev| {
            let line = latency_line("clat", &latency(min, max, stddev));
            line[10..14].to_string()
        };
        assert_eq!(unit(100_500, 100_500, 0.0), "nsec");
        assert_eq!(unit(2001, 100_000, 1001.0), "usec");
        assert_eq!(unit(2000, 100_000, 1001.0), "nsec");
        assert_eq!(unit(2_000_001, 100_000_000, 1_000_001.0), "msec");
        assert_eq!(unit(2_000_001, 100_000_000, 1_000_000.0), "usec");
        assert_eq!(latency_line("clat", &LatencySummary::default()), "");
    }

    #[test]
    fn extremes_have_six_digits() {
        let line = latency_line("clat", &latency(8_763_100, 8_763_100, 0.0));
        assert_eq!(
            line,
            "    clat (nsec): min=8763.1k, max=8763.1k, avg=8763100.00, stdev= 0.00\n"
        );
    }

    fn block(answers: &[(f64, u64)], ceiling_ns: u64, precision: u32) -> String {
        let answers = answers.to_vec();
        let percentiles = Some(Percentiles {
            answers,
            ceiling_ns,
            bins: Vec::new(),
        });
        percentile_block(
            "clat",
            &LatencySummary {
                percentiles,
                ..latency(0, 0, 0.0)
            },
            precision,
        )
    }

    #[test]
    fn rows_depend_on_the_width_of_cells() {
        let list: Vec<(f64, u64)> = (1..=6).map(|p| (f64::from(p), 6176)).collect();
        assert_eq!(
            block(&list[..5], u64::MAX, 2),
            "    clat percentiles (nsec):\n     |  1.00th=[ 6176],  2.00th=[ 6176],  \
             3.00th=[ 6176],  4.00th=[ 6176],\n     |  5.00th=[ 6176]\n"
        );
        assert_eq!(
            block(&list[..2], u64::MAX, 0),
            "    clat percentiles (nsec):\n     |   1th=[ 6176],   2th=[ 6176]\n"
        );
        assert_eq!(
            block(&[(99.999, 89_600)], u64::MAX, 3),
            "    clat percentiles (nsec):\n     | 99.999th=[89600]\n"
        );
        assert_eq!(block(&[], u64::MAX, 2), "");
    }

    #[test]
    fn values_are_rounded_up_but_not_beyond_the_largest() {
        let answers = [(50.0, 1_100_001), (100.0, 1_203_456)];
        assert!(block(&answers, u64::MAX, 2).contains("[ 1101], 100.00th=[ 1204]"));
        assert!(block(&answers, 1_203_456, 2).contains("[ 1101], 100.00th=[ 1203]"));
    }

    #[test]
    fn huge_precision_is_bounded() {
        assert!(block(&[(50.0, 1)], u64::MAX, u32::MAX).contains("th=[    1]"));
    }

    #[test]
    fn distribution_lines_hold_five_cells() {
        let mut shares = [0.0; 32];
        assert_eq!(distribution(&shares), "");
        shares[20..27].fill(1.0);
        shares[31] = 0.5;
        assert_eq!(
            distribution(&shares),
            "  lat (msec)   : 2=1.00%, 4=1.00%, 10=1.00%, 20=1.00%, 50=1.00%\n  \
             lat (msec)   : 100=1.00%, 250=1.00%, >=2000=0.50%\n"
        );
    }
}
