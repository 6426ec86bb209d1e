//! Changes the working directory for the C library's walks, as the C library does: a directory is
//! entered only if it is the one that was seen before. The cached working directory (`place`) is
//! updated, so that relative paths are answered without asking where they begin.
//!
//! Nothing here sets `errno`: failures return it.

use std::ffi::{CStr, c_char, c_int};

use crate::descriptors;
use crate::kernel::{self, Own, Quiet};
use crate::place::{self, Step};

unsafe extern "C" {
    fn dirfd(stream: *mut libc::DIR) -> c_int;
}

/// Identity of a directory: device and inode.
pub(crate) type Identity = (libc::dev_t, libc::ino_t);

/// The C library's error if another directory is there now.
const ANOTHER: c_int = libc::ENOENT;

/// fchdir(2); `step` tells where that leads from the working directory.
fn go_to(fd: c_int, step: Step<'_>) -> Result<(), c_int> {
    place::change_working_directory(step, || kernel::change_directory_to(fd))
}

/// Returns to a directory that was open before.
pub(crate) fn back_to(fd: c_int) -> Result<(), c_int> {
    go_to(fd, Step::Anywhere)
}

/// chdir(2).
pub(crate) fn go(path: &CStr) -> Result<(), c_int> {
    place::change_working_directory(Step::Anywhere, || kernel::change_directory(path))
}

/// Enters the parent directory, if it is still this one.
pub(crate) fn up(to: Identity) -> Result<(), c_int> {
    into(c"..", Step::Up, to)
}

/// openat(2), by the kernel.
pub(crate) fn open_at(from: c_int, path: &CStr, flags: c_int) -> Result<Own, c_int> {
    kernel::open_at(from, path, flags).map(Own)
}

/// Opens a directory to enter it, if it is still this one.
pub(crate) fn open_same(from: c_int, path: &CStr, of: Identity) -> Result<Own, c_int> {
    // An object that is no longer a directory counts as another one, too.
    let opened = open_at(from, path, libc::O_PATH | libc::O_CLOEXEC)?;
    expect(opened.0, of)?;
    Ok(opened)
}

fn expect(fd: c_int, of: Identity) -> Result<(), c_int> {
    let found = kernel::fstat(fd).ok_or(libc::EBADF)?;
    match (found.st_dev, found.st_ino) == of {
        true => Ok(()),
        false => Err(ANOTHER),
    }
}

/// Enters a directory, if it is still this one. The path is relative to the working directory, so
/// the step is right wherever that is.
pub(crate) fn into(path: &CStr, step: Step<'_>, of: Identity) -> Result<(), c_int> {
    let opened = open_same(libc::AT_FDCWD, path, of)?;
    go_to(opened.0, step)
}

/// Enters a directory that is being read. `path` leads there; it need not be opened if the stream
/// is the kernel's.
///
/// # Safety
/// The stream is open.
pub(crate) unsafe fn into_stream(
    stream: *mut libc::DIR,
    path: &CStr,
    step: Step<'_>,
    of: Identity,
) -> Result<(), c_int> {
    let quiet = Quiet::new();
    // SAFETY: guaranteed by the caller.
    let fd = unsafe { dirfd(stream) };
    drop(quiet);
    match fd >= 0 && !descriptors::is_virtual(fd) {
        true => expect(fd, of).and_then(|()| go_to(fd, step)),
        false => into(path, step, of),
    }
}

/// Returns where a single name leads: one directory further in, if it is not a link.
pub(crate) unsafe fn step_into<'a>(name: *const c_char) -> Step<'a> {
    // SAFETY: the caller's string.
    match unsafe { kernel::bytes(name) } {
        Some(name) if !matches!(name, b"" | b"." | b"..") && !name.contains(&b'/') => {
            Step::Into(name)
        }
        _ => Step::Anywhere,
    }
}

/// Opens the working directory, to return to it later, as the C library opens it.
pub(crate) fn open_here() -> Result<Own, c_int> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    open_at(libc::AT_FDCWD, c".", flags)
}

/// Returns the number of a descriptor that stays open.
pub(crate) fn keep(opened: Own) -> c_int {
    let number = opened.0;
    std::mem::forget(opened);
    number
}

/// Like [`open_here`], for a directory that may be passed but not listed.
pub(crate) fn open_start() -> Result<Own, c_int> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    open_at(libc::AT_FDCWD, c".", flags)
}
