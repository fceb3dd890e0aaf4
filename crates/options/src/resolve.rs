//! From settings to a job: everything that options do to each other, in one place and in fio's
//! order, and the checks that go with it.

use crate::draft::{DistributionKind, Draft, ZoneMode, ZonedAmount};
use crate::spec::{
    Amount, BlockSize, DedupeMode, Direction, Distribution, EngineSpec, FileOperation, Memory,
    MmapOptions, SplitEntry, Strided, Think,
};
use crate::table;

/// Buffers of one job beyond this are refused: no machine maps that much.
const BUFFER_BYTES_MAX: u128 = 1 << 47;

/// What is wrong with a job.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The job cannot run.
    pub(crate) errors: Vec<String>,
    /// Set-up warnings; `--warnings-fatal` makes errors of them.
    pub(crate) warnings: Vec<String>,
    /// Remarks that never are fatal.
    pub(crate) remarks: Vec<String>,
}

/// Settings of the invocation that the rules look at.
pub(crate) struct Rules {
    pub(crate) readonly: bool,
}

/// Fills in every derived setting of `draft`. File names are made already, job number, clone
/// index and group come later. Runs for a section, and again for each of its clones.
pub(crate) fn resolve(draft: &mut Draft, rules: &Rules, findings: &mut Findings) {
    buffers(draft);
    engine(draft, findings);
    readonly(draft, rules, findings);
    atomic(draft, findings);
    zones(draft, findings);
    overwrite(draft);
    block_sizes(draft, findings);
    delays(draft);
    unaligned(draft, findings);
    alignment(draft, findings);
    think(draft);
    queue(draft, findings);
    files(draft, findings);
    rates(draft, findings);
    run_time(draft, findings);
    size(draft);
    caches(draft, findings);
    units(draft);
    compression(draft);
    distribution(draft);
    size_check(draft, findings);
    file_systems(draft, findings);
    seed(draft);
    percentiles(draft);
    dedupe(draft, findings);
    placement(draft, findings);
    memory_check(draft, findings);
}

/// Refilling and scrambling are decided from the raw settings, before anything else: a refill
/// that a later rule switches on does not act in the section itself but in its clones. Contents
/// and generator positions of clones depend on that.
fn buffers(draft: &mut Draft) {
    draft.spec.data.refill = draft.buffers.refill;
    let zero = draft.spec.data.zero && draft.is_given("zero_buffers");
    // Buffers of zeros stay zero, unless scrambling was asked for by name.
    draft.spec.data.scramble =
        draft.buffers.scramble && (draft.is_given("scramble_buffers") || !zero);
}

/// Data that can be compressed to nothing is zeros; other compressible data is new for each write,
/// unless that was decided by name.
fn compression(draft: &mut Draft) {
    let refill_given = draft.is_given("refill_buffers");
    let data = &mut draft.spec.data;
    if data.compress_percent >= 100 {
        data.zero = true;
        data.compress_percent = 0;
    } else if data.compress_percent > 0 && !refill_given {
        data.refill = true;
        draft.buffers.refill = true;
    }
}

/// The working set is made before the job, from its size, and for one file.
fn dedupe(draft: &Draft, findings: &mut Findings) {
    let spec = &draft.spec;
    let dedupe = spec.data.dedupe;
    if dedupe.percent == 0 || dedupe.mode != DedupeMode::WorkingSet {
        return;
    }
    if spec.sizes.size.bytes == 0 {
        findings.errors.push(
            "option 'dedupe_mode=working_set': the working set is a share of 'size', which has to \
             be given in bytes"
                .to_string(),
        );
    } else if spec.target.nrfiles > 1 {
        findings.errors.push(format!(
            "option 'dedupe_mode=working_set': it works with a single file per job, and there are \
             {} (nrfiles, filename)",
            spec.target.nrfiles
        ));
    } else if dedupe.set_percent + dedupe.percent > 100 {
        findings.errors.push(format!(
            "option 'dedupe_percentage': {} % cannot be reached, since {} % of the size are the \
             working set (dedupe_working_set_percentage), whose contents are unique",
            dedupe.percent, dedupe.set_percent
        ));
    }
}

