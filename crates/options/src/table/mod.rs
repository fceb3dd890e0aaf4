//! The option table: one entry per option holds all of it.
//!
//! Name, aliases, kind, bounds, default, units, directions, words, headings, parent, parse
//! priority, help, whether ferrio has built it, and what it sets stand together. The parser, the
//! help texts, the recorded options and the "not built" errors all come from these entries. The
//! order of entries is the order of help listings and of abbreviations.

mod buffers;
mod engines;
mod errors;
mod files;
mod general;
mod iolog;
mod logging;
mod pacing;
mod pattern;
mod placement;
mod profiles;
mod reporting;
mod verify;
mod zones;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::draft::{Ctx, Draft};
use crate::value::{TimeUnit, Value};

/// All main options in table order.
pub(crate) static JOB_OPTIONS: LazyLock<Vec<&'static Opt>> = LazyLock::new(|| {
    [
        general::DESCRIPTION,
        files::NAMES,
        pattern::DIRECTION,
        general::QUEUE,
        files::SIZES,
        pattern::OPTIONS,
        files::ACCESS,
        pacing::RUN,
        buffers::MEMORY,
        verify::OPTIONS,
        iolog::OPTIONS,
        zones::OPTIONS,
        placement::MEMORY,
        pattern::MIX,
        placement::PRIORITY,
        pacing::RATE,
        files::CREATION,
        placement::CPUS,
        files::CLOSING,
        general::GROUPS,
        logging::OPTIONS,
        reporting::SAMPLES,
        buffers::CONTENTS,
        reporting::LATENCY,
        errors::OPTIONS,
        general::CREDENTIALS,
        pacing::FLOW,
    ]
    .into_iter()
    .flatten()
    .collect()
});

/// All engine options, in table order within one engine.
pub(crate) static ENGINE_OPTIONS: LazyLock<Vec<&'static Opt>> = LazyLock::new(|| {
    engines::OPTIONS
        .iter()
        .flat_map(|table| table.iter())
        .collect()
});

/// Options of the built-in profiles.
pub(crate) static PROFILE_OPTIONS: &[Opt] = profiles::OPTIONS;

pub(crate) use engines::{ENGINES, find_engine};

static BY_NAME: LazyLock<HashMap<&'static str, &'static Opt>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for opt in JOB_OPTIONS.iter() {
        for name in opt.names() {
            names.insert(name, *opt);
        }
    }
    names
});

/// The main option of that name or alias.
pub(crate) fn find(name: &str) -> Option<&'static Opt> {
    BY_NAME.get(name).copied()
}

/// The option of `engine` of that name or alias.
pub(crate) fn find_engine_option(engine: &str, name: &str) -> Option<&'static Opt> {
    engine_options(engine).find(|opt| opt.names().any(|n| n == name))
}

/// The options of one engine in table order.
pub(crate) fn engine_options(engine: &str) -> impl Iterator<Item = &'static Opt> + use<'_> {
    ENGINE_OPTIONS
        .iter()
        .copied()
        .filter(move |opt| matches!(opt.scope, Scope::Engines(names) if names.contains(&engine)))
}

/// Where an option is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In every job.
    Job,
    /// In jobs of these engines.
    Engines(&'static [&'static str]),
    /// With this profile only.
    Profile(&'static str),
}

/// The language of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text that is not empty.
    Text,
    /// Text, or the bare name.
    OptionalText,
    /// One of the entry's words, perhaps with a parameter behind ':'.
    Word,
    /// A list of the entry's words; each adds a bit.
    Words,
    /// 32-bit number.
    Int,
    /// 64-bit number.
    Wide,
    /// Bytes or a count.
    Size,
    /// Bytes, per cent or zones.
    Amount,
    /// Microseconds.
    Time(TimeUnit),
    /// Low and high size.
    Range,
    /// 0 or 1.
    Bool,
    /// Bare name or a number.
    Flag,
    /// Floating numbers, split at ':'.
    Floats,
    /// A language of its own, known to the entry's action.
    Custom,
    /// Known and refused.
    Refused,
    /// Known and ignored, with a remark.
    Ignored,
}

