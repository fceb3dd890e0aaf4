//! One operation, step by step.

use std::hint::select_unpredictable;

use ferrio_options::Direction;

use super::file::State;
use super::pick::Pick;
use super::{FileEvents, Next, Op, OpKind, OpStream, READ, TRIM, WRITE};

/// Attempts in a row that yield no operation, after which the pass ends: with a file service
/// that uses ended files again, files too small for a block would be tried for ever.
const FAILURES_MAX: u32 = 100_000;

/// [`Next`], with the operation in [`OpStream::found`].
enum Found {
    Op,
    Busy,
    End,
}

impl OpStream {
    /// The next operation. It counts as outstanding on its file until [`OpStream::completed`].
    ///
    /// `unmarked` belongs to the slot that will carry the operation. The stream sets it when the
    /// operation must not enter the random map, and reads it; the caller clears it when an
    /// operation of the slot completes, and hands it in unchanged after [`Next::Busy`] or
    /// [`Next::End`].
    #[inline]
    pub fn next(&mut self, unmarked: &mut bool, events: &mut impl FileEvents) -> Next {
        if self.plain && self.single_open {
            if let Some(op) = self.prepare::<true>(0, unmarked, events) {
                return Next::Op(op);
            }
            self.file_failed(0, events);
        }
        // The operation comes back in `found`, read field by field: returned by value it would be
        // copied in wider pieces than it was written in, which stalls the processor.
        match self.next_of_any(unmarked, events) {
            Found::Op => {
                let Op {
                    kind,
                    file,
                    offset,
                    len,
                } = self.found;
                Next::Op(Op {
                    kind,
                    file,
                    offset,
                    len,
                })
            }
            Found::Busy => Next::Busy,
            Found::End => Next::End,
        }
    }

    /// [`OpStream::next`] in all cases.
    #[inline(never)]
    fn next_of_any(&mut self, unmarked: &mut bool, events: &mut impl FileEvents) -> Found {
        if self.empty {
            // Counted as reads, whatever the job's direction.
            self.found = Op {
                kind: OpKind::Read,
                file: 0,
                offset: 0,
                len: 0,
            };
            return Found::Op;
        }
        for _ in 0..FAILURES_MAX {
            let index = if self.single_open {
                0
            } else {
                match self.pick_file(events) {
                    Pick::File(index) => index,
                    Pick::Busy => return Found::Busy,
                    Pick::None => return Found::End,
                }
            };
            if let Some(op) = self.prepare::<false>(index, unmarked, events) {
                self.found = op;
                return Found::Op;
            }
            self.file_failed(index, events);
            if self.verdict.is_some() {
                return Found::End;
            }
        }
        Found::End
    }

    /// The next operation on a file; `None` when it has none. `PLAIN` leaves out what the job does
    /// not use.
    #[inline(always)]
    fn prepare<const PLAIN: bool>(
        &mut self,
        index: usize,
        unmarked: &mut bool,
        events: &mut impl FileEvents,
    ) -> Option<Op> {
        if !PLAIN
            && self.syncs.any()
            && let Some(op) = self.sync_due(index)
        {
            return Some(op);
        }
        let mut direction = if !PLAIN && let Some(chosen) = self.rare.chosen.take() {
            chosen
        } else if self.mixed {
            self.mix()
        } else {
            self.direction
        };
        if !PLAIN {
            if self.trimwrite {
                direction = if self.files[index].trim_is_next() {
                    TRIM
                } else {
                    WRITE
                };
            }
            if self.rare.strided.is_some() {
                self.enter_zone(index, direction);
            }
        }
        self.prepare_data::<PLAIN>(index, direction, unmarked, events)
    }

    /// The next operation on a file in a direction.
    #[inline(always)]
    fn prepare_data<const PLAIN: bool>(
        &mut self,
        index: usize,
        direction: usize,
        unmarked: &mut bool,
        events: &mut impl FileEvents,
    ) -> Option<Op> {
        let (relative, block, random) = if PLAIN {
            if self.random {
                let block = self.random_block(index, direction, events)?;
                (
                    block.wrapping_mul(self.block[direction].align.value()),
                    block,
                    true,
                )
            } else {
                (self.sequential(index, direction, events)?, 0, false)
            }
        } else {
            self.place(index, direction, unmarked, events)?
        };
        let file = &self.files[index];
        if relative >= file.len {
            return None;
        }
        let offset = file.base.wrapping_add(relative);
        if offset >= file.real {
            return None;
        }
        let repeats_trim = !PLAIN && self.random && self.trimwrite && direction == WRITE;
        let mut len = if repeats_trim {
            file.position[TRIM].wrapping_sub(file.last[TRIM])
        } else {
            let sizes = match (PLAIN || !self.rare.seq_rand_sizes, random) {
                (true, _) => direction,
                (false, true) => WRITE,
                (false, false) => READ,
            };
            match self.lengths[sizes].fixed() {
                Some(len) => len,
                None => {
                    let room = file.region_end.saturating_sub(offset);
                    self.lengths[sizes].draw(room, &mut self.length_draws[sizes])?
                }
            }
        };
        let file = &mut self.files[index];
        if offset.saturating_add(len) > file.real || len == 0 {
            return None;
        }
        if !*unmarked && let Some(map) = &mut file.map {
            let unit = self.block[direction].min;
            if len <= unit.value() {
                map.take_one(block);
            } else {
                let taken = map.take(block, unit.div_ceil(len));
                len = len.min(taken.saturating_mul(unit.value()));
            }
        }
        if !PLAIN {
            if self.trimwrite && direction == TRIM && offset == file.last[TRIM] {
                // Trimming the same place again: what tells trim from write must still differ.
                file.last[WRITE] = file.last[WRITE].wrapping_sub(1);
            }
            self.rare.zone_bytes = self.rare.zone_bytes.wrapping_add(len);
        }
        file.last[direction] = offset;
        file.position[direction] = offset.wrapping_add(len);
        file.outstanding += 1;
        self.picker.outstanding += 1;
        Some(Op {
            kind: OpKind::DATA[direction],
            file: index as u32,
            offset,
            len,
        })
    }

