//! The mmap engine: data is copied between the buffer and a mapping of the file.
//!
//! System calls: `mmap`, `madvise`, `msync`, `munmap`. Any kernel. The whole region of a file is
//! mapped at its first use, or where that fails only the present request. A flush is an `msync` of
//! the mapping (an `fsync` where not all of the region is mapped); with direct I/O each request
//! is followed by an `msync` of its range. Trims are executed at once.
//!
//! A file that is truncated while it is mapped raises `SIGBUS`, which kills the worker: the
//! kernel has no other way to say so. Where fio 3.42 sends `MADV_REMOVE` to a mapped block device,
//! which discards the region, this engine does not.

use std::os::fd::RawFd;

use crate::file_ops::{errno, run_at_once};
use crate::{EngineError, Kind, Outcome, Request};

/// Requests above this, divided by the number of files, are not mapped one by one.
const WINDOW_MAX: u64 = 1 << 30;

/// The part of a file that a job uses, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// Length.
    pub len: u64,
}

/// Advice on a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// None.
    Nothing,
    /// `MADV_SEQUENTIAL`.
    Sequential,
    /// `MADV_RANDOM`.
    Random,
}

/// How files are mapped.
#[derive(Clone, Copy, Debug)]
pub struct MapSettings {
    /// The job reads.
    pub reads: bool,
    /// The job writes.
    pub writes: bool,
    /// `msync` after each request.
    pub direct: bool,
    /// Mappings will be flushed.
    pub flushes: bool,
    /// Private mappings with huge pages.
    pub huge_pages: bool,
    /// Advice.
    pub hint: Hint,
    /// Smallest block in bytes.
    pub block_min: u64,
}

/// A mapped range of a file.
#[derive(Debug)]
struct Mapping {
    base: *mut u8,
    /// Offset of `base` in the file, a multiple of the page size.
    start: u64,
    len: usize,
    /// Less than the file's region.
    partial: bool,
}

impl Mapping {
    fn holds(&self, offset: u64, len: u32) -> bool {
        offset >= self.start
            && offset + u64::from(len) <= self.start.saturating_add(self.len as u64)
    }

    fn at(&self, offset: u64) -> *mut u8 {
        self.base.wrapping_add((offset - self.start) as usize)
    }

