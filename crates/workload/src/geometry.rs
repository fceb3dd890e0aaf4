//! How much of each file a job uses, and what has to be laid out first.
//!
//! Pure: the runner finds the files' sizes, [`plan`] decides. The only random part is the size of
//! each file under `filesize=low-high`.

use std::os::unix::ffi::OsStrExt;

use ferrio_options::{Amount, JobSpec};

use crate::seeds::{self, Purpose, Seeds};
use crate::{RealSize, TargetSize};

/// The region of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileGeometry {
    /// The path's bytes as used: the file's distribution is seeded from their hash.
    pub name: Vec<u8>,
    /// Size in bytes once the file is laid out; `u64::MAX` is without limit.
    pub real_size: u64,
    /// First byte of the region in the first pass.
    pub start: u64,
    /// First byte of the region in later passes, and what its end counts from. The start is looked up
    /// again once the file is laid out: a share of its size is another one then, and with `file_append` it
    /// is the new end.
    pub later_start: u64,
    /// Length of the region in bytes.
    pub len: u64,
    /// Size in bytes to which the file has to be laid out; `None` when it is large enough, is no
    /// regular file, or is made when it is opened.
    pub extend_to: Option<u64>,
}

/// What a job will work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Files in index order.
    pub files: Vec<FileGeometry>,
    /// Effective `size` of the job in bytes: what a pass covers; `u64::MAX` is without limit.
    pub size: u64,
    /// Bytes of all loops, for the progress line; `u64::MAX` is without limit.
    pub total_bytes: u64,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// Neither `size` nor the files tell how much to do.
    #[error(
        "the files have no size of their own, so there is nothing to take the amount of I/O from: give size= or filesize="
    )]
    NeedsSize {
        /// The job's name.
        job: String,
    },
    /// The start lies behind the end of the file.
    #[error(
        "file {file} ends at byte {end}, the I/O would start at {start}: give a smaller offset= or a larger size"
    )]
    BadOffset {
        /// The job's name.
        job: String,
        /// The file's path.
        file: String,
        /// Where the region would start, in bytes.
        start: u64,
        /// Where the file, or its wanted size, ends, in bytes.
        end: u64,
    },
    /// No file can take a single block.
    #[error(
        "the smallest block has {block} bytes, the range to work on only {size}: use a smaller bs= or a larger size="
    )]
    BlockTooLarge {
        /// The job's name.
        job: String,
        /// Effective size in bytes.
        size: u64,
        /// Smallest block size of the three directions, in bytes.
        block: u64,
    },
    /// `randrepeat=0` without `randseed`: the seeds have to be passed in.
    #[error("randrepeat=0 without randseed= takes its seeds from the system, and none were passed")]
    NeedsSeeds {
        /// The job's name.
        job: String,
    },
    /// The sizes found do not match the job's files.
    #[error("{sizes} file sizes were passed for {files} files")]
    FileCount {
        /// The job's name.
        job: String,
        /// Files of the job.
        files: usize,
        /// Sizes passed.
        sizes: usize,
    },
}

