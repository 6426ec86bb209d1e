//! Virtual descriptors: directories that a program has opened and that no call has needed yet.
//!
//! Their numbers are the highest that the process may use, which the kernel gives out last. Only
//! opens whose descriptor is not inherited (`O_CLOEXEC`) are virtual. A call that a table cannot
//! answer first makes the descriptor real, under the same number ([`make_real`]), and so does a
//! call with a path that may name the descriptor, such as `/proc/self/fd/N` ([`before_path`]).
//! Before a program reads the list of its descriptors, all of them are made real, and it gets no
//! virtual ones from then on.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

use trawl_table::Directory;

use crate::kernel::{self, Own, Quiet};
use crate::settings;
use crate::tables::{self, TableRef};

const COUNT: usize = 64;
/// Even with a higher limit the numbers stay small, because the kernel's table has room for all
/// numbers below the largest one in use.
const NUMBER_MAX: u64 = 1024;
const NUMBER_MIN: u64 = 256;

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const VIRTUAL: u32 = 2;
/// The descriptor was made real and belongs to the kernel until it is closed.
const REAL: u32 = 3;

struct Slot {
    state: AtomicU32,
    held: AtomicU32,
    directory: AtomicU32,
    flags: AtomicI32,
}

static SLOTS: [Slot; COUNT] = [const {
    Slot {
        state: AtomicU32::new(FREE),
        held: AtomicU32::new(0),
        directory: AtomicU32::new(0),
        flags: AtomicI32::new(0),
    }
}; COUNT];

/// The first number; 0 if it is not known yet, -1 if there are no virtual descriptors.
static BASE: AtomicI32 = AtomicI32::new(0);
/// Bits of the numbers that are known not to be in use by the program.
static CHECKED: AtomicU64 = AtomicU64::new(0);
/// Whether no further virtual descriptors are given out.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Returns the slot of a virtual descriptor.
#[inline]
fn slot(fd: c_int) -> Option<&'static Slot> {
    let base = BASE.load(Ordering::Relaxed);
    if base <= 0 || fd < base {
        return None;
    }
    let slot = SLOTS.get(usize::try_from(fd - base).ok()?)?;
    (slot.state.load(Ordering::SeqCst) == VIRTUAL).then_some(slot)
}

/// Whether a descriptor is virtual.
#[inline]
pub(crate) fn is_virtual(fd: c_int) -> bool {
    slot(fd).is_some()
}

