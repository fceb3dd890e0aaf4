//! A worker's open files.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use ferrio_device::Target;
use ferrio_engines::file_ops::{self, OpenFlags};
use ferrio_engines::names::NameCall;
use ferrio_options::{Fadvise, FileOperation, JobSpec, OpenSync, StatCall};
use ferrio_workload::geometry::Plan;
use ferrio_workload::{FileEvents, Op, OpKind};
use rustix::fs::Advice;

use crate::clock::Clock;
use crate::failure;
use crate::files::code_of;
use crate::iolog::{Destination, IoLog};
use crate::link::Failure;
use crate::page::WorkerPage;

/// In place of a descriptor: the file is closed.
const CLOSED: RawFd = -1;
/// In place of a descriptor: the file is open, as far as an engine without files can say.
const DISKLESS: RawFd = -2;

/// What an engine is told about files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    Opened(u32),
    Closed(u32),
}

/// Opens and closes files as the operation stream asks.
pub(super) struct FileTable<'a> {
    job: &'a JobSpec,
    plan: &'a Plan,
    targets: &'a [Target],
    page: &'a WorkerPage,
    clock: Clock,
    readonly: bool,
    /// What the job measures when it opens a file, if that is all.
    name_call: Option<NameCall>,
    /// Descriptors are registered with the engine: they stay open for the whole job.
    pinned: bool,
    open: Vec<Option<OwnedFd>>,
    /// Descriptor per file, or one of the two marks: what the hot loop reads.
    pub(super) fds: Vec<RawFd>,
    /// Flushed since the pass began: a close need not do it again.
    flushed: Vec<bool>,
    /// Files opened and closed since the engine was last told, in this order.
    pub(super) changes: Vec<FileChange>,
    /// The first failure to open.
    pub(super) failure: Option<Failure>,
    /// Things to tell the user, once each.
    pub(super) warnings: Vec<String>,
    warned_cache: bool,
    /// `write_iolog`.
    iolog: Option<IoLog>,
}

impl<'a> FileTable<'a> {
    pub(super) fn new(
        job: &'a JobSpec,
        plan: &'a Plan,
        targets: &'a [Target],
        page: &'a WorkerPage,
        clock: Clock,
        readonly: bool,
    ) -> Self {
        let count = plan.files.len();
        FileTable {
            job,
            plan,
            targets,
            page,
            clock,
            readonly,
            name_call: job.engine.file_operation().map(name_call),
            pinned: false,
            open: (0..count).map(|_| None).collect(),
            fds: vec![CLOSED; count],
            flushed: vec![false; count],
            changes: Vec::new(),
            failure: None,
            warnings: Vec::new(),
            warned_cache: false,
            iolog: None,
        }
    }

    /// Opens the job's log of operations.
    pub(super) fn start_log(&mut self, to: &Destination) -> Result<(), Failure> {
        let log = IoLog::open(to, self.job, self.now_us()).map_err(|error| {
            let (Destination::Log(path) | Destination::Part(path)) = to;
            log_failure(path, &error)
        })?;
        self.iolog = Some(log);
        Ok(())
    }

    /// Operations are recorded.
    pub(super) fn logs(&self) -> bool {
        self.iolog.is_some()
    }

    /// Present time by the program's clock, for the log.
    pub(super) fn now_us(&self) -> u64 {
        self.clock.now_ns() / 1000
    }

    /// Records something, if operations are recorded.
    fn record(&mut self, event: impl FnOnce(&mut IoLog, u64) -> io::Result<()>) {
        let Some(log) = &mut self.iolog else { return };
        if let Err(error) = event(log, self.clock.now_ns() / 1000) {
            let failure = log_failure(log.path(), &error);
            self.failure.get_or_insert(failure);
        }
    }

    /// Records an operation that was issued at an instant.
    pub(super) fn record_op(&mut self, op: &Op, issued_us: u64) {
        self.record(|log, _| log.op(op, issued_us));
    }

    /// Completes the log.
    pub(super) fn finish_log(&mut self) {
        self.record(|log, _| log.finish());
    }

    /// Opens every file for the whole job (registered files).
    pub(super) fn pin_all(&mut self) -> Result<(), Failure> {
        for file in 0..self.fds.len() as u32 {
            if !self.open(file)
                && let Some(failure) = self.failure.take()
            {
                return Err(failure);
            }
        }
        self.pinned = true;
        Ok(())
    }

    /// Closes everything; at the end of the job.
    pub(super) fn close_all(&mut self) {
        self.pinned = false;
        for file in 0..self.fds.len() as u32 {
            self.close(file);
        }
    }

    /// A pass begins: what is written now is not flushed.
    pub(super) fn begin_pass(&mut self) {
        self.flushed.fill(false);
    }

