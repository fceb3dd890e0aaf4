//! Passes: when one starts, how long it goes on, and what follows it.

use std::ops::Range;

use super::{EndRules, FileEvents, Notice, OpStream, StreamError};

/// What follows a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassEnd {
    /// The pass did nothing: it was the job's last.
    pub job_done: bool,
    /// Files to be flushed now (`end_fsync`, `fsync_on_close`; with `end_syncfs` the file systems
    /// that they are on), in this order; those that are not open ([`OpStream::is_open`]) are opened for it and closed again.
    pub sync_files: Range<u32>,
    /// Offset that logs of operations show for these syncs.
    pub sync_offset: u64,
    /// The job cannot go on.
    pub error: Option<StreamError>,
}

impl EndRules {
    /// `number_ios` is reached.
    fn ops_reached(&self) -> bool {
        self.number_ios != 0 && self.ops >= self.number_ios.saturating_mul(self.loops)
    }

    fn another_pass(&mut self, completed_bytes: u64, all_files_done: bool) -> bool {
        if self.job_done {
            return false;
        }
        if self.time_based {
            return true;
        }
        if self.loops_left > 0 {
            self.loops_left -= 1;
            return true;
        }
        if self.ops_reached() || completed_bytes >= self.amount {
            return false;
        }
        if self.amount - completed_bytes < self.largest_block {
            return false;
        }
        !all_files_done || self.io_size != 0
    }
}

impl OpStream {
    /// Starts a pass if there is another one: closes all files and starts them over, and seeds
    /// the generators again if the job is repeatable. To be asked before the first pass too.
    ///
    /// `completed_bytes` counts per direction, since the job's start or the end of its ramp.
    pub fn begin_pass(&mut self, completed_bytes: [u64; 3], events: &mut impl FileEvents) -> bool {
        let completed = completed_bytes.into_iter().fold(0, u64::saturating_add);
        let all_files_done = self.picker.all_done(self.files.len());
        if self.verdict.is_some() || !self.end.another_pass(completed, all_files_done) {
            return false;
        }
        if !self.end.first_pass {
            self.rare.zone_bytes = 0;
            self.mix_threshold = 0;
            self.close_all(events);
            for file in &mut self.files {
                file.done = false;
                file.outstanding = 0;
                file.base = file.start;
            }
            self.picker.restart();
            if self.reseeds {
                self.reseed();
            }
        }
        self.end.first_pass = false;
        self.end.queued = 0;
        if self.trimwrite {
            self.end.number_ios = self.end.number_ios.saturating_mul(2);
        }
        true
    }

    /// Whether the pass goes on: to be asked before each [`OpStream::next`]. The caller looks at
    /// run time and stop requests itself.
    #[inline(always)]
    pub fn pass_goes_on(&self) -> bool {
        let end = &self.end;
        if end.time_based {
            return true;
        }
        end.bytes < end.limit
            && end.queued < end.pass_cap
            && (end.number_ios == 0 || !end.ops_reached())
    }

    /// The done part of a short transfer, in bytes: it counts for the pass as if it had been
    /// queued. The rest is issued by the caller and is not counted as issued again.
    pub fn short_done(&mut self, bytes: u64) {
        self.end.queued = self.end.queued.saturating_add(bytes);
    }

    /// Ends a pass, after all its operations completed. `bytes_done_in_pass` counts all
    /// directions; a pass without any ends the job.
    pub fn end_pass(&mut self, bytes_done_in_pass: u64, events: &mut impl FileEvents) -> PassEnd {
        self.close_ended(events);
        if bytes_done_in_pass == 0 {
            self.end.job_done = true;
        }
        let last_was_sync = self.syncs.last.direction().is_none();
        // They do not count as the latest operation: a sync that is due by `fsync=` still comes.
        let files = if self.end.end_sync && !last_was_sync {
            self.files.len() as u32
        } else {
            0
        };
        PassEnd {
            job_done: self.end.job_done,
            sync_files: 0..files,
            sync_offset: self.syncs.stale_offset,
            error: self.verdict.clone(),
        }
    }

    /// What the user should know, since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}
