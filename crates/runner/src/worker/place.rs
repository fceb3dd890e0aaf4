//! What is set for a worker before it does anything: name, user, CPUs, priorities, locked memory.

use std::ffi::CString;

use ferrio_options::JobSpec;
use rustix::process::getppid;
use rustix::thread::{CpuSet, sched_setaffinity, set_name, set_thread_gid, set_thread_uid};

use super::Reporter;
use crate::failure;
use crate::files::{code_of, memory_available};
use crate::link::Failure;
use crate::memory::LockedMemory;
use crate::sys;

/// Memory that `lockmem` leaves to everybody else.
const LEFT_UNLOCKED: u64 = 128 << 20;

/// Applies name, group, user, CPUs, niceness and I/O priority to this thread.
pub(super) fn place(job: &JobSpec) -> Result<(), Failure> {
    let placement = &job.placement;
    if let Some(name) = &placement.comm {
        let name = name.split('\0').next().unwrap_or_default();
        // The kernel cuts it. A name is no reason to fail.
        let _ = set_name(&CString::new(name).unwrap_or_default());
    }
    become_user(job)?;
    if let Some(cpus) = &placement.cpus {
        let mut set = CpuSet::new();
        for &cpu in cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU) {
            set.set(cpu as usize);
        }
        sched_setaffinity(None, &set).map_err(|error| {
            failure!(error.raw_os_error(), "cpu_set_affinity").advise(format!(
                "none of the CPUs {cpus:?} may be used here (offline, or outside the container's set)"
            ))
        })?;
    }
    if placement.nice != 0 {
        rustix::process::nice(placement.nice)
            .map_err(|error| failure!(error.raw_os_error(), "nice"))?;
    }
    if let Some(word) = placement.io_priority {
        sys::set_io_priority(word).map_err(|error| failure!(code_of(&error), "ioprio_set"))?;
    }
    Ok(())
}

/// The group first: a user who is not root may not change it. Threads change alone.
fn become_user(job: &JobSpec) -> Result<(), Failure> {
    let placement = &job.placement;
    let refused = |error: rustix::io::Errno, label: &str, id: u32| {
        failure!(error.raw_os_error(), label).advise(format!(
            "the worker may not become {id}: {label} needs root"
        ))
    };
    if placement.uid.is_none() && placement.gid.is_none() {
        return Ok(());
    }
    let parent = getppid();
    if let Some(gid) = placement.gid {
        set_thread_gid(rustix::process::Gid::from_raw(gid))
            .map_err(|error| refused(error, "setgid", gid))?;
    }
    if let Some(uid) = placement.uid {
        set_thread_uid(rustix::process::Uid::from_raw(uid))
            .map_err(|error| refused(error, "setuid", uid))?;
    }
    // Changing the user makes the kernel forget this.
    if let Some(parent) = parent.filter(|_| !job.thread) {
        sys::die_with(parent);
    }
    Ok(())
}

/// Locks what `lockmem` asks for, as far as the machine has it.
pub(super) fn lock_memory(
    job: &JobSpec,
    reporter: &mut Reporter,
) -> Result<Option<LockedMemory>, Failure> {
    let wanted = job.placement.lock_memory;
    if wanted == 0 {
        return Ok(None);
    }
    let info = rustix::system::sysinfo();
    let physical = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit.max(1)));
    let most = physical.saturating_sub(LEFT_UNLOCKED);
    let bytes = wanted.min(most);
    if bytes < wanted {
        reporter.warning(format!(
            "lockmem: limiting locked memory to {} MiB, which leaves {} MiB of the machine's",
            bytes >> 20,
            LEFT_UNLOCKED >> 20
        ));
    }
    if let Some(free) = memory_available().filter(|free| *free < bytes) {
        reporter.warning(format!(
            "lockmem asks for {} MiB and {} MiB are free: the kernel may end this worker, or other \
             programs, for want of memory",
            bytes >> 20,
            free >> 20
        ));
    }
    LockedMemory::take(bytes).map(Some).map_err(|error| {
        failure!(code_of(&error), "mlock").advise(format!(
            "lockmem: {} MiB cannot be locked: lower it, or raise the limit of locked memory \
             (ulimit -l)",
            bytes >> 20
        ))
    })
}
