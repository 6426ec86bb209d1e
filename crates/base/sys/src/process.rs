//! The process itself: its limits, its standard streams, and the time of day.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::stat::Time;

/// Returns the soft limit on open descriptors; `u64::MAX` if there is no limit.
///
/// Source: <https://man7.org/linux/man-pages/man2/getrlimit.2.html>
#[must_use]
pub fn descriptor_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the limit on open descriptors to `wanted` as far as this process may, and returns it. It
/// never lowers the limit. Programs that are started later inherit it.
///
/// Source: <https://man7.org/linux/man-pages/man2/getrlimit.2.html>
pub fn raise_descriptor_limit(wanted: u64) -> u64 {
    let now = getrlimit(Resource::Nofile);
    let hard = now.maximum.unwrap_or(u64::MAX);
    if now.current.is_some_and(|current| current < wanted) {
        let both = Rlimit {
            current: Some(wanted),
            maximum: Some(wanted.max(hard)),
        };
        let within = Rlimit {
            current: Some(wanted.min(hard)),
            maximum: now.maximum,
        };
        // Only the superuser may raise the hard limit, and not above fs.nr_open.
        let _ = setrlimit(Resource::Nofile, both).or_else(|_| setrlimit(Resource::Nofile, within));
    }
    descriptor_limit()
}

/// Returns the soft limit on the main thread's stack in bytes; `u64::MAX` if there is no limit.
///
/// Source: <https://man7.org/linux/man-pages/man2/getrlimit.2.html>
pub fn stack_limit() -> u64 {
    getrlimit(Resource::Stack).current.unwrap_or(u64::MAX)
}

/// Returns the time of day.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
#[must_use]
pub fn now() -> Time {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => Time {
            secs: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanos: since.subsec_nanos(),
        },
        // The clock is set to a time before 1970: round down, so that the nanoseconds stay
        // positive.
        Err(before) => {
            let before = before.duration();
            let secs = -i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
            match before.subsec_nanos() {
                0 => Time { secs, nanos: 0 },
                nanos => Time {
                    secs: secs - 1,
                    nanos: 1_000_000_000 - nanos,
                },
            }
        }
    }
}

/// Returns CLOCK_MONOTONIC in nanoseconds: the time since some moment, which never goes back.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
#[inline]
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec as u64)
}

/// Returns true if `fd` is a terminal.
///
/// Source: <https://man7.org/linux/man-pages/man3/isatty.3.html>
#[must_use]
pub fn is_terminal(fd: impl std::os::fd::AsFd) -> bool {
    std::io::IsTerminal::is_terminal(&fd.as_fd())
}

/// Returns true if a write to `fd` would not wait, or would fail; waits up to `wait` for it. A pipe
/// then takes 4096 bytes.
///
/// Source: <https://man7.org/linux/man-pages/man2/poll.2.html>
///
/// # Errors
/// Fails if the kernel lacks memory.
pub fn has_room(fd: impl std::os::fd::AsFd, wait: std::time::Duration) -> std::io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let wait = Timespec::try_from(wait).map_err(std::io::Error::other)?;
    let mut polled = [PollFd::new(&fd, PollFlags::OUT)];
    match poll(&mut polled, Some(&wait)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns the number of columns of the terminal `fd`; `None` if it is not a terminal or its size
/// is unknown.
///
/// Source: <https://man7.org/linux/man-pages/man2/TIOCGWINSZ.2const.html>
#[must_use]
pub fn terminal_columns(fd: impl std::os::fd::AsFd) -> Option<u16> {
    terminal_size(fd)
        .map(|size| size.ws_col)
        .filter(|columns| *columns > 0)
}

/// Returns the number of rows of the terminal `fd`; `None` if it is not a terminal or its size is
/// unknown.
///
/// Source: <https://man7.org/linux/man-pages/man2/TIOCGWINSZ.2const.html>
#[must_use]
pub fn terminal_rows(fd: impl std::os::fd::AsFd) -> Option<u16> {
    terminal_size(fd)
        .map(|size| size.ws_row)
        .filter(|rows| *rows > 0)
}

fn terminal_size(fd: impl std::os::fd::AsFd) -> Option<libc::winsize> {
    use std::os::fd::AsRawFd;
    let mut size = std::mem::MaybeUninit::<libc::winsize>::zeroed();
    let raw = fd.as_fd().as_raw_fd();
    // SAFETY: `raw` stays open as long as `fd`; `size` is valid for writes of one `winsize`.
    if unsafe { libc::ioctl(raw, libc::TIOCGWINSZ, size.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: it was zeroed, and filled by the call, which succeeded.
    Some(unsafe { size.assume_init() })
}

/// For standard input, output and error: whether the stream was closed when the process began.
static IS_CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Records the state before the Rust runtime starts, which opens `/dev/null` in place of closed
/// streams.
extern "C" fn note_closed_streams() {
    for (number, is_closed) in (0..).zip(&IS_CLOSED) {
        // SAFETY: reading a descriptor's flags touches no memory, whatever the number.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } == -1 {
            is_closed.store(true, Ordering::Relaxed);
        }
    }
}

// SAFETY: the C library calls the functions in this section before `main`, on the only thread, when
// nothing of Rust's runtime is set up; the function needs none of it and cannot unwind.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note_closed_streams;

/// Returns true if the process was started without a standard output (`>&-` in a shell). Data
/// written there is then lost without an error, because the runtime has opened `/dev/null` instead.
#[must_use]
pub fn stdout_is_closed() -> bool {
    IS_CLOSED[1].load(Ordering::Relaxed)
}

/// Returns true if the process was started without a standard input (`<&-` in a shell). Reading
/// from it then returns end of file without an error.
#[must_use]
pub fn stdin_is_closed() -> bool {
    IS_CLOSED[0].load(Ordering::Relaxed)
}

/// Lets a program that replaces this one see which of the three standard streams were closed: they
/// are `/dev/null` in this one.
pub fn pass_on_closed_streams() {
    for (number, is_closed) in (0..).zip(closed_streams()) {
        if is_closed {
            // SAFETY: setting a descriptor's flags touches no memory, whatever the number.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

/// Returns which of the three standard streams were closed when the process began.
pub(crate) fn closed_streams() -> [bool; 3] {
    [0, 1, 2].map(|number: usize| IS_CLOSED[number].load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_pipe_has_no_room() {
        use std::io::{Read, Write};
        use std::time::Duration;
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let mut written = 0;
        while has_room(&writer, Duration::ZERO).unwrap() {
            writer.write_all(&[0; 4096]).unwrap();
            written += 4096;
        }
        assert!(written >= 4096);
        reader.read_exact(&mut vec![0; written]).unwrap();
        assert!(has_room(&writer, Duration::ZERO).unwrap());
        drop(reader);
        assert!(has_room(&writer, Duration::ZERO).unwrap());
        assert!(crate::soon(|| writer.write(b"x").is_err()));
    }

    #[test]
    fn time_and_limits_are_plausible() {
        assert!(now().secs > 1_700_000_000);
        assert!(descriptor_limit() > 8);
        let null = std::fs::File::open("/dev/null").unwrap();
        assert!(!is_terminal(&null));
        assert_eq!(terminal_columns(&null), None);
    }
}