    /// A sync comes next ([`Pattern::fsync_every`](ferrio_options::Pattern::fsync_every) and its
    /// kin), whatever direction would be next.
    pub fn sync_comes_next(&self) -> bool {
        self.syncs.any() && self.syncs.due(self.issued_ops[WRITE]).is_some()
    }

    /// Direction that the mix rule gives the next data operation. It stays until that operation
    /// is taken, or [`OpStream::choose_direction`] sets another one.
    pub fn peek_direction(&mut self) -> Direction {
        if !self.mixed {
            // Trim and write take turns, file by file.
            let file = self
                .picker
                .current()
                .and_then(|index| self.files.get(index));
            let trims = self.trimwrite && file.is_none_or(super::file::File::trim_is_next);
            return Direction::ALL[if trims { TRIM } else { self.direction }];
        }
        let direction = match self.rare.chosen {
            Some(chosen) => chosen,
            None => self.mix(),
        };
        self.rare.chosen = Some(direction);
        Direction::ALL[direction]
    }

    /// Overrides the mix rule for the next operation of a mixed job, and its present direction.
    pub fn choose_direction(&mut self, direction: Direction) {
        if self.mixed {
            self.rare.chosen = Some(direction as usize);
            self.mix_direction = direction as usize;
        }
    }

    /// Direction of a mixed job's next operation.
    #[inline(always)]
    fn mix(&mut self) -> usize {
        let current = self.mix_direction;
        let issued = self.issued_ops[current];
        if issued < self.mix_threshold {
            return current;
        }
        // No draw can be foreseen, so nothing branches on it.
        let is_write = u64::from(self.mix_draws.percent()) > self.mix_percent[READ];
        let drawn = usize::from(is_write);
        let percent =
            select_unpredictable(is_write, self.mix_percent[WRITE], self.mix_percent[READ]);
        let threshold = issued.wrapping_mul(percent) / 100;
        self.mix_threshold = select_unpredictable(drawn == current, self.mix_threshold, threshold);
        self.mix_direction = drawn;
        drawn
    }

    /// Counts an operation as issued. `queued`: the engine accepted it and completes it later.
    #[inline(always)]
    pub fn issued(&mut self, op: &Op, queued: bool) {
        self.syncs.last = op.kind;
        let direction = op.kind as usize;
        if direction > TRIM {
            return;
        }
        self.syncs.stale_offset = op.offset;
        self.end.ops += 1;
        self.issued_ops[direction] += 1;
        if self.end.counts[direction] {
            self.end.bytes = self.end.bytes.saturating_add(op.len);
        }
        if queued && self.end.counts_queued {
            self.end.queued = self.end.queued.saturating_add(op.len);
        }
    }

    /// An operation completed (or failed): it is not outstanding on its file any more.
    #[inline(always)]
    pub fn completed(&mut self, op: &Op) {
        let Some(file) = self.files.get_mut(op.file as usize) else {
            return;
        };
        file.outstanding = file.outstanding.saturating_sub(1);
        self.picker.outstanding = self.picker.outstanding.saturating_sub(1);
        if file.state == State::Closing && file.outstanding == 0 {
            self.picker.to_close.push(op.file);
        }
        if self.syncs.keeps_ranges {
            self.note_written(op);
        }
    }

    /// The write-back that is missing for the last trim of a file in a trimwrite job; `None` when the
    /// trim has its write. A job that is stopped issues these before it ends, once for each file, so
    /// that no trimmed range stays without data.
    pub fn owed_write(
        &mut self,
        file: u32,
        unmarked: &mut bool,
        events: &mut impl FileEvents,
    ) -> Option<Op> {
        let index = file as usize;
        let state = self.files.get(index).filter(|_| self.trimwrite)?;
        if state.state != State::Open || state.trim_is_next() {
            return None;
        }
        self.prepare_data::<false>(index, WRITE, unmarked, events)
    }
}
