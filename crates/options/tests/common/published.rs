//! The published job files and command lines of `data/jobfiles`, and what is expected of each.
#![allow(dead_code)] // each test binary uses a part

use std::fs;
use std::path::{Path, PathBuf};

/// One line of the table `expected.tsv`.
pub(crate) struct Case {
    pub(crate) file: String,
    pub(crate) status: u8,
    /// Clones counted; `None` when refused.
    pub(crate) jobs: Option<usize>,
    pub(crate) error: Option<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl Case {
    /// It is a command line, not a job file.
    pub(crate) fn is_command(&self) -> bool {
        self.file.ends_with(".cmd")
    }
}

/// Where they are; `options` is the folder of this crate.
pub(crate) fn folder(options: &Path) -> PathBuf {
    options.join("tests/data/jobfiles")
}

/// All of them.
pub(crate) fn cases(folder: &Path) -> Vec<Case> {
    let table = fs::read_to_string(folder.join("expected.tsv")).expect("the table");
    let given = |field: &str| (field != "-").then(|| field.to_string());
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let env = given(fields[4]).unwrap_or_default();
            let env = env
                .split_whitespace()
                .filter_map(|pair| pair.split_once('='));
            Case {
                file: fields[0].to_string(),
                status: fields[1].parse().expect("a status"),
                jobs: given(fields[2]).and_then(|count| count.parse().ok()),
                error: given(fields[3]),
                env: env
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect(),
            }
        })
        .collect()
}

/// The words of a command line in a file of the folder.
pub(crate) fn command_words(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("a command line");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(shell_words).collect()
}

/// A shell's words: blanks separate, quotes group.
fn shell_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ' | '\n') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}
