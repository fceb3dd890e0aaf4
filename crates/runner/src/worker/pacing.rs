//! Pauses: rates, think time, and the floors below which a rated job fails.
//!
//! Nothing here runs in a job without these options. A paced job waits by sleeping: due times are
//! absolute, so waking late does not lower the rate.

use std::hint::{black_box, spin_loop};
use std::time::Duration;

use ferrio_engines::Engine;
use ferrio_options::{Direction, JobSpec, Rate, Think};
use ferrio_workload::seeds::{self, Seeds};
use ferrio_workload::{Op, RateSchedule};

use super::io_loop::IoLoop;
use crate::failure;
use crate::page::{PageRef, State};

/// Longest sleep: stop requests are seen this often.
const NAP_NS: u64 = 50_000_000;
/// The end of a wait that is spent busy, since waking takes about as long.
const SPIN_NS: u64 = 10_000;
/// The floors are not looked at this long after a phase began.
const FLOORS_AFTER_NS: u64 = 2_000_000_000;

/// What a paced job keeps between operations.
pub(super) struct Pacer {
    schedule: Option<RateSchedule>,
    rate: Rate,
    think: Think,
    /// The share of each direction in a mixed job, in per cent; 0 where there is no choice.
    shares: [u32; 2],
    /// Operations counted when the last pause ended.
    think_ops: u64,
    /// When it ended.
    think_since_ns: u64,
    floors: Floors,
    /// Pages of the jobs whose bytes end the ramp together; empty without `ramp_size`.
    ramp_group: Vec<PageRef>,
}

/// The last look at the floors.
#[derive(Default)]
struct Floors {
    since_ns: u64,
    bytes: [u64; 3],
    ops: [u64; 3],
}

impl Pacer {
    /// The pacer of a job; `None` when nothing paces it.
    pub(super) fn new(job: &JobSpec, seeds: &Seeds, ramp_group: Vec<PageRef>) -> Option<Pacer> {
        let pacing = &job.pacing;
        let thinks = pacing.think.time_us > 0 || pacing.think.cycles > 0;
        if !pacing.rate.caps() && !pacing.rate.floors() && !thinks && pacing.ramp_bytes == 0 {
            return None;
        }
        let mix_read = job.pattern.mix_read.min(100);
        Some(Pacer {
            schedule: RateSchedule::new(job, seeds),
            rate: pacing.rate,
            think: pacing.think,
            shares: if job.pattern.mixed() {
                [mix_read, 100 - mix_read]
            } else {
                [0; 2]
            },
            think_ops: 0,
            think_since_ns: 0,
            floors: Floors::default(),
            ramp_group,
        })
    }

    /// The measurement begins now: after set-up, or at the end of the ramp.
    pub(super) fn restart(&mut self, now_ns: u64) {
        if let Some(schedule) = &mut self.schedule {
            schedule.restart();
        }
        self.think_ops = 0;
        self.think_since_ns = now_ns;
        self.floors = Floors::default();
    }

    /// The direction to go on with, and when; from the job's epoch.
    fn next(&self, drawn: Direction, since_epoch_ns: u64) -> (Direction, u64) {
        let Some(schedule) = &self.schedule else {
            return (drawn, 0);
        };
        let due_ns = schedule.due_ns(drawn);
        let other = match drawn {
            Direction::Read => Direction::Write,
            Direction::Write => Direction::Read,
            Direction::Trim => return (drawn, due_ns),
        };
        if due_ns <= since_epoch_ns || self.shares[other as usize] == 0 {
            return (drawn, due_ns);
        }
        let other_ns = schedule.due_ns(other);
        if other_ns < due_ns {
            (other, other_ns)
        } else {
            (drawn, due_ns)
        }
    }
}

