//! The functions of the header. Each reads the C arguments, calls safe code, and reports errors;
//! `errno` changes only on errors and at the end of a search.

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use trawl_call::packed::{LENGTH_MIN, decode};
use trawl_call::search::{Filled, Rest};
use trawl_call::{Search, ServedBy};
use trawl_sys::signal::without_signals;

use crate::arguments;
use crate::failure::{Failure, errno, keep, kept, set_errno};
use crate::handle::Handle;
use crate::layout::{
    TRAWL_INDEX, TRAWL_LIVE, TRAWL_REMOTE, trawl_search_options, trawl_search_place,
    trawl_searchent,
};

/// The version, NUL-terminated.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// Runs `body`. If it fails or panics, sets `errno` and returns `failed`.
pub(crate) fn border<T>(failed: T, body: impl FnOnce() -> Result<T, c_int>) -> T {
    let before = errno();
    let (result, errno) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(result)) => (result, before),
        Ok(Err(errno)) => (failed, errno),
        Err(panic) => {
            // Dropping the payload may panic again.
            std::mem::forget(panic);
            (failed, libc::EIO)
        }
    };
    set_errno(errno);
    result
}

/// Keeps the text of a failure that has no handle, and returns its errno.
pub(crate) fn kept_failure(failure: Failure) -> c_int {
    keep(failure.text);
    failure.errno
}

fn no_handle() -> c_int {
    kept_failure(Failure::invalid("the search is NULL"))
}

/// # Safety
/// The pointer is NULL, or a search that is open as long as the result is used.
unsafe fn handle<'a>(search: *const Handle) -> Result<&'a Handle, c_int> {
    // SAFETY: the caller promises it.
    unsafe { search.as_ref() }.ok_or_else(no_handle)
}

/// Opens a search. With [`crate::layout::TRAWL_INTR`] its threads block all signals.
fn opened(
    flags: c_int,
    open: impl FnOnce() -> Result<Search, Failure>,
) -> Result<*mut Handle, c_int> {
    let handle = match arguments::is_interruptible(flags) {
        true => without_signals(|| Handle::interruptible(open()?)),
        false => open().map(Handle::new),
    };
    Ok(Box::into_raw(Box::new(handle.map_err(kept_failure)?)))
}

/// Opens a search of a list of directories, separated by `:`.
///
/// # Safety
/// Both strings are NULL or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_opensearch(
    paths: *const c_char,
    pattern: *const c_char,
    flags: c_int,
) -> *mut Handle {
    border(ptr::null_mut(), || {
        let open = || {
            // SAFETY: the caller promises both.
            let (roots, pattern) = unsafe {
                (
                    arguments::paths(paths)?,
                    arguments::text(pattern, "the pattern")?,
                )
            };
            arguments::open(&roots, pattern, flags, arguments::Wishes::default())
        };
        opened(flags, open)
    })
}

/// Opens a search of an array of directories.
///
/// # Safety
/// Strings are NULL or NUL-terminated, the array has `count` of them, and the options are as their
/// structure says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_opensearch_array(
    paths: *const *const c_char,
    count: usize,
    pattern: *const c_char,
    flags: c_int,
    options: *const trawl_search_options,
) -> *mut Handle {
    border(ptr::null_mut(), || {
        let open = || {
            // SAFETY: the caller promises all of them.
            let (roots, pattern, wishes) = unsafe {
                (
                    arguments::path_array(paths, count)?,
                    arguments::text(pattern, "the pattern")?,
                    arguments::wishes(options)?,
                )
            };
            arguments::open(&roots, pattern, flags, wishes)
        };
        opened(flags, open)
    })
}

/// Returns the next record; NULL with `errno` 0 at the end.
///
/// # Safety
/// The pointer is NULL, or an open search.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_readsearch(search: *mut Handle) -> *mut trawl_searchent {
    border(ptr::null_mut(), || {
        // SAFETY: the caller promises it.
        let handle = unsafe { handle(search) }?;
        // An `errno` of 0 tells the end.
        handle.read()?.ok_or(0)
    })
}

