//! Answers whether extended attributes exist.

use std::ffi::{c_char, c_int, c_void};

use trawl_table::FileKind;

use crate::kernel::{self, set_errno};
use crate::place::look;
use crate::policy::CallQuestion;
use crate::real::real;
use crate::tables::TableAnswer;
use crate::{descriptors, meter, page};

/// Returns the error with which getxattr(2) fails, if it is known; `None` if the kernel must
/// answer.
unsafe fn failure(path: *const c_char, name: *const c_char, is_followed: bool) -> Option<c_int> {
    // SAFETY: the caller's strings.
    let (path, name) = unsafe { (kernel::bytes(path)?, kernel::bytes(name)?) };
    if !trawl_table::ATTRIBUTE_NAMES
        .iter()
        .any(|known| known.as_bytes() == name)
    {
        return None;
    }
    match look(libc::AT_FDCWD, path, CallQuestion::Attributes) {
        TableAnswer::Unknown => None,
        TableAnswer::Absent => Some(libc::ENOENT),
        TableAnswer::NotDirectory => Some(libc::ENOTDIR),
        TableAnswer::Found(found) => {
            let entry = found.entry();
            let stat = entry.stat()?;
            let kind = FileKind::of_mode(stat.mode)?;
            let is_told = match kind {
                FileKind::Link => !is_followed,
                FileKind::Directory => true,
                FileKind::Regular => !page::is_marked(stat.dev, stat.ino),
            };
            if !is_told || !entry.is_bare() {
                return None;
            }
            let errno = found.held().table()?.missing_attribute(kind, name)?;
            found.held().answered();
            Some(errno)
        }
    }
}

macro_rules! gets {
    ($($name:ident, $is_followed:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            path: *const c_char,
            name: *const c_char,
            value: *mut c_void,
            size: usize,
        ) -> isize {
            // SAFETY: the caller's strings.
            if let Some(errno) = unsafe { failure(path, name, $is_followed) } {
                set_errno(errno);
                return -1;
            }
            // SAFETY: as above.
            unsafe { descriptors::before_path(path) };
            meter::timed(|| {
                real!($name(
                    path => *const c_char, name => *const c_char, value => *mut c_void,
                    size => usize,
                ) -> isize, -1)
            })
        }
    )*};
}

gets! {
    getxattr, true;
    lgetxattr, false;
}
