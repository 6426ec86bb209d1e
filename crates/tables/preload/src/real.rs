//! Finds the C library's functions that ours replace.
//!
//! All are looked up when the library is loaded: a lookup takes the loader's lock and memory, which
//! a first call from a signal handler must not. A function called before that is looked up by its
//! call.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

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
    /// Makes an entry that is not looked up yet.
    pub(crate) const fn new(name: &'static CStr) -> Real {
        Real {
            name,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the function's address; null if it does not exist.
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

    /// Returns the address without a lookup: null if it does not exist or was not looked up yet.
    ///
    /// For functions that an allocator may call before the lookup, which may allocate.
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
            // The loader's error message is not meant for the program.
            // SAFETY: the function has no preconditions.
            unsafe { libc::dlerror() };
            self.found.store(nowhere(), Ordering::Relaxed);
        } else {
            self.found.store(found, Ordering::Relaxed);
        }
        found
    }
}

unsafe extern "C" {
    /// The first element of the section `trawl_real`, by the linker's name.
    #[link_name = "__start_trawl_real"]
    static FIRST: *const c_void;
    /// The end of the section.
    #[link_name = "__stop_trawl_real"]
    static END: *const c_void;
}

/// Looks up all functions, when the library is loaded.
pub(crate) fn look_all_up() {
    let (first, end) = (&raw const FIRST, &raw const END);
    let count = (end.addr() - first.addr()) / size_of::<&Real>();
    // SAFETY: the section holds only references to `Real`s, which the linker places one after the
    // other.
    let all = unsafe { std::slice::from_raw_parts(first.cast::<&'static Real>(), count) };
    for real in all {
        real.get();
    }
}

/// Calls the next definition of a C function; evaluates to `$failed`, with `ENOSYS`, if there is
/// none.
macro_rules! real {
    ($name:ident($($argument:expr => $kind:ty),* $(,)?) -> $result:ty, $failed:expr) => {
        $crate::real::real!("C" $name($($argument => $kind),*) -> $result, $failed)
    };
    // For functions that call one of the program's, which may throw an exception.
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
