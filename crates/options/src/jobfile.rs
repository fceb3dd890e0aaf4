//! Job files: lines, sections, included files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::rc::Rc;

use crate::cmdline::shown;
use crate::draft::{Draft, Place};
use crate::host::PathKind;
use crate::nearest;
use crate::resolve::unknown_engine;
use crate::session::{Session, Stop};
use crate::subst::substitute;
use crate::table;

/// A longer line goes on as a new line, as in fio.
const LINE_BYTES_MAX: usize = 8191;
/// Most bytes of a section name, the closing bracket included.
const SECTION_BYTES_MAX: usize = 255;
/// Included files deeper than this include themselves.
const INCLUDE_DEPTH_MAX: u32 = 200;
/// Most lines of all files of one section; includes could multiply without end.
const SECTION_LINES_MAX: usize = 100_000;

/// A line that holds something, cleaned.
#[derive(Clone)]
struct Line {
    text: Vec<u8>,
    file: Rc<str>,
    number: u32,
}

impl Line {
    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// Where it stands in `section`.
    fn place_in(&self, section: &Rc<str>) -> Place {
        Place {
            file: self.file.clone(),
            line: self.number,
            section: section.clone(),
        }
    }

    /// `FILE:LINE`, in front of messages.
    fn place(&self) -> String {
        format!("{}:{}", self.file, self.number)
    }
}

/// Reads one job file and sets its jobs up. `index` counts files from 0.
pub(crate) fn read(session: &mut Session<'_>, name: &OsString, index: usize) -> Result<(), Stop> {
    if index > 0 {
        // Global settings reach the first file only.
        session.global = Draft::new(session.host);
    }
    let result = if name == "-" {
        session.host.read_stdin()
    } else {
        session.host.read_file(Path::new(name))
    };
    let text = match result {
        Ok(text) => text,
        Err(error) => {
            let name = shown(name);
            return Err(session.fail(format!("cannot open the job file '{name}': {error}")));
        }
    };
    if session.host.target_kind(Path::new(name)) == PathKind::Directory {
        session.warn(format!(
            "the job file '{}' is a directory: there are no jobs in it",
            shown(name)
        ));
    }
    let lines = lines(&text, &shown(name));
    let sections = std::mem::take(&mut session.sections);
    let mut file = File {
        lines: &lines,
        next: 0,
        stonewall_first: index > 0,
        showcmd: ShowCmd { begun: false },
        name: name.clone(),
        sections,
    };
    let result = file.sections(session);
    if session.showcmd {
        session.stdout.push('\n');
    }
    // The line end belongs to what was printed before the failure.
    result.map_err(|mut stop| {
        if session.showcmd {
            stop.stdout.push_str(&std::mem::take(&mut session.stdout));
        }
        stop
    })
}

struct ShowCmd {
    /// The word in front of the options was printed.
    begun: bool,
}

struct File<'a> {
    lines: &'a [Line],
    next: usize,
    /// The next job begins behind a barrier.
    stonewall_first: bool,
    showcmd: ShowCmd,
    name: OsString,
    /// Names of sections wanted from this file.
    sections: Vec<Vec<u8>>,
}

