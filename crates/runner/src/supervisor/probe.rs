//! A first look at every target, by a process of its own.
//!
//! A file system that does not answer (a server that is gone) would hold whoever looks at it, and
//! the supervisor must not be held: a forked child looks first, and a job whose targets do not
//! answer within the grace fails before the supervisor touches them.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use ferrio_options::JobSpec;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, WaitOptions, kill_process, waitpid};
use rustix::time::Timespec;

use super::Supervisor;
use super::job::Phase;
use super::spawn::leave_streams;
use super::watch::io_grace_s;
use crate::failure;
use crate::sys::{self, Fork};

/// Looks at all targets of a job; the answers do not matter here.
fn look(job: &JobSpec) {
    for path in &job.target.files {
        let _ = std::fs::metadata(path);
        if let Some(parent) = path.parent() {
            let _ = std::fs::metadata(parent);
        }
    }
}

impl Supervisor<'_> {
    /// Fails the jobs whose targets do not answer.
    pub(super) fn probe_targets(&mut self) {
        let mut next = 0;
        while next < self.jobs.len() {
            match self.probe_from(next) {
                Some(silent) => {
                    let grace_s = io_grace_s();
                    let failure = failure!(libc::ETIMEDOUT, "stat").advise(format!(
                        "a target of the job does not answer for {grace_s} s: its file system \
                         or server hangs"
                    ));
                    self.job_failed(silent, failure);
                    self.jobs[silent].phase = Phase::Ended;
                    next = silent + 1;
                }
                None => return,
            }
        }
    }

    /// Looks at the jobs from `first` on; the first one that does not answer.
    fn probe_from(&mut self, first: usize) -> Option<usize> {
        // Without a child there is no safe look: the supervisor's own has to do.
        let (mut ours, mut theirs) = UnixStream::pair().ok()?;
        let pid = match sys::fork().ok()? {
            Fork::Parent(pid) => pid,
            Fork::Child => {
                leave_streams(false);
                for job in self.jobs.iter().skip(first) {
                    if !job.spec.engine.ignores_files() {
                        look(job.spec);
                    }
                    let _ = theirs.write_all(&[1]);
                }
                sys::exit_child(0)
            }
        };
        drop(theirs);
        let mut answered = first;
        let mut silent = None;
        while answered < self.jobs.len() {
            let timeout = Timespec {
                tv_sec: io_grace_s() as i64,
                tv_nsec: 0,
            };
            let mut fds = [PollFd::from_borrowed_fd(ours.as_fd(), PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => {
                    silent = Some(answered);
                    break;
                }
                // A signal ends the run; what is silent then is not worth waiting for.
                Err(_) if self.signals.peek_end() => break,
                Err(_) => continue,
                Ok(_) => {}
            }
            let mut bytes = [0; 256];
            match ours.read(&mut bytes) {
                Ok(0) | Err(_) => break,
                Ok(count) => answered += count,
            }
        }
        let _ = kill_process(pid, Signal::KILL);
        if silent.is_none() {
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
        silent
    }
}
