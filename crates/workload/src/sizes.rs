//! The length of an operation: fixed, a range, or a split.

use ferrio_options::BlockSize;

use crate::divisor::Divisor;
use crate::rng::Rng;

/// Draws after which a length counts as impossible. A split whose only fitting sizes have no
/// share would be drawn for ever.
const DRAWS_MAX: u32 = 10_000_000;

/// One entry of a split: taken when the draw is at most `threshold` and the size fits.
#[derive(Clone, Copy, Debug)]
struct Share {
    size: u64,
    threshold: u64,
}

/// Block sizes of one direction, ready to draw from.
#[derive(Clone, Debug)]
pub(crate) struct Lengths {
    min: u64,
    max: u64,
    /// Drawn lengths are cut to a multiple of this: `min`, or 1 with `bs_unaligned`.
    unit: Divisor,
    shares: Vec<Share>,
}

impl Lengths {
    /// Lengths of `block`, for draws whose largest output is `draw_max`.
    pub(crate) fn new(block: &BlockSize, unaligned: bool, draw_max: u64) -> Self {
        // A share of p per cent is the draws r with r div p <= draw_max div 100. Shares add up
        // modulo 2³², as fio's do: an entry may stand for "all".
        let per_cent = u128::from(draw_max / 100) + 1;
        let mut percent = 0_u32;
        let shares = block
            .split
            .iter()
            .filter(|entry| entry.percent != 0)
            .map(|entry| {
                percent = percent.wrapping_add(entry.percent);
                let draws = per_cent * u128::from(percent);
                Share {
                    size: entry.size,
                    threshold: u64::try_from(draws.saturating_sub(1)).unwrap_or(u64::MAX),
                }
            });
        Lengths {
            min: block.min,
            max: block.max,
            shares: shares.collect(),
            unit: Divisor::new(if unaligned { 1 } else { block.min }),
        }
    }

    /// The length of every operation, if there is only one.
    #[inline(always)]
    pub(crate) fn fixed(&self) -> Option<u64> {
        (self.min == self.max).then_some(self.min)
    }

    /// Draws a length of at most `room` bytes; `None` when nothing fits.
    pub(crate) fn draw(&self, room: u64, generator: &mut Rng) -> Option<u64> {
        if self.min > room {
            return None;
        }
        for _ in 0..DRAWS_MAX {
            let drawn = if self.shares.is_empty() {
                self.min.saturating_add(generator.scaled(self.max as f64))
            } else {
                self.split(generator.next(), room)
            };
            let length = (drawn - self.unit.rem(drawn)).min(self.max);
            if length <= room {
                return (length > 0).then_some(length);
            }
        }
        None
    }

    /// The size of the first share that the draw falls into and that fits, else the last one's.
    fn split(&self, draw: u64, room: u64) -> u64 {
        let mut size = 0;
        for share in &self.shares {
            size = share.size;
            if draw <= share.threshold && size <= room {
                break;
            }
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrio_options::SplitEntry;

    fn split(entries: &[(u64, u32)]) -> BlockSize {
        let split: Vec<_> = entries
            .iter()
            .map(|&(size, percent)| SplitEntry { size, percent })
            .collect();
        let min = split.iter().map(|e| e.size).min().unwrap_or(0);
        BlockSize {
            min,
            max: split.iter().map(|e| e.size).max().unwrap_or(0),
            align: min,
            split,
        }
    }

    #[test]
    fn a_split_keeps_its_shares() {
        let lengths = Lengths::new(
            &split(&[(4096, 10), (32768, 40), (65536, 50)]),
            false,
            u64::from(u32::MAX),
        );
        let mut generator = Rng::new(1, false);
        let mut counts = [0_u32; 3];
        for _ in 0..10_000 {
            let length = lengths.draw(u64::MAX, &mut generator).expect("fits");
            counts[[4096, 32768, 65536]
                .iter()
                .position(|s| *s == length)
                .expect("a size of the split")] += 1;
        }
        for (count, expected) in counts.into_iter().zip([1000, 4000, 5000]) {
            assert!(count.abs_diff(expected) < 300, "{counts:?}");
        }
    }

    #[test]
    fn sizes_are_cut_to_multiples_of_the_smallest() {
        let lengths = Lengths::new(
            &split(&[(6144, 50), (10240, 50)]),
            false,
            u64::from(u32::MAX),
        );
        let mut generator = Rng::new(1, false);
        assert!((0..1000).all(|_| lengths.draw(u64::MAX, &mut generator) == Some(6144)));
    }

    #[test]
    fn a_share_of_nothing_ends() {
        // Only 4096 fits, and it is never drawn.
        let lengths = Lengths::new(
            &split(&[(4096, 0), (8192, 100)]),
            false,
            u64::from(u32::MAX),
        );
        assert_eq!(lengths.draw(5000, &mut Rng::new(1, false)), None);
        assert_eq!(lengths.draw(100, &mut Rng::new(1, false)), None);
    }
}
