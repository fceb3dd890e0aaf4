//! Lines that stand before the report: job headlines, version, what starts, what is laid out.
//!
//! They are part of the normal format only.

use crate::number::{Unit, is_binary, scaled};

/// What a job's headline shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// Job name.
    pub name: String,
    /// Report group.
    pub group: u32,
    /// The `rw` value by its primary name: `read`, `randrw`, `trimwrite`, …
    pub rw: &'static str,
    /// Smallest and largest block of reads, writes and trims, bytes.
    pub block_bytes: [(u64, u64); 3],
    /// `bs_is_seq_rand`: the first two sizes are those of sequential and random I/O.
    pub seq_rand: bool,
    /// Engine name.
    pub engine: &'static str,
    /// `iodepth`.
    pub iodepth: u32,
    /// `kb_base`.
    pub kb_base: u32,
    /// `significant_figures`.
    pub significant_figures: u32,
}

/// Line that follows the headline of a job with clones.
pub const CLONES: &str = "...\n";

/// The headline of a job, one line.
pub fn headline(headline: &Headline) -> String {
    let Headline {
        name,
        group,
        rw,
        engine,
        iodepth,
        ..
    } = headline;
    let size = |bytes| {
        let binary = is_binary(headline.kb_base);
        scaled(bytes, headline.significant_figures, 1, binary, Unit::Bytes)
    };
    let range = |(min, max)| format!("{}-{}", size(min), size(max));
    let [read, write, trim] = headline.block_bytes.map(range);
    let last = match headline.seq_rand {
        true => "bs_is_seq_rand".to_string(),
        false => format!("(T) {trim}"),
    };
    format!(
        "{name}: (g={group}): rw={rw}, bs=(R) {read}, (W) {write}, {last}, \
         ioengine={engine}, iodepth={iodepth}\n"
    )
}

/// The version line.
pub fn version(version: &str) -> String {
    format!("{version}\n")
}

/// Says how many threads and processes start, one line.
pub fn starting(threads: u32, processes: u32) -> String {
    let count = |n: u32, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let threads = (threads > 0).then(|| count(threads, "thread", "threads"));
    let processes =
        (processes > 0 || threads.is_none()).then(|| count(processes, "process", "processes"));
    let parts: Vec<String> = threads.into_iter().chain(processes).collect();
    format!("Starting {}\n", parts.join(" and "))
}

/// Says that a job lays out its files, one line. The size is in whole MiB.
pub fn laying_out(name: &str, files: u32, bytes: u64) -> String {
    let mib = bytes >> 20;
    match files {
        1 => format!("{name}: Laying out IO file (1 file / {mib}MiB)\n"),
        _ => format!("{name}: Laying out IO files ({files} files / total {mib}MiB)\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Headline {
        Headline {
            name: "b".into(),
            group: 2,
            rw: "randrw",
            block_bytes: [(4096, 4096), (65_536, 1 << 20), (1 << 20, 1 << 20)],
            seq_rand: false,
            engine: "null",
            iodepth: 16,
            kb_base: 1024,
            significant_figures: 4,
        }
    }

    #[test]
    fn headlines() {
        let plain = sample();
        assert_eq!(
            headline(&plain),
            "b: (g=2): rw=randrw, bs=(R) 4096B-4096B, (W) 64.0KiB-1024KiB, \
             (T) 1024KiB-1024KiB, ioengine=null, iodepth=16\n"
        );
        let seq_rand = Headline {
            seq_rand: true,
            ..plain.clone()
        };
        assert_eq!(
            headline(&seq_rand),
            "b: (g=2): rw=randrw, bs=(R) 4096B-4096B, (W) 64.0KiB-1024KiB, bs_is_seq_rand, \
             ioengine=null, iodepth=16\n"
        );
        let decimal = Headline {
            kb_base: 1000,
            ..plain
        };
        assert!(headline(&decimal).contains("(W) 65.5kB-1049kB"));
    }

    #[test]
    fn starting_counts_threads_and_processes() {
        assert_eq!(starting(0, 1), "Starting 1 process\n");
        assert_eq!(starting(2, 0), "Starting 2 threads\n");
        assert_eq!(starting(1, 2), "Starting 1 thread and 2 processes\n");
    }

    #[test]
    fn layout_truncates_to_mib() {
        assert_eq!(
            laying_out("f", 1, 1 << 20),
            "f: Laying out IO file (1 file / 1MiB)\n"
        );
        assert_eq!(
            laying_out("f", 3, (4 << 20) - 1),
            "f: Laying out IO files (3 files / total 3MiB)\n"
        );
    }
}
