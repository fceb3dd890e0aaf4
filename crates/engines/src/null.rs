//! The null engine: no I/O at all. It measures the tester.
//!
//! At depth 1 a request completes inside `queue`. At larger depths requests are collected;
//! `commit` turns all of them into events if no events are outstanding, and while events are
//! outstanding the engine says busy, like the engine of that name in fio.

use crate::{Capabilities, Completion, Engine, EngineError, Outcome, Queued, Request};

/// See the module's head.
#[derive(Debug)]
pub struct Null {
    synchronous: bool,
    /// Collected slots; the first `events` of them are events.
    slots: Vec<u32>,
    events: usize,
}

impl Null {
    /// An engine for up to `depth` requests.
    pub fn new(depth: u32) -> Self {
        Null {
            synchronous: depth == 1,
            slots: Vec::with_capacity(depth as usize),
            events: 0,
        }
    }
}

impl Engine for Null {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            synchronous: self.synchronous,
            commits: true,
            issues_at_commit: !self.synchronous,
        }
    }

    #[inline]
    fn queue(&mut self, slot: u32, _request: &Request) -> Queued {
        if self.synchronous {
            return Queued::Completed(Outcome::default());
        }
        if self.events > 0 || self.slots.len() == self.slots.capacity() {
            return Queued::Busy;
        }
        self.slots.push(slot);
        Queued::Queued
    }

    #[inline]
    fn commit(&mut self, submitted: &mut impl FnMut(&[u32])) -> Result<(), EngineError> {
        if self.events == 0 && !self.slots.is_empty() {
            submitted(&self.slots);
            self.events = self.slots.len();
        }
        Ok(())
    }

    #[inline]
    fn reap(
        &mut self,
        min: u32,
        _max: u32,
        completions: &mut Vec<Completion>,
        submitted: &mut impl FnMut(&[u32]),
    ) -> Result<(), EngineError> {
        if min == 0 {
            return Ok(());
        }
        self.commit(submitted)?;
        for slot in self.slots.drain(..) {
            completions.push(Completion {
                slot,
                outcome: Outcome::default(),
            });
        }
        self.events = 0;
        Ok(())
    }
}
