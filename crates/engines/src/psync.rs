//! Synchronous engines: `psync` (`pread64`/`pwrite64`), `pvsync` (`preadv`/`pwritev` with one
//! element), `pvsync2` (`preadv2`/`pwritev2`) and `sync` (`lseek`, `read`/`write`).
//!
//! Any kernel; flags of `pvsync2` that the kernel or the target does not know are refused by the
//! call (`EOPNOTSUPP`, `EINVAL`). A short transfer is reported as a residual, end of file
//! included; interruption (`EINTR`) and `EAGAIN` are ordinary errors, as with fio's engines of
//! these names.

use ferrio_workload::Taus32;

use crate::file_ops::{errno, outcome_of, run_at_once};
use crate::{Capabilities, Engine, Kind, Outcome, Queued, Request};

/// `RWF_HIPRI`: the device's driver is polled.
const RWF_HIPRI: i32 = 0x1;
/// `RWF_NOWAIT`: fail with `EAGAIN` in place of blocking.
const RWF_NOWAIT: i32 = 0x8;
/// `RWF_ATOMIC`: written as a whole or not at all (Linux 6.11).
const RWF_ATOMIC: i32 = 0x40;
/// `RWF_DONTCACHE`: what is transferred leaves the page cache at once.
const RWF_DONTCACHE: i32 = 0x80;

/// Which call transfers data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Plain,
    Vectored,
    Flagged,
}

/// Options of `pvsync2`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RwFlags {
    /// Share of operations that are polled, in per cent; `None` draws nothing.
    pub polled_percent: Option<u32>,
    /// Leave nothing in the page cache.
    pub uncached: bool,
    /// Fail in place of blocking.
    pub nowait: bool,
    /// Writes are not torn (`RWF_ATOMIC`).
    pub atomic: bool,
}

/// Reads and writes at given offsets.
#[derive(Debug)]
pub struct Positional {
    call: Call,
    flags: i32,
    /// For writes only.
    write_flags: i32,
    polled_percent: Option<u32>,
    draws: Taus32,
}

impl Positional {
    fn with(call: Call, flags: i32, polled_percent: Option<u32>) -> Self {
        Positional {
            call,
            flags,
            write_flags: 0,
            polled_percent,
            // Not the job's seed: fio's figures do not depend on it either.
            draws: Taus32::new(1),
        }
    }

    /// `psync`.
    pub fn plain() -> Self {
        Positional::with(Call::Plain, 0, None)
    }

    /// `pvsync`.
    pub fn vectored() -> Self {
        Positional::with(Call::Vectored, 0, None)
    }

    /// `pvsync2`.
    pub fn flagged(settings: RwFlags) -> Self {
        let mut flags = 0;
        if settings.uncached {
            flags |= RWF_DONTCACHE;
        }
        if settings.nowait {
            flags |= RWF_NOWAIT;
        }
        Positional {
            write_flags: if settings.atomic { RWF_ATOMIC } else { 0 },
            ..Positional::with(Call::Flagged, flags, settings.polled_percent)
        }
    }

    /// Flags of the next operation. Each one draws, whatever its kind.
    fn next_flags(&mut self) -> i32 {
        match self.polled_percent {
            Some(share) if self.draws.percent() <= share => self.flags | RWF_HIPRI,
            _ => self.flags,
        }
    }

    #[inline(never)]
    fn vectored_call(&mut self, request: &Request) -> Outcome {
        let flags = self.next_flags();
        let vector = libc::iovec {
            iov_base: request.buffer.cast(),
            iov_len: request.len as usize,
        };
        let (fd, offset) = (request.fd, request.offset as i64);
        let vectors = &raw const vector;
        // SAFETY: the slot's buffer holds `len` bytes and is ours during the calls; `vector` lives
        // across them.
        let result = unsafe {
            match (self.call, request.kind) {
                (Call::Flagged, Kind::Read) => libc::preadv64v2(fd, vectors, 1, offset, flags),
                (Call::Flagged, Kind::Write) => {
                    libc::pwritev64v2(fd, vectors, 1, offset, flags | self.write_flags)
                }
                (_, Kind::Read) => libc::preadv64(fd, vectors, 1, offset),
                (_, Kind::Write) => libc::pwritev64(fd, vectors, 1, offset),
                _ => return run_at_once(request),
            }
        };
        outcome_of(result, request.len)
    }
}

impl Engine for Positional {
    fn capabilities(&self) -> Capabilities {
        Capabilities::AT_ONCE
    }

    #[inline]
    fn queue(&mut self, _slot: u32, request: &Request) -> Queued {
        if self.call != Call::Plain {
            return Queued::Completed(self.vectored_call(request));
        }
        let Request {
            fd, buffer, offset, ..
        } = *request;
        let len = request.len as usize;
        Queued::Completed(match request.kind {
            Kind::Read => {
                // SAFETY: the slot's buffer holds `len` bytes and is ours during the call.
                let result = unsafe { libc::pread64(fd, buffer.cast(), len, offset as i64) };
                outcome_of(result, request.len)
            }
            Kind::Write => {
                // SAFETY: as above.
                let result = unsafe { libc::pwrite64(fd, buffer.cast(), len, offset as i64) };
                outcome_of(result, request.len)
            }
            _ => run_at_once(request),
        })
    }
}

/// `sync`: reads and writes at the file position, which is moved only when the offset differs
/// from it.
#[derive(Debug, Default)]
pub struct Seeking {
    /// File position per file index after its last transfer; `None` is unknown.
    positions: Vec<Option<u64>>,
}

