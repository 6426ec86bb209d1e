//! The functions of `trawl/sets.h`. Each reads the C arguments, calls safe code, and reports
//! errors; `errno` changes only on errors and at the end of an iteration.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::time::Duration;

use trawl_sets::{Options, Set, SetError};

use crate::arguments;
use crate::exports::{border, kept_failure};
use crate::failure::{Failure, kept};
use crate::sets::arguments as of_sets;
use crate::sets::handle::SetHandle;
use crate::sets::layout::{
    TRAWL_SET_CALLER_CLOSES, trawl_set_options, trawl_set_stats, trawl_setent,
};

fn no_set() -> Failure {
    Failure::invalid("the set is NULL")
}

/// # Safety
/// The pointer is NULL, or a set that is open as long as the result is used.
unsafe fn handle<'a>(set: *const SetHandle) -> Result<&'a SetHandle, Failure> {
    // SAFETY: the caller promises it.
    unsafe { set.as_ref() }.ok_or_else(no_set)
}

/// Runs `body`. If it fails or panics, keeps the reason, sets `errno` and returns `failed`.
fn edge<T>(failed: T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    border(failed, || body().map_err(kept_failure))
}

/// Returns a pointer to a record, or the end as an `errno` of 0.
fn record(next: impl FnOnce() -> Result<Option<*mut trawl_setent>, Failure>) -> *mut trawl_setent {
    border(ptr::null_mut(), || next().map_err(kept_failure)?.ok_or(0))
}

fn opened(set: Set) -> *mut SetHandle {
    Box::into_raw(Box::new(SetHandle::new(set)))
}

/// Opens a set by its name.
///
/// # Safety
/// The name is NULL or NUL-terminated; the options are as their structure says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_open(
    name: *const c_char,
    flags: c_int,
    options: *const trawl_set_options,
) -> *mut SetHandle {
    edge(ptr::null_mut(), || {
        // SAFETY: the caller promises both.
        let (name, wishes) = unsafe {
            (
                arguments::text(name, "the name of the set")?,
                of_sets::wishes(flags, options)?,
            )
        };
        of_sets::open(&[name.to_vec()], wishes).map(opened)
    })
}

/// Opens one set of several names.
///
/// # Safety
/// As for [`trawl_set_open`]; the array has `count` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_open_array(
    names: *const *const c_char,
    count: usize,
    flags: c_int,
    options: *const trawl_set_options,
) -> *mut SetHandle {
    edge(ptr::null_mut(), || {
        // SAFETY: the caller promises both.
        let (names, wishes) = unsafe {
            (
                arguments::path_array(names, count)?,
                of_sets::wishes(flags, options)?,
            )
        };
        of_sets::open(&names, wishes).map(opened)
    })
}

/// Closes a set.
///
/// # Safety
/// The pointer is NULL, or an open set that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_close(set: *mut SetHandle) -> c_int {
    edge(-1, || {
        if set.is_null() {
            return Err(no_set());
        }
        // SAFETY: `opened` made the handle, and the caller gives it back.
        unsafe { Box::from_raw(set) }.close();
        Ok(0)
    })
}

/// Returns the next member; NULL with `errno` 0 at the end.
///
/// # Safety
/// The pointer is NULL, or an open set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_iterate(set: *mut SetHandle, flags: c_int) -> *mut trawl_setent {
    record(|| {
        // SAFETY: the caller promises it.
        let handle = unsafe { handle(set) }?;
        match flags & !TRAWL_SET_CALLER_CLOSES {
            0 => handle.iterate(flags & TRAWL_SET_CALLER_CLOSES != 0),
            _ => Err(Failure::invalid(format_args!("unknown flags: {flags:#x}"))),
        }
    })
}

/// Returns the next description; NULL with `errno` 0 at the end.
///
/// # Safety
/// The pointer is NULL, or an open set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_digest(set: *mut SetHandle) -> *mut trawl_setent {
    // SAFETY: the caller promises it.
    record(|| unsafe { handle(set) }?.digest())
}

/// Writes the names of further members to a buffer, and returns their length.
///
/// # Safety
/// The set is NULL or open; the buffer has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_digest_names(
    set: *mut SetHandle,
    buffer: *mut c_char,
    size: usize,
) -> isize {
    edge(-1, || {
        // SAFETY: the caller promises both.
        let (handle, buffer) = unsafe {
            (
                handle(set)?,
                arguments::bytes_mut(buffer.cast(), size, "the buffer")?,
            )
        };
        handle.digest_names(buffer).map(|length| length as isize)
    })
}

/// Returns a set made of two others.
///
/// # Safety
/// Both pointers are NULL, or open sets.
unsafe fn combined(
    sets: [*mut SetHandle; 2],
    flags: c_int,
    combine: fn(&Set, &Set, Options) -> Result<Set, SetError>,
) -> *mut SetHandle {
    edge(ptr::null_mut(), || {
        // SAFETY: the caller promises both.
        let (one, other) = unsafe { (handle(sets[0])?.set()?, handle(sets[1])?.set()?) };
        let options = of_sets::combined(flags)?;
        Ok(opened(combine(one, other, options)?))
    })
}

