//! What fills a stretch of bytes: random numbers, a pattern, or both.

use crate::hash::GOLDEN_64;

/// Fills a buffer from a 64-bit seed: four lanes of multiples of the seed, each multiplied by
/// the same odd constant from one group of 32 bytes to the next.
pub(crate) fn fill_random(buffer: &mut [u8], seed: u64) {
    let mut lanes = [1_u64, 2, 3, 5].map(|factor| seed.wrapping_mul(factor));
    let mut groups = buffer.chunks_exact_mut(32);
    for group in &mut groups {
        for (bytes, lane) in group.chunks_exact_mut(8).zip(&mut lanes) {
            bytes.copy_from_slice(&lane.to_le_bytes());
            *lane = lane.wrapping_mul(GOLDEN_64);
        }
    }
    for bytes in groups.into_remainder().chunks_mut(8) {
        bytes.copy_from_slice(&lanes[0].to_le_bytes()[..bytes.len()]);
        lanes[0] = lanes[0].wrapping_mul(GOLDEN_64);
    }
}

/// Fills a buffer with repetitions of a pattern (not empty), cut at its end.
pub(crate) fn fill_pattern(buffer: &mut [u8], pattern: &[u8]) {
    if let [byte] = pattern {
        buffer.fill(*byte);
        return;
    }
    let filled = pattern.len().min(buffer.len());
    buffer[..filled].copy_from_slice(&pattern[..filled]);
    // Doubles what is there; the source is always whole repetitions.
    let mut filled = filled;
    while filled < buffer.len() && filled > 0 {
        let (done, rest) = buffer.split_at_mut(filled);
        let next = done.len().min(rest.len());
        rest[..next].copy_from_slice(&done[..next]);
        filled += next;
    }
}

/// Fills a buffer so that about `compress_percent` (below 100) of it can be compressed away: random
/// bytes in front, then repetitions of a pattern, or zeros without one.
pub(crate) fn fill_compressible(
    buffer: &mut [u8],
    seed: u64,
    compress_percent: u32,
    pattern: &[u8],
) {
    // A share below 100 of a length that is in memory does not overflow.
    let random = (buffer.len() as u128 * u128::from(100 - compress_percent) / 100) as usize;
    let (head, tail) = buffer.split_at_mut(random);
    fill_random(head, seed);
    if pattern.is_empty() {
        tail.fill(0);
    } else {
        fill_pattern(tail, pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_tail_takes_the_first_lane() {
        let mut buffer = [0_u8; 32 + 8 + 3];
        fill_random(&mut buffer, 7);
        assert_eq!(buffer[..8], 7_u64.to_le_bytes());
        assert_eq!(buffer[24..32], 35_u64.to_le_bytes());
        let second = 7_u64.wrapping_mul(GOLDEN_64);
        assert_eq!(buffer[32..40], second.to_le_bytes());
        assert_eq!(
            buffer[40..],
            second.wrapping_mul(GOLDEN_64).to_le_bytes()[..3]
        );
    }

    #[test]
    fn pattern_repeats_from_its_start() {
        let mut buffer = [0_u8; 11];
        fill_pattern(&mut buffer, b"abc");
        assert_eq!(&buffer, b"abcabcabcab");
        fill_pattern(&mut buffer, &[9]);
        assert_eq!(buffer, [9; 11]);
        let mut short = [0_u8; 2];
        fill_pattern(&mut short, b"abc");
        assert_eq!(&short, b"ab");
    }
}
