//! Whether a block device is in use.
//!
//! A device is in use when it, a partition of it, its whole disk, or anything stacked on one of
//! these (device mapper, RAID, a loop device) is mounted or swapped to, or when the kernel says
//! that somebody holds it exclusively (which also covers mounts in other namespaces).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{DeviceNumber, System, names_in};

/// Why a device must not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InUse {
    /// What was found, to stand behind "it is": `mounted at /srv (ext4)`.
    pub what: String,
}

/// Finds out what uses the block device at `path` with number `device`; `None` if nothing does.
pub fn occupant(system: &System, path: &Path, device: DeviceNumber) -> Option<InUse> {
    let family = family(system, device);
    let mounts = mounts(system);
    let swaps = swaps(system);
    for member in &family {
        let via = if member.number == device {
            String::new()
        } else {
            member.relation()
        };
        if let Some(mount) = mounts
            .iter()
            .find(|mount| mount.devices.contains(&member.number))
        {
            let what = format!("mounted at {} ({}){via}", mount.point, mount.kind);
            return Some(InUse { what });
        }
        if swaps.contains(&member.number) {
            return Some(InUse {
                what: format!("in use as swap space{via}"),
            });
        }
    }
    if let Some(top) = family
        .iter()
        .find(|member| member.above && member.number != device)
    {
        let what = format!("the lower device of {}, which is set up on it", top.name);
        return Some(InUse { what });
    }
    held_exclusively(path).then(|| InUse {
        what: "held exclusively by the kernel or another program (a mount in another namespace, \
               a volume or RAID member, a formatter)"
            .into(),
    })
}

/// Name of a loop device in use whose backing file is the regular file at `path`.
pub fn loop_over_file(system: &System, path: &Path) -> Option<(String, InUse)> {
    let file = fs::metadata(path).ok()?;
    for (name, backing) in loops(system) {
        let same = fs::metadata(&backing)
            .is_ok_and(|other| other.dev() == file.dev() && other.ino() == file.ino());
        if !same {
            continue;
        }
        let number = fs::read_to_string(system.sys.join("block").join(&name).join("dev")).ok()?;
        let number = DeviceNumber::parse(&number)?;
        if let Some(found) = occupant(system, &PathBuf::from("/dev").join(&name), number) {
            return Some((name, found));
        }
    }
    None
}

/// A device whose use means that the target is in use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    number: DeviceNumber,
    name: String,
    /// It is stacked on the target (not its disk or partition).
    above: bool,
}

impl Member {
    fn relation(&self) -> String {
        if self.above {
            format!(" through {}, which is set up on it", self.name)
        } else {
            format!(" through {}", self.name)
        }
    }
}

/// The target, its disk and partitions, and all that is stacked on them.
fn family(system: &System, device: DeviceNumber) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    let mut seen = BTreeSet::new();
    let Some(directory) = system.device_dir(device) else {
        return vec![Member {
            number: device,
            name: device.to_string(),
            above: false,
        }];
    };
    let mut queue: Vec<(PathBuf, bool)> = vec![(directory.clone(), false)];
    if directory.join("partition").exists()
        && let Some(disk) = directory.parent()
    {
        // The disk itself may be mounted or a member of something; its other partitions do not
        // matter, so it is not expanded downwards.
        push_member(disk, false, &mut members, &mut seen);
        queue.extend(holders(disk));
    }
    while let Some((directory, above)) = queue.pop() {
        let Some(number) = push_member(&directory, above, &mut members, &mut seen) else {
            continue;
        };
        for name in names_in(&directory) {
            let part = directory.join(&name);
            if part.join("partition").exists() {
                queue.push((part, above));
            }
        }
        queue.extend(holders(&directory));
        for (name, backing) in loops(system) {
            if block_number(&backing) == Some(number)
                && let Ok(path) = fs::canonicalize(system.sys.join("block").join(&name))
            {
                queue.push((path, true));
            }
        }
    }
    members
}

fn push_member(
    directory: &Path,
    above: bool,
    members: &mut Vec<Member>,
    seen: &mut BTreeSet<DeviceNumber>,
) -> Option<DeviceNumber> {
    let number = DeviceNumber::parse(&fs::read_to_string(directory.join("dev")).ok()?)?;
    if !seen.insert(number) {
        return None;
    }
    let name = directory.file_name()?.to_string_lossy().into_owned();
    members.push(Member {
        number,
        name,
        above,
    });
    Some(number)
}

/// Devices that the kernel links as stacked on this one.
fn holders(directory: &Path) -> Vec<(PathBuf, bool)> {
    let holders = directory.join("holders");
    names_in(&holders)
        .into_iter()
        .filter_map(|name| fs::canonicalize(holders.join(name)).ok())
        .map(|path| (path, true))
        .collect()
}

/// Loop devices with their backing files.
fn loops(system: &System) -> Vec<(String, PathBuf)> {
    names_in(&system.sys.join("block"))
        .into_iter()
        .filter(|name| name.starts_with("loop"))
        .filter_map(|name| {
            let file = system
                .sys
                .join("block")
                .join(&name)
                .join("loop/backing_file");
            let backing = fs::read_to_string(file).ok()?;
            Some((name, PathBuf::from(backing.trim_end_matches('\n'))))
        })
        .collect()
}