/// Closes a search.
///
/// # Safety
/// The pointer is NULL, or an open search that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_closesearch(search: *mut Handle) -> c_int {
    border(-1, || {
        if search.is_null() {
            return Err(no_handle());
        }
        // SAFETY: `opened` made the handle, and the caller gives it back.
        unsafe { Box::from_raw(search) }.close();
        Ok(0)
    })
}

/// Writes whole records to a buffer, and returns their size in bytes.
///
/// # Safety
/// The search is NULL or open; the buffer has `size` bytes; `next_bytes` is NULL or points to a
/// number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_fillsearch(
    search: *mut Handle,
    buffer: *mut c_void,
    size: usize,
    next_bytes: *mut usize,
) -> isize {
    border(-1, || {
        // SAFETY: the caller promises both.
        let handle = unsafe { handle(search) }?;
        // SAFETY: as above.
        let buffer = unsafe { arguments::bytes_mut(buffer, size, "the buffer") };
        let filled = handle.fill(buffer.map_err(kept_failure)?)?;
        // SAFETY: the caller promises that it is NULL or points to a number.
        if let Some(next_bytes) = unsafe { next_bytes.as_mut() } {
            *next_bytes = next(filled);
        }
        Ok(filled.bytes as isize)
    })
}

fn next(filled: Filled) -> usize {
    match filled.rest {
        Rest::Nothing => 0,
        // An error is not the end.
        Rest::More { next_bytes } => next_bytes.max(LENGTH_MIN),
    }
}

/// Runs a search in one call: from the position in `place` until the buffer is full.
///
/// # Safety
/// As for [`trawl_opensearch_array`] and [`trawl_fillsearch`]; the place is NULL or as its
/// structure says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_search(
    paths: *const c_char,
    pattern: *const c_char,
    flags: c_int,
    options: *const trawl_search_options,
    buffer: *mut c_void,
    size: usize,
    place: *mut trawl_search_place,
) -> isize {
    border(-1, || {
        let answer = || {
            // SAFETY: the caller promises all of them.
            let (roots, pattern, mut wishes, buffer, place) = unsafe {
                (
                    arguments::paths(paths)?,
                    arguments::text(pattern, "the pattern")?,
                    arguments::wishes(options)?,
                    arguments::bytes_mut(buffer, size, "the buffer")?,
                    place.as_mut(),
                )
            };
            if let Some(place) = place.as_deref().filter(|place| place.used > 0) {
                let used = place.used.min(place.room);
                // SAFETY: the caller promises that there are `room` bytes.
                let cookie = unsafe { arguments::bytes(place.cookie, used, "the cookie") }?;
                wishes.cookie = Some(cookie.to_vec());
            }
            let open = || arguments::open(&roots, pattern, flags, wishes);
            let (filled, cookie) = match arguments::is_interruptible(flags) {
                true => fill_interruptibly(open, buffer)?,
                false => {
                    let mut search = open()?;
                    (search.fill(buffer)?, search.cookie().to_bytes())
                }
            };
            // SAFETY: as above.
            unsafe { end(place, &cookie, filled) }
        };
        answer().map_err(kept_failure)
    })
}

/// Fills a buffer like [`Search::fill`], but a signal ends the wait: the answer is then the records
/// so far, or `EINTR` if there are none.
fn fill_interruptibly(
    open: impl FnOnce() -> Result<Search, Failure>,
    buffer: &mut [u8],
) -> Result<(Filled, Vec<u8>), Failure> {
    let handle = Box::new(without_signals(|| Handle::interruptible(open()?))?);
    let filled = fill_whole(&handle, buffer).map_err(|errno| {
        // SAFETY: the text belongs to the handle, which only this function uses.
        let text = unsafe { std::ffi::CStr::from_ptr(handle.text()) };
        Failure::new(errno, text.to_string_lossy())
    });
    // Ends the search if a signal ended the wait.
    handle.close();
    filled
}

fn fill_whole(handle: &Handle, buffer: &mut [u8]) -> Result<(Filled, Vec<u8>), c_int> {
    let mut all = handle.fill(buffer)?;
    while let Rest::More { .. } = all.rest {
        match handle.fill(&mut buffer[all.bytes..]) {
            Ok(more) if more.records > 0 => {
                all.bytes += more.bytes;
                all.records += more.records;
                all.rest = more.rest;
            }
            Ok(more) => {
                all.rest = more.rest;
                break;
            }
            // The next call returns the error.
            Err(_) => break,
        }
    }
    Ok((all, handle.cookie()?))
}

