//! The system calls of each engine, as `strace` sees them, against recorded ones
//! (`tests/data/engines-syscalls.json`).
//!
//! Compared are the job thread's calls on its targets, from opening to closing them. Descriptors,
//! addresses and what libraries add (close-on-exec, the directory of relative names) are put into
//! the vectors' form. Left out on both sides are waiting calls, which may be replaced by reading
//! the ring, and `munmap`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{LoopDevice, command, finish, has_tool, is_root, scratch, skip, tool};

/// Cases with other calls, and why.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "splice-randread4",
        "no attempt to map pages over the buffer, which kernels refuse",
    ),
    (
        "splice-256k",
        "buffers begin at a page, so the first round fills the pipe",
    ),
    (
        "vsync-trim-bdev",
        "trims are trims, not vectored writes from nowhere",
    ),
    (
        "mmap-trim-bdev",
        "nothing is mapped for trims, and a mapped device is not discarded",
    ),
    (
        "io_uring-trim-bdev",
        "trims are executed at once, so that a refused one is not lost",
    ),
    ("io_uring-trim-file", "likewise"),
    ("dircreate", "mode 0700, not 0"),
];

/// Cases that cannot be compared, and why.
const NOT_COMPARED: &[(&str, &str)] = &[
    ("libaio-cmdprio", "priorities per command are not built"),
    ("libaio-cmdprio-50", "priorities per command are not built"),
    ("e4defrag-write", "the engine is not built"),
    (
        "io_uring-setup-d4",
        "the ring's descriptor is not registered, by the library's choice",
    ),
    ("io_uring-setup-d5", "likewise"),
    ("io_uring-setup-sqpoll-cpu", "likewise"),
    ("io_uring-setup-fixed-reg", "likewise"),
    ("io_uring-setup-nonvectored0", "likewise"),
];

/// Calls that are compared.
const CALLS: &[&str] = &[
    "openat",
    "close",
    "fadvise64",
    "read",
    "write",
    "pread64",
    "pwrite64",
    "readv",
    "writev",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "lseek",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "fallocate",
    "ftruncate",
    "poll",
    "vmsplice",
    "splice",
    "mmap",
    "madvise",
    "msync",
    "io_submit",
    "io_uring_enter",
    "ioctl",
    "newfstatat",
    "statx",
    "unlink",
    "mkdir",
    "rmdir",
];

/// A call without its thread, put together where `strace` had to split it.
struct Call {
    thread: u32,
    text: String,
}

fn calls(trace: &str) -> Vec<Call> {
    let mut begun: HashMap<u32, String> = HashMap::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((thread, text)) = line.split_once(' ') else {
            continue;
        };
        let (Ok(thread), text) = (thread.parse(), text.trim_start()) else {
            continue;
        };
        if let Some(start) = text.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, start.to_string());
        } else if let Some((_, end)) = text
            .strip_prefix("<... ")
            .and_then(|rest| rest.split_once(" resumed>"))
        {
            let text = begun.remove(&thread).unwrap_or_default() + end;
            calls.push(Call { thread, text });
        } else {
            let text = text.to_string();
            calls.push(Call { thread, text });
        }
    }
    calls
}

/// What a trace's descriptors and names are called in the vectors.
struct Names<'a> {
    directory: &'a str,
    device: &'a str,
    /// Reading and writing end of the thread's pipe, as numbers.
    pipe: [String; 2],
}

