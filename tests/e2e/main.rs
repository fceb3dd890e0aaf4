//! End-to-end tests: the built program on real targets (files, tmpfs, ext4, loop devices).
//!
//! A test that lacks root, loop devices or a tool says why and passes; with `CI=true` it fails.

mod bad_input;
mod calls;
mod cloud_commands;
mod conduct;
mod corpus;
mod data;
mod debug;
mod engine_calls;
mod engines;
mod files;
mod fio_pairs;
mod fuse;
mod lifecycle;
mod offload;
mod output;
mod pacing;
#[path = "../../crates/options/tests/common/published.rs"]
mod published;
mod safety;
mod support;
mod vectors;
mod worker_options;
