//! The io_uring engine.
//!
//! System calls: `io_uring_setup`, `io_uring_enter`, `io_uring_register`; trims are executed at
//! once with `BLKDISCARD` when nothing is pending. Kernel 5.6 for plain reads and writes (older:
//! vectored); set-up flags that a kernel does not know are dropped one after the other
//! (`DEFER_TASKRUN` and `SINGLE_ISSUER`, `COOP_TASKRUN`, `CQSIZE`). Polled completions (`hipri`)
//! need a device with polling queues; registered buffers count against `RLIMIT_MEMLOCK` on
//! kernels before 5.12.

use std::io;
use std::os::fd::RawFd;

use io_uring::{EnterFlags, IoUring as Ring, Probe, opcode, squeue, types};

use crate::file_ops::run_at_once;
use crate::{
    Buffers, Capabilities, Completion, Engine, EngineError, Kind, Outcome, Queued, Request,
};

/// `RWF_NOWAIT` and `RWF_DONTCACHE` of `preadv2(2)`.
const RWF_NOWAIT: i32 = 0x8;
/// `RWF_ATOMIC`: written as a whole or not at all (Linux 6.11).
const RWF_ATOMIC: i32 = 0x40;
const RWF_DONTCACHE: i32 = 0x80;
/// Idle time of the kernel's polling thread: the kernel's default, one second.
const SQ_IDLE_MS: u32 = 1000;

/// Options of the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct IoUringSettings {
    /// Polled completions.
    pub hipri: bool,
    /// The buffers are registered.
    pub fixed_buffers: bool,
    /// The files are registered.
    pub register_files: bool,
    /// A kernel thread polls for submissions.
    pub sq_poll: bool,
    /// CPU of that thread.
    pub sq_poll_cpu: Option<u32>,
    /// Plain or vectored calls; `None` takes plain ones where the kernel has them.
    pub nonvectored: Option<bool>,
    /// Do not keep pages in the cache (buffered I/O only).
    pub uncached: bool,
    /// Do not wait for the cache or the device's queue.
    pub nowait: bool,
    /// Writes are not torn (`RWF_ATOMIC`).
    pub atomic: bool,
    /// Every N-th request goes to a kernel worker; 0 is off.
    pub force_async: u32,
    /// I/O priority word of reads and writes; 0 leaves the process's.
    pub io_priority: u16,
}

/// See the module's head.
pub struct IoUring {
    ring: Ring,
    depth: u32,
    settings: IoUringSettings,
    vectored: bool,
    read_flags: i32,
    write_flags: i32,
    enter_flags: EnterFlags,
    /// Lengths of the requests in each slot.
    lengths: Box<[u32]>,
    vectors: Box<[libc::iovec]>,
    /// Slots pushed but not yet handed to the kernel, in order.
    pending: Vec<u32>,
    in_flight: u32,
    prepared: u32,
}

impl std::fmt::Debug for IoUring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("IoUring");
        debug
            .field("depth", &self.depth)
            .field("settings", &self.settings);
        debug.finish_non_exhaustive()
    }
}