impl File<'_> {
    fn sections(&mut self, session: &mut Session<'_>) -> Result<(), Stop> {
        while let Some(header) = self.lines.get(self.next) {
            self.next += 1;
            let Some(name) = section_name(&header.text) else {
                return Err(session.fail(format!(
                    "{}: option <{}> outside of [] job section",
                    header.place(),
                    header.shown()
                )));
            };
            let global = name.starts_with(b"global");
            if !global && !self.sections.is_empty() && !self.sections.iter().any(|s| s == name) {
                while self
                    .lines
                    .get(self.next)
                    .is_some_and(|line| line.text[0] != b'[')
                {
                    self.next += 1;
                }
                continue;
            }
            let lines = self.section_lines(session)?;
            if global {
                self.global_section(session, &lines)?;
            } else {
                self.job_section(session, header, name, &lines)?;
            }
        }
        Ok(())
    }

    /// The option lines of a section, included files in place.
    fn section_lines(&mut self, session: &mut Session<'_>) -> Result<Vec<Line>, Stop> {
        let mut found = Vec::new();
        let name = self.name.clone();
        while let Some(line) = self.lines.get(self.next) {
            if line.text[0] == b'[' {
                break;
            }
            self.next += 1;
            if let Some(include) = include_name(&line.text) {
                if !included(session, line, include, &name, &mut found, 0) {
                    if !session.dry_run() {
                        return Err(session.failed());
                    }
                    // What was read so far counts; the next line must begin a section.
                    break;
                }
            } else {
                found.push(line.clone());
            }
            if found.len() > SECTION_LINES_MAX {
                return Err(session.fail(format!(
                    "{}: a section of more than {SECTION_LINES_MAX} lines",
                    line.place()
                )));
            }
        }
        Ok(found)
    }

    fn global_section(&mut self, session: &mut Session<'_>, lines: &[Line]) -> Result<(), Stop> {
        self.begin_showcmd(session);
        let mut global = session.global.clone();
        let good = options(session, &mut global, lines, &Rc::from("global"));
        session.global = global;
        if !good {
            return Err(session.failed());
        }
        if session.showcmd {
            let text = show(&session.global);
            session.stdout.push_str(&text);
        }
        Ok(())
    }

    fn job_section(
        &mut self,
        session: &mut Session<'_>,
        header: &Line,
        name: &[u8],
        lines: &[Line],
    ) -> Result<(), Stop> {
        self.begin_showcmd(session);
        let shown: Rc<str> = String::from_utf8_lossy(name).into();
        if session.showcmd {
            session.stdout.push_str(&format!("--name={shown} "));
        }
        let mut draft = session.new_job(name);
        draft.header = Some(header.place_in(&shown));
        if std::mem::take(&mut self.stonewall_first) {
            draft.spec.stonewall = true;
        }
        if !options(session, &mut draft, lines, &shown) {
            return Err(session.failed());
        }
        if session.showcmd {
            session.stdout.push_str(&show(&draft));
        }
        session.add_job(draft)
    }

    fn begin_showcmd(&mut self, session: &mut Session<'_>) {
        if session.showcmd && !self.showcmd.begun {
            self.showcmd.begun = true;
            session.stdout.push_str("fio ");
        }
    }
}

/// Recorded options as command line words.
fn show(draft: &Draft) -> String {
    let mut text = String::new();
    for entry in &draft.recorded {
        let name = entry.opt.name;
        let value = entry.text.as_deref().map(String::from_utf8_lossy);
        text += &match value {
            None => format!("--{name} "),
            Some(value) if name == "description" => format!("--{name}=\"{value}\" "),
            Some(value) => format!("--{name}={value} "),
        };
    }
    text
}

/// Cuts text into cleaned lines that hold something.
fn lines(text: &[u8], file: &str) -> Vec<Line> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let file: Rc<str> = Rc::from(file);
    let mut found = Vec::new();
    for (index, line) in text.split(|b| *b == b'\n').enumerate() {
        for piece in line.chunks(LINE_BYTES_MAX) {
            let cleaned = clean(piece);
            if !cleaned.is_empty() {
                let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
                found.push(Line {
                    text: cleaned.to_vec(),
                    file: file.clone(),
                    number,
                });
            }
        }
    }
    found
}

/// Leading blanks, comments, trailing blanks and control bytes go.
fn clean(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|b| *b == 0).unwrap_or(line.len());
    let line = &line[..end];
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | 0x0b | 0x0c | b'\r');
    let start = line.iter().position(|b| !blank(b)).unwrap_or(line.len());
    let line = &line[start..];
    let end = line
        .iter()
        .position(|b| matches!(b, b';' | b'#'))
        .unwrap_or(line.len());
    let line = &line[..end];
    let end = line
        .iter()
        .rposition(|b| !blank(b) && !b.is_ascii_control())
        .map_or(0, |at| at + 1);
    &line[..end]
}

