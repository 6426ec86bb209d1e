//! The C library's functions that ours replace, by topic.

mod attributes;
mod change;
mod exec;
mod fts;
mod ftw;
mod glob;
mod identity;
mod open;
mod pass;
mod scandir;
mod several;
mod spawn;
mod stat;
mod wait;
mod wander;

use std::ffi::{c_char, c_int, c_void};

use crate::descriptors;

/// An argument of a function that is passed on.
trait Argument: Copy {
    /// Makes descriptors real before the kernel follows the argument, if it is a path.
    ///
    /// # Safety
    /// A pointer to constant characters is NULL or a C string.
    unsafe fn is_followed(self) {}
}

/// Arguments that are not paths. Pointers to mutable characters are buffers for results.
macro_rules! others {
    ($($kind:ty)*) => {$(impl Argument for $kind {})*};
}

others! {
    i32 u32 i64 u64 usize
    *const c_void *mut c_void *mut c_char *mut c_int
}

impl Argument for *const c_char {
    unsafe fn is_followed(self) {
        // SAFETY: guaranteed by the caller.
        unsafe { descriptors::before_path(self) };
    }
}