fn engine(draft: &mut Draft, findings: &mut Findings) {
    let options = draft.engine_options;
    draft.spec.engine = match draft.engine.as_str() {
        "null" => EngineSpec::Null,
        "sync" => EngineSpec::Sync,
        "psync" => EngineSpec::Psync,
        "vsync" => EngineSpec::Vsync,
        "pvsync" => EngineSpec::Pvsync,
        "pvsync2" => EngineSpec::Pvsync2(options.pvsync2),
        "libaio" => EngineSpec::Libaio(options.libaio),
        "io_uring" => {
            let mut io_uring = options.io_uring;
            // A polling kernel thread works on registered files only.
            io_uring.register_files |= io_uring.sq_poll;
            EngineSpec::IoUring(io_uring)
        }
        "posixaio" => EngineSpec::Posixaio,
        "mmap" => EngineSpec::Mmap(options.mmap),
        "splice" => EngineSpec::Splice,
        "falloc" => EngineSpec::Falloc,
        "ftruncate" => EngineSpec::Ftruncate,
        "filecreate" => EngineSpec::FileOperation(FileOperation::CreateFile),
        "filestat" => EngineSpec::FileOperation(FileOperation::StatFile(options.stat_call)),
        "filedelete" => EngineSpec::FileOperation(FileOperation::DeleteFile),
        "dircreate" => EngineSpec::FileOperation(FileOperation::CreateDirectory),
        "dirstat" => EngineSpec::FileOperation(FileOperation::StatDirectory(options.stat_call)),
        "dirdelete" => EngineSpec::FileOperation(FileOperation::DeleteDirectory),
        "cpuio" => {
            let mut cpuio = options.cpuio;
            cpuio.load_percent = cpuio.load_percent.min(100);
            EngineSpec::Cpuio(cpuio)
        }
        // Engines that are not built end the run before it starts; psync stands in for them.
        name => {
            if table::find_engine(name).is_none() && !name.starts_with("external") {
                findings.errors.push(unknown_engine(name));
            }
            EngineSpec::Psync
        }
    };
    engine_rules(draft, findings);
}

/// What engines do to other settings, and what they refuse.
fn engine_rules(draft: &mut Draft, findings: &mut Findings) {
    let spec = &mut draft.spec;
    let name = spec.engine.name();
    if spec.target.append && !spec.engine.extends() {
        findings.errors.push(format!(
            "option 'file_append': the engine {name} cannot make files longer"
        ));
    }
    if spec.target.create_on_open && !spec.engine.extends() {
        findings.errors.push(format!(
            "option 'create_on_open': the engine {name} needs files of their full size from the \
             start"
        ));
    }
    if let EngineSpec::Mmap(MmapOptions { huge_pages: true }) = spec.engine
        && spec.pattern.writes
    {
        findings.remarks.push(
            "option 'thp': the mapping is private, so what is written never reaches the file"
                .to_string(),
        );
    }
    if let Some(burner) = spec.engine.burner() {
        if burner.load_percent == 0 {
            findings.errors.push(format!(
                "option 'cpuload': the engine {name} needs it, in per cent of one CPU"
            ));
        }
        // Burns and pauses in turn make up the load.
        spec.pacing.think = Think {
            time_us: burner.pause_us(u64::from(burner.chunk_us)),
            blocks: 1,
            ..Think::default()
        };
        spec.target.nrfiles = 1;
    }
}

/// The one sentence about an engine that nobody knows.
pub(crate) fn unknown_engine(name: &str) -> String {
    let built: Vec<&str> = table::ENGINES
        .iter()
        .filter(|engine| engine.built)
        .map(|engine| engine.name)
        .collect();
    format!(
        "engine '{name}' is not loadable: there is no engine of that name (option 'ioengine'; \
         available: {})",
        built.join(", ")
    )
}

