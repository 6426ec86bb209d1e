//! The functions that ours stand in front of.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The next definition of a function behind ours, looked up once.
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
        if !found.is_null() {
            return found;
        }
        self.look_up()
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        // SAFETY: the name ends in NUL; the result is a function of the C library or null.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
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
