//! Laying out files: making or extending them before the job.
//!
//! A file that holds something keeps it: it is extended behind its old end, never unlinked or
//! truncated. What a failed or interrupted layout made is taken away again.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use ferrio_device::Target;
use ferrio_options::{Fallocate, JobSpec};
use ferrio_workload::content::Content;
use ferrio_workload::geometry::Plan;
use rustix::fs::{Advice, FallocateFlags};

use crate::failure;
use crate::files::{PrepareEvents, Rules, code_of};
use crate::link::Failure;
use crate::sys;

/// What is laid out.
#[derive(Debug)]
pub struct Layout<'a> {
    /// The job.
    pub job: &'a JobSpec,
    /// What is forbidden and demanded.
    pub rules: Rules,
    /// What its files are.
    pub targets: &'a [Target],
}

/// Lays out every file of the plan that is too small. `true` if any file was made or changed.
///
/// # Errors
/// Why a file cannot have its size.
pub fn lay_out(
    layout: &Layout<'_>,
    plan: &mut Plan,
    content: &mut Content,
    events: &mut dyn PrepareEvents,
) -> Result<bool, Failure> {
    let job = layout.job;
    if job.target.create_on_open {
        return Ok(false);
    }
    let wanted: Vec<(usize, u64)> = plan
        .files
        .iter()
        .enumerate()
        .filter_map(|(index, file)| file.extend_to.map(|size| (index, size)))
        .collect();
    if wanted.is_empty() {
        return Ok(false);
    }
    if layout.rules.readonly {
        let path = job.target.files[wanted[0].0].display();
        return Err(
            failure!(libc::EROFS, "extend_file", "refusing to extend a file").advise(format!(
                "{path} is smaller than the job needs, and --readonly forbids extending it"
            )),
        );
    }
    let bytes = wanted
        .iter()
        .map(|(_, size)| *size)
        .fold(0, u64::saturating_add);
    events.laying_out(&job.name, wanted.len() as u32, bytes);
    let mut touched = Vec::new();
    for (index, size) in wanted {
        let path = &job.target.files[index];
        let result = lay_out_file(layout, index, path, size, content, events, &mut touched);
        if result.is_err() || events.stopped() {
            // What this layout made so far would only fill the disk.
            touched
                .into_iter()
                .for_each(|index| take_back(layout, index));
            result?;
            return Ok(true);
        }
        let reached = result?;
        let file = &mut plan.files[index];
        file.real_size = size.min(reached);
        if reached < size {
            // fill_device: the device was full earlier.
            file.len = file.len.min(reached.saturating_sub(file.start));
        }
    }
    Ok(true)
}

/// Content is needed where it will be read, was asked for, or must be there to be written over.
fn needs_content(job: &JobSpec) -> bool {
    let overwrites = job.target.overwrite && !job.target.append || !job.engine.extends();
    job.pattern.reads || (job.pattern.writes && overwrites)
}

/// Returns the size reached. A file that was made or may have been extended is noted in
/// `touched`, whatever comes of it.
fn lay_out_file(
    layout: &Layout<'_>,
    index: usize,
    path: &Path,
    size: u64,
    content: &mut Content,
    events: &mut dyn PrepareEvents,
    touched: &mut Vec<usize>,
) -> Result<u64, Failure> {
    let job = layout.job;
    let (missing, old_size) = match layout.targets[index] {
        Target::Regular { size, .. } => (false, size),
        _ => (true, 0),
    };
    if missing && !job.target.allow_create {
        return Err(
            failure!(libc::ENOENT, "open", "file creation disallowed").advise(format!(
                "{} is missing, and allow_file_create=0",
                path.display()
            )),
        );
    }
    let file = OpenOptions::new()
        .write(true)
        .create(job.target.allow_create)
        .truncate(false)
        .mode(0o644)
        .open(path)
        .map_err(|error| open_failure(path, &error))?;
    touched.push(index);
    let reached = grow(layout, &file, old_size, size, content, events)
        .map_err(|failure| describe(failure, path, size))?;
    if job.target.create_fsync && needs_content(job) {
        file.sync_all()
            .map_err(|error| failure!(code_of(&error), "fsync"))?;
    }
    let added = std::num::NonZeroU64::new(size.saturating_sub(old_size));
    let _ = rustix::fs::fadvise(&file, old_size, added, Advice::DontNeed);
    Ok(reached)
}

