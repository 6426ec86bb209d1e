//! Closes descriptors in another process, where closing them takes long.
//!
//! Closing the last descriptor of a BPF program's link waits until no processor can still run the
//! program. The kernel makes the process wait that closes it, at its end at the latest.

use std::io::{self, pipe};
use std::os::fd::{AsRawFd, OwnedFd};

/// Lets a process of its own close these descriptors, and returns without waiting for that.
///
/// The process has nothing else open, so that no pipe of the caller stays open for its sake; it
/// belongs to a session of its own and is not a child of the caller.
///
/// Source: <https://man7.org/linux/man-pages/man2/fork.2.html>
///
/// # Errors
/// Fails if no process is to be had. The descriptors are closed in any case, then before this returns.
pub fn close_in_background(descriptors: Vec<OwnedFd>) -> io::Result<()> {
    if descriptors.is_empty() {
        return Ok(());
    }
    let (caller_closed, caller) = pipe()?;
    let mut kept: Vec<libc::c_int> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    kept.push(caller_closed.as_raw_fd());
    kept.sort_unstable();
    // SAFETY: the child calls only `part`, which makes system calls and neither allocates nor
    // returns: other threads of this process may hold any lock at this moment.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => part(&kept, caller_closed.as_raw_fd()),
        child => {
            // None of these is the last one of its file.
            drop(descriptors);
            drop(caller);
            let mut status = 0;
            // SAFETY: `status` is valid for writes; the child belongs to this function alone. It ends
            // as soon as it has made the process that closes.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            Ok(())
        }
    }
}

/// Makes the process that closes, and ends. That process waits until the caller has closed its copies,
/// and ends, too: the kernel closes what it holds.
fn part(kept: &[libc::c_int], caller_closed: libc::c_int) -> ! {
    // SAFETY: these calls are async-signal-safe and use no memory but `byte`.
    unsafe {
        libc::setsid();
        if libc::fork() == 0 {
            close_others(kept);
            let mut byte = 0_u8;
            while libc::read(caller_closed, (&raw mut byte).cast(), 1) < 0 {}
        }
        libc::_exit(0)
    }
}

/// Closes all descriptors but these, which are in order.
///
/// Source: <https://man7.org/linux/man-pages/man2/close_range.2.html>
fn close_others(kept: &[libc::c_int]) {
    let mut first: libc::c_uint = 0;
    let ends = kept.iter().map(|kept| kept.cast_unsigned());
    for end in ends {
        if end > first {
            // SAFETY: the process uses none of them.
            unsafe { libc::syscall(libc::SYS_close_range, first, end - 1, 0) };
        }
        first = end + 1;
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::time::Duration;

    /// The other process closes the last copies: a pipe ends when its last writer is closed. Nothing
    /// else stays open: a second pipe ends as soon as this process closes it.
    #[test]
    fn the_descriptors_are_closed_and_no_others_are_kept() {
        let (mut from, to) = pipe().unwrap();
        let (mut other_from, other_to) = pipe().unwrap();
        close_in_background(vec![to.into()]).unwrap();
        drop(other_to);
        let mut rest = Vec::new();
        assert_eq!(other_from.read_to_end(&mut rest).unwrap(), 0);
        assert_eq!(from.read_to_end(&mut rest).unwrap(), 0);
        // The process is nobody's child here.
        std::thread::sleep(Duration::from_millis(10));
        close_in_background(Vec::new()).unwrap();
    }
}
