//! One invocation: jobs as they are added, and how it ends.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::diag::{Diagnostic, Outcome, Persona, Severity};
use crate::draft::{Ctx, Draft, Place, Recorded};
use crate::host::Host;
use crate::names;
use crate::resolve::{self, Findings, Rules};
use crate::spec::{ClockSource, DebugSpec, JobSpec, OutputSpec, RunSpec};

/// Most jobs of one run, clones counted; fio's own limit.
const JOBS_MAX: usize = 4088;

/// Parsing ends here.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) status: u8,
    pub(crate) stdout: String,
}

/// Everything read so far.
pub(crate) struct Session<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) persona: Persona,
    pub(crate) output: OutputSpec,
    pub(crate) parse_only: bool,
    pub(crate) showcmd: bool,
    pub(crate) setup_only: bool,
    pub(crate) readonly: bool,
    pub(crate) warnings_fatal: bool,
    pub(crate) debug: DebugSpec,
    /// Names of the sections wanted; empty is all.
    pub(crate) sections: Vec<Vec<u8>>,
    /// An option did something by itself, so that having no job is no error.
    pub(crate) did_something: bool,
    /// Top-level options given that are not implemented, as typed.
    pub(crate) unbuilt: Vec<String>,
    pub(crate) job_files: Vec<OsString>,
    pub(crate) global: Draft,
    pub(crate) jobs: Vec<Draft>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Text for standard output.
    pub(crate) stdout: String,
    group: u32,
    group_members: u32,
    exitall: bool,
    clocksource: Option<ClockSource>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(host: &'a dyn Host, persona: Persona) -> Session<'a> {
        Session {
            host,
            persona,
            output: OutputSpec::default(),
            parse_only: false,
            showcmd: false,
            setup_only: false,
            readonly: false,
            warnings_fatal: false,
            debug: DebugSpec::default(),
            sections: Vec::new(),
            did_something: false,
            unbuilt: Vec::new(),
            job_files: Vec::new(),
            global: Draft::new(host),
            jobs: Vec::new(),
            diagnostics: Vec::new(),
            stdout: String::new(),
            group: 0,
            group_members: 0,
            exitall: false,
            clocksource: None,
        }
    }

    /// Nothing is set up, values are parsed only.
    pub(crate) fn dry_run(&self) -> bool {
        self.parse_only || self.showcmd
    }

    pub(crate) fn error(&mut self, text: impl Into<String>) {
        self.diagnostics
            .push(Diagnostic::new(Severity::Error, text));
    }

    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.diagnostics
            .push(Diagnostic::new(Severity::Warning, text));
    }

    /// A line that programs read, without the program's name in front.
    pub(crate) fn bare_error(&mut self, text: impl Into<String>) {
        let mut diagnostic = Diagnostic::new(Severity::Error, text);
        diagnostic.bare = true;
        self.diagnostics.push(diagnostic);
    }

    /// The end, with status 1 and this reason.
    pub(crate) fn fail(&mut self, text: impl Into<String>) -> Stop {
        self.error(text);
        self.failed()
    }

    /// The end with status 1; the reason was given.
    pub(crate) fn failed(&mut self) -> Stop {
        Stop {
            status: 1,
            stdout: std::mem::take(&mut self.stdout),
        }
    }

    /// The end with this status and what is to be printed.
    pub(crate) fn done(&mut self, status: u8) -> Stop {
        Stop {
            status,
            stdout: std::mem::take(&mut self.stdout),
        }
    }

    /// Context for reading an option into a draft; `place` is its line in a job file.
    pub(crate) fn context(&mut self, place: Option<Place>) -> Ctx<'_> {
        let dry_run = self.dry_run();
        let mut ctx = Ctx::new(self.host, dry_run, self.readonly, &mut self.diagnostics);
        ctx.tells_values = self.debug.has("parse");
        ctx.place = place;
        ctx
    }

    /// A new job, as the global settings are now.
    pub(crate) fn new_job(&self, section: &[u8]) -> Draft {
        let mut job = self.global.clone();
        job.recorded = Vec::new();
        job.section = section.to_vec();
        job.header = None;
        // A name in the global settings names no job.
        job.spec.name = String::from_utf8_lossy(section).into_owned();
        job
    }

    /// Sets a job up, with its clones. In a dry run it is kept as it was read.
    pub(crate) fn add_job(&mut self, mut draft: Draft) -> Result<(), Stop> {
        if self.dry_run() {
            self.jobs.push(draft);
            return Ok(());
        }
        let clones = draft.spec.numjobs as usize;
        if clones == 0 || self.jobs.len().saturating_add(clones) > JOBS_MAX {
            let mut findings = Findings::default();
            findings.errors.push(format!(
                "option 'numjobs={clones}': the number of jobs must lie between 1 and {JOBS_MAX}"
            ));
            return self.report(&draft, 0, findings);
        }
        self.exitall |= draft.program.exitall;
        self.clocksource = draft.program.clocksource.or(self.clocksource);
        let mut taken = HashSet::new();
        self.set_up(&mut draft, 0, &mut taken)?;
        let first = draft.clone();
        self.jobs.push(draft);
        // Clones come with descending index, so that job 2 of 4 owns the files of index 3.
        for index in (1..first.spec.numjobs).rev() {
            let mut clone = first.clone();
            clone.spec.stonewall = false;
            clone.new_group = false;
            clone.names.files.clone_from(&first.names.files);
            clone.spec.target.nrfiles = first.spec.target.nrfiles;
            self.set_up(&mut clone, index, &mut taken)?;
            self.jobs.push(clone);
        }
        Ok(())
    }

    fn set_up(
        &mut self,
        draft: &mut Draft,
        clone_index: u32,
        taken: &mut HashSet<PathBuf>,
    ) -> Result<(), Stop> {
        draft.spec.job_number = u32::try_from(self.jobs.len() + 1).unwrap_or(u32::MAX);
        draft.spec.clone_index = clone_index;
        let mut findings = Findings::default();
        if let Err(why) = names::set_files(draft, clone_index, taken, self.host) {
            findings.errors.push(why);
        }
        let rules = Rules {
            readonly: self.readonly,
        };
        resolve::resolve(draft, &rules, &mut findings);
        self.check_wait_for(draft, clone_index, &mut findings);
        self.join_group(draft);
        self.check_group(draft, &mut findings);
        split_cpus(draft, &mut findings);
        self.report(draft, clone_index, findings)
    }

    /// `wait_for` names a job defined earlier, once.
    fn check_wait_for(&self, draft: &Draft, clone_index: u32, findings: &mut Findings) {
        let Some(name) = draft.spec.wait_for.as_deref().filter(|_| clone_index == 0) else {
            return;
        };
        let sections = self.jobs.iter().filter(|job| job.spec.clone_index == 0);
        let found = sections.filter(|job| job.spec.name == name).count();
        if draft.spec.name == name {
            findings.errors.push(format!(
                "option 'wait_for={name}': a job cannot wait for itself"
            ));
        } else if found == 0 {
            findings.errors.push(format!(
                "option 'wait_for={name}': there is no job of that name before this one"
            ));
        } else if found > 1 {
            findings.errors.push(format!(
                "option 'wait_for={name}': {found} jobs have that name; give them different names"
            ));
        }
    }

    /// A barrier or `new_group` opens a group, unless the present one is still empty.
    fn join_group(&mut self, draft: &mut Draft) {
        if (draft.spec.stonewall || draft.new_group) && self.group_members > 0 {
            self.group += 1;
            self.group_members = 0;
        }
        draft.spec.group = self.group;
        self.group_members += 1;
    }

    /// Jobs that are reported together must show the same percentiles; those of a group leave
    /// their ramp by the same rule; all look for a steady state equally often.
    fn check_group(&self, draft: &Draft, findings: &mut Findings) {
        let interval = draft.steady_interval_us;
        if let Some(other) = self
            .jobs
            .iter()
            .find(|job| job.steady_interval_us != interval)
        {
            findings.errors.push(format!(
                "option 'steadystate_check_interval': {interval} us here and {} us in job '{}', \
                 but it must be the same in all jobs",
                other.steady_interval_us, other.spec.name
            ));
        }
        let ramp = draft.spec.pacing.ramp_bytes;
        let mut group = self
            .jobs
            .iter()
            .filter(|job| job.spec.group == draft.spec.group);
        if group.any(|job| job.spec.pacing.ramp_bytes != ramp) {
            findings
                .errors
                .push("option 'ramp_size' differs from other jobs of the report group".to_string());
        }
        if !draft.spec.group_reporting || !draft.spec.reporting.stats {
            return;
        }
        let differs = self.jobs.iter().any(|job| {
            job.spec.group == draft.spec.group
                && job.spec.reporting.stats
                && job.spec.reporting.lat_percentiles != draft.spec.reporting.lat_percentiles
        });
        if differs {
            findings.errors.push(
                "option 'lat_percentiles' differs from other jobs of the report group".to_string(),
            );
        }
    }

    /// Tells what was found. Clones repeat only what their section did not say.
    fn report(&mut self, draft: &Draft, clone: u32, findings: Findings) -> Result<(), Stop> {
        let fatal = self.warnings_fatal;
        let said = self.diagnostics.len();
        let mut tell = |severity: Severity, text: String| {
            let job = &draft.spec.name;
            let text = match option_place(draft, &text) {
                Some(place) => format!("{place}: job '{job}': {text}"),
                None => format!("job '{job}': {text}"),
            };
            let line = Diagnostic::new(severity, text);
            if clone == 0 || !self.diagnostics.contains(&line) {
                self.diagnostics.push(line);
            }
        };
        for text in findings.remarks {
            tell(Severity::Warning, text);
        }
        for text in findings.warnings {
            tell(
                if fatal {
                    Severity::Error
                } else {
                    Severity::Warning
                },
                text,
            );
        }
        for text in findings.errors {
            tell(Severity::Error, text);
        }
        let failed = self.diagnostics[said..]
            .iter()
            .any(|d| d.severity == Severity::Error);
        if failed { Err(self.failed()) } else { Ok(()) }
    }

    /// The end of all reading: run, or say why not.
    pub(crate) fn finish(mut self) -> (Outcome, Vec<Diagnostic>, OutputSpec) {
        let outcome = match self.conclude() {
            Ok(run) => Outcome::Run(Box::new(run)),
            Err(stop) => Outcome::Exit {
                status: stop.status,
                stdout: stop.stdout,
            },
        };
        (outcome, self.diagnostics, self.output)
    }

    fn conclude(&mut self) -> Result<RunSpec, Stop> {
        if self.dry_run() {
            return Err(self.done(0));
        }
        self.refuse_unbuilt()?;
        self.refuse_shared_overlaps()?;
        if self.jobs.is_empty() {
            if self.did_something {
                return Err(self.done(0));
            }
            let word = self.persona.word();
            return Err(self.fail(format!(
                "no job defined: give options after --name=NAME, or a job file ({word} --help)"
            )));
        }
        let jobs = self.jobs.drain(..).map(finished).collect();
        Ok(RunSpec {
            jobs,
            output: self.output.clone(),
            global_options: recorded_pairs(&self.global.recorded),
            readonly: self.readonly,
            exitall: self.exitall,
            clocksource: self.clocksource,
            warnings_fatal: self.warnings_fatal,
            setup_only: self.setup_only,
            debug: std::mem::take(&mut self.debug),
        })
    }

    /// Overlaps between the operations of several jobs are not seen.
    fn refuse_shared_overlaps(&mut self) -> Result<(), Stop> {
        let serialize = |job: &&Draft| {
            let queue = &job.spec.queue;
            queue.offload && queue.serialize_overlap
        };
        let Some(second) = self.jobs.iter().filter(serialize).nth(1).cloned() else {
            return Ok(());
        };
        let mut findings = Findings::default();
        findings.errors.push(
            "option 'serialize_overlap' with 'io_submit_mode=offload' is not built into this \
             version of ferrio for several jobs, whose overlaps would have to be seen; nothing was run"
                .to_string(),
        );
        self.report(&second, 0, findings)
    }

    /// One line for everything that was asked for and is not implemented.
    fn refuse_unbuilt(&mut self) -> Result<(), Stop> {
        let mut texts: Vec<String> = self.unbuilt.iter().map(|t| format!("'{t}'")).collect();
        for job in &self.jobs {
            for (name, text) in job.effective_unbuilt() {
                let text = match job.place(name) {
                    Some(place) => {
                        format!("'{text}' ({place}, section [{}])", place.section)
                    }
                    None => format!("'{text}'"),
                };
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        if texts.is_empty() {
            return Ok(());
        }
        let (what, verb) = if texts.len() == 1 {
            ("option", "is")
        } else {
            ("options", "are")
        };
        let list = texts.join(", ");
        Err(self.fail(format!(
            "{what} {list} {verb} not built into this version of ferrio yet; nothing was run, \
             because the result would not be what was asked for"
        )))
    }
}

/// Where the option stands that a finding begins with, or else its section.
fn option_place<'a>(draft: &'a Draft, finding: &str) -> Option<&'a Place> {
    let name = if finding.starts_with("engine ") {
        "ioengine"
    } else {
        let quoted = finding.split('\'').nth(1).unwrap_or_default();
        quoted.split('=').next().unwrap_or_default()
    };
    if draft.is_given(name) {
        // On the command line it has no place.
        draft.place(name)
    } else {
        draft.header.as_ref()
    }
}

