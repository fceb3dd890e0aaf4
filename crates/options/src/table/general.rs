//! Names, engine and queue, groups, credentials, units.

use super::{Kind, Opt, Set, engines, word};
use crate::draft::{Ctx, Draft};
use crate::host::PathKind;
use crate::spec::ExitWhat;
use crate::value::Value;

/// Names of jobs and their order.
pub(super) static DESCRIPTION: &[Opt] = &[
    Opt::new(
        "description",
        Kind::Text,
        "Free text shown with the job's results; no influence on the run",
    )
    .at("General", "Description")
    .sets(Set::Text(|d| &mut d.spec.description)),
    Opt::new(
        "name",
        Kind::Text,
        "Name of the job; on the command line it also opens a new job",
    )
    .at("General", "Description")
    .sets(Set::Run(name)),
    Opt::new(
        "wait_for",
        Kind::Text,
        "Start only after every clone of the job with this name has exited",
    )
    .at("General", "Description")
    .sets(Set::Text(|d| &mut d.spec.wait_for)),
];

/// Engine and queue.
pub(super) static QUEUE: &[Opt] = &[
    Opt::new(
        "ioengine",
        Kind::Custom,
        "Which engine issues the I/O; 'external:PATH' loads a shared object",
    )
    .at("I/O", "General I/O")
    .words(&[
        word("sync", "lseek + read/write"),
        word("psync", "pread/pwrite"),
        word("vsync", "readv/writev with coalescing"),
        word("pvsync", "preadv/pwritev"),
        word("pvsync2", "preadv2/pwritev2"),
        word("libaio", "Linux native AIO"),
        word("io_uring", "Linux io_uring"),
        word("posixaio", "POSIX AIO"),
        word("solarisaio", "Solaris AIO"),
        word("windowsaio", "Windows AIO"),
        word("rbd", "Ceph RBD"),
        word("mmap", "memory mapping"),
        word("splice", "splice/vmsplice"),
        word("netsplice", "splice over a socket"),
        word("sg", "SCSI generic"),
        word("null", "no transfer at all"),
        word("net", "sockets"),
        word("cpuio", "CPU load"),
        word("rdma", "RDMA"),
        word("e4defrag", "ext4 extent moves"),
        word("falloc", "fallocate calls"),
        word("gfapi", "Gluster, synchronous"),
        word("gfapi_async", "Gluster, asynchronous"),
        word("libhdfs", "HDFS"),
        word("ime_psync", "DDN IME"),
        word("ime_psyncv", "DDN IME, vectored"),
        word("ime_aio", "DDN IME, asynchronous"),
        word("dev-dax", "DAX device"),
        word("filecreate", "file creation"),
        word("external", "shared object given after ':'"),
        word("libpmem", "persistent memory"),
        word("http", "WebDAV, S3 or Swift"),
        word("nbd", "network block device"),
        word("dfs", "DAOS file system"),
        word("nfs", "NFS through libnfs"),
        word("xnvme", "xNVMe"),
    ])
    .default("psync")
    .sets(Set::Run(engine)),
    Opt::new(
        "iodepth",
        Kind::Int,
        "How many I/O units the job keeps in flight",
    )
    .at("I/O", "General I/O")
    .default("1")
    .min(1)
    .sets(Set::U32(|d| &mut d.spec.queue.depth)),
    Opt::new(
        "iodepth_batch",
        Kind::Int,
        "Upper bound of I/Os submitted in one go",
    )
    .aka(&["iodepth_batch_submit"])
    .at("I/O", "General I/O")
    .default("1")
    .parent("iodepth")
    .sets(Set::U32(|d| &mut d.spec.queue.batch)),
    Opt::new(
        "iodepth_batch_complete_min",
        Kind::Int,
        "Least number of completions to wait for in one reap",
    )
    .aka(&["iodepth_batch_complete"])
    .at("I/O", "General I/O")
    .default("1")
    .parent("iodepth")
    .sets(Set::U32(|d| &mut d.spec.queue.complete_min)),
    Opt::new(
        "iodepth_batch_complete_max",
        Kind::Int,
        "Most completions taken in one reap",
    )
    .at("I/O", "General I/O")
    .parent("iodepth")
    .sets(Set::U32(|d| &mut d.spec.queue.complete_max)),
    Opt::new(
        "iodepth_low",
        Kind::Int,
        "When the queue is full, drain down to this depth before filling again",
    )
    .at("I/O", "General I/O")
    .parent("iodepth")
    .sets(Set::U32(|d| &mut d.spec.queue.low)),
    Opt::new(
        "serialize_overlap",
        Kind::Bool,
        "Hold an I/O back while an in-flight one touches the same range",
    )
    .at("I/O", "General I/O")
    .default("0")
    .parent("iodepth")
    .sets(Set::Switch(|d| &mut d.spec.queue.serialize_overlap)),
    Opt::new(
        "io_submit_mode",
        Kind::Word,
        "Issue I/O from the job thread itself or from helper threads",
    )
    .at("I/O", "General I/O")
    .words(&[
        word("inline", "the job thread submits and reaps"),
        word("offload", "helper threads do"),
    ])
    .default("inline")
    .sets(Set::Run(io_submit_mode)),
];

