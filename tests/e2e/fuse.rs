//! A file system that fails, stalls or transfers less than asked, on purpose.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry,
    ReplyOpen, Request,
};

use crate::support::*;

const TTL: Duration = Duration::from_secs(60);
const FILE: INodeNo = INodeNo(2);
const SIZE: u64 = 1 << 20;

/// How the reads of the one file, `data`, behave.
#[derive(Clone, Copy)]
enum Behaviour {
    /// After so many reads no answer comes.
    StallAfter(u32),
    /// Not even a look at the file is answered.
    Mute,
    /// The read at this offset fails with EIO.
    FailAt(u64),
    /// The first read at this offset yields half.
    HalfAt(u64),
}

struct Unreliable {
    behaviour: Behaviour,
    reads: AtomicU32,
    /// Requests that are not answered until the test is over.
    unanswered: Unanswered,
    unanswered_looks: Looks,
}

type Unanswered = Arc<Mutex<Vec<ReplyData>>>;
type Looks = Arc<Mutex<Vec<ReplyEntry>>>;

/// The mounted file system.
struct Mount {
    at: PathBuf,
    unanswered: Unanswered,
    unanswered_looks: Looks,
    _session: BackgroundSession,
}

impl Drop for Mount {
    fn drop(&mut self) {
        // What waits in the kernel must come back before the file system can go.
        for reply in self.unanswered.lock().unwrap().drain(..) {
            reply.error(Errno::EIO);
        }
        for reply in self.unanswered_looks.lock().unwrap().drain(..) {
            reply.error(Errno::EIO);
        }
        // A worker that just came back may still hold the file.
        let _ = tool("umount", &["-l", self.at.to_str().expect("a plain path")]);
    }
}

fn attributes(ino: INodeNo) -> FileAttr {
    let directory = ino == INodeNo::ROOT;
    FileAttr {
        ino,
        size: if directory { 0 } else { SIZE },
        blocks: SIZE / 512,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if directory {
            FileType::Directory
        } else {
            FileType::RegularFile
        },
        perm: 0o755,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        flags: 0,
        blksize: 4096,
    }
}

impl Filesystem for Unreliable {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if matches!(self.behaviour, Behaviour::Mute) {
            self.unanswered_looks.lock().unwrap().push(reply);
        } else if name == "data" {
            reply.entry(&TTL, &attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &attributes(ino));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Past the page cache, so that each read arrives here as it was issued.
        reply.opened(FileHandle(1), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let count = self.reads.fetch_add(1, Ordering::Relaxed);
        let whole = vec![7; size as usize];
        match self.behaviour {
            Behaviour::StallAfter(limit) if count >= limit => {
                self.unanswered.lock().unwrap().push(reply);
            }
            Behaviour::FailAt(bad) if offset == bad => reply.error(Errno::EIO),
            Behaviour::HalfAt(at) if offset == at => reply.data(&whole[..size as usize / 2]),
            _ => reply.data(&whole),
        }
    }
}

/// Mounts it below `dir`; says why if that cannot be.
fn mount(dir: &Path, behaviour: Behaviour) -> Option<Mount> {
    let at = dir.join("fuse");
    std::fs::create_dir_all(&at).unwrap();
    let (unanswered, unanswered_looks) = (Unanswered::default(), Looks::default());
    let files = Unreliable {
        behaviour,
        reads: AtomicU32::new(0),
        unanswered: Arc::clone(&unanswered),
        unanswered_looks: Arc::clone(&unanswered_looks),
    };
    let mut config = Config::default();
    config.mount_options = vec![MountOption::RO, MountOption::FSName("unreliable".into())];
    match fuser::spawn_mount(files, &at, &config) {
        Ok(session) => Some(Mount {
            at,
            unanswered,
            unanswered_looks,
            _session: session,
        }),
        Err(error) => {
            skip(&format!("no FUSE file system can be mounted: {error}"));
            None
        }
    }
}

#[test]
fn a_target_that_never_answers_does_not_hold_the_run() {
    for engine in ["psync", "libaio", "io_uring"] {
        let dir = scratch();
        let Some(mount) = mount(dir.path(), Behaviour::StallAfter(20)) else {
            return;
        };
        let line = format!(
            "--output-format=json --name=stuck --ioengine={engine} --filename={}/data --rw=read \
             --bs=4k --time_based --runtime=1 --name=fine --ioengine=null --size=1m",
            mount.at.display()
        );
        let mut command = ferrio(dir.path(), &words(&line));
        command.env("FERRIO_STALL_SECONDS", "1");
        let started = Instant::now();
        let run = finish(command).expect(1);
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "{engine}: {:?}",
            started.elapsed()
        );
        assert!(run.stderr.contains("job stuck"), "{engine}: {}", run.stderr);
        assert!(
            run.stderr.contains("no progress"),
            "{engine}: {}",
            run.stderr
        );
        let json = run.json();
        assert_eq!(json["jobs"][0]["read"]["io_bytes"], 20 * 4096, "{engine}");
        assert_ne!(json["jobs"][0]["error"], 0, "{engine}");
        assert_eq!(json["jobs"][1]["read"]["io_bytes"], 1 << 20, "{engine}");
    }
}

