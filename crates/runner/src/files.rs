//! The files of a job before it starts: what they are, whether they may be written, how large
//! they must be.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use ferrio_device::{DeviceNumber, System, Target, examine};
use ferrio_options::{FileKind, FileOperation, JobSpec, Memory};
use ferrio_workload::content::{BufferStart, Content};
use ferrio_workload::geometry::{self, Plan};
use ferrio_workload::seeds::Seeds;
use ferrio_workload::{RealSize, TargetSize};

use crate::failure;
use crate::layout::{self, Layout};
use crate::link::Failure;

/// A job whose files are ready.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Regions and effective size.
    pub plan: Plan,
    /// What each file is, in file-index order.
    pub targets: Vec<Target>,
    /// The generator of buffer contents, advanced by what the layout drew from it.
    pub content: Content,
}

/// What the user forbids or demands of every job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Nothing may be written, made or extended.
    pub readonly: bool,
    /// What goes wrong and would only be told is an error (`--warnings-fatal`).
    pub strict: bool,
}

/// What preparing tells while it works.
pub trait PrepareEvents {
    /// Files are about to be laid out.
    fn laying_out(&mut self, job: &str, files: u32, bytes: u64);
    /// Something the user should know.
    fn warning(&mut self, job: &str, text: String);
    /// The run is being stopped: end early.
    fn stopped(&mut self) -> bool;
}

