//! The C library's functions that ours stand in front of, by what they are about.

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
    /// To be called before the kernel follows it, if it is a path.
    ///
    /// # Safety
    /// NULL or a string, if it is a pointer to constant characters.
    unsafe fn is_followed(self) {}
}

/// Arguments that are no path. Characters that may be changed are room for an answer.
macro_rules! others {
    ($($kind:ty)*) => {$(impl Argument for $kind {})*};
}

others! {
    i32 u32 i64 u64 usize
    *const c_void *mut c_void *mut c_char *mut c_int
}

impl Argument for *const c_char {
    unsafe fn is_followed(self) {
        // SAFETY: as the caller promises.
        unsafe { descriptors::before_path(self) };
    }
}
