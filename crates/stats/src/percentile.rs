//! Percentiles of latency histograms.
//!
//! A percentile `p` of `n` samples is answered by the first bucket up to which at least `p`
//! per cent of the samples lie. Users compare the answers of two runs digit by digit, so the
//! comparison must not depend on how a machine rounds: [`needed`] computes the smallest sample
//! count that answers a percentile with integers only. Rule and reasons: `docs/statistics.md`.

use crate::counters::{Histogram, Moments};
use crate::histogram::bucket_value;

/// Significant bits of the intermediate results in [`needed`].
const PRECISION_BITS: u32 = 64;
/// One hundredth with a 64-bit significand; its unit is 2^[`HUNDREDTH_EXPONENT`].
const HUNDREDTH: u64 = 0xA3D7_0A3D_70A3_D70A;
const HUNDREDTH_EXPONENT: i32 = -70;

/// A non-negative number `mantissa`·2^`exponent`.
#[derive(Clone, Copy)]
struct Scaled {
    mantissa: u128,
    exponent: i32,
}

impl Scaled {
    /// Rounds to 64 significant bits, to nearest, ties to even.
    fn rounded(self) -> Self {
        let bits = u128::BITS - self.mantissa.leading_zeros();
        if bits <= PRECISION_BITS {
            return self;
        }
        let surplus = bits - PRECISION_BITS;
        let kept = self.mantissa >> surplus;
        let rest = self.mantissa & ((1 << surplus) - 1);
        let half = 1 << (surplus - 1);
        let up = rest > half || (rest == half && kept & 1 == 1);
        Scaled {
            mantissa: kept + u128::from(up),
            exponent: self.exponent + surplus as i32,
        }
    }

    /// The smallest integer that is not below the number.
    fn ceiling(self) -> u64 {
        let whole = if self.exponent >= 0 {
            // Bounded by the caller: a hundredth of a u64 times at most 100 has no positive
            // exponent beyond a few bits.
            self.mantissa << self.exponent.min(63)
        } else if self.exponent <= -128 {
            u128::from(self.mantissa > 0)
        } else {
            let shift = self.exponent.unsigned_abs();
            let fraction = self.mantissa & ((1 << shift) - 1);
            (self.mantissa >> shift) + u128::from(fraction > 0)
        };
        u64::try_from(whole).unwrap_or(u64::MAX)
    }
}

/// The smallest cumulative count that answers `percentile` (0 to 100) of `samples` samples.
///
/// The threshold is (`samples`·0.01)·`percentile`, each product rounded to 64 significant bits.
/// fio's reports come from exactly this computation, and unlike the textbook order in 64-bit
/// floating point it agrees with the rational comparison 100·count >= percentile·samples.
pub fn needed(percentile: f64, samples: u64) -> u64 {
    if percentile.is_nan() || percentile <= 0.0 {
        return 0;
    }
    let percentile = split(percentile.min(100.0));
    let hundredth = Scaled {
        mantissa: u128::from(HUNDREDTH) * u128::from(samples),
        exponent: HUNDREDTH_EXPONENT,
    }
    .rounded();
    Scaled {
        mantissa: hundredth.mantissa * percentile.mantissa,
        exponent: hundredth.exponent + percentile.exponent,
    }
    .rounded()
    .ceiling()
}

/// Mantissa and exponent of a positive finite number.
fn split(value: f64) -> Scaled {
    const FRACTION_BITS: u32 = 52;
    const EXPONENT_BIAS: i32 = 1023;
    let bits = value.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let exponent = (bits >> FRACTION_BITS) as i32;
    let (mantissa, exponent) = match exponent {
        0 => (fraction, 1),
        _ => (fraction | 1 << FRACTION_BITS, exponent),
    };
    Scaled {
        mantissa: u128::from(mantissa),
        exponent: exponent - EXPONENT_BIAS - FRACTION_BITS as i32,
    }
}

/// The entries of a percentile list that are in use, ascending: the list ends at the first 0.
pub fn in_use(list: &[f64]) -> Vec<f64> {
    let end = list
        .iter()
        .position(|&percentile| percentile == 0.0)
        .unwrap_or(list.len());
    let mut used = list[..end].to_vec();
    used.sort_by(f64::total_cmp);
    used
}

