//! What fio 3.42 leaves behind and calls on the way, run by run (`tests/data`).
//!
//! Each set of vectors has one list of rows where ferrio differs on purpose; a row of the list
//! that does not differ is an error too.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::*;

/// Rows that differ on purpose: how their arguments begin or end, and why.
pub(crate) type Known = &'static [(&'static str, &'static str)];

/// The cases of one file.
pub(crate) fn cases(text: &str) -> Vec<Value> {
    match serde_json::from_str(text).expect("vectors") {
        Value::Array(cases) => cases,
        Value::Object(mut object) => match object.remove("cases") {
            Some(Value::Array(cases)) => cases,
            _ => panic!("no cases"),
        },
        _ => panic!("no cases"),
    }
}

/// The program with arguments as a shell reads them, in `dir`.
pub(crate) fn shell(dir: &Path, before: &str, args: &str) -> Command {
    let program = env!("CARGO_BIN_EXE_ferrio");
    let line = format!("umask 022; exec {before} {program} {args}");
    command("sh", dir, &["-c", &line])
}

pub(crate) fn args_of(case: &Value) -> String {
    match &case["args"] {
        Value::String(args) => args.clone(),
        Value::Array(args) => {
            let words = args.iter().map(|word| word.as_str().expect("a word"));
            let quoted = words.map(|word| format!("'{}'", word.replace('\'', r"'\''")));
            quoted.collect::<Vec<_>>().join(" ")
        }
        other => panic!("arguments {other}"),
    }
}

/// Makes what the case needs.
pub(crate) fn set_up(dir: &Path, case: &Value) {
    for entry in case["before"].as_array().into_iter().flatten() {
        let path = dir.join(entry["name"].as_str().expect("a name"));
        if entry["dir"] == true {
            fs::create_dir(path).expect("a directory");
        } else {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).expect("directories");
            }
            let file = fs::File::create(path).expect("a file");
            file.set_len(entry["size"].as_u64().expect("a size"))
                .expect("its size");
        }
    }
    for name in case["dirs"].as_array().into_iter().flatten() {
        fs::create_dir(dir.join(name.as_str().expect("a name"))).expect("a directory");
    }
}

/// Everything below `dir`: name, and size and mode of files, mode of directories.
fn left_behind(dir: &Path, digests: bool) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("metadata");
            let name = path.strip_prefix(dir).expect("a prefix");
            let mode = format!("{:o}", metadata.permissions().mode() & 0o777);
            let mut value = json!({ "mode": mode });
            if metadata.is_dir() {
                value["dir"] = true.into();
                open.push(path.clone());
            } else {
                value["size"] = metadata.size().into();
            }
            if digests && metadata.is_file() {
                let sum = tool("sha256sum", &[path.to_str().expect("a plain path")]);
                value["sha256"] = sum.expect("a digest")[..64].into();
            }
            found.insert(name.to_string_lossy().into_owned(), value);
        }
    }
    found
}

/// Runs every case; `differs` says what is wrong with one.
pub(crate) fn check(text: &str, known: Known, differs: impl Fn(&Path, &Value) -> Option<String>) {
    let mut wrong = Vec::new();
    for case in cases(text) {
        let dir = scratch();
        set_up(dir.path(), &case);
        let args = args_of(&case);
        let listed = known.iter().find(|(row, _)| args.ends_with(row));
        match (differs(dir.path(), &case), listed) {
            (Some(what), None) => wrong.push(format!("{args}\n    {what}")),
            (None, Some((row, _))) => {
                wrong.push(format!(
                    "{args}\n    is listed as different ({row}), and is not"
                ));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Byte and operation counts of each job, as the vectors have them.
fn counts(report: &Value) -> Vec<Value> {
    let jobs = report["jobs"].as_array().expect("jobs");
    let count = |job: &Value| {
        json!({
            "jobname": job["jobname"], "groupid": job["groupid"], "error": job["error"],
            "read_bytes": job["read"]["io_bytes"], "read_ios": job["read"]["total_ios"],
            "write_bytes": job["write"]["io_bytes"], "write_ios": job["write"]["total_ios"],
        })
    };
    jobs.iter().map(count).collect()
}

/// Status, files with size and mode, and counts of a case of the `lifecycle-files` shape.
fn files_differ(dir: &Path, case: &Value, digests: bool) -> Option<String> {
    let args = format!("--output-format=json {}", args_of(case));
    let run = finish(shell(dir, "", &args));
    if case["exit"] != run.status {
        return Some(format!("status {}: {}", run.status, run.stderr));
    }
    let mut expected = BTreeMap::new();
    for file in case["files_after"].as_array().expect("files") {
        let mut file = file.clone();
        let name = file.as_object_mut().expect("an object").remove("name");
        let name = name.expect("a name").as_str().expect("a name").to_string();
        expected.insert(name, file);
    }
    let found = left_behind(dir, digests);
    let made_before: Vec<&str> = case["before"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["name"].as_str())
        .collect();
    for (name, found) in &found {
        let Some(expected) = expected.remove(name) else {
            if made_before.contains(&name.as_str()) {
                continue;
            }
            return Some(format!("{name} is left behind: {found}"));
        };
        for (key, value) in expected.as_object().expect("an object") {
            if found.get(key).is_some_and(|found| found != value) {
                return Some(format!("{name}: {key} is {found}, not {value}"));
            }
        }
    }
    if let Some(name) = expected.keys().next() {
        return Some(format!("{name} is missing"));
    }
    let jobs = case["jobs"].as_array()?;
    let found = counts(&run.json());
    (found != *jobs).then(|| format!("{found:?}, not {jobs:?}"))
}

#[test]
fn files_of_a_run() {
    const TOLD: &str = "the report shows the error of a job that could not be set up";
    const KNOWN: Known = &[
        ("--offset=120k", TOLD),
        ("--offset=100k", TOLD),
        ("--bs=128k", TOLD),
        ("--allow_file_create=0", TOLD),
        (
            "--rw=read --bs=8k --size=16k --readonly",
            "refused because of --readonly, not for want of the file later",
        ),
    ];
    check(
        include_str!("../data/lifecycle-files.json"),
        KNOWN,
        |dir, case| files_differ(dir, case, false),
    );
}

#[test]
fn drawn_file_sizes() {
    check(
        include_str!("../data/lifecycle-filesize-range.json"),
        &[],
        |dir, case| files_differ(dir, case, false),
    );
}

#[test]
fn contents_of_laid_out_files() {
    check(
        include_str!("../data/lifecycle-layout-sha256.json"),
        &[],
        |dir, case| files_differ(dir, case, true),
    );
}

#[test]
fn names_and_sizes_of_files() {
    check(
        include_str!("../data/options-files.json"),
        &[],
        |dir, case| {
            let args = format!("--eta=never {} --output-format=terse", args_of(case));
            let run = finish(shell(dir, "", &args));
            if case["exit"] != run.status {
                return Some(format!("status {}: {}", run.status, run.stderr));
            }
            let found: Vec<Value> = left_behind(dir, false)
                .into_iter()
                .filter(|(_, entry)| entry["dir"] != true)
                .map(|(name, entry)| json!([name, entry["size"]]))
                .collect();
            let mut expected = case["files"].as_array().expect("files").clone();
            expected.sort_by_key(|entry| entry[0].as_str().map(str::to_string));
            (found != expected).then(|| format!("{found:?}, not {expected:?}"))
        },
    );
}