/// The name in a section header: everything between the first and the last byte. `None` where
/// the line is no header.
fn section_name(line: &[u8]) -> Option<&[u8]> {
    let name = line.strip_prefix(b"[").filter(|name| !name.is_empty())?;
    let name = &name[..name.len().min(SECTION_BYTES_MAX)];
    Some(&name[..name.len() - 1])
}

/// The file named by an include line: everything behind `include` and one more byte.
fn include_name(line: &[u8]) -> Option<&[u8]> {
    line.strip_prefix(b"include")
        .map(|tail| tail.get(1..).unwrap_or_default())
}

/// Appends the lines of an included file; false after a failure, which was told. A run does not
/// take place then, while a dry run goes on without anything of the file, as in fio.
fn included(
    session: &mut Session<'_>,
    line: &Line,
    name: &[u8],
    including: &OsStr,
    found: &mut Vec<Line>,
    depth: u32,
) -> bool {
    let path = resolve_include(session, name, including);
    let text = if depth > INCLUDE_DEPTH_MAX {
        Err("files include each other too deeply".to_string())
    } else {
        session
            .host
            .read_file(Path::new(&path))
            .map_err(|error| error.to_string())
    };
    let text = match text {
        Ok(text) => text,
        Err(why) => {
            let hint = if name.is_empty() {
                " (its name is missing: write 'include FILE')"
            } else if name[0].is_ascii_whitespace() {
                " (the name begins with a blank: only one may stand behind 'include')"
            } else {
                ""
            };
            let name = String::from_utf8_lossy(name);
            include_failed(
                session,
                format!(
                    "{}: cannot open the included file '{name}': {why}{hint}",
                    line.place()
                ),
            );
            return false;
        }
    };
    let before = found.len();
    for line in lines(&text, &shown(&path)) {
        if line.text[0] == b'[' {
            let place = line.place();
            include_failed(
                session,
                format!("{place}: an included file must not begin a section"),
            );
            found.truncate(before);
            return false;
        }
        match include_name(&line.text) {
            Some(name) => {
                if !included(session, &line, name, &path, found, depth + 1) {
                    found.truncate(before);
                    return false;
                }
            }
            None => found.push(line),
        }
        if found.len() > SECTION_LINES_MAX {
            return true;
        }
    }
    true
}

fn include_failed(session: &mut Session<'_>, why: String) {
    if session.dry_run() {
        session.warn(format!("{why}; a run would fail"));
    } else {
        session.error(why);
    }
}

/// The name as it is, or else beside the including file.
fn resolve_include(session: &Session<'_>, name: &[u8], including: &OsStr) -> OsString {
    let plain = OsString::from_vec(name.to_vec());
    let including = including.as_bytes();
    let Some(slash) = including.iter().rposition(|b| *b == b'/') else {
        return plain;
    };
    if session.host.target_kind(Path::new(&plain)) != PathKind::Missing {
        return plain;
    }
    let mut path = including[..=slash].to_vec();
    path.extend_from_slice(name);
    OsString::from_vec(path)
}

/// Reads the lines of a section into its job. All lines are tried; false if one was refused.
fn options(
    session: &mut Session<'_>,
    draft: &mut Draft,
    lines: &[Line],
    section: &Rc<str>,
) -> bool {
    let mut ordered: Vec<&Line> = lines.iter().collect();
    // Stable: units first, names of files last, the rest as written.
    ordered.sort_by_key(|line| -main_option(&line.text).map_or(0, |opt| opt.priority));
    let mut good = true;
    let mut unknown = Vec::new();
    for line in ordered {
        match substitute(&line.text, session.host) {
            Ok(text) => match main_option(&text) {
                Some(opt) => good &= apply(session, draft, opt, line, &text, section),
                None => unknown.push((line, text)),
            },
            Err(why) => {
                session.error(format!(
                    "{}: option '{}' in section [{section}]: {why}",
                    line.place(),
                    line.shown()
                ));
                good = false;
            }
        }
    }
    // Names that are no main option may belong to the engine, wherever that was chosen.
    for (line, text) in unknown {
        let name = option_name(&text);
        match table::find_engine_option(&draft.engine, &name) {
            Some(opt) => good &= apply(session, draft, opt, line, &text, section),
            None => {
                refuse_unknown(session, draft, line, &text, section);
                good = false;
            }
        }
    }
    good
}

