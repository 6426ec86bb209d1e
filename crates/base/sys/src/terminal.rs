//! A terminal that passes keys on at once and does not echo them, and its way back.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use crate::error::{Op, SysError};

/// The terminal and its settings before [`Keys::take`], until they are restored.
static BEFORE: Mutex<Option<(OwnedFd, libc::termios)>> = Mutex::new(None);

/// A terminal that passes keys on at once. Dropping it restores the terminal.
#[derive(Debug)]
#[non_exhaustive]
pub struct Keys {}

impl Keys {
    /// Turns off line editing and echo. The interrupt key still sends SIGINT; those that stop the
    /// process or dump its memory are keys like others, because they would leave the terminal as it
    /// is.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/termios.3.html>
    ///
    /// # Errors
    /// Fails if `terminal` is not a terminal.
    pub fn take(terminal: impl AsFd) -> Result<Keys, SysError> {
        let fd = terminal.as_fd();
        let kept = fd.try_clone_to_owned();
        let kept = kept.map_err(|_| SysError::last(Op::Fcntl))?;
        let mut settings = std::mem::MaybeUninit::<libc::termios>::zeroed();
        // SAFETY: `settings` is valid for writes of one `termios`.
        if unsafe { libc::tcgetattr(fd.as_raw_fd(), settings.as_mut_ptr()) } != 0 {
            return Err(SysError::last(Op::Tcgetattr));
        }
        // SAFETY: it was zeroed, and filled by the call, which succeeded.
        let before = unsafe { settings.assume_init() };
        let mut now = before;
        now.c_lflag &= !(libc::ICANON | libc::ECHO);
        now.c_cc[libc::VMIN] = 1;
        now.c_cc[libc::VTIME] = 0;
        now.c_cc[libc::VSUSP] = libc::_POSIX_VDISABLE;
        now.c_cc[libc::VQUIT] = libc::_POSIX_VDISABLE;
        set(&kept, &now)?;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some((kept, before));
        Ok(Keys {})
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal, if [`Keys::take`] changed it: for a program that ends without dropping
/// what it holds, as after a panic.
pub fn restore() {
    // A panic in `take` itself has changed nothing yet.
    if let Ok(mut before) = BEFORE.try_lock()
        && let Some((terminal, settings)) = before.take()
    {
        let _ = set(&terminal, &settings);
    }
}

fn set(terminal: &OwnedFd, settings: &libc::termios) -> Result<(), SysError> {
    // SAFETY: `settings` is a valid `termios`.
    match unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, settings) } {
        0 => Ok(()),
        _ => Err(SysError::last(Op::Tcsetattr)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_terminal_is_refused() {
        let null = std::fs::File::open("/dev/null").expect("it exists");
        assert!(Keys::take(&null).is_err());
        restore();
    }
}
