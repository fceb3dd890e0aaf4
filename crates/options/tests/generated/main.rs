//! Manuals and shell completions that are made from the option table: `docs/options.md` and `share/`.
//!
//! The test compares what the table gives with the files. `FERRIO_UPDATE=1 cargo test -p
//! ferrio-options --test generated` writes them.

mod completions;
mod man;
mod markdown;

use std::fs;
use std::path::{Path, PathBuf};

use ferrio_options::catalogue::{OptionInfo, Support};

/// The project's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every generated file with its content.
fn files() -> Vec<(&'static str, String)> {
    vec![
        ("docs/options.md", markdown::page()),
        ("share/man/ferrio.1", man::page()),
        ("share/completions/ferrio.bash", completions::bash()),
        ("share/completions/_ferrio", completions::zsh()),
        ("share/completions/ferrio.fish", completions::fish()),
    ]
}

/// A range of numbers in words.
fn range(option: &OptionInfo) -> Option<String> {
    match (option.min.filter(|min| *min != 0), option.max) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (None, Some(max)) => Some(format!("up to {max}")),
        (Some(min), None) => Some(format!("at least {min}")),
        (None, None) => None,
    }
}

/// What is to be said about an option that ferrio does not do.
fn refusal(option: &OptionInfo) -> Option<String> {
    match option.support {
        Support::Full => None,
        Support::Refused => Some("Not built: a value with an effect ends the run.".into()),
        Support::RefusedWith(others) => Some(format!(
            "Not built: ends the run together with {}, has no effect else.",
            others.join(", ")
        )),
    }
}

#[test]
fn files_are_what_the_table_gives() {
    let update = std::env::var_os("FERRIO_UPDATE").is_some();
    let mut stale = Vec::new();
    for (name, content) in files() {
        let path = root().join(name);
        if update {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, &content).expect("a file");
        }
        if fs::read_to_string(&path).ok().as_deref() != Some(content.as_str()) {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?}: write them anew with FERRIO_UPDATE=1 cargo test -p ferrio-options --test generated"
    );
}

/// What bash offers behind `line`; `None` without bash.
fn bash_offers(line: &str) -> Option<Vec<String>> {
    let script = root().join("share/completions/ferrio.bash");
    let code = "source \"$1\"; COMP_LINE=$2; COMP_POINT=${#2}; _ferrio; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let output = std::process::Command::new("bash")
        .args(["-c", code, "bash"])
        .args([script.as_os_str(), line.as_ref()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.lines().map(String::from).collect())
}

#[test]
fn bash_completes_names_and_words() {
    let Some(offers) = bash_offers("ferrio --name=a --rw=randr") else {
        eprintln!("skipped: no bash");
        return;
    };
    assert_eq!(offers, ["randread", "randrw"]);
    let names = bash_offers("ferrio --iode").unwrap_or_default();
    assert!(names.contains(&"--iodepth=".to_string()), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("--iode")));
    for (line, expected) in [
        // Only engines that are built; help knows the others, too.
        ("ferrio -ioengine=lib", &["libaio"][..]),
        ("ferrio --enghelp=libz", &["libzbc"]),
        ("ferrio --cmdhelp=hugep", &["hugepage-size"]),
        (
            "ferrio --output-format=js",
            &["json", "json+", "json-lines"],
        ),
        ("ferrio --output-format=normal,te", &["normal,terse"]),
        ("ferrio --output-format normal,te", &["normal,terse"]),
        // A value as a word of its own, names with one dash, aliases.
        ("ferrio --rw randr", &["randread", "randrw"]),
        ("ferrio --name=a -rw  randr", &["randread", "randrw"]),
        ("ferrio --readwrite=randr", &["randread", "randrw"]),
        ("ferrio -iodepth_l", &["-iodepth_low="]),
        (
            "ferrio --blocks",
            &[
                "--blocksize=",
                "--blocksize_range=",
                "--blocksize_unaligned",
            ],
        ),
        ("ferrio -time_b", &["-time_based"]),
        // The value of these must be glued, so that a file follows.
        ("ferrio --enghelp libz", &[""]),
        ("ferrio --time_based randr", &[""]),
        ("ferrio --latency-", &[""]),
    ] {
        let offers = bash_offers(line).unwrap_or_default();
        assert_eq!(offers, expected, "{line}");
    }
}

/// The manual's formatter has nothing to complain of.
#[test]
fn the_manual_is_well_formed() {
    let page = root().join("share/man/ferrio.1");
    let output = std::process::Command::new("man")
        .args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8"])
        .arg(page)
        .env("MANWIDTH", "80")
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: no man");
        return;
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    assert_eq!(complaints, "");
}
