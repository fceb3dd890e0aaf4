//! Logs that several workers wrote parts of.

use std::path::{Path, PathBuf};

use ferrio_stats::Severity;

use super::Supervisor;
use crate::iolog::{self, Destination};

impl Supervisor<'_> {
    /// Makes one log of the parts that several workers wrote, for each such log.
    pub(super) fn merge_logs(&mut self) {
        let mut done: Vec<&str> = Vec::new();
        for index in 0..self.jobs.len() {
            let show = &self.jobs[index].spec.reporting;
            let Some(file) = show.io_log.as_deref().filter(|file| !done.contains(file)) else {
                continue;
            };
            done.push(file);
            let parts: Vec<PathBuf> = self
                .jobs
                .iter()
                .filter(|job| job.spec.reporting.io_log.as_deref() == Some(file))
                .filter_map(|job| match &job.iolog {
                    Some(Destination::Part(path)) => Some(path.clone()),
                    _ => None,
                })
                .collect();
            if let Err(error) = iolog::merge(Path::new(file), show.io_log_version, &parts) {
                let text = format!(
                    "the parts of write_iolog={file} could not be merged: {error}; they are left \
                     beside it as {file}.*.part"
                );
                self.say(Severity::Error, None, text);
                self.failures += 1;
            }
        }
    }
}
