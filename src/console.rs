//! What goes where: the report to standard output or the `--output` file, everything else to
//! standard error.
//!
//! With the normal format the lines before the report (headlines, `Starting …`) belong to the
//! report's stream; with any other format alone that stream holds nothing but the report.

use std::fs::File;
use std::io::{self, IsTerminal, Write};

use ferrio_options::{Diagnostic, EtaMode, OutputSpec, Persona, RunSpec, Severity};
use ferrio_report::{ProgressLine, REPORT_VERSION, banner};
use ferrio_runner::link::Failure;
use ferrio_runner::streams::stdout_was_closed;
use ferrio_runner::{Cadence, Observer};
use ferrio_stats::{FerrioInfo, Message, Progress, RunResult};

use crate::FAILED;
use crate::show;

/// The program's streams.
pub(crate) struct Console {
    persona: Persona,
    output: OutputSpec,
    out: Box<dyn Write>,
    /// First failure to write the report.
    write_error: Option<io::Error>,
    /// What the command line gave rise to; belongs to the report's own part.
    messages: Vec<Message>,
    progress: ProgressLine,
    progress_shown: bool,
    newline_due_ms: Option<u64>,
    started: std::time::Instant,
}

impl Console {
    /// Opens the `--output` file if there is one.
    pub(crate) fn open(persona: Persona, output: &OutputSpec) -> Result<Console, String> {
        let out: Box<dyn Write> = match &output.file {
            None if stdout_was_closed() => {
                return Err(
                    "standard output is closed, so nobody would get the report: give \
                            --output=FILE"
                        .into(),
                );
            }
            None => Box::new(io::stdout()),
            Some(path) if ferrio_device::would_litter_dev(path) && !path.exists() => {
                return Err(format!(
                    "the output file {} would be a plain file among device nodes",
                    path.display()
                ));
            }
            Some(path) => Box::new(File::create(path).map_err(|error| {
                format!(
                    "the output file {} cannot be opened: {error}",
                    path.display()
                )
            })?),
        };
        Ok(Console {
            persona,
            output: output.clone(),
            out,
            write_error: None,
            messages: Vec::new(),
            progress: ProgressLine::default(),
            progress_shown: false,
            newline_due_ms: output.eta_newline_ms,
            started: std::time::Instant::now(),
        })
    }

    /// Writes to the report's stream.
    pub(crate) fn print(&mut self, text: &str) {
        if self.write_error.is_none()
            && let Err(error) = self.out.write_all(text.as_bytes())
        {
            self.write_error = Some(error);
        }
    }

    /// One line on standard error, behind the program's name.
    fn complain(&mut self, text: &str) {
        self.end_progress();
        // Nothing can be said about a standard error that is gone.
        let _ = writeln!(io::stderr(), "{}: {text}", self.persona.word());
    }

    /// Lines of the normal report's stream; standard error when that stream is not for people.
    fn inform(&mut self, text: &str) {
        if self.output.formats.normal {
            self.end_progress();
            self.print(text);
        } else {
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    /// The next line must not be drawn over.
    fn end_progress(&mut self) {
        if std::mem::take(&mut self.progress_shown) {
            let _ = io::stdout().write_all(b"\n");
        }
    }

    /// Shows what parsing had to say.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        if diagnostic.bare {
            let _ = writeln!(io::stderr(), "{}", diagnostic.text);
        } else {
            self.complain(&diagnostic.text);
        }
        let severity = match diagnostic.severity {
            Severity::Note => ferrio_stats::Severity::Note,
            Severity::Warning => ferrio_stats::Severity::Warning,
            Severity::Error => ferrio_stats::Severity::Error,
        };
        self.messages.push(Message {
            severity,
            job: None,
            text: diagnostic.text.clone(),
        });
    }

    /// A run that was refused is a document too, for programs that wait for one.
    pub(crate) fn report_refusal(&mut self) {
        if self.output.formats.json {
            let info = FerrioInfo {
                version: env!("CARGO_PKG_VERSION").into(),
                messages: vec![],
            };
            let timestamp_ms = ferrio_runner::clock::wall_clock_ms();
            self.report(RunResult {
                timestamp_ms,
                ferrio: Some(info),
                ..RunResult::default()
            });
        }
    }