    /// `fsync_on_close`, where it was not done at the end of the pass.
    fn flush_before_close(&mut self, index: usize) {
        let wanted = self.job.pattern.fsync_on_close && self.job.pattern.writes;
        if !wanted || std::mem::replace(&mut self.flushed[index], true) {
            return;
        }
        if let Some(fd) = &self.open[index]
            && let Err(error) = rustix::fs::fsync(fd)
        {
            let failure = failure!(error.raw_os_error(), "fsync_on_close");
            self.failure.get_or_insert(failure);
        }
    }

    /// Size of a file as the job knows it.
    pub(super) fn real_size(&self, file: u32) -> u64 {
        self.plan.files[file as usize].real_size
    }

    /// Flushes a file, opening it when it is closed. `offset` is what a log shows.
    pub(super) fn flush(&mut self, file: u32, offset: u64) -> Result<(), Failure> {
        // Opening a file for this would be the operation that is measured.
        let opens = self.name_call.is_none();
        let was_open = self.fds[file as usize] != CLOSED;
        if !opens && !was_open {
            return Ok(());
        }
        if !was_open
            && !self.open(file)
            && let Some(failure) = self.failure.take()
        {
            return Err(failure);
        }
        let kind = OpKind::Fsync;
        self.record(|log, now| {
            let len = 0;
            let op = Op {
                kind,
                file,
                offset,
                len,
            };
            log.op(&op, now)
        });
        let result = self.open[file as usize].as_ref().map_or(Ok(()), |fd| {
            self.flushed[file as usize] = true;
            rustix::fs::fsync(fd).map_err(|error| {
                let shown = self.job.target.files[file as usize].display();
                failure!(error.raw_os_error(), "end_fsync")
                    .advise(format!("flushing {shown} failed"))
            })
        });
        if !was_open {
            self.closing(file);
            self.close(file);
        }
        result
    }

    /// Flushes every file system that holds a file of the job, once each.
    pub(super) fn flush_file_systems(&mut self, offset: u64) -> Result<(), Failure> {
        let mut done: Vec<u64> = Vec::new();
        for (file, path) in self.job.target.files.iter().enumerate() {
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
            let directory = parent.unwrap_or(Path::new("."));
            let shown = directory.display();
            let failed = |error: &io::Error| {
                failure!(code_of(error), "end_syncfs")
                    .advise(format!("flushing the file system of {shown} failed"))
            };
            let fd = File::open(directory).map_err(|error| failed(&error))?;
            let device = fd.metadata().map_err(|error| failed(&error))?.dev();
            if done.contains(&device) {
                continue;
            }
            done.push(device);
            self.record(|log, now| log.syncfs(file as u32, offset, now));
            rustix::fs::syncfs(&fd).map_err(|error| failed(&error.into()))?;
        }
        Ok(())
    }

    /// Reads the regions of all files into the cache, until `stopped`.
    pub(super) fn pre_read(&mut self, stopped: impl Fn() -> bool) -> Result<(), Failure> {
        let block = self.job.pattern.block[0].max.clamp(1, 1 << 30) as usize;
        let mut buffer = vec![0u8; block];
        for (index, path) in self.job.target.files.iter().enumerate() {
            if !matches!(
                self.targets[index],
                Target::Regular { .. } | Target::Block(_)
            ) {
                continue;
            }
            let region = &self.plan.files[index];
            let file = std::fs::File::open(path)
                .map_err(|error| failure!(code_of(&error), format!("open({})", path.display())))?;
            let end = region
                .start
                .saturating_add(region.len)
                .min(region.real_size);
            let mut at = region.start;
            while at < end && !stopped() {
                let len = block.min(usize::try_from(end - at).unwrap_or(block));
                file.read_exact_at(&mut buffer[..len], at)
                    .map_err(|error| failure!(code_of(&error), "pre_read"))?;
                at += len as u64;
            }
        }
        Ok(())
    }