/// With `cpus_allowed_policy=split` each job gets one CPU of the set, by job number.
fn split_cpus(draft: &mut Draft, findings: &mut Findings) {
    let Some(cpus) = draft.all_cpus.as_ref().filter(|_| draft.cpus_split) else {
        return;
    };
    if cpus.is_empty() {
        findings
            .errors
            .push("option 'cpus_allowed_policy=split': no CPU is allowed".to_string());
        return;
    }
    let position = (draft.spec.job_number as usize - 1) % cpus.len();
    draft.spec.placement.cpus = Some(vec![cpus[position]]);
}

fn finished(draft: Draft) -> JobSpec {
    let mut spec = draft.spec;
    spec.recorded = recorded_pairs(&draft.recorded);
    spec
}

/// Name and text of the recorded options. A name occurs once, since the pairs become keys of a
/// JSON object: the last value wins, and lists that add up are joined.
pub(crate) fn recorded_pairs(recorded: &[Recorded]) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for entry in recorded {
        let text = String::from_utf8_lossy(entry.text.as_deref().unwrap_or_default()).into_owned();
        let separator = match entry.opt.name {
            "filename" | "opendir" => Some(':'),
            "sync_file_range" | "verify_policy" => Some(','),
            _ => None,
        };
        match (
            pairs.iter_mut().find(|(name, _)| name == entry.opt.name),
            separator,
        ) {
            (Some((_, known)), Some(separator)) => {
                known.push(separator);
                known.push_str(&text);
            }
            (Some((_, known)), None) => *known = text,
            (None, _) => pairs.push((entry.opt.name.to_string(), text)),
        }
    }
    pairs
}
