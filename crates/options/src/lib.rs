//! ferrio's language: the option table, the command line, the job file, and what they resolve to.
//!
//! The crate reads text and yields a [`RunSpec`]. It looks at the machine only through [`Host`]
//! and starts nothing.
//!
//! Two levels: the values of options as typed (in the private `draft` module), and the
//! [`JobSpec`] of each worker, with everything that options do to each other worked out (the
//! private `resolve` module).
//!
//! ```
//! use ferrio_options::{Outcome, SystemHost, parse};
//!
//! let words = ["ferrio", "--name=scan", "--ioengine=null", "--rw=randread", "--bs=8k", "--size=1g"];
//! let parsed = parse(&words.map(Into::into), &SystemHost);
//! match parsed.outcome {
//!     Outcome::Run(run) => assert_eq!(run.jobs[0].pattern.block[0].max, 8192),
//!     Outcome::Exit { status, .. } => panic!("{status}: {:?}", parsed.diagnostics),
//! }
//! ```
#![forbid(unsafe_code)]

pub mod catalogue;
mod cmdline;
mod diag;
mod draft;
mod file_list;
mod help;
mod host;
mod jobfile;
mod names;
mod nearest;
mod resolve;
mod session;
mod spec;
mod subst;
mod table;
mod toplevel;
mod value;
#[cfg(test)]
mod vectors;

// The tests' machine is shared with the tests outside, which know this crate by its name.
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(test)]
extern crate self as ferrio_options;

use std::ffi::OsString;

pub use diag::{Diagnostic, Outcome, Parsed, Persona, Severity};
pub use file_list::{FileList, Iter as FileIter};
pub use host::{Host, PathKind, SystemHost};
pub use spec::*;

use session::{Session, Stop};

/// Reads a command line (with the program's name as first word) and its job files.
pub fn parse(args: &[OsString], host: &dyn Host) -> Parsed {
    let (program, words) = match args {
        [program, words @ ..] => (program.as_os_str(), words),
        [] => ("ferrio".as_ref(), args),
    };
    let mut session = Session::new(host, Persona::from_program(program));
    let (outcome, diagnostics, output) = match read(&mut session, words) {
        Ok(()) => session.finish(),
        Err(stop) => {
            let outcome = Outcome::Exit {
                status: stop.status,
                stdout: stop.stdout,
            };
            (outcome, session.diagnostics, session.output)
        }
    };
    Parsed {
        outcome,
        diagnostics,
        output,
    }
}

fn read(session: &mut Session<'_>, words: &[OsString]) -> Result<(), Stop> {
    cmdline::read(session, words)?;
    for (index, file) in std::mem::take(&mut session.job_files).iter().enumerate() {
        jobfile::read(session, file, index)?;
    }
    Ok(())
}
