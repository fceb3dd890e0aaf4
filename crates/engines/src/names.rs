//! Operations on names: what `filecreate`, `filestat`, `filedelete` and their kin for directories
//! measure.
//!
//! System calls: `openat`, `newfstatat`, `statx`, `unlink`, `mkdir`, `rmdir`, one per name. Any
//! kernel (`statx`: 4.11).

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Everything that `statx` can tell, as of Linux 4.11.
const STATX_ALL: libc::c_uint = 0xfff;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameCall {
    /// `open(O_CREAT | O_RDWR)`, mode 0600.
    Create,
    /// `stat`.
    Stat,
    /// `lstat`.
    Lstat,
    /// `statx` of the absolute path.
    Statx,
    /// `unlink`.
    Unlink,
    /// `mkdir`, mode 0700.
    MakeDirectory,
    /// `rmdir`.
    RemoveDirectory,
}

impl NameCall {
    /// The name as the call takes it, so that making it is not part of what is measured.
    ///
    /// # Errors
    /// `EINVAL` for a name with a NUL byte; the system's error when there is no working directory.
    pub fn name(self, path: &Path) -> io::Result<CString> {
        let bytes = if self == NameCall::Statx {
            std::path::absolute(path)?.into_os_string()
        } else {
            path.as_os_str().to_os_string()
        };
        CString::new(bytes.as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
    }

    /// Performs the operation on one name. A file that was created is open.
    ///
    /// # Errors
    /// The system's.
    pub fn perform(self, name: &CStr) -> io::Result<Option<OwnedFd>> {
        let name = name.as_ptr();
        // SAFETY: `name` is a NUL-terminated string that lives across the calls; the kernel fills
        // the structures that it is given, and nothing reads them.
        let result = unsafe {
            match self {
                NameCall::Create => {
                    let flags = libc::O_CREAT | libc::O_RDWR | libc::O_CLOEXEC;
                    libc::open(name, flags, 0o600)
                }
                NameCall::Stat => libc::stat64(name, MaybeUninit::uninit().as_mut_ptr()),
                NameCall::Lstat => libc::lstat64(name, MaybeUninit::uninit().as_mut_ptr()),
                NameCall::Statx => {
                    let mut found = MaybeUninit::<libc::statx>::uninit();
                    // No directory: the path is absolute.
                    libc::statx(-1, name, 0, STATX_ALL, found.as_mut_ptr())
                }
                NameCall::Unlink => libc::unlink(name),
                NameCall::MakeDirectory => libc::mkdir(name, 0o700),
                NameCall::RemoveDirectory => libc::rmdir(name),
            }
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave this descriptor to us alone.
        Ok((self == NameCall::Create).then(|| unsafe { OwnedFd::from_raw_fd(result) }))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn act(call: NameCall, path: &Path) -> Result<bool, i32> {
        let name = call.name(path).expect("a name");
        call.perform(&name)
            .map(|fd| fd.is_some())
            .map_err(|error| error.raw_os_error().unwrap_or(0))
    }

    #[test]
    fn files() {
        let dir = tempfile::tempdir().expect("directory");
        let path = dir.path().join("file");
        for call in [NameCall::Stat, NameCall::Lstat, NameCall::Statx] {
            assert_eq!(act(call, &path), Err(libc::ENOENT));
        }
        assert_eq!(act(NameCall::Create, &path), Ok(true));
        let mode = path.metadata().expect("file").permissions().mode();
        assert_eq!(mode & 0o777 & !0o600, 0);
        for call in [NameCall::Stat, NameCall::Lstat, NameCall::Statx] {
            assert_eq!(act(call, &path), Ok(false));
        }
        assert_eq!(act(NameCall::Unlink, &path), Ok(false));
        assert_eq!(act(NameCall::Unlink, &path), Err(libc::ENOENT));
    }

    #[test]
    fn links_are_followed_by_stat_alone() {
        let dir = tempfile::tempdir().expect("directory");
        let path = dir.path().join("link");
        symlink("nowhere", &path).expect("link");
        assert_eq!(act(NameCall::Stat, &path), Err(libc::ENOENT));
        assert_eq!(act(NameCall::Lstat, &path), Ok(false));
    }

    #[test]
    fn directories() {
        let dir = tempfile::tempdir().expect("directory");
        let path = dir.path().join("sub");
        assert_eq!(act(NameCall::MakeDirectory, &path), Ok(false));
        let mode = path.metadata().expect("directory").permissions().mode();
        assert_eq!(mode & 0o777 & !0o700, 0);
        assert_eq!(act(NameCall::MakeDirectory, &path), Err(libc::EEXIST));
        std::fs::write(path.join("file"), b"x").expect("file");
        assert_eq!(act(NameCall::RemoveDirectory, &path), Err(libc::ENOTEMPTY));
        std::fs::remove_file(path.join("file")).expect("removed");
        assert_eq!(act(NameCall::RemoveDirectory, &path), Ok(false));
    }
}
