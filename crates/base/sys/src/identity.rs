//! Users and groups: conversion between names and ids through the system's databases (files, LDAP,
//! or others, as `nsswitch.conf` says), and the caller's own ids.

use std::ffi::{CStr, CString};

use crate::error::{Errno, Op, SysError};

/// Maximum size in bytes of a record; a group of a hundred thousand members fits.
const RECORD_MAX_BYTES: usize = 16 << 20;

/// Returns the effective user id of the process.
///
/// Source: <https://man7.org/linux/man-pages/man2/geteuid.2.html>
#[must_use]
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the effective group id of the process.
///
/// Source: <https://man7.org/linux/man-pages/man2/getegid.2.html>
#[must_use]
pub fn effective_gid() -> u32 {
    rustix::process::getegid().as_raw()
}

/// Returns the supplementary groups of the process.
///
/// Source: <https://man7.org/linux/man-pages/man2/getgroups.2.html>
pub fn groups() -> Result<Vec<u32>, SysError> {
    let groups = rustix::process::getgroups().map_err(|e| SysError::new(Op::Getgroups, e))?;
    Ok(groups
        .into_iter()
        .map(rustix::process::Gid::as_raw)
        .collect())
}

/// Returns the entry of a user in the database of users.
fn entry_of(uid: u32) -> Result<Option<FoundRecord<libc::passwd>>, SysError> {
    look_up(Op::Getpwuid, |record: *mut libc::passwd, bytes, result| {
        // SAFETY: `record`, the byte buffer of the given length and `result` are valid for writes.
        unsafe { libc::getpwuid_r(uid, record, bytes.as_mut_ptr().cast(), bytes.len(), result) }
    })
}

/// Returns the entry of the user `name` in the database of users.
fn entry_named(name: &[u8]) -> Result<Option<FoundRecord<libc::passwd>>, SysError> {
    let Ok(name) = CString::new(name) else {
        return Ok(None);
    };
    look_up(Op::Getpwnam, |record: *mut libc::passwd, bytes, result| {
        // SAFETY: the name is NUL-terminated; the rest as in `entry_of`.
        unsafe {
            let (start, length) = (bytes.as_mut_ptr().cast(), bytes.len());
            libc::getpwnam_r(name.as_ptr(), record, start, length, result)
        }
    })
}

/// Returns the name of a user; `None` if the user does not exist.
///
/// Source: <https://man7.org/linux/man-pages/man3/getpwuid_r.3.html>
pub fn user_name(uid: u32) -> Result<Option<Vec<u8>>, SysError> {
    let found = entry_of(uid)?;
    Ok(found.and_then(|f| f.name(|r| r.pw_name)))
}

/// Returns the id of the user `name`; `None` if the user does not exist.
///
/// Source: <https://man7.org/linux/man-pages/man3/getpwnam_r.3.html>
pub fn uid_of(name: &[u8]) -> Result<Option<u32>, SysError> {
    let found = entry_named(name)?;
    Ok(found.map(|f| f.record.pw_uid))
}

/// Returns the home directory of the user `name`; `None` if the user does not exist.
///
/// Source: <https://man7.org/linux/man-pages/man3/getpwnam_r.3.html>
///
/// # Errors
/// Fails if the database of users cannot be read.
pub fn home_of(name: &[u8]) -> Result<Option<Vec<u8>>, SysError> {
    let found = entry_named(name)?;
    Ok(found.and_then(|found| found.name(|record| record.pw_dir)))
}

/// A user account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The name.
    pub name: Vec<u8>,
    /// The user id.
    pub uid: u32,
    /// The primary group.
    pub gid: u32,
}

fn account(found: &FoundRecord<libc::passwd>) -> Option<Account> {
    Some(Account {
        name: found.name(|record| record.pw_name)?,
        uid: found.record.pw_uid,
        gid: found.record.pw_gid,
    })
}

/// Returns the account with this id; `None` if the user does not exist.
///
/// Source: <https://man7.org/linux/man-pages/man3/getpwuid_r.3.html>
pub fn account_of(uid: u32) -> Result<Option<Account>, SysError> {
    let found = entry_of(uid)?;
    Ok(found.as_ref().and_then(account))
}

/// Returns the account with this name; `None` if the user does not exist. Several accounts may have
/// the same id, and each its own groups.
///
/// Source: <https://man7.org/linux/man-pages/man3/getpwnam_r.3.html>
///
/// # Errors
/// Fails if the database of users cannot be read.
pub fn account_named(name: &[u8]) -> Result<Option<Account>, SysError> {
    let found = entry_named(name)?;
    Ok(found.as_ref().and_then(account))
}

