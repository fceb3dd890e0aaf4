//! What is decided once: from a job and its plan to a stream.

use ferrio_options::{Distribution, Generator, JobSpec, Pattern};

use super::file::{File, Span};
use super::pick::Picker;
use super::syncs::Syncs;
use super::{
    Block, Draw, EndRules, Notice, Op, OpKind, OpStream, READ, Rare, StreamError, TRIM, WRITE,
};
use crate::divisor::Divisor;
use crate::geometry::Plan;
use crate::hash::name_hash;
use crate::lfsr::Lfsr;
use crate::map::RandomMap;
use crate::rank::{RankDistribution, RankKind, ZetaCache};
use crate::rng::{Rng, Taus32};
use crate::seeds::{self, Purpose, Seeds};
use crate::sizes::Lengths;
use crate::zones::ZoneTable;

/// Bytes of memory that the random maps of a job take; 0 for a job without. To be compared with
/// what is free before [`OpStream::new`] takes it.
pub fn random_map_bytes(job: &JobSpec, plan: &Plan) -> u64 {
    if !uses_map(&job.pattern) {
        return 0;
    }
    let bytes = plan
        .files
        .iter()
        .map(|file| RandomMap::bytes(blocks_of(job, file.len.min(file.real_size))));
    bytes.fold(0, u64::saturating_add)
}

/// Whether offsets of a random job come from the generator as they are.
fn draws_offsets(distribution: &Distribution) -> bool {
    matches!(
        distribution,
        Distribution::Random | Distribution::Zoned(_) | Distribution::ZonedAbs(_)
    )
}

fn uses_lfsr(pattern: &Pattern) -> bool {
    pattern.random
        && pattern.generator == Generator::Lfsr
        && draws_offsets(&pattern.distribution[READ])
}

/// Whether blocks are entered in a map. Where offsets are aligned to something else than the
/// smallest block, block numbers of the two would not agree.
fn uses_map(pattern: &Pattern) -> bool {
    pattern.random
        && !pattern.norandommap
        && pattern.generator != Generator::Lfsr
        && pattern.distribution[READ] == Distribution::Random
        && pattern
            .block
            .iter()
            .all(|block| block.align == 0 || block.align == block.min)
}

/// Blocks of a file's map or register; `usable` are the bytes of its region.
fn blocks_of(job: &JobSpec, usable: u64) -> u64 {
    let bytes = job.pattern.strided.map_or(usable, |strided| strided.range);
    bytes / job.pattern.min_block_all.max(1)
}

impl OpStream {
    /// The stream of a job. `synchronous`: the engine completes each operation inside the call
    /// that issues it (a job's passes then end by what they issue, else by what they queue).
    ///
    /// # Errors
    /// The job has no seeds of its own (see [`OpStream::with_seeds`]), the memory for a random map
    /// is not there, or a shift register cannot start.
    pub fn new(job: &JobSpec, plan: &Plan, synchronous: bool) -> Result<Self, StreamError> {
        let seeds = seeds::of_job(job).ok_or_else(|| StreamError::NeedsSeeds {
            job: job.name.clone(),
        })?;
        OpStream::with_seeds(job, plan, synchronous, seeds)
    }

