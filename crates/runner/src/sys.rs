//! System calls that no wrapper crate offers safely: fork, resource use of a thread, I/O
//! priority.

use std::io;

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
