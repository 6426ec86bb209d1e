//! Pseudo-terminals, for programs whose output depends on whether it goes to a terminal.
//!
//! Source: <https://man7.org/linux/man-pages/man7/pty.7.html>

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Both ends of a pseudo-terminal. It is raw: bytes pass unchanged.
#[derive(Debug)]
pub struct PseudoTerminal {
    /// The end of this process. Reading fails with `EIO` when the other end is closed everywhere
    /// and nothing is left.
    pub ours: OwnedFd,
    /// The end that is a terminal.
    pub theirs: OwnedFd,
}

/// Opens a pseudo-terminal of this size, in columns and rows. Neither end is the controlling terminal
/// of a process, and both are closed in programs that are started later, unless they are given to
/// them.
///
/// Source: <https://man7.org/linux/man-pages/man3/posix_openpt.3.html>
///
/// # Errors
/// Fails if there are too many pseudo-terminals or descriptors, or if the kernel lacks `TIOCGPTPEER`
/// (before Linux 4.13).
pub fn open(columns: u16, rows: u16) -> io::Result<PseudoTerminal> {
    const FLAGS: i32 = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the call takes a number and touches no memory.
    let ours = owned(unsafe { libc::posix_openpt(FLAGS) })?;
    // SAFETY: the call changes the state of the terminal, whose descriptor is open.
    done(unsafe { libc::unlockpt(ours.as_raw_fd()) })?;
    // SAFETY: this ioctl takes flags and touches no memory.
    let theirs = owned(unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCGPTPEER, FLAGS) })?;
    let size = libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: `size` is valid for reads of one `winsize`.
    done(unsafe { libc::ioctl(theirs.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) })?;
    make_raw(theirs.as_raw_fd())?;
    Ok(PseudoTerminal { ours, theirs })
}

fn owned(fd: i32) -> io::Result<OwnedFd> {
    done(fd.min(0))?;
    // SAFETY: the call that returned the descriptor has opened it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn done(code: i32) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn make_raw(terminal: i32) -> io::Result<()> {
    let mut settings = std::mem::MaybeUninit::<libc::termios>::zeroed();
    // SAFETY: `settings` is valid for writes; the descriptor is open.
    done(unsafe { libc::tcgetattr(terminal, settings.as_mut_ptr()) })?;
    // SAFETY: the call above has filled it; cfmakeraw(3) only changes its flags.
    done(unsafe {
        let settings = settings.assume_init_mut();
        libc::cfmakeraw(settings);
        libc::tcsetattr(terminal, libc::TCSANOW, settings)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};

    #[test]
    fn bytes_pass_unchanged_through_a_terminal_of_the_given_size() {
        let PseudoTerminal { ours, theirs } = open(37, 5).unwrap();
        assert!(crate::process::is_terminal(&theirs));
        assert_eq!(crate::process::terminal_columns(&theirs), Some(37));
        assert_eq!(crate::process::terminal_rows(&theirs), Some(5));
        let sent = b"a\nb\r\n\x03\x04\xff\0c";
        File::from(theirs).write_all(sent).unwrap();
        let mut got = vec![0; sent.len()];
        let mut ours = File::from(ours);
        ours.read_exact(&mut got).unwrap();
        assert_eq!(got, sent);
        let end = ours.read(&mut got).unwrap_err();
        assert_eq!(end.raw_os_error(), Some(libc::EIO));
    }
}
