//! Logs of operations (`write_iolog`): what a job did, in a form that can be replayed.
//!
//! A log begins with a line that names its version. Version 3 has a time in microseconds in front of
//! each event; version 2 has none, and `wait` lines keep the pauses. See `docs/iolog.md`.
//!
//! A log that one worker of the run writes is written by it, at the end of what is in the file.
//! Where several workers name one file each writes a part of its own beside it, in version 3 and with
//! times of the program's clock; [`merge`] then makes one log of the parts, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ferrio_options::JobSpec;
use ferrio_workload::{Op, OpKind};

/// Bytes that are collected before they are written; only whole lines are.
const BUFFER: usize = 64 << 10;
/// Parts that are merged at once: each needs a descriptor and a buffer.
const PARTS_AT_ONCE: usize = 200;
/// Shorter pauses are no lines in version 2: readers drop them.
const SHORTEST_WAIT_US: u64 = 100;

/// Word of an operation in a log.
fn word(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Trim => "trim",
        OpKind::Fsync => "sync",
        OpKind::Fdatasync => "datasync",
        OpKind::SyncFileRange => "sync_file_range",
    }
}

/// Where one worker's events go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The log itself: nobody else in the run writes it.
    Log(PathBuf),
    /// A part that is merged into the log when all its workers have ended.
    Part(PathBuf),
}

/// Where the events of each job of a run go; `None` for jobs that record nothing. `run` tells
/// this run's parts from those that another one may have left.
pub(crate) fn destinations<'a>(
    jobs: impl Iterator<Item = &'a JobSpec> + Clone,
    run: u32,
) -> Vec<Option<Destination>> {
    let log = |job: &'a JobSpec| job.reporting.io_log.as_deref();
    jobs.clone()
        .map(|job| {
            let file = log(job)?;
            let writers = jobs.clone().filter(|other| log(other) == Some(file));
            Some(if writers.take(2).count() == 1 {
                Destination::Log(file.into())
            } else {
                Destination::Part(format!("{file}.{run}.{}.part", job.job_number).into())
            })
        })
        .collect()
}

/// Refuses a log that would not be one.
///
/// # Errors
/// One line that says why.
pub(crate) fn guard(job: &JobSpec) -> Result<(), String> {
    let Some(file) = job.reporting.io_log.as_deref() else {
        return Ok(());
    };
    let path = Path::new(file);
    if job.target.files.iter().any(|target| target == path) {
        return Err(format!(
            "write_iolog={file} is a file that the job does its I/O on"
        ));
    }
    if ferrio_device::would_litter_dev(path) {
        return Err(format!(
            "write_iolog={file} would be a plain file among device nodes"
        ));
    }
    match ferrio_device::examine(path) {
        Ok(ferrio_device::Target::Block(_)) => Err(format!(
            "write_iolog={file} is a device: its contents would be overwritten"
        )),
        Ok(ferrio_device::Target::Directory) => Err(format!("write_iolog={file} is a directory")),
        _ => Ok(()),
    }
}

/// Puts events into the form of a version.
#[derive(Debug)]
struct Form {
    version: u32,
    /// Instant that the pauses of version 2 have come to, microseconds.
    waited_us: u64,
}

impl Form {
    fn new(version: u32) -> Self {
        Form {
            version,
            waited_us: 0,
        }
    }

    fn head(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "fio version {} iolog", self.version)
    }

    /// Appends an event's line to `line`. `what` is all behind the file's name.
    fn event(&mut self, line: &mut Vec<u8>, us: u64, name: &[u8], what: impl FnOnce(&mut Vec<u8>)) {
        if self.version == 2 {
            let pause = us.saturating_sub(self.waited_us);
            if pause >= SHORTEST_WAIT_US {
                self.waited_us = us;
                line.extend_from_slice(name);
                number(line, b" wait ", pause);
                line.extend_from_slice(b" 0\n");
            }
        } else {
            number(line, b"", us);
            line.push(b' ');
        }
        line.extend_from_slice(name);
        what(line);
        line.push(b'\n');
    }
}

/// Appends a decimal number with text in front of it.
fn number(line: &mut Vec<u8>, before: &[u8], value: u64) {
    line.extend_from_slice(before);
    // Writing to memory does not fail.
    let _ = write!(line, "{value}");
}

/// The log that a worker writes.
#[derive(Debug)]
pub(crate) struct IoLog {
    out: BufWriter<File>,
    form: Form,
    names: Vec<Box<[u8]>>,
    /// Instant that counts as 0.
    zero_us: u64,
    line: Vec<u8>,
    path: PathBuf,
    failed: bool,
}