fn base() -> c_int {
    let base = BASE.load(Ordering::Relaxed);
    if base != 0 {
        return base;
    }
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` has room for the result.
    let code = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let base = match limit.rlim_cur.min(NUMBER_MAX) {
        limit if code == 0 && limit >= NUMBER_MIN => limit as c_int - COUNT as c_int,
        _ => -1,
    };
    BASE.store(base, Ordering::Relaxed);
    base
}

/// Allocates a number for a directory of a table; `None` if none is available.
pub(crate) fn new(held: &TableRef, directory: u32, flags: c_int, least: c_int) -> Option<c_int> {
    let base = base();
    if base < 0 || least > base || IS_OVER.load(Ordering::Relaxed) {
        return None;
    }
    // The path must fit, so that the descriptor can be made real.
    let mut space = [0; trawl_table::PATH_BYTES_MAX];
    tables::path_of(&held.table()?, directory, &mut space)?;
    for (at, slot) in SLOTS.iter().enumerate() {
        let claimed =
            slot.state
                .compare_exchange(FREE, CLAIMED, Ordering::SeqCst, Ordering::SeqCst);
        if claimed.is_err() {
            continue;
        }
        let fd = base + at as c_int;
        if !is_unused(fd, at) {
            // The program itself uses this number.
            slot.state.store(FREE, Ordering::SeqCst);
            continue;
        }
        slot.held
            .store(held.again().into_number(), Ordering::SeqCst);
        slot.directory.store(directory, Ordering::SeqCst);
        slot.flags.store(flags, Ordering::SeqCst);
        slot.state.store(VIRTUAL, Ordering::SeqCst);
        return Some(fd);
    }
    None
}

fn is_unused(fd: c_int, at: usize) -> bool {
    let bit = 1 << at;
    if CHECKED.load(Ordering::Relaxed) & bit != 0 {
        return true;
    }
    let _quiet = Quiet::new();
    let is_unused = kernel::fcntl(fd, libc::F_GETFD, 0).is_err();
    if is_unused {
        CHECKED.fetch_or(bit, Ordering::Relaxed);
    }
    is_unused
}

/// Returns the table and the directory behind a virtual descriptor.
pub(crate) fn virtual_place(fd: c_int) -> Option<(TableRef, u32)> {
    let slot = slot(fd)?;
    let held = std::mem::ManuallyDrop::new(TableRef::of_number(slot.held.load(Ordering::SeqCst)));
    let again = held.again();
    let directory = slot.directory.load(Ordering::SeqCst);
    // If another thread has closed it in the meantime, nothing is known.
    (slot.state.load(Ordering::SeqCst) == VIRTUAL).then_some((again, directory))
}

/// Returns the directory behind a virtual descriptor; it is valid as long as the first part is
/// held.
pub(crate) fn directory(fd: c_int) -> Option<(TableRef, Directory<'static>)> {
    let (held, number) = virtual_place(fd)?;
    let directory = held.table()?.directory(number)?;
    Some((held, directory))
}

/// Returns the flags that a virtual descriptor was opened with.
pub(crate) fn flags(fd: c_int) -> Option<c_int> {
    slot(fd).map(|slot| slot.flags.load(Ordering::SeqCst))
}

/// Frees a virtual descriptor; returns whether it was one. Must be called before the number is
/// closed or reused.
#[inline]
pub(crate) fn forget(fd: c_int) -> bool {
    let base = BASE.load(Ordering::Relaxed);
    base > 0 && fd >= base && become_not_virtual(fd, base, FREE)
}

fn become_not_virtual(fd: c_int, base: c_int, state: u32) -> bool {
    let at = (fd - base) as usize;
    let Some(slot) = SLOTS.get(at) else {
        return false;
    };
    // The child of vfork(2) has its own descriptors, while its parent's threads continue to use
    // these slots.
    if settings::is_borrowed() {
        return false;
    }
    if slot.state.load(Ordering::SeqCst) == REAL {
        // Closing may fail: whether the number is free is checked again.
        CHECKED.fetch_and(!(1 << at), Ordering::Relaxed);
        slot.state.store(FREE, Ordering::SeqCst);
    }
    let claimed = slot
        .state
        .compare_exchange(VIRTUAL, CLAIMED, Ordering::SeqCst, Ordering::SeqCst);
    if claimed.is_err() {
        return false;
    }
    drop(TableRef::of_number(slot.held.load(Ordering::SeqCst)));
    slot.state.store(state, Ordering::SeqCst);
    true
}

/// Allocates another virtual descriptor for the same directory, if `fd` is virtual.
pub(crate) fn again(fd: c_int, least: c_int) -> Option<c_int> {
    let flags = flags(fd)?;
    let (held, directory) = virtual_place(fd)?;
    new(&held, directory, flags, least)
}

/// Closes a virtual or real descriptor, as close(2).
pub(crate) fn close(fd: c_int) -> c_int {
    match forget(fd) {
        true => 0,
        false => kernel::close(fd),
    }
}

/// Opens the directory of a virtual descriptor under its number. Other descriptors are left alone.
///
/// This fails only if the directory is no longer at its path, or if no descriptors are left. Then
/// the number is free, and calls that use it fail with `EBADF`.
#[inline]
pub(crate) fn make_real(fd: c_int) {
    if slot(fd).is_some() {
        make_real_now(fd);
    }
}

#[cold]
fn make_real_now(fd: c_int) {
    let _quiet = Quiet::new();
    let Some((held, directory)) = virtual_place(fd) else {
        return;
    };
    let flags = flags(fd).unwrap_or(libc::O_RDONLY);
    // The number is opened before it stops being virtual, so that another thread always finds one
    // or the other.
    if let Some(opened) = open_again(&held, directory, flags)
        && let Ok(number) = kernel::fcntl(opened.0, libc::F_DUPFD_CLOEXEC, fd)
        && number != fd
    {
        // Another thread was quicker, or the program has taken that number itself.
        drop(Own(number));
    }
    become_not_virtual(fd, base(), REAL);
}

/// Opens a directory of a table; `None` if another directory is at its path now.
pub(crate) fn open_again(held: &TableRef, directory: u32, flags: c_int) -> Option<Own> {
    let table = held.table()?;
    let mut space = [0; trawl_table::PATH_BYTES_MAX + 1];
    let last = space.len() - 1;
    let length = tables::path_of(&table, directory, space.get_mut(..last)?)?.len();
    let path = CStr::from_bytes_with_nul(space.get(last - length..)?).ok()?;
    let flags = flags | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let opened = Own(kernel::open(path, flags).ok()?);
    let of = kernel::fstat(opened.0)?;
    let known = table.directory(directory)?.itself()?.stat()?;
    ((of.st_dev, of.st_ino) == (known.dev, known.ino)).then_some(opened)
}

/// Makes all of them real: before their directories may be moved, or memory is shared with a child.
pub(crate) fn make_all_real() {
    let base = BASE.load(Ordering::Relaxed);
    if base <= 0 {
        return;
    }
    for at in 0..COUNT as c_int {
        make_real(base + at);
    }
}

/// Stops giving out virtual descriptors and makes all present ones real.
pub(crate) fn end() {
    IS_OVER.store(true, Ordering::Relaxed);
    make_all_real();
}

/// Makes the descriptor real that the caller's path names by its number, and all if the path names
/// the list of descriptors. Must be called before the kernel follows the path.
///
/// # Safety
/// `path` is NULL or a C string.
#[inline]
pub(crate) unsafe fn before_path(path: *const c_char) {
    if BASE.load(Ordering::Relaxed) > 0 {
        // SAFETY: as the caller promises.
        before_bytes(unsafe { kernel::bytes(path) }.unwrap_or_default());
    }
}

/// Like [`before_path`], for a path that was read already.
#[inline]
pub(crate) fn before_name(path: &[u8]) {
    if BASE.load(Ordering::Relaxed) > 0 {
        before_bytes(path);
    }
}

/// A link may lead to the list of descriptors, so any component that is a number may name one.
fn before_bytes(path: &[u8]) {
    for name in path.split(|byte| *byte == b'/') {
        // All virtual numbers have three or four digits.
        if (3..=4).contains(&name.len()) && name.iter().all(u8::is_ascii_digit) {
            let digit = |number, digit: &u8| number * 10 + c_int::from(digit - b'0');
            make_real(name.iter().fold(0, digit));
        }
    }
    if names_list(path) {
        make_all_real();
    }
}

/// Returns whether a path may name a process's list of descriptors: `/proc/self/fd`, `fdinfo`
/// beside it, or `/dev/fd`.
pub(crate) fn names_list(path: &[u8]) -> bool {
    let mut path = path;
    while let Some(shorter) = path.strip_suffix(b"/").or_else(|| path.strip_suffix(b"/.")) {
        path = shorter;
    }
    let name = path.strip_suffix(b"info").unwrap_or(path);
    name == b"fd" || name.ends_with(b"/fd")
}

/// Must be called when a directory was opened that may be the list of descriptors. If it is, no
/// virtual descriptors are given out from then on, since the list may be read at any time.
#[cold]
pub(crate) fn list_is_open(fd: c_int) {
    if kernel::file_system(fd) == Some(libc::PROC_SUPER_MAGIC) {
        end();
    }
}

/// Returns all numbers that may be virtual.
pub(crate) fn numbers() -> std::ops::Range<c_int> {
    match BASE.load(Ordering::Relaxed) {
        base if base > 0 => base..base + COUNT as c_int,
        _ => 0..0,
    }
}
