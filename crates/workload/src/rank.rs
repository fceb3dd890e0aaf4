//! Skewed distributions over blocks or files: Zipf, Pareto, normal.
//!
//! Each draws a rank, scatters it with a hash (for blocks), and rotates the result. The Zipf
//! sampler is the one of Gray et al., "Quickly generating billion-record synthetic databases"
//! (SIGMOD 1994). All use a 32-bit generator of their own, whatever the job's generator is.

use crate::divisor::Divisor;
use crate::hash::rank_hash;
use crate::rng::Taus32;

/// The Zipf normalising sum stops after so many terms, as fio's does.
const ZETA_TERMS_MAX: u64 = 10_000_000;

/// Outputs that are summed for one normal draw.
const NORMAL_DRAWS: u64 = 12;

/// Divisor that makes an output a fraction in 0..=1, both ends included.
const OUTPUT_MAX: f64 = u32::MAX as f64;

/// Which distribution, with its parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RankKind {
    /// Exponent θ, not 1.
    Zipf(f64),
    /// Skew h, between 0 and 1.
    Pareto(f64),
    /// Deviation in per cent.
    Normal(f64),
}

/// Constants of a draw, computed once.
#[derive(Clone, Debug)]
enum Shape {
    Zipf {
        alpha: f64,
        eta: f64,
        zeta: f64,
        second: f64,
    },
    Pareto {
        exponent: f64,
    },
    Normal {
        spread: u64,
        output_mod: Divisor,
    },
}

/// One distribution with its generator.
#[derive(Clone, Debug)]
pub(crate) struct RankDistribution {
    shape: Shape,
    generator: Taus32,
    ranges: Divisor,
    rotation: u64,
    hashed: bool,
}

/// Σ 1/iᶿ for i = 1..=min(n, 10⁷), summed upward.
fn zeta(ranges: u64, theta: f64) -> f64 {
    (1..=ranges.min(ZETA_TERMS_MAX)).fold(0.0, |sum, i| sum + (1.0 / i as f64).powf(theta))
}

/// The Zipf sums of a job's files: most files have the same number of blocks, and one sum of ten
/// million powers takes a third of a second.
#[derive(Debug, Default)]
pub(crate) struct ZetaCache(Vec<(u64, f64, f64)>);

impl ZetaCache {
    fn get(&mut self, ranges: u64, theta: f64) -> f64 {
        let terms = ranges.min(ZETA_TERMS_MAX);
        let known = self.0.iter().find(|(n, t, _)| *n == terms && *t == theta);
        known.map(|(_, _, sum)| *sum).unwrap_or_else(|| {
            let sum = zeta(terms, theta);
            self.0.push((terms, theta, sum));
            sum
        })
    }
}

impl RankDistribution {
    /// A distribution over `0..ranges` (at least 1), rotated to `center` (0 to 1) if given.
    pub(crate) fn new(
        kind: RankKind,
        ranges: u64,
        center: Option<f64>,
        seed: u32,
        hashed: bool,
        sums: &mut ZetaCache,
    ) -> Self {
        let ranges = ranges.max(1);
        let n = ranges as f64;
        let mut generator = Taus32::new(u64::from(seed));
        let rotation = match kind {
            // A centre below the middle is a negative rotation, kept in 32 bits as fio does.
            RankKind::Normal(_) => center.map_or(0, |c| u64::from((n * (c - 0.5)) as i64 as u32)),
            RankKind::Zipf(_) | RankKind::Pareto(_) => {
                let drawn = u64::from(generator.next());
                center.map_or(drawn, |c| (n * c) as u64)
            }
        };
        let shape = match kind {
            RankKind::Zipf(theta) => {
                let zeta = sums.get(ranges, theta);
                let zeta_of_two = 1.0_f64.powf(theta) + 0.5_f64.powf(theta);
                Shape::Zipf {
                    alpha: 1.0 / (1.0 - theta),
                    eta: (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - zeta_of_two / zeta),
                    zeta,
                    second: 1.0 + 0.5_f64.powf(theta),
                }
            }
            RankKind::Pareto(h) => Shape::Pareto {
                exponent: h.ln() / (1.0 - h).ln(),
            },
            RankKind::Normal(deviation) => Shape::Normal {
                spread: if deviation == 0.0 {
                    0
                } else {
                    ((n * deviation / 100.0).ceil() as u64).min(ranges / 2)
                },
                output_mod: Divisor::new(ranges.saturating_add(1)),
            },
        };
        RankDistribution {
            shape,
            generator,
            ranges: Divisor::new(ranges),
            rotation,
            hashed,
        }
    }

    /// Next value below the number of ranges.
    pub(crate) fn next(&mut self) -> u64 {
        let rank = match self.shape {
            Shape::Zipf {
                alpha,
                eta,
                zeta,
                second,
            } => {
                let u = f64::from(self.generator.next()) / OUTPUT_MAX;
                let z = u * zeta;
                if z < 1.0 {
                    0
                } else if z < second {
                    1
                } else {
                    (self.ranges.value() as f64 * (eta * u - eta + 1.0).powf(alpha)) as u64
                }
            }
            Shape::Pareto { exponent } => {
                let u = f64::from(self.generator.next()) / OUTPUT_MAX;
                ((self.ranges.value() - 1) as f64 * u.powf(exponent)) as u64
            }
            Shape::Normal { spread, output_mod } => self.normal(spread, output_mod),
        };
        let place = if self.hashed { rank_hash(rank) } else { rank };
        self.ranges.rem(place.wrapping_add(self.rotation))
    }

    /// Mean of twelve uniform draws, pushed by up to half the spread to either side.
    fn normal(&mut self, spread: u64, output_mod: Divisor) -> u64 {
        let sum: u64 = (0..NORMAL_DRAWS)
            .map(|_| output_mod.rem(u64::from(self.generator.next())))
            .sum();
        let mean = sum.div_ceil(NORMAL_DRAWS);
        if spread == 0 {
            return mean;
        }
        let push = self.generator.scaled(spread as f64);
        let mut push = push.wrapping_sub(spread / 2) as i64;
        // Stops at 0: halving on would never end where the mean itself is the range's end.
        while push != 0 && mean.wrapping_add_signed(push) >= self.ranges.value() {
            push /= 2;
        }
        mean.wrapping_add_signed(push)
    }
}
