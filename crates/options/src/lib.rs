//! ferrio's language: the option table, the command line, the job file, and what they resolve to.
//!
//! The crate reads text and yields a [`RunSpec`]. It looks at the machine only through [`Host`]
//! and starts nothing.
#![forbid(unsafe_code)]

mod spec;

pub use spec::*;
