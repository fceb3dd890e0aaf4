//! The machine as parsing sees it.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing (or it cannot be looked at).
    Missing,
    /// Regular file.
    Regular,
    /// Directory.
    Directory,
    /// Symbolic link.
    Symlink,
    /// Block device.
    Block,
    /// Character device.
    Char,
    /// Named pipe.
    Fifo,
    /// Anything else, for example a socket.
    Other,
}

/// Access to the machine, injected so that parsing can be tested anywhere.
pub trait Host {
    /// The environment variable of that name.
    fn env(&self, name: &OsStr) -> Option<OsString>;
    /// The whole content of a file. A directory reads as empty.
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Standard input to its end.
    fn read_stdin(&self) -> io::Result<Vec<u8>>;
    /// What stands at `path` itself.
    fn kind(&self, path: &Path) -> PathKind;
    /// What stands at `path` after links are followed.
    fn target_kind(&self, path: &Path) -> PathKind;
    /// All regular files below `dir`, links not followed, in directory order.
    fn files_below(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;
    /// Number of configured CPUs, at least 1.
    fn configured_cpus(&self) -> u32;
    /// CPUs that the program may use, ascending.
    fn affinity(&self) -> Vec<u32>;
    /// Page size in bytes.
    fn page_size(&self) -> u64;
    /// Physical memory in MiB, rounded down.
    fn memory_mib(&self) -> u64;
}

/// The machine that the program runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemHost;

/// Directories deeper than this below an `opendir` are refused: the tree is broken or hostile.
const DIRECTORY_DEPTH_MAX: usize = 256;

/// Longest job file that is read.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Reads to the end, which must come soon enough.
fn read_bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    source.take(TEXT_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > TEXT_BYTES_MAX {
        let why = format!("it is longer than {} MiB", TEXT_BYTES_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(text)
}

impl Host for SystemHost {
    fn env(&self, name: &OsStr) -> Option<OsString> {
        // The standard library panics on names that no variable can have.
        let bytes = name.as_encoded_bytes();
        if bytes.is_empty() || bytes.iter().any(|b| matches!(b, b'=' | 0)) {
            return None;
        }
        std::env::var_os(name)
    }

    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        // The null device holds what an empty file holds; others may never end.
        if self.target_kind(path) == PathKind::Directory || path == Path::new("/dev/null") {
            return Ok(Vec::new());
        }
        if matches!(self.target_kind(path), PathKind::Block | PathKind::Char) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is a device",
            ));
        }
        read_bounded(std::fs::File::open(path)?)
    }

    fn read_stdin(&self) -> io::Result<Vec<u8>> {
        read_bounded(io::stdin().lock())
    }

    fn kind(&self, path: &Path) -> PathKind {
        std::fs::symlink_metadata(path).map_or(PathKind::Missing, |m| kind_of(m.file_type()))
    }

    fn target_kind(&self, path: &Path) -> PathKind {
        std::fs::metadata(path).map_or(PathKind::Missing, |m| kind_of(m.file_type()))
    }

    fn files_below(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        collect_files(dir, 0, &mut found)?;
        Ok(found)
    }

    fn configured_cpus(&self) -> u32 {
        let present = std::fs::read_to_string("/sys/devices/system/cpu/present").ok();
        let last = present.as_deref().and_then(|text| {
            let last = text.trim().rsplit([',', '-']).next()?;
            last.parse::<u32>().ok()
        });
        match last {
            Some(last) => last.saturating_add(1),
            None => std::thread::available_parallelism()
                .map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        }
    }

    fn affinity(&self) -> Vec<u32> {
        match rustix::thread::sched_getaffinity(None) {
            Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU)
                .filter(|cpu| set.is_set(*cpu))
                .filter_map(|cpu| u32::try_from(cpu).ok())
                .collect(),
            Err(_) => (0..self.configured_cpus()).collect(),
        }
    }

    fn page_size(&self) -> u64 {
        rustix::param::page_size() as u64
    }

    fn memory_mib(&self) -> u64 {
        let info = rustix::system::sysinfo();
        let bytes = u128::from(info.totalram) * u128::from(info.mem_unit);
        u64::try_from(bytes >> 20).unwrap_or(u64::MAX)
    }
}

fn kind_of(kind: std::fs::FileType) -> PathKind {
    if kind.is_file() {
        PathKind::Regular
    } else if kind.is_dir() {
        PathKind::Directory
    } else if kind.is_symlink() {
        PathKind::Symlink
    } else if kind.is_block_device() {
        PathKind::Block
    } else if kind.is_char_device() {
        PathKind::Char
    } else if kind.is_fifo() {
        PathKind::Fifo
    } else {
        PathKind::Other
    }
}

fn collect_files(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if depth > DIRECTORY_DEPTH_MAX {
        return Err(io::Error::other("directories are nested too deeply"));
    }
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect_files(&entry.path(), depth + 1, found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
}