fn readonly(draft: &Draft, rules: &Rules, findings: &mut Findings) {
    let pattern = &draft.spec.pattern;
    if rules.readonly && (pattern.writes || pattern.trims) {
        findings.errors.push(format!(
            "option 'rw={}' writes or trims, which --readonly forbids",
            pattern.word()
        ));
    } else if rules.readonly && draft.spec.engine.always_changes() {
        findings.errors.push(format!(
            "option 'ioengine={}' changes its targets whatever 'rw' says, which --readonly forbids",
            draft.spec.engine.name()
        ));
    }
    if !rules.readonly {
        return;
    }
    let target = &draft.spec.target;
    for (set, name) in [
        (target.unlink, "unlink"),
        (target.unlink_each_loop, "unlink_each_loop"),
    ] {
        if set && !draft.spec.engine.ignores_files() {
            findings.errors.push(format!(
                "option '{name}' removes the files, which --readonly forbids"
            ));
        }
    }
    if let Memory::SharedFile(path) | Memory::File(path) = &draft.spec.data.memory {
        findings.errors.push(format!(
            "option 'mem' uses {} as memory, which --readonly forbids: data that is read would be \
             written there",
            path.display()
        ));
    }
}

fn zones(draft: &mut Draft, findings: &mut Findings) {
    let zoning = &mut draft.zoning;
    match zoning.mode {
        ZoneMode::None if zoning.size != 0 => findings.errors.push(
            "option 'zonesize' has no effect without 'zonemode': add zonemode=strided".to_string(),
        ),
        ZoneMode::Strided if zoning.size == 0 => findings
            .errors
            .push("option 'zonemode=strided' needs 'zonesize'".to_string()),
        ZoneMode::Zbd if !draft.spec.target.create_serialize => findings
            .errors
            .push("options 'zonemode=zbd' and 'create_serialize=0' do not go together".to_string()),
        _ => {}
    }
    // Several open files at once and strided zones exclude each other; fio drops the zones
    // without a word, and the I/O must be the same.
    if zoning.mode == ZoneMode::Strided && draft.spec.target.openfiles > 1 {
        if draft.spec.target.openfiles_given {
            findings.remarks.push(
                "option 'zonemode=strided' is off, because 'openfiles' is above 1".to_string(),
            );
        }
        zoning.mode = ZoneMode::None;
        // The size stays without effect, and is no error in the clones either.
        zoning.size = 0;
    }
    if zoning.mode == ZoneMode::Strided && zoning.range == 0 {
        zoning.range = zoning.size;
    }
    draft.spec.pattern.strided = (zoning.mode == ZoneMode::Strided).then_some(Strided {
        size: zoning.size,
        range: zoning.range,
        skip: zoning.skip.bytes,
    });
}

/// Files of a reading job are laid out with data first, whatever was asked for.
fn overwrite(draft: &mut Draft) {
    if draft.spec.pattern.reads {
        draft.spec.target.overwrite = true;
    }
}

fn block_sizes(draft: &mut Draft, findings: &mut Findings) {
    let blocks = &mut draft.blocks;
    for direction in 0..3 {
        // Ranges and splits have set the bounds before, so they beat bs in any order.
        if blocks.min[direction] == 0 {
            blocks.min[direction] = blocks.bs[direction];
        }
        if blocks.max[direction] == 0 {
            blocks.max[direction] = blocks.bs[direction];
        }
        if blocks.align[direction] == 0 || !draft.spec.pattern.random {
            blocks.align[direction] = blocks.min[direction];
        }
    }
    let pattern = &mut draft.spec.pattern;
    pattern.min_block_all = blocks.min.iter().copied().min().unwrap_or(0);
    if blocks.align != blocks.min && !pattern.norandommap {
        pattern.norandommap = true;
        findings.warnings.push(
            "option 'ba' (blockalign) switches the random map off: blocks may repeat".to_string(),
        );
    }
    for direction in 0..3 {
        pattern.block[direction] = BlockSize {
            min: blocks.min[direction],
            max: blocks.max[direction],
            align: blocks.align[direction],
            split: blocks.split[direction].clone(),
        };
    }
    unreachable_sizes(draft, findings);
}