impl Kind {
    /// What help calls the kind.
    pub(crate) fn shown(self) -> &'static str {
        match self {
            Kind::Text | Kind::OptionalText | Kind::Word | Kind::Size | Kind::Custom => {
                "string (opt=bla)"
            }
            Kind::Words => "string with possible k/m/g postfix (opt=4k)",
            Kind::Int | Kind::Wide => "integer value (opt=100)",
            Kind::Amount => "size, percentage or zone count (opt=1g, 50%, 3z)",
            Kind::Time(_) => "string with time postfix (opt=10s)",
            Kind::Range => "one to three ranges (opt=1k-4k[,4k-8k[,1k-8k]])",
            Kind::Bool => "boolean value (opt=1)",
            Kind::Flag => "empty or boolean value ([0|1])",
            Kind::Floats => "list of floating point values separated by ':' (opt=5.9:7.8)",
            Kind::Refused | Kind::Ignored => "deprecated",
        }
    }
}

/// One word of an enumeration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// The meaning is implemented.
    pub(crate) built: bool,
}

/// A word whose meaning is implemented (or where the option as a whole is not).
const fn word(name: &'static str, help: &'static str) -> Word {
    Word {
        name,
        help,
        built: true,
    }
}

/// A word that is understood but not implemented yet.
const fn unbuilt_word(name: &'static str, help: &'static str) -> Word {
    Word {
        name,
        help,
        built: false,
    }
}

/// Whether the option's effect is implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Built {
    /// It is.
    Yes,
    /// It is not: a value other than the default ends the run before any I/O.
    No,
    /// It is not, and every value has an effect, the default's text included.
    NoAtAll,
    /// It is not, but has no effect either unless one of these options has one.
    NoUnless(&'static [&'static str]),
}

/// What an accepted value does with the entry's language beyond storing.
pub(crate) type Action = fn(&mut Draft, &Value, &mut Ctx<'_>) -> Result<(), String>;

/// Which setting an option writes.
#[derive(Clone, Copy)]
pub(crate) enum Set {
    /// None: nothing reads the option yet.
    Nothing,
    Switch(fn(&mut Draft) -> &mut bool),
    U32(fn(&mut Draft) -> &mut u32),
    U64(fn(&mut Draft) -> &mut u64),
    /// One value per direction.
    Each(fn(&mut Draft) -> &mut [u64; 3]),
    Each32(fn(&mut Draft) -> &mut [u32; 3]),
    /// First piece low, last piece high.
    LowHigh(fn(&mut Draft) -> &mut (u64, u64)),
    Text(fn(&mut Draft) -> &mut Option<String>),
    /// More than one setting, or a language of its own.
    Run(Action),
}

/// One option.
#[derive(Clone, Copy)]
pub(crate) struct Opt {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) scope: Scope,
    pub(crate) category: &'static str,
    pub(crate) group: &'static str,
    pub(crate) kind: Kind,
    pub(crate) words: &'static [Word],
    pub(crate) default: Option<&'static str>,
    /// Smallest value; 0 and `None` are no bound.
    pub(crate) min: Option<i128>,
    /// Largest value; `None` is the width of the kind.
    pub(crate) max: Option<i128>,
    /// Values per option: 1, 2 or 3 (read, write, trim).
    pub(crate) slots: usize,
    /// Of several values for one place the last one counts, not the first.
    pub(crate) last_counts: bool,
    pub(crate) parent: Option<&'static str>,
    /// In job files higher priorities are parsed first.
    pub(crate) priority: i8,
    /// The number must be a power of two.
    pub(crate) pow2: bool,
    /// Per cent is understood.
    pub(crate) percent: bool,
    /// A word may be followed by ':' and a parameter.
    pub(crate) parameter: bool,
    /// Most entries of a list, longest text.
    pub(crate) limit: usize,
    pub(crate) help: &'static str,
    pub(crate) built: Built,
    pub(crate) set: Set,
}

