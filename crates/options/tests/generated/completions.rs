//! Completions for three shells.

use std::collections::BTreeSet;
use std::fmt::Write;

use ferrio_options::catalogue::{self, OptionInfo, Owner, Support, SwitchInfo};

/// One option that can be completed.
struct Name {
    name: &'static str,
    aliases: &'static [&'static str],
    help: &'static str,
    /// `None`: takes no value.
    value: Option<Value>,
    /// The value may be left out, so it must be glued to the name.
    glued: bool,
}

impl Name {
    /// Its primary name and the others.
    fn all(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

enum Value {
    Words(Vec<&'static str>),
    /// Words with commas between them.
    List(Vec<&'static str>),
    Path,
    Any,
}

const PATH_SWITCHES: &[&str] = &["output", "aux-path", "inflate-log", "trigger-file"];
/// Switches that only say what to use in their place.
const GONE_SWITCHES: &[&str] = &["latency-log"];
const FORMATS: &[&str] = &["normal", "terse", "json", "json+", "json-lines"];

/// What can be given: the program's options, then those of jobs and of the engines. What is not built
/// is not offered.
fn names() -> Vec<Name> {
    let mut names = switches();
    let mut seen: BTreeSet<&str> = names.iter().map(|name| name.name).collect();
    let engines: Vec<&str> = catalogue::engines()
        .into_iter()
        .filter_map(|(name, built)| built.then_some(name))
        .collect();
    let usable = |option: &OptionInfo| {
        option.support == Support::Full
            && !option.deprecated
            && match option.owner {
                Owner::Job => true,
                Owner::Engines(of) => of.iter().any(|engine| engines.contains(engine)),
                Owner::Profile(_) => false,
            }
    };
    for option in catalogue::options().into_iter().filter(usable) {
        if !seen.insert(option.name) {
            continue;
        }
        let words = option.words.iter().filter(|word| word.built);
        let value = if option.name == "ioengine" {
            Value::Words(engines.clone())
        } else if !option.words.is_empty() {
            Value::Words(words.map(|word| word.name).collect())
        } else if option.path {
            Value::Path
        } else {
            Value::Any
        };
        names.push(Name {
            name: option.name,
            aliases: option.aliases,
            help: option.help,
            value: (!option.flag).then_some(value),
            glued: false,
        });
    }
    names
}

fn switches() -> Vec<Name> {
    let offered = |switch: &SwitchInfo| switch.built && !GONE_SWITCHES.contains(&switch.name);
    let switches = catalogue::switches().into_iter().filter(offered);
    switches
        .map(|switch| {
            let value = match switch.name {
                "output-format" => Value::List(FORMATS.to_vec()),
                "eta" => Value::Words(vec!["always", "never", "auto"]),
                // Help knows what is not built, too.
                "cmdhelp" => {
                    let options = catalogue::options().into_iter();
                    let shown = options.filter(|o| o.owner == Owner::Job && !o.deprecated);
                    Value::Words(shown.map(|option| option.name).collect())
                }
                "enghelp" => {
                    let engines = catalogue::engines().into_iter();
                    Value::Words(engines.map(|(name, _)| name).collect())
                }
                name if PATH_SWITCHES.contains(&name) => Value::Path,
                _ => Value::Any,
            };
            Name {
                name: switch.name,
                aliases: &[],
                help: switch.help,
                value: switch.value.map(|_| value),
                glued: switch.value == Some(false),
            }
        })
        .collect()
}

const BASH_TAIL: &str = r#"
# Values of the option $1, without dashes, that begin with $2.
_ferrio_value() {
    local words=${_ferrio_words[$1]-} before=
    if [[ -z $words ]]; then
        compopt -o filenames 2>/dev/null
        # Bash completes what stands behind the last colon.
        mapfile -t COMPREPLY < <(compgen -f -- "${2##*:}")
        return
    fi
    if [[ $_ferrio_lists == *" $1 "* && $2 == *,* ]]; then
        before=${2%,*},
    fi
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "${2#"$before"}")
}

_ferrio() {
    local line=${COMP_LINE:0:COMP_POINT} word option last name
    word=${line##*[[:space:]]}
    line=${line%"$word"}
    line=${line%"${line##*[![:space:]]}"}
    last=${line##*[[:space:]]}
    COMPREPLY=()
    # The value as a word of its own.
    if [[ $last == -* && $last != *=* ]]; then
        option=${last#-}
        option=${option#-}
        if [[ $_ferrio_names == *" --$option= "* && $_ferrio_glued != *" $option "* ]]; then
            _ferrio_value "$option" "$word"
            return
        fi
    fi
    case $word in
    -*=*)
        option=${word%%=*}
        option=${option#-}
        _ferrio_value "${option#-}" "${word#*=}"
        ;;
    --*)
        mapfile -t COMPREPLY < <(compgen -W "$_ferrio_names" -- "$word")
        ;;
    -*)
        mapfile -t COMPREPLY < <(compgen -W "$_ferrio_names" -- "-$word")
        COMPREPLY=("${COMPREPLY[@]#-}")
        ;;
    *)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        ;;
    esac
    for name in "${COMPREPLY[@]}"; do
        [[ $name == *= ]] && compopt -o nospace 2>/dev/null
    done
    return 0
}
complete -F _ferrio ferrio
"#;

pub(crate) fn bash() -> String {
    let mut text =
        String::from("# Completion of ferrio for bash; generated from the option table.\n");
    text += "_ferrio_names=\" \\\n";
    let mut words = String::from("declare -gA _ferrio_words=(\n");
    let (mut lists, mut glued) = (String::from(" "), String::from(" "));
    for entry in names() {
        let equals = if entry.value.is_some() { "=" } else { "" };
        for name in entry.all() {
            let _ = writeln!(text, "--{name}{equals} \\");
            if let Some(Value::Words(list) | Value::List(list)) = &entry.value {
                let _ = writeln!(words, "    [{name}]=\"{}\"", list.join(" "));
            }
            if let Some(Value::List(_)) = entry.value {
                lists = lists + name + " ";
            }
            if entry.glued {
                glued = glued + name + " ";
            }
        }
    }
    let sets = format!("_ferrio_lists=\"{lists}\"\n_ferrio_glued=\"{glued}\"\n");
    text + "\"\n" + &sets + &words + ")\n" + BASH_TAIL
}

/// Text inside brackets of a zsh specification, itself inside single quotes.
fn zsh_text(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\'', "'\\''")
        .replace('[', "\\[")
        .replace(']', "\\]")
        .replace(':', "\\:")
}

pub(crate) fn zsh() -> String {
    let mut text = String::from(
        "#compdef ferrio\n# Completion of ferrio for zsh; generated from the option table.\n\
         _arguments -S \\\n",
    );
    for entry in names() {
        let help = zsh_text(entry.help);
        let value = match &entry.value {
            None => String::new(),
            Some(Value::Words(words)) => format!(":word:({})", words.join(" ")),
            Some(Value::List(words)) => format!(":list:_values -s , word {}", words.join(" ")),
            Some(Value::Path) => ":path:_files".into(),
            Some(Value::Any) => ":value: ".into(),
        };
        // The value follows in the same word, or in the next one where it cannot be left out.
        let equals = match (&entry.value, entry.glued) {
            (None, _) => "",
            (Some(_), true) => "=-",
            (Some(_), false) => "=",
        };
        for name in entry.all() {
            let _ = writeln!(text, "  '*'{{-,--}}'{name}{equals}[{help}]{value}' \\");
        }
    }
    text + "  '*:job file:_files'\n"
}

pub(crate) fn fish() -> String {
    let mut text =
        String::from("# Completion of ferrio for fish; generated from the option table.\n");
    for entry in names() {
        let help = entry.help.replace('\\', "\\\\").replace('\'', "\\'");
        let kind = match &entry.value {
            None => String::new(),
            Some(Value::Words(words)) => format!(" -x -a '{}'", words.join(" ")),
            Some(Value::List(words)) => format!(
                " -x -a '(__fish_complete_list , \"string split : {}\")'",
                words.join(":")
            ),
            Some(Value::Path) => " -r -F".into(),
            Some(Value::Any) => " -x".into(),
        };
        // A required value makes fish complete the next word too, an optional one is glued.
        let kind = if entry.glued {
            kind.replacen(" -x", " -f", 1)
        } else {
            kind
        };
        for name in entry.all() {
            let _ = writeln!(
                text,
                "complete -c ferrio -l {name} -o {name}{kind} -d '{help}'"
            );
        }
    }
    text
}
