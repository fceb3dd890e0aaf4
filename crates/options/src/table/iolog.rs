//! Recording, replaying (not built), hooks.

use super::{Kind, Opt, Set};
use crate::draft::{Ctx, Draft};
use crate::value::Value;
use crate::value::number::strip_comment;

/// Recording and replaying, hooks.
pub(super) static OPTIONS: &[Opt] = &[
    Opt::new(
        "write_iolog",
        Kind::Text,
        "Record the I/O pattern into a file",
    )
    .at("I/O", "I/O Logging")
    .sets(Set::Text(|d| &mut d.spec.reporting.io_log)),
    Opt::new(
        "iolog_version",
        Kind::Int,
        "Form of the recorded lines: 3 has times, 2 has waits (ferrio only)",
    )
    .at("I/O", "I/O Logging")
    .default("3")
    .range(2, 3)
    .parent("write_iolog")
    .sets(Set::U32(|d| &mut d.spec.reporting.io_log_version)),
    Opt::new(
        "read_iolog",
        Kind::Text,
        "Replay the I/O pattern of a file (iolog or blktrace)",
    )
    .at("I/O", "I/O Logging"),
    Opt::new(
        "read_iolog_chunked",
        Kind::Bool,
        "Read the log piecewise while replaying",
    )
    .at("I/O", "I/O Logging")
    .default("0")
    .parent("read_iolog")
    .unless(&["read_iolog"]),
    Opt::new(
        "replay_no_stall",
        Kind::Bool,
        "Replay at full speed, without the recorded pauses",
    )
    .at("I/O", "I/O Logging")
    .default("0")
    .parent("read_iolog")
    .unless(&["read_iolog"]),
    Opt::new(
        "replay_redirect",
        Kind::Text,
        "Send the whole replay to this file or device",
    )
    .at("I/O", "I/O Logging")
    .parent("read_iolog")
    .unless(&["read_iolog"]),
    Opt::new(
        "replay_scale",
        Kind::Int,
        "Divide the recorded offsets by this factor",
    )
    .at("I/O", "I/O Logging")
    .default("1")
    .parent("read_iolog")
    .unless(&["read_iolog"]),
    Opt::new(
        "replay_align",
        Kind::Int,
        "Align the recorded offsets down to this power of two",
    )
    .at("I/O", "I/O Logging")
    .parent("read_iolog")
    .pow2()
    .unless(&["read_iolog"]),
    Opt::new(
        "replay_time_scale",
        Kind::Int,
        "Percentage applied to the recorded pauses",
    )
    .at("I/O", "I/O Logging")
    .default("100")
    .min(1)
    .parent("read_iolog")
    .unless(&["read_iolog"]),
    Opt::new(
        "replay_skip",
        Kind::Custom,
        "Kinds of operations left out of the replay: read, write, trim, sync (',' list)",
    )
    .at("I/O", "I/O Logging")
    .parent("read_iolog")
    .checks(replay_skip)
    .unless(&["read_iolog"]),
    Opt::new(
        "merge_blktrace_file",
        Kind::Text,
        "Write the merged traces into this file",
    )
    .at("I/O", "I/O Logging")
    .unless(&["read_iolog"]),
    Opt::new(
        "merge_blktrace_scalars",
        Kind::Floats,
        "Time percentage for each merged trace",
    )
    .at("I/O", "I/O Logging")
    .limit(20)
    .unless(&["read_iolog"]),
    Opt::new(
        "merge_blktrace_iters",
        Kind::Floats,
        "How many times each merged trace is taken",
    )
    .at("I/O", "I/O Logging")
    .limit(20)
    .unless(&["read_iolog"]),
    Opt::new(
        "exec_prerun",
        Kind::Text,
        "Shell command run before the job",
    )
    .at("General", "")
    .sets(Set::Text(|d| &mut d.spec.hooks.before)),
    Opt::new(
        "exec_postrun",
        Kind::Text,
        "Shell command run after the job",
    )
    .at("General", "")
    .sets(Set::Text(|d| &mut d.spec.hooks.after)),
    Opt::new(
        "ioscheduler",
        Kind::Text,
        "Switch the device to this scheduler before the job",
    )
    .at("File", "")
    .sets(Set::Text(|d| &mut d.spec.placement.io_scheduler)),
];

fn replay_skip(_: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if ctx.dry_run {
        return Ok(());
    }
    for word in strip_comment(&value.text()).split(',') {
        if !matches!(word, "read" | "write" | "trim" | "sync") {
            return Err(format!(
                "'{word}' is none of its words: read, write, trim, sync"
            ));
        }
    }
    Ok(())
}
