//! The kernel's statistics of block devices: which devices a run uses, and their counters.
//!
//! Fields: `Documentation/block/stat.rst` of the kernel.

use std::fs;
use std::path::PathBuf;

use crate::{DeviceNumber, System, names_in};

/// Counters of one device since boot; the differences of two readings are a run's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Completed reads, writes.
    pub ios: [u64; 2],
    /// Merged reads, writes.
    pub merges: [u64; 2],
    /// Sectors of 512 bytes read, written.
    pub sectors: [u64; 2],
    /// Milliseconds spent in reads, writes.
    pub ticks: [u64; 2],
    /// Milliseconds with I/O in flight.
    pub io_ticks: u64,
    /// Weighted milliseconds in queue.
    pub in_queue: u64,
}

impl DiskCounters {
    /// What was counted since `earlier`. Tick counters are 32 bits wide in the kernel and may
    /// wrap once.
    pub fn since(&self, earlier: &DiskCounters) -> DiskCounters {
        let pair = |now: [u64; 2], then: [u64; 2]| {
            [now[0].wrapping_sub(then[0]), now[1].wrapping_sub(then[1])]
        };
        let tick = |now: u64, then: u64| {
            if now >= then {
                now - then
            } else {
                now + (1 << 32) - then.min(now + (1 << 32))
            }
        };
        DiskCounters {
            ios: pair(self.ios, earlier.ios),
            merges: pair(self.merges, earlier.merges),
            sectors: pair(self.sectors, earlier.sectors),
            ticks: [
                tick(self.ticks[0], earlier.ticks[0]),
                tick(self.ticks[1], earlier.ticks[1]),
            ],
            io_ticks: tick(self.io_ticks, earlier.io_ticks),
            in_queue: tick(self.in_queue, earlier.in_queue),
        }
    }

    fn parse(text: &str) -> Option<DiskCounters> {
        let fields: Vec<u64> = text
            .split_whitespace()
            .map_while(|field| field.parse().ok())
            .take(11)
            .collect();
        let [
            r_ios,
            r_merges,
            r_sectors,
            r_ticks,
            w_ios,
            w_merges,
            w_sectors,
            w_ticks,
            _,
            io,
            queue,
        ] = fields[..]
        else {
            return None;
        };
        Some(DiskCounters {
            ios: [r_ios, w_ios],
            merges: [r_merges, w_merges],
            sectors: [r_sectors, w_sectors],
            ticks: [r_ticks, w_ticks],
            io_ticks: io,
            in_queue: queue,
        })
    }
}

/// The block devices behind a run's files, in order of first use.
#[derive(Clone, Debug)]
pub struct Disks {
    system: System,
    disks: Vec<Disk>,
}

#[derive(Clone, Debug)]
struct Disk {
    name: String,
    slave_of: Option<String>,
    directory: PathBuf,
}

impl Disks {
    /// No devices yet.
    pub fn new(system: System) -> Self {
        Disks {
            system,
            disks: Vec::new(),
        }
    }

    /// Adds the whole disk behind a device number, and below it the devices it is made of.
    /// Numbers without block device (tmpfs and so on) add nothing.
    pub fn add(&mut self, device: DeviceNumber) {
        let Some(mut directory) = self.system.device_dir(device) else {
            return;
        };
        if directory.join("partition").exists() {
            directory.pop();
        }
        self.add_directory(directory, None);
    }

    fn add_directory(&mut self, directory: PathBuf, slave_of: Option<&str>) {
        let Some(name) = directory
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
        else {
            return;
        };
        if self.disks.iter().any(|disk| disk.name == name) {
            return;
        }
        let slaves = directory.join("slaves");
        self.disks.push(Disk {
            name: name.clone(),
            slave_of: slave_of.map(str::to_string),
            directory,
        });
        for slave in names_in(&slaves) {
            let Ok(mut path) = fs::canonicalize(slaves.join(slave)) else {
                continue;
            };
            if path.join("partition").exists() {
                path.pop();
            }
            self.add_directory(path, Some(&name));
        }
    }

    /// Kernel names with the master of each slave.
    pub fn names(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.disks
            .iter()
            .map(|disk| (disk.name.as_str(), disk.slave_of.as_deref()))
    }

    /// Reads all counters; a device that went away keeps zeros.
    pub fn read(&self) -> Vec<DiskCounters> {
        let read = |disk: &Disk| {
            let text = fs::read_to_string(disk.directory.join("stat")).ok()?;
            DiskCounters::parse(&text)
        };
        self.disks
            .iter()
            .map(|disk| read(disk).unwrap_or_default())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_and_differences_allow_one_wrap() {
        let line = "  10 1 800 5 20 2 1600 4294967290 0 100 50 0 0 0 0 0 0\n";
        let first = DiskCounters::parse(line).unwrap();
        assert_eq!(first.ios, [10, 20]);
        assert_eq!(first.sectors, [800, 1600]);
        let mut second = first;
        second.ios = [15, 20];
        second.ticks = [7, 4];
        let used = second.since(&first);
        assert_eq!((used.ios, used.ticks), ([5, 0], [2, 10]));
        assert_eq!(DiskCounters::parse("1 2 3"), None);
    }
}
