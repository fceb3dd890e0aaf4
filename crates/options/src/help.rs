//! Help texts, made from the option table.

use std::fmt::Write;

use crate::diag::Persona;
use crate::nearest;
use crate::table::{self, Kind, Opt};
use crate::toplevel::{Argument, TOP_LEVEL};

/// What a question for help comes to.
pub(crate) struct Answer {
    pub(crate) stdout: String,
    /// For standard error.
    pub(crate) problem: Option<String>,
    pub(crate) status: u8,
}

/// `--help`.
pub(crate) fn usage(persona: Persona) -> String {
    let mut text = format!(
        "{}\n{} [options] [job options] <job file(s)>\n",
        persona.version(),
        persona.word()
    );
    for top in TOP_LEVEL {
        let name = match top.argument {
            Argument::None => top.name.to_string(),
            Argument::Optional => format!("{}[=value]", top.name),
            Argument::Required => format!("{}=value", top.name),
        };
        let _ = writeln!(text, "  --{name:<24} {}", top.help);
    }
    text
}

/// `--cmdhelp[=NAME]`; unknown names have status 0 as well.
pub(crate) fn job_options(name: Option<&str>) -> Answer {
    let options = &table::JOB_OPTIONS;
    match name {
        None | Some("all") => Answer {
            stdout: list(options),
            problem: None,
            status: 0,
        },
        Some(name) => one(options, name, 0),
    }
}

/// `--enghelp[=ENGINE[,NAME]]`.
pub(crate) fn engines(text: &str) -> Answer {
    if text.is_empty() {
        let mut stdout = "Available IO engines:\n".to_string();
        for engine in table::ENGINES.iter().filter(|engine| engine.built) {
            let _ = writeln!(stdout, "\t{}", engine.name);
        }
        return Answer {
            stdout,
            problem: None,
            status: 0,
        };
    }
    let (name, option) = match text.split_once(',') {
        Some((name, option)) => (name, Some(option)),
        None => (text, None),
    };
    if table::find_engine(name).is_none() {
        return Answer {
            stdout: format!("IO engine {name} not found\n"),
            problem: Some(format!(
                "engine '{name}' is not loadable: there is none of that name"
            )),
            status: 1,
        };
    }
    let options: Vec<&'static Opt> = table::engine_options(name).collect();
    if options.is_empty() {
        let stdout = format!("IO engine {name} has no options\n");
        return Answer {
            stdout,
            problem: None,
            status: 1,
        };
    }
    match option {
        None | Some("all") => Answer {
            stdout: list(&options),
            problem: None,
            status: 0,
        },
        Some(option) => one(&options, option, 1),
    }
}

/// One line per option; children follow their parent, indented.
fn list(options: &[&'static Opt]) -> String {
    let mut text = String::new();
    for opt in options
        .iter()
        .filter(|opt| opt.shown() && parent(options, opt).is_none())
    {
        list_with_children(options, opt, 0, &mut text);
    }
    text
}

/// Parents may be written as an alias.
fn parent(options: &[&'static Opt], opt: &Opt) -> Option<&'static Opt> {
    let name = opt.parent?;
    options
        .iter()
        .copied()
        .find(|other| other.names().any(|n| n == name))
}

fn list_with_children(
    options: &[&'static Opt],
    opt: &'static Opt,
    level: usize,
    text: &mut String,
) {
    let name = format!("{}{}", "  ".repeat(level), opt.name);
    let _ = writeln!(text, "{name:<24}: {}", opt.help);
    for child in options.iter().filter(|child| child.shown()) {
        if parent(options, child).is_some_and(|parent| std::ptr::eq(parent, opt)) {
            list_with_children(options, child, level + 1, text);
        }
    }
}

/// The block of one option, or of the nearest one.
fn one(options: &[&'static Opt], name: &str, unknown_status: u8) -> Answer {
    if let Some(opt) = options.iter().find(|opt| opt.names().any(|n| n == name))
        && opt.shown()
    {
        return Answer {
            stdout: block(opt),
            problem: None,
            status: 0,
        };
    }
    let shown = || options.iter().filter(|opt| opt.shown());
    let near = shown()
        .map(|opt| (nearest::distance(name.as_bytes(), opt.name.as_bytes()), opt))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance < 3 && name.len() < 64);
    let stdout = match near {
        Some((_, opt)) if unknown_status == 0 => {
            format!(" - showing closest match\n{}", block(opt))
        }
        _ => "\n".to_string(),
    };
    Answer {
        stdout,
        problem: Some(format!("No such command: {name}")),
        status: unknown_status,
    }
}

fn block(opt: &Opt) -> String {
    let mut text = String::new();
    let mut row = |label: &str, value: &str| {
        let _ = writeln!(text, "{label:>20}: {value}");
    };
    row(opt.name, opt.help);
    for alias in opt.aliases {
        row("alias", alias);
    }
    row("type", opt.kind.shown());
    row("default", opt.default.unwrap_or("no default"));
    if let Some(range) = range(opt) {
        row("range", &range);
    }
    let mut label = "valid values";
    for word in opt.words {
        row(label, format!("{:<10} {}", word.name, word.help).trim_end());
        label = "";
    }
    text.push('\n');
    text
}

/// Bounds as 32-bit numbers: no bound above shows as -1.
fn range(opt: &Opt) -> Option<String> {
    match opt.kind {
        Kind::Bool => Some("min=0, max=1".to_string()),
        Kind::Floats => {
            let (min, max) = (opt.min?, opt.max?);
            Some(format!("min={min}.000000, max={max}.000000"))
        }
        _ => {
            let min = opt.min?;
            let max = opt.max.unwrap_or(-1);
            Some(format!("min={min}, max={max}"))
        }
    }
}
