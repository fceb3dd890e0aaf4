//! A job's master seeds, and what is drawn from them once.

use ferrio_options::{Generator, JobSpec};

use crate::rng::Rng;

/// Number of master seeds.
pub const COUNT: usize = 24;

/// One master seed per purpose.
pub type Seeds = [u64; COUNT];

/// Multiplier between two master seeds.
const STEP: u64 = 0x9e37_0001;

/// `randseed` when it is not given.
const DEFAULT_RANDSEED: u64 = 0x89;

/// What a master seed is for: an index into [`Seeds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    BlockSizeRead = 0,
    BlockSizeWrite = 1,
    BlockSizeTrim = 2,
    Mix = 4,
    FileChoice = 5,
    Offset = 6,
    FileSize = 7,
    Buffer = 9,
    SeqOrRandom = 10,
    StartDelay = 13,
    Dedupe = 14,
    PoissonRead = 15,
    Zone = 16,
    PoissonWrite = 17,
    PoissonTrim = 18,
    WorkingSet = 20,
}

/// The master seeds of a job; `None` for `randrepeat=0` without `randseed`, where the caller has
/// to take 24 numbers from the system and pass them in.
pub fn of_job(job: &JobSpec) -> Option<Seeds> {
    if !job.pattern.randrepeat && job.pattern.randseed.is_none() {
        return None;
    }
    Some(master(
        job.pattern.randseed.unwrap_or(DEFAULT_RANDSEED),
        job.job_number,
    ))
}

/// The master seeds that `randseed` and the job's number (from 1) give.
pub fn master(randseed: u64, job_number: u32) -> Seeds {
    let mut value = randseed.wrapping_mul(STEP.wrapping_pow(4));
    std::array::from_fn(|index| {
        let seed = value
            .wrapping_mul(u64::from(job_number))
            .wrapping_add(index as u64);
        value = value.wrapping_mul(STEP);
        seed
    })
}

/// Whether every pass starts with the same seeds: `randrepeat` is on and no `randseed` is given.
pub fn repeatable(job: &JobSpec) -> bool {
    job.pattern.randrepeat && job.pattern.randseed.is_none()
}

/// The delay before the job in microseconds, drawn from `startdelay=low-high`.
///
/// A job without seeds of its own ([`of_job`]) is drawn for as if it had the default ones; see
/// [`start_delay_us_with`].
pub fn start_delay_us(job: &JobSpec) -> u64 {
    start_delay_us_with(
        job,
        &of_job(job).unwrap_or_else(|| master(DEFAULT_RANDSEED, job.job_number)),
    )
}

/// [`start_delay_us`] from the seeds given.
pub fn start_delay_us_with(job: &JobSpec, seeds: &Seeds) -> u64 {
    let (low, high) = job.pacing.start_delay_us;
    if low >= high {
        low
    } else {
        rng(job, seeds, Purpose::StartDelay).between(low, high)
    }
}

/// The generator of a purpose whose width follows `random_generator`.
pub(crate) fn rng(job: &JobSpec, seeds: &Seeds, purpose: Purpose) -> Rng {
    Rng::new(
        seeds[purpose as usize],
        job.pattern.generator == Generator::Tausworthe64,
    )
}
