//! Checks a password as the system does, through PAM: files, LDAP, Kerberos, SSSD or what else its
//! configuration names.
//!
//! The library is loaded when it is first needed, so that programs start, and are built, without it.
//! Its modules run in this process, may read files that only the superuser can read, may start
//! programs, and wait after a wrong password: call [`authenticate`] in a process or thread of its
//! own.
//!
//! Invariants: the password is given once, to the module that asks for it without echo; copies of it
//! are wiped; an empty password is wrong (some directories take it for a login without a name); the
//! result is the user that PAM ended with, which may not be the one that was given.

mod conversation;
mod library;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use conversation::{Conversation, Parties, Secret};
use library::{Library, library};

/// An attempt to log in.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// Name of the service: the file of that name in `/etc/pam.d` says how it authenticates.
    pub service: &'a str,
    /// Name of the user, as given.
    pub user: &'a str,
    /// The password.
    pub password: &'a str,
    /// Address of the client, for modules that record or limit it.
    pub remote_host: Option<&'a str>,
    /// Directory of services' files instead of `/etc/pam.d`, for tests; needs Linux-PAM 1.4.
    pub configuration: Option<&'a Path>,
}

impl fmt::Debug for Login<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("service", &self.service)
            .field("user", &self.user)
            .field("remote_host", &self.remote_host)
            .field("configuration", &self.configuration)
            .finish_non_exhaustive()
    }
}

/// Why a user is not let in. Only [`PamError::Wrong`] and [`PamError::Account`] are about the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PamError {
    /// The user does not exist or the password is wrong.
    #[error("the user name or the password is wrong")]
    Wrong,
    /// The password is right, but the account may not log in: it is locked or has expired, or its
    /// password must be changed first.
    #[error("the account may not log in: {why}")]
    Account {
        /// PAM's description.
        why: String,
    },
    /// The library cannot be loaded.
    #[error("cannot load libpam.so.0: {why}; install the package libpam0g or pam")]
    Missing {
        /// The dynamic loader's message.
        why: String,
    },
    /// The library lacks a function.
    #[error("libpam.so.0 has no function {function}: it is too old")]
    TooOld {
        /// The function.
        function: &'static str,
    },
    /// PAM is configured wrongly, or a part of the system does not work.
    #[error("{function} for the service {service}: {why}; check /etc/pam.d/{service} and the log")]
    System {
        /// The function that failed.
        function: &'static str,
        /// The service.
        service: String,
        /// PAM's description.
        why: String,
    },
}

// Results of PAM's functions, `_pam_types.h`.
const SUCCESS: c_int = 0;
const BUF_ERR: c_int = 5;
const PERM_DENIED: c_int = 6;
const AUTH_ERR: c_int = 7;
const USER_UNKNOWN: c_int = 10;
const MAXTRIES: c_int = 11;
const NEW_AUTHTOK_REQD: c_int = 12;
const ACCT_EXPIRED: c_int = 13;
const CRED_EXPIRED: c_int = 16;
const CONV_ERR: c_int = 19;
const AUTHTOK_EXPIRED: c_int = 27;
// Items.
const ITEM_USER: c_int = 2;
const ITEM_RHOST: c_int = 4;
/// Flag: an account without a password is nobody's.
const DISALLOW_NULL_AUTHTOK: c_int = 1;
/// `PAM_MAX_RESP_SIZE`, with the byte that ends the text.
const MAX_RESPONSE_BYTES: usize = 512;

/// Checks a user's password and whether the account may log in now. Returns the name of the user
/// that PAM ended with. Blocks, for seconds after a wrong password.
///
/// Source: <https://man7.org/linux/man-pages/man3/pam_authenticate.3.html>,
/// <https://man7.org/linux/man-pages/man3/pam_acct_mgmt.3.html>
///
/// # Errors
/// Fails if the user is not let in, see [`PamError`].
pub fn authenticate(login: Login<'_>) -> Result<String, PamError> {
    let library = library()?;
    // A text that PAM cannot be given is not the name or the password of any user.
    let fits = |text: &str| !text.is_empty() && text.len() < MAX_RESPONSE_BYTES;
    if !fits(login.user) || !fits(login.password) {
        return Err(PamError::Wrong);
    }
    let user = CString::new(login.user).map_err(|_| PamError::Wrong)?;
    let password = Secret::of(login.password).ok_or(PamError::Wrong)?;
    let mut parties = Parties::new(user, password);
    let mut transaction = Transaction::start(library, login, &mut parties)?;
    transaction.authenticate()?;
    transaction.user()
}

/// Something between `pam_start` and `pam_end`.
struct Transaction<'a> {
    library: &'static Library,
    login: Login<'a>,
    handle: *mut c_void,
    /// Result of the last function, which `pam_end` passes to modules.
    status: c_int,
}

