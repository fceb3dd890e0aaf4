//! The worker loop: take the next operation, hand it to the engine, reap, account.
//!
//! Rules of this file: no allocation, no lock, no system call but the engine's own; one clock
//! reading per operation that is prepared, one per batch that is submitted or reaped (one per
//! turn when no latency is measured). What seldom happens (errors, short transfers, timers) is
//! out of line in `account.rs`.

use std::collections::VecDeque;

use ferrio_engines::{Capabilities, Completion, Engine, Kind, Outcome, Queued, Request};
use ferrio_options::{ErrorPolicy, JobSpec};
use ferrio_stats::live::WorkerStats;
use ferrio_workload::content::Content;
use ferrio_workload::{Next, Op, OpKind, OpStream};

use super::pacing::Pacer;
use super::table::{FileChange, FileTable};
use crate::clock::Clock;
use crate::link::Failure;
use crate::memory::BufferMemory;
use crate::page::WorkerPage;

/// One I/O in flight or being prepared.
#[derive(Clone, Copy, Debug)]
pub(super) struct IoSlot {
    pub(super) op: Op,
    /// Bytes of the buffer that an earlier part of a short transfer has used.
    pub(super) done: u32,
    /// The engine has it, or the rest of it is to be offered again.
    pub(super) in_flight: bool,
    /// The next operation is not entered in the random map; the stream's business.
    pub(super) unmarked: bool,
    /// When the operation was prepared, program clock.
    pub(super) start_ns: u64,
    /// When it was handed to the kernel.
    pub(super) issue_ns: u64,
}

/// What is measured, decided before the loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub(super) slat: bool,
    pub(super) clat: bool,
    pub(super) lat: bool,
    pub(super) slat_histogram: bool,
    pub(super) clat_histogram: bool,
    pub(super) lat_histogram: bool,
    /// `max_latency` limits a direction.
    pub(super) limits: bool,
    /// Any time stamp is needed per operation.
    pub(super) stamps: bool,
    /// Operations are stamped as issued when the engine hands them over.
    pub(super) stamps_commits: bool,
}

impl Measure {
    pub(super) fn new(job: &JobSpec, capabilities: Capabilities) -> Self {
        let show = &job.reporting;
        let measured = job.engine.measured();
        let slat = show.slat && measured && !job.engine.synchronous(job.queue.depth);
        let (clat, lat) = (show.clat && measured, show.lat && measured);
        let limits = job.pacing.max_latency_us != [0; 3];
        let stamps = slat || clat || lat || limits;
        Measure {
            slat: slat && show.stats,
            clat: clat && show.stats,
            lat: lat && show.stats,
            slat_histogram: show.slat_percentiles,
            clat_histogram: show.clat_percentiles,
            lat_histogram: show.lat_percentiles,
            limits,
            stamps,
            stamps_commits: stamps && capabilities.issues_at_commit,
        }
    }
}

/// Queue limits, normalised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) low: u32,
    pub(super) batch: u32,
    pub(super) complete_min: u32,
    pub(super) complete_max: u32,
}

/// A worker that does I/O with engine `E`.
pub(super) struct IoLoop<'a, E> {
    pub(super) job: &'a JobSpec,
    pub(super) policy: &'a ErrorPolicy,
    pub(super) page: &'a WorkerPage,
    pub(super) stats: &'a WorkerStats,
    pub(super) clock: Clock,
    // Dropped before the buffers: an engine may still know them.
    pub(super) engine: E,
    pub(super) memory: BufferMemory,
    pub(super) files: FileTable<'a>,
    pub(super) stream: OpStream,
    pub(super) content: Content,
    pub(super) slots: Box<[IoSlot]>,
    /// Free slots; the last one is used next, so that a completed one is reused at once.
    pub(super) free: Vec<u32>,
    /// Slots to be offered again: busy ones and rests of short transfers.
    pub(super) requeued: VecDeque<u32>,
    pub(super) completions: Vec<Completion>,
    pub(super) measure: Measure,
    pub(super) limits: Limits,
    pub(super) synchronous: bool,
    /// The engine counts each call as a submission and a completion of one.
    pub(super) counts_calls: bool,
    pub(super) fills_writes: bool,
    /// Requests accepted since the last commit.
    pub(super) uncommitted: u32,
    /// Requests accepted and not reaped.
    pub(super) outstanding: u32,
    /// Latest clock reading.
    pub(super) now_ns: u64,
    /// When something is due: ramp end, run time, CPU accounting.
    pub(super) timer_ns: u64,
    pub(super) timers: super::account::Timers,
    /// Operations are traced, serialised, locked or paced: [`IoLoop::offer_watched`] applies.
    pub(super) watched: bool,
    /// The operation that was offered last in such a job.
    pub(super) offered: Op,
    /// Completions are traced, or their latency is limited.
    pub(super) notes_completions: bool,
    /// `serialize_overlap`: nothing is handed over that overlaps what is in flight.
    pub(super) serializes: bool,
    /// `--debug=io`.
    pub(super) traced: bool,
    /// What paces the job, if something does.
    pub(super) pacer: Option<Pacer>,
    /// The job shall end (error, run time, stop request).
    pub(super) ending: bool,
    pub(super) failure: Option<Failure>,
    pub(super) reporter: super::Reporter,
    /// `lockfile`.
    pub(super) locks: Option<super::locks::FileLocks>,
}

