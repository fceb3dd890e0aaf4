//! Memory of a worker: the data buffers of its job, and what it holds locked.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ferrio_engines::Buffers;
use ferrio_options::Memory;

use crate::failure;
use crate::files::code_of;
use crate::link::Failure;

/// Owns the buffers.
#[derive(Debug)]
pub(crate) struct BufferMemory {
    area: Area,
    /// A file that was made for them.
    made: Option<PathBuf>,
    buffers: Buffers,
}

/// A range of memory that belongs to this value.
#[derive(Debug)]
struct Area {
    base: *mut u8,
    len: usize,
    /// A System V segment, not a mapping.
    segment: bool,
}

impl Area {
    /// Maps a new range, of a file or of zeros.
    fn map(len: usize, flags: i32, fd: RawFd) -> io::Result<Area> {
        // SAFETY: a new mapping at an address that the kernel chooses; the result is checked.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                fd,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Area {
            base: base.cast(),
            len,
            segment: false,
        })
    }

    /// Memory of the process alone, zeroed.
    fn private(len: usize) -> io::Result<Area> {
        Area::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// A System V segment. It is marked for removal at once, so it ends with its last user even
    /// if that is killed.
    fn segment(len: usize) -> io::Result<Area> {
        // SAFETY: no memory is passed.
        let id = unsafe { libc::shmget(libc::IPC_PRIVATE, len, libc::IPC_CREAT | 0o600) };
        if id < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new segment at an address that the kernel chooses; the result is checked.
        let base = unsafe { libc::shmat(id, std::ptr::null(), 0) };
        let error = io::Error::last_os_error();
        // SAFETY: the segment is ours; removal takes no memory argument.
        unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
        if base as isize == -1 {
            return Err(error);
        }
        Ok(Area {
            base: base.cast(),
            len,
            segment: true,
        })
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the range is ours; nothing that used it is left.
        unsafe {
            if self.segment {
                libc::shmdt(self.base.cast());
            } else {
                libc::munmap(self.base.cast(), self.len);
            }
        }
    }
}

/// Opens the file of `mem=mmap:FILE` with at least `len` bytes. What the user has is extended at
/// most, and only if the mapping is private.
fn buffer_file(path: &Path, len: usize, shared: bool) -> Result<(File, bool), Failure> {
    let shown = path.display();
    let refused = |error: io::Error| {
        failure!(code_of(&error), format!("open({shown})"))
            .advise(format!("the file of the buffers, {shown}, cannot be used"))
    };
    let missing = !path.exists();
    if missing && ferrio_device::would_litter_dev(path) {
        return Err(failure!(libc::ENODEV, format!("open({shown})"))
            .advise(format!("{shown}: no such device (mem= names it)")));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o644);
    let file = options.create(missing).open(path).map_err(refused)?;
    let metadata = file.metadata().map_err(refused)?;
    if !metadata.is_file() || metadata.len() >= len as u64 {
        return Ok((file, missing));
    }
    if shared && !missing {
        return Err(failure!(libc::EFBIG, "mmap", "the file is too short").advise(format!(
            "{shown} has {} bytes and the buffers need {len}: mem=mmapshared leaves the file as \
             it is",
            metadata.len()
        )));
    }
    file.set_len(len as u64).map_err(refused)?;
    Ok((file, missing))
}

