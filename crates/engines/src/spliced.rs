//! The splice engine: data goes through a pipe, between the file and the buffer's pages.
//!
//! System calls: reads `splice` from the file and `vmsplice` out of the pipe, writes `poll`,
//! `vmsplice` into the pipe and `splice` to the file. Linux 2.6.23 or newer. A pipe holds 64 KiB, so
//! larger requests take several rounds. The detour through memory of the engine's own that fio tries
//! before its first read, and that current kernels refuse, is left out.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;

use crate::file_ops::{errno, run_at_once};
use crate::{EngineError, Kind, Outcome, Request};

/// Most bytes moved by one call.
const PIECE_MAX: usize = 64 << 10;

/// See the module's head.
#[derive(Debug)]
pub struct Spliced {
    reader: OwnedFd,
    writer: OwnedFd,
    /// The pipe could not be made anew: the error of every further request.
    broken: Option<i32>,
}

fn pipe() -> Result<(OwnedFd, OwnedFd), i32> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(Errno::raw_os_error)
}

impl Spliced {
    /// Makes the pipe.
    ///
    /// # Errors
    /// The limit of open files.
    pub fn new() -> Result<Self, EngineError> {
        let (reader, writer) = pipe().map_err(|code| EngineError::new(code, "pipe"))?;
        Ok(Spliced {
            reader,
            writer,
            broken: None,
        })
    }

    pub(crate) fn run(&mut self, request: &Request) -> Outcome {
        if let Some(code) = self.broken {
            return Outcome::failed(code, request.len);
        }
        let result = match request.kind {
            Kind::Read => self.read(request),
            Kind::Write => self.write(request),
            _ => return run_at_once(request),
        };
        match result {
            Ok(done) => Outcome {
                error: 0,
                residual: request.len - done as u32,
            },
            Err(code) => {
                self.renew();
                Outcome::failed(code, request.len)
            }
        }
    }

    /// What a failed request left in the pipe must not get into the next one.
    #[cold]
    fn renew(&mut self) {
        match pipe() {
            Ok((reader, writer)) => {
                self.reader = reader;
                self.writer = writer;
            }
            Err(code) => self.broken = Some(code),
        }
    }

    /// Moves between the buffer and an end of the pipe.
    fn vmsplice(&self, request: &Request, at: usize, len: usize) -> Result<usize, i32> {
        let vector = libc::iovec {
            iov_base: request.buffer.wrapping_add(at).cast(),
            iov_len: len,
        };
        let (end, flags) = if request.kind == Kind::Read {
            (&self.reader, libc::SPLICE_F_MOVE)
        } else {
            (&self.writer, libc::SPLICE_F_NONBLOCK)
        };
        // SAFETY: `vector` describes `len` bytes of the slot's buffer from `at` on, and lives
        // across the call. Pages that the pipe refers to leave it before the request completes.
        let moved = unsafe { libc::vmsplice(end.as_raw_fd(), &raw const vector, 1, flags) };
        usize::try_from(moved).map_err(|_| errno())
    }

    fn read(&self, request: &Request) -> Result<usize, i32> {
        let len = request.len as usize;
        let mut done = 0;
        while done < len {
            let mut offset = (request.offset + done as u64) as i64;
            let piece = (len - done).min(PIECE_MAX);
            let (from, to) = (request.fd, self.writer.as_raw_fd());
            let nowhere = std::ptr::null_mut();
            // SAFETY: `offset` lives across the call.
            let got = unsafe { libc::splice(from, &raw mut offset, to, nowhere, piece, 0) };
            let mut in_pipe = usize::try_from(got).map_err(|_| errno())?;
            if in_pipe == 0 {
                break;
            }
            while in_pipe > 0 {
                match self.vmsplice(request, done, in_pipe)? {
                    0 => return Err(libc::EIO),
                    moved => {
                        done += moved;
                        in_pipe -= moved;
                    }
                }
            }
        }
        Ok(done)
    }

    fn write(&self, request: &Request) -> Result<usize, i32> {
        let len = request.len as usize;
        let mut done = 0;
        while done < len {
            let mut end = libc::pollfd {
                fd: self.writer.as_raw_fd(),
                events: libc::POLLOUT,
                revents: 0,
            };
            // SAFETY: one element, which lives across the call.
            if unsafe { libc::poll(&raw mut end, 1, -1) } < 0 {
                return Err(errno());
            }
            let mut in_pipe = self.vmsplice(request, done, len - done)?;
            if in_pipe == 0 {
                break;
            }
            while in_pipe > 0 {
                let mut offset = (request.offset + done as u64) as i64;
                let (from, to) = (self.reader.as_raw_fd(), request.fd);
                let nowhere = std::ptr::null_mut();
                // SAFETY: `offset` lives across the call.
                let put = unsafe { libc::splice(from, nowhere, to, &raw mut offset, in_pipe, 0) };
                match usize::try_from(put).map_err(|_| errno())? {
                    0 => return Err(libc::EIO),
                    moved => {
                        done += moved;
                        in_pipe -= moved;
                    }
                }
            }
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::request;

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
    }

    #[test]
    fn moves_more_than_a_pipe_holds() {
        let file = tempfile::tempfile().expect("file");
        let mut engine = Spliced::new().expect("engine");
        let mut out = pattern(300_000);
        let write = request(file.as_raw_fd(), Kind::Write, 1000, &mut out);
        assert_eq!(engine.run(&write), Outcome::default());
        let mut back = vec![0; out.len()];
        file.read_exact_at(&mut back, 1000).expect("contents");
        assert!(back == out);
        back.fill(0);
        let read = request(file.as_raw_fd(), Kind::Read, 1000, &mut back);
        assert_eq!(engine.run(&read), Outcome::default());
        assert!(back == out);
    }

    #[test]
    fn the_end_of_the_file_is_a_residual() {
        let file = tempfile::tempfile().expect("file");
        file.write_all_at(&[5; 70_000], 0).expect("data");
        let mut engine = Spliced::new().expect("engine");
        let mut buffer = vec![0; 100_000];
        let read = request(file.as_raw_fd(), Kind::Read, 0, &mut buffer);
        let expected = Outcome {
            error: 0,
            residual: 30_000,
        };
        assert_eq!(engine.run(&read), expected);
        assert!(buffer[..70_000].iter().all(|byte| *byte == 5));
    }

    /// A write that fails behind the pipe leaves nothing there for the next one.
    #[test]
    fn a_failed_write_does_not_spill() {
        let dir = tempfile::tempdir().expect("directory");
        let path = dir.path().join("file");
        std::fs::write(&path, b"").expect("file");
        let readonly = std::fs::File::open(&path).expect("open");
        let mut engine = Spliced::new().expect("engine");
        let failed = request(readonly.as_raw_fd(), Kind::Write, 0, &mut [1; 4096]);
        assert_eq!(engine.run(&failed).error, libc::EBADF);
        let file = tempfile::tempfile().expect("file");
        let write = request(file.as_raw_fd(), Kind::Write, 0, &mut [2; 4096]);
        assert_eq!(engine.run(&write), Outcome::default());
        let mut back = [0; 4096];
        file.read_exact_at(&mut back, 0).expect("contents");
        assert_eq!(back, [2; 4096]);
    }
}
