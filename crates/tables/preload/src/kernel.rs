//! System calls for the library's own use. The C library's functions of these names may be ours, so
//! the kernel is called by number; [`Quiet`] restores `errno`.

use std::ffi::{CStr, c_char, c_int};

pub(crate) use trawl_table_client::kernel::{
    Own, any, change_directory, change_directory_to, fcntl, file_system, fstat, map_at,
    mount_flags, open, open_at, process, stat, statx_kept, tracer, unmap,
};

/// Sets `errno`.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: the location belongs to this thread and is valid as long as the thread runs.
    unsafe { *libc::__errno_location() = errno };
}

/// Returns `errno`.
pub(crate) fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

/// Restores `errno` when dropped.
pub(crate) struct Quiet(c_int);

impl Quiet {
    pub(crate) fn new() -> Quiet {
        Quiet(errno())
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        set_errno(self.0);
    }
}

/// Closes a descriptor, as close(2).
pub(crate) fn close(fd: c_int) -> c_int {
    match trawl_table_client::kernel::close(fd) {
        Ok(()) => 0,
        Err(errno) => {
            set_errno(errno);
            -1
        }
    }
}

/// Writes the working directory's path and returns its length.
pub(crate) fn working_directory(into: &mut [u8]) -> Option<usize> {
    // The kernel counts the NUL.
    let length = trawl_table_client::kernel::working_directory(into)?.checked_sub(1)?;
    into.first().filter(|first| **first == b'/')?;
    Some(length)
}

/// A path below `/proc`, with a terminating NUL.
pub(crate) struct ProcPath {
    bytes: [u8; ProcPath::ROOM],
    length: usize,
}

impl ProcPath {
    const ROOM: usize = 48;

    /// Returns the path of a descriptor, of the given process or of this one.
    pub(crate) fn of_descriptor(process: Option<u32>, fd: u32) -> ProcPath {
        let mut path = ProcPath {
            bytes: [0; ProcPath::ROOM],
            length: 0,
        };
        path.push(b"/proc/");
        match process {
            Some(process) => path.push_number(process),
            None => path.push(b"self"),
        }
        path.push(b"/fd/");
        path.push_number(fd);
        path
    }

    fn push(&mut self, bytes: &[u8]) {
        // The last byte stays NUL.
        let end = self.length + bytes.len();
        if let Some(room) = self.bytes.get_mut(self.length..end)
            && end < ProcPath::ROOM
        {
            room.copy_from_slice(bytes);
            self.length = end;
        }
    }

    fn push_number(&mut self, number: u32) {
        let mut digits = [0; 10];
        let (mut number, mut first) = (number, digits.len());
        while first == digits.len() || number > 0 {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        self.push(&digits[first..]);
    }

    pub(crate) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

/// Writes the path of an open directory, as the kernel sees it, and returns its length; `None` if
/// it was deleted or the path does not fit.
pub(crate) fn path_of(fd: c_int, into: &mut [u8]) -> Option<usize> {
    let link = ProcPath::of_descriptor(None, u32::try_from(fd).ok()?);
    let length = trawl_table_client::kernel::read_link(link.as_c_str(), into)?;
    let length = Some(length).filter(|length| *length < into.len())?;
    let path = into.get(..length)?;
    (path.starts_with(b"/") && !path.ends_with(b" (deleted)")).then_some(length)
}

/// Returns the monotonic clock in nanoseconds, with a resolution of some milliseconds.
pub(crate) fn now_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC_COARSE)
}

/// Returns the monotonic clock in nanoseconds.
pub(crate) fn exactly_now_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The date in seconds, as file systems take it for their times.
pub(crate) fn date_secs() -> i64 {
    clock_ns(libc::CLOCK_REALTIME_COARSE) / 1_000_000_000
}

fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` has room for the result. The C library reads the kernel's shared page, without
    // a system call.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

/// Returns the bytes of a C string; `None` for NULL.
///
/// # Safety
/// `text` is NULL, or ends in NUL and does not change while the result is used.
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller promises it.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}