fn refuse_unknown(
    session: &mut Session<'_>,
    draft: &Draft,
    line: &Line,
    substituted: &[u8],
    section: &str,
) {
    let name = option_name(substituted);
    let name = name.as_str();
    let engine_has_options = table::engine_options(&draft.engine).next().is_some();
    let shown = if engine_has_options {
        String::from_utf8_lossy(substituted).into_owned()
    } else {
        line.shown()
    };
    session.bare_error(format!("Bad option <{shown}>"));
    let names = table::JOB_OPTIONS.iter().map(|opt| opt.name);
    let hint = match nearest::name(name, names) {
        Some(near) => format!("; did you mean '{near}'?"),
        None => String::new(),
    };
    let place = line.place();
    if table::find_engine(&draft.engine).is_none() && !draft.engine.starts_with("external") {
        session.error(format!("{place}: {}", unknown_engine(&draft.engine)));
    } else if let Some(owner) = table::owners(name) {
        let engine = &draft.engine;
        session.error(format!(
            "{place}: option '{name}' in section [{section}] belongs to {owner}, but the engine here is {engine}"
        ));
    } else {
        session.error(format!(
            "{place}: unknown option '{name}' in section [{section}]{hint}"
        ));
    }
}

fn apply(
    session: &mut Session<'_>,
    draft: &mut Draft,
    opt: &'static table::Opt,
    line: &Line,
    text: &[u8],
    section: &Rc<str>,
) -> bool {
    let value = text
        .iter()
        .position(|b| *b == b'=')
        .map(|at| &text[at + 1..]);
    let overrides = draft.spec.target.allow_mounted_write;
    let place = line.place_in(section);
    match draft.apply(opt, value, &mut session.context(Some(place))) {
        Ok(()) => {
            if draft.spec.target.allow_mounted_write && !overrides {
                // A file that is passed on must not decide what may be destroyed here.
                draft.spec.target.allow_mounted_write = false;
                session.warn(format!(
                    "{}: option 'allow_mounted_write' has no effect in a job file; give it on the \
                     command line of the run that is to overwrite a device in use",
                    line.place()
                ));
            }
            true
        }
        Err(why) => {
            session.error(format!(
                "{}: option '{}' in section [{section}]: {why}",
                line.place(),
                line.shown()
            ));
            false
        }
    }
}

/// The text in front of '=', without blanks.
fn option_name(line: &[u8]) -> String {
    let end = line.iter().position(|b| *b == b'=').unwrap_or(line.len());
    String::from_utf8_lossy(line[..end].trim_ascii()).into_owned()
}

fn main_option(line: &[u8]) -> Option<&'static table::Opt> {
    table::find(&option_name(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cleaned() {
        let text = b"\xef\xbb\xbf; c\r\n\t bs=8k  # x\r\n\n[a#b]\nx=1\0y\n";
        let cleaned: Vec<String> = lines(text, "f").iter().map(Line::shown).collect();
        assert_eq!(cleaned, ["bs=8k", "[a", "x=1"]);
        assert_eq!(lines(text, "f")[0].number, 2);
    }

    #[test]
    fn section_names_lose_their_last_byte() {
        assert_eq!(section_name(b"[a]x"), Some(&b"a]"[..]));
        assert_eq!(section_name(b"[]"), Some(&b""[..]));
        assert_eq!(section_name(b"["), None);
        assert_eq!(section_name(&[b'['; 300]).map(<[u8]>::len), Some(254));
    }
}