impl<'a> Transaction<'a> {
    fn start(
        library: &'static Library,
        login: Login<'a>,
        parties: &'a mut Parties,
    ) -> Result<Transaction<'a>, PamError> {
        let service = text(login, "pam_start", login.service.as_bytes())?;
        let user = parties.user().as_ptr();
        let conversation = Conversation::with(parties);
        let mut handle = ptr::null_mut();
        let status = match login.configuration {
            None => {
                // SAFETY: the texts are NUL-terminated; the library copies them and
                // `conversation`, whose data, `parties`, outlives the transaction.
                unsafe { (library.start)(service.as_ptr(), user, &conversation, &raw mut handle) }
            }
            Some(path) => {
                let start = library.start_confdir.ok_or(PamError::TooOld {
                    function: "pam_start_confdir",
                })?;
                let path = text(login, "pam_start", path.as_os_str().as_bytes())?;
                let path = path.as_ptr();
                // SAFETY: as above.
                unsafe { start(service.as_ptr(), user, &conversation, path, &raw mut handle) }
            }
        };
        let transaction = Transaction {
            library,
            login,
            handle,
            status,
        };
        match status == SUCCESS && !handle.is_null() {
            true => Ok(transaction),
            false => Err(transaction.system("pam_start")),
        }
    }

    fn authenticate(&mut self) -> Result<(), PamError> {
        if let Some(host) = self.login.remote_host {
            let host = text(self.login, "pam_set_item", host.as_bytes())?;
            // SAFETY: the handle is valid until `drop`; the library copies the text.
            self.status =
                unsafe { (self.library.set_item)(self.handle, ITEM_RHOST, host.as_ptr().cast()) };
            if self.status != SUCCESS {
                return Err(self.system("pam_set_item"));
            }
        }
        // SAFETY: the handle is valid until `drop`.
        self.status = unsafe { (self.library.authenticate)(self.handle, DISALLOW_NULL_AUTHTOK) };
        match self.status {
            SUCCESS => {}
            PERM_DENIED | AUTH_ERR | USER_UNKNOWN | MAXTRIES => return Err(PamError::Wrong),
            ACCT_EXPIRED | CRED_EXPIRED | AUTHTOK_EXPIRED => return Err(self.account()),
            _ => return Err(self.system("pam_authenticate")),
        }
        // SAFETY: the handle is valid until `drop`.
        self.status = unsafe { (self.library.acct_mgmt)(self.handle, DISALLOW_NULL_AUTHTOK) };
        match self.status {
            SUCCESS => Ok(()),
            PERM_DENIED | AUTH_ERR | USER_UNKNOWN | NEW_AUTHTOK_REQD | ACCT_EXPIRED
            | CRED_EXPIRED | AUTHTOK_EXPIRED => Err(self.account()),
            _ => Err(self.system("pam_acct_mgmt")),
        }
    }

    /// Returns the user, whom modules may have changed.
    fn user(&mut self) -> Result<String, PamError> {
        let mut item: *const c_void = ptr::null();
        // SAFETY: the handle is valid until `drop`, and `item` for writes.
        self.status = unsafe { (self.library.get_item)(self.handle, ITEM_USER, &raw mut item) };
        if self.status != SUCCESS || item.is_null() {
            return Err(self.system("pam_get_item"));
        }
        // SAFETY: the item is a NUL-terminated text, which the handle keeps.
        let user = unsafe { CStr::from_ptr(item.cast::<c_char>()) };
        let user = user.to_str().map_err(|_| PamError::System {
            function: "pam_get_item",
            service: self.login.service.to_owned(),
            why: "the user's name is not UTF-8".to_owned(),
        })?;
        Ok(user.to_owned())
    }

    fn account(&self) -> PamError {
        PamError::Account { why: self.why() }
    }

    fn system(&self, function: &'static str) -> PamError {
        PamError::System {
            function,
            service: self.login.service.to_owned(),
            why: self.why(),
        }
    }

    /// Describes the status.
    fn why(&self) -> String {
        if self.status == CONV_ERR {
            return "it asks for more than a password".to_owned();
        }
        // SAFETY: the function does not use the handle; its result is a static text.
        let text = unsafe { (self.library.strerror)(self.handle, self.status) };
        match text.is_null() {
            true => format!("error {}", self.status),
            // SAFETY: as above.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into(),
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: nothing uses the handle afterwards.
            unsafe { (self.library.end)(self.handle, self.status) };
        }
    }
}

/// Returns a text for C.
fn text(login: Login<'_>, function: &'static str, bytes: &[u8]) -> Result<CString, PamError> {
    CString::new(bytes).map_err(|_| PamError::System {
        function,
        service: login.service.escape_default().to_string(),
        why: "a text contains a NUL byte".to_owned(),
    })
}

#[cfg(test)]
mod tests;
