//! The functions that ours stand in front of.
//!
//! All are looked up when the library is loaded: that takes the loader's lock and memory, which a
//! first call from a signal handler must not. What is called before that looks itself up.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Stands for a function that was looked up and is not there.
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
    /// Not looked up yet.
    pub(crate) const fn new(name: &'static CStr) -> Real {
        Real {
            name,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Where it is; null if there is none.
    #[inline]
    pub(crate) fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            return self.look_up();
        }
        match found == nowhere() {
            true => ptr::null_mut(),
            false => found,
        }
    }

    /// Where it is, without looking it up: null before all were, and if there is none.
    ///
    /// For functions that an allocator may call before: looking up may allocate.
    pub(crate) fn known(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        match found == nowhere() {
            true => ptr::null_mut(),
            false => found,
        }
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        // SAFETY: the name ends in NUL; the result is a function of the C library or null.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            // What the loader says of it is not for the program.
            // SAFETY: it has no conditions.
            unsafe { libc::dlerror() };
            self.found.store(nowhere(), Ordering::Relaxed);
        } else {
            self.found.store(found, Ordering::Relaxed);
        }
        found
    }
}

unsafe extern "C" {
    /// The first in the section `trawl_real`, as the linker names it.
    #[link_name = "__start_trawl_real"]
    static FIRST: *const c_void;
    /// Behind the last.
    #[link_name = "__stop_trawl_real"]
    static END: *const c_void;
}

/// Looks all up, when the library is loaded.
pub(crate) fn look_all_up() {
    let (first, end) = (&raw const FIRST, &raw const END);
    let count = (end.addr() - first.addr()) / size_of::<&Real>();
    // SAFETY: the section holds references to `Real`s, which the linker puts one after the other,
    // and nothing else.
    let all = unsafe { std::slice::from_raw_parts(first.cast::<&'static Real>(), count) };
    for real in all {
        real.get();
    }
}

/// Calls the next definition of a C function; gives `$failed` with `ENOSYS` where there is none.
macro_rules! real {
    ($name:ident($($argument:expr => $kind:ty),* $(,)?) -> $result:ty, $failed:expr) => {
        $crate::real::real!("C" $name($($argument => $kind),*) -> $result, $failed)
    };
    // Functions that call one of the program's, which may end by an exception.
    (unwind $name:ident($($argument:expr => $kind:ty),* $(,)?) -> $result:ty, $failed:expr) => {
        $crate::real::real!("C-unwind" $name($($argument => $kind),*) -> $result, $failed)
    };
    ($abi:literal $name:ident($($argument:expr => $kind:ty),*) -> $result:ty, $failed:expr) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new(
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
        );
        #[used]
        #[unsafe(link_section = "trawl_real")]
        static TO_BE_LOOKED_UP: &$crate::real::Real = &REAL;
        let found = REAL.get();
        if found.is_null() {
            $crate::kernel::set_errno(libc::ENOSYS);
            $failed
        } else {
            // SAFETY: the C library's function of this name has this type (its manual page); the
            // arguments are the caller's own.
            unsafe {
                let function = std::mem::transmute::<
                    *mut std::ffi::c_void,
                    unsafe extern $abi fn($($kind),*) -> $result,
                >(found);
                function($($argument),*)
            }
        }
    }};
}

pub(crate) use real;
