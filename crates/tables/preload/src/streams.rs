//! Directory streams over tables.
//!
//! With a table, `opendir` returns a stream that is not the C library's. So every function that
//! takes a stream is replaced; the C library's streams are recognized by their first bytes and
//! passed on. A stream reads its first table to the end, as a stream of the C library reads what
//! existed when its buffer was filled; `rewinddir` looks again.

use std::ffi::c_int;
use std::ptr;

use trawl_table::Directory;

use crate::descriptors;
use crate::kernel::{self, set_errno};
use crate::real::real;
use crate::tables::TableRef;

/// No stream of the C library begins with these bytes: it begins with a descriptor, a small number.
const MAGIC: u64 = 0xd1e5_7ab1_e57e_a111;

/// A directory stream over a table.
#[repr(C)]
pub(crate) struct Stream {
    magic: u64,
    /// The bitwise complement of the stream's address.
    check: u64,
    held: u32,
    directory: u32,
    at: u32,
    /// A virtual or real descriptor; -1 if there is none.
    fd: c_int,
    /// The stream that is read instead, once the table was too old to be read again.
    real: *mut libc::DIR,
    entry: libc::dirent64,
}

/// Makes a stream. It takes over the descriptor, if one is given.
pub(crate) fn open(held: &TableRef, directory: u32, fd: Option<c_int>) -> *mut libc::DIR {
    // SAFETY: `calloc` accepts any size.
    let at: *mut Stream = unsafe { libc::calloc(1, size_of::<Stream>()) }.cast();
    if at.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: all zeros are a valid stream; no other code has it until it is returned.
    let stream = unsafe { &mut *at };
    stream.magic = MAGIC;
    stream.check = !(at as u64);
    stream.held = held.again().into_number();
    stream.directory = directory;
    stream.fd = fd.unwrap_or(-1);
    held.answered_many(stream.listing().map_or(0, |listing| listing.len()));
    at.cast()
}

/// Returns our stream behind this pointer; `None` for a stream of the C library.
///
/// # Safety
/// `stream` is NULL, or an open directory stream that only this thread uses, as POSIX requires.
unsafe fn ours<'a>(stream: *mut libc::DIR) -> Option<&'a mut Stream> {
    let at: *mut Stream = stream.cast();
    if at.is_null() {
        return None;
    }
    // SAFETY: every stream has at least these sixteen bytes: the C library's begins with four
    // numbers of four bytes.
    let is_ours = unsafe {
        (&raw const (*at).magic).read() == MAGIC && (&raw const (*at).check).read() == !(at as u64)
    };
    // SAFETY: `open` made it, and the caller guarantees that nobody else uses it.
    is_ours.then(|| unsafe { &mut *at })
}

/// Returns whether a stream reads a table that may no longer be believed.
///
/// # Safety
/// `stream` is an open directory stream that only this thread uses.
pub(crate) unsafe fn is_old(stream: *mut libc::DIR) -> bool {
    // SAFETY: guaranteed by the caller.
    let read = unsafe { ours(stream) }.filter(|stream| stream.real.is_null());
    read.is_some_and(|stream| {
        !std::mem::ManuallyDrop::new(TableRef::of_number(stream.held)).is_fresh()
    })
}

impl Stream {
    fn listing(&self) -> Option<Directory<'static>> {
        let held = std::mem::ManuallyDrop::new(TableRef::of_number(self.held));
        held.table()?.directory(self.directory)
    }

    /// Returns the next entry; null at the end.
    fn next(&mut self) -> *mut libc::dirent64 {
        let Some(entry) = self.listing().and_then(|listing| listing.entry(self.at)) else {
            return ptr::null_mut();
        };
        let name = entry.name();
        let to = &mut self.entry;
        let length = name.len().min(to.d_name.len() - 1);
        for (to, from) in to.d_name.iter_mut().zip(name) {
            *to = *from as libc::c_char;
        }
        to.d_name[length] = 0;
        to.d_ino = entry.ino();
        to.d_type = entry.kind();
        // As the kernel computes it: up to the NUL, then rounded up to a multiple of eight.
        to.d_reclen = (19 + length + 1).next_multiple_of(8) as u16;
        self.at += 1;
        to.d_off = i64::from(self.at);
        to
    }

    /// Returns a descriptor for the stream, virtual if possible.
    fn descriptor(&mut self) -> c_int {
        if self.fd >= 0 {
            return self.fd;
        }
        let held = std::mem::ManuallyDrop::new(TableRef::of_number(self.held));
        let least = 0;
        if let Some(fd) = descriptors::new(&held, self.directory, libc::O_RDONLY, least) {
            self.fd = fd;
        } else if let Some(opened) = descriptors::open_again(&held, self.directory, libc::O_RDONLY)
        {
            self.fd = opened.0;
            std::mem::forget(opened);
        } else {
            set_errno(libc::EINVAL);
        }
        self.fd
    }

    /// Begins again, with the present content.
    fn rewind(&mut self) {
        let held = std::mem::ManuallyDrop::new(TableRef::of_number(self.held));
        self.at = 0;
        if held.is_fresh() {
            return;
        }
        let fd = self.descriptor();
        descriptors::make_real(fd);
        if fd >= 0 && !descriptors::is_virtual(fd) {
            self.real = real!(fdopendir(fd => c_int) -> *mut libc::DIR, ptr::null_mut());
        }
        if !self.real.is_null() {
            real!(rewinddir(self.real => *mut libc::DIR) -> (), ());
        }
    }

    fn close(&mut self) -> c_int {
        drop(TableRef::of_number(self.held));
        if !self.real.is_null() {
            return real!(closedir(self.real => *mut libc::DIR) -> c_int, -1);
        }
        match self.fd {
            fd if fd >= 0 => descriptors::close(fd),
            _ => 0,
        }
    }
}

