//! A file that asks for a report: `fio-dump-status` in the directory for temporary files.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::clock::Clock;

/// How often it is looked for.
const LOOK_NS: u64 = 100_000_000;

#[derive(Debug)]
pub(super) struct StatusFile {
    path: PathBuf,
    next_look_ns: u64,
    disabled: bool,
}

/// What a look found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// It was there, and was removed.
    Request,
    /// It is there and cannot be removed.
    Stuck(String),
}

impl StatusFile {
    /// In `$TMPDIR`, else `$TEMP`, else `/tmp`.
    pub(super) fn new() -> Self {
        let directory = ["TMPDIR", "TEMP"].into_iter().find_map(std::env::var_os);
        let directory = directory.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        StatusFile {
            path: directory.join("fio-dump-status"),
            next_look_ns: 0,
            disabled: false,
        }
    }

    /// When to look again.
    pub(super) fn due_ns(&self) -> u64 {
        if self.disabled {
            u64::MAX
        } else {
            self.next_look_ns
        }
    }

    /// Looks, if it is time to.
    pub(super) fn look(&mut self, clock: Clock) -> Found {
        let now = clock.now_ns();
        if now < self.due_ns() {
            return Found::Nothing;
        }
        self.next_look_ns = now + LOOK_NS;
        match fs::remove_file(&self.path) {
            Ok(()) => Found::Request,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
            // The directory is not there, or may not be searched: nobody can ask.
            Err(error) if fs::symlink_metadata(&self.path).is_err() => {
                self.disabled = error.kind() == io::ErrorKind::NotADirectory;
                Found::Nothing
            }
            Err(error) => {
                self.disabled = true;
                Found::Stuck(format!(
                    "{} asks for a report and cannot be removed: {error}; it is not looked for any \
                     more",
                    self.path.display()
                ))
            }
        }
    }
}