/// `percent` of `value`, rounded down; without limit stays so.
fn percent_of(value: u64, percent: u32) -> u64 {
    if value == u64::MAX {
        return value;
    }
    u64::try_from(u128::from(value) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

/// Bytes of an amount that may be a share of `whole`.
fn amount_of(amount: Amount, whole: u64) -> u64 {
    amount
        .percent
        .map_or(amount.bytes, |percent| percent_of(whole, percent))
}

/// Decides regions, effective size and layout of a job. `sizes` are the files' present sizes, 0
/// for a regular file that does not exist.
pub fn plan(job: &JobSpec, sizes: &[TargetSize]) -> Result<Plan, GeometryError> {
    let draws_sizes = job.target.filesize.is_some_and(|(low, high)| low != high);
    match seeds::of_job(job) {
        Some(seeds) => plan_with(job, sizes, &seeds),
        None if !draws_sizes => plan_with(job, sizes, &[0; seeds::COUNT]),
        None => Err(GeometryError::NeedsSeeds {
            job: job.name.clone(),
        }),
    }
}

/// [`plan`] with the seeds given.
pub fn plan_with(
    job: &JobSpec,
    sizes: &[TargetSize],
    seeds: &Seeds,
) -> Result<Plan, GeometryError> {
    let count = job.target.files.len();
    if sizes.len() != count {
        return Err(GeometryError::FileCount {
            job: job.name.clone(),
            files: count,
            sizes: sizes.len(),
        });
    }
    let mut size = job.sizes.size.bytes;
    if size == 0 && job.sizes.size.percent.is_none() && job.target.fill_device {
        size = u64::MAX;
    }
    let real_sizes = real_sizes(job, sizes, size)?;
    let mut planner = Planner::new(job, seeds, size, count as u64);
    let mut files = Vec::with_capacity(count);
    let mut total = 0_u64;
    for (index, (target, real_size)) in sizes.iter().zip(real_sizes).enumerate() {
        let (file, amount) = planner.file(index, *target, real_size)?;
        total = total.saturating_add(amount);
        files.push(file);
    }
    if size == 0 || (total != 0 && size > total) {
        size = total;
    }
    let block = job.pattern.min_block_all;
    if size < block {
        return Err(GeometryError::BlockTooLarge {
            job: job.name.clone(),
            size,
            block,
        });
    }
    let amount = if job.sizes.io_size.bytes != 0 {
        job.sizes.io_size.bytes
    } else {
        size
    };
    Ok(Plan {
        files,
        size,
        total_bytes: amount.saturating_mul(job.sizes.loops.max(1)),
    })
}

/// The sizes to work with; an endless file takes its share of `size`.
fn real_sizes(job: &JobSpec, sizes: &[TargetSize], size: u64) -> Result<Vec<u64>, GeometryError> {
    let known = sizes.iter().map(|target| match target.size {
        RealSize::Bytes(bytes) => bytes,
        RealSize::Unlimited => u64::MAX,
    });
    let sum = known.clone().fold(0_u64, u64::saturating_add);
    let says_nothing = sum == 0 || sum == u64::MAX;
    let needed = job.engine.does_io() && job.target.filesize.is_none();
    if says_nothing && size == 0 && needed {
        return Err(GeometryError::NeedsSize {
            job: job.name.clone(),
        });
    }
    let count = sizes.len().max(1) as u64;
    Ok(known
        .map(|bytes| {
            if bytes == u64::MAX && size != 0 {
                size / count
            } else {
                bytes
            }
        })
        .collect())
}

/// What the files of a plan have in common.
struct Planner<'job> {
    job: &'job JobSpec,
    share: u64,
    /// Files at the head of the list that get one smallest block more.
    extras: u64,
    draws: crate::rng::Rng,
}

impl<'job> Planner<'job> {
    fn new(job: &'job JobSpec, seeds: &Seeds, size: u64, count: u64) -> Self {
        let share = size / count.max(1);
        let extras = (size - share * count) / job.pattern.min_block_all.max(1);
        Planner {
            job,
            share,
            extras,
            draws: seeds::rng(job, seeds, Purpose::FileSize),
        }
    }

    /// The region of one file, and the bytes that it adds to the job's amount.
    fn file(
        &mut self,
        index: usize,
        target: TargetSize,
        real: u64,
    ) -> Result<(FileGeometry, u64), GeometryError> {
        let job = self.job;
        // Names only: such a file is as large as it is asked to be.
        let regular = target.regular || job.engine.diskless();
        let append = job.target.append && regular;
        let start_in = |real| {
            if append {
                real
            } else {
                start_offset(job, real)
            }
        };
        let start = start_in(real);
        let path = &job.target.files[index];
        let offset_error = |end| GeometryError::BadOffset {
            job: job.name.clone(),
            file: path.display().to_string(),
            start,
            end,
        };
        let mut len = match job.target.filesize {
            Some((low, high)) if real < low || real > high => {
                let wanted = if low == high {
                    low
                } else {
                    self.draw_size(low, high)
                };
                if start > low {
                    return Err(offset_error(low));
                }
                wanted
                    .checked_sub(start)
                    .ok_or_else(|| offset_error(wanted))?
            }
            Some(_) => real.checked_sub(start).ok_or_else(|| offset_error(real))?,
            None => match self.share
                + if (index as u64) < self.extras {
                    job.pattern.min_block_all
                } else {
                    0
                } {
                0 => real.checked_sub(start).ok_or_else(|| offset_error(real))?,
                len => len,
            },
        };
        let endless = len == u64::MAX || (real == u64::MAX && len == u64::MAX - start);
        if let Some(percent) = job.sizes.size.percent.filter(|p| *p != 100 && !endless) {
            len = percent_of(len.saturating_add(start), percent).min(len);
            len -= len % job.pattern.min_block_all.max(1);
        }
        let end = len.saturating_add(start);
        let grows = regular && end > real;
        let real_size = if grows { end } else { real };
        let file = FileGeometry {
            name: path.as_os_str().as_bytes().to_vec(),
            real_size,
            start,
            later_start: start_in(real_size),
            len,
            extend_to: (grows && !job.engine.diskless() && !job.target.create_on_open)
                .then_some(end),
        };
        let amount = if endless {
            u64::MAX
        } else {
            percent_of(len, job.sizes.io_size.percent.unwrap_or(100))
        };
        Ok((file, amount))
    }

    fn draw_size(&mut self, low: u64, high: u64) -> u64 {
        let drawn = self.draws.scaled((high - low) as f64).saturating_add(low);
        drawn - drawn % self.job.pattern.min_block_all.max(1)
    }
}

/// `offset` and `offset_increment` of a file of `real` bytes. Shares of the file are rounded up to
/// `offset_align` (or the smallest block); absolute offsets are taken as they are.
fn start_offset(job: &JobSpec, real: u64) -> u64 {
    let sizes = &job.sizes;
    let increment = amount_of(sizes.offset_increment, real);
    let start = amount_of(sizes.offset, real)
        .saturating_add(increment.saturating_mul(u64::from(job.clone_index)));
    let is_percent = |amount: Amount| amount.percent.is_some_and(|percent| percent > 0);
    if !is_percent(sizes.offset) && !is_percent(sizes.offset_increment) {
        return start;
    }
    let unit = if sizes.offset_align != 0 {
        sizes.offset_align
    } else {
        job.pattern.min_block_all
    };
    start.checked_next_multiple_of(unit.max(1)).unwrap_or(start)
}
