//! What the buffers hold: the data of a layout, of the first writes, and of each write.
//!
//! All random contents come from one generator of the job. The order of the calls is part of the
//! contract: the layout's chunks first (from file to file), then the start-up fill of each buffer
//! in slot order, then the writes in the order of issue.

mod dedupe;
mod fill;

use ferrio_options::JobSpec;

use crate::rng::Rng;
use crate::seeds::{self, Purpose, Seeds};
use dedupe::{Contents, Dedupe};
pub(crate) use fill::{fill_compressible, fill_pattern, fill_random};

/// Scrambling marks each whole sector of this size.
const SECTOR_BYTES: usize = 512;

/// Where in a sector the start time stands: seconds, then nanoseconds.
const SECTOR_TIME_AT: usize = 48;

/// How a buffer is filled.
#[derive(Clone, Debug)]
enum Fill {
    Random,
    Zeros,
    Pattern(Vec<u8>),
    Chunks(Chunks),
}

/// Buffers that are compressible or duplicates are filled chunk by chunk.
#[derive(Clone, Debug)]
struct Chunks {
    compress_percent: u32,
    /// Bytes of a chunk, which is never larger than a block.
    chunk: usize,
    /// What stands in the compressible part; zeros if empty.
    pattern: Vec<u8>,
    dedupe: Dedupe,
}

impl Chunks {
    /// Fills a buffer whose blocks have `unit` bytes.
    fn fill(&mut self, buffer: &mut [u8], unit: usize, generator: &mut Rng) {
        let chunk = self.chunk.min(unit).max(1);
        let chunks = buffer.chunks_mut(chunk);
        let one = |chunk: &mut [u8], seed: u64| {
            fill_compressible(chunk, seed, self.compress_percent, &self.pattern);
        };
        match self.dedupe.draw() {
            Contents::Own => {
                chunks.for_each(|chunk| one(chunk, generator.wide_seed()));
                self.dedupe.filled(generator);
            }
            Contents::Of(mut other) => chunks.for_each(|chunk| one(chunk, other.wide_seed())),
            Contents::SameChunks => {
                let seed = generator.clone().wide_seed();
                chunks.for_each(|chunk| one(chunk, seed));
            }
        }
    }
}

/// The state in which a job's buffer generator starts: what a working set of all jobs is made of.
#[derive(Clone, Debug)]
pub struct BufferStart(Rng);

impl BufferStart {
    /// That of a job.
    pub fn new(job: &JobSpec, seeds: &Seeds) -> Self {
        BufferStart(seeds::rng(job, seeds, Purpose::Buffer))
    }
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
    /// Smallest write: what compressible and duplicate buffers are made of.
    unit: usize,
}

impl Content {
    /// Contents from the job's own seeds. A job without any ([`seeds::of_job`]) starts from zeroed
    /// ones here; see [`Content::with_seeds`].
    pub fn new(job: &JobSpec) -> Self {
        Content::with_seeds(job, &seeds::of_job(job).unwrap_or([0; seeds::COUNT]), &[])
    }

    /// Contents from the seeds given. `peers` are the starts of all jobs of the run, in the order
    /// of their numbers; they only matter to jobs with `dedupe_global`.
    pub fn with_seeds(job: &JobSpec, seeds: &Seeds, peers: &[BufferStart]) -> Self {
        let BufferStart(generator) = BufferStart::new(job, seeds);
        let data = &job.data;
        let fill = if data.compress_percent > 0 || data.dedupe.percent > 0 {
            Fill::Chunks(Chunks {
                compress_percent: data.compress_percent,
                chunk: match data.compress_chunk {
                    0 => usize::MAX,
                    bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
                },
                pattern: data.pattern.clone(),
                dedupe: Dedupe::new(job, seeds, &generator, peers),
            })
        } else if !data.pattern.is_empty() {
            Fill::Pattern(data.pattern.clone())
        } else if data.zero {
            Fill::Zeros
        } else {
            Fill::Random
        };
        Content {
            fill,
            refill: data.refill,
            scramble: data.scramble && !data.refill && !data.compressing,
            reseeds: seeds::repeatable(job),
            seed: seeds[Purpose::Buffer as usize],
            wide: generator.is_wide(),
            generator,
            unit: usize::try_from(job.pattern.block[1].min).unwrap_or(usize::MAX),
        }
    }

    /// Fills the next chunk of a file that is laid out. A chunk is one write block; the last one
    /// of a file may be shorter.
    pub fn fill_layout(&mut self, chunk: &mut [u8]) {
        self.fill(chunk, chunk.len());
    }

    /// Fills the buffer of a slot before the job starts. Only jobs that write do so, in slot order.
    pub fn fill_start(&mut self, buffer: &mut [u8]) {
        self.fill(buffer, self.unit);
    }

    /// Prepares the data of a write at `offset` (bytes): refills it, or marks each sector with its
    /// place and the write's start time (seconds and nanoseconds; `(0, 0)` when times are not
    /// taken).
    #[inline]
    pub fn before_write(&mut self, buffer: &mut [u8], offset: u64, start: (u64, u64)) {
        if self.refill {
            self.fill(buffer, self.unit);
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
            if let Fill::Chunks(chunks) = &mut self.fill {
                chunks.dedupe.reseed(&self.generator, self.wide);
            }
        }
    }

    /// `unit`: smallest piece that has contents of its own.
    fn fill(&mut self, buffer: &mut [u8], unit: usize) {
        match &mut self.fill {
            Fill::Random => fill_random(buffer, self.generator.wide_seed()),
            Fill::Zeros => buffer.fill(0),
            Fill::Pattern(pattern) => fill_pattern(buffer, pattern),
            Fill::Chunks(chunks) => chunks.fill(buffer, unit, &mut self.generator),
        }
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
    fn scrambling_leaves_a_short_tail_alone() {
        let mut buffer = [1_u8; 512 + 100];
        scramble(&mut buffer, 4096, (5, 6));
        assert_eq!(buffer[6 * 64..6 * 64 + 8], 4096_u64.to_le_bytes());
        assert_eq!(buffer[48..56], 5_u64.to_le_bytes());
        assert_eq!(buffer[56..64], 6_u64.to_le_bytes());
        assert!(buffer[512..].iter().all(|b| *b == 1));
    }
}
