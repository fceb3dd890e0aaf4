//! A machine made of data, for tests.
#![allow(dead_code)] // each test binary uses a part

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use ferrio_options::{Host, Outcome, Parsed, PathKind, RunSpec, Severity, parse};

/// Two CPUs, 4 KiB pages, files as given. Every other path is missing.
#[derive(Debug)]
pub(crate) struct FakeHost {
    pub(crate) env: HashMap<OsString, OsString>,
    pub(crate) files: HashMap<PathBuf, Vec<u8>>,
    pub(crate) kinds: HashMap<PathBuf, PathKind>,
    pub(crate) stdin: Vec<u8>,
    pub(crate) stdin_read: std::cell::Cell<bool>,
}

impl Default for FakeHost {
    fn default() -> Self {
        let mut kinds = HashMap::new();
        for dir in ["/", ".", "/tmp", "/dev", "/dev/shm"] {
            kinds.insert(PathBuf::from(dir), PathKind::Directory);
        }
        kinds.insert("/dev/null".into(), PathKind::Char);
        FakeHost {
            env: HashMap::new(),
            files: HashMap::new(),
            kinds,
            stdin: Vec::new(),
            stdin_read: std::cell::Cell::new(false),
        }
    }
}

impl FakeHost {
    pub(crate) fn with_file(mut self, path: &str, text: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }

    pub(crate) fn with_kind(mut self, path: &str, kind: PathKind) -> Self {
        self.kinds.insert(path.into(), kind);
        self
    }

    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

impl Host for FakeHost {
    fn env(&self, name: &OsStr) -> Option<OsString> {
        self.env.get(name).cloned()
    }
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    fn read_stdin(&self) -> io::Result<Vec<u8>> {
        Ok(if self.stdin_read.replace(true) {
            Vec::new()
        } else {
            self.stdin.clone()
        })
    }
    fn kind(&self, path: &Path) -> PathKind {
        if self.files.contains_key(path) {
            return PathKind::Regular;
        }
        self.kinds.get(path).copied().unwrap_or(PathKind::Missing)
    }
    fn target_kind(&self, path: &Path) -> PathKind {
        self.kind(path)
    }
    fn files_below(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        if self.kind(dir) != PathKind::Directory {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut found: Vec<PathBuf> = self
            .files
            .keys()
            .filter(|path| path.starts_with(dir))
            .cloned()
            .collect();
        found.sort();
        Ok(found)
    }
    fn configured_cpus(&self) -> u32 {
        2
    }
    fn affinity(&self) -> Vec<u32> {
        vec![0, 1]
    }
    fn page_size(&self) -> u64 {
        4096
    }
    fn memory_mib(&self) -> u64 {
        1024
    }
}

/// Parses words behind the program name `ferrio`.
pub(crate) fn parse_words<S: AsRef<OsStr>>(words: &[S], host: &FakeHost) -> Parsed {
    parse_as("ferrio", words, host)
}

/// Parses words behind a program name.
pub(crate) fn parse_as<S: AsRef<OsStr>>(program: &str, words: &[S], host: &FakeHost) -> Parsed {
    let mut args = vec![OsString::from(program)];
    args.extend(words.iter().map(|word| word.as_ref().to_os_string()));
    parse(&args, host)
}

/// Parses a command line written with blanks between its words.
pub(crate) fn parse_line(line: &str, host: &FakeHost) -> Parsed {
    parse_words(&line.split_whitespace().collect::<Vec<_>>(), host)
}

/// The run of a command line that must be good.
pub(crate) fn run_of(parsed: Parsed) -> RunSpec {
    match parsed.outcome {
        Outcome::Run(run) => *run,
        Outcome::Exit { status, .. } => {
            panic!("ended with status {status}: {:?}", parsed.diagnostics)
        }
    }
}

/// The run of a job file that must be good.
pub(crate) fn run_of_file(text: &str) -> RunSpec {
    let host = FakeHost::default().with_file("j.fio", text);
    run_of(parse_words(&["j.fio"], &host))
}

/// Exit status; 0 where there is a run.
pub(crate) fn status(parsed: &Parsed) -> u8 {
    match &parsed.outcome {
        Outcome::Run(_) => 0,
        Outcome::Exit { status, .. } => *status,
    }
}

/// All error texts.
pub(crate) fn errors(parsed: &Parsed) -> Vec<&str> {
    of_severity(parsed, Severity::Error)
}

/// All texts of a severity.
pub(crate) fn of_severity(parsed: &Parsed, severity: Severity) -> Vec<&str> {
    let matching = parsed.diagnostics.iter().filter(|d| d.severity == severity);
    matching.map(|d| d.text.as_str()).collect()
}
