//! The worker loop's seldom cases: timers, errors, short transfers, CPU accounting.

use ferrio_engines::{Engine, EngineError, Outcome};
use ferrio_options::{EngineSpec, Pacing};
use ferrio_workload::{Op, OpKind};

use super::io_loop::{IoLoop, kind_of};
use crate::failure;
use crate::page::State;
use crate::sys::thread_cpu_use;

/// How often the CPU counters in the page are brought up to date while I/O runs.
const CPU_REFRESH_NS: u64 = 500_000_000;
/// An instant that does not come.
const NEVER: u64 = u64::MAX;
/// Longer times are as good as endless (146 years), and must not reach [`NEVER`] in a sum.
const LONGEST_NS: u64 = u64::MAX / 4;

/// What is due when, program clock in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    /// End of the ramp; [`NEVER`] outside one.
    pub(super) ramp_end_ns: u64,
    /// In a ramp that ends by its size.
    pub(super) ramp_by_size: bool,
    /// The run time's length; 0 is no limit.
    pub(super) runtime_ns: u64,
    /// End of the run time; [`NEVER`] without.
    pub(super) deadline_ns: u64,
    pub(super) cpu_due_ns: u64,
    pub(super) cpu_base: [u64; 5],
}

impl Timers {
    pub(super) fn new(pacing: &Pacing) -> Self {
        let Pacing {
            ramp_us,
            runtime_us,
            ..
        } = *pacing;
        Timers {
            ramp_by_size: pacing.ramp_bytes > 0,
            ramp_end_ns: if ramp_us == 0 {
                NEVER
            } else {
                ramp_us.saturating_mul(1000).min(LONGEST_NS)
            },
            runtime_ns: runtime_us.saturating_mul(1000).min(LONGEST_NS),
            deadline_ns: NEVER,
            cpu_due_ns: 0,
            cpu_base: [0; 5],
        }
    }

    fn next(&self) -> u64 {
        self.ramp_end_ns.min(self.deadline_ns).min(self.cpu_due_ns)
    }
}

