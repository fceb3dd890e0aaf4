//! Options of the program itself, as opposed to those of a job.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::help;
use crate::host::PathKind;
use crate::session::{Session, Stop};
use crate::spec::{EtaMode, Formats};
use crate::value::TimeUnit;
use crate::value::number::time_us;

/// Whether a top-level option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    None,
    Optional,
    Required,
}

/// What a top-level option does.
type Action = fn(&mut Session<'_>, &TopLevel, Option<&[u8]>) -> Result<(), Stop>;

/// One top-level option.
pub(crate) struct TopLevel {
    pub(crate) name: &'static str,
    pub(crate) letter: u8,
    pub(crate) argument: Argument,
    /// An invocation without jobs is then no mistake.
    pub(crate) counts: bool,
    pub(crate) help: &'static str,
    /// ferrio does what the option asks for.
    pub(crate) built: bool,
    act: Action,
}

impl TopLevel {
    const fn not_built(mut self) -> TopLevel {
        self.built = false;
        self
    }
}

const fn top(
    name: &'static str,
    letter: u8,
    argument: Argument,
    counts: bool,
    help: &'static str,
    act: Action,
) -> TopLevel {
    TopLevel {
        name,
        letter,
        argument,
        counts,
        help,
        built: true,
        act,
    }
}

use Argument::{None as No, Optional as Maybe, Required as Yes};

/// All top-level options, in the order of abbreviations.
pub(crate) static TOP_LEVEL: &[TopLevel] = &[
    top(
        "output",
        b'o',
        Yes,
        false,
        "Write the report to this file",
        output,
    ),
    top(
        "latency-log",
        b'l',
        Yes,
        false,
        "Gone: use write_lat_log in a job",
        latency_log,
    ),
    top(
        "bandwidth-log",
        b'b',
        Maybe,
        false,
        "Log the bandwidth of all jobs together",
        unbuilt,
    )
    .not_built(),
    top("minimal", b'm', No, false, "Report in terse form", minimal),
    top(
        "output-format",
        b'F',
        Yes,
        false,
        "normal, terse, json, json+, json-lines (a list)",
        output_format,
    ),
    top(
        "append-terse",
        b'f',
        Maybe,
        false,
        "Report in terse form as well",
        append_terse,
    ),
    top("version", b'v', No, true, "Show the version", version),
    top("help", b'h', No, true, "Show this help", usage),
    top(
        "cmdhelp",
        b'c',
        Maybe,
        true,
        "Show the job options, or one of them",
        cmdhelp,
    ),
    top(
        "enghelp",
        b'i',
        Maybe,
        true,
        "Show the engines, or the options of one",
        enghelp,
    ),
    top(
        "showcmd",
        b's',
        No,
        true,
        "Turn job files into command lines",
        |s, _, _| {
            s.showcmd = true;
            Ok(())
        },
    ),
    top(
        "readonly",
        b'r',
        No,
        false,
        "Refuse jobs that write or trim",
        |s, _, _| {
            s.readonly = true;
            Ok(())
        },
    ),
    top(
        "eta",
        b'e',
        Yes,
        false,
        "Progress line: always, never, auto",
        eta,
    ),
    top(
        "eta-interval",
        b'O',
        Yes,
        false,
        "Time between progress lines",
        eta_interval,
    ),
    top(
        "eta-newline",
        b'E',
        Yes,
        false,
        "Start a new progress line every so often",
        eta_newline,
    ),
    top("debug", b'd', Yes, false, "Debug output by category", debug),
    top(
        "parse-only",
        b'P',
        No,
        true,
        "Parse options, run nothing",
        |s, _, _| {
            s.parse_only = true;
            Ok(())
        },
    ),
    top(
        "section",
        b'x',
        Yes,
        false,
        "Run this section only (repeatable)",
        section,
    ),
    top(
        "inflate-log",
        b'X',
        Yes,
        true,
        "Print a compressed log",
        unbuilt,
    )
    .not_built(),
    top(
        "alloc-size",
        b'a',
        Yes,
        false,
        "Without effect: memory is taken as needed",
        accepted,
    ),
    top(
        "profile",
        b'p',
        Yes,
        true,
        "Run a built-in profile",
        unbuilt,
    )
    .not_built(),
    top(
        "warnings-fatal",
        b'w',
        No,
        false,
        "Set-up warnings end the run",
        |s, _, _| {
            s.warnings_fatal = true;
            Ok(())
        },
    ),
    top("max-jobs", b'j', Yes, false, "Without effect", accepted),
    top(
        "terse-version",
        b'V',
        Yes,
        false,
        "Version of the terse form, 2 to 5",
        terse_version,
    ),
    top(
        "server",
        b'S',
        Maybe,
        true,
        "Serve jobs of other hosts",
        unbuilt,
    )
    .not_built(),
    top(
        "daemonize",
        b'D',
        Yes,
        false,
        "Background the server",
        unbuilt,
    )
    .not_built(),
    top(
        "client",
        b'C',
        Yes,
        true,
        "Run the jobs on another host",
        unbuilt,
    )
    .not_built(),
    top(
        "remote-config",
        b'R',
        Yes,
        true,
        "Job file on the other host",
        unbuilt,
    )
    .not_built(),
    top(
        "cpuclock-test",
        b'T',
        No,
        true,
        "Test the CPU's clock",
        unbuilt,
    )
    .not_built(),
    top("crctest", b'G', Maybe, true, "Measure checksums", unbuilt).not_built(),
    top(
        "memcpytest",
        b'M',
        Maybe,
        true,
        "Measure memory copies",
        unbuilt,
    )
    .not_built(),
    top("idle-prof", b'I', Yes, false, "Measure idle CPUs", unbuilt).not_built(),
    top(
        "status-interval",
        b'L',
        Yes,
        false,
        "Full report every so often",
        status_interval,
    ),
    top(
        "trigger-file",
        b'W',
        Yes,
        false,
        "Run the trigger when this file appears",
        unbuilt,
    )
    .not_built(),
    top(
        "trigger-timeout",
        b'B',
        Yes,
        false,
        "Run the trigger after this time",
        trigger_timeout,
    ),
    top(
        "trigger",
        b'H',
        Yes,
        false,
        "Command of the trigger",
        unbuilt,
    )
    .not_built(),
    top(
        "trigger-remote",
        b'J',
        Yes,
        false,
        "Command of the trigger on other hosts",
        unbuilt,
    )
    .not_built(),
    top(
        "aux-path",
        b'K',
        Yes,
        false,
        "Directory for files made on the way",
        accepted,
    ),
    top(
        "merge-blktrace-only",
        b'A',
        No,
        true,
        "Set jobs up, run nothing",
        |s, _, _| {
            s.setup_only = true;
            Ok(())
        },
    ),
];

impl TopLevel {
    /// The option says where and in which form results are shown.
    pub(crate) fn is_output_form(&self) -> bool {
        matches!(
            self.name,
            "output" | "output-format" | "minimal" | "append-terse" | "terse-version"
        )
    }

    /// Does what the option asks for.
    pub(crate) fn act(&self, session: &mut Session<'_>, value: Option<&[u8]>) -> Result<(), Stop> {
        session.did_something |= self.counts;
        (self.act)(session, self, value)
    }
}

fn text(value: Option<&[u8]>) -> String {
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

fn accepted(_: &mut Session<'_>, _: &TopLevel, _: Option<&[u8]>) -> Result<(), Stop> {
    Ok(())
}

/// The end of the run names these; help and version behind them still work.
fn unbuilt(session: &mut Session<'_>, top: &TopLevel, value: Option<&[u8]>) -> Result<(), Stop> {
    let shown = match value {
        Some(value) => format!("--{}={}", top.name, String::from_utf8_lossy(value)),
        None => format!("--{}", top.name),
    };
    session.unbuilt.push(shown);
    Ok(())
}

/// The value is checked, the trigger is not built.
fn trigger_timeout(
    session: &mut Session<'_>,
    top: &TopLevel,
    value: Option<&[u8]>,
) -> Result<(), Stop> {
    milliseconds(session, top, value, 0)?;
    unbuilt(session, top, value)
}

/// The file is opened when the report is written; what can be known now is whether it can be.
fn output(session: &mut Session<'_>, _: &TopLevel, value: Option<&[u8]>) -> Result<(), Stop> {
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(value.unwrap_or_default()));
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new(""),
    };
    let problem = if path.as_os_str().is_empty() {
        Some("the name is empty")
    } else if session.host.target_kind(&path) == PathKind::Directory {
        Some("it is a directory")
    } else if session.host.target_kind(parent) != PathKind::Directory {
        Some("there is no such directory")
    } else {
        None
    };
    if let Some(problem) = problem {
        let path = path.display();
        return Err(session.fail(format!(
            "option '--output={path}': cannot be written: {problem}"
        )));
    }
    session.output.file = Some(path);
    Ok(())
}

