//! The functions of libpam, found at run time.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use super::PamError;
use super::conversation::Conversation;

type Start = unsafe extern "C" fn(
    service: *const c_char,
    user: *const c_char,
    conversation: *const Conversation,
    handle: *mut *mut c_void,
) -> c_int;
type StartConfdir = unsafe extern "C" fn(
    service: *const c_char,
    user: *const c_char,
    conversation: *const Conversation,
    directory: *const c_char,
    handle: *mut *mut c_void,
) -> c_int;
/// `pam_authenticate`, `pam_acct_mgmt` (flags) and `pam_end` (status).
type WithNumber = unsafe extern "C" fn(handle: *mut c_void, number: c_int) -> c_int;
type SetItem = unsafe extern "C" fn(*mut c_void, item: c_int, value: *const c_void) -> c_int;
type GetItem = unsafe extern "C" fn(*const c_void, item: c_int, value: *mut *const c_void) -> c_int;
type StrError = unsafe extern "C" fn(handle: *mut c_void, status: c_int) -> *const c_char;

/// The functions, with the types of `pam_appl.h`.
#[derive(Debug)]
pub(super) struct Library {
    pub(super) start: Start,
    /// Since Linux-PAM 1.4.
    pub(super) start_confdir: Option<StartConfdir>,
    pub(super) set_item: SetItem,
    pub(super) get_item: GetItem,
    pub(super) authenticate: WithNumber,
    pub(super) acct_mgmt: WithNumber,
    pub(super) end: WithNumber,
    pub(super) strerror: StrError,
}

/// Returns the system's library, which is loaded once and stays.
pub(super) fn library() -> Result<&'static Library, PamError> {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    // A failure is not remembered: the library may be installed later.
    let library = load(c"libpam.so.0")?;
    Ok(LIBRARY.get_or_init(|| library))
}

/// Loads a library of this name. It stays loaded, since its modules may have started threads.
///
/// Source: <https://man7.org/linux/man-pages/man3/dlopen.3.html>
pub(super) fn load(name: &CStr) -> Result<Library, PamError> {
    // SAFETY: the name is NUL-terminated. The library is the system's, and its initialisation has
    // no conditions.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(PamError::Missing { why: message() });
    }
    // SAFETY: each type is that of the function's declaration in `pam_appl.h`.
    unsafe {
        Ok(Library {
            start: function(handle, "pam_start", c"pam_start")?,
            start_confdir: function(handle, "pam_start_confdir", c"pam_start_confdir").ok(),
            set_item: function(handle, "pam_set_item", c"pam_set_item")?,
            get_item: function(handle, "pam_get_item", c"pam_get_item")?,
            authenticate: function(handle, "pam_authenticate", c"pam_authenticate")?,
            acct_mgmt: function(handle, "pam_acct_mgmt", c"pam_acct_mgmt")?,
            end: function(handle, "pam_end", c"pam_end")?,
            strerror: function(handle, "pam_strerror", c"pam_strerror")?,
        })
    }
}

/// Returns a function of a library.
///
/// # Safety
/// `F` is a type of function pointers, and that of the function with this name.
unsafe fn function<F: Copy>(
    handle: *mut c_void,
    function: &'static str,
    symbol: &CStr,
) -> Result<F, PamError> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the handle is that of a loaded library, and the name is NUL-terminated.
    let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
    match found.is_null() {
        true => Err(PamError::TooOld { function }),
        // SAFETY: the sizes are equal, and the caller states that the types are.
        false => Ok(unsafe { std::mem::transmute_copy(&found) }),
    }
}

/// Returns the dynamic loader's message about the last failure of this thread.
fn message() -> String {
    // SAFETY: the call has no conditions.
    let text = unsafe { libc::dlerror() };
    match text.is_null() {
        true => "no reason is known".to_owned(),
        // SAFETY: the text is valid until the next call of the loader by this thread.
        false => unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    }
}
