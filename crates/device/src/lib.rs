//! Where I/O goes: what a target is, whether a block device is in use, and the kernel's
//! statistics of it.
//!
//! Everything is read from sysfs and procfs below a [`System`] root, so that tests can bring
//! their own tree.

mod disk;
mod in_use;
mod scheduler;
mod target;

pub use disk::{DiskCounters, Disks};
pub use in_use::{InUse, loop_over_file, occupant};
pub use scheduler::Scheduler;
pub use target::{DeviceNumber, Target, block_size_bytes, examine, would_litter_dev};

use std::path::{Path, PathBuf};

/// Where the kernel's own file systems are mounted.
#[derive(Clone, Debug)]
pub struct System {
    /// sysfs.
    pub sys: PathBuf,
    /// procfs.
    pub proc: PathBuf,
}

impl Default for System {
    fn default() -> Self {
        System {
            sys: "/sys".into(),
            proc: "/proc".into(),
        }
    }
}

impl System {
    /// Directory of a block device in sysfs, links resolved.
    pub(crate) fn device_dir(&self, device: DeviceNumber) -> Option<PathBuf> {
        std::fs::canonicalize(self.sys.join(format!("dev/block/{device}"))).ok()
    }
}

/// Names in a directory, sorted; empty when it cannot be read.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