fn latency_log(session: &mut Session<'_>, _: &TopLevel, _: Option<&[u8]>) -> Result<(), Stop> {
    Err(session.fail("option '--latency-log' is gone: use 'write_lat_log' in the job"))
}

fn minimal(session: &mut Session<'_>, _: &TopLevel, _: Option<&[u8]>) -> Result<(), Stop> {
    session.output.formats = Formats {
        terse: true,
        ..Formats::default()
    };
    Ok(())
}

fn append_terse(session: &mut Session<'_>, _: &TopLevel, _: Option<&[u8]>) -> Result<(), Stop> {
    session.output.formats.terse = true;
    Ok(())
}

/// Replaces the set of formats.
fn output_format(
    session: &mut Session<'_>,
    _: &TopLevel,
    value: Option<&[u8]>,
) -> Result<(), Stop> {
    let mut formats = Formats::default();
    for word in text(value).split(',') {
        match word {
            "normal" => formats.normal = true,
            "terse" | "minimal" | "csv" => formats.terse = true,
            "json" => formats.json = true,
            "json+" => (formats.json, formats.json_bins) = (true, true),
            // Ours: periodic reports that line-wise tools can read.
            "json-lines" => (formats.json, formats.json_lines) = (true, true),
            _ => {
                return Err(session.fail(format!(
                    "option '--output-format': '{word}' is no format: use normal, terse, json, \
                     json+ or json-lines"
                )));
            }
        }
    }
    session.output.formats = formats;
    Ok(())
}