    fn flush(&self, address: *mut u8, len: usize, page: usize) -> Result<(), i32> {
        let inside = address as usize % page;
        let start = address.wrapping_sub(inside);
        // SAFETY: the range lies in this mapping, whose base is at the start of a page.
        let result = unsafe { libc::msync(start.cast(), len + inside, libc::MS_SYNC) };
        if result == 0 { Ok(()) } else { Err(errno()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what `mmap` returned; nothing else points into it.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct Mapped {
    settings: MapSettings,
    protection: i32,
    page: usize,
    window_max: u64,
    regions: Vec<Region>,
    mappings: Vec<Option<Mapping>>,
}

impl Mapped {
    /// An engine for files with these regions, in the order of their indices.
    ///
    /// # Errors
    /// `EINVAL` for blocks that are no whole pages where pages have to be flushed.
    pub fn new(regions: Vec<Region>, settings: MapSettings) -> Result<Self, EngineError> {
        let page = rustix::param::page_size();
        if (settings.direct || settings.flushes) && !settings.block_min.is_multiple_of(page as u64)
        {
            return Err(EngineError::new(libc::EINVAL, "mmap").advise(format!(
                "the engine mmap flushes whole pages: with direct, fsync or fdatasync block sizes \
                 must be multiples of {page} bytes, not {}",
                settings.block_min
            )));
        }
        let protection = match (settings.reads, settings.writes) {
            (true, true) => libc::PROT_READ | libc::PROT_WRITE,
            (false, true) => libc::PROT_WRITE,
            _ => libc::PROT_READ,
        };
        Ok(Mapped {
            settings,
            protection,
            page,
            window_max: WINDOW_MAX / regions.len().max(1) as u64,
            mappings: regions.iter().map(|_| None).collect(),
            regions,
        })
    }

    pub(crate) fn closed(&mut self, file: u32) {
        self.mappings[file as usize] = None;
    }

    pub(crate) fn run(&mut self, request: &Request) -> Outcome {
        match request.kind {
            Kind::Read | Kind::Write => {}
            Kind::Trim => return run_at_once(request),
            _ => return self.flush(request),
        }
        let index = request.file as usize;
        let mapped = self.mappings[index]
            .as_ref()
            .is_some_and(|mapping| mapping.holds(request.offset, request.len));
        if !mapped && let Err(code) = self.map(request) {
            return Outcome::failed(code, request.len);
        }
        let Some(mapping) = &self.mappings[index] else {
            return Outcome::failed(libc::EIO, request.len);
        };
        let (address, len) = (mapping.at(request.offset), request.len as usize);
        // SAFETY: the mapping holds `len` bytes at `address`, the slot's buffer as many; they do
        // not overlap. Protections fit the job's directions.
        unsafe {
            if request.kind == Kind::Read {
                address.copy_to_nonoverlapping(request.buffer, len);
            } else {
                request.buffer.copy_to_nonoverlapping(address, len);
            }
        }
        if self.settings.direct
            && let Err(code) = mapping.flush(address, len, self.page)
        {
            return Outcome::failed(code, request.len);
        }
        Outcome::default()
    }

    fn flush(&self, request: &Request) -> Outcome {
        match &self.mappings[request.file as usize] {
            Some(mapping) if !mapping.partial => {
                match mapping.flush(mapping.base, mapping.len, self.page) {
                    Ok(()) => Outcome::default(),
                    Err(code) => Outcome::failed(code, request.len),
                }
            }
            _ => run_at_once(&Request {
                kind: Kind::Fsync,
                ..*request
            }),
        }
    }

    /// Maps the file's region, else the request alone.
    #[cold]
    fn map(&mut self, request: &Request) -> Result<(), i32> {
        let index = request.file as usize;
        let region = self.regions[index];
        self.mappings[index] = None;
        let end = request.offset + u64::from(request.len);
        let inside =
            request.offset >= region.start && end <= region.start.saturating_add(region.len);
        let whole = if inside {
            self.map_range(request.fd, region, false)
        } else {
            Err(libc::EINVAL)
        };
        let mapping = match whole {
            Ok(mapping) => mapping,
            Err(_) if u64::from(request.len) > self.window_max => return Err(libc::EIO),
            Err(_) => {
                let window = Region {
                    start: request.offset,
                    len: u64::from(request.len),
                };
                self.map_range(request.fd, window, true)?
            }
        };
        self.mappings[index] = Some(mapping);
        Ok(())
    }

    fn map_range(&self, fd: RawFd, range: Region, partial: bool) -> Result<Mapping, i32> {
        // Mappings begin at a page.
        let before = range.start % self.page as u64;
        let start = range.start - before;
        let len = range
            .len
            .checked_add(before)
            .and_then(|len| usize::try_from(len).ok())
            .ok_or(libc::ENOMEM)?;
        let kind = if self.settings.huge_pages {
            libc::MAP_PRIVATE
        } else {
            libc::MAP_SHARED
        };
        let nowhere = std::ptr::null_mut();
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe { libc::mmap64(nowhere, len, self.protection, kind, fd, start as i64) };
        if base == libc::MAP_FAILED {
            return Err(errno());
        }
        let advice = match self.settings.hint {
            Hint::Nothing => None,
            Hint::Sequential => Some(libc::MADV_SEQUENTIAL),
            Hint::Random => Some(libc::MADV_RANDOM),
        };
        let huge = self.settings.huge_pages.then_some(libc::MADV_HUGEPAGE);
        for advice in advice.into_iter().chain(huge) {
            // A hint: where it has no use, that is no fault.
            // SAFETY: the range was just mapped; neither advice changes contents.
            unsafe { libc::madvise(base, len, advice) };
        }
        Ok(Mapping {
            base: base.cast(),
            start,
            len,
            partial,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::request;

    const SETTINGS: MapSettings = MapSettings {
        reads: true,
        writes: true,
        direct: false,
        flushes: false,
        huge_pages: false,
        hint: Hint::Random,
        block_min: 512,
    };

    /// A region that begins inside a page, and requests inside and outside of it.
    #[test]
    fn copies_both_ways_at_any_offset() {
        let file = tempfile::tempfile().expect("file");
        file.set_len(40_000).expect("size");
        let fd = file.as_raw_fd();
        let region = Region {
            start: 5000,
            len: 20_000,
        };
        let mut engine = Mapped::new(vec![region], SETTINGS).expect("engine");
        for offset in [5000_u64, 24_488, 30_000, 6000] {
            let mut out: Vec<u8> = (0..512).map(|i| (i as u64 + offset) as u8).collect();
            let write = request(fd, Kind::Write, offset, &mut out);
            assert_eq!(engine.run(&write), Outcome::default());
            assert_eq!(
                engine.run(&request(fd, Kind::Fsync, 0, &mut [])),
                Outcome::default()
            );
            let mut back = vec![0; 512];
            file.read_exact_at(&mut back, offset).expect("contents");
            assert_eq!(back, out);
            back.fill(0);
            let read = request(fd, Kind::Read, offset, &mut back);
            assert_eq!(engine.run(&read), Outcome::default());
            assert_eq!(back, out);
        }
        engine.closed(0);
        assert!(engine.mappings[0].is_none());
    }

    #[test]
    fn private_mappings_leave_the_file_alone() {
        let file = tempfile::tempfile().expect("file");
        file.set_len(4096).expect("size");
        let fd = file.as_raw_fd();
        let region = Region {
            start: 0,
            len: 4096,
        };
        let settings = MapSettings {
            huge_pages: true,
            ..SETTINGS
        };
        let mut engine = Mapped::new(vec![region], settings).expect("engine");
        let write = request(fd, Kind::Write, 0, &mut [7; 512]);
        assert_eq!(engine.run(&write), Outcome::default());
        let mut back = [1; 512];
        file.read_exact_at(&mut back, 0).expect("contents");
        assert_eq!(back, [0; 512]);
    }

    #[test]
    fn what_cannot_be_mapped_is_an_error() {
        let (reader, _writer) = std::io::pipe().expect("pipe");
        let region = Region {
            start: 0,
            len: 4096,
        };
        let mut engine = Mapped::new(vec![region], SETTINGS).expect("engine");
        let mut buffer = [0; 512];
        let read = request(reader.as_raw_fd(), Kind::Read, 0, &mut buffer);
        assert_ne!(engine.run(&read).error, 0);
        let settings = MapSettings {
            direct: true,
            ..SETTINGS
        };
        assert!(Mapped::new(vec![region], settings).is_err());
    }
}