/// Each percentile of the ascending list `used` with the value in nanoseconds of the bucket
/// that answers it. Empty for a histogram without samples.
///
/// A bucket's value is its middle, which may lie outside the range of the samples: see
/// [`keep_in_range`].
pub fn answers(histogram: &Histogram, used: &[f64]) -> Vec<(f64, u64)> {
    let samples: u64 = histogram.counts().iter().sum();
    let mut answers = Vec::with_capacity(used.len());
    if samples == 0 {
        return answers;
    }
    let mut cumulative = 0;
    for (bucket, &count) in histogram.counts().iter().enumerate() {
        cumulative += count;
        while let Some(&percentile) = used.get(answers.len()) {
            // The last sample answers everything: no list entry can stay open.
            if cumulative < needed(percentile, samples).min(samples) {
                break;
            }
            answers.push((percentile, bucket_value(bucket)));
        }
    }
    answers
}

/// Moves every answer into the range of the samples: none is below the smallest or above the
/// largest of them, and the 100th percentile is the largest.
pub fn keep_in_range(answers: &mut [(f64, u64)], moments: &Moments) {
    if moments.count == 0 {
        return;
    }
    for (percentile, ns) in answers {
        *ns = if *percentile >= 100.0 {
            moments.max
        } else {
            (*ns).max(moments.min).min(moments.max)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(samples: &[(u64, u64)]) -> (Histogram, Moments) {
        let (mut histogram, mut moments) = (Histogram::default(), Moments::default());
        for &(ns, repeat) in samples {
            for _ in 0..repeat {
                histogram.add(ns);
                moments.add(ns);
            }
        }
        (histogram, moments)
    }

    #[test]
    fn thresholds_do_not_round_like_floating_point() {
        // 7 % of 100 samples are 7 of them; p/100*n in f64 is a little more and would ask for 8.
        let samples = 100_u32;
        assert!(7.0 / 100.0 * f64::from(samples) > 7.0);
        assert_eq!(needed(7.0, samples.into()), 7);
        assert_eq!(needed(30.0, samples.into()), 30);
    }

    #[test]
    fn thresholds_at_the_ends() {
        assert_eq!(needed(50.0, 0), 0);
        assert_eq!(needed(100.0, 1), 1);
        assert!(needed(100.0, u64::MAX) >= u64::MAX - 1);
        assert_eq!(needed(f64::MIN_POSITIVE, u64::MAX), 1);
        assert_eq!(needed(f64::from_bits(1), 3), 1);
        assert_eq!(needed(f64::INFINITY, 10), needed(100.0, 10));
        assert_eq!(needed(f64::NAN, 10), 0);
        assert_eq!(needed(-1.0, 10), 0);
    }

    #[test]
    fn thresholds_equal_the_rational_test() {
        for samples in (1..4000u64).step_by(7) {
            // Eighths have an exact binary form, so that integers can judge.
            for eighths in (1..=800).step_by(9) {
                let percentile = eighths as f64 / 8.0;
                let exact = (eighths * samples).div_ceil(800);
                assert_eq!(
                    needed(percentile, samples),
                    exact,
                    "{percentile} of {samples}"
                );
            }
        }
    }

    #[test]
    fn a_list_ends_at_zero_and_is_sorted() {
        assert_eq!(in_use(&[99.0, 50.0, 0.0, 10.0]), [50.0, 99.0]);
        assert!(in_use(&[0.0, 50.0]).is_empty());
        assert!(in_use(&[]).is_empty());
    }

    #[test]
    fn one_bucket_answers_several_percentiles() {
        let (histogram, _) = histogram(&[(10, 90), (1000, 10)]);
        let answers = answers(&histogram, &[1.0, 90.0, 91.0, 100.0]);
        assert_eq!(
            answers,
            [(1.0, 10), (90.0, 10), (91.0, 1004), (100.0, 1004)]
        );
    }

    #[test]
    fn nothing_is_answered_without_samples() {
        assert!(answers(&Histogram::default(), &[50.0]).is_empty());
        let mut none = [(50.0, 7)];
        keep_in_range(&mut none, &Moments::default());
        assert_eq!(none, [(50.0, 7)]);
    }

    #[test]
    fn answers_stay_within_the_samples() {
        for samples in [
            [(1_203_456, 1), (1_203_456, 1)],
            [(1_205_000, 3), (1_204_500, 9)],
        ] {
            let (histogram, moments) = histogram(&samples);
            let mut answers = answers(&histogram, &[0.5, 50.0, 99.99, 100.0]);
            keep_in_range(&mut answers, &moments);
            assert!(
                answers
                    .iter()
                    .all(|(_, ns)| (moments.min..=moments.max).contains(ns))
            );
            assert_eq!(answers[3].1, moments.max);
        }
    }

    #[test]
    fn one_sample_has_one_value() {
        let (histogram, moments) = histogram(&[(1_203_456, 1)]);
        let mut answers = answers(&histogram, &[1.0, 50.0, 100.0]);
        keep_in_range(&mut answers, &moments);
        assert!(answers.iter().all(|&(_, ns)| ns == 1_203_456));
    }
}
