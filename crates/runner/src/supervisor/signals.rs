//! Signals, as bytes in a pipe that the event loop polls.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use signal_hook::SigId;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::low_level;

use crate::page::PageRef;

/// The signals that a supervisor handles, each with its own pipe.
#[derive(Debug)]
pub(super) struct Signals {
    pipes: Vec<(i32, UnixStream, SigId)>,
    /// Signals read by a peek and not handled yet.
    seen: Vec<i32>,
}

/// What came in.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Signals that end the run, one entry each time.
    pub(super) end: Vec<i32>,
    /// A status report is wanted.
    pub(super) status: bool,
}

impl Signals {
    /// Installs the handlers.
    pub(super) fn register() -> io::Result<Self> {
        // At the limit of file sizes the writing call shall fail, not the process die; workers
        // inherit this.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        let mut signals = Signals {
            pipes: Vec::new(),
            seen: Vec::new(),
        };
        for signal in [SIGINT, SIGTERM, SIGUSR1] {
            let (reader, writer) = UnixStream::pair()?;
            reader.set_nonblocking(true)?;
            let id = low_level::pipe::register(signal, writer)?;
            signals.pipes.push((signal, reader, id));
        }
        Ok(signals)
    }

    /// One of these is readable when a signal came in.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.pipes.iter().map(|(_, pipe, _)| pipe.as_fd())
    }

    fn read(&mut self) {
        for (signal, pipe, _) in &mut self.pipes {
            for _ in 0..drain(pipe) {
                self.seen.push(*signal);
            }
        }
    }

    /// Whether a signal asks for the end, without taking it.
    pub(super) fn peek_end(&mut self) -> bool {
        self.read();
        self.seen.iter().any(|signal| *signal != SIGUSR1)
    }

    /// Takes what came in.
    pub(super) fn take(&mut self) -> Taken {
        self.read();
        let mut taken = Taken::default();
        for signal in self.seen.drain(..) {
            if signal == SIGUSR1 {
                taken.status = true;
            } else {
                taken.end.push(signal);
            }
        }
        taken
    }

    /// In a worker's process: the supervisor's handlers go, and the end signals ask this worker
    /// alone to stop.
    pub(super) fn hand_to_worker(&self, pages: &[PageRef]) {
        for (_, _, id) in &self.pipes {
            low_level::unregister(*id);
        }
        for signal in [SIGINT, SIGTERM] {
            let pages = pages.to_vec();
            let stop = move || pages.iter().for_each(|page| page.request_stop());
            // SAFETY: the action stores to atomics only, which is safe in a signal handler.
            let _ = unsafe { low_level::register(signal, stop) };
        }
    }
}

/// Reads all bytes that are there and returns their number.
fn drain(pipe: &mut UnixStream) -> usize {
    let mut bytes = [0; 64];
    let mut total = 0;
    while let Ok(count @ 1..) = pipe.read(&mut bytes) {
        total += count;
    }
    total
}
