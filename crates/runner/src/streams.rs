//! Whether the program was started with its standard output closed.
//!
//! Rust's start-up puts `/dev/null` in place of closed standard streams, so this must be seen
//! before it: a report that nobody can get is an error, one sent to `/dev/null` on purpose is not.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Run by the loader before the program's own start-up.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: asking for a descriptor's flags touches no memory and needs no set-up.
    if unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0 {
        CLOSED.store(true, Ordering::Relaxed);
    }
}

/// Standard output was closed when the program began.
pub fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}