    /// Headlines of all jobs, and the version line.
    pub(crate) fn headlines(&mut self, spec: &RunSpec) {
        if !self.output.formats.normal {
            return;
        }
        for job in spec.jobs.iter().filter(|job| job.clone_index == 0) {
            if job.engine.does_io() {
                self.print(&ferrio_report::headline(&show::headline(job)));
            }
            // A set-up alone makes no clones.
            if job.numjobs > 1 && !spec.setup_only {
                self.print(banner::CLONES);
            }
        }
        self.print(&banner::version(REPORT_VERSION));
    }

    /// How often the runner shall call.
    pub(crate) fn cadence(&self) -> Cadence {
        let to_terminal = io::stdout().is_terminal();
        let wanted = match self.output.eta {
            EtaMode::Always => true,
            EtaMode::Auto => to_terminal,
            EtaMode::Never => false,
        };
        // The line goes to standard output, which must hold the document alone.
        let possible = self.output.formats.normal || self.output.file.is_some();
        Cadence {
            progress_ms: (wanted && possible).then_some(self.output.eta_interval_ms),
            status_ms: self.output.status_interval_ms,
        }
    }

    /// Shows a report in all formats asked for.
    pub(crate) fn report(&mut self, mut result: RunResult) {
        self.end_progress();
        if let Some(info) = &mut result.ferrio {
            info.messages.splice(0..0, self.messages.iter().cloned());
        }
        for text in show::documents(&result, &self.output) {
            self.print(&text);
        }
    }

    /// Flushes, and turns a report that could not be written into a failure.
    pub(crate) fn close(mut self, status: u8) -> u8 {
        if self.write_error.is_none() {
            self.write_error = self.out.flush().err();
        }
        let Some(error) = self.write_error.take() else {
            return status;
        };
        let stream = match &self.output.file {
            None => "standard output".to_string(),
            Some(path) => path.display().to_string(),
        };
        self.complain(&format!(
            "the report could not be written to {stream}: {error}"
        ));
        status.max(FAILED)
    }
}

impl Observer for Console {
    fn message(&mut self, message: &Message) {
        match &message.job {
            Some(job) => self.complain(&format!("job {job}: {}", message.text)),
            None => self.complain(&message.text),
        }
    }

    fn starting(&mut self, threads: u32, processes: u32) {
        if self.output.formats.normal {
            self.print(&ferrio_report::starting(threads, processes));
        }
    }

    fn laying_out(&mut self, job: &str, files: u32, bytes: u64) {
        if self.output.formats.normal {
            self.print(&ferrio_report::laying_out(job, files, bytes));
            let _ = self.out.flush();
        }
    }

    fn notice(&mut self, text: &str) {
        self.inform(&format!(
            "{}\n",
            text.replace(|c: char| c.is_control(), " ")
        ));
    }

    fn job_failed(&mut self, pid: u32, failure: &Failure) {
        self.inform(&format!(
            "fio: pid={pid}, err={}/{}\n",
            failure.code,
            failure.text()
        ));
    }

    fn announce(&mut self, line: &str) {
        if self.output.formats.normal {
            self.end_progress();
            self.print(&format!("{line}\n"));
        }
    }

    fn terminating(&mut self, signal: i32) {
        self.inform(&format!(
            "\n{}: terminating on signal {signal}\n",
            self.persona.word()
        ));
    }

    fn progress(&mut self, progress: &Progress) {
        if let Some(due_ms) = self.newline_due_ms
            && self.started.elapsed().as_millis() as u64 >= due_ms
        {
            self.newline_due_ms = self.output.eta_newline_ms.map(|step| due_ms + step);
            self.progress.break_line();
        }
        let line = self.progress.render(progress);
        let mut stdout = io::stdout();
        if stdout
            .write_all(line.as_bytes())
            .and_then(|()| stdout.flush())
            .is_ok()
        {
            self.progress_shown = true;
        }
    }

    fn status(&mut self, result: RunResult) {
        self.report(result);
        let _ = self.out.flush();
    }
}