fn version(session: &mut Session<'_>, _: &TopLevel, _: Option<&[u8]>) -> Result<(), Stop> {
    let version = session.persona.version();
    session.stdout.push_str(&version);
    session.stdout.push('\n');
    Err(session.done(0))
}

fn usage(session: &mut Session<'_>, _: &TopLevel, _: Option<&[u8]>) -> Result<(), Stop> {
    let usage = help::usage(session.persona);
    session.stdout.push_str(&usage);
    Err(session.done(0))
}

fn cmdhelp(session: &mut Session<'_>, _: &TopLevel, value: Option<&[u8]>) -> Result<(), Stop> {
    let answer = help::job_options(value.map(|_| text(value)).as_deref());
    print_answer(session, answer)
}

fn enghelp(session: &mut Session<'_>, _: &TopLevel, value: Option<&[u8]>) -> Result<(), Stop> {
    let answer = help::engines(&text(value));
    print_answer(session, answer)
}

fn print_answer(session: &mut Session<'_>, answer: help::Answer) -> Result<(), Stop> {
    session.stdout.push_str(&answer.stdout);
    match answer.problem {
        Some(problem) if answer.status == 0 => session.warn(problem),
        Some(problem) => session.error(problem),
        None => {}
    }
    Err(session.done(answer.status))
}

/// Any other word is ignored, as fio does.
fn eta(session: &mut Session<'_>, _: &TopLevel, value: Option<&[u8]>) -> Result<(), Stop> {
    match value {
        Some(b"always") => session.output.eta = EtaMode::Always,
        Some(b"never") => session.output.eta = EtaMode::Never,
        Some(b"auto") => session.output.eta = EtaMode::Auto,
        _ => {}
    }
    Ok(())
}

