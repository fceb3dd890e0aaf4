//! What parsing says and how it ends.

use std::ffi::OsStr;
use std::path::Path;

use crate::{OutputSpec, RunSpec};

/// Under which name the program was called; it decides the version line and the prefix of
/// diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persona {
    /// Any name but `fio`.
    Ferrio,
    /// Called as `fio`: a drop-in replacement.
    Fio,
}

impl Persona {
    /// The persona for a program path (`argv[0]`): its last component decides.
    pub fn from_program(argv0: &OsStr) -> Persona {
        match Path::new(argv0).file_name() {
            Some(name) if name == "fio" => Persona::Fio,
            _ => Persona::Ferrio,
        }
    }

    /// The word in front of diagnostics.
    pub fn word(self) -> &'static str {
        match self {
            Persona::Ferrio => "ferrio",
            Persona::Fio => "fio",
        }
    }

    /// What `--version` prints, without the line end.
    pub fn version(self) -> String {
        match self {
            Persona::Fio => "fio-3.42".to_string(),
            Persona::Ferrio => {
                format!("ferrio {} (fio-3.42 compatible)", env!("CARGO_PKG_VERSION"))
            }
        }
    }
}

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For information.
    Note,
    /// The run goes on, but probably not as meant.
    Warning,
    /// Nothing runs.
    Error,
}

/// One line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// One line, without program prefix and line end.
    pub text: String,
    /// Print the text as it is, without the program's name in front: a form that programs read.
    pub bare: bool,
}

impl Diagnostic {
    /// A diagnostic that is printed behind the program's name.
    pub(crate) fn new(severity: Severity, text: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity,
            text: one_line(text.into()),
            bare: false,
        }
    }

    /// A diagnostic that is printed as it is.
    pub(crate) fn bare(severity: Severity, text: impl Into<String>) -> Diagnostic {
        Diagnostic {
            bare: true,
            ..Diagnostic::new(severity, text)
        }
    }
}

/// Line ends inside a text would break the one-line form; control bytes could confuse a terminal.
fn one_line(text: String) -> String {
    if text.chars().any(char::is_control) {
        text.chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect()
    } else {
        text
    }
}

/// What the command line and its job files come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// Run or exit.
    pub outcome: Outcome,
    /// In the order in which they arose.
    pub diagnostics: Vec<Diagnostic>,
    /// Report settings as far as they were read, so that a failure can be reported in the format
    /// asked for.
    pub output: OutputSpec,
}

/// Run or exit.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// There is work.
    Run(Box<RunSpec>),
    /// Nothing runs.
    Exit {
        /// Exit status of the program.
        status: u8,
        /// Text for standard output (or the `--output` file), with its line ends.
        stdout: String,
    },
}