impl IoLog {
    /// Opens a worker's log and names its files in it. `now_us` is the time by the program's clock.
    ///
    /// # Errors
    /// The log cannot be opened or written.
    pub(crate) fn open(to: &Destination, job: &JobSpec, now_us: u64) -> io::Result<IoLog> {
        let (path, version, zero_us) = match to {
            Destination::Log(path) => (path, job.reporting.io_log_version, now_us),
            // Merging needs times, and a zero that all parts have in common.
            Destination::Part(path) => (path, 3, 0),
        };
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let mut log = IoLog {
            out: BufWriter::with_capacity(BUFFER, file),
            form: Form::new(version),
            names: Vec::new(),
            zero_us,
            line: Vec::new(),
            path: path.clone(),
            failed: false,
        };
        let files = job.target.files.iter();
        log.names = files
            .map(|path| path.as_os_str().as_bytes().into())
            .collect();
        if matches!(to, Destination::Log(_)) {
            log.form.head(&mut log.out)?;
        }
        for file in 0..log.names.len() as u32 {
            log.file_event(file, "add", now_us)?;
        }
        Ok(log)
    }

    /// Path of what is written here.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A file is added, opened or closed.
    ///
    /// # Errors
    /// The log cannot be written; told once.
    pub(crate) fn file_event(&mut self, file: u32, what: &str, now_us: u64) -> io::Result<()> {
        self.write(file, now_us, |line| {
            line.push(b' ');
            line.extend_from_slice(what.as_bytes());
        })
    }

    /// An operation is issued.
    ///
    /// # Errors
    /// The log cannot be written; told once.
    pub(crate) fn op(&mut self, op: &Op, now_us: u64) -> io::Result<()> {
        self.operation(word(op.kind), op.file, op.offset, op.len, now_us)
    }

    /// The file system of a file is flushed (`end_syncfs`).
    ///
    /// # Errors
    /// The log cannot be written; told once.
    pub(crate) fn syncfs(&mut self, file: u32, offset: u64, now_us: u64) -> io::Result<()> {
        self.operation("syncfs", file, offset, 0, now_us)
    }

    fn operation(
        &mut self,
        word: &str,
        file: u32,
        offset: u64,
        len: u64,
        now_us: u64,
    ) -> io::Result<()> {
        self.write(file, now_us, |line| {
            line.push(b' ');
            line.extend_from_slice(word.as_bytes());
            number(line, b" ", offset);
            number(line, b" ", len);
        })
    }

    fn write(&mut self, file: u32, now_us: u64, what: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let name = self.names.get(file as usize).map_or(&b""[..], |name| name);
        self.line.clear();
        let us = now_us.saturating_sub(self.zero_us);
        self.form.event(&mut self.line, us, name, what);
        let written = self.out.write_all(&self.line);
        self.failed = written.is_err();
        written
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    /// The log cannot be written; told once.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let written = self.out.flush();
        self.failed = written.is_err();
        written
    }
}

/// The line of a part that was read and is not merged yet.
struct Line {
    us: u64,
    /// What stands behind the time, without the line's end.
    rest: Vec<u8>,
}

/// A part that is being read.
struct Part {
    input: BufReader<File>,
    next: Option<Line>,
}

impl Part {
    /// `None` when there is no such part: its worker never came to writing it.
    fn open(path: &Path) -> io::Result<Option<Part>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut part = Part {
            input: BufReader::with_capacity(BUFFER, file),
            next: None,
        };
        part.advance()?;
        Ok(Some(part))
    }

    /// Reads the next line. A worker that was killed leaves whole lines only.
    fn advance(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        self.input.read_until(b'\n', &mut text)?;
        self.next = (|| {
            let text = text.strip_suffix(b"\n")?;
            let blank = text.iter().position(|byte| *byte == b' ')?;
            let us = std::str::from_utf8(&text[..blank]).ok()?.parse().ok()?;
            Some(Line {
                us,
                rest: text[blank + 1..].to_vec(),
            })
        })();
        Ok(())
    }
}

/// The lines of several parts, earliest first.
struct InOrder {
    parts: Vec<Part>,
    heap: BinaryHeap<Reverse<(u64, usize)>>,
}

impl InOrder {
    fn open(paths: &[PathBuf]) -> io::Result<InOrder> {
        let mut parts = Vec::new();
        for path in paths {
            parts.extend(Part::open(path)?);
        }
        let first = |(at, part): (usize, &Part)| Some(Reverse((part.next.as_ref()?.us, at)));
        let heap = parts.iter().enumerate().filter_map(first).collect();
        Ok(InOrder { parts, heap })
    }

    fn next(&mut self) -> io::Result<Option<Line>> {
        let Some(Reverse((_, at))) = self.heap.pop() else {
            return Ok(None);
        };
        let line = self.parts[at].next.take();
        self.parts[at].advance()?;
        if let Some(next) = &self.parts[at].next {
            self.heap.push(Reverse((next.us, at)));
        }
        Ok(line)
    }
}

/// How many workers have a file open, for each file of a merged log.
#[derive(Default)]
struct Opened(std::collections::HashMap<Vec<u8>, u64>);