    /// Removes the job's regular files, or the directories that it works on.
    pub(super) fn unlink(&self) -> Result<(), Failure> {
        if self.job.engine.ignores_files() {
            return Ok(());
        }
        let operation = self.job.engine.file_operation();
        let directories = operation.is_some_and(FileOperation::on_directories);
        for (path, target) in self.job.target.files.iter().zip(self.targets) {
            // Many files take their time: that is no stall.
            self.page.pause_beats.add(1);
            let result = match target {
                _ if directories => std::fs::remove_dir(path),
                Target::Regular { .. } | Target::Missing => std::fs::remove_file(path),
                _ => continue,
            };
            match result {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failure!(code_of(&error), "unlink")
                        .advise(format!("{} could not be removed", path.display())));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The operation on a name that the job measures: a sample of completion latency.
    fn operate(&mut self, index: usize, call: NameCall) -> Result<(), Failure> {
        let path = &self.job.target.files[index];
        let failed = |error: std::io::Error| self.operation_failure(index, &error);
        let name = call.name(path).map_err(failed)?;
        let start_ns = self.clock.now_ns();
        let result = call.perform(&name);
        let end_ns = self.clock.now_ns();
        let fd = result.map_err(failed)?;
        let show = &self.job.reporting;
        if show.clat && show.stats {
            let direction = usize::from(!self.job.pattern.reads);
            let clat_ns = end_ns.saturating_sub(start_ns);
            let stats = &self.page.stats;
            stats.record_own_clat(direction, clat_ns, show.clat_percentiles);
        }
        self.fds[index] = fd.as_ref().map_or(DISKLESS, AsRawFd::as_raw_fd);
        self.open[index] = fd;
        self.page.open_files.add(1);
        Ok(())
    }

    fn operation_failure(&self, index: usize, error: &std::io::Error) -> Failure {
        let shown = self.job.target.files[index].display();
        let code = code_of(error);
        let text = ferrio_stats::error_text(code);
        let (label, done) = match self.job.engine.file_operation() {
            Some(FileOperation::CreateFile) | None => (format!("open({shown})"), "created"),
            Some(FileOperation::StatFile(call) | FileOperation::StatDirectory(call)) => (
                format!("stat({shown}) type={}", call as u32 + 1),
                "looked at",
            ),
            Some(FileOperation::CreateDirectory) => (format!("mkdir({shown})"), "created"),
            Some(FileOperation::DeleteFile | FileOperation::DeleteDirectory) => {
                (format!("delete({shown})"), "deleted")
            }
        };
        failure!(code, label).advise(format!("{shown} could not be {done}: {text}"))
    }

    fn flags(&self, target: Target) -> OpenFlags {
        let job = self.job;
        let changes = job.engine.opens_for_changes();
        let writes = (job.pattern.writes || job.pattern.trims || changes) && !self.readonly;
        let regular = matches!(target, Target::Regular { .. } | Target::Missing);
        let creates = (job.pattern.writes || job.target.create_on_open || changes)
            && regular
            && job.target.allow_create
            && !self.readonly;
        OpenFlags {
            write: writes,
            create: creates,
            direct: job.target.direct,
            sync: job.target.sync == OpenSync::Sync,
            dsync: job.target.sync == OpenSync::Dsync,
            noatime: !regular,
        }
    }

    fn try_open(&mut self, index: usize) -> Result<(), Failure> {
        let path = &self.job.target.files[index];
        let shown = path.display();
        let target = self.targets[index];
        let flags = self.flags(target);
        let fd = file_ops::open(path, flags).map_err(|error| {
            let code = code_of(&error);
            let failure = failure!(code, format!("open({shown})"));
            match code {
                libc::EINVAL if flags.direct => failure.advise(format!(
                    "{shown} does not support direct I/O (direct=1): use another target, or \
                     direct=0 and know that the page cache is measured"
                )),
                libc::EMFILE => failure.advise(
                    "the limit of open files is reached: lower openfiles= or nrfiles=, or raise \
                     RLIMIT_NOFILE (ulimit -n)",
                ),
                libc::EROFS => failure.advise(format!("{shown} lies on a read-only file system")),
                libc::EACCES | libc::EPERM if self.job.placement.uid.is_some() => {
                    failure.advise(format!(
                        "uid= may not open {shown}; files are laid out by the user who started the \
                         run, unless create_serialize=0 leaves it to the worker"
                    ))
                }
                libc::EACCES | libc::EPERM => {
                    failure.advise(format!("no permission to open {shown}"))
                }
                _ => failure,
            }
        })?;
        self.fds[index] = fd.as_raw_fd();
        self.open[index] = Some(fd);
        self.page.open_files.add(1);
        self.changes.push(FileChange::Opened(index as u32));
        if self.job.target.invalidate {
            self.drop_cache(index);
        }
        self.advise(index);
        self.hint(index)
    }

    /// `write_hint`.
    fn hint(&self, index: usize) -> Result<(), Failure> {
        let (Some(hint), Some(fd)) = (self.job.target.write_hint, &self.open[index]) else {
            return Ok(());
        };
        if !matches!(
            self.targets[index],
            Target::Regular { .. } | Target::Missing | Target::Block(_)
        ) {
            return Ok(());
        }
        file_ops::set_write_hint(fd.as_fd(), hint, self.job.target.direct)
            .map_err(|error| failure!(code_of(&error), "fcntl write hint"))
    }

    /// Drops the cache of the file's region.
    fn drop_cache(&mut self, index: usize) {
        let Some(fd) = &self.open[index] else { return };
        let region = &self.plan.files[index];
        let endless = region.start.saturating_add(region.len) > i64::MAX as u64;
        let result = match self.targets[index] {
            // Nobody knows what to drop.
            Target::Regular { .. } | Target::Missing if endless => Ok(()),
            Target::Regular { .. } | Target::Missing => {
                let len = std::num::NonZeroU64::new(region.len);
                rustix::fs::fadvise(fd, region.start, len, Advice::DontNeed).map_err(Into::into)
            }
            Target::Block(_) => file_ops::flush_block_cache(fd.as_fd()),
            _ => Ok(()),
        };
        let Err(error) = result else { return };
        if std::mem::replace(&mut self.warned_cache, true) {
            return;
        }
        let shown = self.job.target.files[index].display();
        let text = ferrio_stats::error_text(code_of(&error));
        self.warnings.push(match error.raw_os_error() {
            Some(libc::EACCES) => format!(
                "the cache of {shown} was not dropped: only root may; reads may come from memory"
            ),
            _ => format!("cache invalidation of {shown} failed: {text}"),
        });
    }

    /// Opens a file that is closed.
    fn really_open(&mut self, file: u32) -> bool {
        let index = file as usize;
        tracing::debug!(target: "file", "open {}", self.job.target.files[index].display());
        if self.job.engine.ignores_files() {
            self.fds[index] = DISKLESS;
            self.page.open_files.add(1);
            return true;
        }
        let opened = match self.name_call {
            Some(call) => self.operate(index, call),
            None => self.try_open(index),
        };
        match opened {
            Ok(()) => true,
            Err(failure) => {
                self.failure.get_or_insert(failure);
                false
            }
        }
    }

    fn advise(&self, index: usize) {
        let advice = match (self.job.target.fadvise, self.job.pattern.random) {
            (Fadvise::None, _) => return,
            (Fadvise::ByPattern, true) | (Fadvise::Random, _) => Advice::Random,
            (Fadvise::ByPattern, false) | (Fadvise::Sequential, _) => Advice::Sequential,
            (Fadvise::NoReuse, _) => Advice::NoReuse,
        };
        let regular_or_block = matches!(
            self.targets[index],
            Target::Regular { .. } | Target::Missing | Target::Block(_)
        );
        if let (true, Some(fd)) = (regular_or_block, &self.open[index]) {
            let region = &self.plan.files[index];
            let len = std::num::NonZeroU64::new(region.len);
            // A hint: a file system that has no use for it is no fault.
            let _ = rustix::fs::fadvise(fd, region.start, len, advice);
        }
    }
}

fn log_failure(path: &Path, error: &io::Error) -> Failure {
    failure!(code_of(error), "write_iolog").advise(format!(
        "{} cannot be written: {}",
        path.display(),
        ferrio_stats::error_text(code_of(error))
    ))
}

/// The call that a job's engine makes on each name.
fn name_call(operation: FileOperation) -> NameCall {
    match operation {
        FileOperation::CreateFile => NameCall::Create,
        FileOperation::StatFile(call) | FileOperation::StatDirectory(call) => match call {
            StatCall::Stat => NameCall::Stat,
            StatCall::Lstat => NameCall::Lstat,
            StatCall::Statx => NameCall::Statx,
        },
        FileOperation::DeleteFile => NameCall::Unlink,
        FileOperation::CreateDirectory => NameCall::MakeDirectory,
        FileOperation::DeleteDirectory => NameCall::RemoveDirectory,
    }
}

impl FileEvents for FileTable<'_> {
    fn open(&mut self, file: u32) -> bool {
        let opened = self.fds[file as usize] != CLOSED || self.really_open(file);
        if opened {
            self.record(|log, now| log.file_event(file, "open", now));
        }
        opened
    }

    fn closing(&mut self, file: u32) {
        self.record(|log, now| log.file_event(file, "close", now));
    }

    fn close(&mut self, file: u32) {
        if self.pinned {
            return;
        }
        let index = file as usize;
        if self.fds[index] != CLOSED {
            tracing::debug!(target: "file", "close {}", self.job.target.files[index].display());
            self.flush_before_close(index);
            self.fds[index] = CLOSED;
            if self.open[index].take().is_some() {
                self.changes.push(FileChange::Closed(file));
            }
            self.page.open_files.set(self.page.open_files.get() - 1);
        }
    }

    fn invalidate(&mut self, file: u32) {
        if self.job.target.invalidate && !self.job.engine.diskless() && self.name_call.is_none() {
            self.drop_cache(file as usize);
        }
    }
}
