//! CPUs, priorities, memory.

use super::{Kind, Opt, Set, word};
use crate::draft::{Ctx, Draft};
use crate::value::{Value, list};

/// Locked memory.
pub(super) static MEMORY: &[Opt] = &[Opt::new(
    "lockmem",
    Kind::Size,
    "Pin this amount of memory per worker",
)
.at("General", "")
.default("0")
.sets(Set::U64(|d| &mut d.spec.placement.lock_memory))];

/// Priorities.
pub(super) static PRIORITY: &[Opt] = &[
    Opt::new("comm", Kind::Text, "Kernel-visible name of the worker")
        .at("General", "Description")
        .sets(Set::Text(|d| &mut d.spec.placement.comm)),
    Opt::new("nice", Kind::Int, "Nice value of the worker")
        .at("General", "Job credentials / priority")
        .default("0")
        .range(-20, 19)
        .sets(Set::Run(nice)),
    Opt::new("prio", Kind::Int, "I/O priority level of the worker")
        .at("General", "Job credentials / priority")
        .range(0, 7)
        .sets(Set::U32(|d| &mut d.prio)),
    Opt::new("prioclass", Kind::Int, "I/O priority class of the worker")
        .at("General", "Job credentials / priority")
        .range(0, 3)
        .sets(Set::U32(|d| &mut d.prioclass)),
    Opt::new("priohint", Kind::Int, "I/O priority hint of the worker")
        .at("General", "Job credentials / priority")
        .range(0, 1023)
        .sets(Set::U32(|d| &mut d.priohint)),
];

/// CPUs and NUMA nodes.
pub(super) static CPUS: &[Opt] = &[
    Opt::new("cpumask", Kind::Int, "CPUs of the worker as a bit mask")
        .at("General", "Job credentials / priority")
        .sets(Set::Run(cpumask))
        .last_counts(),
    Opt::new(
        "cpus_allowed",
        Kind::Custom,
        "CPUs of the worker as a ',' list with A-B ranges",
    )
    .at("General", "Job credentials / priority")
    .sets(Set::Run(cpus_allowed)),
    Opt::new(
        "cpus_allowed_policy",
        Kind::Word,
        "All clones share the set, or each gets one CPU of it",
    )
    .at("General", "Job credentials / priority")
    .words(&[
        word("shared", "all clones use the whole set"),
        word("split", "clone i uses the (i mod n)th CPU"),
    ])
    .parent("cpus_allowed")
    .priority(1)
    .sets(Set::Run(cpus_policy)),
    Opt::new(
        "numa_cpu_nodes",
        Kind::Text,
        "NUMA nodes whose CPUs the worker may use",
    )
    .at("General", ""),
    Opt::new(
        "numa_mem_policy",
        Kind::Text,
        "NUMA memory policy MODE[:NODES]",
    )
    .at("General", "")
    .checks(numa_policy),
    Opt::new(
        "gpu_dev_id",
        Kind::Int,
        "GPU that holds the buffers of mem=cudamalloc",
    )
    .at("General", "")
    .default("0")
    .unless(&["mem"]),
];

fn nice(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.placement.nice = (value.number() as u32).cast_signed();
    Ok(())
}

/// Bits 0 to 31; replaces an earlier set.
fn cpumask(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    let mask = value.last_number() as u32;
    if ctx.dry_run {
        return Ok(());
    }
    let cpus: Vec<u32> = (0..32).filter(|cpu| mask >> cpu & 1 == 1).collect();
    let configured = ctx.host.configured_cpus();
    if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= configured) {
        return Err(format!(
            "there is no CPU {cpu}: the last one is {}",
            configured - 1
        ));
    }
    draft.all_cpus = Some(cpus);
    Ok(())
}

fn cpus_allowed(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if ctx.dry_run {
        return Ok(());
    }
    let cpus = list::cpus(&value.text(), ctx.host.configured_cpus())?;
    draft.all_cpus = Some(cpus);
    Ok(())
}

/// A CPU set of an option that is not built.
pub(super) fn cpu_list(_: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if ctx.dry_run {
        return Ok(());
    }
    list::cpus(&value.text(), ctx.host.configured_cpus()).map(|_| ())
}

fn cpus_policy(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.cpus_split = value.word() == 1;
    Ok(())
}

/// `MODE[:NODES]`.
fn numa_policy(_: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if ctx.dry_run {
        return Ok(());
    }
    let text = value.text();
    let (mode, nodes) = match text.split_once(':') {
        Some((mode, nodes)) => (mode, Some(nodes)),
        None => (text.as_ref(), None),
    };
    match (mode, nodes) {
        ("default" | "local", None) | ("interleave", _) | ("prefer" | "bind", Some(_)) => Ok(()),
        ("default" | "local", Some(_)) => Err(format!("'{mode}' takes no nodes")),
        ("prefer" | "bind", None) => Err(format!("'{mode}' needs nodes behind ':'")),
        _ => Err(format!(
            "'{mode}' is none of its words: default, prefer, bind, interleave, local"
        )),
    }
}
