//! ferrio's workload generators: which operation comes next, and what data it carries.
//!
//! The crate does no I/O and reads no clock. For the same job and seeds it yields the same
//! operations in the same order, always.
//!
//! - [`geometry`] decides which part of each file a job uses.
//! - [`OpStream`] yields the operations.
//! - [`content`] fills the buffers.
//! - [`RateSchedule`] says when the next one is due.
//! - [`seeds`] holds the numbers that all of them start from.
//!
//! How a worker drives a stream (the engine here does nothing):
//!
//! ```
//! # #[path = "../tests/common/mod.rs"] mod common;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ferrio_workload::{FileEvents, Next, OpStream, RealSize, TargetSize, geometry};
//!
//! struct Files;
//! impl FileEvents for Files {
//!     fn open(&mut self, _file: u32) -> bool { true }
//!     fn close(&mut self, _file: u32) {}
//!     fn invalidate(&mut self, _file: u32) {}
//! }
//!
//! # let job = common::job("--ioengine=null --name=a --rw=randread --bs=4k --size=16k")?;
//! let plan = geometry::plan(&job, &[TargetSize { regular: true, size: RealSize::Unlimited }])?;
//! let mut stream = OpStream::new(&job, &plan, true)?;
//! let (mut completed, mut blocks) = ([0; 3], Vec::new());
//! while stream.begin_pass(completed, &mut Files) {
//!     let (mut unmarked, mut bytes) = (false, 0);
//!     while stream.pass_goes_on() {
//!         let Next::Op(op) = stream.next(&mut unmarked, &mut Files) else { break };
//!         stream.issued(&op, false);
//!         stream.completed(&op);
//!         unmarked = false;
//!         bytes += op.len;
//!         completed[op.kind as usize] += op.len;
//!         blocks.push(op.offset / 4096);
//!     }
//!     stream.end_pass(bytes, &mut Files);
//! }
//! assert_eq!(blocks, [3, 0, 2, 1]);
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]

pub mod content;
mod divisor;
pub mod geometry;
mod hash;
mod jump;
mod lfsr;
mod map;
mod rank;
mod rate;
mod rng;
pub mod seeds;
mod sizes;
mod stream;
#[cfg(test)]
mod vector_tests;
mod zones;

pub use rate::RateSchedule;
pub use rng::Taus32;
pub use stream::{
    FileEvents, Next, Notice, Op, OpKind, OpStream, PassEnd, StreamError, random_map_bytes,
};

/// What was found out about a file, before the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetSize {
    /// It is a regular file, or a path where one may be made.
    pub regular: bool,
    /// Its present size.
    pub size: RealSize,
}

/// The size of a file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealSize {
    /// Bytes; 0 for a regular file that does not exist.
    Bytes(u64),
    /// Character devices, and the files of engines that do no I/O.
    Unlimited,
}