impl Names<'_> {
    fn of_descriptor(&self, number: &str, path: &str) -> String {
        let inside = path.strip_prefix(self.directory).unwrap_or(path);
        match inside.trim_start_matches('/') {
            "target" => "F".into(),
            name if name.starts_with("d/") => format!("F({name})"),
            _ if path == self.device => "F".into(),
            _ if path.starts_with("pipe:") && number == self.pipe[0] => "PIPE_R".into(),
            _ if path.starts_with("pipe:") && number == self.pipe[1] => "PIPE_W".into(),
            _ if path.contains("io_uring") => "0".into(),
            _ => "other".into(),
        }
    }

    /// Puts descriptors, addresses and structures into the vectors' form.
    fn normal(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let at_word_start = !out.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if let Some(tail) = rest.strip_prefix("AT_FDCWD<") {
                // Names are relative to the directory anyway.
                let end = tail.find(">, ").map_or(tail.len(), |end| end + 3);
                rest = &tail[end..];
            } else if digits > 0 && at_word_start && rest[digits..].starts_with('<') {
                let (number, tail) = rest.split_at(digits);
                let (path, tail) = tail[1..].split_once('>').unwrap_or((&tail[1..], ""));
                out += &self.of_descriptor(number, path);
                rest = tail;
            } else if at_word_start && rest.starts_with("0x") {
                let hex = rest[2..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
                let word = &rest[..rest.len() - hex.len()];
                out += match word {
                    "0x80" => "RWF_DONTCACHE",
                    _ if word.len() > 6 => "PTR",
                    _ => word,
                };
                rest = hex;
            } else if let Some(tail) = rest.strip_prefix("\"\"...") {
                out += "PTR";
                rest = tail;
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        for (end, name) in self.pipe.iter().zip(["PIPE_R", "PIPE_W"]) {
            out = out.replace(&format!("{{fd={end},"), &format!("{{fd={name},"));
        }
        let out = out
            .replace("|O_CLOEXEC", "")
            .replace(&format!("\"{}/", self.directory), "\"")
            .replace(&format!("\"{}\"", self.device), "\"BDEV\"");
        brief(&joined(&out))
    }
}

/// One blank before the result.
fn joined(text: &str) -> String {
    match text.rfind(") ") {
        Some(at) if text[at + 1..].trim_start().starts_with("= ") => {
            format!("{}) {}", &text[..at], text[at + 1..].trim_start())
        }
        _ => text.to_string(),
    }
}

/// Shortens what no two systems have in common.
fn brief(text: &str) -> String {
    let has_structure = text.starts_with("newfstatat") || text.starts_with("statx");
    if has_structure && let (Some(start), Some(end)) = (text.find('{'), text.rfind('}')) {
        return format!("{}ST{}", &text[..start], &text[end + 1..]);
    }
    if let Some(arguments) = text.strip_prefix("io_uring_enter(") {
        let submits = arguments.split(", ").nth(1).unwrap_or_default();
        return format!("io_uring_enter {submits}");
    }
    if text.starts_with("poll(") {
        return text.split(" = ").next().unwrap_or(text).to_string();
    }
    // The number that an asynchronous request carries is the program's own.
    let mut pieces = text.split("aio_data=");
    let mut out = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        out += piece.split_once(", ").map_or(piece, |(_, rest)| rest);
    }
    out.replace("BUF", "PTR")
}

fn is_compared(text: &str) -> bool {
    let name = text.split(['(', ' ']).next().unwrap_or_default();
    let own = match name {
        "ioctl" => text.contains("BLKDISCARD"),
        "mmap" => text.contains(", F, "),
        "madvise" => ["SEQUENTIAL", "RANDOM", "REMOVE"]
            .iter()
            .any(|advice| text.contains(advice)),
        "openat" | "newfstatat" | "statx" => ["\"target\"", "\"BDEV\"", "\"d/j."]
            .iter()
            .any(|path| text.contains(path)),
        "io_uring_enter" => text != "io_uring_enter 0",
        "close" | "read" | "write" | "lseek" => text.contains("(F"),
        _ => true,
    };
    own && CALLS.contains(&name)
}

/// The calls that ferrio's job thread made.
fn seen(trace: &str, directory: &str, device: &str) -> Vec<String> {
    let calls = calls(trace);
    let marks = ["\"target\"", "d/j.0.1\"", &format!("\"{device}\"")];
    let acts = |call: &&Call| {
        let names = marks.iter().any(|mark| call.text.contains(mark));
        names && is_first_use(&call.text)
    };
    // Set-up came before, in other threads: the last to name the target is the job.
    let thread = calls.iter().rev().find(acts).expect("a job").thread;
    let own = || calls.iter().filter(|call| call.thread == thread);
    let pipe = own().find_map(|call| call.text.strip_prefix("pipe2([")?.split_once("], "));
    let ends: Vec<String> = pipe.map_or_else(Vec::new, |(ends, _)| {
        ends.split(", ")
            .filter_map(|end| Some(end.split('<').next()?.to_string()))
            .collect()
    });
    let names = Names {
        directory,
        device,
        pipe: [0, 1].map(|end| ends.get(end).cloned().unwrap_or_else(|| "none".into())),
    };
    own()
        .map(|call| names.normal(&call.text))
        .filter(|text| is_compared(text))
        .collect()
}