/// Sizes of a split are cut down to a multiple of the smallest one. Sizes that never can be
/// issued because of that are worth a word.
fn unreachable_sizes(draft: &Draft, findings: &mut Findings) {
    let pattern = &draft.spec.pattern;
    let used = [pattern.reads, pattern.writes, pattern.trims];
    if pattern.unaligned || pattern.seq_rand_sizes {
        return;
    }
    for direction in Direction::ALL {
        let index = direction as usize;
        let block = &pattern.block[index];
        if !used[index] || block.min == 0 || block.min == block.max {
            continue;
        }
        let cut = |entry: &&SplitEntry| entry.percent != 0 && !entry.size.is_multiple_of(block.min);
        let sizes: Vec<String> = block
            .split
            .iter()
            .filter(cut)
            .map(|entry| entry.size.to_string())
            .collect();
        if !sizes.is_empty() {
            findings.remarks.push(format!(
                "option 'bssplit': blocks of {} bytes are never issued, since they are no multiple \
                 of the smallest block of {} bytes (bs_unaligned allows them)",
                sizes.join(", "),
                block.min
            ));
            return;
        }
    }
}

/// A single file size or delay is a range of one; reversed ranges are turned around.
fn delays(draft: &mut Draft) {
    if draft.filesize.1 == 0 {
        draft.filesize.1 = draft.filesize.0;
    }
    let (low, high) = draft.filesize;
    draft.spec.target.filesize = (high != 0).then_some((low.min(high), low.max(high)));
    let (low, high) = draft.spec.pacing.start_delay_us;
    draft.spec.pacing.start_delay_us = (low.min(high), low.max(high));
}

fn unaligned(draft: &Draft, findings: &mut Findings) {
    if draft.spec.pattern.unaligned && draft.spec.target.direct {
        findings.remarks.push(
            "option 'bs_unaligned' may fail with direct=1: most devices take aligned blocks only"
                .to_string(),
        );
    }
}

/// The busy part of a pause is a part of it.
fn think(draft: &mut Draft) {
    let blocks_given = draft.is_given("thinktime_blocks");
    let think = &mut draft.spec.pacing.think;
    think.spin_us = think.spin_us.min(think.time_us);
    think.blocks_given = blocks_given;
}

/// Bytes and operations per second cannot both be asked for, in whatever directions; a floor lies
/// below its cap.
fn rates(draft: &Draft, findings: &mut Findings) {
    let rate = &draft.spec.pacing.rate;
    let any = |values: &[u64; 3]| values.iter().any(|value| *value != 0);
    let (iops, min_iops) = (rate.iops.map(u64::from), rate.min_iops.map(u64::from));
    for (bytes, ops, names) in [
        (&rate.bytes, &iops, "'rate' and 'rate_iops'"),
        (&rate.min_bytes, &min_iops, "'rate_min' and 'rate_iops_min'"),
    ] {
        if any(bytes) && any(ops) {
            findings
                .errors
                .push(format!("options {names} exclude each other in one job"));
        }
    }
    for direction in Direction::ALL {
        let index = direction as usize;
        for (cap, floor, names) in [
            (
                rate.bytes[index],
                rate.min_bytes[index],
                ["rate", "rate_min"],
            ),
            (iops[index], min_iops[index], ["rate_iops", "rate_iops_min"]),
        ] {
            if cap != 0 && cap < floor {
                findings.errors.push(format!(
                    "option '{}': the minimum rate of {floor} exceeds the rate of {cap} given with \
                     '{}' ({}s)",
                    names[1],
                    names[0],
                    direction.word()
                ));
            }
        }
    }
}

/// `iomem_align` is added to the start of a page, so it is the alignment that buffers get.
fn alignment(draft: &Draft, findings: &mut Findings) {
    let align = draft.spec.data.memory_align;
    if draft.spec.target.direct && !align.is_multiple_of(512) && !draft.spec.engine.diskless() {
        findings.remarks.push(format!(
            "option 'iomem_align={align}': buffers begin {align} bytes behind the start of a page, \
             and direct I/O mostly needs a multiple of 512"
        ));
    }
}