impl<E: Engine> IoLoop<'_, E> {
    /// Takes the job's zero of time and starts its timers.
    pub(super) fn begin(&mut self) {
        self.set_epoch();
        if self.in_ramp() {
            if self.timers.ramp_end_ns != NEVER {
                self.timers.ramp_end_ns = self.now_ns.saturating_add(self.timers.ramp_end_ns);
            }
            self.page.set_state(State::Ramp);
        } else {
            self.start_run_time();
            self.page.set_state(State::Running);
        }
        self.timer_ns = self.timers.next();
    }

    fn set_epoch(&mut self) {
        self.now_ns = self.clock.now_ns();
        self.page.epoch_ns.set(self.now_ns);
        self.page.job_start_ms.set(super::start_ms(self.job));
        self.timers.cpu_base = thread_cpu_use();
        self.timers.cpu_due_ns = self.now_ns + CPU_REFRESH_NS;
        if let Some(pacer) = &mut self.pacer {
            pacer.restart(self.now_ns);
        }
    }

    fn start_run_time(&mut self) {
        if self.timers.runtime_ns > 0 {
            self.timers.deadline_ns = self.now_ns.saturating_add(self.timers.runtime_ns);
        }
    }

    /// A timer is due. `false` when the run time is over.
    #[cold]
    pub(super) fn on_timer(&mut self) -> bool {
        if self.now_ns >= self.timers.ramp_end_ns {
            self.end_ramp();
        }
        if self.now_ns >= self.timers.deadline_ns {
            self.ending = true;
            return false;
        }
        if self.now_ns >= self.timers.cpu_due_ns {
            self.refresh_cpu();
            self.timers.cpu_due_ns = self.now_ns + CPU_REFRESH_NS;
        }
        self.timer_ns = self.timers.next();
        true
    }

    /// The measurement begins: what the ramp counted is forgotten, the I/O goes on.
    pub(super) fn end_ramp(&mut self) {
        self.timers.ramp_end_ns = NEVER;
        self.timers.ramp_by_size = false;
        self.stats.reset_after_ramp();
        self.set_epoch();
        self.page.phase_start_ns.set(self.now_ns);
        self.start_run_time();
        self.timer_ns = self.timers.next();
        self.page.set_state(State::Running);
    }

    /// The ramp has not ended.
    pub(super) fn in_ramp(&self) -> bool {
        self.timers.ramp_end_ns != NEVER || self.timers.ramp_by_size
    }

    /// Brings the page's CPU counters up to date.
    pub(super) fn refresh_cpu(&mut self) {
        let now = thread_cpu_use();
        for ((counter, now), base) in self.page.cpu.iter().zip(now).zip(self.timers.cpu_base) {
            counter.set(now.saturating_sub(base));
        }
    }

    /// Handles an error or a short transfer. `true` when the request is done all the same and
    /// is to be accounted with the bytes that it moved.
    #[cold]
    #[inline(never)]
    pub(super) fn unusual(&mut self, index: u32, outcome: Outcome) -> bool {
        let op = self.slots[index as usize].op;
        if outcome.error != 0 {
            self.io_failed(&op, outcome.error);
            self.release(index);
            return false;
        }
        if op.kind as usize > OpKind::Write as usize {
            return true;
        }
        let moved = op.len - u64::from(outcome.residual);
        if moved == 0 {
            if !self.synchronous || self.at_end(&op) {
                return true;
            }
            self.fail(failure!(libc::EIO, "full resid").advise(format!(
                "{} transferred nothing at offset {}: there is no data (left) there",
                self.name_of(op.file),
                op.offset
            )));
            self.release(index);
            return false;
        }
        self.stats.directions[op.kind as usize].short_ios.add(1);
        self.stream.short_done(moved);
        if self.at_end(&Op {
            offset: op.offset + moved,
            ..op
        }) {
            return true;
        }
        // The rest is an operation of its own, from the same buffer.
        let slot = &mut self.slots[index as usize];
        slot.done += moved as u32;
        slot.op.offset += moved;
        slot.op.len -= moved;
        self.requeued.push_back(index);
        false
    }

    /// Fails the job when an operation took longer than `max_latency`; not in the ramp.
    #[cold]
    #[inline(never)]
    pub(super) fn check_latency(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let (op, latency_ns) = (slot.op, self.now_ns.saturating_sub(slot.start_ns));
        let Some(direction) = op.kind.direction() else {
            return;
        };
        let limit_us = self.job.pacing.max_latency_us[direction as usize];
        let limit_ns = limit_us.saturating_mul(1000);
        if limit_ns == 0 || latency_ns <= limit_ns || self.in_ramp() || self.failure.is_some() {
            return;
        }
        self.reporter.io_error(format!(
            "latency of {latency_ns} nsec exceeds specified max ({limit_ns} nsec): {} {} {} {}",
            self.name_of(op.file),
            direction.word(),
            op.offset,
            op.len
        ));
        let mut failure = failure!(libc::ETIMEDOUT, "max latency exceeded");
        failure.told = true;
        self.fail(failure);
    }

    /// The operation begins at or behind the end of its file.
    fn at_end(&self, op: &Op) -> bool {
        op.offset >= self.files.real_size(op.file)
    }

    fn name_of(&self, file: u32) -> String {
        self.job
            .target
            .files
            .get(file as usize)
            .map_or_else(|| "the target".into(), |path| path.display().to_string())
    }

    /// One request failed: count, tell, and decide whether the job goes on.
    fn io_failed(&mut self, op: &Op, code: i32) {
        let class = usize::from(op.kind != OpKind::Read);
        let continues = self.policy.continue_on[class];
        let listed = match &self.policy.codes[class] {
            Some(codes) => codes.contains(&code),
            None => code == libc::EIO || code == libc::EILSEQ,
        };
        if continues {
            self.stats.total_errors.add(1);
            if self.stats.first_error.get() == 0 {
                self.stats.first_error.set(code as u64);
            }
        }
        let tolerated = continues && listed;
        let label = match op.kind {
            OpKind::Trim => "td_io_queue",
            _ if tolerated => self.job.engine.failure_label(),
            _ => "io_u error",
        };
        let mut failure = failure!(code, label);
        if tolerated {
            if self.policy.dump {
                self.reporter.io_error(self.error_line(op, code));
            }
            self.reporter.ignored(failure.text());
            return;
        }
        // What was in flight beside the first failed request tends to fail alike.
        if self.failure.is_none() {
            let advice = self.advice(op, code);
            let separator = if advice.is_empty() { "" } else { "; " };
            let line = self.error_line(op, code);
            self.reporter.io_error(format!("{line}{separator}{advice}"));
        }
        if self.job.target.fill_device && matches!(code, libc::ENOSPC | libc::EDQUOT) {
            // The device is full: that was the aim.
            self.ending = true;
            return;
        }
        failure.told = true;
        self.fail(failure);
    }

    /// Names the request and the system's reason.
    fn error_line(&self, op: &Op, code: i32) -> String {
        format!(
            "io_u error on file {}: {}: {} offset={}, buflen={}",
            self.name_of(op.file),
            ferrio_stats::error_text(code),
            kind_of(op.kind).word(),
            op.offset,
            op.len
        )
    }

    /// What an error of an I/O most likely means.
    fn advice(&self, op: &Op, code: i32) -> String {
        let name = self.name_of(op.file);
        match code {
            libc::EOPNOTSUPP | libc::EINVAL
                if self.job.target.atomic && op.kind == OpKind::Write =>
            {
                format!(
                    "atomic=1 needs Linux 6.11, a device and file system that write atomically, and \
                     a bs= and offsets that {name} can take at once ({} bytes here)",
                    op.len
                )
            }
            libc::EINVAL if self.job.target.direct => format!(
                "a direct I/O was refused: block sizes, offsets and iomem_align must be \
                 multiples of the logical block size of {name} (often 512 or 4096 bytes), and its \
                 file system must support direct I/O; bs={} here",
                op.len
            ),
            libc::EOPNOTSUPP if self.job.engine.polls_device() => {
                format!("hipri=1 needs a device with polling queues; {name} has none")
            }
            libc::ENOTTY | libc::EOPNOTSUPP if op.kind == OpKind::Trim => {
                format!("{name} cannot trim: it is no block device, or one without discard")
            }
            libc::EOPNOTSUPP if self.job.engine.flags_calls() => format!(
                "nowait=1 or uncached=1 is not supported by this kernel or the file system of {name}"
            ),
            libc::EAGAIN if self.job.engine.flags_calls() => format!(
                "nowait=1, and the request to {name} would have had to wait; \
                 ignore_error=EAGAIN lets the job go on"
            ),
            libc::EINVAL
                if self.job.engine == EngineSpec::Ftruncate && op.kind != OpKind::Write =>
            {
                "the engine ftruncate knows writes and flushes only".into()
            }
            libc::EFBIG => {
                format!("{name} reached the limit of file sizes (ulimit -f, or the file system's)")
            }
            libc::EPERM if op.kind == OpKind::Write => {
                format!("{name} may not be written (read-only, sealed, immutable, or swap)")
            }
            _ => String::new(),
        }
    }

    /// The engine itself failed.
    #[cold]
    #[inline(never)]
    pub(super) fn engine_failed(&mut self, error: &EngineError) {
        self.fail(failure!(error.code, error.label).advise(error.advice.clone()));
    }

    /// Ends the job with this failure; the first one counts.
    pub(super) fn fail(&mut self, failure: crate::link::Failure) {
        self.failure.get_or_insert(failure);
        self.ending = true;
    }
}
