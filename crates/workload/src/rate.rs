//! When the next operation of a rated job is due (`rate`, `rate_iops`, `rate_process`).
//!
//! Times count from the job's epoch. The schedule is absolute: a job that fell behind goes on
//! without pause until it has caught up. Rules and figures: fio's manual (`rate`, `rate_iops`,
//! `rate_process`, `rate_ignore_thinktime`), and `docs/pacing.md`.

use ferrio_options::{Direction, JobSpec};

use crate::rng::Taus32;
use crate::seeds::{Purpose, Seeds};

/// Mean spaces below this many microseconds are not cut to whole ones: the rate would be off.
const WHOLE_US_MIN: u64 = 250;
const NS_PER_SECOND: f64 = 1e9;
const NS_PER_US: u64 = 1000;

/// Due times of the three directions.
#[derive(Clone, Debug)]
pub struct RateSchedule {
    lanes: [Lane; 3],
    seeds: [u64; 3],
}

/// One direction.
#[derive(Clone, Debug)]
struct Lane {
    /// Nanoseconds per unit; 0 without a cap.
    unit_ns: f64,
    /// Units are operations, not bytes.
    counts_ops: bool,
    /// Units issued, and those that pauses made up for.
    units: f64,
    /// The next operation is due, in nanoseconds from the epoch.
    due_ns: u64,
    poisson: Option<Poisson>,
    smallest: f64,
}

/// Exponentially distributed spaces.
#[derive(Clone, Debug)]
struct Poisson {
    draws: Taus32,
    /// Mean space between operations of the smallest block.
    mean_ns: f64,
    /// The mean in whole microseconds, where these are fine enough.
    mean_us: Option<f32>,
}

impl Poisson {
    fn new(seed: u64, unit_ns: f64, units_per_op: f64) -> Self {
        let mean_ns = unit_ns * units_per_op;
        let per_second = (NS_PER_SECOND / mean_ns) as u64;
        let mean_us = 1_000_000_u64.checked_div(per_second);
        Poisson {
            draws: Taus32::new(seed),
            mean_ns,
            mean_us: mean_us.filter(|us| *us >= WHOLE_US_MIN).map(|us| us as f32),
        }
    }

    /// The next space, for an operation of `blocks` smallest blocks.
    fn space_ns(&mut self, blocks: f64) -> u64 {
        let uniform = ((f64::from(self.draws.next()) + 1.0) / 4_294_967_296.0) as f32;
        let factor = -uniform.ln();
        match self.mean_us {
            Some(mean_us) if blocks == 1.0 => (mean_us * factor) as u64 * NS_PER_US,
            _ => (self.mean_ns * f64::from(factor) * blocks) as u64,
        }
    }
}

impl RateSchedule {
    /// The schedule of a job; `None` when no direction has a cap.
    pub fn new(job: &JobSpec, seeds: &Seeds) -> Option<Self> {
        let rate = &job.pacing.rate;
        let seeds = [
            seeds[Purpose::PoissonRead as usize],
            seeds[Purpose::PoissonWrite as usize],
            seeds[Purpose::PoissonTrim as usize],
        ];
        let lanes = Direction::ALL.map(|direction| {
            let index = direction as usize;
            let counts_ops = rate.iops[index] != 0;
            let per_second = if counts_ops {
                f64::from(rate.iops[index])
            } else {
                rate.bytes[index] as f64
            };
            let unit_ns = if per_second > 0.0 {
                NS_PER_SECOND / per_second
            } else {
                0.0
            };
            let smallest = job.pattern.block[index].min.max(1) as f64;
            let units_per_op = if counts_ops { 1.0 } else { smallest };
            Lane {
                unit_ns,
                counts_ops,
                units: 0.0,
                due_ns: 0,
                poisson: (rate.poisson && unit_ns > 0.0)
                    .then(|| Poisson::new(seeds[index], unit_ns, units_per_op)),
                smallest,
            }
        });
        let capped = lanes.iter().any(|lane| lane.unit_ns > 0.0);
        capped.then_some(RateSchedule { lanes, seeds })
    }

    /// When the next operation of the direction is due, in nanoseconds from the epoch; 0 for the
    /// first one, and without a cap.
    #[inline]
    pub fn due_ns(&self, direction: Direction) -> u64 {
        self.lanes[direction as usize].due_ns
    }

    /// An operation of `len` bytes was issued.
    #[inline]
    pub fn issued(&mut self, direction: Direction, len: u64) {
        let lane = &mut self.lanes[direction as usize];
        if lane.unit_ns == 0.0 {
            return;
        }
        match &mut lane.poisson {
            Some(poisson) => {
                let blocks = if lane.counts_ops {
                    1.0
                } else {
                    len as f64 / lane.smallest
                };
                lane.due_ns = lane.due_ns.saturating_add(poisson.space_ns(blocks));
            }
            None => {
                lane.units += if lane.counts_ops { 1.0 } else { len as f64 };
                lane.due_ns = (lane.units * lane.unit_ns) as u64;
            }
        }
    }

    /// A pause of `pause_ns` is not to be caught up (`rate_ignore_thinktime`): what would have
    /// been issued in it counts as issued, less the operation that follows.
    pub fn forgive(&mut self, direction: Direction, pause_ns: u64) {
        let lane = &mut self.lanes[direction as usize];
        if lane.unit_ns == 0.0 {
            return;
        }
        if lane.poisson.is_some() {
            lane.due_ns = lane.due_ns.saturating_add(pause_ns);
            return;
        }
        let missed = pause_ns as f64 / lane.unit_ns;
        let one = if lane.counts_ops { 1.0 } else { lane.smallest };
        lane.units += if missed >= one { missed - one } else { missed };
    }

    /// The epoch is now: nothing was issued yet. The random spaces go on where they were.
    pub fn restart(&mut self) {
        for lane in &mut self.lanes {
            lane.units = 0.0;
            lane.due_ns = 0;
        }
    }

    /// A pass begins in a repeatable job: the random spaces start over.
    pub fn reseed(&mut self) {
        for (lane, seed) in self.lanes.iter_mut().zip(self.seeds) {
            if let Some(poisson) = &mut lane.poisson {
                poisson.draws = Taus32::new(seed);
            }
        }
    }
}