/// Returns a set of the members of either set.
///
/// # Safety
/// Both pointers are NULL, or open sets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_union(
    set1: *mut SetHandle,
    set2: *mut SetHandle,
    flags: c_int,
) -> *mut SetHandle {
    // SAFETY: the caller promises it.
    unsafe { combined([set1, set2], flags, Set::union) }
}

/// Returns a set of the members of both sets.
///
/// # Safety
/// Both pointers are NULL, or open sets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_intersect(
    set1: *mut SetHandle,
    set2: *mut SetHandle,
    flags: c_int,
) -> *mut SetHandle {
    // SAFETY: the caller promises it.
    unsafe { combined([set1, set2], flags, Set::intersect) }
}

/// Makes the next iteration begin again.
///
/// # Safety
/// The pointer is NULL, or an open set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_rewind_iterator(set: *mut SetHandle) -> c_int {
    edge(-1, || {
        // SAFETY: the caller promises it.
        unsafe { handle(set) }?.set()?.rewind_iterator();
        Ok(0)
    })
}

/// Makes the next digest begin again.
///
/// # Safety
/// The pointer is NULL, or an open set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_rewind_digest(set: *mut SetHandle) -> c_int {
    edge(-1, || {
        // SAFETY: the caller promises it.
        unsafe { handle(set) }?.rewind_digest()?;
        Ok(0)
    })
}

/// Returns the number of members.
///
/// # Safety
/// The pointer is NULL, or an open set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_size(set: *mut SetHandle) -> isize {
    edge(-1, || {
        // SAFETY: the caller promises it.
        let handle = unsafe { handle(set) }?;
        let size = handle.set()?.size();
        handle.check()?;
        Ok(size as isize)
    })
}

/// Returns whether a name is a member.
///
/// # Safety
/// The set is NULL or open; the name is NULL or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_member(set: *mut SetHandle, name: *const c_char) -> c_int {
    edge(-1, || {
        // SAFETY: the caller promises both.
        let (handle, name) = unsafe { (handle(set)?, arguments::text(name, "the name")?) };
        let is_member = handle.set()?.member(name);
        if !is_member {
            handle.check()?;
        }
        Ok(c_int::from(is_member))
    })
}

/// Calls a function for each member or error that is left to iterate.
///
/// # Safety
/// The set is NULL or open; the function may be called with a record and the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_apply(
    set: *mut SetHandle,
    each: Option<unsafe extern "C" fn(*const trawl_setent, *mut c_void) -> c_int>,
    context: *mut c_void,
) -> c_int {
    edge(-1, || {
        // SAFETY: the caller promises it.
        let handle = unsafe { handle(set) }?;
        let each = each.ok_or_else(|| Failure::invalid("the function is NULL"))?;
        // SAFETY: the caller promises it.
        handle.apply(|record| unsafe { each(record, context) })
    })
}

/// Cancels a set.
///
/// # Safety
/// The pointer is NULL, or an open set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_cancel(set: *mut SetHandle) -> c_int {
    edge(-1, || {
        // SAFETY: the caller promises it.
        unsafe { handle(set) }?.cancel()?;
        Ok(0)
    })
}

/// Returns the errno of the first error that was returned in the place of a member.
///
/// # Safety
/// The pointer is NULL, or an open set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_problem(set: *mut SetHandle) -> c_int {
    // SAFETY: the caller promises it.
    edge(-1, || Ok(unsafe { handle(set) }?.problem()))
}

/// Fills a structure with what the set has done so far.
///
/// # Safety
/// The set is NULL or open; the structure is NULL, or as long as its first member says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_set_stats(
    set: *mut SetHandle,
    stats: *mut trawl_set_stats,
) -> c_int {
    edge(-1, || {
        // SAFETY: the caller promises it.
        let handle = unsafe { handle(set) }?;
        if stats.is_null() {
            return Err(Failure::invalid("the structure is NULL"));
        }
        let now = handle.set()?.stats();
        // SAFETY: the caller promises at least the first member.
        let size = unsafe { (&raw const (*stats).size).read() };
        let ours = trawl_set_stats {
            size,
            members: now.members,
            delivered: now.delivered,
            problems: now.problems,
            cached: now.cached,
            fetched_bytes: now.fetched_bytes,
            unused_bytes: now.unused_bytes,
            fetch_ns: nanoseconds(now.fetch_time),
            wait_ns: nanoseconds(now.wait_time),
            processing_ns: nanoseconds(now.processing_time),
        };
        let known = size.min(size_of::<trawl_set_stats>());
        // SAFETY: both structures have at least `known` bytes.
        unsafe { ptr::copy_nonoverlapping((&raw const ours).cast::<u8>(), stats.cast(), known) };
        Ok(0)
    })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the reason why this thread's last call on a set failed.
#[unsafe(no_mangle)]
pub extern "C" fn trawl_set_strerror(_: *mut SetHandle) -> *const c_char {
    border(c"the library failed".as_ptr(), || Ok(kept()))
}
