//! The command line: words become options, options become jobs.
//!
//! The scanner follows GNU's long options with one or two dashes, abbreviations included, because
//! scripts written for fio use all of them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::draft::Draft;
use crate::nearest;
use crate::resolve::unknown_engine;
use crate::session::{Session, Stop};
use crate::table::{self, Opt};
use crate::toplevel::{Argument, TOP_LEVEL, TopLevel};

/// An option that the scanner knows.
#[derive(Clone, Copy)]
enum Known {
    Top(&'static TopLevel),
    Job(&'static Opt),
}

impl Known {
    fn argument(self) -> Argument {
        match self {
            Known::Top(top) => top.argument,
            Known::Job(opt) if opt.value_optional() => Argument::Optional,
            Known::Job(_) => Argument::Required,
        }
    }
}

/// Where job options go.
enum Target {
    /// No job option was read yet, or the last job is complete.
    None,
    Global,
    Job(Box<Draft>),
}

/// Reads all words behind the program's name. Job file names are collected for later.
pub(crate) fn read(session: &mut Session<'_>, words: &[OsString]) -> Result<(), Stop> {
    let mut reader = Reader {
        words,
        next: 0,
        target: Target::None,
    };
    let result = reader.all(session);
    if result.as_ref().is_err_and(|stop| stop.status != 0) {
        reader.output_options(session);
    }
    result
}

struct Reader<'a> {
    words: &'a [OsString],
    /// Index of the next word.
    next: usize,
    target: Target,
}

impl Reader<'_> {
    fn all(&mut self, session: &mut Session<'_>) -> Result<(), Stop> {
        let posix = session.host.env("POSIXLY_CORRECT".as_ref()).is_some();
        while let Some(word) = self.words.get(self.next) {
            self.next += 1;
            match word.as_bytes() {
                b"--" => {
                    session
                        .job_files
                        .extend(self.words[self.next..].iter().cloned());
                    break;
                }
                [b'-', _, ..] => self.option(session, word.as_bytes())?,
                _ if posix => {
                    session
                        .job_files
                        .extend(self.words[self.next - 1..].iter().cloned());
                    break;
                }
                _ => session.job_files.push(word.clone()),
            }
        }
        self.complete(session)
    }

    /// After a failure the rest of the line still says in which form the failure is reported.
    fn output_options(&self, session: &mut Session<'_>) {
        let said = session.diagnostics.len();
        let mut words = self.words[self.next..].iter().map(|word| word.as_bytes());
        while let Some(word) = words.next() {
            let body = word
                .strip_prefix(b"--")
                .or_else(|| word.strip_prefix(b"-"))
                .unwrap_or(b"");
            let (name, glued) = match body.iter().position(|b| *b == b'=') {
                Some(at) => (&body[..at], Some(&body[at + 1..])),
                None => (body, None),
            };
            let form = TOP_LEVEL.iter().find(|top| top.name.as_bytes() == name);
            let Some(top) = form.filter(|top| top.is_output_form()) else {
                continue;
            };
            let value = match (glued, top.argument) {
                (None, Argument::Required) => words.next(),
                _ => glued,
            };
            // What is wrong with these comes second.
            let _ = top.act(session, value);
            session.diagnostics.truncate(said);
        }
    }

    /// One word that begins with a dash.
    fn option(&mut self, session: &mut Session<'_>, word: &[u8]) -> Result<(), Stop> {
        let one_dash = !word.starts_with(b"--");
        let body = if one_dash { &word[1..] } else { &word[2..] };
        if let (true, [letter]) = (one_dash, body)
            && let Some(top) = by_letter(*letter)
        {
            return self.letters(session, word, top, &[]);
        }
        let (name, value) = match body.iter().position(|b| *b == b'=') {
            Some(at) => (&body[..at], Some(&body[at + 1..])),
            None => (body, None),
        };
        let name = String::from_utf8_lossy(name);
        let (known, name) = match self.find(session, &name) {
            Found::One(known, name) => (known, name),
            Found::Several(names) => {
                let dashes = if one_dash { "-" } else { "--" };
                let names: Vec<String> = names.iter().map(|n| format!("{dashes}{n}")).collect();
                return Err(session.fail(format!(
                    "option '{}' is ambiguous: it could be {}",
                    String::from_utf8_lossy(word),
                    names.join(", ")
                )));
            }
            Found::None => {
                if let (true, Some((letter, rest))) = (one_dash, body.split_first())
                    && let Some(top) = by_letter(*letter)
                {
                    return self.letters(session, word, top, rest);
                }
                return Err(self.unknown(session, word));
            }
        };
        let taken = match (known.argument(), value) {
            (Argument::None, Some(_)) => {
                return Err(session.fail(format!("option '{}' takes no value", dashed(word))));
            }
            (Argument::Required, None) => Some(self.following(session, word)?),
            (_, value) => value.map(<[u8]>::to_vec),
        };
        self.act(session, known, name, taken.as_deref())
    }

    /// A word of single letters: `-v`, `-vP`, `-oFILE`.
    fn letters(
        &mut self,
        session: &mut Session<'_>,
        word: &[u8],
        first: &'static TopLevel,
        rest: &[u8],
    ) -> Result<(), Stop> {
        let mut top = first;
        let mut rest = rest;
        loop {
            match top.argument {
                Argument::None => top.act(session, None)?,
                Argument::Optional => {
                    return top.act(session, Some(rest).filter(|rest| !rest.is_empty()));
                }
                Argument::Required if rest.is_empty() => {
                    let value = self.following(session, word)?;
                    return top.act(session, Some(&value));
                }
                Argument::Required => return top.act(session, Some(rest)),
            }
            let Some((letter, tail)) = rest.split_first() else {
                return Ok(());
            };
            top = match by_letter(*letter) {
                Some(top) => top,
                None => return Err(self.unknown(session, word)),
            };
            rest = tail;
        }
    }