/// Applies a function to a stream: `$ours` for one of ours that reads a table, `$theirs` for one of
/// the C library's.
macro_rules! either {
    ($stream:ident, $ours:ident => $body:expr, $theirs:ident => $passed:expr) => {{
        // SAFETY: the caller's stream is open and no other thread uses it.
        match unsafe { ours($stream) } {
            Some($ours) if $ours.real.is_null() => $body,
            Some($ours) => {
                let $theirs = $ours.real;
                $passed
            }
            None => {
                let $theirs = $stream;
                $passed
            }
        }
    }};
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readdir(stream: *mut libc::DIR) -> *mut libc::dirent64 {
    either!(stream, ours => ours.next(),
        theirs => real!(readdir(theirs => *mut libc::DIR) -> *mut libc::dirent64, ptr::null_mut()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readdir64(stream: *mut libc::DIR) -> *mut libc::dirent64 {
    either!(stream, ours => ours.next(),
        theirs => real!(readdir64(theirs => *mut libc::DIR) -> *mut libc::dirent64, ptr::null_mut()))
}

/// Copies the next entry into the caller's buffer.
///
/// # Safety
/// As readdir_r(3).
unsafe fn read_into(
    ours: &mut Stream,
    into: *mut libc::dirent64,
    result: *mut *mut libc::dirent64,
) -> c_int {
    let next = ours.next();
    // SAFETY: the caller's entry has room for the longest name, `result` for a pointer.
    unsafe {
        match next.is_null() {
            true => *result = ptr::null_mut(),
            false => {
                ptr::copy_nonoverlapping(
                    next.cast::<u8>(),
                    into.cast::<u8>(),
                    usize::from((*next).d_reclen).min(size_of::<libc::dirent64>()),
                );
                *result = into;
            }
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readdir_r(
    stream: *mut libc::DIR,
    into: *mut libc::dirent64,
    result: *mut *mut libc::dirent64,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    either!(stream, ours => unsafe { read_into(ours, into, result) },
        theirs => real!(readdir_r(
            theirs => *mut libc::DIR,
            into => *mut libc::dirent64,
            result => *mut *mut libc::dirent64,
        ) -> c_int, libc::ENOSYS))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readdir64_r(
    stream: *mut libc::DIR,
    into: *mut libc::dirent64,
    result: *mut *mut libc::dirent64,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    either!(stream, ours => unsafe { read_into(ours, into, result) },
        theirs => real!(readdir64_r(
            theirs => *mut libc::DIR,
            into => *mut libc::dirent64,
            result => *mut *mut libc::dirent64,
        ) -> c_int, libc::ENOSYS))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rewinddir(stream: *mut libc::DIR) {
    either!(stream, ours => ours.rewind(),
        theirs => real!(rewinddir(theirs => *mut libc::DIR) -> (), ()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn telldir(stream: *mut libc::DIR) -> libc::c_long {
    either!(stream, ours => libc::c_long::from(ours.at),
        theirs => real!(telldir(theirs => *mut libc::DIR) -> libc::c_long, -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn seekdir(stream: *mut libc::DIR, at: libc::c_long) {
    either!(stream, ours => ours.at = u32::try_from(at).unwrap_or(u32::MAX),
        theirs => real!(seekdir(theirs => *mut libc::DIR, at => libc::c_long) -> (), ()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dirfd(stream: *mut libc::DIR) -> c_int {
    either!(stream, ours => ours.descriptor(),
        theirs => real!(dirfd(theirs => *mut libc::DIR) -> c_int, -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn closedir(stream: *mut libc::DIR) -> c_int {
    // SAFETY: the caller's stream is open and is not used afterwards.
    let Some(ours) = (unsafe { ours(stream) }) else {
        return real!(closedir(stream => *mut libc::DIR) -> c_int, -1);
    };
    let code = ours.close();
    let errno = kernel::errno();
    ours.magic = 0;
    // SAFETY: `open` allocated it, and nobody uses it any more.
    unsafe { libc::free(stream.cast()) };
    set_errno(errno);
    code
}