impl<E: Engine> IoLoop<'_, E> {
    /// Runs one pass to its end and drains what is in flight.
    pub(super) fn pass(&mut self) {
        while !self.ending && self.turn() {}
        if self.ending && self.job.pattern.writes && self.job.pattern.trims {
            self.write_back_trims();
        }
        self.drain();
    }

    /// A job that trims and writes back is stopped: no trim stays without its write.
    #[cold]
    fn write_back_trims(&mut self) {
        let mut files = 0..self.job.target.files.len() as u32;
        while self.failure.is_none() {
            let index = if let Some(index) = self.requeued.pop_front() {
                index
            } else {
                let Some(&slot) = self.free.last() else {
                    self.collect(1);
                    continue;
                };
                let Some(file) = files.next() else { return };
                let unmarked = &mut self.slots[slot as usize].unmarked;
                let Some(op) = self.stream.owed_write(file, unmarked, &mut self.files) else {
                    continue;
                };
                self.prepare(slot, op);
                self.free.pop();
                slot
            };
            let busy = if self.watched {
                self.offer_watched(index)
            } else {
                self.offer(index)
            };
            if busy {
                self.collect(1);
            }
        }
    }

    /// One turn of the loop. `false` when the pass is over.
    #[inline(always)]
    fn turn(&mut self) -> bool {
        if self.page.stop_requested() {
            self.ending = true;
            return false;
        }
        if !self.measure.stamps {
            self.now_ns = self.clock.now_ns();
        }
        if self.now_ns >= self.timer_ns && !self.on_timer() {
            return false;
        }
        let slot = if let Some(slot) = self.requeued.pop_front() {
            // Its time begins anew, as with fio; the last reading is as good as a new one.
            self.slots[slot as usize].start_ns = self.now_ns;
            self.slots[slot as usize].issue_ns = self.now_ns;
            slot
        } else {
            if !self.stream.pass_goes_on() || (self.watched && !self.wait_for_turn()) {
                return false;
            }
            let slot = self.free[self.free.len() - 1];
            match self
                .stream
                .next(&mut self.slots[slot as usize].unmarked, &mut self.files)
            {
                Next::Op(op) => self.prepare(slot, op),
                Next::Busy => return self.make_room(),
                Next::End => return false,
            }
            self.free.pop();
            slot
        };
        let busy = if self.watched {
            self.offer_watched(slot)
        } else {
            self.offer(slot)
        };
        let full = self.free.is_empty() || (busy && self.outstanding > 0);
        if full || self.polls() {
            self.reap(full);
        }
        if self.watched && self.pacer.is_some() && !busy {
            return self.pace(self.offered);
        }
        !self.ending
    }

    /// Hands a slot to the engine in a job that wants more than that.
    #[inline(never)]
    fn offer_watched(&mut self, index: u32) -> bool {
        self.offered = self.slots[index as usize].op;
        if self.traced {
            self.trace("queue", index);
        }
        if self.serializes {
            if self.overlaps(index) {
                return self.put_back(index);
            }
            self.slots[index as usize].in_flight = true;
        }
        let issued_us = if self.files.logs() {
            self.files.now_us()
        } else {
            0
        };
        let busy = if self.locks.is_none() {
            self.offer(index)
        } else {
            self.offer_locked(index)
        };
        if busy {
            self.slots[index as usize].in_flight = false;
        } else if self.files.logs() {
            let op = self.offered;
            self.files.record_op(&op, issued_us);
        }
        busy
    }

    /// Puts an operation into a slot: time stamp, data.
    #[inline(always)]
    fn prepare(&mut self, index: u32, op: Op) {
        let slot = &mut self.slots[index as usize];
        slot.op = op;
        slot.done = 0;
        if self.measure.stamps {
            let now = self.clock.now_ns();
            slot.start_ns = now;
            slot.issue_ns = now;
            self.now_ns = now;
        }
        if self.fills_writes && op.kind == OpKind::Write {
            self.fill(index);
        }
        if !self.files.changes.is_empty() {
            self.tell_changes();
        }
    }

    /// Gives a write its data.
    #[inline]
    fn fill(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let stamp = if self.measure.lat {
            self.clock.stamp(slot.start_ns)
        } else {
            (0, 0)
        };
        let buffer = self.memory.slice(index, slot.op.len as usize);
        self.content.before_write(buffer, slot.op.offset, stamp);
        if self.measure.stamps && !self.measure.stamps_commits {
            slot.issue_ns = self.clock.now_ns();
        }
    }

    /// Hands a slot to the engine. `true` when the engine is busy and the slot was put back.
    #[inline(always)]
    pub(super) fn offer(&mut self, index: u32) -> bool {
        let slot = &self.slots[index as usize];
        let op = slot.op;
        let mut request = Request {
            kind: kind_of(op.kind),
            sync_flags: self.job.pattern.sync_file_range_flags,
            file: op.file,
            fd: self.files.fds[op.file as usize],
            offset: op.offset,
            len: op.len as u32,
            buffer: self.memory.address(index, slot.done as usize),
        };
        let queued = if op.kind as u8 >= OpKind::Fsync as u8 {
            self.queue_sync(index, &mut request)
        } else {
            self.engine.queue(index, &request)
        };
        match queued {
            Queued::Completed(outcome) => {
                self.count_issue(index, false);
                self.stats.record_depth(self.outstanding + 1, 1);
                if self.counts_calls {
                    self.stats.record_submit(1);
                    self.stats.record_complete(1);
                }
                if self.measure.stamps {
                    self.now_ns = self.clock.now_ns();
                }
                self.complete(index, outcome);
                false
            }
            Queued::Queued => {
                self.count_issue(index, true);
                if self.counts_calls {
                    self.issued_by_queue(index);
                }
                self.outstanding += 1;
                self.uncommitted += 1;
                if self.uncommitted >= self.limits.batch {
                    self.commit();
                }
                false
            }
            Queued::Busy => {
                if op.kind as u8 >= OpKind::Fsync as u8 {
                    self.page.syncs_in_flight.add(u64::MAX);
                }
                self.put_back(index)
            }
        }
    }

    /// The engine cannot take a slot now: it is the next one to be offered.
    #[inline(always)]
    fn put_back(&mut self, index: u32) -> bool {
        self.requeued.push_front(index);
        self.commit();
        true
    }

    /// An operation in flight touches a byte of this one.
    #[cold]
    #[inline(never)]
    fn overlaps(&self, index: u32) -> bool {
        let op = self.slots[index as usize].op;
        let end = op.offset.saturating_add(op.len);
        self.slots.iter().enumerate().any(|(other, slot)| {
            slot.in_flight
                && other != index as usize
                && slot.op.file == op.file
                && slot.op.offset < end
                && op.offset < slot.op.offset.saturating_add(slot.op.len)
        })
    }

    /// Hands a flush to the engine. A range is what was written to the file since its last one;
    /// nothing written is nothing to do.
    #[cold]
    fn queue_sync(&mut self, index: u32, request: &mut Request) -> Queued {
        self.page.syncs_in_flight.add(1);
        if request.kind == Kind::SyncFileRange {
            let (offset, len) = self.stream.sync_range(request.file);
            if len == 0 {
                return Queued::Completed(Outcome::default());
            }
            request.offset = offset;
            // 0 is "to the end of the file".
            request.len = u32::try_from(len).unwrap_or(0);
        }
        self.engine.queue(index, request)
    }

    #[inline(always)]
    fn count_issue(&mut self, index: u32, queued: bool) {
        let slot = &self.slots[index as usize];
        if slot.done != 0 {
            // The rest of a short transfer was counted with its first part.
            return;
        }
        self.stream.issued(&slot.op, queued);
        match self.stats.directions.get(slot.op.kind as usize) {
            Some(direction) => direction.ios.add(1),
            None => self.stats.sync_ios.add(1),
        }
    }

    /// Hands what was accepted to the kernel and counts it in the depth map.
    #[inline(always)]
    pub(super) fn commit(&mut self) {
        if self.uncommitted > 0 {
            self.stats
                .record_depth(self.outstanding, u64::from(self.uncommitted));
            self.uncommitted = 0;
        }
        self.flush();
    }

    /// Hands what was accepted to the kernel.
    #[inline(always)]
    fn flush(&mut self) {
        let mut stamp = SubmitStamp {
            clock: self.clock,
            slots: &mut self.slots,
            stats: self.stats,
            measure: self.measure,
            now_ns: &mut self.now_ns,
        };
        let result = self.engine.commit(&mut |batch| stamp.submitted(batch));
        if let Err(error) = result {
            self.engine_failed(&error);
        }
    }

    /// Both completion limits are 0: completions are looked for after each submission.
    #[inline(always)]
    fn polls(&self) -> bool {
        self.limits.complete_min == 0 && self.limits.complete_max == 0
    }

    /// Reaps as the queue options say; `full` when no slot is free or the engine was busy.
    #[inline(always)]
    fn reap(&mut self, full: bool) {
        let mut min = self.limits.complete_min.min(self.outstanding);
        if self.limits.complete_min == 0 || (full && min == 0) {
            min = 1;
        }
        loop {
            if self.outstanding == 0 {
                return;
            }
            self.collect(min.min(self.outstanding));
            if !full || self.ending || self.outstanding <= self.limits.low {
                return;
            }
        }
    }

    /// One reaping call for at least `min` completions.
    #[inline(always)]
    pub(super) fn collect(&mut self, min: u32) {
        let max = self.limits.complete_max.min(self.outstanding).max(min);
        self.flush();
        let mut completions = std::mem::take(&mut self.completions);
        let mut stamp = SubmitStamp {
            clock: self.clock,
            slots: &mut self.slots,
            stats: self.stats,
            measure: self.measure,
            now_ns: &mut self.now_ns,
        };
        let result = self.engine.reap(min, max, &mut completions, &mut |batch| {
            stamp.submitted(batch);
        });
        if self.measure.stamps && !completions.is_empty() {
            self.now_ns = self.clock.now_ns();
        }
        self.stats.record_complete(completions.len() as u32);
        self.outstanding -= completions.len() as u32;
        for completion in &completions {
            self.complete(completion.slot, completion.outcome);
        }
        completions.clear();
        self.completions = completions;
        if let Err(error) = result {
            self.engine_failed(&error);
        }
    }

    /// Accounts one finished request.
    #[inline(always)]
    fn complete(&mut self, index: u32, outcome: Outcome) {
        if (outcome.error != 0 || outcome.residual != 0) && !self.unusual(index, outcome) {
            return;
        }
        let slot = &self.slots[index as usize];
        let clat = self.now_ns.saturating_sub(slot.issue_ns);
        let direction = slot.op.kind as usize;
        if let Some(counters) = self.stats.directions.get(direction) {
            counters
                .bytes
                .add(slot.op.len - u64::from(outcome.residual));
            counters.completed.add(1);
            if self.measure.clat {
                self.stats
                    .record_clat(direction, clat, self.measure.clat_histogram);
            }
            if self.measure.lat {
                let lat = self.now_ns.saturating_sub(slot.start_ns);
                self.stats
                    .record_lat(direction, lat, self.measure.lat_histogram);
            }
        } else if self.measure.clat {
            self.stats.record_sync(clat);
        }
        if self.notes_completions {
            self.note_completion(index);
        }
        self.release(index);
    }

    /// Makes a slot free again.
    #[inline(always)]
    pub(super) fn release(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.unmarked = false;
        slot.in_flight = false;
        if slot.op.kind as u8 >= OpKind::Fsync as u8 {
            self.page.syncs_in_flight.add(u64::MAX);
        }
        self.stream.completed(&slot.op);
        self.free.push(index);
    }

    /// The limit of open files holds the next operation back: wait for one in flight.
    #[cold]
    fn make_room(&mut self) -> bool {
        if self.outstanding == 0 {
            // The stream will choose another file next.
            return true;
        }
        self.reap(true);
        !self.ending
    }

    /// Waits for all that is in flight. What was accepted since the last commit is handed over
    /// on the way and, as with fio, not counted in the depth map.
    fn drain(&mut self) {
        self.abandon_requeued();
        let broken = self.failure.is_some();
        while self.outstanding > 0 {
            let before = self.outstanding;
            self.collect(before);
            if self.outstanding == before && (broken || self.failure.is_some()) {
                // The engine itself failed: nothing more will come.
                break;
            }
            self.abandon_requeued();
        }
    }

    /// Gives up what would be offered again: the pass is over.
    #[cold]
    fn abandon_requeued(&mut self) {
        while let Some(index) = self.requeued.pop_front() {
            if self.slots[index as usize].done != 0 {
                self.release(index);
            } else {
                // Never accepted by the engine, so the stream did not count it.
                self.slots[index as usize].unmarked = false;
                self.free.push(index);
            }
        }
    }

    /// What few jobs want of a completion.
    #[cold]
    #[inline(never)]
    fn note_completion(&mut self, index: u32) {
        if self.traced {
            self.trace("complete", index);
        }
        if self.measure.limits {
            self.check_latency(index);
        }
    }

    /// Tells where an operation is (`--debug=io`).
    #[cold]
    #[inline(never)]
    fn trace(&self, what: &str, index: u32) {
        let Op {
            kind,
            file,
            offset,
            len,
        } = self.slots[index as usize].op;
        let name = self.job.target.files.get(file as usize);
        tracing::debug!(
            target: "io",
            "{what}: slot {index}: off=0x{offset:x},len=0x{len:x},ddir={},file={}",
            kind_of(kind).word(),
            name.map_or_else(Default::default, |path| path.display().to_string())
        );
    }

    #[cold]
    fn tell_changes(&mut self) {
        for change in self.files.changes.drain(..) {
            match change {
                FileChange::Opened(file) => self.engine.opened(file),
                FileChange::Closed(file) => self.engine.closed(file),
            }
        }
    }

    /// An engine that hands nothing over later has issued what it queued.
    #[cold]
    fn issued_by_queue(&mut self, index: u32) {
        self.stats.record_submit(1);
        self.stats.record_complete(1);
        let slot = &self.slots[index as usize];
        let direction = slot.op.kind as usize;
        if self.measure.slat && direction < 3 {
            let slat = slot.issue_ns.saturating_sub(slot.start_ns);
            self.stats
                .record_slat(direction, slat, self.measure.slat_histogram);
        }
    }
}

