//! Options of the built-in profiles; profiles are not built.

use super::{Kind, Opt};
use crate::value::TimeUnit;

/// All profiles, one after the other.
pub(super) static OPTIONS: &[Opt] = &[
    Opt::new("device-names", Kind::Text, "Devices, ',' list")
        .at("Profiles", "ACT Aerospike like benchmark profile")
        .profile("act"),
    Opt::new("load", Kind::Int, "Load multiplier")
        .at("Profiles", "ACT Aerospike like benchmark profile")
        .default("1")
        .profile("act"),
    Opt::new(
        "test-duration",
        Kind::Time(TimeUnit::Microseconds),
        "Length of the test",
    )
    .at("Profiles", "ACT Aerospike like benchmark profile")
    .default("24h")
    .profile("act"),
    Opt::new("threads-per-queue", Kind::Int, "Reader threads per device")
        .at("Profiles", "ACT Aerospike like benchmark profile")
        .default("8")
        .profile("act"),
    Opt::new(
        "read-req-num-512-blocks",
        Kind::Int,
        "512-byte blocks per read",
    )
    .at("Profiles", "ACT Aerospike like benchmark profile")
    .default("3")
    .profile("act"),
    Opt::new(
        "large-block-op-kbytes",
        Kind::Int,
        "KiB per large operation",
    )
    .at("Profiles", "ACT Aerospike like benchmark profile")
    .default("131072")
    .profile("act"),
    Opt::new("prep", Kind::Flag, "Run the preparation phase")
        .at("Profiles", "ACT Aerospike like benchmark profile")
        .profile("act"),
    Opt::new("size", Kind::Size, "Amount of data, in MiB")
        .at("Profiles", "Tiobench profile")
        .profile("tiobench"),
    Opt::new("block", Kind::Int, "Bytes per I/O")
        .at("Profiles", "Tiobench profile")
        .default("4096")
        .profile("tiobench"),
    Opt::new("numruns", Kind::Int, "Runs")
        .at("Profiles", "Tiobench profile")
        .profile("tiobench"),
    Opt::new("dir", Kind::Text, "Directory")
        .at("Profiles", "Tiobench profile")
        .profile("tiobench"),
    Opt::new("threads", Kind::Int, "Threads")
        .at("Profiles", "Tiobench profile")
        .profile("tiobench"),
];