impl<E: Engine> IoLoop<'_, E> {
    /// A pass of a repeatable job begins: random spaces start over like all draws.
    pub(super) fn reseed_pacer(&mut self) {
        if seeds::repeatable(self.job)
            && let Some(pacer) = &mut self.pacer
            && let Some(schedule) = &mut pacer.schedule
        {
            schedule.reseed();
        }
    }

    /// Waits until an operation is due. `false` when the job is to end instead.
    #[inline(never)]
    pub(super) fn wait_for_turn(&mut self) -> bool {
        if !self.paces_rate() || self.stream.sync_comes_next() {
            return true;
        }
        let drawn = self.stream.peek_direction();
        loop {
            self.now_ns = self.clock.now_ns();
            if !self.still_on() {
                return false;
            }
            let epoch_ns = self.page.epoch_ns.get();
            let Some(pacer) = &self.pacer else {
                return true;
            };
            let (direction, due_ns) = pacer.next(drawn, self.now_ns.saturating_sub(epoch_ns));
            let due_ns = epoch_ns.saturating_add(due_ns);
            if due_ns > self.now_ns {
                tracing::debug!(
                    target: "rate",
                    "{} is due in {} us", direction.word(), (due_ns - self.now_ns) / 1000
                );
            }
            if due_ns <= self.now_ns {
                if direction != drawn {
                    self.stream.choose_direction(direction);
                }
                return true;
            }
            if self.outstanding > 0 {
                // Nothing stays in flight during a wait; its completion is seen when it happens.
                let all = self.outstanding;
                self.commit();
                self.collect(all);
            } else {
                self.nap(due_ns);
            }
        }
    }

    fn paces_rate(&self) -> bool {
        self.pacer
            .as_ref()
            .is_some_and(|pacer| pacer.schedule.is_some())
    }

    /// Takes what is due at `now_ns`. `false` when the job ends.
    fn still_on(&mut self) -> bool {
        if self.page.stop_requested() {
            self.ending = true;
        }
        if !self.ending && self.now_ns >= self.timer_ns {
            self.on_timer();
        }
        !self.ending
    }

    /// Sleeps towards `until_ns`, not beyond the next thing that is due.
    fn nap(&mut self, until_ns: u64) {
        self.page.pause_beats.add(1);
        let until_ns = until_ns.min(self.timer_ns).min(self.now_ns + NAP_NS);
        let length_ns = until_ns.saturating_sub(self.now_ns);
        if length_ns > SPIN_NS {
            std::thread::sleep(Duration::from_nanos(length_ns - SPIN_NS));
        } else {
            while self.clock.now_ns() < until_ns {
                spin_loop();
            }
        }
    }

    /// What follows an operation that the engine took: the schedule goes on, pauses are made, the
    /// floors are looked at. `false` when the job is to end.
    #[inline(never)]
    pub(super) fn pace(&mut self, op: Op) -> bool {
        let Some(direction) = op.kind.direction() else {
            return !self.ending;
        };
        let Some(pacer) = &mut self.pacer else {
            return !self.ending;
        };
        if let Some(schedule) = &mut pacer.schedule {
            schedule.issued(direction, op.len);
        }
        if let Some(pause_us) = self.engine.pause_us() {
            pacer.think.time_us = pause_us;
        }
        for step in 0..pacer.think.cycles {
            black_box(step);
        }
        if self.pause_is_due() {
            self.pause(direction);
        }
        if self.ramp_is_over() {
            self.end_ramp();
        }
        if !self.in_ramp() && !self.ending {
            self.check_floors();
        }
        !self.ending
    }

    /// Data operations that count for `thinktime_blocks`.
    fn think_ops(&self, think: &Think) -> u64 {
        let directions = &self.stats.directions;
        directions
            .iter()
            .map(|d| {
                if think.at_issue {
                    d.ios.get()
                } else {
                    d.completed.get()
                }
            })
            .sum()
    }

    fn pause_is_due(&self) -> bool {
        let Some(pacer) = &self.pacer else {
            return false;
        };
        let think = &pacer.think;
        if think.time_us == 0 {
            return false;
        }
        if think.io_time_us > 0 {
            let since_ns = self.now_ns.saturating_sub(pacer.think_since_ns);
            if since_ns >= think.io_time_us.saturating_mul(1000) {
                return true;
            }
            if !think.blocks_given {
                return false;
            }
        }
        let blocks = u64::from(think.blocks);
        self.think_ops(think) >= pacer.think_ops.saturating_add(blocks)
    }

    /// One pause of `thinktime`, after all that is in flight has completed.
    fn pause(&mut self, direction: Direction) {
        while self.outstanding > 0 && !self.ending {
            let all = self.outstanding;
            self.commit();
            self.collect(all);
        }
        let Some(think) = self.pacer.as_ref().map(|pacer| pacer.think) else {
            return;
        };
        self.now_ns = self.clock.now_ns();
        let start_ns = self.now_ns;
        let spin_until_ns = start_ns.saturating_add(think.spin_us.saturating_mul(1000));
        let until_ns = start_ns.saturating_add(think.time_us.saturating_mul(1000));
        while self.now_ns < until_ns && self.still_on() {
            if self.now_ns < spin_until_ns {
                spin_loop();
            } else {
                self.nap(until_ns);
            }
            self.now_ns = self.clock.now_ns();
        }
        let length_ns = self.now_ns.saturating_sub(start_ns);
        let counted = self.think_ops(&think);
        let Some(pacer) = &mut self.pacer else {
            return;
        };
        if pacer.rate.ignore_think
            && let Some(schedule) = &mut pacer.schedule
        {
            schedule.forgive(direction, length_ns);
        }
        tracing::debug!(target: "rate", "paused for {} us", length_ns / 1000);
        pacer.think_ops = counted;
        pacer.think_since_ns = self.now_ns;
    }

    /// `ramp_size` is reached: by the job, or by its group together.
    fn ramp_is_over(&self) -> bool {
        let Some(pacer) = &self.pacer else {
            return false;
        };
        if pacer.ramp_group.is_empty() || !self.in_ramp() {
            return false;
        }
        let bytes = |page: &PageRef| -> u64 {
            let directions = &page.stats.directions;
            directions.iter().map(|d| d.bytes.get()).sum()
        };
        let group = &pacer.ramp_group;
        let sum = group.iter().map(bytes).fold(0, u64::saturating_add);
        sum >= self.job.pacing.ramp_bytes || group.iter().any(|page| page.state() == State::Running)
    }

    /// Fails the job when it is slower than `rate_min` or `rate_iops_min` allow.
    fn check_floors(&mut self) {
        let Some(pacer) = &mut self.pacer else {
            return;
        };
        let rate = pacer.rate;
        let phase_ns = self.now_ns.saturating_sub(self.page.phase_start_ns.get());
        if !rate.floors() || phase_ns < FLOORS_AFTER_NS {
            return;
        }
        let cycle_ns = u64::from(rate.cycle_ms) * 1_000_000;
        let floors = &mut pacer.floors;
        let length_ms = self.now_ns.saturating_sub(floors.since_ns) / 1_000_000;
        if floors.since_ns != 0 && (length_ms == 0 || length_ms * 1_000_000 < cycle_ns) {
            return;
        }
        let bytes = std::array::from_fn(|d| self.stats.directions[d].bytes.get());
        let ops = std::array::from_fn(|d| self.stats.directions[d].completed.get());
        let last = std::mem::replace(
            floors,
            Floors {
                since_ns: self.now_ns,
                bytes,
                ops,
            },
        );
        if last.since_ns == 0 {
            return;
        }
        let per_second = |now: u64, before: u64| {
            (u128::from(now.saturating_sub(before)) * 1000 / u128::from(length_ms)) as u64
        };
        for direction in 0..3 {
            if bytes[direction] == 0 {
                continue;
            }
            let floor = rate.min_bytes[direction];
            let got = per_second(bytes[direction], last.bytes[direction]);
            if floor != 0 && got < floor {
                return self.too_slow(format!("rate_min={floor}B/s not met, got {got}B/s"));
            }
            let floor = u64::from(rate.min_iops[direction]);
            let got = per_second(ops[direction], last.ops[direction]);
            if floor != 0 && got < floor {
                return self.too_slow(format!("rate_iops_min={floor} not met, got {got} IOPS"));
            }
        }
    }

    fn too_slow(&mut self, text: String) {
        self.reporter.io_error(text.clone());
        let mut failure = failure!(libc::EIO, "check_min_rate");
        failure.told = true;
        self.fail(failure);
    }
}
