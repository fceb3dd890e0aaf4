//! System calls that no wrapper crate offers safely: fork, resource use of a thread, I/O
//! priority, locks of byte ranges, clocks by number, space for files.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::Pid;

/// Which side of a fork this is.
#[derive(Debug)]
pub(crate) enum Fork {
    /// The parent, with the child's process id.
    Parent(Pid),
    /// The child.
    Child,
}

/// Forks. The caller must be the only thread of its process.
///
/// # Errors
/// `EAGAIN` at the limit of processes, `ENOMEM`.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: the supervisor is single-threaded (workers that are threads live in a process of
    // their own), so the child may do anything that the parent could.
    match unsafe { libc::fork() } {
        0 => Ok(Fork::Child),
        pid if pid > 0 => Pid::from_raw(pid)
            .map(Fork::Parent)
            .ok_or(io::ErrorKind::Other.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process without running exit handlers or flushing what the parent had buffered.
pub(crate) fn exit_child(status: i32) -> ! {
    // SAFETY: `_exit` never returns and touches no memory of ours.
    unsafe { libc::_exit(status) }
}

/// User and system milliseconds, context switches, major and minor faults of this thread since
/// its start.
pub(crate) fn thread_cpu_use() -> [u64; 5] {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills `usage`, for which all zeros is valid if it should not.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ms = |time: libc::timeval| time.tv_sec as u64 * 1000 + time.tv_usec as u64 / 1000;
    [
        ms(usage.ru_utime),
        ms(usage.ru_stime),
        (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        usage.ru_majflt as u64,
        usage.ru_minflt as u64,
    ]
}

/// Sets the I/O priority word of this thread (`ioprio_set(2)`).
///
/// # Errors
/// `EPERM` for classes that the user may not have.
pub(crate) fn set_io_priority(word: u32) -> io::Result<()> {
    const WHO_PROCESS: i32 = 1;
    // SAFETY: no memory is passed; process 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, word) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// How a range is to be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeLock {
    /// With other readers.
    Shared,
    /// Alone.
    Exclusive,
    /// Not any more.
    None,
}

/// Locks one byte of an open file, waiting for others. The lock belongs to the open file
/// description, so threads of one process exclude each other if each has opened the file itself;
/// the kernel takes it back when the description closes, be it by a kill.
///
/// # Errors
/// `ENOLCK`.
pub(crate) fn lock_byte(fd: BorrowedFd<'_>, at: u64, how: RangeLock) -> io::Result<()> {
    let kind = match how {
        RangeLock::Shared => libc::F_RDLCK,
        RangeLock::Exclusive => libc::F_WRLCK,
        RangeLock::None => libc::F_UNLCK,
    };
    let lock = libc::flock {
        l_type: kind as _,
        l_whence: libc::SEEK_SET as _,
        l_start: (at & (i64::MAX as u64 >> 1)).cast_signed(),
        l_len: 1,
        l_pid: 0,
    };
    loop {
        // SAFETY: `fd` is open and `lock` lives across the call.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Reads the clock with this number in milliseconds; `None` if the kernel has none.
pub(crate) fn clock_ms(number: u32) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes to `time`, which lives across the call.
    if unsafe { libc::clock_gettime(number.cast_signed(), &raw mut time) } != 0 {
        return None;
    }
    Some(time.tv_sec.cast_unsigned() * 1000 + time.tv_nsec.cast_unsigned() / 1_000_000)
}

/// Reserves space from the start of a file on, writing where the file system cannot reserve
/// (`posix_fallocate(3)`).
///
/// # Errors
/// The system's.
pub(crate) fn posix_fallocate(fd: BorrowedFd<'_>, len: u64) -> io::Result<()> {
    let len = i64::try_from(len).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: `fd` is open; no memory is passed.
    match unsafe { libc::posix_fallocate(fd.as_raw_fd(), 0, len) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Has this process or thread end with its parent, which is `parent` still.
pub(crate) fn die_with(parent: Pid) {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if getppid() != Some(parent) {
        exit_child(1);
    }
}
