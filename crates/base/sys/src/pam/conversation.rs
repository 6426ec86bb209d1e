//! Answers what PAM's modules ask.
//!
//! Source: <https://man7.org/linux/man-pages/man3/pam_conv.3.html>

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use super::{BUF_ERR, CONV_ERR, SUCCESS};

/// `PAM_PROMPT_ECHO_OFF`: asks for a secret.
pub(super) const ECHO_OFF: c_int = 1;
/// `PAM_PROMPT_ECHO_ON`: asks for a name.
pub(super) const ECHO_ON: c_int = 2;
/// `PAM_ERROR_MSG`.
pub(super) const ERROR_MESSAGE: c_int = 3;
/// `PAM_TEXT_INFO`.
pub(super) const INFORMATION: c_int = 4;
/// `PAM_MAX_NUM_MSG`.
const MAX_MESSAGES: usize = 32;

/// `struct pam_message`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Message {
    pub(super) style: c_int,
    pub(super) text: *const c_char,
}

/// `struct pam_response`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Response {
    pub(super) text: *mut c_char,
    code: c_int,
}

/// `struct pam_conv`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Conversation {
    converse:
        unsafe extern "C" fn(c_int, *mut *const Message, *mut *mut Response, *mut c_void) -> c_int,
    parties: *mut c_void,
}

impl Conversation {
    /// Returns the structure for PAM. It must not be used after `parties` has ended.
    pub(super) fn with(parties: &mut Parties) -> Conversation {
        Conversation {
            converse,
            parties: (&raw mut *parties).cast(),
        }
    }
}

/// A NUL-terminated text that is wiped when it is no longer needed.
pub(super) struct Secret(Vec<u8>);

impl Secret {
    /// Copies a text; `None` if it contains a NUL byte.
    pub(super) fn of(text: &str) -> Option<Secret> {
        if text.bytes().any(|byte| byte == 0) {
            return None;
        }
        // Of the final size, since growing would leave a copy behind.
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        Some(Secret(bytes))
    }

    fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        // SAFETY: the bytes are ours. The compiler does not leave out this call.
        unsafe { libc::explicit_bzero(self.0.as_mut_ptr().cast(), self.0.len()) };
    }
}

/// What there is to answer.
pub(super) struct Parties {
    user: CString,
    /// Until it has been given.
    password: Option<Secret>,
}

impl Parties {
    pub(super) fn new(user: CString, password: Secret) -> Parties {
        Parties {
            user,
            password: Some(password),
        }
    }

    pub(super) fn user(&self) -> &CStr {
        &self.user
    }

    /// Returns the answer to a message, in memory that `free` releases; null for none. Fails if there
    /// is no answer, as for a second secret.
    fn answer(&mut self, style: c_int) -> Result<*mut c_char, c_int> {
        let copied = match style {
            ECHO_OFF => {
                let password = self.password.take().ok_or(CONV_ERR)?;
                copy(password.text())
            }
            ECHO_ON => copy(&self.user),
            ERROR_MESSAGE | INFORMATION => return Ok(std::ptr::null_mut()),
            _ => return Err(CONV_ERR),
        };
        match copied.is_null() {
            true => Err(BUF_ERR),
            false => Ok(copied),
        }
    }
}

fn copy(text: &CStr) -> *mut c_char {
    // SAFETY: the text is NUL-terminated.
    unsafe { libc::strdup(text.as_ptr()) }
}

/// Answers some messages of a module.
///
/// # Safety
/// `messages` is an array of `count` pointers to messages, `responses` is valid for a write, and
/// `parties` is the [`Parties`] of the transaction, which nothing else uses meanwhile.
pub(super) unsafe extern "C" fn converse(
    count: c_int,
    messages: *mut *const Message,
    responses: *mut *mut Response,
    parties: *mut c_void,
) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 || count > MAX_MESSAGES || messages.is_null() || responses.is_null() {
        return CONV_ERR;
    }
    // SAFETY: the caller passes what PAM was given.
    let Some(parties) = (unsafe { parties.cast::<Parties>().as_mut() }) else {
        return CONV_ERR;
    };
    // SAFETY: the call has no conditions. All zeroes are responses without text.
    let array = unsafe { libc::calloc(count, size_of::<Response>()) }.cast::<Response>();
    if array.is_null() {
        return BUF_ERR;
    }
    for at in 0..count {
        // SAFETY: `at` is an index of both arrays.
        let (message, response) = unsafe { ((*messages.add(at)).as_ref(), array.add(at)) };
        let style = message.map_or(0, |message| message.style);
        match parties.answer(style) {
            // SAFETY: as above.
            Ok(text) => unsafe { (*response).text = text },
            Err(status) => {
                // SAFETY: the array is ours, and has `count` responses.
                unsafe { release(array, count) };
                return status;
            }
        }
    }
    // SAFETY: the pointer is valid for a write.
    unsafe { *responses = array };
    SUCCESS
}

/// Wipes and frees responses.
///
/// # Safety
/// `array` is an array of `count` responses, both from the C library's memory.
pub(super) unsafe fn release(array: *mut Response, count: usize) {
    for at in 0..count {
        // SAFETY: `at` is an index of the array; a text is NUL-terminated, or null.
        unsafe {
            let text = (*array.add(at)).text;
            if !text.is_null() {
                libc::explicit_bzero(text.cast(), libc::strlen(text));
                libc::free(text.cast());
            }
        }
    }
    // SAFETY: nothing uses the array afterwards.
    unsafe { libc::free(array.cast()) };
}
