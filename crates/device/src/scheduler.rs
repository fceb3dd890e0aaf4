//! The I/O scheduler of a block device: `Documentation/block/switching-sched.rst` of the kernel.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{DeviceNumber, System};

/// The scheduler file of one disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler {
    file: PathBuf,
    disk: String,
}

impl Scheduler {
    /// Of the disk behind a device number; of the whole disk for a partition. `None` where there
    /// is no block device, or one without a queue of its own.
    pub fn of(system: &System, device: DeviceNumber) -> Option<Scheduler> {
        let mut directory = system.device_dir(device)?;
        if directory.join("partition").exists() {
            directory.pop();
        }
        let file = directory.join("queue/scheduler");
        let disk = directory.file_name()?.to_string_lossy().into_owned();
        file.exists().then_some(Scheduler { file, disk })
    }

    /// The disk's name.
    pub fn disk(&self) -> &str {
        &self.disk
    }

    /// Its file in sysfs.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The scheduler in use. `None` when the disk has no choice.
    ///
    /// # Errors
    /// The system's.
    pub fn current(&self) -> io::Result<Option<String>> {
        Ok(chosen(&fs::read_to_string(&self.file)?))
    }

    /// Chooses a scheduler.
    ///
    /// # Errors
    /// `EINVAL` when the kernel does not know it.
    pub fn choose(&self, name: &str) -> io::Result<()> {
        fs::write(&self.file, name)
    }
}

/// The name in brackets.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_in_brackets_is_in_use() {
        assert_eq!(chosen("none [mq-deadline] kyber\n").unwrap(), "mq-deadline");
        assert_eq!(chosen("[none] bfq\n").unwrap(), "none");
        assert_eq!(chosen("none\n"), None);
        assert_eq!(chosen(""), None);
    }

    #[test]
    fn a_partition_has_the_scheduler_of_its_disk() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("devices/sda");
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::create_dir_all(disk.join("sda1")).unwrap();
        fs::write(disk.join("sda1/partition"), "1").unwrap();
        fs::write(disk.join("queue/scheduler"), "[none] bfq\n").unwrap();
        let numbers = root.path().join("dev/block");
        fs::create_dir_all(&numbers).unwrap();
        std::os::unix::fs::symlink(&disk, numbers.join("8:0")).unwrap();
        std::os::unix::fs::symlink(disk.join("sda1"), numbers.join("8:1")).unwrap();
        let system = System {
            sys: root.path().into(),
            proc: "/proc".into(),
        };
        for minor in [0, 1] {
            let device = DeviceNumber { major: 8, minor };
            let scheduler = Scheduler::of(&system, device).unwrap();
            assert_eq!(scheduler.disk(), "sda");
            assert_eq!(scheduler.current().unwrap().unwrap(), "none");
        }
        let other = DeviceNumber { major: 8, minor: 9 };
        assert_eq!(Scheduler::of(&system, other), None);
    }
}