/// A time in whole milliseconds, at least `least_ms`.
fn milliseconds(
    session: &mut Session<'_>,
    top: &TopLevel,
    value: Option<&[u8]>,
    least_ms: u64,
) -> Result<u64, Stop> {
    match time_us(&text(value), TimeUnit::Seconds) {
        Ok(us) if us / 1000 >= least_ms => Ok(us / 1000),
        Ok(_) => Err(session.fail(format!(
            "option '--{}={}': too short, at least {least_ms}ms",
            top.name,
            text(value)
        ))),
        Err(why) => Err(session.fail(format!("option '--{}': {why}", top.name))),
    }
}

fn eta_interval(
    session: &mut Session<'_>,
    top: &TopLevel,
    value: Option<&[u8]>,
) -> Result<(), Stop> {
    session.output.eta_interval_ms = milliseconds(session, top, value, 250)?;
    Ok(())
}

fn eta_newline(
    session: &mut Session<'_>,
    top: &TopLevel,
    value: Option<&[u8]>,
) -> Result<(), Stop> {
    session.output.eta_newline_ms = Some(milliseconds(session, top, value, 1)?);
    Ok(())
}

fn status_interval(
    session: &mut Session<'_>,
    top: &TopLevel,
    value: Option<&[u8]>,
) -> Result<(), Stop> {
    session.output.status_interval_ms = Some(milliseconds(session, top, value, 1)?);
    Ok(())
}

fn terse_version(
    session: &mut Session<'_>,
    _: &TopLevel,
    value: Option<&[u8]>,
) -> Result<(), Stop> {
    match text(value).trim().parse() {
        Ok(version @ 2..=5) => session.output.terse_version = version,
        _ => {
            return Err(session.fail(format!(
                "option '--terse-version={}': there are the versions 2 to 5",
                text(value)
            )));
        }
    }
    Ok(())
}

/// Categories whose part of the program is not built, or keeps no secrets.
const DEBUG_SILENT: &[&str] = &[
    "blktrace",
    "verify",
    "random",
    "mutex",
    "profile",
    "net",
    "compress",
    "steadystate",
    "zbd",
    "sprandom",
];

/// The categories that a debug word may begin with.
const DEBUG_CATEGORIES: &[&str] = &[
    "process",
    "file",
    "io",
    "mem",
    "blktrace",
    "verify",
    "random",
    "parse",
    "diskutil",
    "job",
    "mutex",
    "profile",
    "time",
    "net",
    "rate",
    "compress",
    "steadystate",
    "helperthread",
    "zbd",
    "sprandom",
];

fn debug(session: &mut Session<'_>, _: &TopLevel, value: Option<&[u8]>) -> Result<(), Stop> {
    let list = text(value);
    if list == "help" || list == "?" {
        let text = format!(
            "fio: dumping debug options:{},all\n",
            DEBUG_CATEGORIES.join(",")
        );
        session.stdout.push_str(&text);
        return Err(session.done(0));
    }
    for word in list.split(',') {
        debug_word(session, word);
    }
    Ok(())
}

/// One member of the list: a category (anything may follow it), `all`, or `job:N`.
fn debug_word(session: &mut Session<'_>, word: &str) {
    if word.starts_with("all") {
        session.debug.categories = DEBUG_CATEGORIES.iter().map(ToString::to_string).collect();
        return;
    }
    let Some(category) = DEBUG_CATEGORIES.iter().find(|c| word.starts_with(**c)) else {
        return session.warn(format!("option '--debug': there is no category '{word}'"));
    };
    if *category == "job" {
        match word.split_once(':').map(|(_, number)| number.parse()) {
            Some(Ok(number)) => session.debug.job = Some(number),
            _ => session.warn("option '--debug=job': needs a job number: job:1"),
        }
        return;
    }
    if DEBUG_SILENT.contains(category) {
        session.warn(format!(
            "option '--debug={category}': ferrio has nothing to tell in this category yet"
        ));
    }
    if !session.debug.has(category) {
        session.debug.categories.push(category.to_string());
    }
}

fn section(session: &mut Session<'_>, _: &TopLevel, value: Option<&[u8]>) -> Result<(), Stop> {
    let name = value.unwrap_or_default();
    if name == b"global" {
        return Err(session.fail("option '--section=global': the global section is no job"));
    }
    session.sections.push(name.to_vec());
    Ok(())
}
