//! fts(3), which walks directories inside the C library: reimplemented over our functions.
//!
//! Source: <https://man7.org/linux/man-pages/man3/fts.3.html>; glibc 2.36, `io/fts.c`.

mod changes;
mod stream;

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::kernel;
use crate::real::real;
use crate::{place, settings};
use stream::{ALL_OPTIONS, Entry, NOCHDIR, OURS, Order, Stream};

/// Returns whether we handle a walk over these paths.
///
/// # Safety
/// As fts_open(3).
unsafe fn is_for_us(paths: *const *const c_char, options: c_int) -> bool {
    if !settings::is_on() || options & !ALL_OPTIONS != 0 {
        return false;
    }
    let mut at = 0;
    // SAFETY: guaranteed by the caller.
    unsafe {
        while !(*paths.add(at)).is_null() {
            let path = kernel::bytes(*paths.add(at)).unwrap_or_default();
            if path.is_empty() || path.len() > libc::PATH_MAX as usize {
                return false;
            }
            at += 1;
        }
    }
    at > 0
}

/// Returns whether a stream is one of ours.
///
/// # Safety
/// The stream is open, or NULL.
unsafe fn is_ours(stream: *const Stream) -> bool {
    // SAFETY: the C library's streams have the same layout.
    !stream.is_null() && unsafe { (*stream).options & OURS != 0 }
}

/// Returns whether a stream of the C library changes the working directory.
///
/// # Safety
/// The stream is open, or NULL.
unsafe fn does_wander(stream: *const Stream) -> bool {
    // SAFETY: as above.
    !stream.is_null() && unsafe { (*stream).options & NOCHDIR == 0 }
}

macro_rules! walks {
    ($($open:ident $read:ident $children:ident $close:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $open(
            paths: *const *const c_char,
            options: c_int,
            order: Option<Order>,
        ) -> *mut Stream {
            // SAFETY: guaranteed by the caller.
            if unsafe { is_for_us(paths, options) } {
                // SAFETY: as above.
                return unsafe { Stream::open(paths, options, order) };
            }
            let stream = real!(unwind $open(
                paths => *const *const c_char, options => c_int, order => Option<Order>,
            ) -> *mut Stream, ptr::null_mut());
            // SAFETY: guaranteed by the caller.
            if unsafe { does_wander(stream) } {
                place::wandering_begins();
            }
            stream
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $read(stream: *mut Stream) -> *mut Entry {
            // SAFETY: guaranteed by the caller.
            if unsafe { is_ours(stream) } {
                // SAFETY: as above.
                return unsafe { (*stream).read() };
            }
            real!(unwind $read(stream => *mut Stream) -> *mut Entry, ptr::null_mut())
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $children(
            stream: *mut Stream,
            instruction: c_int,
        ) -> *mut Entry {
            // SAFETY: guaranteed by the caller.
            if unsafe { is_ours(stream) } {
                // SAFETY: as above.
                return unsafe { (*stream).children(instruction) };
            }
            real!(unwind $children(
                stream => *mut Stream, instruction => c_int,
            ) -> *mut Entry, ptr::null_mut())
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $close(stream: *mut Stream) -> c_int {
            // SAFETY: guaranteed by the caller.
            if unsafe { is_ours(stream) } {
                // SAFETY: as above.
                return unsafe { Stream::close(stream) };
            }
            // SAFETY: as above.
            let does_wander = unsafe { does_wander(stream) };
            let code = real!(unwind $close(stream => *mut Stream) -> c_int, -1);
            if does_wander {
                place::wandering_ends();
            }
            code
        }
    )*};
}

walks! {
    fts_open fts_read fts_children fts_close
    fts64_open fts64_read fts64_children fts64_close
}
