//! System calls that several engines share: open, flush, discard, drop caches.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::{Kind, Outcome, Request};

/// `BLKDISCARD`: `_IO(0x12, 119)`, from the kernel's block device interface.
const BLKDISCARD: libc::c_ulong = 0x1277;
/// `BLKFLSBUF`: `_IO(0x12, 97)`.
const BLKFLSBUF: libc::c_ulong = 0x1261;

/// The calling thread's last error number.
pub(crate) fn errno() -> i32 {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

/// How a target is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// Read and write, not read only.
    pub write: bool,
    /// Make the file (mode 0600) if it is missing.
    pub create: bool,
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_SYNC`.
    pub sync: bool,
    /// `O_DSYNC`.
    pub dsync: bool,
    /// `O_NOATIME`; dropped where the kernel does not permit it.
    pub noatime: bool,
}

/// Opens a target as `flags` say.
///
/// # Errors
/// The system's error. `EINVAL` with `direct` usually means that the file system has no direct
/// I/O.
pub fn open(path: &Path, flags: OpenFlags) -> io::Result<OwnedFd> {
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let mut bits = libc::O_CLOEXEC
        | if flags.write {
            libc::O_RDWR
        } else {
            libc::O_RDONLY
        };
    for (wanted, bit) in [
        (flags.create, libc::O_CREAT),
        (flags.direct, libc::O_DIRECT),
        (flags.sync, libc::O_SYNC),
        (flags.dsync, libc::O_DSYNC),
        (flags.noatime, libc::O_NOATIME),
    ] {
        if wanted {
            bits |= bit;
        }
    }
    loop {
        // SAFETY: `name` is a NUL-terminated string that lives across the call.
        let fd = unsafe { libc::open(name.as_ptr(), bits, 0o600) };
        if fd >= 0 {
            // SAFETY: the kernel just gave this descriptor to us alone.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // Only the owner may hide access times.
            Some(libc::EPERM) if bits & libc::O_NOATIME != 0 => bits &= !libc::O_NOATIME,
            _ => return Err(error),
        }
    }
}

/// Tells the kernel how long data written to the file will live (`F_SET_RW_HINT` and, for direct
/// I/O, `F_SET_FILE_RW_HINT` where the kernel has it; it was taken out in 5.18).
///
/// # Errors
/// The system's error; `EINVAL` where the kernel knows no such hint.
pub fn set_write_hint(fd: BorrowedFd<'_>, hint: u64, direct: bool) -> io::Result<()> {
    const SET_RW_HINT: libc::c_int = 1036;
    const SET_FILE_RW_HINT: libc::c_int = 1038;
    let set = |command: libc::c_int| {
        // SAFETY: the kernel reads one u64 from `hint`, which lives across the call.
        unsafe { libc::fcntl(fd.as_raw_fd(), command, &raw const hint) == 0 }
    };
    if (direct && set(SET_FILE_RW_HINT)) || set(SET_RW_HINT) {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// Flushes the cache of a block device (`BLKFLSBUF`).
///
/// # Errors
/// The system's error; `EACCES` when the user is not root.
pub fn flush_block_cache(fd: BorrowedFd<'_>) -> io::Result<()> {
    for _ in 0..25 {
        // SAFETY: this request takes no argument memory.
        if unsafe { libc::ioctl(fd.as_raw_fd(), BLKFLSBUF as _, 0) } == 0 {
            return Ok(());
        }
        if errno() != libc::EAGAIN {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Err(io::Error::last_os_error())
}

/// Judges what a transfer call returned.
pub(crate) fn outcome_of(result: isize, len: u32) -> Outcome {
    if result < 0 {
        return Outcome::failed(errno(), len);
    }
    Outcome::of(result as i64, len)
}

/// Performs a sync-type or trim request at once.
pub(crate) fn run_at_once(request: &Request) -> Outcome {
    let result = match request.kind {
        // SAFETY: these calls take no memory.
        Kind::Fsync => unsafe { libc::fsync(request.fd) },
        // SAFETY: as above.
        Kind::Fdatasync => unsafe { libc::fdatasync(request.fd) },
        // SAFETY: as above.
        Kind::SyncFileRange => unsafe {
            libc::sync_file_range(
                request.fd,
                request.offset as i64,
                i64::from(request.len),
                request.sync_flags,
            )
        },
        Kind::Trim => discard(request.fd, request.offset, u64::from(request.len)),
        Kind::Read | Kind::Write => unreachable!("data requests are the engine's own"),
    };
    done_or_errno(result, request)
}

/// Judges a call that does all or nothing.
pub(crate) fn done_or_errno(result: i32, request: &Request) -> Outcome {
    if result == 0 {
        Outcome::default()
    } else {
        Outcome::failed(errno(), request.len)
    }
}

fn discard(fd: RawFd, offset: u64, len: u64) -> i32 {
    let range = [offset, len];
    // SAFETY: BLKDISCARD reads two u64 from `range`, which lives across the call.
    unsafe { libc::ioctl(fd, BLKDISCARD as _, range.as_ptr()) }
}