fn queue(draft: &mut Draft, findings: &mut Findings) {
    let pattern = &draft.spec.pattern;
    let changes = pattern.writes || pattern.trims;
    let queue = &mut draft.spec.queue;
    if queue.low > queue.depth || queue.low == 0 {
        queue.low = queue.depth;
    }
    if queue.batch > queue.depth || queue.batch == 0 {
        queue.batch = queue.depth;
    }
    queue.complete_max = queue.complete_max.max(queue.complete_min);
    // Overlaps need changes, and more than one operation at a time.
    queue.serialize_overlap &= queue.offload || (changes && queue.depth > 1);
    let own_engine = draft.engine == draft.spec.engine.name();
    if queue.offload && own_engine && !draft.spec.engine.can_be_offloaded() {
        findings.errors.push(format!(
            "option 'io_submit_mode=offload': the engine {} cannot be used by several threads; use \
             a synchronous one, or leave the mode out",
            draft.spec.engine.name()
        ));
    }
    if own_engine && !queue.offload && queue.depth > 1 && draft.spec.engine.one_at_a_time() {
        findings.remarks.push(format!(
            "option 'iodepth={}': the engine {} is synchronous, so the queue depth is 1",
            queue.depth,
            draft.spec.engine.name()
        ));
    }
}

fn files(draft: &mut Draft, findings: &mut Findings) {
    let registers = draft.spec.engine.registers_files();
    let target = &mut draft.spec.target;
    let known = u32::try_from(target.files.len()).unwrap_or(u32::MAX);
    target.nrfiles = target.nrfiles.min(known);
    // Names beyond the number of files are not used.
    target.files.truncate(target.nrfiles as usize);
    if target.openfiles == 0 || target.openfiles > target.nrfiles {
        target.openfiles = target.nrfiles;
    }
    if registers && target.openfiles != target.nrfiles {
        findings.errors.push(format!(
            "option 'openfiles={}': registered files (registerfiles, sqthread_poll) are all open, so \
             it must equal nrfiles={}",
            target.openfiles, target.nrfiles
        ));
    }
}

fn run_time(draft: &mut Draft, findings: &mut Findings) {
    let pacing = &mut draft.spec.pacing;
    if pacing.ramp_us != 0 && pacing.ramp_bytes != 0 {
        findings
            .errors
            .push("options 'ramp_time' and 'ramp_size' exclude each other".to_string());
    }
    if pacing.time_based && pacing.runtime_us == 0 {
        pacing.time_based = false;
        findings.warnings.push(
            "option 'time_based' has no effect without 'runtime': the job ends at its size"
                .to_string(),
        );
    }
}

fn size(draft: &mut Draft) {
    if draft.spec.target.fill_device && draft.size.bytes == 0 {
        // Until the device is full; a share of what is there would be an end of its own.
        draft.size = ZonedAmount {
            bytes: u64::MAX,
            ..ZonedAmount::default()
        };
    }
    let sizes = &mut draft.spec.sizes;
    sizes.size = amount(draft.size);
    sizes.io_size = amount(draft.io_size);
    sizes.offset = amount(draft.offset);
    sizes.offset_increment = amount(draft.offset_increment);
    // No loop at all runs once.
    sizes.loops = sizes.loops.max(1);
}

/// A percentage beats a number of bytes; 0 % is unset.
fn amount(amount: ZonedAmount) -> Amount {
    match amount.percent {
        0 => Amount {
            bytes: amount.bytes,
            percent: None,
        },
        percent => Amount {
            bytes: 0,
            percent: Some(percent),
        },
    }
}

/// Jobs that only read have nothing to tear, but the engine must be one that can.
fn atomic(draft: &mut Draft, findings: &mut Findings) {
    let target = &mut draft.spec.target;
    if !target.atomic {
        return;
    }
    // An engine that is not built ends the run by its own name.
    let own_engine = draft.engine == draft.spec.engine.name();
    if own_engine && !draft.spec.engine.writes_atomically() {
        findings.errors.push(format!(
            "option 'atomic=1': the engine {} does not support atomic writes (pvsync2, libaio and \
             io_uring do)",
            draft.spec.engine.name()
        ));
    }
    target.atomic &= draft.spec.pattern.writes;
    // Whole or not at all: that goes with direct I/O only.
    target.direct = true;
}

/// What was just read into the cache must not be thrown out of it.
fn caches(draft: &mut Draft, findings: &mut Findings) {
    if draft.spec.engine.diskless() {
        // There is nothing to read.
        draft.spec.target.pre_read = false;
    } else if draft.spec.target.pre_read && !draft.spec.engine.seekable() {
        findings.remarks.push(format!(
            "option 'pre_read' is off: the engine {} cannot seek",
            draft.spec.engine.name()
        ));
        draft.spec.target.pre_read = false;
    } else if draft.spec.target.pre_read {
        draft.spec.target.invalidate = false;
    }
}