/// Returns all groups of an account, including its primary group.
///
/// Source: <https://man7.org/linux/man-pages/man3/getgrouplist.3.html>
#[must_use]
pub fn groups_of(account: &Account) -> Vec<u32> {
    let Ok(name) = CString::new(&account.name[..]) else {
        return vec![account.gid];
    };
    let mut groups = vec![0; 64];
    loop {
        let mut count = libc::c_int::try_from(groups.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the name is NUL-terminated, and `groups` has room for `count` ids.
        let fits = unsafe {
            let start = groups.as_mut_ptr();
            libc::getgrouplist(name.as_ptr(), account.gid, start, &raw mut count) >= 0
        };
        let count = usize::try_from(count).unwrap_or(0);
        if fits || count <= groups.len() {
            groups.truncate(count);
            return groups;
        }
        groups.resize(count, 0);
    }
}

/// Returns the name of a group; `None` if the group does not exist.
///
/// Source: <https://man7.org/linux/man-pages/man3/getgrgid_r.3.html>
pub fn group_name(gid: u32) -> Result<Option<Vec<u8>>, SysError> {
    let found = look_up(Op::Getgrgid, |record: *mut libc::group, bytes, result| {
        // SAFETY: as in `user_name`.
        unsafe { libc::getgrgid_r(gid, record, bytes.as_mut_ptr().cast(), bytes.len(), result) }
    })?;
    Ok(found.and_then(|f| f.name(|r| r.gr_name)))
}

/// Returns the id of the group `name`; `None` if the group does not exist.
///
/// Source: <https://man7.org/linux/man-pages/man3/getgrnam_r.3.html>
pub fn gid_of(name: &[u8]) -> Result<Option<u32>, SysError> {
    let Ok(name) = CString::new(name) else {
        return Ok(None);
    };
    let found = look_up(Op::Getgrnam, |record: *mut libc::group, bytes, result| {
        // SAFETY: the name is NUL-terminated; the rest as in `user_name`.
        unsafe {
            let (start, length) = (bytes.as_mut_ptr().cast(), bytes.len());
            libc::getgrnam_r(name.as_ptr(), record, start, length, result)
        }
    })?;
    Ok(found.map(|f| f.record.gr_gid))
}

/// A record and the bytes that its pointers refer to.
struct FoundRecord<R> {
    record: R,
    /// Kept alive for the record's pointers.
    _bytes: Vec<u8>,
}

impl<R> FoundRecord<R> {
    fn name(&self, field: impl Fn(&R) -> *mut libc::c_char) -> Option<Vec<u8>> {
        let name = field(&self.record);
        // SAFETY: the call that filled the record sets its name to NULL or to a NUL-terminated
        // string within `_bytes`, which lives as long as `self`.
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes().to_vec())
    }
}

/// Calls one of the four database functions with a buffer that grows until the record fits.
fn look_up<R>(
    op: Op,
    call: impl Fn(*mut R, &mut [u8], *mut *mut R) -> libc::c_int,
) -> Result<Option<FoundRecord<R>>, SysError> {
    let mut bytes = vec![0u8; 1024];
    loop {
        let mut record = std::mem::MaybeUninit::<R>::zeroed();
        let mut result: *mut R = std::ptr::null_mut();
        let code = call(record.as_mut_ptr(), &mut bytes, &raw mut result);
        match Errno(code) {
            Errno(0) if result.is_null() => return Ok(None),
            Errno(0) => {
                // SAFETY: a result that isn't NULL means that the whole record was written.
                let record = unsafe { record.assume_init() };
                return Ok(Some(FoundRecord {
                    record,
                    _bytes: bytes,
                }));
            }
            Errno::RANGE if bytes.len() < RECORD_MAX_BYTES => {
                let size = bytes.len() * 4;
                bytes.resize(size, 0);
            }
            Errno::INTR => {}
            // Several databases return these for "no such entry"; see the manual page.
            Errno::NOENT | Errno::BADF | Errno::PERM | Errno(libc::ESRCH) => return Ok(None),
            errno => return Err(SysError { op, errno }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_zero() {
        assert_eq!(uid_of(b"root"), Ok(Some(0)));
        assert_eq!(user_name(0), Ok(Some(b"root".to_vec())));
        assert_eq!(gid_of(b"root"), Ok(Some(0)));
        assert_eq!(group_name(0), Ok(Some(b"root".to_vec())));
    }

    #[test]
    fn the_unknown_is_none() {
        assert_eq!(uid_of(b"no such user"), Ok(None));
        assert_eq!(uid_of(b"nul\0inside"), Ok(None));
        assert_eq!(user_name(3_999_999_999), Ok(None));
        assert_eq!(group_name(3_999_999_999), Ok(None));
        assert_eq!(gid_of(b"no such group"), Ok(None));
    }

    #[test]
    fn agrees_with_the_password_file() {
        for line in std::fs::read_to_string("/etc/passwd").unwrap().lines() {
            let mut fields = line.split(':');
            let (Some(name), Some(Ok(uid))) = (fields.next(), fields.nth(1).map(str::parse)) else {
                continue;
            };
            assert_eq!(uid_of(name.as_bytes()), Ok(Some(uid)), "{name}");
            let known = account_of(uid).unwrap().unwrap();
            assert!(groups_of(&known).contains(&known.gid), "{known:?}");
        }
    }
}
