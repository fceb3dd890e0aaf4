//! The libaio engine: the kernel's asynchronous I/O, called directly.
//!
//! System calls: `io_setup`, `io_submit`, `io_getevents`, `io_destroy`; completions that are
//! already in the mapped ring are taken without a call. Any kernel since 5.10; without readable
//! ring every reap is a call. Asynchronous only with direct I/O: buffered requests complete
//! inside `io_submit`. Every flush is an `FSYNC`, the stronger operation; trims are executed at
//! once when nothing is pending. Bound of requests over the whole system: `fs.aio-max-nr`.

use crate::aio_abi::{
    CMD_FSYNC, CMD_PREAD, CMD_PREADV, CMD_PWRITE, CMD_PWRITEV, Context, IoEvent, Iocb, RWF_ATOMIC,
    RWF_NOWAIT,
};
use crate::file_ops::run_at_once;
use crate::{Capabilities, Completion, Engine, EngineError, Kind, Outcome, Queued, Request};

/// Options of the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LibaioSettings {
    /// `RWF_NOWAIT` on reads and writes.
    pub nowait: bool,
    /// Writes are not torn (`RWF_ATOMIC`, Linux 6.11).
    pub atomic: bool,
    /// Vectored calls with one element.
    pub vectored: bool,
    /// Poll: a minimum of 0 is passed on instead of waiting in the kernel.
    pub polling: bool,
}

/// See the module's head.
#[derive(Debug)]
pub struct Libaio {
    // Dropped first: io_destroy waits for what is in flight before the blocks go away.
    context: Context,
    depth: u32,
    settings: LibaioSettings,
    /// One control block per slot, never moved.
    blocks: Box<[Iocb]>,
    /// One vector element per slot, for vectored calls.
    vectors: Box<[libc::iovec]>,
    /// Pending slots in submission order: a ring over `depth` entries, as submissions that wrap
    /// are split at its end.
    pending: Box<[*mut Iocb]>,
    pending_slots: Box<[u32]>,
    head: u32,
    pending_count: u32,
    events: Box<[IoEvent]>,
    /// Slots in the kernel.
    in_flight: u32,
}

impl Libaio {
    /// Makes the context for `depth` requests.
    ///
    /// # Errors
    /// `EAGAIN` when `fs.aio-max-nr` would be exceeded, `ENOSYS` where the kernel has no
    /// asynchronous I/O.
    pub fn new(depth: u32, settings: LibaioSettings) -> Result<Self, EngineError> {
        let context = Context::new(depth).map_err(|code| {
            let error = EngineError::new(code, "io_queue_init");
            match code {
                libc::EAGAIN => error.advise(format!(
                    "the system's limit of asynchronous requests is reached with iodepth={depth}: \
                     lower iodepth or numjobs, or raise fs.aio-max-nr"
                )),
                libc::ENOSYS => error.advise("this kernel has no asynchronous I/O (CONFIG_AIO)"),
                _ => error,
            }
        })?;
        let slots = depth as usize;
        let empty = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        Ok(Libaio {
            context,
            depth,
            settings,
            blocks: vec![Iocb::default(); slots].into(),
            vectors: vec![empty; slots].into(),
            pending: vec![std::ptr::null_mut(); slots].into(),
            pending_slots: vec![0; slots].into(),
            head: 0,
            pending_count: 0,
            events: vec![IoEvent::default(); slots].into(),
            in_flight: 0,
        })
    }

    fn prepare(&mut self, slot: u32, request: &Request) {
        let index = slot as usize;
        let block = &mut self.blocks[index];
        *block = Iocb {
            data: u64::from(slot),
            fd: request.fd as u32,
            ..Iocb::default()
        };
        block.opcode = match (request.kind, self.settings.vectored) {
            (Kind::Read, false) => CMD_PREAD,
            (Kind::Write, false) => CMD_PWRITE,
            (Kind::Read, true) => CMD_PREADV,
            (Kind::Write, true) => CMD_PWRITEV,
            _ => {
                block.opcode = CMD_FSYNC;
                return;
            }
        };
        block.offset = request.offset as i64;
        block.buffer = request.buffer as u64;
        block.nbytes = u64::from(request.len);
        if self.settings.nowait {
            block.rw_flags = RWF_NOWAIT;
        }
        if self.settings.atomic && request.kind == Kind::Write {
            block.rw_flags |= RWF_ATOMIC;
        }
        if self.settings.vectored {
            let vector = &mut self.vectors[index];
            *vector = libc::iovec {
                iov_base: request.buffer.cast(),
                iov_len: request.len as usize,
            };
            block.buffer = std::ptr::from_mut(vector) as u64;
            block.nbytes = 1;
        }
    }

