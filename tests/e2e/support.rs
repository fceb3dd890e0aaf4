//! Running the program, and targets that clean up after themselves.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// No run of a test takes longer; a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(90);

/// What a finished run left.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The report as JSON; fails if standard output holds anything else.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?} (stderr {})", self.stdout, self.stderr))
    }

    /// Fails unless the status is as expected.
    pub(crate) fn expect(self, status: i32) -> Run {
        assert_eq!(
            self.status, status,
            "stdout {}\nstderr {}",
            self.stdout, self.stderr
        );
        self
    }

    /// The first line of standard output that holds `part`.
    pub(crate) fn line(&self, part: &str) -> &str {
        let found = self.stdout.lines().find(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("no line with {part:?} in {}", self.stdout))
    }
}

/// The program, to be run in `dir`.
pub(crate) fn ferrio(dir: &Path, args: &[&str]) -> Command {
    command(env!("CARGO_BIN_EXE_ferrio"), dir, args)
}

pub(crate) fn command(program: impl AsRef<OsStr>, dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs to the end.
pub(crate) fn finish(mut command: Command) -> Run {
    let child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    wait(child)
}

/// Waits for a started program.
pub(crate) fn wait(mut child: Child) -> Run {
    let read = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                let _ = stream.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = read(child.stdout.take().map(|s| Box::new(s) as _));
    let stderr = read(child.stderr.take().map(|s| Box::new(s) as _));
    let until = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().expect("wait") {
            Some(status) => break status,
            None if Instant::now() > until => {
                let _ = child.kill();
                panic!("the program hangs");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    use std::os::unix::process::ExitStatusExt;
    Run {
        status: status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        stdout: stdout.join().expect("reader"),
        stderr: stderr.join().expect("reader"),
    }
}

/// Runs ferrio in `dir`.
pub(crate) fn run(dir: &Path, args: &[&str]) -> Run {
    finish(ferrio(dir, args))
}

/// Runs ferrio in `dir` with a JSON report.
pub(crate) fn run_json(dir: &Path, args: &[&str]) -> (Run, Value) {
    let mut all = vec!["--output-format=json"];
    all.extend(args);
    let run = run(dir, &all);
    let json = run.json();
    (run, json)
}

/// Splits a command line at blanks.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

pub(crate) fn scratch() -> TempDir {
    tempfile::tempdir().expect("a scratch directory")
}

/// Says why a test does not run here. In CI that is a failure.
pub(crate) fn skip(reason: &str) {
    if std::env::var("CI").is_ok_and(|value| value == "true") {
        panic!("skipped in CI: {reason}");
    }
    // Not `eprintln!`, which the test runner keeps to itself when a test passes.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

pub(crate) fn has_tool(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).exists())
}

/// Runs a system tool; `None` when it fails.
pub(crate) fn tool(name: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(name)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        // Shown with the test that fails for it.
        eprint!("{name}: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// A loop device over a file of its own.
pub(crate) struct LoopDevice {
    pub(crate) path: String,
    pub(crate) image: PathBuf,
}

impl LoopDevice {
    /// Sets one up over a new sparse file; says why if that cannot be.
    pub(crate) fn new(dir: &Path, bytes: u64) -> Option<LoopDevice> {
        let image = dir.join("image");
        let file = fs::File::create(&image).expect("an image file");
        file.set_len(bytes).expect("a sparse image");
        LoopDevice::over(&image)
    }

    /// Sets one up over an existing file or device.
    pub(crate) fn over(image: &Path) -> Option<LoopDevice> {
        if !is_root() || !has_tool("losetup") {
            skip("loop devices need root and losetup");
            return None;
        }
        let name = image.to_str().expect("a plain path");
        let direct = ["--direct-io=on", "-f", "--show", name];
        // Not every file system below takes direct I/O.
        let path = tool("losetup", &direct).or_else(|| tool("losetup", &["-f", "--show", name]));
        if path.is_none() {
            skip("no loop device can be set up");
        }
        let path = path?;
        // A device that was read-only for its last user stays so.
        let _ = tool("blockdev", &["--setrw", &path]);
        Some(LoopDevice {
            path,
            image: image.to_path_buf(),
        })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = tool("losetup", &["-d", &self.path]);
    }
}

/// A mounted file system.
pub(crate) struct Mounted {
    pub(crate) at: PathBuf,
}

impl Mounted {
    /// Mounts with these arguments of `mount` before the mount point.
    pub(crate) fn new(at: &Path, args: &[&str]) -> Option<Mounted> {
        if !is_root() || !has_tool("mount") {
            skip("mounting needs root");
            return None;
        }
        fs::create_dir_all(at).expect("a mount point");
        let mut all = args.to_vec();
        all.push(at.to_str().expect("a plain path"));
        if tool("mount", &all).is_none() {
            skip("the file system cannot be mounted");
            return None;
        }
        Some(Mounted {
            at: at.to_path_buf(),
        })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = tool("umount", &["-l", self.at.to_str().expect("a plain path")]);
    }
}

/// Processes whose parent is `parent`.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc").flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let ppid = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        if ppid.and_then(|text| text.trim().parse::<u32>().ok()) == Some(parent) {
            children.push(pid);
        }
    }
    children
}

/// Worker processes of a run: children that lead a session. The process that looks at the targets
/// first does not.
pub(crate) fn workers_of(parent: u32) -> Vec<u32> {
    let mut workers = children_of(parent);
    workers.retain(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name in parentheses: state, parent, group, session.
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        fields.split(' ').nth(3) == Some(pid.to_string().as_str())
    });
    workers
}

/// Sends a signal by name to a process.
pub(crate) fn signal(name: &str, pid: u32) {
    let _ = tool("kill", &[&format!("-{name}"), &pid.to_string()]);
}

/// Waits until `condition` holds; fails after a while.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "never came: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
