//! Where in its file the next operation starts.

use ferrio_options::Sequencer;

use super::{Draw, FileEvents, Notice, OpStream, StreamError, TRIM, WRITE};

impl OpStream {
    /// Offset relative to the file's base, block number (of random offsets), and whether the
    /// offset counts as random; all cases.
    pub(super) fn place(
        &mut self,
        index: usize,
        direction: usize,
        unmarked: &mut bool,
        events: &mut impl FileEvents,
    ) -> Option<(u64, u64, bool)> {
        self.rare.batch_left -= 1;
        let hit = self.rare.batch_left == 0;
        if hit {
            self.rare.batch_left = self.rare.batch;
        }
        if !self.random {
            return Some((self.sequential(index, direction, events)?, 0, false));
        }
        if self.trimwrite && direction == WRITE {
            *unmarked = true;
            let file = &self.files[index];
            return Some((file.last[TRIM].wrapping_sub(file.base), 0, true));
        }
        let random = hit && {
            let percentage = self.rare.percentage_random[direction];
            percentage >= 100 || self.rare.seq_or_random[direction].percent() <= percentage
        };
        if !random {
            *unmarked = true;
            if !hit && self.rare.sequencer == Sequencer::Identical {
                let file = &self.files[index];
                let last = file.last[direction];
                return Some((
                    if last == super::file::NONE {
                        0
                    } else {
                        last.wrapping_sub(file.base)
                    },
                    0,
                    false,
                ));
            }
            if let Some(relative) = self.sequential(index, direction, events) {
                return Some((relative, 0, false));
            }
        }
        let block = self.random_block(index, direction, events)?;
        Some((
            block.wrapping_mul(self.block[direction].align.value()),
            block,
            random,
        ))
    }

    /// The offset behind the last operation of the direction.
    #[inline(always)]
    pub(super) fn sequential(
        &mut self,
        index: usize,
        direction: usize,
        events: &mut impl FileEvents,
    ) -> Option<u64> {
        let file = &mut self.files[index];
        if file.position[direction] >= file.region_end {
            if self.rare.wraps_by_time {
                file.position[direction] = file.base;
                events.invalidate(index as u32);
            } else if self.rare.wraps_by_amount {
                file.position[direction] = file.base;
            }
        }
        if file.position[direction] >= file.real {
            return None;
        }
        if self.rare.step != 0 {
            return Some(self.stepped(index, direction));
        }
        Some(file.position[direction].wrapping_sub(file.base))
    }

    /// The sequential offset with a step (holes, or backward). It is relative to the end of the
    /// last operation. Wrapping forward counts the base twice, as fio does.
    #[cold]
    fn stepped(&mut self, index: usize, direction: usize) -> u64 {
        let step = self.rare.step;
        let file = &mut self.files[index];
        if step < 0 && file.position[direction] == file.base && file.base != 0 {
            file.position[direction] = file.usable();
        }
        let mut position = file.position[direction].wrapping_sub(file.base);
        if position != 0 {
            position = position.wrapping_add_signed(step);
            if position >= file.real {
                position = if step > 0 {
                    file.base
                } else {
                    file.usable().wrapping_add_signed(step)
                };
            }
        }
        position
    }

    /// A random block number. When the draw fails, jobs that go on for a time start the file over
    /// and draw once more.
    #[inline(always)]
    pub(super) fn random_block(
        &mut self,
        index: usize,
        direction: usize,
        events: &mut impl FileEvents,
    ) -> Option<u64> {
        let span = self.files[index].spans[direction];
        if span.blocks == 0 {
            return None;
        }
        let drawn = if self.draw == Draw::Uniform {
            self.raw_block(index, span.blocks_f64)
        } else {
            self.distributed_block(index, direction)
        };
        drawn.or_else(|| self.draw_again(index, direction, events))
    }

    #[cold]
    fn draw_again(
        &mut self,
        index: usize,
        direction: usize,
        events: &mut impl FileEvents,
    ) -> Option<u64> {
        if !self.rare.draws_again {
            return None;
        }
        self.files[index].rewind();
        events.invalidate(index as u32);
        if self.draw == Draw::Uniform {
            self.raw_block(index, self.files[index].spans[direction].blocks_f64)
        } else {
            self.distributed_block(index, direction)
        }
    }

    /// One draw of the generator or the register, moved to the next free block of the map.
    #[inline(always)]
    fn raw_block(&mut self, index: usize, span: f64) -> Option<u64> {
        let file = &mut self.files[index];
        if self.uses_lfsr {
            return file.lfsr.as_mut()?.next();
        }
        let block = self.offsets.scaled(span);
        match &file.map {
            Some(map) => map.free_from(block),
            None => Some(block),
        }
    }

    #[inline(never)]
    fn distributed_block(&mut self, index: usize, direction: usize) -> Option<u64> {
        let span = self.files[index].spans[direction];
        match self.draw {
            Draw::Uniform => self.raw_block(index, span.blocks_f64),
            Draw::Rank => self.files[index].rank.as_mut().map(|rank| rank.next()),
            Draw::Zoned | Draw::ZonedAbs => {
                let Some(zones) = &self.rare.zones[direction] else {
                    return self.raw_block(index, span.blocks_f64);
                };
                let (first, end) = zones.zone(self.rare.zone_draws.percent());
                if self.draw == Draw::Zoned {
                    let start = first.saturating_mul(span.blocks) / 100;
                    let blocks = span.blocks.saturating_mul(end - first) / 100;
                    return Some(start + self.raw_block(index, blocks as f64)?);
                }
                let align = self.block[direction].align;
                let (first, end) = (align.div_rem(first).0, align.div_rem(end).0);
                if end > span.blocks {
                    self.notice_once(Notice::ZoneBehindEnd {
                        file: self.files[index].display(),
                    });
                    return None;
                }
                Some(first + self.raw_block(index, (end - first) as f64)?)
            }
            Draw::Sequence => self.sequence_block(index, direction),
        }
    }

    /// `random_distribution=sequence`: the entries in turn, by the number of operations issued.
    fn sequence_block(&mut self, index: usize, direction: usize) -> Option<u64> {
        let (round, at) = self.rare.sequence_len.div_rem(self.issued_ops[direction]);
        let entry = *self.rare.sequence.get(at as usize)?;
        let block = if self.rare.sequence_stride {
            round
                .wrapping_mul(self.rare.sequence_len.value())
                .wrapping_add(entry)
        } else {
            entry
        };
        let file = &self.files[index];
        let (blocks, _) = self.block[direction].min.div_rem(file.len);
        if file.len != 0 && block >= blocks {
            if entry >= blocks {
                self.verdict = Some(StreamError::SequenceBlock {
                    block: entry,
                    blocks,
                    file: file.display(),
                });
            }
            return None;
        }
        Some(block)
    }

    /// Strided zones: moves on when the zone has had its bytes.
    #[cold]
    pub(super) fn enter_zone(&mut self, index: usize, direction: usize) {
        let Some(strided) = self.rare.strided else {
            return;
        };
        let file = &mut self.files[index];
        if self.rare.zone_bytes >= strided.size {
            self.rare.zone_bytes = 0;
            file.base = file
                .base
                .saturating_add(strided.range)
                .saturating_add(strided.skip);
            if file.base >= file.real {
                file.base = file.start;
            }
            file.position[direction] = file.base;
        }
        if file.position[direction] >= file.base.saturating_add(strided.range) {
            file.position[direction] = file.base;
        }
        if self.rare.zone_range.rem(self.rare.zone_bytes) == 0 {
            file.rewind();
        }
    }

    fn notice_once(&mut self, notice: Notice) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }
}
