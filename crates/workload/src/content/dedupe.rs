//! Which buffers are duplicates, and of what.

use std::sync::Arc;

use ferrio_options::{DedupeMode, JobSpec};

use super::BufferStart;
use crate::divisor::Divisor;
use crate::jump::Jumps;
use crate::rng::{Rng, Taus32};
use crate::seeds::{self, Purpose, Seeds};

/// Draws of one content seed.
const DRAWS_PER_SEED: u64 = 2;

/// The contents of a buffer that is to be filled.
#[derive(Debug)]
pub(super) enum Contents {
    /// Of its own: seeds come from the job's generator.
    Own,
    /// Those that this generator gives.
    Of(Rng),
    /// The same in each chunk.
    SameChunks,
}

/// `dedupe_percentage` and its kin.
#[derive(Clone, Debug)]
pub(super) enum Dedupe {
    Off,
    /// 100 per cent.
    All,
    Share(Box<Share>),
}

/// Some buffers are duplicates.
#[derive(Clone, Debug)]
pub(super) struct Share {
    percent: u32,
    draws: Taus32,
    /// The job's generator behind the last buffer of its own. A duplicate of this state has the
    /// contents of the next one of its own, as with fio.
    previous: Rng,
    set: Option<Arc<WorkingSet>>,
    set_draws: Rng,
    seeds: [u64; 2],
}

/// A fixed set of contents, each the state of a generator. Only the states that the others are
/// counted from are kept, so a set takes little memory however large it is.
#[derive(Debug)]
struct WorkingSet {
    len: u64,
    /// Generators of the jobs, from the own one on; the own one alone without `dedupe_global`.
    starts: Vec<Rng>,
    /// Contents that come from one of them before the next one's turn.
    share: Divisor,
    narrow: Option<Jumps>,
    wide: Option<Jumps>,
}

impl Dedupe {
    /// `generator` is the job's, fresh. `peers` are the starts of all jobs in job order.
    pub(super) fn new(
        job: &JobSpec,
        seeds: &Seeds,
        generator: &Rng,
        peers: &[BufferStart],
    ) -> Self {
        let dedupe = job.data.dedupe;
        match dedupe.percent {
            0 => Dedupe::Off,
            100.. => Dedupe::All,
            percent => Dedupe::Share(Box::new(Share {
                percent,
                draws: Taus32::new(seeds[Purpose::Dedupe as usize]),
                previous: generator.clone(),
                set: (dedupe.mode == DedupeMode::WorkingSet)
                    .then(|| Arc::new(WorkingSet::new(job, generator, peers))),
                set_draws: seeds::rng(job, seeds, Purpose::WorkingSet),
                seeds: [Purpose::Dedupe, Purpose::WorkingSet]
                    .map(|purpose| seeds[purpose as usize]),
            })),
        }
    }

    /// What the next buffer holds.
    pub(super) fn draw(&mut self) -> Contents {
        match self {
            Dedupe::Off => Contents::Own,
            Dedupe::All => Contents::SameChunks,
            Dedupe::Share(share) => share.draw(),
        }
    }

    /// A buffer was filled with contents of its own, which left the generator in this state.
    pub(super) fn filled(&mut self, generator: &Rng) {
        if let Dedupe::Share(share) = self {
            share.previous.clone_from(generator);
        }
    }

    /// The job's generators are seeded again; the working set stays.
    pub(super) fn reseed(&mut self, generator: &Rng, wide: bool) {
        if let Dedupe::Share(share) = self {
            share.draws = Taus32::new(share.seeds[0]);
            share.set_draws = Rng::new(share.seeds[1], wide);
            share.previous.clone_from(generator);
        }
    }
}

impl Share {
    fn draw(&mut self) -> Contents {
        if self.draws.percent() > self.percent {
            return Contents::Own;
        }
        Contents::Of(match &self.set {
            None => self.previous.clone(),
            Some(set) => set.content(self.set_draws.between(0, set.len - 1)),
        })
    }
}

impl WorkingSet {
    fn new(job: &JobSpec, generator: &Rng, peers: &[BufferStart]) -> Self {
        let block = job.pattern.block[1].min.max(1);
        let bytes =
            u128::from(job.sizes.size.bytes) * u128::from(job.data.dedupe.set_percent) / 100;
        // A share below 100 % of a 64-bit number.
        let len = (bytes as u64 / block).max(1);
        let chunk = match job.data.compress_chunk {
            0 => block,
            chunk => chunk.min(block),
        };
        let mut starts = vec![generator.clone()];
        let mut share = len;
        if job.data.dedupe.global && !peers.is_empty() {
            let own = job.job_number.saturating_sub(1) as usize % peers.len();
            let behind = peers[own + 1..].iter().chain(&peers[..own]);
            starts.extend(behind.map(|BufferStart(start)| start.clone()));
            share = (len / starts.len() as u64).max(1);
        }
        let jumps = |wide: bool| {
            let used = starts.iter().any(|start| start.is_wide() == wide);
            used.then(|| Jumps::new(wide, block / chunk * DRAWS_PER_SEED, share - 1))
        };
        WorkingSet {
            len,
            narrow: jumps(false),
            wide: jumps(true),
            starts,
            share: Divisor::new(share),
        }
    }

    /// The generator of one of the set's contents.
    fn content(&self, index: u64) -> Rng {
        let (round, at) = self.share.div_rem(index);
        // The remainder is below the number of jobs.
        let start = &self.starts[(round % self.starts.len() as u64) as usize];
        let jumps = if start.is_wide() {
            &self.wide
        } else {
            &self.narrow
        };
        jumps
            .as_ref()
            .map_or_else(|| start.clone(), |jumps| jumps.ahead(start, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(len: u64, starts: Vec<Rng>, share: u64) -> WorkingSet {
        WorkingSet {
            len,
            narrow: Some(Jumps::new(false, DRAWS_PER_SEED, share - 1)),
            wide: Some(Jumps::new(true, DRAWS_PER_SEED, share - 1)),
            starts,
            share: Divisor::new(share),
        }
    }

    #[test]
    fn a_set_walks_its_generator_on() {
        for wide in [false, true] {
            let mut walker = Rng::new(5, wide);
            let set = set(100, vec![walker.clone()], 100);
            for index in 0..100 {
                assert_eq!(set.content(index), walker, "{index}");
                walker.wide_seed();
            }
        }
    }

    #[test]
    fn a_global_set_takes_the_jobs_in_turn() {
        let starts: Vec<Rng> = vec![Rng::new(1, false), Rng::new(2, true), Rng::new(3, false)];
        let set = set(10, starts.clone(), 3);
        for index in 0..10 {
            let mut expected = starts[index / 3 % 3].clone();
            (0..index % 3).for_each(|_| {
                expected.wide_seed();
            });
            assert_eq!(set.content(index as u64), expected, "{index}");
        }
    }
}