impl BufferMemory {
    /// Memory for `slots` buffers of `stride` bytes. The start is page-aligned plus `offset`
    /// (`iomem_align`).
    ///
    /// # Errors
    /// `ENOMEM` when it cannot be had, and what is wrong with a file that was named for it.
    pub(crate) fn allocate(
        kind: &Memory,
        slots: u32,
        stride: usize,
        offset: usize,
    ) -> Result<Self, Failure> {
        let len = stride
            .checked_mul(slots as usize)
            .and_then(|len| len.checked_add(offset))
            .ok_or_else(|| failure!(libc::ENOMEM, "iomem allocation"))?
            .max(1);
        let mut made = None;
        let mut of_file = |path: &PathBuf, shared: bool, flags: i32| {
            let (file, new) = buffer_file(path, len, shared)?;
            made = new.then(|| path.clone());
            Area::map(len, flags, file.as_raw_fd())
                .map_err(|error| failure!(code_of(&error), "mmap"))
        };
        let lacking = |label: &str, error: &io::Error| {
            failure!(code_of(error), label).advise(format!(
                "{slots} buffers of {stride} bytes do not fit into memory: lower iodepth or bs"
            ))
        };
        let area = match kind {
            Memory::Private => {
                Area::private(len).map_err(|error| lacking("iomem allocation", &error))?
            }
            Memory::Shm => Area::segment(len).map_err(|error| lacking("shmget", &error))?,
            Memory::File(path) => of_file(path, false, libc::MAP_PRIVATE)?,
            Memory::SharedFile(path) => of_file(path, true, libc::MAP_SHARED)?,
        };
        let buffers = Buffers {
            base: area.base.wrapping_add(offset),
            stride,
            slots,
        };
        Ok(BufferMemory {
            area,
            made,
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
        debug_assert!(self.buffers.base >= self.area.base);
        // SAFETY: the range lies in the area, which is initialised (zeroed, or a file's) memory
        // that only this struct hands out; `&mut self` keeps other slices away, and the caller's
        // slot is not in flight, so the kernel does not write to it. Jobs that share a file as
        // buffers asked for each other's bytes, which are plain bytes.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot, 0), len) }
    }
}

impl Drop for BufferMemory {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Memory that is kept from being swapped out while this value lives (`lockmem`).
#[derive(Debug)]
pub(crate) struct LockedMemory {
    _area: Area,
}

impl LockedMemory {
    /// Takes and locks `bytes`.
    ///
    /// # Errors
    /// `ENOMEM` when it cannot be had or is above the limit of locked memory, `EPERM`.
    pub(crate) fn take(bytes: u64) -> io::Result<LockedMemory> {
        let len = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let area = Area::private(len)?;
        // SAFETY: the range is the area's; unmapping unlocks it.
        if unsafe { libc::mlock(area.base.cast(), area.len) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(LockedMemory { _area: area })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &Memory, offset: usize) -> BufferMemory {
        let mut memory = BufferMemory::allocate(kind, 3, 8192, offset).unwrap();
        let base = memory.buffers().base as usize;
        assert_eq!(base % 4096, offset % 4096, "{kind:?}");
        for slot in 0..3 {
            memory.slice(slot, 8192).fill(slot as u8 + 1);
        }
        assert_eq!(memory.slice(1, 8192), [2; 8192]);
        memory
    }

    #[test]
    fn each_kind_holds_data_at_its_alignment() {
        for offset in [0, 512, 4096] {
            check(&Memory::Private, offset);
            check(&Memory::Shm, offset);
        }
    }

    #[test]
    fn files_of_buffers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        // Made, and gone with its user.
        drop(check(&Memory::File(path.clone()), 0));
        assert!(!path.exists());
        // What was there stays, and is not cut.
        std::fs::write(&path, vec![9; 65536]).unwrap();
        drop(check(&Memory::File(path.clone()), 0));
        assert_eq!(std::fs::read(&path).unwrap(), vec![9; 65536]);
        // Shared: the file is the buffers.
        drop(check(&Memory::SharedFile(path.clone()), 0));
        assert_eq!(std::fs::read(&path).unwrap()[8192..16384], [2; 8192]);
        // Too short to be shared.
        std::fs::write(&path, "short").unwrap();
        let failure = BufferMemory::allocate(&Memory::SharedFile(path.clone()), 3, 8192, 0);
        assert!(failure.unwrap_err().sentence().contains("24576"));
        assert_eq!(std::fs::read(&path).unwrap(), b"short");
    }

    #[test]
    fn a_little_memory_can_be_locked() {
        assert!(LockedMemory::take(4096).is_ok());
        assert!(LockedMemory::take(u64::MAX).is_err());
    }
}
