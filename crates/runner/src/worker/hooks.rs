//! Commands around a job: `exec_prerun` and `exec_postrun`.
//!
//! A command runs in the worker, as its user and on its CPUs, by `/bin/sh -c`. All that it prints
//! goes to `JOB.prerun.txt` or `JOB.postrun.txt` in the working directory.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process_group};

use super::Reporter;
use crate::failure;
use crate::files::code_of;
use crate::link::{Failure, FromWorker};
use crate::page::{State, WorkerPage};
use crate::sys;

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// When a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Before,
    After,
}

impl When {
    fn word(self) -> &'static str {
        match self {
            When::Before => "prerun",
            When::After => "postrun",
        }
    }

    fn label(self) -> &'static str {
        match self {
            When::Before => "exec_prerun",
            When::After => "exec_postrun",
        }
    }

    fn state(self) -> State {
        match self {
            When::Before => State::PreRun,
            When::After => State::PostRun,
        }
    }
}

/// Runs the command of job `name` to its end. A stop request ends it.
///
/// # Errors
/// It could not be started, or did not end well.
pub(super) fn run(
    command: &str,
    when: When,
    name: &str,
    page: &WorkerPage,
    reporter: &mut Reporter,
) -> Result<(), Failure> {
    let output = format!("{name}.{}.txt", when.word());
    reporter.send(&FromWorker::Notice(format!(
        "{name} : Saving output of {} in {output}",
        when.word()
    )));
    let state = page.state();
    page.set_state(when.state());
    let result = start(command, &output)
        .map_err(|error| {
            failure!(code_of(&error), when.label()).advise(format!(
                "the command of {} could not be started with its output in {output}",
                when.label()
            ))
        })
        .and_then(|child| finish(child, when, &output, page));
    page.set_state(state);
    result
}

fn start(command: &str, output: &str) -> io::Result<Child> {
    if ferrio_device::would_litter_dev(Path::new(output)) {
        // No plain files among device nodes.
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let file = File::create(output)?;
    let parent = getpid();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null());
    shell.stdout(file.try_clone()?).stderr(file);
    shell.process_group(0);
    // SAFETY: between fork and exec, the closure makes plain system calls only.
    unsafe {
        shell.pre_exec(move || {
            sys::die_with(parent);
            Ok(())
        });
    }
    shell.spawn()
}

fn finish(mut child: Child, when: When, output: &str, page: &WorkerPage) -> Result<(), Failure> {
    let label = when.label();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            // A command behind the job runs to its end; the user has its result.
            Ok(None) if when == When::Before && page.stop_requested() => {
                end(&mut child);
                return Ok(());
            }
            Ok(None) => std::thread::sleep(LOOK),
            Err(error) => return Err(failure!(code_of(&error), label)),
        }
    };
    if status.success() {
        return Ok(());
    }
    let how = describe(status);
    Err(
        failure!(libc::ECANCELED, label, "{label} command {how}").advise(format!(
            "the command of {label} {how}; what it printed is in {output}"
        )),
    )
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "did not end".into(),
    }
}

/// Ends a command and what it has started.
fn end(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}
