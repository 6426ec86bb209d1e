//! System calls for our own use. The C library's functions of these names may be ours, so the
//! kernel is called by number; `errno` is put back by [`Quiet`].

use std::ffi::{CStr, c_char, c_int};

pub(crate) use trawl_bulk_client::kernel::{
    Own, any, change_directory, change_directory_to, fcntl, file_system, fstat, map_at,
    mount_flags, open, open_at, process, stat, statx_kept, tracer, unmap,
};

/// Sets `errno`.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: the location is the thread's own, and valid as long as it runs.
    unsafe { *libc::__errno_location() = errno };
}

/// `errno`.
pub(crate) fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

/// Puts `errno` back when it goes.
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

/// Closes a descriptor; as close(2).
pub(crate) fn close(fd: c_int) -> c_int {
    match trawl_bulk_client::kernel::close(fd) {
        Ok(()) => 0,
        Err(errno) => {
            set_errno(errno);
            -1
        }
    }
}

/// The working directory.
pub(crate) fn working_directory(into: &mut [u8]) -> Option<usize> {
    // The kernel counts the NUL.
    let length = trawl_bulk_client::kernel::working_directory(into)?.checked_sub(1)?;
    into.first().filter(|first| **first == b'/')?;
    Some(length)
}

/// A path below `/proc`, with a NUL.
pub(crate) struct ProcPath {
    bytes: [u8; ProcPath::ROOM],
    length: usize,
}

impl ProcPath {
    const ROOM: usize = 48;

    /// That of a descriptor of a process, or of this one.
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

/// Where an open directory is, as the kernel sees it.
pub(crate) fn path_of(fd: c_int, into: &mut [u8]) -> Option<usize> {
    let link = ProcPath::of_descriptor(None, u32::try_from(fd).ok()?);
    let length = trawl_bulk_client::kernel::read_link(link.as_c_str(), into)?;
    let length = Some(length).filter(|length| *length < into.len())?;
    let path = into.get(..length)?;
    (path.starts_with(b"/") && !path.ends_with(b" (deleted)")).then_some(length)
}

/// The monotonic clock, to some milliseconds.
pub(crate) fn now_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC_COARSE)
}

/// The monotonic clock.
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
    // SAFETY: `now` has room. The C library's function asks the kernel's page, not the kernel.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

/// The bytes of a C string.
///
/// # Safety
/// NULL, or it ends in NUL and stays as it is while the result is used.
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller promises it.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}
