//! The option table as data, for manuals, shell completions and other tools.
//!
//! Everything comes from the entries that the parser itself uses.

use crate::table::{self, Built, Kind, Opt, Scope};
use crate::toplevel::{Argument, TOP_LEVEL};

/// Where an option is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// In every job.
    Job,
    /// In jobs of these engines.
    Engines(&'static [&'static str]),
    /// With this profile.
    Profile(&'static str),
}

/// Whether ferrio does what an option asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It does.
    Full,
    /// It knows the option; a value with an effect ends the run before any I/O, by name.
    Refused,
    /// As [`Support::Refused`], when one of these options has an effect too; without an effect else.
    RefusedWith(&'static [&'static str]),
}

/// One word of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordInfo {
    /// As it is typed.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
    /// ferrio does it; if not, it ends the run by name.
    pub built: bool,
}

/// One option of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Primary name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Where it is known.
    pub owner: Owner,
    /// First heading.
    pub category: &'static str,
    /// Second heading; may be empty.
    pub group: &'static str,
    /// The language of its value, as `--cmdhelp` shows it.
    pub kind: &'static str,
    /// The bare name is enough.
    pub flag: bool,
    /// The value is the name of a file or directory.
    pub path: bool,
    /// Text of the default.
    pub default: Option<&'static str>,
    /// Smallest number.
    pub min: Option<i128>,
    /// Largest number.
    pub max: Option<i128>,
    /// Values per option: 1, 2 (low and high, or read and write) or 3 (read, write, trim).
    pub values: usize,
    /// Words of an enumeration.
    pub words: Vec<WordInfo>,
    /// One sentence.
    pub help: &'static str,
    /// Whether ferrio has built it.
    pub support: Support,
    /// Accepted without effect or refused, for old job files.
    pub deprecated: bool,
}

/// One option of the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchInfo {
    /// Without dashes.
    pub name: &'static str,
    /// The one-letter form.
    pub letter: char,
    /// A value is needed (`Some(true)`), possible (`Some(false)`), or refused.
    pub value: Option<bool>,
    /// One sentence.
    pub help: &'static str,
    /// Whether ferrio has built it.
    pub built: bool,
}

/// All options of jobs in table order, then those of engines, then those of profiles.
pub fn options() -> Vec<OptionInfo> {
    let engines = table::ENGINE_OPTIONS.iter().copied();
    let profiles = table::PROFILE_OPTIONS.iter();
    let all = table::JOB_OPTIONS.iter().copied().chain(engines);
    all.chain(profiles).map(option).collect()
}

/// All engines, and whether ferrio has them.
pub fn engines() -> Vec<(&'static str, bool)> {
    let engines = table::ENGINES.iter();
    engines.map(|engine| (engine.name, engine.built)).collect()
}

/// The options of the program.
pub fn switches() -> Vec<SwitchInfo> {
    TOP_LEVEL
        .iter()
        .map(|top| SwitchInfo {
            name: top.name,
            letter: char::from(top.letter),
            value: match top.argument {
                Argument::None => None,
                Argument::Optional => Some(false),
                Argument::Required => Some(true),
            },
            help: top.help,
            built: top.built,
        })
        .collect()
}

fn option(opt: &'static Opt) -> OptionInfo {
    OptionInfo {
        name: opt.name,
        aliases: opt.aliases,
        owner: match opt.scope {
            Scope::Job => Owner::Job,
            Scope::Engines(names) => Owner::Engines(names),
            Scope::Profile(name) => Owner::Profile(name),
        },
        category: opt.category,
        group: opt.group,
        kind: opt.kind.shown(),
        flag: opt.value_optional(),
        path: matches!(
            opt.name,
            "filename" | "directory" | "opendir" | "read_iolog" | "write_iolog"
        ),
        default: opt.default,
        min: opt.min,
        max: opt.max,
        values: opt.slots,
        words: opt
            .words
            .iter()
            .map(|word| WordInfo {
                name: word.name,
                help: word.help,
                built: word.built,
            })
            .collect(),
        help: opt.help,
        support: match opt.built {
            Built::Yes => Support::Full,
            Built::No | Built::NoAtAll => Support::Refused,
            Built::NoUnless(others) => Support::RefusedWith(others),
        },
        deprecated: matches!(opt.kind, Kind::Refused | Kind::Ignored),
    }
}
