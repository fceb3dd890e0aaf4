//! Verification; not built.

use super::placement::cpu_list;
use super::{Kind, Opt, word};
use crate::draft::{Ctx, Draft};
use crate::value::{Value, pattern};

/// Verification and trims for it.
pub(super) static OPTIONS: &[Opt] = &[
    Opt::new(
        "verify",
        Kind::Word,
        "Checksum or pattern put into written blocks and tested on reading",
    )
    .at("I/O", "Verify")
    .words(&[
        word("0", "off"),
        word("md5", "MD5"),
        word("crc64", "CRC-64"),
        word("crc32", "CRC-32"),
        word("crc32c-intel", "CRC-32C"),
        word("crc32c", "CRC-32C, hardware if present"),
        word("crc16", "CRC-16"),
        word("crc7", "CRC-7"),
        word("sha1", "SHA-1"),
        word("sha256", "SHA-256"),
        word("sha512", "SHA-512"),
        word("sha3-224", "SHA3-224"),
        word("sha3-256", "SHA3-256"),
        word("sha3-384", "SHA3-384"),
        word("sha3-512", "SHA3-512"),
        word("xxhash", "xxHash32"),
        word("meta", "header only"),
        word("pattern", "verify_pattern without header"),
        word("pattern_hdr", "verify_pattern with header"),
        word("null", "header handling without a check"),
    ])
    .default("0"),
    Opt::new(
        "do_verify",
        Kind::Bool,
        "Run a read-back phase after the writes",
    )
    .at("I/O", "Verify")
    .default("1")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_policy",
        Kind::Words,
        "Which writes a read-back must find (flags, joined by ',')",
    )
    .at("I/O", "Verify")
    .words(&[
        word("completed", "every write that completed"),
        word(
            "fsynced",
            "only writes covered by the last successful flush",
        ),
    ])
    .default("completed")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verifysort",
        Kind::Ignored,
        "Former option, accepted and ignored",
    )
    .at("I/O", "Verify"),
    Opt::new(
        "verifysort_nr",
        Kind::Ignored,
        "Former option, accepted and ignored",
    )
    .at("I/O", "Verify"),
    Opt::new(
        "verify_interval",
        Kind::Int,
        "Distance between verify headers inside a block",
    )
    .at("I/O", "Verify")
    .min(96)
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_offset",
        Kind::Int,
        "Move the header this many bytes into each interval",
    )
    .at("I/O", "Verify")
    .min(48)
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_pattern",
        Kind::Custom,
        "Byte pattern for the payload; also switches verify on when that is unset",
    )
    .at("I/O", "Verify")
    .parent("verify")
    .checks(verify_pattern),
    Opt::new(
        "verify_pattern_interval",
        Kind::Int,
        "Regenerate formats such as %o each N bytes of the buffer",
    )
    .at("I/O", "Verify")
    .default("0")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new("verify_fatal", Kind::Bool, "Stop on the first mismatch")
        .at("I/O", "Verify")
        .default("0")
        .parent("verify")
        .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_dump",
        Kind::Bool,
        "Save the wanted and the found block to files on a mismatch",
    )
    .at("I/O", "Verify")
    .default("0")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_async",
        Kind::Int,
        "Number of threads that check data beside the job",
    )
    .at("I/O", "Verify")
    .default("0")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_backlog",
        Kind::Size,
        "Verify after this number of written blocks instead of at the end",
    )
    .at("I/O", "Verify")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_backlog_batch",
        Kind::Int,
        "How many blocks to check per backlog run",
    )
    .at("I/O", "Verify")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_async_cpus",
        Kind::Custom,
        "CPUs for the verify threads",
    )
    .at("I/O", "Verify")
    .parent("verify_async")
    .checks(cpu_list)
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "experimental_verify",
        Kind::Bool,
        "Replay the generator instead of remembering each write",
    )
    .at("I/O", "Verify")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_state_load",
        Kind::Bool,
        "Load a saved state to know where a previous run ended",
    )
    .at("I/O", "Verify")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_state_save",
        Kind::Bool,
        "Save the write state when the job ends",
    )
    .at("I/O", "Verify")
    .default("1")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_write_sequence",
        Kind::Bool,
        "Compare the sequence number in the header",
    )
    .at("I/O", "Verify")
    .default("1")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "verify_header_seed",
        Kind::Bool,
        "Compare the seed in the header",
    )
    .at("I/O", "Verify")
    .default("1")
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "trim_percentage",
        Kind::Int,
        "Share of the verified blocks that get trimmed",
    )
    .at("I/O", "Trim")
    .default("0")
    .range(0, 100)
    .parent("verify")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "trim_verify_zero",
        Kind::Bool,
        "Require trimmed blocks to read as zeroes",
    )
    .at("I/O", "Trim")
    .default("1")
    .parent("trim_percentage")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "trim_backlog",
        Kind::Size,
        "Trim after this number of written blocks",
    )
    .at("I/O", "Trim")
    .parent("trim_percentage")
    .unless(&["verify", "verify_pattern"]),
    Opt::new(
        "trim_backlog_batch",
        Kind::Int,
        "How many blocks to trim per backlog run",
    )
    .at("I/O", "Trim")
    .parent("trim_percentage")
    .unless(&["verify", "verify_pattern"]),
];

fn verify_pattern(_: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    pattern::parse(value.bytes(), true, ctx.host).map(|_| ())
}
