//! `share/man/ferrio.1`.

use ferrio_options::catalogue::{self, OptionInfo, Owner};
use roff::{Roff, bold, italic, roman};

use crate::{range, refusal};

/// The whole page.
pub(crate) fn page() -> String {
    let mut roff = Roff::new();
    roff.control("TH", ["FERRIO", "1"]);
    // A line that holds a single long word cannot be stretched to the margin.
    roff.control("ad", ["l"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(
        "ferrio - I/O tester for block storage that speaks fio's language",
    )]);
    roff.control("SH", ["SYNOPSIS"]);
    roff.text([
        bold("ferrio"),
        roman(" ["),
        italic("options"),
        roman("] ["),
        italic("job options"),
        roman("] ["),
        italic("job file"),
        roman("...]"),
    ]);
    roff.control("SH", ["DESCRIPTION"]);
    roff.text([roman(
        "ferrio measures disks, file systems and network shares. It takes the command lines and job \
         files of fio 3.42, does the same I/O in the same order, and prints the same reports. A job \
         begins with --name on the command line, or with a section in a job file; options before the \
         first job hold for all of them.",
    )]);
    roff.text([roman(
        "Nothing is written to a device in use. An option that is understood but not built ends \
         the run before any I/O, with a line that names it.",
    )]);
    roff.control("SH", ["OPTIONS"]);
    for switch in catalogue::switches() {
        roff.control("TP", []);
        let mut term = vec![
            bold(format!("--{}", switch.name)),
            roman(", "),
            bold(format!("-{}", switch.letter)),
        ];
        match switch.value {
            Some(true) => term.extend([roman(" "), italic("VALUE")]),
            Some(false) => term.extend([roman("[="), italic("VALUE"), roman("]")]),
            None => {}
        }
        roff.text(term);
        let mark = if switch.built { "" } else { " Not built." };
        roff.text([roman(format!("{}.{mark}", switch.help))]);
    }
    let options = catalogue::options();
    roff.control("SH", ["JOB OPTIONS"]);
    for option in options.iter().filter(|o| o.owner == Owner::Job) {
        entry(&mut roff, option);
    }
    roff.control("SH", ["ENGINE OPTIONS"]);
    for option in options.iter().filter(|o| o.owner != Owner::Job) {
        entry(&mut roff, option);
    }
    roff.control("SH", ["EXIT STATUS"]);
    roff.text([roman(
        "0: all jobs ran without an error. 1 and above: so many jobs failed; 1 also when the command \
         line, a job file or a target was refused. 128 and above: a signal ended the run.",
    )]);
    roff.control("SH", ["ENVIRONMENT"]);
    roff.control("TP", []);
    roff.text([bold("FERRIO_STALL_SECONDS")]);
    roff.text([roman(
        "Seconds without progress after which a worker that should have ended is given up.",
    )]);
    roff.control("SH", ["SEE ALSO"]);
    roff.text([bold("fio"), roman("(1)")]);
    roff.to_roff()
}

fn entry(roff: &mut Roff, option: &OptionInfo) {
    roff.control("TP", []);
    let names: Vec<&str> = std::iter::once(&option.name)
        .chain(option.aliases)
        .copied()
        .collect();
    roff.text([bold(names.join(", "))]);
    let mut text = format!("{}.", option.help);
    if let Owner::Engines(engines) = option.owner {
        text += &format!(" Engines: {}.", engines.join(", "));
    }
    if let Owner::Profile(profile) = option.owner {
        text += &format!(" Profile: {profile}.");
    }
    if option.deprecated {
        text += " Deprecated.";
    } else {
        let words: Vec<&str> = option.words.iter().map(|word| word.name).collect();
        if !words.is_empty() {
            text += &format!(" Words: {}.", words.join(", "));
        }
        if let Some(default) = option.default {
            text += &format!(" Default: {default}.");
        }
        if let Some(range) = range(option) {
            text += &format!(" Range: {range}.");
        }
        if let Some(refusal) = refusal(option) {
            text += &format!(" {refusal}");
        }
    }
    roff.text([roman(text)]);
}
