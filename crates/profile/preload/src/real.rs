//! Finds the C library's functions that ours replace.
//!
//! All are looked up when the library is loaded: a lookup takes the loader's lock, which a first
//! call from a signal handler must not. A function called before that is looked up by its call.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::kernel::{Quiet, set_errno};

/// Its address marks a function that was looked up and does not exist.
static NOWHERE: u8 = 0;

fn nowhere() -> *mut c_void {
    (&raw const NOWHERE).cast_mut().cast()
}

/// The next definition of a function behind ours, looked up once, even if there is none.
pub(crate) struct Real {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Real {
    /// Makes an entry that is not looked up yet. `name` ends in NUL.
    pub(crate) const fn new(name: &'static str) -> Real {
        let name = match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => name,
            Err(_) => c"",
        };
        Real {
            name,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the function's address; null, with `errno` set, if it does not exist.
    #[inline(always)]
    pub(crate) fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        match found.is_null() || found == nowhere() {
            true => self.look_up(),
            false => found,
        }
    }

    /// Looks the function up, if that was not done yet.
    #[cold]
    pub(crate) fn look_up(&self) -> *mut c_void {
        if self.found.load(Ordering::Relaxed) != nowhere() {
            let _quiet = Quiet::new();
            // SAFETY: the name ends in NUL; the result is a function of the C library or null.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            if !found.is_null() {
                self.found.store(found, Ordering::Relaxed);
                return found;
            }
            // The loader's error message is not meant for the program.
            // SAFETY: the function has no preconditions.
            unsafe { libc::dlerror() };
            self.found.store(nowhere(), Ordering::Relaxed);
        }
        set_errno(libc::ENOSYS);
        ptr::null_mut()
    }
}

/// The result of a function that the C library does not have.
pub(crate) trait Missing {
    /// Its value.
    const MISSING: Self;
}

macro_rules! missing {
    ($($kind:ty: $value:expr;)*) => {$(
        impl Missing for $kind {
            const MISSING: $kind = $value;
        }
    )*};
}

missing! {
    (): ();
    c_int: -1;
    isize: -1;
    i64: -1;
    // fread(3) and fwrite(3) return how many items they have processed.
    usize: 0;
    Mapped: Mapped(libc::MAP_FAILED);
    ErrorNumber: ErrorNumber(libc::ENOSYS);
}

impl<T> Missing for *mut T {
    const MISSING: *mut T = ptr::null_mut();
}

/// The result of mmap(2), whose failure is not a null pointer.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Mapped(#[allow(dead_code, reason = "the program uses it")] *mut c_void);

/// The result of functions that return an error number.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct ErrorNumber(#[allow(dead_code, reason = "the program uses it")] c_int);