/// Stores the position at which a search in one call ended, and returns the number of bytes
/// written.
///
/// # Safety
/// The place has as much room as it says.
unsafe fn end(
    place: Option<&mut trawl_search_place>,
    cookie: &[u8],
    filled: Filled,
) -> Result<isize, Failure> {
    let Some(place) = place else {
        return match filled.rest {
            Rest::Nothing => Ok(filled.bytes as isize),
            Rest::More { .. } => Err(Failure::new(
                libc::ERANGE,
                "the buffer is too small for the answer: pass a place to resume from",
            )),
        };
    };
    place.needed = cookie.len();
    if cookie.len() > place.room {
        return Err(Failure::no_room(cookie.len()));
    }
    // SAFETY: the caller promises it.
    let room = unsafe { arguments::bytes_mut(place.cookie, place.room, "the cookie") }?;
    room[..cookie.len()].copy_from_slice(cookie);
    place.used = cookie.len();
    place.next_bytes = next(filled);
    Ok(filled.bytes as isize)
}

/// Writes the cookie of a search's position, and returns its length.
///
/// # Safety
/// The search is NULL or open; the buffer has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_search_cookie(
    search: *mut Handle,
    buffer: *mut c_void,
    size: usize,
) -> isize {
    border(-1, || {
        // SAFETY: the caller promises both.
        let handle = unsafe { handle(search) }?;
        // SAFETY: as above.
        let buffer = unsafe { arguments::bytes_mut(buffer, size, "the buffer") };
        let length = handle.copy_cookie(buffer.map_err(kept_failure)?)?;
        Ok(length as isize)
    })
}

/// Cancels a search. Safe in signal handlers: it does not allocate, lock, wait or panic.
///
/// # Safety
/// The pointer is NULL, or an open search.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_search_cancel(search: *mut Handle) -> c_int {
    // SAFETY: the caller promises it.
    match unsafe { search.as_ref() } {
        Some(handle) => {
            handle.cancel();
            0
        }
        None => {
            set_errno(libc::EINVAL);
            -1
        }
    }
}

/// Returns a descriptor that is readable while a record can be read without waiting.
///
/// # Safety
/// The pointer is NULL, or an open search.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_searchfd(search: *mut Handle) -> c_int {
    // SAFETY: the caller promises it.
    border(-1, || unsafe { handle(search) }?.descriptor())
}

/// Returns who gave the last record; 0 before the first one.
///
/// # Safety
/// The pointer is NULL, or an open search.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_search_served_by(search: *mut Handle) -> c_int {
    border(-1, || {
        // SAFETY: the caller promises it.
        let served_by = unsafe { handle(search) }?.served_by()?;
        Ok(served_by.map_or(0, |who| match who {
            ServedBy::Live => TRAWL_LIVE,
            ServedBy::Index => TRAWL_INDEX,
            ServedBy::Remote | ServedBy::RemoteLive | ServedBy::RemoteIndex => TRAWL_REMOTE,
        }))
    })
}

/// Returns the text of the last failure of a search, or of this thread's last failure without a
/// search.
///
/// # Safety
/// The pointer is NULL, or an open search.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_strerror(search: *mut Handle) -> *const c_char {
    border(c"the library failed".as_ptr(), || {
        // SAFETY: the caller promises it.
        Ok(unsafe { search.as_ref() }.map_or_else(kept, Handle::text))
    })
}

/// Returns the length of the record at the beginning of these bytes, if it is valid.
///
/// # Safety
/// The pointer is NULL, or its memory has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_record_check(record: *const c_void, size: usize) -> isize {
    border(-1, || {
        // SAFETY: the caller promises it.
        let bytes = unsafe { arguments::bytes(record, size, "the record") };
        match decode(bytes.map_err(kept_failure)?) {
            Ok((_, length)) => Ok(length as isize),
            Err(error) => Err(kept_failure(Failure::new(libc::EBADMSG, error))),
        }
    })
}

/// Returns the library's version.
#[unsafe(no_mangle)]
pub extern "C" fn trawl_version() -> *const c_char {
    VERSION.as_ptr().cast()
}