/// Refuses targets that hold something in use, and plain files among device nodes.
///
/// # Errors
/// One line that says what was found, and what overrides it where something does.
pub fn guard(system: &System, job: &JobSpec) -> Result<(), String> {
    crate::iolog::guard(job)?;
    if job.engine.ignores_files() {
        return Ok(());
    }
    let changes = job.engine.always_changes();
    let writes = job.pattern.writes || job.pattern.trims || changes;
    if let Memory::SharedFile(path) = &job.data.memory
        && let Ok(Target::Block(device)) = examine(path)
        && let Some(found) = ferrio_device::occupant(system, path, device)
    {
        return Err(format!(
            "{} is {}; as memory of the buffers (mem=mmapshared) it would be overwritten",
            path.display(),
            found.what
        ));
    }
    for path in &job.target.files {
        let shown = path.display();
        match examine(path) {
            Ok(Target::Missing) if ferrio_device::would_litter_dev(path) => {
                return Err(format!(
                    "{shown}: no such device; ferrio does not make plain files among device nodes"
                ));
            }
            _ if !writes || job.target.allow_mounted_write => {}
            Ok(Target::Block(device)) => {
                if let Some(found) = ferrio_device::occupant(system, path, device) {
                    return Err(format!(
                        "{shown} is {}; writing to it would destroy data. If that is meant, give \
                         --allow_mounted_write=1",
                        found.what
                    ));
                }
            }
            Ok(Target::Regular { .. }) => {
                if let Some((name, found)) = ferrio_device::loop_over_file(system, path) {
                    return Err(format!(
                        "{shown} is the backing file of /dev/{name}, which is {}; writing to it \
                         would destroy data. If that is meant, give --allow_mounted_write=1",
                        found.what
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Looks at a job's files, plans its regions, and lays out what must be laid out. `peers` are the
/// starts of all jobs' contents, for a job with `dedupe_global`.
///
/// # Errors
/// Why the job cannot start.
pub fn prepare(
    job: &JobSpec,
    seeds: &Seeds,
    peers: &[BufferStart],
    rules: Rules,
    events: &mut dyn PrepareEvents,
) -> Result<Prepared, Failure> {
    let mut content = Content::with_seeds(job, seeds, peers);
    if job.engine.diskless() {
        let size = TargetSize {
            regular: true,
            size: nominal_size(job),
        };
        let sizes = vec![size; job.target.files.len()];
        let plan = plan(job, seeds, &sizes)?;
        let targets = match job.engine.file_operation() {
            Some(operation) => look_at_names(job, operation, rules.readonly)?,
            None => vec![Target::Missing; sizes.len()],
        };
        return Ok(Prepared {
            plan,
            targets,
            content,
        });
    }
    if job.target.files.is_empty() {
        // All names of the clone belong to other clones: there is nothing to set up.
        let plan = Plan {
            files: Vec::new(),
            size: 0,
            total_bytes: 0,
        };
        let targets = Vec::new();
        return Ok(Prepared {
            plan,
            targets,
            content,
        });
    }
    let mut targets = Vec::new();
    let mut sizes = Vec::new();
    for (index, path) in job.target.files.iter().enumerate() {
        let target = look_at(path, job.target.kind(index))?;
        if job.engine.file_operation().is_some() {
            must_be_file(path, target)?;
        }
        let size = size_of(path, target)?;
        tracing::debug!(target: "file", "{} is {target:?}, {size:?}", path.display());
        sizes.push(size);
        targets.push(target);
    }
    make_directories(job)?;
    let mut plan = plan(job, seeds, &sizes)?;
    let layout = Layout {
        job,
        rules,
        targets: &targets,
    };
    for (region, path) in plan.files.iter().zip(&job.target.files) {
        tracing::debug!(
            target: "file",
            "{}: {} bytes from {} on", path.display(), region.len, region.start
        );
    }
    let changed = layout::lay_out(&layout, &mut plan, &mut content, events)?;
    if changed {
        for (index, target) in targets.iter_mut().enumerate() {
            *target = look_at(&job.target.files[index], job.target.kind(index))?;
        }
    }
    Ok(Prepared {
        plan,
        targets,
        content,
    })
}

/// Size of files that are names only: a block for one operation, or as much as is asked for.
fn nominal_size(job: &JobSpec) -> RealSize {
    match job.engine.file_operation() {
        Some(FileOperation::StatDirectory(_)) | None => RealSize::Unlimited,
        Some(_) => RealSize::Bytes(job.pattern.min_block_all),
    }
}

/// What the names of such files lead to now. Directories that are to be looked at or removed are
/// made, mode 0700 less the umask.
fn look_at_names(
    job: &JobSpec,
    operation: FileOperation,
    readonly: bool,
) -> Result<Vec<Target>, Failure> {
    let mut targets = Vec::with_capacity(job.target.files.len());
    for path in &job.target.files {
        let shown = path.display();
        if !operation.on_directories() {
            let target = look_at(path, FileKind::Found)?;
            must_be_file(path, target)?;
            targets.push(target);
            continue;
        }
        let target =
            examine(path).map_err(|error| failure!(code_of(&error), format!("stat({shown})")))?;
        match target {
            Target::Missing if operation.needs_directories() && readonly => {
                return Err(failure!(libc::EROFS, "mkdir").advise(format!(
                    "the directory {shown} is missing, and --readonly forbids making it"
                )));
            }
            Target::Missing if operation.needs_directories() => make_directory(path)?,
            Target::Missing | Target::Directory => {}
            _ => {
                return Err(failure!(libc::ENOTDIR, format!("stat({shown})"))
                    .advise(format!("{shown} is no directory")));
            }
        }
        targets.push(target);
    }
    Ok(targets)
}

fn make_directory(path: &Path) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().mode(0o700).create(path);
    made.map_err(|error| {
        failure!(code_of(&error), "mkdir").advise(format!(
            "the directory {} could not be created",
            path.display()
        ))
    })
}

/// Operations on names are for regular files.
fn must_be_file(path: &Path, target: Target) -> Result<(), Failure> {
    let shown = path.display();
    match target {
        Target::Regular { .. } | Target::Missing => Ok(()),
        _ => Err(
            failure!(libc::EINVAL, format!("open({shown})")).advise(format!(
                "{shown} is no regular file: this engine works on files only"
            )),
        ),
    }
}

fn plan(job: &JobSpec, seeds: &Seeds, sizes: &[TargetSize]) -> Result<Plan, Failure> {
    geometry::plan_with(job, sizes, seeds)
        .map_err(|error| failure!(libc::EINVAL, "setup_files", "{error}").advise(error.to_string()))
        .and_then(|plan| map_fits(job, &plan).map(|()| plan))
}

/// Refuses a random map that does not fit into what memory is free, before it is taken.
fn map_fits(job: &JobSpec, plan: &Plan) -> Result<(), Failure> {
    let needed = ferrio_workload::random_map_bytes(job, plan);
    match memory_available() {
        Some(free) if needed > free => {
            Err(failure!(libc::ENOMEM, "init_random_map").advise(format!(
                "the random map needs {} MiB and {} MiB of memory are free: give norandommap=1 \
                 (blocks may repeat), random_generator=lfsr (no map is needed), a larger bs= or a \
                 smaller size=",
                needed >> 20,
                free >> 20
            )))
        }
        _ => Ok(()),
    }
}

/// Bytes of memory that can be had without swapping (`MemAvailable` of `/proc/meminfo`).
pub fn memory_available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// What a file is to the job: what is found at its path, or what `filetype` says, as far as that
/// can be.
fn look_at(path: &Path, kind: FileKind) -> Result<Target, Failure> {
    let shown = path.display();
    let found = if path == Path::new("-") {
        // Standard input or output, which have no size.
        Target::Pipe
    } else {
        examine(path).map_err(|error| failure!(code_of(&error), format!("stat({shown})")))?
    };
    let target = match (kind, found) {
        (FileKind::Character, Target::Directory) => found,
        (FileKind::Character, Target::Missing) => {
            return Err(failure!(libc::ENOENT, format!("open({shown})"))
                .advise(format!("there is no {shown}, and filetype=char makes none")));
        }
        (FileKind::Character, _) => Target::Character,
        (FileKind::Block, Target::Block(_)) => found,
        (FileKind::Block, _) => {
            return Err(failure!(libc::ENOTBLK, format!("open({shown})")).advise(format!(
                "{shown} is no block device, so filetype=block cannot be: its size cannot be asked"
            )));
        }
        (FileKind::Regular, Target::Block(_) | Target::Character) => {
            // Laying a plain file out would write over the device, whatever its size.
            return Err(failure!(libc::EINVAL, "setup_files").advise(format!(
                "{shown} is a device, which filetype=file would lay out like a plain file"
            )));
        }
        _ => found,
    };
    match target {
        Target::Directory => Err(
            failure!(libc::EISDIR, format!("open({shown})")).advise(format!(
                "{shown} is a directory: name a file or a device with filename=, or give directory="
            )),
        ),
        Target::Pipe => Err(failure!(
            libc::EINVAL,
            "setup_files",
            "failed to get file size of {shown}"
        )
        .advise(format!(
            "{shown} is a pipe or socket; give a file or a device"
        ))),
        other => Ok(other),
    }
}

fn size_of(path: &Path, target: Target) -> Result<TargetSize, Failure> {
    let shown = path.display();
    Ok(match target {
        Target::Missing => TargetSize {
            regular: true,
            size: RealSize::Bytes(0),
        },
        Target::Regular { size, .. } => TargetSize {
            regular: true,
            size: RealSize::Bytes(size),
        },
        Target::Block(_) => {
            let size = ferrio_device::block_size_bytes(path).map_err(|error| {
                failure!(code_of(&error), format!("open({shown})"))
                    .advise(format!("cannot read the size of the block device {shown}"))
            })?;
            if size == 0 {
                return Err(failure!(
                    libc::EINVAL,
                    "setup_files",
                    "{shown}: zero sized block device"
                )
                .advise(format!(
                    "{shown} has no size: no medium, or an unused loop device"
                )));
            }
            TargetSize {
                regular: false,
                size: RealSize::Bytes(size),
            }
        }
        _ => TargetSize {
            regular: false,
            size: RealSize::Unlimited,
        },
    })
}

/// Makes missing parent directories of the job's files, mode 0700 less the umask.
fn make_directories(job: &JobSpec) -> Result<(), Failure> {
    for path in &job.target.files {
        let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) else {
            continue;
        };
        if parent.exists() {
            continue;
        }
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent);
        made.map_err(|error| {
            failure!(code_of(&error), "mkdir").advise(format!(
                "failed to create the directory {}",
                parent.display()
            ))
        })?;
    }
    Ok(())
}

/// Device behind a target, for disk statistics.
pub fn device_of(path: &Path) -> Option<DeviceNumber> {
    match examine(path).ok()? {
        Target::Block(device) => Some(device),
        Target::Regular { on, .. } => Some(on),
        Target::Missing => {
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
            let metadata = fs::metadata(parent.unwrap_or(Path::new("."))).ok()?;
            Some(DeviceNumber::of(std::os::unix::fs::MetadataExt::dev(
                &metadata,
            )))
        }
        _ => None,
    }
}

/// Error number of an I/O error.
pub fn code_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}
