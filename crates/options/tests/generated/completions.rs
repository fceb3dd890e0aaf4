//! Completions for three shells.

use std::collections::BTreeSet;
use std::fmt::Write;

use ferrio_options::catalogue::{self, OptionInfo, Owner, Support};

/// One name that can be completed.
struct Name {
    name: &'static str,
    help: &'static str,
    /// `None`: takes no value.
    value: Option<Value>,
}

enum Value {
    Words(Vec<&'static str>),
    Path,
    Any,
}

const PATH_SWITCHES: &[&str] = &["output", "aux-path", "inflate-log", "trigger-file"];

/// What can be given: the program's options, then those of jobs and of the engines. What is not built
/// is not offered.
fn names() -> Vec<Name> {
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for switch in catalogue::switches().into_iter().filter(|s| s.built) {
        seen.insert(switch.name);
        let value = match switch.name {
            "output-format" => Value::Words(vec!["normal", "terse", "json", "json+"]),
            "eta" => Value::Words(vec!["always", "never", "auto"]),
            name if PATH_SWITCHES.contains(&name) => Value::Path,
            _ => Value::Any,
        };
        names.push(Name {
            name: switch.name,
            help: switch.help,
            value: switch.value.map(|_| value),
        });
    }
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
            help: option.help,
            value: (!option.flag).then_some(value),
        });
    }
    names
}

const BASH_TAIL: &str = r#"
_ferrio() {
    local line=${COMP_LINE:0:COMP_POINT} word value
    word=${line##*[[:space:]]}
    case $word in
    -*=*)
        value=${word#*=}
        word=${word%%=*}
        word=${word##-}
        word=${word#-}
        local words=${_ferrio_words[$word]-}
        if [[ -n $words ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$value")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$value")
        fi
        ;;
    -*)
        mapfile -t COMPREPLY < <(compgen -W "$_ferrio_names" -- "$word")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
        ;;
    *)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        ;;
    esac
}
complete -o filenames -F _ferrio ferrio
"#;

pub(crate) fn bash() -> String {
    let mut text =
        String::from("# Completion of ferrio for bash; generated from the option table.\n");
    text += "_ferrio_names=\"\\\n";
    let mut words = String::from("declare -gA _ferrio_words=(\n");
    for name in names() {
        let equals = if name.value.is_some() { "=" } else { "" };
        let _ = writeln!(text, "--{}{equals} \\", name.name);
        if let Some(Value::Words(list)) = name.value {
            let _ = writeln!(words, "    [{}]=\"{}\"", name.name, list.join(" "));
        }
    }
    text + "\"\n" + &words + ")\n" + BASH_TAIL
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
    for name in names() {
        let help = zsh_text(name.help);
        let _ = match name.value {
            None => writeln!(text, "  '*--{}[{help}]' \\", name.name),
            Some(Value::Words(words)) => writeln!(
                text,
                "  '*--{}=[{help}]:word:({})' \\",
                name.name,
                words.join(" ")
            ),
            Some(Value::Path) => writeln!(text, "  '*--{}=[{help}]:path:_files' \\", name.name),
            Some(Value::Any) => writeln!(text, "  '*--{}=[{help}]:value: ' \\", name.name),
        };
    }
    text + "  '*:job file:_files'\n"
}

pub(crate) fn fish() -> String {
    let mut text =
        String::from("# Completion of ferrio for fish; generated from the option table.\n");
    for name in names() {
        let help = name.help.replace('\\', "\\\\").replace('\'', "\\'");
        let kind = match name.value {
            None => String::new(),
            Some(Value::Words(words)) => format!(" -x -a '{}'", words.join(" ")),
            Some(Value::Path) => " -r -F".into(),
            Some(Value::Any) => " -x".into(),
        };
        let _ = writeln!(
            text,
            "complete -c ferrio -l {}{kind} -d '{help}'",
            name.name
        );
    }
    text
}
