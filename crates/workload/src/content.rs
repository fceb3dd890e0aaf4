//! What the buffers hold: the data of a layout, of the first writes, and of each write.
//!
//! All random contents come from one generator of the job. The order of the calls is part of the
//! contract: the layout's chunks first (from file to file), then the start-up fill of each buffer
//! in slot order, then the writes in the order of issue.

use ferrio_options::JobSpec;

use crate::hash::GOLDEN_64;
use crate::rng::Rng;
use crate::seeds::{self, Purpose, Seeds};

/// Scrambling marks each whole sector of this size.
const SECTOR_BYTES: usize = 512;

/// Where in a sector the start time stands: seconds, then nanoseconds.
const SECTOR_TIME_AT: usize = 48;

/// How a buffer is filled.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fill {
    Random,
    Zeros,
    Pattern(Vec<u8>),
}

/// The contents of a job's buffers.
#[derive(Clone, Debug)]
pub struct Content {
    fill: Fill,
    refill: bool,
    scramble: bool,
    reseeds: bool,
    seed: u64,
    wide: bool,
    generator: Rng,
}

impl Content {
    /// Contents from the job's own seeds. A job without any ([`seeds::of_job`]) starts from zeroed
    /// ones here; see [`Content::with_seeds`].
    pub fn new(job: &JobSpec) -> Self {
        Content::with_seeds(job, &seeds::of_job(job).unwrap_or([0; seeds::COUNT]))
    }

    /// Contents from the seeds given.
    pub fn with_seeds(job: &JobSpec, seeds: &Seeds) -> Self {
        let generator = seeds::rng(job, seeds, Purpose::Buffer);
        let fill = if !job.data.pattern.is_empty() {
            Fill::Pattern(job.data.pattern.clone())
        } else if job.data.zero {
            Fill::Zeros
        } else {
            Fill::Random
        };
        Content {
            fill,
            refill: job.data.refill,
            scramble: job.data.scramble && !job.data.refill,
            reseeds: seeds::repeatable(job),
            seed: seeds[Purpose::Buffer as usize],
            wide: matches!(generator, Rng::Wide(_)),
            generator,
        }
    }

    /// Fills the next chunk of a file that is laid out. A chunk is one write block; the last one
    /// of a file may be shorter.
    pub fn fill_layout(&mut self, chunk: &mut [u8]) {
        self.fill(chunk);
    }

    /// Fills the buffer of a slot before the job starts. Only jobs that write do so, in slot order.
    pub fn fill_start(&mut self, buffer: &mut [u8]) {
        self.fill(buffer);
    }

    /// Prepares the data of a write at `offset` (bytes): refills it, or marks each sector with its
    /// place and the write's start time (seconds and nanoseconds; `(0, 0)` when times are not
    /// taken).
    #[inline]
    pub fn before_write(&mut self, buffer: &mut [u8], offset: u64, start: (u64, u64)) {
        if self.refill {
            self.fill(buffer);
        } else if self.scramble {
            scramble(buffer, offset, start);
        }
    }

    /// Whether [`Content::before_write`] changes anything.
    pub fn touches_writes(&self) -> bool {
        self.refill || self.scramble
    }

    /// To be called at the start of each pass after the first: a repeatable job draws the same
    /// contents again. Buffers are not filled again.
    pub fn reseed(&mut self) {
        if self.reseeds {
            self.generator = Rng::new(self.seed, self.wide);
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) {
        match &self.fill {
            Fill::Random => fill_random(buffer, self.generator.wide_seed()),
            Fill::Zeros => buffer.fill(0),
            Fill::Pattern(pattern) => fill_pattern(buffer, pattern),
        }
    }
}

/// Fills a buffer from a 64-bit seed: four lanes of multiples of the seed, each multiplied by
/// the same odd constant from one group of 32 bytes to the next.
pub fn fill_random(buffer: &mut [u8], seed: u64) {
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
pub fn fill_pattern(buffer: &mut [u8], pattern: &[u8]) {
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

/// Marks each whole sector with its offset, at a place that depends on time and offset, and with
/// the time.
fn scramble(buffer: &mut [u8], offset: u64, (seconds, nanoseconds): (u64, u64)) {
    let mark_at = 64 * ((nanoseconds ^ offset) % 8) as usize;
    let mut place = offset;
    for sector in buffer.chunks_exact_mut(SECTOR_BYTES) {
        sector[mark_at..mark_at + 8].copy_from_slice(&place.to_le_bytes());
        sector[SECTOR_TIME_AT..SECTOR_TIME_AT + 8].copy_from_slice(&seconds.to_le_bytes());
        sector[SECTOR_TIME_AT + 8..SECTOR_TIME_AT + 16].copy_from_slice(&nanoseconds.to_le_bytes());
        place = place.wrapping_add(SECTOR_BYTES as u64);
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

    #[test]
    fn scrambling_leaves_a_short_tail_alone() {
        let mut buffer = [1_u8; 512 + 100];
        scramble(&mut buffer, 4096, (5, 6));
        assert_eq!(buffer[6 * 64..6 * 64 + 8], 4096_u64.to_le_bytes());
        assert_eq!(buffer[48..56], 5_u64.to_le_bytes());
        assert_eq!(buffer[56..64], 6_u64.to_le_bytes());
        assert!(buffer[512..].iter().all(|b| *b == 1));
    }
}
