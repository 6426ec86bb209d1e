//! Tests the preload library with programs: their output and effects are compared with those
//! without the library, and with the changes just made.

mod counts;
mod exec;
mod missing;
mod own_writes;
mod sanitized;
mod site;
mod torture;
mod transparent;

/// The library's own module. The test program must not link the library, whose functions have the C
/// library's names.
#[allow(dead_code, reason = "only a part is used")]
#[path = "../../src/real.rs"]
mod real;

/// The part of `kernel` that the module needs.
mod kernel {
    pub(crate) fn set_errno(errno: std::ffi::c_int) {
        // SAFETY: the location belongs to this thread and is valid as long as the thread runs.
        unsafe { *libc::__errno_location() = errno };
    }
}