    fn finish(&self, event: &IoEvent) -> Completion {
        let slot = event.data as u32;
        let block = &self.blocks[slot as usize];
        let len = match block.opcode {
            CMD_PREADV | CMD_PWRITEV => self.vectors[slot as usize].iov_len as u32,
            _ => block.nbytes as u32,
        };
        Completion {
            slot,
            outcome: Outcome::of(event.result, len),
        }
    }
}

impl Engine for Libaio {
    fn capabilities(&self) -> Capabilities {
        Capabilities::IN_BATCHES
    }

    #[inline]
    fn queue(&mut self, slot: u32, request: &Request) -> Queued {
        if request.kind == Kind::Trim {
            if self.pending_count > 0 {
                return Queued::Busy;
            }
            return Queued::Completed(run_at_once(request));
        }
        if self.pending_count == self.depth {
            return Queued::Busy;
        }
        self.prepare(slot, request);
        let mut at = self.head + self.pending_count;
        if at >= self.depth {
            at -= self.depth;
        }
        self.pending[at as usize] = &raw mut self.blocks[slot as usize];
        self.pending_slots[at as usize] = slot;
        self.pending_count += 1;
        Queued::Queued
    }

    #[inline]
    fn commit(&mut self, submitted: &mut impl FnMut(&[u32])) -> Result<(), EngineError> {
        while self.pending_count > 0 {
            let run = self.pending_count.min(self.depth - self.head);
            let range = self.head as usize..(self.head + run) as usize;
            // SAFETY: the pointers were made in `queue` from `blocks`, which is never moved or
            // dropped before the context; buffers are valid by the trait's contract.
            match unsafe { self.context.submit(&self.pending[range]) } {
                Ok(0) | Err(libc::EINTR) => {}
                Ok(count) => {
                    let count = count as u32;
                    let start = self.head as usize;
                    submitted(&self.pending_slots[start..start + count as usize]);
                    self.in_flight += count;
                    self.pending_count -= count;
                    self.head += count;
                    if self.head == self.depth {
                        self.head = 0;
                    }
                }
                // The kernel's queue is full: what is in flight must be reaped first.
                Err(libc::EAGAIN | libc::ENOMEM) if self.in_flight > 0 => return Ok(()),
                Err(code) => return Err(EngineError::new(code, "io commit")),
            }
        }
        Ok(())
    }

    #[inline]
    fn reap(
        &mut self,
        min: u32,
        max: u32,
        completions: &mut Vec<Completion>,
        submitted: &mut impl FnMut(&[u32]),
    ) -> Result<(), EngineError> {
        let mut taken = 0;
        loop {
            // What the ring holds already costs no system call.
            let context = &self.context;
            let from_ring =
                context.take_ready(max - taken, |event| completions.push(self.finish(event)));
            taken += from_ring;
            self.in_flight -= from_ring;
            if taken >= min {
                return Ok(());
            }
            if self.in_flight == 0 {
                self.commit(submitted)?;
                if self.in_flight == 0 {
                    return Ok(());
                }
                continue;
            }
            let wanted = if self.settings.polling {
                0
            } else {
                (min - taken).min(self.in_flight)
            };
            let room = (max - taken) as usize;
            match self.context.wait(wanted, &mut self.events[..room]) {
                Ok(count) => {
                    for event in &self.events[..count] {
                        completions.push(self.finish(event));
                    }
                    taken += count as u32;
                    self.in_flight -= count as u32;
                    if count == 0 || taken < min {
                        self.commit(submitted)?;
                    }
                }
                Err(libc::EINTR) => {}
                Err(libc::EAGAIN) => self.commit(submitted)?,
                Err(code) => return Err(EngineError::new(code, "get_events")),
            }
        }
    }
}
