//! Syncs between writes: `fsync`, `fdatasync`, `sync_file_range`.

use ferrio_options::Pattern;

use super::{Op, OpKind, OpStream, WRITE};
use crate::divisor::Divisor;

/// When a sync follows a write.
#[derive(Debug)]
pub(super) struct Syncs {
    /// Kinds with their interval in writes, in the order of precedence.
    rules: Vec<(OpKind, Divisor)>,
    /// Kind of the latest operation issued.
    pub(super) last: OpKind,
    /// Offset of the latest data operation.
    pub(super) stale_offset: u64,
    /// Written ranges are kept, for `sync_file_range`.
    pub(super) keeps_ranges: bool,
}

impl Syncs {
    pub(super) fn new(pattern: &Pattern) -> Self {
        let intervals = [
            (OpKind::Fsync, pattern.fsync_every),
            (OpKind::Fdatasync, pattern.fdatasync_every),
            (OpKind::SyncFileRange, pattern.sync_file_range_every),
        ];
        let used = intervals
            .into_iter()
            .filter(|(_, every)| pattern.writes && *every != 0);
        Syncs {
            rules: used
                .map(|(kind, every)| (kind, Divisor::new(every)))
                .collect(),
            last: OpKind::Read,
            stale_offset: 0,
            keeps_ranges: pattern.writes && pattern.sync_file_range_every != 0,
        }
    }

    /// Whether the job has any.
    pub(super) fn any(&self) -> bool {
        !self.rules.is_empty()
    }

    /// The sync that has to follow now; `writes` is the number issued.
    pub(super) fn due(&self, writes: u64) -> Option<OpKind> {
        if self.last != OpKind::Write || writes == 0 {
            return None;
        }
        self.rules
            .iter()
            .find(|(_, every)| every.rem(writes) == 0)
            .map(|(kind, _)| *kind)
    }
}

impl OpStream {
    /// The sync that is due, on the file whose turn it is.
    pub(super) fn sync_due(&mut self, index: usize) -> Option<Op> {
        let kind = self.syncs.due(self.issued_ops[WRITE])?;
        self.files[index].outstanding += 1;
        self.picker.outstanding += 1;
        Some(Op {
            kind,
            file: index as u32,
            offset: self.syncs.stale_offset,
            len: 0,
        })
    }

    /// Offset and length in bytes of what was written to a file since its last `sync_file_range`;
    /// to be asked when the sync is executed.
    pub fn sync_range(&self, file: u32) -> (u64, u64) {
        let written = self.files.get(file as usize).and_then(|file| file.written);
        written.map_or((0, 0), |(first, end)| (first, end - first))
    }

    /// Keeps the written range of a file after a completion.
    #[cold]
    pub(super) fn note_written(&mut self, op: &Op) {
        let Some(file) = self.files.get_mut(op.file as usize) else {
            return;
        };
        match op.kind {
            OpKind::Write => {
                let end = op.offset.saturating_add(op.len);
                file.written = Some(file.written.map_or((op.offset, end), |(first, last)| {
                    (first.min(op.offset), last.max(end))
                }));
            }
            OpKind::SyncFileRange => file.written = None,
            _ => {}
        }
    }
}