/// Undoes what was made or extended: nothing of the user's is in it.
fn take_back(layout: &Layout<'_>, index: usize) {
    let path = &layout.job.target.files[index];
    if let Target::Regular { size, .. } = layout.targets[index] {
        let _ = OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(size));
    } else {
        let _ = std::fs::remove_file(path);
    }
}

fn open_failure(path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    let failure = failure!(code_of(error), format!("open({shown})"));
    match error.raw_os_error() {
        Some(libc::EROFS) => failure.advise(format!("{shown} lies on a read-only file system")),
        Some(libc::EACCES) => failure.advise(format!("no permission to make or write {shown}")),
        Some(libc::ENOENT) => failure.advise(format!(
            "{shown} cannot be made: its directory is missing, or takes no new files"
        )),
        _ => failure,
    }
}

fn describe(failure: Failure, path: &Path, size: u64) -> Failure {
    if failure.code == libc::ENOSPC || failure.code == libc::EDQUOT {
        let shown = path.display();
        return failure.advise(format!(
            "no room for {shown} with {size} bytes: lower size=, or choose another directory"
        ));
    }
    if failure.code == libc::EFBIG {
        return failure.advise(format!(
            "{} may not have {size} bytes: the limit of file sizes (ulimit -f, or the file \
             system's) is smaller",
            path.display()
        ));
    }
    failure
}

/// Reserves the space, and writes content from the old end on. Returns the size reached.
fn grow(
    layout: &Layout<'_>,
    file: &File,
    old_size: u64,
    size: u64,
    content: &mut Content,
    events: &mut dyn PrepareEvents,
) -> Result<u64, Failure> {
    let job = layout.job;
    let filling = job.target.fill_device;
    if !filling {
        reserve(layout, file, size, events)?;
    }
    if !needs_content(job) {
        return Ok(size);
    }
    if !filling {
        match file.set_len(size) {
            Err(error) if error.raw_os_error() != Some(libc::EFBIG) => {
                return Err(failure!(code_of(&error), "ftruncate"));
            }
            _ => {}
        }
    }
    let chunk_len = job.pattern.block[1].max.clamp(1, 1 << 30) as usize;
    let mut chunk = vec![0u8; chunk_len];
    let mut at = old_size;
    while at < size {
        if events.stopped() {
            return Ok(at);
        }
        let len = chunk_len.min(usize::try_from(size - at).unwrap_or(usize::MAX));
        content.fill_layout(&mut chunk[..len]);
        if let Err(error) = file.write_all_at(&chunk[..len], at) {
            let full = matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT));
            if full && filling {
                return file
                    .metadata()
                    .map(|m| m.len())
                    .map_err(|e| failure!(code_of(&e), "fstat"));
            }
            return Err(failure!(code_of(&error), "write"));
        }
        at += len as u64;
    }
    Ok(size)
}

/// Preallocates as `fallocate=` says.
fn reserve(
    layout: &Layout<'_>,
    file: &File,
    size: u64,
    events: &mut dyn PrepareEvents,
) -> Result<(), Failure> {
    let job = layout.job;
    let (label, result) = match job.target.fallocate {
        Fallocate::None => return Ok(()),
        Fallocate::Native => (
            "fallocate",
            rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size).map_err(io::Error::from),
        ),
        Fallocate::Posix => ("posix_fallocate", sys::posix_fallocate(file.as_fd(), size)),
        Fallocate::Keep => (
            "fallocate",
            rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, size)
                .map_err(io::Error::from),
        ),
        Fallocate::Truncate => ("ftruncate", file.set_len(size)),
    };
    let Err(error) = result else { return Ok(()) };
    let code = code_of(&error);
    let full = matches!(code, libc::ENOSPC | libc::EDQUOT);
    match job.target.fallocate {
        // Not every file system can reserve; only the failure to have the room is news, unless
        // the call that always can was asked for.
        Fallocate::Native | Fallocate::Posix => {
            if layout.rules.strict && full {
                return Err(failure!(code, label));
            }
            if full || job.target.fallocate == Fallocate::Posix {
                events.warning(
                    &job.name,
                    format!(
                        "the space of {size} bytes could not be reserved ({}); the job may run \
                         out of it",
                        ferrio_stats::error_text(code)
                    ),
                );
            }
            Ok(())
        }
        _ => Err(failure!(code, label)),
    }
}