    /// [`OpStream::new`] from the seeds given.
    pub fn with_seeds(
        job: &JobSpec,
        plan: &Plan,
        synchronous: bool,
        seeds: Seeds,
    ) -> Result<Self, StreamError> {
        let pattern = &job.pattern;
        let count = plan.files.len();
        if count == 0 || count != job.target.files.len() {
            let (job, files) = (job.name.clone(), job.target.files.len());
            return Err(StreamError::FileCount {
                job,
                planned: count,
                files,
            });
        }
        let wide = pattern.generator == Generator::Tausworthe64;
        let rng = |purpose: Purpose| Rng::new(seeds[purpose as usize], wide);
        let taus = |purpose: Purpose| Taus32::new(seeds[purpose as usize]);
        let syncs = Syncs::new(pattern);
        let picker = Picker::new(job, count, wide, &seeds)
            .ok_or(StreamError::TooManyFiles { files: count })?;
        let rare = Rare::new(job, plan, &taus, &picker);
        let empty = !job.engine.does_io();
        let plain = !empty
            && !syncs.any()
            && !pattern.trimwrite()
            && pattern.strided.is_none()
            && rare.batch == 1
            && rare
                .percentage_random
                .iter()
                .all(|percentage| *percentage >= 100)
            && !pattern.seq_rand_sizes
            && !(pattern.mixed() && job.pacing.rate.caps());
        let mut stream = OpStream {
            plain,
            empty,
            random: pattern.random,
            mixed: pattern.mixed(),
            trimwrite: pattern.trimwrite(),
            direction: if pattern.reads {
                READ
            } else if pattern.writes {
                WRITE
            } else {
                TRIM
            },
            draw: match &pattern.distribution[READ] {
                Distribution::Random => Draw::Uniform,
                Distribution::Zipf { .. }
                | Distribution::Pareto { .. }
                | Distribution::Normal { .. } => Draw::Rank,
                Distribution::Zoned(_) => Draw::Zoned,
                Distribution::ZonedAbs(_) => Draw::ZonedAbs,
                Distribution::Sequence { .. } => Draw::Sequence,
            },
            uses_lfsr: uses_lfsr(pattern),
            single_open: false,
            files: plan.files.iter().map(File::new).collect(),
            found: Op {
                kind: OpKind::Read,
                file: 0,
                offset: 0,
                len: 0,
            },
            offsets: rng(Purpose::Offset),
            lengths: lengths(&pattern.block, pattern.unaligned, wide),
            length_draws: length_draws(&seeds, pattern.trimwrite(), wide),
            block: [READ, WRITE, TRIM].map(|direction| {
                let block = &pattern.block[direction];
                let align = if block.align == 0 {
                    block.min
                } else {
                    block.align
                };
                Block {
                    min: Divisor::new(block.min),
                    align: Divisor::new(align),
                }
            }),
            issued_ops: [0; 3],
            mix_draws: taus(Purpose::Mix),
            mix_direction: READ,
            mix_threshold: 0,
            mix_percent: [
                u64::from(pattern.mix_read),
                100_u64.saturating_sub(u64::from(pattern.mix_read)),
                0,
            ],
            picker,
            syncs,
            rare,
            end: EndRules::new(job, plan, synchronous),
            seeds,
            reseeds: seeds::repeatable(job),
            sizes: pattern.block.clone(),
            unaligned: pattern.unaligned,
            wide,
            verdict: None,
            notices: Vec::new(),
        };
        if pattern.random {
            stream.prepare_files(job)?;
        }
        Ok(stream)
    }

    /// Ranges, maps, registers and distributions of a random job's files.
    fn prepare_files(&mut self, job: &JobSpec) -> Result<(), StreamError> {
        let pattern = &job.pattern;
        let map = uses_map(pattern);
        let mut sums = ZetaCache::default();
        for index in 0..self.files.len() {
            let file = &mut self.files[index];
            let usable = file.usable();
            for direction in [READ, WRITE, TRIM] {
                let Block { min, align } = self.block[direction];
                let range = pattern.strided.map_or(usable, |strided| strided.range);
                let range = range.saturating_sub(min.value().saturating_sub(align.value()));
                file.spans[direction] = Span::new(align.div_rem(range).0);
            }
            let blocks = blocks_of(job, usable);
            if draws_offsets(&pattern.distribution[READ]) && blocks > u64::from(u32::MAX) {
                let name = file.display();
                self.widen(pattern, name);
            }
            let file = &mut self.files[index];
            if self.uses_lfsr {
                file.lfsr = Some(Lfsr::new(blocks, self.seeds[Purpose::Offset as usize], 0)?);
            } else if map {
                file.map = RandomMap::new(blocks);
                if file.map.is_none() {
                    let (file, bytes) = (file.display(), RandomMap::bytes(blocks));
                    if !pattern.softrandommap {
                        return Err(StreamError::MapMemory { file, bytes });
                    }
                    self.notices.push(Notice::MapLeftOut { file, bytes });
                }
            } else if let Some((kind, center)) = rank_kind(&pattern.distribution[READ]) {
                let smallest = pattern.block[READ].min.min(pattern.block[WRITE].min).max(1);
                let hash = u64::from(name_hash(&file.name));
                let seed = hash
                    .wrapping_mul(u64::from(job.job_number))
                    .wrapping_mul(self.seeds[Purpose::Offset as usize]);
                let ranges = usable.div_ceil(smallest);
                let distribution =
                    RankDistribution::new(kind, ranges, center, seed as u32, true, &mut sums);
                file.rank = Some(Box::new(distribution));
            }
        }
        Ok(())
    }

    /// A file has more blocks than 32-bit draws reach. The offsets change to 64-bit draws at once,
    /// all other draws when they are seeded again.
    fn widen(&mut self, pattern: &Pattern, file: String) {
        if pattern.generator != Generator::Tausworthe {
            return;
        }
        let switched = !pattern.generator_given;
        if switched {
            self.offsets = Rng::new(self.seeds[Purpose::Offset as usize], true);
            self.wide = true;
        }
        self.notices
            .push(Notice::NarrowGenerator { file, switched });
    }

    /// Seeds all generators again, but for the files' own distributions.
    pub(super) fn reseed(&mut self) {
        let taus = |purpose: Purpose| Taus32::new(self.seeds[purpose as usize]);
        self.mix_draws = taus(Purpose::Mix);
        self.rare.chosen = None;
        self.rare.seq_or_random = [(); 3].map(|()| taus(Purpose::SeqOrRandom));
        self.rare.zone_draws = taus(Purpose::Zone);
        self.offsets = Rng::new(self.seeds[Purpose::Offset as usize], self.wide);
        self.lengths = lengths(&self.sizes, self.unaligned, self.wide);
        self.length_draws = length_draws(&self.seeds, self.trimwrite, self.wide);
        self.picker.reseed(self.files.len(), self.wide, &self.seeds);
    }
}