#[test]
fn a_failing_read_is_named_or_tolerated() {
    for engine in ["psync", "libaio", "io_uring"] {
        let dir = scratch();
        let Some(mount) = mount(dir.path(), Behaviour::FailAt(40960)) else {
            return;
        };
        let line = format!(
            "--name=a --ioengine={engine} --filename={}/data --rw=read --bs=4k",
            mount.at.display()
        );
        let (run, json) = run_json(dir.path(), &words(&line));
        let run = run.expect(1);
        assert!(
            run.stderr.contains("offset=40960, buflen=4096"),
            "{engine}: {}",
            run.stderr
        );
        assert_eq!(
            run.stderr.lines().count(),
            2,
            "the note of the job: {}",
            run.stderr
        );
        assert_eq!(json["jobs"][0]["error"], 5, "{engine}");
        assert_eq!(json["jobs"][0]["read"]["io_bytes"], 40960, "{engine}");

        let tolerant = format!("{line} --continue_on_error=io");
        let (run, json) = run_json(dir.path(), &words(&tolerant));
        run.expect(0);
        assert_eq!(json["jobs"][0]["total_err"], 1, "{engine}");
        assert_eq!(json["jobs"][0]["read"]["io_bytes"], SIZE - 4096, "{engine}");
    }
}

#[test]
fn the_rest_of_a_short_transfer_is_issued() {
    for engine in ["psync", "sync", "libaio", "io_uring"] {
        let dir = scratch();
        let Some(mount) = mount(dir.path(), Behaviour::HalfAt(8192)) else {
            return;
        };
        let line = format!(
            "--name=a --ioengine={engine} --filename={}/data --rw=read --bs=4k --size=64k",
            mount.at.display()
        );
        let (run, json) = run_json(dir.path(), &words(&line));
        run.expect(0);
        let read = &json["jobs"][0]["read"];
        assert_eq!(read["total_ios"], 16, "{engine}");
        if engine == "io_uring" {
            // The kernel issues rests of its own before it reports a short transfer.
            continue;
        }
        assert_eq!(read["short_ios"], 1, "{engine}");
        // Of a request in pieces the last one alone is counted, as with fio.
        assert_eq!(read["io_bytes"], 65536 - 2048, "{engine}");
    }
}

#[test]
fn a_file_system_that_never_answers_fails_its_job_alone() {
    let dir = scratch();
    let Some(mount) = mount(dir.path(), Behaviour::Mute) else {
        return;
    };
    let line = format!(
        "--output-format=json --name=mute --filename={}/data --rw=read --size=4k --name=fine \
         --ioengine=null --size=1m",
        mount.at.display()
    );
    let mut command = ferrio(dir.path(), &words(&line));
    command.env("FERRIO_STALL_SECONDS", "1");
    let run = finish(command).expect(1);
    assert!(run.stderr.contains("does not answer"), "{}", run.stderr);
    let json = run.json();
    assert_eq!(json["jobs"][0]["error"], 110);
    assert_eq!(json["jobs"][1]["read"]["io_bytes"], 1 << 20);
}
