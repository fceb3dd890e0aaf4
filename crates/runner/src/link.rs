//! The link between a worker and its supervisor: framed messages over one descriptor.
//!
//! A frame is a length (u32, little-endian) and a `postcard` message of that length. Only the
//! start signal, errors and notes travel here; statistics lie in the worker's page. Nothing in a
//! message assumes that both ends are on one machine.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Longest message that is accepted.
const FRAME_BYTES_MAX: usize = 1 << 20;

/// From the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromWorker {
    /// Set up; waits for [`ToWorker::Go`].
    Ready {
        /// Process or thread id.
        pid: u32,
    },
    /// The job ended with this error.
    Failed(Failure),
    /// One I/O failed: the text of the error line, without prefix.
    IoError(String),
    /// Something the user should know.
    Warning(String),
    /// What the worker does, a line of the normal report's stream.
    Notice(String),
    /// Files are being laid out.
    LayingOut {
        /// The job's name.
        job: String,
        /// How many files.
        files: u32,
        /// Their sizes together.
        bytes: u64,
    },
    /// An error was counted and ignored; the text that a report shows for it.
    Ignored(String),
    /// Everything is released; nothing follows.
    Done,
}

/// Why a job ended early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// System error number; 0 when the job failed without one.
    pub code: i32,
    /// Where in ferrio's source it was noticed: `file.rs:LINE`.
    pub source: String,
    /// What was being done, a fixed word.
    pub label: String,
    /// What went wrong, usually the system's text.
    pub message: String,
    /// What it means and what the user can do; empty when there is nothing to add.
    pub advice: String,
    /// The user was told already.
    pub told: bool,
}

/// From the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToWorker {
    /// Start.
    Go,
}

/// From the supervisor to the process that hosts the thread workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToHost {
    /// Start the worker of the job with this index.
    Start(u32),
}

/// Writes one message.
///
/// # Errors
/// When the other end is gone.
pub fn send(link: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(body.len() + 4);
    frame.extend_from_slice(&(body.len() as u32).to_le_bytes());
    frame.extend_from_slice(&body);
    link.write_all(&frame)
}

/// Waits for one message.
///
/// # Errors
/// When the other end is gone or sends nonsense.
pub fn receive<T: DeserializeOwned>(link: &mut impl Read) -> io::Result<T> {
    let mut header = [0; 4];
    link.read_exact(&mut header)?;
    let len = u32::from_le_bytes(header) as usize;
    if len > FRAME_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; len];
    link.read_exact(&mut body)?;
    postcard::from_bytes(&body).map_err(io::Error::other)
}

/// Puts messages together from whatever a non-blocking descriptor has.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Reads what is there. `true` when the other end is gone.
    pub fn fill(&mut self, link: &mut impl Read) -> bool {
        let mut chunk = [0; 4096];
        loop {
            match link.read(&mut chunk) {
                Ok(0) => return true,
                Ok(count) => self.bytes.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
    }

    /// The next whole message. Nonsense ends the conversation: what is left is dropped.
    pub fn take<T: DeserializeOwned>(&mut self) -> Option<T> {
        let header: [u8; 4] = self.bytes.get(..4)?.try_into().ok()?;
        let len = u32::from_le_bytes(header) as usize;
        if len > FRAME_BYTES_MAX {
            self.bytes.clear();
            return None;
        }
        let body = self.bytes.get(4..4 + len)?;
        let message = postcard::from_bytes(body).ok();
        if message.is_none() {
            self.bytes.clear();
            return None;
        }
        self.bytes.drain(..4 + len);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_any_fragmentation() {
        let messages = [
            FromWorker::Ready { pid: 7 },
            FromWorker::Warning("x".repeat(5000)),
            FromWorker::Failed(Failure {
                code: 28,
                source: "s.rs:1".into(),
                label: "l".into(),
                message: "m".into(),
                advice: String::new(),
                told: false,
            }),
            FromWorker::Done,
        ];
        let mut bytes = Vec::new();
        for message in &messages {
            send(&mut bytes, message).unwrap();
        }
        for step in [1, 3, 4096] {
            let mut inbox = Inbox::default();
            let mut got = Vec::new();
            for part in bytes.chunks(step) {
                inbox.fill(&mut &*part);
                while let Some(message) = inbox.take::<FromWorker>() {
                    got.push(message);
                }
            }
            assert_eq!(got, messages);
        }
    }

    #[test]
    fn nonsense_is_dropped_not_believed() {
        let mut inbox = Inbox::default();
        inbox.fill(&mut &[0xff; 64][..]);
        assert_eq!(inbox.take::<FromWorker>(), None);
    }
}
