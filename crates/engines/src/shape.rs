//! Engines that change what a file is, without data: `falloc` and `ftruncate`.
//!
//! System calls: `fallocate` (reads reserve behind the size, writes reserve, trims punch holes)
//! and `ftruncate` (to the offset of each write). Any kernel; which modes of `fallocate` work is the
//! file system's matter, and `EOPNOTSUPP` an ordinary error.

use crate::file_ops::{done_or_errno, run_at_once};
use crate::{Kind, Outcome, Request};

/// One request of `falloc`.
pub(crate) fn allocate(request: &Request) -> Outcome {
    let mode = match request.kind {
        Kind::Read => libc::FALLOC_FL_KEEP_SIZE,
        Kind::Write => 0,
        Kind::Trim => libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
        _ => return run_at_once(request),
    };
    let (offset, len) = (request.offset as i64, i64::from(request.len));
    // SAFETY: no memory is passed.
    done_or_errno(
        unsafe { libc::fallocate64(request.fd, mode, offset, len) },
        request,
    )
}

/// One request of `ftruncate`.
pub(crate) fn truncate(request: &Request) -> Outcome {
    match request.kind {
        // The offset, not the end, is the new size: so it is in fio.
        // SAFETY: no memory is passed.
        Kind::Write => done_or_errno(
            unsafe { libc::ftruncate64(request.fd, request.offset as i64) },
            request,
        ),
        Kind::Read | Kind::Trim => Outcome::failed(libc::EINVAL, request.len),
        _ => run_at_once(request),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    fn request(file: &File, kind: Kind, offset: u64) -> Request {
        Request {
            kind,
            sync_flags: 0,
            file: 0,
            fd: file.as_raw_fd(),
            offset,
            len: 4096,
            buffer: std::ptr::null_mut(),
        }
    }

    #[test]
    fn allocates_and_punches() {
        let file = tempfile::tempfile().expect("file");
        let outcome = allocate(&request(&file, Kind::Write, 4096));
        if outcome.error == libc::EOPNOTSUPP {
            // Nothing to see on a file system without fallocate.
            return;
        }
        assert_eq!(outcome, Outcome::default());
        assert_eq!(file.metadata().expect("size").len(), 8192);
        // Reserves, but the size stays.
        assert_eq!(
            allocate(&request(&file, Kind::Read, 8192)),
            Outcome::default()
        );
        let grown = file.metadata().expect("size");
        assert_eq!(grown.len(), 8192);
        file.write_all_at(&[7; 8192], 0).expect("data");
        let before = file.metadata().expect("blocks").blocks();
        assert_eq!(
            allocate(&request(&file, Kind::Trim, 4096)),
            Outcome::default()
        );
        assert!(file.metadata().expect("blocks").blocks() < before);
        let mut back = [1; 8192];
        file.read_exact_at(&mut back, 0).expect("contents");
        assert!(back[..4096].iter().all(|byte| *byte == 7));
        assert!(back[4096..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn truncates_to_the_offset() {
        let file = tempfile::tempfile().expect("file");
        assert_eq!(
            truncate(&request(&file, Kind::Write, 12288)),
            Outcome::default()
        );
        assert_eq!(file.metadata().expect("size").len(), 12288);
        for kind in [Kind::Read, Kind::Trim] {
            assert_eq!(truncate(&request(&file, kind, 0)).error, libc::EINVAL);
        }
        assert_eq!(
            truncate(&request(&file, Kind::Fsync, 0)),
            Outcome::default()
        );
    }
}