impl Opened {
    /// Whether the line belongs into the merged log: a file is added once, opened by the first of
    /// those who do and closed by the last one.
    fn keeps(&mut self, line: &[u8]) -> bool {
        if let Some(name) = line.strip_suffix(b" add") {
            let known = self.0.contains_key(name);
            self.0.entry(name.to_vec()).or_default();
            return !known;
        }
        if let Some(name) = line.strip_suffix(b" open") {
            let count = self.0.entry(name.to_vec()).or_default();
            *count += 1;
            return *count == 1;
        }
        if let Some(name) = line.strip_suffix(b" close") {
            let count = self.0.entry(name.to_vec()).or_default();
            *count = count.saturating_sub(1);
            return *count == 0;
        }
        true
    }
}

/// Merges parts into one part beside them, so that fewer are left.
fn merge_to_part(paths: &[PathBuf], to: &Path) -> io::Result<()> {
    let mut lines = InOrder::open(paths)?;
    let mut out = BufWriter::with_capacity(BUFFER, File::create(to)?);
    while let Some(line) = lines.next()? {
        write!(out, "{} ", line.us)?;
        out.write_all(&line.rest)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    remove(paths)
}

fn remove(paths: &[PathBuf]) -> io::Result<()> {
    for path in paths {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Adds the events of all parts to the end of a log, in the order of time, and removes the parts.
/// The first event's time counts as 0. On an error the parts stay.
///
/// # Errors
/// The log cannot be written, or a part cannot be read.
pub(crate) fn merge(log: &Path, version: u32, parts: &[PathBuf]) -> io::Result<()> {
    let mut parts = parts.to_vec();
    while parts.len() > PARTS_AT_ONCE {
        let (few, rest) = parts.split_at(PARTS_AT_ONCE);
        let sum = few[0].with_extension("merged");
        merge_to_part(few, &sum)?;
        parts = rest.to_vec();
        parts.push(sum);
    }
    let mut lines = InOrder::open(&parts)?;
    if lines.heap.is_empty() {
        return remove(&parts);
    }
    let file = OpenOptions::new().append(true).create(true).open(log)?;
    let mut out = BufWriter::with_capacity(BUFFER, file);
    let mut form = Form::new(version);
    form.head(&mut out)?;
    let mut opened = Opened::default();
    let mut zero_us = None;
    let mut text = Vec::new();
    while let Some(Line { us, rest }) = lines.next()? {
        let zero_us = *zero_us.get_or_insert(us);
        if opened.keeps(&rest) {
            text.clear();
            let (name, what) = split_name(&rest);
            form.event(&mut text, us - zero_us, name, |line| {
                line.extend_from_slice(what);
            });
            out.write_all(&text)?;
        }
    }
    out.flush()?;
    remove(&parts)
}

/// A line's file name, which may hold blanks, and the rest behind it.
fn split_name(rest: &[u8]) -> (&[u8], &[u8]) {
    let numbers = rest.last().is_some_and(u8::is_ascii_digit);
    let words = if numbers { 3 } else { 1 };
    let mut at = rest.len();
    for _ in 0..words {
        at = rest[..at]
            .iter()
            .rposition(|byte| *byte == b' ')
            .unwrap_or(0);
    }
    rest.split_at(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(version: u32, parts: &[&str]) -> String {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        let paths: Vec<PathBuf> = (0..parts.len())
            .map(|at| directory.path().join(format!("log.7.{at}.part")))
            .collect();
        for (path, text) in paths.iter().zip(parts) {
            std::fs::write(path, text).expect("a part");
        }
        merge(&log, version, &paths).expect("a merged log");
        assert!(paths.iter().all(|path| !path.exists()), "parts are left");
        std::fs::read_to_string(&log).expect("a log")
    }

    #[test]
    fn parts_become_one_log_in_the_order_of_time() {
        let first = "100 a b add\n110 a b open\n120 a b read 0 4096\n150 a b close\n";
        let second = "105 a b add\n112 a b open\n115 a b write 4096 512\n170 a b close\n";
        assert_eq!(
            merged(3, &[first, second]),
            "fio version 3 iolog\n0 a b add\n10 a b open\n15 a b write 4096 512\n\
             20 a b read 0 4096\n70 a b close\n"
        );
    }

    #[test]
    fn version_2_has_waits_in_place_of_times() {
        let part = "0 f add\n10 f open\n20 f read 0 4096\n50020 f read 4096 4096\n";
        assert_eq!(
            merged(2, &[part]),
            "fio version 2 iolog\nf add\nf open\nf read 0 4096\nf wait 50020 0\n\
             f read 4096 4096\n"
        );
    }

    #[test]
    fn any_number_of_parts_can_be_merged() {
        let parts: Vec<String> = (0..2 * PARTS_AT_ONCE + 3)
            .map(|at| format!("{} f add\n{} f read {} 512\n", at, 2000 - at, at))
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let text = merged(3, &parts);
        let times: Vec<u64> = text
            .lines()
            .skip(1)
            .map(|line| {
                line.split(' ')
                    .next()
                    .expect("a time")
                    .parse()
                    .expect("a number")
            })
            .collect();
        assert_eq!(times.len(), 1 + parts.len());
        assert!(times.is_sorted());
    }
}