    /// The next word as a value, whatever it looks like.
    fn following(&mut self, session: &mut Session<'_>, word: &[u8]) -> Result<Vec<u8>, Stop> {
        match self.words.get(self.next) {
            Some(value) => {
                self.next += 1;
                Ok(value.as_bytes().to_vec())
            }
            None => Err(session.fail(format!("option '{}' needs a value", dashed(word)))),
        }
    }

    /// The engine whose options are known at this point.
    fn engine(&self, session: &Session<'_>) -> String {
        match &self.target {
            Target::Job(draft) => draft.engine.clone(),
            Target::Global => session.global.engine.clone(),
            Target::None => String::new(),
        }
    }

    /// All names in the order of abbreviations.
    fn names(&self, session: &Session<'_>) -> Vec<(&'static str, Known)> {
        let engine = self.engine(session);
        let mut names: Vec<(&'static str, Known)> = Vec::with_capacity(512);
        names.extend(TOP_LEVEL.iter().map(|top| (top.name, Known::Top(top))));
        let options = table::JOB_OPTIONS
            .iter()
            .copied()
            .chain(table::engine_options(&engine));
        for opt in options {
            names.extend(opt.names().map(|name| (name, Known::Job(opt))));
        }
        names
    }

    fn find(&self, session: &Session<'_>, name: &str) -> Found {
        let names = self.names(session);
        if let Some((name, known)) = names.iter().find(|(known, _)| *known == name) {
            return Found::One(*known, name);
        }
        let matches: Vec<&(&'static str, Known)> = names
            .iter()
            .filter(|(known, _)| known.starts_with(name))
            .collect();
        match matches.as_slice() {
            [] => Found::None,
            [(name, known)] => Found::One(*known, name),
            several => Found::Several(several.iter().map(|(name, _)| *name).collect()),
        }
    }

    fn unknown(&self, session: &mut Session<'_>, word: &[u8]) -> Stop {
        let shown = dashed(word);
        let bare = shown.trim_start_matches('-').to_string();
        let names = self.names(session);
        let hint = match nearest::name(&bare, names.iter().map(|(name, _)| *name)) {
            Some(name) => format!("; did you mean '--{name}'?"),
            None => String::new(),
        };
        let option = bare.split('=').next().unwrap_or_default();
        let hint = match table::owners(option) {
            Some(owner) => format!("; it belongs to {owner}, which must be chosen first"),
            None => hint,
        };
        session.fail(format!("unknown option '{shown}'{hint}"))
    }

    fn act(
        &mut self,
        session: &mut Session<'_>,
        known: Known,
        name: &'static str,
        value: Option<&[u8]>,
    ) -> Result<(), Stop> {
        match known {
            Known::Top(top) => top.act(session, value),
            Known::Job(opt) => self.job_option(session, opt, name, value),
        }
    }

    fn job_option(
        &mut self,
        session: &mut Session<'_>,
        opt: &'static Opt,
        typed: &'static str,
        value: Option<&[u8]>,
    ) -> Result<(), Stop> {
        if opt.name == "name" && !matches!(self.target, Target::None) {
            self.complete(session)?;
        }
        if value.is_some_and(<[u8]>::is_empty) && !opt.value_optional() {
            return Err(session.fail(format!("option '{typed}' needs a value")));
        }
        if opt.name == "name" {
            let name = value.unwrap_or_default();
            if !name.starts_with(b"global") {
                if !session.sections.is_empty() && !session.sections.iter().any(|s| s == name) {
                    return Ok(());
                }
                self.target = Target::Job(Box::new(session.new_job(name)));
            }
        }
        if matches!(self.target, Target::None) {
            self.target = Target::Global;
        }
        self.apply(session, opt, typed, value)?;
        if opt.name == "ioengine" {
            let engine = self.engine(session);
            let external = value.is_some_and(|v| v.starts_with(b"external:"));
            if table::find_engine(&engine).is_none() && !external {
                return Err(session.fail(unknown_engine(&engine)));
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        session: &mut Session<'_>,
        opt: &'static Opt,
        typed: &str,
        value: Option<&[u8]>,
    ) -> Result<(), Stop> {
        let result = match &mut self.target {
            Target::Job(draft) => draft.apply(opt, value, &mut session.context(None)),
            Target::Global | Target::None => {
                // The settings leave the session while the entry's action writes to both.
                let mut global = session.global.clone();
                let result = global.apply(opt, value, &mut session.context(None));
                session.global = global;
                result
            }
        };
        result.map_err(|why| {
            let shown = value.map_or(String::new(), |v| {
                format!("={}", String::from_utf8_lossy(v))
            });
            let glued = if shown.contains("--") {
                " (is a blank missing in front of '--'?)"
            } else {
                ""
            };
            session.fail(format!("option '{typed}{shown}': {why}{glued}"))
        })
    }

    /// The target is complete: a job is set up.
    fn complete(&mut self, session: &mut Session<'_>) -> Result<(), Stop> {
        match std::mem::replace(&mut self.target, Target::None) {
            Target::Job(draft) => session.add_job(*draft),
            Target::Global | Target::None => Ok(()),
        }
    }
}

enum Found {
    None,
    One(Known, &'static str),
    Several(Vec<&'static str>),
}

fn by_letter(letter: u8) -> Option<&'static TopLevel> {
    TOP_LEVEL.iter().find(|top| top.letter == letter)
}

fn dashed(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

/// The name of a job file as the messages show it.
pub(crate) fn shown(name: &OsString) -> String {
    String::from_utf8_lossy(&name.clone().into_vec()).into_owned()
}
