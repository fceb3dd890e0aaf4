//! The data buffers of a job: one aligned anonymous mapping.

use std::io;

use ferrio_engines::Buffers;

/// Owns the mapping.
#[derive(Debug)]
pub(crate) struct BufferMemory {
    map: *mut u8,
    map_len: usize,
    buffers: Buffers,
}

impl BufferMemory {
    /// Memory for `slots` buffers of `stride` bytes. The start is page-aligned plus `offset`
    /// (`iomem_align`).
    ///
    /// # Errors
    /// `ENOMEM` when it cannot be had.
    pub(crate) fn allocate(slots: u32, stride: usize, offset: usize) -> io::Result<Self> {
        let map_len = stride
            .checked_mul(slots as usize)
            .and_then(|len| len.checked_add(offset))
            .ok_or(io::ErrorKind::OutOfMemory)?
            .max(1);
        // SAFETY: a new anonymous mapping; the result is checked.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                map_len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = map.cast::<u8>();
        let buffers = Buffers {
            base: map.wrapping_add(offset),
            stride,
            slots,
        };
        Ok(BufferMemory {
            map,
            map_len,
            buffers,
        })
    }

    /// Where the slots' buffers are.
    pub(crate) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Address of byte `at` of a slot's buffer.
    #[inline(always)]
    pub(crate) fn address(&self, slot: u32, at: usize) -> *mut u8 {
        debug_assert!(slot < self.buffers.slots && at <= self.buffers.stride);
        self.buffers
            .base
            .wrapping_add(slot as usize * self.buffers.stride + at)
    }

    /// The first `len` bytes of a slot's buffer. The slot must not be with the engine.
    #[inline]
    pub(crate) fn slice(&mut self, slot: u32, len: usize) -> &mut [u8] {
        assert!(slot < self.buffers.slots && len <= self.buffers.stride);
        // SAFETY: the range lies in the mapping, which is initialised (zeroed) memory that only
        // this struct hands out; `&mut self` keeps other slices away, and the caller's slot is
        // not in flight, so the kernel does not write to it.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot, 0), len) }
    }
}

impl Drop for BufferMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; engines that used it were dropped before.
        unsafe { libc::munmap(self.map.cast(), self.map_len) };
    }
}
