//! The engines whose requests complete inside the call, but for the one that most jobs use: one
//! type, so that the worker loop is built once for all of them.

use crate::burn::Burner;
use crate::file_ops::run_at_once;
use crate::mapped::Mapped;
use crate::psync::Seeking;
use crate::spliced::Spliced;
use crate::{Capabilities, Engine, Kind, Outcome, Queued, Request, shape};

/// See the module's head.
#[derive(Debug)]
pub enum Immediate {
    /// `sync`.
    Seeking(Seeking),
    /// `mmap`.
    Mapped(Mapped),
    /// `splice`.
    Spliced(Spliced),
    /// `falloc`.
    Allocate,
    /// `ftruncate`.
    Truncate,
    /// Operations on names: they are done when a file is opened, so only flushes are left.
    Names,
    /// `cpuio`.
    Burner(Burner),
}

impl Engine for Immediate {
    fn capabilities(&self) -> Capabilities {
        Capabilities::AT_ONCE
    }

    fn opened(&mut self, file: u32) {
        if let Immediate::Seeking(engine) = self {
            engine.opened(file);
        }
    }

    fn closed(&mut self, file: u32) {
        if let Immediate::Mapped(engine) = self {
            engine.closed(file);
        }
    }

    fn pause_us(&self) -> Option<u64> {
        match self {
            Immediate::Burner(engine) => engine.pause_us(),
            _ => None,
        }
    }

    fn queue(&mut self, _slot: u32, request: &Request) -> Queued {
        Queued::Completed(match self {
            Immediate::Seeking(engine) => engine.run(request),
            Immediate::Mapped(engine) => engine.run(request),
            Immediate::Spliced(engine) => engine.run(request),
            Immediate::Allocate => shape::allocate(request),
            Immediate::Truncate => shape::truncate(request),
            Immediate::Names => match request.kind {
                Kind::Read | Kind::Write | Kind::Trim => Outcome::default(),
                _ => run_at_once(request),
            },
            Immediate::Burner(engine) => return engine.run(),
        })
    }
}