/// Stamps the issue time of what the kernel took.
struct SubmitStamp<'b> {
    clock: Clock,
    slots: &'b mut [IoSlot],
    stats: &'b WorkerStats,
    measure: Measure,
    now_ns: &'b mut u64,
}

impl SubmitStamp<'_> {
    #[inline(always)]
    fn submitted(&mut self, batch: &[u32]) {
        self.stats.record_submit(batch.len() as u32);
        if !self.measure.stamps_commits {
            return;
        }
        let now = self.clock.now_ns();
        *self.now_ns = now;
        for &index in batch {
            let slot = &mut self.slots[index as usize];
            slot.issue_ns = now;
            let direction = slot.op.kind as usize;
            if self.measure.slat && direction < 3 {
                let slat = now.saturating_sub(slot.start_ns);
                self.stats
                    .record_slat(direction, slat, self.measure.slat_histogram);
            }
        }
    }
}

#[inline(always)]
pub(super) fn kind_of(kind: OpKind) -> Kind {
    match kind {
        OpKind::Read => Kind::Read,
        OpKind::Write => Kind::Write,
        OpKind::Trim => Kind::Trim,
        OpKind::Fsync => Kind::Fsync,
        OpKind::Fdatasync => Kind::Fdatasync,
        OpKind::SyncFileRange => Kind::SyncFileRange,
    }
}
