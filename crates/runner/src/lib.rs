//! When I/O happens: files and layout, the clock, workers as processes or threads, groups and
//! barriers, signals, samples; from a [`RunSpec`](ferrio_options::RunSpec) to a
//! [`RunResult`](ferrio_stats::RunResult).
//!
//! The supervisor is a single-threaded event loop in the calling process. Each job clone is a
//! worker: a forked process, or with `thread=1` a thread of one extra process that hosts them
//! all (so the supervisor never has threads and may fork at any time). A worker shares one
//! [page](page::WorkerPage) with the supervisor, which builds every result from it; only errors
//! and notes travel over the worker's [link](link).

pub mod clock;
pub mod failure;
pub mod files;
mod iolog;
pub mod layout;
pub mod link;
mod memory;
pub mod page;
pub mod streams;
mod supervisor;
mod sys;
mod worker;

pub use supervisor::{Cadence, Observer, Outcome, run};
