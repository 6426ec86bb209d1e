//! Errors in the form that C reads: a number in `errno`, and a text on request.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt::Display;

use trawl_call::CallError;
use trawl_open::{AskError, errno as numbers};
use trawl_sets::SetError;
use trawl_sys::SysError;

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) errno: c_int,
    pub(crate) text: CString,
}

impl Failure {
    pub(crate) fn new(errno: c_int, text: impl Display) -> Failure {
        let text = text.to_string().replace('\0', "\\0");
        Failure {
            errno,
            text: CString::new(text).unwrap_or_default(),
        }
    }

    pub(crate) fn invalid(text: impl Display) -> Failure {
        Failure::new(libc::EINVAL, text)
    }

    /// A buffer that is too short for a cookie of this many bytes.
    pub(crate) fn no_room(needed_bytes: usize) -> Failure {
        let text = format!("the cookie needs {needed_bytes} bytes of room");
        Failure::new(libc::ERANGE, text)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Failure {
        Failure::new(numbers::of_call(&error), error)
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        Failure::new(numbers::of_ask(&error), error)
    }
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Failure {
        let errno = match &error {
            SetError::Name { .. } => libc::EINVAL,
            SetError::Thread(source) => source.raw_os_error().unwrap_or(libc::EAGAIN),
            SetError::Cancelled => libc::ECANCELED,
            _ => libc::EIO,
        };
        Failure::new(errno, error)
    }
}

impl From<SysError> for Failure {
    fn from(error: SysError) -> Failure {
        Failure::new(error.errno.0, error)
    }
}

/// Returns this thread's `errno`.
pub(crate) fn errno() -> c_int {
    // SAFETY: the C library returns a pointer that is valid as long as the thread.
    unsafe { *libc::__errno_location() }
}

/// Sets this thread's `errno`.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: as above, and no other thread writes to it.
    unsafe { *libc::__errno_location() = errno }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps the text of a failure without a handle, until the thread's next such failure.
pub(crate) fn keep(text: CString) {
    let _ = LAST.try_with(|last| last.replace(text));
}

/// Returns the text that was kept last.
pub(crate) fn kept() -> *const c_char {
    let text = LAST.try_with(|last| last.borrow().as_ptr());
    text.unwrap_or(c"the thread is ending".as_ptr())
}

/// Text for a handle after a panic.
pub(crate) const BROKEN: &CStr = c"the library failed in this search: close it";
/// Text for a handle that another thread is using.
pub(crate) const BUSY: &CStr = c"another thread is using this search";
/// Text for a wait that a signal ended.
pub(crate) const INTERRUPTED: &CStr = c"a signal interrupted the wait: call again to continue";
/// Text for a handle that belongs to another process.
pub(crate) const FOREIGN: &CStr =
    c"this search belongs to the process that this one was forked from";
