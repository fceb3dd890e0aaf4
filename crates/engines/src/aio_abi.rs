//! The kernel's asynchronous I/O interface (`linux/aio_abi.h`, `io_setup(2)` and its siblings).
//!
//! glibc does not wrap these calls, and the library of that name adds nothing that is needed.

use std::sync::atomic::{AtomicU32, Ordering};

/// `IOCB_CMD_PREAD` and siblings.
pub(crate) const CMD_PREAD: u16 = 0;
pub(crate) const CMD_PWRITE: u16 = 1;
pub(crate) const CMD_FSYNC: u16 = 2;
pub(crate) const CMD_PREADV: u16 = 7;
pub(crate) const CMD_PWRITEV: u16 = 8;
/// `RWF_NOWAIT`.
pub(crate) const RWF_NOWAIT: u32 = 0x8;
/// `RWF_ATOMIC`.
pub(crate) const RWF_ATOMIC: u32 = 0x40;

/// `struct iocb`, little-endian layout.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Iocb {
    pub(crate) data: u64,
    pub(crate) key: u32,
    pub(crate) rw_flags: u32,
    pub(crate) opcode: u16,
    pub(crate) reqprio: i16,
    pub(crate) fd: u32,
    pub(crate) buffer: u64,
    pub(crate) nbytes: u64,
    pub(crate) offset: i64,
    pub(crate) reserved: u64,
    pub(crate) flags: u32,
    pub(crate) resfd: u32,
}

/// `struct io_event`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct IoEvent {
    pub(crate) data: u64,
    pub(crate) obj: u64,
    pub(crate) result: i64,
    pub(crate) result2: i64,
}

#[cfg(target_endian = "big")]
compile_error!("the iocb layout is written for little-endian machines");
const _: () = assert!(size_of::<Iocb>() == 64);
const _: () = assert!(size_of::<IoEvent>() == 32);

/// Head of the completion ring that the kernel maps at the context's address.
#[repr(C)]
struct Ring {
    id: u32,
    count: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compat_features: u32,
    incompat_features: u32,
    header_length: u32,
}

const RING_MAGIC: u32 = 0xa10a_10a1;

/// An AIO context. Dropping it waits for what is in flight and releases it.
#[derive(Debug)]
pub(crate) struct Context {
    id: libc::c_ulong,
    /// The ring has the layout that this module knows, so it can be read without a system call.
    readable_ring: bool,
}

impl Context {
    /// Makes a context for `entries` requests.
    pub(crate) fn new(entries: u32) -> Result<Self, i32> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes the context to `id`, which lives across the call.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, entries, &raw mut id) };
        if result < 0 {
            return Err(crate::file_ops::errno());
        }
        let mut context = Context {
            id,
            readable_ring: false,
        };
        let ring = context.ring();
        context.readable_ring = ring.magic == RING_MAGIC
            && ring.incompat_features == 0
            && ring.header_length as usize == size_of::<Ring>();
        Ok(context)
    }

    fn ring(&self) -> &Ring {
        // SAFETY: since Linux 2.6 the context id is the address of the ring, mapped until
        // io_destroy, which only `drop` calls; head and tail are atomics.
        unsafe { &*(self.id as *const Ring) }
    }

    /// Submits the blocks that `blocks` point to.
    ///
    /// # Safety
    /// Each pointer refers to a block that, like the buffer it names, stays valid and unmoved
    /// until its event was reaped.
    pub(crate) unsafe fn submit(&self, blocks: &[*mut Iocb]) -> Result<usize, i32> {
        // SAFETY: `blocks` is a valid array; the rest is the caller's promise.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_submit,
                self.id,
                blocks.len() as libc::c_long,
                blocks.as_ptr(),
            )
        };
        if result < 0 {
            Err(crate::file_ops::errno())
        } else {
            Ok(result as usize)
        }
    }

    /// Events that can be read without a system call; 0 if the ring is not readable.
    pub(crate) fn ready(&self) -> u32 {
        if !self.readable_ring {
            return 0;
        }
        let ring = self.ring();
        let (head, tail) = (
            ring.head.load(Ordering::Relaxed),
            ring.tail.load(Ordering::Acquire),
        );
        if tail >= head {
            tail - head
        } else {
            tail + ring.count - head
        }
    }

    /// Reads up to `max` ready events from the ring.
    pub(crate) fn take_ready(&self, max: u32, mut each: impl FnMut(&IoEvent)) -> u32 {
        let count = self.ready().min(max);
        if count == 0 {
            return 0;
        }
        let ring = self.ring();
        let mut head = ring.head.load(Ordering::Relaxed);
        for _ in 0..count {
            // SAFETY: events follow the header; `head` is below `count` entries and the acquire
            // load of `tail` in `ready` made this entry's contents visible.
            let event = unsafe {
                let first = (self.id as *const Ring).add(1).cast::<IoEvent>();
                std::ptr::read_volatile(first.add(head as usize))
            };
            each(&event);
            head += 1;
            if head >= ring.count {
                head = 0;
            }
        }
        ring.head.store(head, Ordering::Release);
        count
    }

    /// Waits for at least `min` events and returns how many were written to `events`.
    pub(crate) fn wait(&self, min: u32, events: &mut [IoEvent]) -> Result<usize, i32> {
        // SAFETY: the kernel writes at most `events.len()` entries; no time limit is passed.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.id,
                libc::c_long::from(min as i32),
                events.len() as libc::c_long,
                events.as_mut_ptr(),
                std::ptr::null_mut::<libc::timespec>(),
            )
        };
        if result < 0 {
            Err(crate::file_ops::errno())
        } else {
            Ok(result as usize)
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is ours and is not used again; the call waits for what is in
        // flight, so buffers may be released after it.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}
