//! Signals: an interrupt becomes a flag that loops can look at.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Op, SysError};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    // Storing to an atomic is all that is safe and needed here (signal-safety(7)).
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on the first SIGINT, SIGTERM or SIGHUP only sets the returned flag; a second one of
/// the same kind ends the process as usual. A signal that was ignored before (`nohup`) stays so.
///
/// Source: <https://man7.org/linux/man-pages/man2/sigaction.2.html>
pub fn watch_interrupts() -> Result<&'static AtomicBool, SysError> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        watch(signal)?;
    }
    Ok(&INTERRUPTED)
}

fn watch(signal: libc::c_int) -> Result<(), SysError> {
    // SAFETY: an all-zero sigaction is valid: no flags, an empty mask, the default action.
    let (mut old, mut new): (libc::sigaction, libc::sigaction) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: `old` is valid for writes; no new action is given.
    if unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut old) } != 0 {
        return Err(SysError::last(Op::Sigaction));
    }
    if old.sa_sigaction == libc::SIG_IGN {
        return Ok(());
    }
    new.sa_sigaction = note as *const () as usize;
    new.sa_flags = libc::SA_RESETHAND;
    // SAFETY: `note` has the type of a handler without SA_SIGINFO and is async-signal-safe.
    if unsafe { libc::sigaction(signal, &raw const new, std::ptr::null_mut()) } != 0 {
        return Err(SysError::last(Op::Sigaction));
    }
    Ok(())
}

/// The flag that [`watch_interrupts`] returns, without installing anything.
#[must_use]
pub fn interrupted() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Lets a write beyond the limit on file sizes fail with `EFBIG`, where it would end the process.
///
/// Source: <https://man7.org/linux/man-pages/man2/setrlimit.2.html>
pub fn ignore_file_size_limit() -> Result<(), SysError> {
    // SAFETY: ignoring a signal installs no handler.
    if unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(SysError::last(Op::Sigaction));
    }
    Ok(())
}

/// Lets a write to a closed pipe end the process quietly, as other command-line tools do. (Rust
/// programs start with the signal ignored.)
///
/// Source: <https://man7.org/linux/man-pages/man7/signal.7.html>
pub fn restore_broken_pipe() -> Result<(), SysError> {
    // SAFETY: setting a signal to its default action installs no handler.
    if unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) } == libc::SIG_ERR {
        return Err(SysError::last(Op::Sigaction));
    }
    Ok(())
}

/// Lets a write to a closed pipe fail with `EPIPE`, for programs that have something to clean up.
/// (Rust programs start so.)
///
/// Source: <https://man7.org/linux/man-pages/man7/signal.7.html>
pub fn ignore_broken_pipe() -> Result<(), SysError> {
    // SAFETY: ignoring a signal installs no handler.
    if unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(SysError::last(Op::Sigaction));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_sets_the_flag() {
        let flag = watch_interrupts().unwrap();
        assert!(!flag.load(Ordering::Relaxed));
        // SAFETY: raising a signal whose handler only stores to an atomic.
        assert_eq!(unsafe { libc::raise(libc::SIGTERM) }, 0);
        assert!(flag.load(Ordering::Relaxed));
    }
}
