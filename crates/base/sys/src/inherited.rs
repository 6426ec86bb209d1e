//! Descriptors that a service manager passed to the process at its start.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Number of the first descriptor that is passed.
const FIRST: RawFd = 3;
/// Maximum number of descriptors accepted; no service manager passes more.
const COUNT_MAX: RawFd = 1024;

/// Takes ownership of the descriptors that `LISTEN_FDS` and `LISTEN_PID` say were passed to this
/// process, and returns them with their names. Only the first call returns any. Programs that this
/// process runs do not inherit them.
///
/// Source: <https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html>
#[must_use]
pub fn take() -> Vec<(String, OwnedFd)> {
    let variable = |name: &str| std::env::var(name).ok();
    let number = |name: &str| variable(name)?.parse::<RawFd>().ok();
    let is_ours = variable("LISTEN_PID").is_some_and(|pid| pid == std::process::id().to_string());
    let count = number("LISTEN_FDS").filter(|count| (1..=COUNT_MAX).contains(count));
    let Some(count) = count.filter(|_| is_ours && !TAKEN.swap(true, Ordering::Relaxed)) else {
        return Vec::new();
    };
    let names = variable("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let numbers = FIRST..FIRST + count;
    let taken = numbers.filter_map(|number| {
        let name = names.next().unwrap_or_default().to_owned();
        // SAFETY: fcntl(2) gets numbers only; it fails if the descriptor is not open.
        let code = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        // SAFETY: it is open, the manager passed it to this process, and `TAKEN` ensures that it is
        // taken only once. The environment was set for this process id, so the number does not
        // belong to a descriptor that this process opened.
        (code == 0).then(|| (name, unsafe { OwnedFd::from_raw_fd(number) }))
    });
    taken.collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_was_passed_to_a_test() {
        assert!(super::take().is_empty());
    }
}
