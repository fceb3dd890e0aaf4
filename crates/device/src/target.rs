//! What a path is.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Number of a device as the kernel counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// Driver.
    pub major: u32,
    /// Device of the driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Splits the kernel's `dev_t`.
    pub fn of(dev: u64) -> Self {
        DeviceNumber {
            major: libc::major(dev),
            minor: libc::minor(dev),
        }
    }

    /// Reads `MAJOR:MINOR`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// What a path leads to, symbolic links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing there.
    Missing,
    /// A regular file.
    Regular {
        /// Size in bytes.
        size: u64,
        /// Device of its file system.
        on: DeviceNumber,
    },
    /// A block device.
    Block(DeviceNumber),
    /// A character device.
    Character,
    /// A FIFO or socket.
    Pipe,
    /// A directory.
    Directory,
}

/// Looks at a path.
///
/// # Errors
/// The system's error, other than that nothing is there.
pub fn examine(path: &Path) -> io::Result<Target> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Target::Missing),
        Err(error) => return Err(error),
    };
    let kind = metadata.file_type();
    Ok(if kind.is_block_device() {
        Target::Block(DeviceNumber::of(metadata.rdev()))
    } else if kind.is_char_device() {
        Target::Character
    } else if kind.is_dir() {
        Target::Directory
    } else if kind.is_file() {
        Target::Regular {
            size: metadata.len(),
            on: DeviceNumber::of(metadata.dev()),
        }
    } else {
        Target::Pipe
    })
}

/// `BLKGETSIZE64`: `_IOR(0x12, 114, size_t)`, from the kernel's block device interface.
const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;

/// Size of a block device.
///
/// # Errors
/// The system's error of opening or asking it.
pub fn block_size_bytes(path: &Path) -> io::Result<u64> {
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let mut size: u64 = 0;
    // SAFETY: BLKGETSIZE64 writes one u64 to `size`, which lives across the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64 as _, &raw mut size) };
    if result == 0 {
        Ok(size)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether making `path` would leave a plain file in the file system of device nodes: almost
/// always a misspelt device name, and the file would eat memory.
pub fn would_litter_dev(path: &Path) -> bool {
    let path = without_links(path);
    let Some(parent) = path.ancestors().skip(1).find_map(existing) else {
        return false;
    };
    let number = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let dev = number(Path::new("/dev"));
    // The numbers alone do not tell when `/dev` is an ordinary directory of the root file system
    // (a chroot, an image being built).
    let own_file_system = dev != number(Path::new("/"));
    dev.is_some() && number(&parent) == dev && (own_file_system || parent.starts_with("/dev"))
}

/// Where a path leads when its last part is a link, even one to nothing.
fn without_links(path: &Path) -> PathBuf {
    /// As many as the kernel follows.
    const LINKS_MAX: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// The directory without links, if it exists; the empty path is the current one.
fn existing(directory: &Path) -> Option<PathBuf> {
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    fs::canonicalize(directory).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_dev_are_litter_but_not_those_of_other_mounts() {
        assert!(would_litter_dev(Path::new("/dev/nosuchdisk9")));
        assert!(would_litter_dev(Path::new("/dev/nosuchmapper/disk")));
        assert!(!would_litter_dev(Path::new("/tmp/nosuchdisk9")));
        assert!(!would_litter_dev(Path::new("nosuchdisk9")));
        let shm = Path::new("/dev/shm");
        if fs::metadata(shm).is_ok_and(|m| m.dev() != fs::metadata("/dev").unwrap().dev()) {
            assert!(!would_litter_dev(&shm.join("f")));
        }
    }

    #[test]
    fn paths_are_told_apart() {
        assert_eq!(
            examine(Path::new("/nonexistent/x")).unwrap(),
            Target::Missing
        );
        assert_eq!(examine(Path::new("/")).unwrap(), Target::Directory);
        assert_eq!(examine(Path::new("/dev/null")).unwrap(), Target::Character);
    }
}