fn lengths(sizes: &[ferrio_options::BlockSize; 3], unaligned: bool, wide: bool) -> [Lengths; 3] {
    let draw_max = if wide { u64::MAX } else { u64::from(u32::MAX) };
    std::array::from_fn(|direction| Lengths::new(&sizes[direction], unaligned, draw_max))
}

/// The block size generators. A trim and its write draw equal lengths in trimwrite jobs.
fn length_draws(seeds: &Seeds, trimwrite: bool, wide: bool) -> [Rng; 3] {
    let trim = if trimwrite {
        Purpose::BlockSizeWrite
    } else {
        Purpose::BlockSizeTrim
    };
    [Purpose::BlockSizeRead, Purpose::BlockSizeWrite, trim]
        .map(|purpose| Rng::new(seeds[purpose as usize], wide))
}

fn rank_kind(distribution: &Distribution) -> Option<(RankKind, Option<f64>)> {
    match *distribution {
        Distribution::Zipf { theta, center } => Some((RankKind::Zipf(theta), center)),
        Distribution::Pareto { h, center } => Some((RankKind::Pareto(h), center)),
        Distribution::Normal { deviation, center } => Some((RankKind::Normal(deviation), center)),
        _ => None,
    }
}

impl Rare {
    fn new(job: &JobSpec, plan: &Plan, taus: &impl Fn(Purpose) -> Taus32, picker: &Picker) -> Self {
        let pattern = &job.pattern;
        let batch = if pattern.random {
            u64::from(pattern.batch.max(1))
        } else {
            1
        };
        let (sequence, sequence_stride) = match &pattern.distribution[READ] {
            Distribution::Sequence { blocks, stride } => (blocks.clone(), *stride),
            _ => (Vec::new(), false),
        };
        Rare {
            percentage_random: if pattern.random {
                pattern.percentage_random
            } else {
                [100; 3]
            },
            seq_or_random: [(); 3].map(|()| taus(Purpose::SeqOrRandom)),
            batch,
            batch_left: 1,
            sequencer: pattern.sequencer,
            step: if pattern.random { 0 } else { pattern.step },
            seq_rand_sizes: pattern.seq_rand_sizes,
            strided: pattern.strided,
            zone_range: Divisor::new(pattern.strided.map_or(1, |strided| strided.range)),
            zone_bytes: 0,
            zone_draws: taus(Purpose::Zone),
            zones: [READ, WRITE, TRIM].map(|direction| match &pattern.distribution[direction] {
                Distribution::Zoned(zones) | Distribution::ZonedAbs(zones) => {
                    ZoneTable::new(zones).map(Box::new)
                }
                _ => None,
            }),
            sequence_len: Divisor::new(sequence.len() as u64),
            sequence,
            sequence_stride,
            wraps_by_time: job.pacing.time_based && plan.files.len() == 1,
            wraps_by_amount: pattern.writes && job.sizes.io_size.bytes > plan.size,
            draws_again: job.pacing.time_based || picker.reuses_files(),
            chosen: None,
        }
    }
}

impl EndRules {
    fn new(job: &JobSpec, plan: &Plan, synchronous: bool) -> Self {
        let pattern = &job.pattern;
        let (size, io_size) = (plan.size, job.sizes.io_size.bytes);
        let amount = if io_size != 0 { io_size } else { size };
        let loops = job.sizes.loops.max(1);
        let limit = amount.saturating_mul(loops);
        let map_off = pattern.norandommap || pattern.distribution[READ] != Distribution::Random;
        let mut pass_cap = size;
        if pattern.writes && (!pattern.random || map_off) {
            pass_cap = size.max(io_size);
        }
        if pattern.trimwrite() {
            pass_cap = pass_cap.saturating_add(limit);
        }
        EndRules {
            time_based: job.pacing.time_based,
            loops,
            loops_left: job.sizes.loops,
            io_size,
            amount,
            limit,
            counts: match (pattern.reads, pattern.writes) {
                (true, true) => [true, true, false],
                (false, true) => [false, true, false],
                (true, false) => [true, false, false],
                (false, false) => [false, false, true],
            },
            bytes: 0,
            number_ios: job.sizes.number_ios,
            ops: 0,
            pass_cap,
            queued: 0,
            counts_queued: !synchronous,
            largest_block: pattern
                .block
                .iter()
                .map(|block| block.max)
                .max()
                .unwrap_or(0),
            first_pass: true,
            job_done: false,
            end_sync: pattern.writes
                && (pattern.end_fsync || pattern.fsync_on_close || pattern.end_syncfs),
        }
    }
}
