//! What happened: latency histograms, moments, bandwidth samples, merging them, and the
//! [`RunResult`] that every report is rendered from.
//!
//! Nothing here formats text, reads a clock or does I/O. [`live`] holds the counters that a
//! worker writes while it runs (single writer, relaxed stores); [`counters`] their plain copy;
//! [`result`] a whole run. [`merge`] makes report entries of its workers, [`summary`] the figures
//! that reports print.
#![forbid(unsafe_code)]

pub mod counters;
pub mod histogram;
pub mod live;
pub mod merge;
pub mod percentile;
pub mod result;
pub mod summary;

pub use counters::*;
pub use result::*;
