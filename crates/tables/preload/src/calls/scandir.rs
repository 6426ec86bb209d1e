//! scandir(3), which reads directories inside the C library: reimplemented over our streams.
//!
//! Source: glibc 2.36, `dirent/scandir-tail-common.c`.

use std::ffi::{c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr;

use crate::kernel::{self, set_errno};
use crate::real::real;
use crate::{descriptors, settings};

unsafe extern "C" {
    fn opendir(path: *const c_char) -> *mut libc::DIR;
    fn openat(directory: c_int, path: *const c_char, flags: c_int, ...) -> c_int;
    fn fdopendir(fd: c_int) -> *mut libc::DIR;
    fn readdir(stream: *mut libc::DIR) -> *mut libc::dirent64;
    fn closedir(stream: *mut libc::DIR) -> c_int;
}

unsafe extern "C-unwind" {
    fn qsort(at: *mut c_void, count: usize, size: usize, order: Option<Order>);
}

type Entry = *mut libc::dirent64;
/// The caller's functions may throw C++ exceptions.
type Filter = unsafe extern "C-unwind" fn(*const libc::dirent64) -> c_int;
type Order = unsafe extern "C-unwind" fn(*const c_void, *const c_void) -> c_int;

/// A scan in progress. Dropping it closes the stream and frees the entries, unless they were given
/// to the caller.
struct Scan {
    stream: *mut libc::DIR,
    entries: *mut Entry,
    count: usize,
    room: usize,
}

impl Drop for Scan {
    fn drop(&mut self) {
        let errno = kernel::errno();
        // SAFETY: the stream is open and ours; the entries and their array were allocated here.
        unsafe {
            closedir(self.stream);
            for at in 0..self.count {
                libc::free((*self.entries.add(at)).cast());
            }
            libc::free(self.entries.cast());
        }
        set_errno(errno);
    }
}

impl Scan {
    /// Stores a copy of an entry; `None` if memory runs out.
    unsafe fn keep(&mut self, entry: Entry) -> Option<()> {
        if self.count == self.room {
            let room = (self.room * 2).max(10);
            let bytes = room.checked_mul(size_of::<Entry>())?;
            // SAFETY: allocated here, or NULL.
            let entries: *mut Entry = unsafe { libc::realloc(self.entries.cast(), bytes) }.cast();
            if entries.is_null() {
                return None;
            }
            (self.entries, self.room) = (entries, room);
        }
        // SAFETY: readdir(3) has written that many bytes; there is room for one more entry.
        unsafe {
            let bytes = usize::from((*entry).d_reclen);
            let copy = libc::malloc(bytes);
            if copy.is_null() {
                return None;
            }
            ptr::copy_nonoverlapping(entry.cast::<u8>(), copy.cast::<u8>(), bytes);
            self.entries.add(self.count).write(copy.cast());
        }
        self.count += 1;
        Some(())
    }
}

/// Reads a stream to its end.
///
/// # Safety
/// As scandir(3); the stream is open, or NULL.
unsafe fn scan(
    stream: *mut libc::DIR,
    into: *mut *mut Entry,
    filter: Option<Filter>,
    order: Option<Order>,
) -> c_int {
    if stream.is_null() {
        return -1;
    }
    let before = kernel::errno();
    // Nothing may be dropped where an exception of the caller's functions passes: this library may
    // have an unwinder of its own, which must not interfere. The stream then stays open.
    let mut scan = ManuallyDrop::new(Scan {
        stream,
        entries: ptr::null_mut(),
        count: 0,
        room: 0,
    });
    set_errno(0);
    // SAFETY: the stream is open; the caller's functions are called as it specified.
    unsafe {
        loop {
            let entry = readdir(stream);
            if entry.is_null() {
                break;
            }
            let is_wanted = filter.is_none_or(|filter| filter(entry) != 0);
            // The filter may have set it.
            set_errno(0);
            if is_wanted && scan.keep(entry).is_none() {
                set_errno(libc::ENOMEM);
                break;
            }
        }
        if kernel::errno() != 0 {
            drop(ManuallyDrop::into_inner(scan));
            return -1;
        }
        if order.is_some() && scan.count > 0 {
            qsort(scan.entries.cast(), scan.count, size_of::<Entry>(), order);
        }
        into.write(scan.entries);
    }
    let count = scan.count;
    (scan.entries, scan.count) = (ptr::null_mut(), 0);
    drop(ManuallyDrop::into_inner(scan));
    set_errno(before);
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

macro_rules! scans {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            path: *const c_char,
            into: *mut *mut Entry,
            filter: Option<Filter>,
            order: Option<Order>,
        ) -> c_int {
            if !settings::is_on() {
                return real!(unwind $name(
                    path => *const c_char, into => *mut *mut Entry,
                    filter => Option<Filter>, order => Option<Order>,
                ) -> c_int, -1);
            }
            // SAFETY: guaranteed by the caller.
            unsafe { scan(opendir(path), into, filter, order) }
        }
    )*};
}

scans!(scandir scandir64);

macro_rules! scans_at {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            directory: c_int,
            path: *const c_char,
            into: *mut *mut Entry,
            filter: Option<Filter>,
            order: Option<Order>,
        ) -> c_int {
            if !settings::is_on() {
                descriptors::make_real(directory);
                return real!(unwind $name(
                    directory => c_int, path => *const c_char, into => *mut *mut Entry,
                    filter => Option<Filter>, order => Option<Order>,
                ) -> c_int, -1);
            }
            let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_DIRECTORY | libc::O_CLOEXEC;
            // SAFETY: guaranteed by the caller.
            unsafe {
                let fd = openat(directory, path, flags);
                if fd < 0 {
                    return -1;
                }
                let stream = fdopendir(fd);
                if stream.is_null() {
                    let errno = kernel::errno();
                    descriptors::close(fd);
                    set_errno(errno);
                }
                scan(stream, into, filter, order)
            }
        }
    )*};
}

scans_at!(scandirat scandirat64);