/// Groups, barriers, and how jobs end each other.
pub(super) static GROUPS: &[Opt] = &[
    Opt::new(
        "exitall",
        Kind::Flag,
        "First job to finish ends others (which ones: exit_what); program wide",
    )
    .at("General", "Process")
    .sets(Set::Run(exitall)),
    Opt::new(
        "exit_what",
        Kind::Word,
        "Scope of the jobs ended by exitall and exitall_on_error",
    )
    .at("General", "Process")
    .words(&[
        word("group", "the job's group"),
        word("stonewall", "all running jobs, go on after the barrier"),
        word("all", "everything"),
    ])
    .default("group")
    .sets(Set::Run(exit_what)),
    Opt::new(
        "exitall_on_error",
        Kind::Flag,
        "End others as soon as this job fails",
    )
    .at("General", "Process")
    .sets(Set::Switch(|d| &mut d.spec.exitall_on_error)),
    Opt::new(
        "stonewall",
        Kind::Flag,
        "Wait for all earlier jobs; also begins a new reporting group",
    )
    .aka(&["wait_for_previous"])
    .at("General", "Process")
    .sets(Set::Switch(|d| &mut d.spec.stonewall)),
    Opt::new(
        "new_group",
        Kind::Flag,
        "Begin a new reporting group without waiting",
    )
    .at("General", "Process")
    .sets(Set::Switch(|d| &mut d.new_group)),
    Opt::new(
        "thread",
        Kind::Flag,
        "Run the job as a thread rather than a process",
    )
    .at("General", "Process")
    .sets(Set::Switch(|d| &mut d.spec.thread)),
];

/// Credentials, control groups, units.
pub(super) static CREDENTIALS: &[Opt] = &[
    Opt::new("profile", Kind::Text, "Use a built-in workload").at("Profiles", ""),
    Opt::new("cgroup", Kind::Text, "Control group of the job").at("General", "Cgroups"),
    Opt::new(
        "cgroup_nodelete",
        Kind::Bool,
        "Keep the control group afterwards",
    )
    .at("General", "Cgroups")
    .default("0")
    .parent("cgroup")
    .unless(&["cgroup"]),
    Opt::new(
        "cgroup_weight",
        Kind::Int,
        "I/O weight of the control group",
    )
    .at("General", "Cgroups")
    .range(100, 1000)
    .parent("cgroup")
    .unless(&["cgroup"]),
    Opt::new("uid", Kind::Int, "User id of the worker")
        .at("General", "Job credentials / priority")
        .sets(Set::Run(uid))
        .last_counts(),
    Opt::new("gid", Kind::Int, "Group id of the worker")
        .at("General", "Job credentials / priority")
        .sets(Set::Run(gid))
        .last_counts(),
    Opt::new(
        "kb_base",
        Kind::Word,
        "Unit meaning of size suffixes and of printed sizes",
    )
    .at("General", "")
    .words(&[
        word(
            "1024",
            "suffixes inverted (k, kb, ki = 1024, kib = 1000), output prefers binary units",
        ),
        word(
            "1000",
            "suffixes by the standard (k, kb, ki = 1000, kib = 1024), output prefers decimal units",
        ),
    ])
    .default("1024")
    .priority(1)
    .sets(Set::Run(kb_base)),
    Opt::new("unit_base", Kind::Word, "Print rates in bytes or bits")
        .at("General", "")
        .words(&[
            word("0", "chosen by the engine"),
            word("8", "bytes"),
            word("1", "bits"),
        ])
        .priority(1)
        .sets(Set::Run(unit_base)),
    Opt::new("hugepage-size", Kind::Int, "Size of one huge page")
        .at("General", "")
        .default("2097152")
        .unless(&["mem"]),
];

fn name(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.name = value.text().into_owned();
    Ok(())
}

/// Any name is accepted here; whether the engine exists is found out when it is needed. Options
/// of another engine are forgotten.
fn engine(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    let text = value.text();
    let name = text.as_ref();
    if let Some(path) = name.strip_prefix("external:") {
        let path_kind = ctx.host.target_kind(std::path::Path::new(path));
        if !ctx.dry_run && path_kind != PathKind::Regular {
            return Err(format!("there is no engine file '{path}'"));
        }
        ctx.mark_unbuilt();
    } else if let Some((front, tail)) = name.split_once(':') {
        return Err(format!(
            "':{tail}' behind the engine '{front}' has no meaning"
        ));
    }
    let name = engines::canonical(name);
    if engines::find_engine(name).is_some_and(|engine| !engine.built) {
        ctx.mark_unbuilt();
    }
    if draft.engine != name {
        draft.set_engine(name, ctx);
    }
    Ok(())
}

/// Program wide; `exitall=0` switches it on as well, as in fio.
fn exitall(draft: &mut Draft, _: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.program.exitall = true;
    Ok(())
}

fn exit_what(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.exit_what = match value.word() {
        0 => ExitWhat::Group,
        1 => ExitWhat::Stonewall,
        _ => ExitWhat::All,
    };
    Ok(())
}

fn io_submit_mode(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.queue.offload = value.word() == 1;
    Ok(())
}

/// All ones are "unchanged", as for the system calls.
fn id(value: &Value) -> Option<u32> {
    Some(value.last_number() as u32).filter(|id| *id != u32::MAX)
}

fn uid(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.placement.uid = id(value);
    Ok(())
}

fn gid(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.placement.gid = id(value);
    Ok(())
}

fn kb_base(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.reporting.kb_base = if value.word() == 0 { 1024 } else { 1000 };
    Ok(())
}

fn unit_base(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.reporting.unit_base = [0, 8, 1][value.word().min(2)];
    Ok(())
}
