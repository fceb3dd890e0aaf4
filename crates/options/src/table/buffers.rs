//! Memory and contents of the buffers.

use super::{Kind, Opt, Set, unbuilt_word, word};
use crate::draft::{Ctx, Draft};
use crate::spec::{DedupeMode, Memory};
use crate::value::{Value, pattern};

/// Memory of the buffers.
pub(super) static MEMORY: &[Opt] = &[
    Opt::new(
        "mem",
        Kind::Word,
        "Where the I/O buffers come from; mmap kinds take ':FILE'",
    )
    .aka(&["iomem"])
    .at("I/O", "")
    .words(&[
        word("malloc", "heap"),
        word("shm", "SysV shared memory"),
        unbuilt_word("shmhuge", "same on huge pages"),
        word("mmap", "anonymous or file mapping"),
        word("mmapshared", "shared mapping"),
        unbuilt_word("mmaphuge", "mapping on huge pages"),
        unbuilt_word("cudamalloc", "GPU memory"),
    ])
    .default("malloc")
    .parameter()
    .sets(Set::Run(memory)),
    Opt::new("iomem_align", Kind::Int, "Alignment of the I/O buffers")
        .aka(&["mem_align"])
        .at("I/O", "")
        .default("0")
        .parent("iomem")
        .sets(Set::U64(|d| &mut d.spec.data.memory_align)),
];

/// What the buffers hold.
pub(super) static CONTENTS: &[Opt] = &[
    Opt::new("zero_buffers", Kind::Flag, "Buffers hold zeroes")
        .at("I/O", "I/O buffers")
        .sets(Set::Switch(|d| &mut d.spec.data.zero)),
    Opt::new(
        "refill_buffers",
        Kind::Flag,
        "New contents for each submitted buffer",
    )
    .at("I/O", "I/O buffers")
    .sets(Set::Switch(|d| &mut d.buffers.refill)),
    Opt::new(
        "scramble_buffers",
        Kind::Bool,
        "Small per-block changes so that buffers differ",
    )
    .at("I/O", "I/O buffers")
    .default("1")
    .sets(Set::Switch(|d| &mut d.buffers.scramble)),
    Opt::new(
        "buffer_pattern",
        Kind::Custom,
        "Byte pattern for the buffers",
    )
    .at("I/O", "I/O buffers")
    .sets(Set::Run(buffer_pattern)),
    Opt::new(
        "buffer_compress_percentage",
        Kind::Int,
        "How compressible the buffers are",
    )
    .at("I/O", "I/O buffers")
    .range(0, 100)
    .sets(Set::Run(compress_percentage))
    .last_counts(),
    Opt::new(
        "buffer_compress_chunk",
        Kind::Int,
        "Size of a compressible unit",
    )
    .at("I/O", "I/O buffers")
    .default("512")
    .parent("buffer_compress_percentage")
    .sets(Set::U64(|d| &mut d.spec.data.compress_chunk)),
    Opt::new(
        "dedupe_percentage",
        Kind::Int,
        "Share of buffers that are duplicates",
    )
    .at("I/O", "I/O buffers")
    .range(0, 100)
    .sets(Set::Run(dedupe_percentage))
    .last_counts(),
    Opt::new(
        "dedupe_global",
        Kind::Bool,
        "Take duplicates from all jobs' buffers",
    )
    .at("I/O", "I/O buffers")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.data.dedupe.global)),
    Opt::new("dedupe_mode", Kind::Word, "Where duplicates come from")
        .at("I/O", "I/O buffers")
        .words(&[
            word("repeat", "the previous buffer"),
            word("working_set", "one of a fixed pool"),
        ])
        .default("repeat")
        .parent("dedupe_percentage")
        .sets(Set::Run(dedupe_mode)),
    Opt::new(
        "dedupe_working_set_percentage",
        Kind::Int,
        "Size of the duplicate pool as a percentage of size",
    )
    .at("I/O", "I/O buffers")
    .default("5")
    .range(0, 100)
    .parent("dedupe_percentage")
    .sets(Set::U32(|d| &mut d.spec.data.dedupe.set_percent)),
];

/// All kinds without a file and without huge pages behave alike, but for segments.
fn memory(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.data.memory = match (value.word(), value.parameter()) {
        (3..=5, Some("")) => return Err("the name of a file is missing behind ':'".to_string()),
        (3, Some(file)) => Memory::File(file.into()),
        (4, Some(file)) => Memory::SharedFile(file.into()),
        // The word as such is not built.
        (5, Some(_)) => Memory::Private,
        (_, Some(text)) => return Err(format!("':{text}' has no meaning behind this word")),
        (1, None) => Memory::Shm,
        (_, None) => Memory::Private,
    };
    Ok(())
}

/// Whether writes refill their buffers depends on the direction and the compression known at this
/// point, so the order of these options matters, as in fio; that of `dedupe_percentage` too, whose
/// refilling is taken back.
fn buffer_pattern(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.data.pattern = pattern::parse(value.bytes(), false, ctx.host)?;
    draft.buffers.refill = draft.spec.data.compress_percent > 0 || draft.spec.pattern.reads;
    draft.buffers.scramble = false;
    draft.spec.data.zero = false;
    Ok(())
}

fn compress_percentage(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.data.compress_percent = value.last_number() as u32;
    draft.spec.data.compressing = true;
    Ok(())
}

/// Refills buffers even when it is 0.
fn dedupe_percentage(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.data.dedupe.percent = value.last_number() as u32;
    draft.spec.data.compressing = true;
    draft.buffers.refill = true;
    Ok(())
}

fn dedupe_mode(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.data.dedupe.mode = if value.word() == 0 {
        DedupeMode::Repeat
    } else {
        DedupeMode::WorkingSet
    };
    Ok(())
}