fn is_first_use(text: &str) -> bool {
    ["openat", "newfstatat", "statx", "unlink", "mkdir", "rmdir"]
        .iter()
        .any(|name| text.starts_with(name))
}

/// Runs a case and says what is different.
fn compare(case: &Value) -> Result<(), String> {
    let dir = scratch();
    let directory = fs::canonicalize(dir.path()).expect("a directory");
    let setup = case["setup"].as_str().unwrap_or_default();
    let device = if setup.contains("losetup") {
        match LoopDevice::new(&directory, 64 << 20) {
            Some(device) => Some(device),
            None => return Ok(()),
        }
    } else {
        let shell = command("sh", &directory, &["-c", setup]);
        finish(shell).expect(0);
        None
    };
    let device = device
        .as_ref()
        .map_or("none", |device| device.path.as_str());
    let words: Vec<String> = case["argv"]
        .as_array()
        .expect("a command line")
        .iter()
        .skip(1)
        .map(|word| word.as_str().unwrap_or_default().replace("BDEV", device))
        .collect();
    let strace = ["-f", "-y", "-s", "0", "-v", "-o", "trace"];
    let mut args: Vec<&str> = strace.to_vec();
    args.extend([env!("CARGO_BIN_EXE_ferrio"), "--output-format=json"]);
    args.extend(words.iter().map(String::as_str));
    let run = finish(command("strace", &directory, &args));
    let trace = fs::read_to_string(directory.join("trace")).expect("a trace");
    let at = directory.to_str().expect("a plain path");
    let got = seen(&trace, at, device);
    let wanted: Vec<String> = case["calls"]
        .as_array()
        .expect("calls")
        .iter()
        .map(|call| brief(call.as_str().unwrap_or_default()))
        .filter(|call| is_compared(call))
        .collect();
    if got != wanted {
        return Err(format!(
            "wanted\n  {}\ngot\n  {}",
            wanted.join("\n  "),
            got.join("\n  ")
        ));
    }
    if i64::from(run.status) != case["exit"].as_i64().unwrap_or(0) {
        return Err(format!("status {}: {}", run.status, run.stderr));
    }
    let job = &run.json()["jobs"][0];
    let count = |name: &str| job[name]["total_ios"].as_u64().unwrap_or(0);
    let issued = ["read", "write", "trim", "sync"].map(|name| count(name).to_string());
    let error = job["error"].as_i64().unwrap_or(-1);
    if issued.join(",") != case["issued"] || Some(error) != case["err"].as_i64() {
        return Err(format!("issued {}, error {error}", issued.join(",")));
    }
    Ok(())
}

#[test]
fn system_calls_are_those_of_the_vectors() {
    if !has_tool("strace") || tool("strace", &["-f", "true"]).is_none() {
        return skip("no strace, or no process may be traced");
    }
    let text = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/engines-syscalls.json"),
    )
    .expect("vectors");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("vectors");
    let mut wrong = Vec::new();
    let mut compared = 0;
    for case in &cases {
        let name = case["name"].as_str().expect("a name");
        let listed = |list: &[(&str, &str)]| list.iter().any(|(listed, _)| *listed == name);
        if listed(NOT_COMPARED) || (name.ends_with("bdev") && !is_root()) {
            continue;
        }
        compared += 1;
        match (compare(case), listed(DIFFERENT)) {
            (Err(why), false) => wrong.push(format!("{name}: {why}")),
            (Ok(()), true) => wrong.push(format!("{name}: listed, but is the same")),
            _ => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(compared > 40, "only {compared} cases were compared");
}
