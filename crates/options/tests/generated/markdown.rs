//! `docs/options.md`.

use std::fmt::Write;

use ferrio_options::catalogue::{self, OptionInfo, Owner, SwitchInfo};

use crate::{range, refusal};

const HEAD: &str = "# Options

Every option that ferrio knows, from its option table: those of fio 3.42. What each one does in detail is in
fio's manual; where ferrio departs from it, in [known-differences.md](known-differences.md). `ferrio --cmdhelp=NAME`
shows one of them.

An option marked **not built** is understood, and ends the run before any I/O with a line that names it, if
its value has an effect. So does a word marked that way.

This page is generated: change the table.
";

/// The whole page.
pub(crate) fn page() -> String {
    let mut text = HEAD.to_string();
    text += "\n## Program\n\n| option | value | meaning |\n|---|---|---|\n";
    for switch in catalogue::switches() {
        program(&mut text, &switch);
    }
    text += "\n## Engines\n\n";
    let (built, unbuilt): (Vec<_>, Vec<_>) = catalogue::engines().into_iter().partition(|e| e.1);
    let names = |engines: &[(&str, bool)]| {
        let names: Vec<String> = engines.iter().map(|e| format!("`{}`", e.0)).collect();
        names.join(", ")
    };
    let _ = writeln!(text, "Built: {}.\n", names(&built));
    let _ = writeln!(text, "**Not built**: {}.", names(&unbuilt));
    let options = catalogue::options();
    let jobs: Vec<&OptionInfo> = options.iter().filter(|o| o.owner == Owner::Job).collect();
    let mut headings: Vec<(&str, &str)> = Vec::new();
    for option in &jobs {
        if !headings.contains(&(option.category, option.group)) {
            headings.push((option.category, option.group));
        }
    }
    headings.sort_by_key(|(category, _)| jobs.iter().position(|o| o.category == *category));
    for (category, group) in headings {
        let title = if group.is_empty() {
            category.to_string()
        } else {
            format!("{category}: {group}")
        };
        let _ = writeln!(text, "\n## {title}\n");
        for option in &jobs {
            if (option.category, option.group) == (category, group) {
                entry(&mut text, option);
            }
        }
    }
    text += "\n## Options of engines\n\n";
    for option in options
        .iter()
        .filter(|o| matches!(o.owner, Owner::Engines(_)))
    {
        entry(&mut text, option);
    }
    text += "\n## Options of profiles\n\n";
    for option in options
        .iter()
        .filter(|o| matches!(o.owner, Owner::Profile(_)))
    {
        entry(&mut text, option);
    }
    text
}

fn program(text: &mut String, switch: &SwitchInfo) {
    let value = match switch.value {
        None => "",
        Some(false) => "possible",
        Some(true) => "needed",
    };
    let mark = if switch.built { "" } else { " **Not built.**" };
    let _ = writeln!(
        text,
        "| `--{}`, `-{}` | {value} | {}.{mark} |",
        switch.name, switch.letter, switch.help
    );
}

fn entry(text: &mut String, option: &OptionInfo) {
    let names: Vec<String> = std::iter::once(&option.name)
        .chain(option.aliases)
        .map(|name| format!("`{name}`"))
        .collect();
    let _ = write!(text, "- {}: {}.", names.join(", "), option.help);
    if let Owner::Engines(engines) = option.owner {
        let _ = write!(text, " Engines: {}.", engines.join(", "));
    }
    if let Owner::Profile(profile) = option.owner {
        let _ = write!(text, " Profile: {profile}.");
    }
    if option.deprecated {
        text.push_str(" Deprecated.\n");
        return;
    }
    let _ = write!(text, " *{}*", option.kind);
    if let Some(default) = option.default {
        let _ = write!(text, ", default `{default}`");
    }
    if let Some(range) = range(option) {
        let _ = write!(text, ", {range}");
    }
    match option.values {
        3 => text.push_str(", per direction (read, write, trim)"),
        2 => text.push_str(", two values"),
        _ => {}
    }
    text.push('.');
    if let Some(refusal) = refusal(option) {
        let rest = refusal.strip_prefix("Not built").unwrap_or(&refusal);
        let _ = write!(text, " **Not built**{rest}");
    }
    text.push('\n');
    for word in &option.words {
        let mark = if word.built { "" } else { " (**not built**)" };
        let _ = writeln!(text, "  - `{}`: {}{mark}", word.name, word.help);
    }
}
