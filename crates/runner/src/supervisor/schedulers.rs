//! `ioscheduler`: chosen before a job starts, and given back at the end of the run.
//!
//! The supervisor does it, so that it is given back however the worker ends. Only a supervisor
//! that is killed leaves the machine changed.

use std::process;

use ferrio_device::{Scheduler, System};
use ferrio_stats::Severity;

use super::Supervisor;
use crate::failure;
use crate::files::{code_of, device_of};
use crate::link::Failure;

/// What was changed.
#[derive(Debug)]
pub(super) struct Schedulers {
    /// Disks with the scheduler that they had.
    changed: Vec<(Scheduler, String)>,
    /// Children inherit this by fork, and must not undo anything.
    owner: u32,
}

impl Schedulers {
    pub(super) fn new() -> Self {
        Schedulers {
            changed: Vec::new(),
            owner: process::id(),
        }
    }

    /// Gives every disk its scheduler back; what could not be undone.
    pub(super) fn restore(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        for (scheduler, name) in std::mem::take(&mut self.changed) {
            if let Err(error) = scheduler.choose(&name) {
                left.push(format!(
                    "the I/O scheduler of {} could not be set back to {name}: {error}; write the \
                     name to {}",
                    scheduler.disk(),
                    scheduler.file().display()
                ));
            }
        }
        left
    }

    /// Sets one disk. `Ok` with a text: it could not be, and the job goes on as it does in fio.
    fn set(&mut self, scheduler: Scheduler, wanted: &str) -> Result<Option<String>, Failure> {
        let disk = scheduler.disk().to_string();
        let failed = |code: i32| {
            failure!(code, "iosched_switch").advise(format!(
                "ioscheduler={wanted}: {disk} cannot be switched to it (its choices are in {})",
                scheduler.file().display()
            ))
        };
        let before = scheduler
            .current()
            .map_err(|error| failed(code_of(&error)))?;
        let Some(before) = before else {
            let text = format!("ioscheduler={wanted}: {disk} has no choice of schedulers");
            return Ok(Some(text));
        };
        if before == wanted {
            return Ok(None);
        }
        let written = scheduler.choose(wanted);
        let now = scheduler.current().ok().flatten();
        if written.is_err() || now.as_deref() != Some(wanted) {
            return Err(failed(libc::EINVAL));
        }
        if !self.changed.iter().any(|(known, _)| *known == scheduler) {
            self.changed.push((scheduler, before));
        }
        Ok(None)
    }
}

impl Drop for Schedulers {
    fn drop(&mut self) {
        if self.owner == process::id() {
            self.restore();
        }
    }
}

impl Supervisor<'_> {
    /// Chooses what job `index` wants for the disks under its files.
    pub(super) fn choose_scheduler(&mut self, index: usize) -> Result<(), Failure> {
        let spec = self.jobs[index].spec;
        let Some(wanted) = &spec.placement.io_scheduler else {
            return Ok(());
        };
        if spec.engine.diskless() {
            return Ok(());
        }
        let system = System::default();
        let mut seen = Vec::new();
        for path in &spec.target.files {
            let Some(device) = device_of(path).filter(|device| !seen.contains(device)) else {
                continue;
            };
            seen.push(device);
            let told = match Scheduler::of(&system, device) {
                Some(scheduler) => self.schedulers.set(scheduler, wanted)?,
                None => Some(format!(
                    "ioscheduler={wanted}: nothing under {} has a scheduler",
                    path.display()
                )),
            };
            if let Some(text) = told {
                self.say(Severity::Warning, Some(index), text);
            }
        }
        Ok(())
    }

    /// The end of the run.
    pub(super) fn restore_schedulers(&mut self) {
        for text in self.schedulers.restore() {
            self.say(Severity::Error, None, text);
        }
    }
}