fn code_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// Makes the ring, without set-up flags that this kernel refuses.
fn make_ring(depth: u32, settings: &IoUringSettings) -> Result<Ring, EngineError> {
    let entries = depth.next_power_of_two();
    for refused in 0..4 {
        let mut builder = Ring::builder();
        if settings.hipri {
            builder.setup_iopoll();
        }
        if settings.sq_poll {
            builder.setup_sqpoll(SQ_IDLE_MS);
            if let Some(cpu) = settings.sq_poll_cpu {
                builder.setup_sqpoll_cpu(cpu);
            }
        }
        // Task work cannot be deferred to a submitter that is a kernel thread.
        if refused < 1 && !settings.sq_poll {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        if refused < 2 && !settings.sq_poll {
            builder.setup_coop_taskrun();
        }
        if refused < 3 {
            builder.setup_cqsize(entries);
        }
        match builder.build(entries) {
            Ok(ring) => return Ok(ring),
            Err(error) if code_of(&error) == libc::EINVAL && refused < 3 => {}
            Err(error) => return Err(explain_setup(code_of(&error), depth)),
        }
    }
    Err(explain_setup(libc::EINVAL, depth))
}

fn explain_setup(code: i32, depth: u32) -> EngineError {
    let error = EngineError::new(code, "io_queue_init");
    match code {
        libc::ENOSYS => error.advise("this kernel has no io_uring: use ioengine=libaio"),
        libc::EPERM => error.advise(
            "io_uring is switched off for this user (sysctl kernel.io_uring_disabled, or a \
             container's seccomp profile): use ioengine=libaio",
        ),
        libc::ENOMEM => error.advise(
            "the limit of locked memory is too small: raise RLIMIT_MEMLOCK (ulimit -l) or lower iodepth",
        ),
        libc::EINVAL if depth > 32768 => {
            error.advise(format!("iodepth={depth} is above the kernel's limit of 32768 entries"))
        }
        _ => error,
    }
}

impl IoUring {
    /// Makes the ring for `depth` requests and registers `buffers` where asked.
    ///
    /// # Errors
    /// `ENOSYS` or `EPERM` where io_uring is missing or switched off, `ENOMEM` when the limit of
    /// locked memory is too small.
    ///
    /// # Safety
    /// `buffers` stays mapped until the engine is dropped.
    pub unsafe fn new(
        depth: u32,
        settings: IoUringSettings,
        buffers: &Buffers,
    ) -> Result<Self, EngineError> {
        let ring = make_ring(depth, &settings)?;
        let vectored = match settings.nonvectored {
            Some(nonvectored) => !nonvectored,
            None => {
                let mut probe = Probe::new();
                let known = ring.submitter().register_probe(&mut probe).is_ok();
                !(known
                    && probe.is_supported(opcode::Read::CODE)
                    && probe.is_supported(opcode::Write::CODE))
            }
        };
        if settings.fixed_buffers {
            let all: Vec<libc::iovec> = (0..buffers.slots as usize)
                .map(|slot| libc::iovec {
                    iov_base: buffers.base.wrapping_add(slot * buffers.stride).cast(),
                    iov_len: buffers.stride,
                })
                .collect();
            // SAFETY: the buffers stay mapped by this function's contract.
            unsafe { ring.submitter().register_buffers(&all) }.map_err(|error| {
                let error = EngineError::new(code_of(&error), "io_uring_register buffers");
                if error.code == libc::ENOMEM {
                    return error.advise(
                        "fixedbufs needs locked memory: raise RLIMIT_MEMLOCK (ulimit -l), or \
                         lower iodepth or bs",
                    );
                }
                error
            })?;
        }
        let mut enter_flags = EnterFlags::empty();
        if ring.params().is_feature_no_iowait() {
            enter_flags |= EnterFlags::NO_IOWAIT;
        }
        let read_flags = if settings.uncached { RWF_DONTCACHE } else { 0 }
            | if settings.nowait { RWF_NOWAIT } else { 0 };
        let empty = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        Ok(IoUring {
            ring,
            depth,
            settings,
            vectored,
            read_flags,
            write_flags: read_flags | if settings.atomic { RWF_ATOMIC } else { 0 },
            enter_flags,
            lengths: vec![0; depth as usize].into(),
            vectors: vec![empty; depth as usize].into(),
            pending: Vec::with_capacity(depth as usize),
            in_flight: 0,
            prepared: 0,
        })
    }

    #[inline]
    fn entry(&mut self, slot: u32, request: &Request) -> squeue::Entry {
        // `Fd` and `Fixed` share no nameable trait, hence the macro.
        macro_rules! build {
            ($target:expr) => {
                match request.kind {
                    Kind::Read | Kind::Write => {
                        let (buffer, len) = (request.buffer, request.len);
                        let priority = self.settings.io_priority;
                        let read = request.kind == Kind::Read;
                        let flags = if read {
                            self.read_flags
                        } else {
                            self.write_flags
                        };
                        macro_rules! finish {
                            ($op:expr) => {
                                $op.offset(request.offset)
                                    .rw_flags(flags)
                                    .ioprio(priority)
                                    .build()
                            };
                        }
                        if self.settings.fixed_buffers {
                            let index = slot as u16;
                            if read {
                                finish!(opcode::ReadFixed::new($target, buffer, len, index))
                            } else {
                                finish!(opcode::WriteFixed::new($target, buffer, len, index))
                            }
                        } else if self.vectored {
                            let vector = &mut self.vectors[slot as usize];
                            *vector = libc::iovec {
                                iov_base: buffer.cast(),
                                iov_len: len as usize,
                            };
                            let vector: *const libc::iovec = vector;
                            if read {
                                finish!(opcode::Readv::new($target, vector, 1))
                            } else {
                                finish!(opcode::Writev::new($target, vector, 1))
                            }
                        } else if read {
                            finish!(opcode::Read::new($target, buffer, len))
                        } else {
                            finish!(opcode::Write::new($target, buffer, len))
                        }
                    }
                    Kind::Fdatasync => opcode::Fsync::new($target)
                        .flags(types::FsyncFlags::DATASYNC)
                        .build(),
                    Kind::SyncFileRange => opcode::SyncFileRange::new($target, request.len)
                        .offset(request.offset)
                        .flags(request.sync_flags)
                        .build(),
                    Kind::Fsync | Kind::Trim => opcode::Fsync::new($target).build(),
                }
            };
        }
        let entry = if self.settings.register_files {
            build!(types::Fixed(request.file))
        } else {
            build!(types::Fd(request.fd))
        };
        entry.user_data(u64::from(slot))
    }

    /// Takes up to `max` completions that lie in the ring.
    #[inline]
    fn take_ready(&mut self, max: u32, completions: &mut Vec<Completion>) -> u32 {
        let mut taken = 0;
        let mut queue = self.ring.completion();
        while taken < max {
            let Some(event) = queue.next() else { break };
            let slot = event.user_data() as u32;
            let outcome = Outcome::of(i64::from(event.result()), self.lengths[slot as usize]);
            completions.push(Completion { slot, outcome });
            taken += 1;
        }
        drop(queue);
        self.in_flight -= taken;
        taken
    }

    fn enter(&self, submit: u32, wait: u32, flags: EnterFlags) -> Result<u32, i32> {
        // SAFETY: no argument memory is passed; entries in the ring obey `queue`'s contract.
        let result = unsafe {
            self.ring.submitter().enter::<libc::sigset_t>(
                submit,
                wait,
                (flags | self.enter_flags).bits(),
                None,
            )
        };
        result
            .map(|count| count as u32)
            .map_err(|error| code_of(&error))
    }
}

impl Engine for IoUring {
    fn capabilities(&self) -> Capabilities {
        Capabilities::IN_BATCHES
    }

    fn register_files(&mut self, fds: &[RawFd]) -> Result<(), EngineError> {
        if !self.settings.register_files {
            return Ok(());
        }
        self.ring
            .submitter()
            .register_files(fds)
            .map_err(|error| EngineError::new(code_of(&error), "ioring_register_files"))
    }

    #[inline]
    fn queue(&mut self, slot: u32, request: &Request) -> Queued {
        if request.kind == Kind::Trim {
            if !self.pending.is_empty() {
                return Queued::Busy;
            }
            return Queued::Completed(run_at_once(request));
        }
        if self.pending.len() as u32 == self.depth {
            return Queued::Busy;
        }
        self.lengths[slot as usize] = if matches!(request.kind, Kind::Read | Kind::Write) {
            request.len
        } else {
            0
        };
        let mut entry = self.entry(slot, request);
        if self.settings.force_async > 0 {
            self.prepared += 1;
            if self.prepared == self.settings.force_async {
                self.prepared = 0;
                entry = entry.flags(squeue::Flags::ASYNC);
            }
        }
        // SAFETY: buffer and descriptor stay valid until the completion by the trait's
        // contract; the vector lies in `vectors`, which is never moved.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            return Queued::Busy;
        }
        self.pending.push(slot);
        Queued::Queued
    }

    #[inline]
    fn commit(&mut self, submitted: &mut impl FnMut(&[u32])) -> Result<(), EngineError> {
        if self.settings.sq_poll {
            if self.pending.is_empty() {
                return Ok(());
            }
            if self.ring.submission().need_wakeup() {
                let count = self.pending.len() as u32;
                self.enter(count, 0, EnterFlags::SQ_WAKEUP)
                    .map_err(|code| EngineError::new(code, "io_uring_enter submit"))?;
            }
            submitted(&self.pending);
            self.in_flight += self.pending.len() as u32;
            self.pending.clear();
            return Ok(());
        }
        while !self.pending.is_empty() {
            match self.enter(self.pending.len() as u32, 0, EnterFlags::GETEVENTS) {
                Ok(0) | Err(libc::EINTR) => {}
                Ok(count) => {
                    submitted(&self.pending[..count as usize]);
                    self.in_flight += count;
                    self.pending.drain(..count as usize);
                }
                // Completions must be taken first; the caller does.
                Err(libc::EAGAIN | libc::EBUSY) if self.in_flight > 0 => return Ok(()),
                Err(libc::EAGAIN | libc::EBUSY) => std::thread::yield_now(),
                Err(code) => return Err(EngineError::new(code, "io_uring_enter submit")),
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
            taken += self.take_ready(max - taken, completions);
            if taken >= min {
                return Ok(());
            }
            if !self.pending.is_empty() {
                self.commit(submitted)?;
                if self.in_flight == 0 {
                    continue;
                }
            }
            if self.in_flight == 0 {
                return Ok(());
            }
            if self.settings.sq_poll && !self.settings.hipri {
                // The kernel's thread posts completions without being asked; waiting in the
                // kernel would defeat the purpose of polling.
                std::hint::spin_loop();
                continue;
            }
            let wanted = (min - taken).min(self.in_flight);
            match self.enter(0, wanted, EnterFlags::GETEVENTS) {
                Ok(_) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                Err(code) => return Err(EngineError::new(code, "io_uring_enter")),
            }
        }
    }
}