/// No built engine counts in bits.
fn units(draft: &mut Draft) {
    if draft.spec.reporting.unit_base == 0 {
        draft.spec.reporting.unit_base = 8;
    }
}

/// Uneven distributions repeat blocks, so they use no map, even if it was asked for.
fn distribution(draft: &mut Draft) {
    let zones = &draft.zones;
    let all =
        |distribution: Distribution| [distribution.clone(), distribution.clone(), distribution];
    let each = |make: fn(Vec<crate::spec::Zone>) -> Distribution| {
        [
            make(zones[0].clone()),
            make(zones[1].clone()),
            make(zones[2].clone()),
        ]
    };
    let distribution = match &draft.distribution {
        DistributionKind::Random => all(Distribution::Random),
        DistributionKind::Zipf(theta, center) => all(Distribution::Zipf {
            theta: *theta,
            center: *center,
        }),
        DistributionKind::Pareto(h, center) => all(Distribution::Pareto {
            h: *h,
            center: *center,
        }),
        DistributionKind::Normal(deviation, center) => all(Distribution::Normal {
            deviation: *deviation,
            center: *center,
        }),
        DistributionKind::Zoned => each(Distribution::Zoned),
        DistributionKind::ZonedAbs => each(Distribution::ZonedAbs),
        DistributionKind::Sequence(blocks) => all(Distribution::Sequence {
            blocks: blocks.clone(),
            stride: draft.sequence_stride,
        }),
    };
    let pattern = &mut draft.spec.pattern;
    pattern.norandommap |= draft.distribution != DistributionKind::Random;
    pattern.distribution = distribution;
}

fn size_check(draft: &Draft, findings: &mut Findings) {
    let size = draft.spec.sizes.size.bytes;
    let block = draft.spec.pattern.min_block_all;
    if size != 0 && size < block {
        findings.errors.push(format!(
            "option 'size': {size} bytes are less than the smallest block of {block} bytes"
        ));
    }
}

/// Judged by the engine that the job ends up with.
fn file_systems(draft: &Draft, findings: &mut Findings) {
    if draft.spec.pattern.end_syncfs && draft.spec.engine.diskless() {
        findings.errors.push(format!(
            "option 'end_syncfs': the engine {} has no file systems to flush",
            draft.spec.engine.name()
        ));
    }
}

/// A seed that was given is used, and is not varied from run to run.
fn seed(draft: &mut Draft) {
    let given = draft.is_given("randseed");
    let generator_given = draft.is_given("random_generator");
    let pattern = &mut draft.spec.pattern;
    if !given {
        pattern.randseed = None;
    }
    pattern.generator_given = generator_given;
}

/// What is not measured has no percentiles.
fn percentiles(draft: &mut Draft) {
    let reporting = &mut draft.spec.reporting;
    reporting.lat_percentiles &= reporting.lat;
    reporting.clat_percentiles &= reporting.clat;
    reporting.slat_percentiles &= reporting.slat;
}

fn placement(draft: &mut Draft, findings: &mut Findings) {
    draft.spec.placement.cpus.clone_from(&draft.all_cpus);
    if draft.all_cpus.as_ref().is_some_and(Vec::is_empty) {
        findings
            .errors
            .push("option 'cpus_allowed' (or 'cpumask') leaves no CPU".to_string());
    }
    let given = ["prio", "prioclass", "priohint"]
        .iter()
        .any(|name| draft.is_given(name));
    // The kernel's priority word; without a class the level belongs to best effort.
    let class = if draft.prioclass == 0 {
        2
    } else {
        draft.prioclass
    };
    draft.spec.placement.io_priority =
        given.then_some(class << 13 | draft.priohint << 3 | draft.prio);
}

fn memory_check(draft: &Draft, findings: &mut Findings) {
    let pattern = &draft.spec.pattern;
    let bytes = u128::from(pattern.max_buffer_len()) * u128::from(draft.spec.queue.depth);
    if bytes > BUFFER_BYTES_MAX {
        findings.errors.push(format!(
            "options 'bs' and 'iodepth' ask for {bytes} bytes of buffers, which no machine has"
        ));
    }
}
