//! The preload library as programs have it: what they print and do is compared with what they do
//! without it, and with what they have just changed.

mod counts;
mod exec;
mod missing;
mod own_writes;
mod sanitized;
mod site;
mod torture;
mod transparent;

/// The library's own: its test programs have none of its functions, which have the C library's
/// names.
#[allow(dead_code, reason = "only a part is used")]
#[path = "../../src/real.rs"]
mod real;

/// What that needs.
mod kernel {
    pub(crate) fn set_errno(errno: std::ffi::c_int) {
        // SAFETY: the location is the thread's own, and valid as long as it runs.
        unsafe { *libc::__errno_location() = errno };
    }
}