impl std::fmt::Debug for Opt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opt")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Opt {
    const fn new(name: &'static str, kind: Kind, help: &'static str) -> Opt {
        Opt {
            name,
            aliases: &[],
            scope: Scope::Job,
            category: "General",
            group: "",
            kind,
            words: &[],
            default: None,
            min: None,
            max: None,
            slots: 1,
            last_counts: false,
            parent: None,
            priority: 0,
            pow2: false,
            percent: false,
            parameter: false,
            limit: usize::MAX,
            help,
            built: Built::No,
            set: Set::Nothing,
        }
    }

    const fn aka(mut self, aliases: &'static [&'static str]) -> Opt {
        self.aliases = aliases;
        self
    }

    const fn at(mut self, category: &'static str, group: &'static str) -> Opt {
        self.category = category;
        self.group = group;
        self
    }

    const fn words(mut self, words: &'static [Word]) -> Opt {
        self.words = words;
        self
    }

    const fn default(mut self, text: &'static str) -> Opt {
        self.default = Some(text);
        self
    }

    const fn min(mut self, min: i128) -> Opt {
        self.min = Some(min);
        self
    }

    const fn range(mut self, min: i128, max: i128) -> Opt {
        self.min = Some(min);
        self.max = Some(max);
        self
    }

    const fn slots(mut self, slots: usize) -> Opt {
        self.slots = slots;
        self
    }

    /// The action runs for every value of a list, so the last one counts.
    const fn last_counts(mut self) -> Opt {
        self.last_counts = true;
        self
    }

    const fn parent(mut self, parent: &'static str) -> Opt {
        self.parent = Some(parent);
        self
    }

    const fn priority(mut self, priority: i8) -> Opt {
        self.priority = priority;
        self
    }

    const fn pow2(mut self) -> Opt {
        self.pow2 = true;
        self
    }

    const fn percent(mut self) -> Opt {
        self.percent = true;
        self
    }

    const fn parameter(mut self) -> Opt {
        self.parameter = true;
        self
    }

    const fn limit(mut self, limit: usize) -> Opt {
        self.limit = limit;
        self
    }

    const fn engines(mut self, engines: &'static [&'static str]) -> Opt {
        self.scope = Scope::Engines(engines);
        self
    }

    const fn profile(mut self, profile: &'static str) -> Opt {
        self.scope = Scope::Profile(profile);
        self
    }

    /// Implemented, and this is the setting.
    const fn sets(mut self, set: Set) -> Opt {
        self.built = Built::Yes;
        self.set = set;
        self
    }

    /// Not implemented; the action checks the value's syntax.
    const fn checks(mut self, check: Action) -> Opt {
        self.set = Set::Run(check);
        self
    }

    /// Not implemented, and without effect unless one of these options has one.
    const fn unless(mut self, options: &'static [&'static str]) -> Opt {
        self.built = Built::NoUnless(options);
        self
    }

    /// Not implemented, whatever the value.
    const fn unbuilt_at_all(mut self) -> Opt {
        self.built = Built::NoAtAll;
        self
    }

    /// Primary name, then aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let aliases = self.aliases;
        std::iter::once(self.name).chain(aliases.iter().copied())
    }

    /// On the command line the value is optional and must be glued to the name.
    pub(crate) fn value_optional(&self) -> bool {
        self.kind == Kind::Flag
    }

    /// Which of too many values count, in words.
    pub(crate) fn counting(&self) -> &'static str {
        match self.slots {
            _ if self.last_counts => "only the last value counts",
            3 => "only the first three values (read, write, trim) count",
            2 if matches!(self.set, Set::LowHigh(_)) => {
                "only the first and the last value (low and high) count"
            }
            2 => "only the first two values count",
            _ => "only the first value counts",
        }
    }

    /// Listed in help.
    pub(crate) fn shown(&self) -> bool {
        !matches!(self.kind, Kind::Refused | Kind::Ignored)
    }

    /// All words in one line, for messages.
    pub(crate) fn word_list(&self) -> String {
        let names: Vec<&str> = self.words.iter().map(|w| w.name).collect();
        names.join(", ")
    }
}

/// The action of options that need no setting here: their value is a default, or its effect lies
/// outside local runs.
fn nothing(_: &mut Draft, _: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    Ok(())
}

/// Whose option a name is that is no main option: "the engine libaio", "the profile act".
pub(crate) fn owners(name: &str) -> Option<String> {
    let mut engines: Vec<&str> = Vec::new();
    let mut profiles: Vec<&str> = Vec::new();
    let options = ENGINE_OPTIONS.iter().copied().chain(PROFILE_OPTIONS);
    for opt in options.filter(|opt| opt.names().any(|n| n == name)) {
        match opt.scope {
            Scope::Engines(names) => engines.extend_from_slice(names),
            Scope::Profile(profile) => profiles.push(profile),
            Scope::Job => {}
        }
    }
    match (engines.is_empty(), profiles.is_empty()) {
        (false, _) => Some(format!("the engine {}", engines.join(", "))),
        (true, false) => Some(format!("the profile {}", profiles.join(", "))),
        (true, true) => None,
    }
}