impl Seeking {
    /// A fresh descriptor stands at 0.
    pub(crate) fn opened(&mut self, file: u32) {
        let index = file as usize;
        if self.positions.len() <= index {
            self.positions.resize(index + 1, None);
        }
        self.positions[index] = Some(0);
    }

    pub(crate) fn run(&mut self, request: &Request) -> Outcome {
        if !matches!(request.kind, Kind::Read | Kind::Write | Kind::Trim) {
            return run_at_once(request);
        }
        let position = &mut self.positions[request.file as usize];
        let stands = *position == Some(request.offset);
        if !stands {
            *position = None;
            // SAFETY: no memory is passed.
            let moved = unsafe { libc::lseek64(request.fd, request.offset as i64, libc::SEEK_SET) };
            if moved < 0 {
                return Outcome::failed(errno(), request.len);
            }
        }
        let len = request.len as usize;
        // SAFETY: the slot's buffer holds `len` bytes and is ours during the call.
        let result = unsafe {
            match request.kind {
                Kind::Read => libc::read(request.fd, request.buffer.cast(), len),
                Kind::Write => libc::write(request.fd, request.buffer.cast(), len),
                // Seeks like a transfer, but the position is not known by it.
                _ => return run_at_once(request),
            }
        };
        let outcome = outcome_of(result, request.len);
        *position = Some(request.offset + u64::from(request.len - outcome.residual));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::request;

    /// Data both ways, the end of the file, errors, flushes: alike whatever the call.
    #[test]
    fn every_call_moves_the_same() {
        let flagged = || Positional::flagged(RwFlags::default());
        for make in [Positional::plain, Positional::vectored, flagged] {
            let file = tempfile::tempfile().expect("file");
            let fd = file.as_raw_fd();
            let mut engine = make();
            let done = |outcome| Queued::Completed(outcome);
            let write = request(fd, Kind::Write, 512, &mut [3; 1000]);
            assert_eq!(engine.queue(0, &write), done(Outcome::default()));
            let mut back = [0; 1000];
            let read = request(fd, Kind::Read, 512, &mut back);
            assert_eq!(engine.queue(0, &read), done(Outcome::default()));
            assert_eq!(back, [3; 1000]);
            let short = request(fd, Kind::Read, 1500, &mut back);
            let residual = Outcome {
                error: 0,
                residual: 988,
            };
            assert_eq!(engine.queue(0, &short), done(residual));
            for kind in [Kind::Fsync, Kind::Fdatasync] {
                let flush = request(fd, kind, 0, &mut []);
                assert_eq!(engine.queue(0, &flush), done(Outcome::default()));
            }
            let bad = request(-1, Kind::Write, 0, &mut back);
            let error = Outcome::failed(libc::EBADF, 1000);
            assert_eq!(engine.queue(0, &bad), done(error));
        }
    }

    #[test]
    fn the_position_is_followed() {
        let file = tempfile::tempfile().expect("file");
        let fd = file.as_raw_fd();
        let mut engine = Seeking::default();
        engine.opened(0);
        let mut data = [1; 512];
        for (offset, byte) in [(0, 1), (512, 2), (4096, 3), (1024, 4)] {
            data.fill(byte);
            let write = request(fd, Kind::Write, offset, &mut data);
            assert_eq!(engine.run(&write), Outcome::default());
            assert_eq!(engine.positions[0], Some(offset + 512));
        }
        // A refused trim leaves the position unknown, so the next transfer seeks.
        let trim = request(fd, Kind::Trim, 0, &mut data);
        assert_eq!(engine.run(&trim).error, libc::ENOTTY);
        assert_eq!(engine.positions[0], None);
        data.fill(5);
        let write = request(fd, Kind::Write, 1536, &mut data);
        assert_eq!(engine.run(&write), Outcome::default());
        let mut back = vec![0; 4608];
        file.read_exact_at(&mut back, 0).expect("contents");
        let firsts: Vec<u8> = back.chunks(512).map(|block| block[0]).collect();
        assert_eq!(firsts, [1, 2, 4, 5, 0, 0, 0, 0, 3]);
        let end = request(fd, Kind::Read, 4096, &mut back[..1024]);
        assert_eq!(engine.run(&end).residual, 512);
        assert_eq!(
            engine.run(&request(-1, Kind::Read, 0, &mut data)).error,
            libc::EBADF
        );
    }

    #[test]
    fn polled_share_is_drawn_from_a_fixed_seed() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../tests/data/engines-cmdprio.json"))
                .expect("vectors");
        let case = vectors
            .as_array()
            .and_then(|cases| cases.iter().find(|case| case["name"] == "pvsync2-hipri50"))
            .expect("the case");
        let wanted: Vec<u64> = case["ops"]
            .as_array()
            .expect("operations")
            .iter()
            .filter_map(serde_json::Value::as_u64)
            .collect();
        let mut engine = Positional::flagged(RwFlags {
            polled_percent: Some(50),
            ..RwFlags::default()
        });
        let drawn: Vec<u64> = wanted
            .iter()
            .map(|_| u64::from(engine.next_flags() == RWF_HIPRI))
            .collect();
        assert_eq!(wanted.len(), 64);
        assert_eq!(drawn, wanted);
    }

    #[test]
    fn flags_follow_the_options() {
        let mut engine = Positional::flagged(RwFlags {
            polled_percent: Some(100),
            uncached: true,
            nowait: true,
            atomic: false,
        });
        assert_eq!(engine.next_flags(), 0x89);
        assert_eq!(Positional::flagged(RwFlags::default()).next_flags(), 0);
    }
}
