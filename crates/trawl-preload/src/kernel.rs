//! System calls for our own use. The C library's functions of these names may be ours, so the
//! kernel is called by number; `errno` is put back by [`Quiet`].

use std::ffi::{CStr, c_char, c_int};

pub(crate) use trawl_bulk_client::kernel::{
    Own, effective_user, fcntl, fstat, open, process, unmap,
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
    // SAFETY: `into` has that many bytes.
    let length = unsafe { libc::syscall(libc::SYS_getcwd, into.as_mut_ptr(), into.len()) };
    // The kernel counts the NUL.
    let length = usize::try_from(length).ok()?.checked_sub(1)?;
    into.first().filter(|first| **first == b'/')?;
    Some(length)
}

/// Where an open directory is, as the kernel sees it.
pub(crate) fn path_of(fd: c_int, into: &mut [u8]) -> Option<usize> {
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut digits = [0; 10];
    let (mut number, mut count) = (u32::try_from(fd).ok()?, 0);
    while count == 0 || number > 0 {
        digits[count] = b'0' + (number % 10) as u8;
        (number, count) = (number / 10, count + 1);
    }
    for (to, digit) in link[14..].iter_mut().zip(digits[..count].iter().rev()) {
        *to = *digit;
    }
    // SAFETY: the link ends in NUL, `into` has that many bytes.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            link.as_ptr(),
            into.as_mut_ptr(),
            into.len(),
        )
    };
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length < into.len())?;
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