fn block_number(path: &Path) -> Option<DeviceNumber> {
    let metadata = fs::metadata(path).ok()?;
    metadata
        .file_type()
        .is_block_device()
        .then(|| DeviceNumber::of(metadata.rdev()))
}

struct Mount {
    point: String,
    kind: String,
    /// The file system's device number, and that of its source where it is a block device
    /// (some file systems have an anonymous number of their own).
    devices: Vec<DeviceNumber>,
}

/// Mounts of this namespace, from `mountinfo`.
fn mounts(system: &System) -> Vec<Mount> {
    let text = fs::read_to_string(system.proc.join("self/mountinfo")).unwrap_or_default();
    text.lines().filter_map(parse_mount).collect()
}

/// One line: `ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS`.
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let number = DeviceNumber::parse(left.next()?)?;
    let point = unescape(left.nth(1)?);
    let mut right = right.split(' ');
    let kind = right.next()?.to_string();
    let source = unescape(right.next().unwrap_or_default());
    let mut devices = vec![number];
    devices.extend(block_number(Path::new(&source)));
    Some(Mount {
        point,
        kind,
        devices,
    })
}

/// Undoes the octal escapes of `mountinfo` and `swaps`.
fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        result.push_str(&rest[..at]);
        let code = rest
            .get(at + 1..at + 4)
            .and_then(|code| u8::from_str_radix(code, 8).ok());
        let Some(code) = code else {
            result.push('\\');
            rest = &rest[at + 1..];
            continue;
        };
        result.push(char::from(code));
        rest = &rest[at + 4..];
    }
    result + rest
}

/// Block devices that are swapped to.
fn swaps(system: &System) -> Vec<DeviceNumber> {
    let text = fs::read_to_string(system.proc.join("swaps")).unwrap_or_default();
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .filter_map(|path| block_number(Path::new(&unescape(path))))
        .collect()
}

/// Whether an exclusive open is refused with `EBUSY`.
fn held_exclusively(path: &Path) -> bool {
    let flags = libc::O_EXCL | libc::O_NONBLOCK;
    let result = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path);
    matches!(
        result.map_err(|error: io::Error| error.raw_os_error()),
        Err(Some(libc::EBUSY))
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A disk `sda` (8:0) with partitions 8:1 and 8:2, and a mapper device 253:0 on sda2.
    fn fixture(mountinfo: &str) -> (tempfile::TempDir, System) {
        let root = tempfile::tempdir().unwrap();
        let system = System {
            sys: root.path().join("sys"),
            proc: root.path().join("proc"),
        };
        let disk = system.sys.join("devices/sda");
        let mapper = system.sys.join("devices/dm-0");
        for (directory, number) in [
            (disk.clone(), "8:0"),
            (disk.join("sda1"), "8:1"),
            (disk.join("sda2"), "8:2"),
            (mapper.clone(), "253:0"),
        ] {
            fs::create_dir_all(directory.join("holders")).unwrap();
            fs::write(directory.join("dev"), format!("{number}\n")).unwrap();
            fs::create_dir_all(system.sys.join("dev/block")).unwrap();
            symlink(&directory, system.sys.join("dev/block").join(number)).unwrap();
        }
        fs::write(disk.join("sda1/partition"), "1\n").unwrap();
        fs::write(disk.join("sda2/partition"), "2\n").unwrap();
        symlink(&mapper, disk.join("sda2/holders/dm-0")).unwrap();
        fs::create_dir_all(system.proc.join("self")).unwrap();
        fs::write(system.proc.join("self/mountinfo"), mountinfo).unwrap();
        (root, system)
    }

    fn found(system: &System, minor: u32) -> Option<String> {
        let number = DeviceNumber { major: 8, minor };
        occupant(system, Path::new("/nonexistent"), number).map(|found| found.what)
    }

    const ROOT_ON_SDA1: &str = "22 1 8:1 / /my\\040data rw shared:1 - ext4 /dev/none rw\n";

    #[test]
    fn a_mounted_partition_and_its_disk_are_in_use() {
        let (_root, system) = fixture(ROOT_ON_SDA1);
        assert_eq!(found(&system, 1).unwrap(), "mounted at /my data (ext4)");
        assert_eq!(
            found(&system, 0).unwrap(),
            "mounted at /my data (ext4) through sda1"
        );
    }

    #[test]
    fn what_is_stacked_counts_mounted_or_not() {
        let (_root, system) = fixture("22 1 253:0 / /srv rw - xfs /dev/none rw\n");
        let through = "mounted at /srv (xfs) through dm-0, which is set up on it";
        assert_eq!(found(&system, 2).unwrap(), through);
        assert_eq!(found(&system, 0).unwrap(), through);
        assert_eq!(found(&system, 1), None, "a sibling partition is free");
        let (_root, system) = fixture("");
        assert_eq!(
            found(&system, 2).unwrap(),
            "the lower device of dm-0, which is set up on it"
        );
    }

    #[test]
    fn a_mounted_whole_disk_occupies_its_partitions() {
        let (_root, system) = fixture("22 1 8:0 / /d rw - ext4 /dev/none rw\n");
        assert_eq!(
            found(&system, 1).unwrap(),
            "mounted at /d (ext4) through sda"
        );
    }

    #[test]
    fn nothing_mounted_is_free() {
        let (_root, system) = fixture("22 1 0:5 / /proc rw - proc proc rw\n");
        assert_eq!(found(&system, 1), None);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape(r"a\040b\134c\9"), r"a b\c\9");
    }
}
