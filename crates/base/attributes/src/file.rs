//! The attributes of an open file.

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use trawl_sys::{Errno, SysError, file, filesystem, xattr};

use crate::error::AttributeError;
use crate::value::Value;
use crate::{NAME_BYTES_MAX, VALUE_BYTES_MAX};

/// What the extended attributes' names begin with.
const PREFIX: &str = "user.trawl.";

type Result<T> = std::result::Result<T, AttributeError>;

/// Returns whether attributes can have this name: a letter from a to z, then such letters, digits,
/// `_`, `-` and `.`; at most [`NAME_BYTES_MAX`] bytes. So every name can be written in a condition.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_inner =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
    name.len() <= NAME_BYTES_MAX
        && name.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && name.bytes().all(is_inner)
}

fn key(name: &str) -> Result<CString> {
    let key = is_name(name).then(|| CString::new(format!("{PREFIX}{name}")).ok());
    key.flatten()
        .ok_or_else(|| AttributeError::Name { name: name.into() })
}

/// Sets an attribute of a file that is open for writing. An attribute of that name is replaced. A
/// search that begins afterwards sees it.
///
/// # Errors
/// [`AttributeError::NotOpenForWriting`]; [`AttributeError::Refused`] if this process may not write
/// the file any more, or the file system has no room or no such attributes.
pub fn set(file: impl AsFd, name: &str, value: &Value) -> Result<()> {
    let key = key(name)?;
    let encoded = value.encode().map_err(|why| AttributeError::Value {
        name: name.into(),
        why,
    })?;
    writable(&file, "set", name)?;
    xattr::set_open(&file, &key, &encoded).map_err(|source| refused(&file, "set", name, source))
}

/// Removes an attribute of a file that is open for writing.
///
/// # Errors
/// As of [`set`]. [`AttributeError::is_absent`] if there is none.
pub fn remove(file: impl AsFd, name: &str) -> Result<()> {
    let key = key(name)?;
    writable(&file, "remove", name)?;
    xattr::remove_open(&file, &key).map_err(|source| refused(&file, "remove", name, source))
}

/// Returns the value of an attribute of an open file.
///
/// # Errors
/// [`AttributeError::is_absent`] if there is none, [`AttributeError::Form`] if another program
/// stored something else under its name.
pub fn get(file: impl AsFd, name: &str) -> Result<Value> {
    let key = key(name)?;
    match read(&file, &key) {
        Ok(value) => value.ok_or_else(|| AttributeError::Form { name: name.into() }),
        Err(source) => Err(refused(&file, "read", name, source)),
    }
}

/// Returns the attributes of an open file, sorted by name. What other programs stored under such
/// names and has no known form is left out.
///
/// # Errors
/// [`AttributeError::List`] if the file cannot be read. A file system without extended attributes
/// has none, which is no error.
pub fn list(file: impl AsFd) -> Result<Vec<(String, Value)>> {
    let keys = match xattr::list_open(&file) {
        Ok(keys) => keys,
        Err(error) if error.is_unsupported() => return Ok(Vec::new()),
        Err(error) => return Err(AttributeError::List(error)),
    };
    let mut attributes = Vec::new();
    for key in keys.split_inclusive(|byte| *byte == 0) {
        let name = std::str::from_utf8(key).ok().and_then(|key| {
            let name = key.strip_prefix(PREFIX)?.strip_suffix('\0')?;
            is_name(name).then_some(name)
        });
        let (Some(name), Ok(key)) = (name, CStr::from_bytes_with_nul(key)) else {
            continue;
        };
        match read(&file, key) {
            Ok(Some(value)) => attributes.push((name.to_owned(), value)),
            // Removed meanwhile, or of no known form.
            Ok(None) => {}
            Err(error) if error.errno == Errno::NODATA => {}
            Err(error) => return Err(AttributeError::List(error)),
        }
    }
    attributes.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(attributes)
}

/// Returns the value of an extended attribute; `None` if it has no known form.
fn read(file: &impl AsFd, key: &CStr) -> std::result::Result<Option<Value>, SysError> {
    match xattr::get_open(file, key, VALUE_BYTES_MAX) {
        Ok(bytes) => Ok(Value::decode(&bytes)),
        // It is longer than any of ours.
        Err(error) if error.errno == Errno::RANGE => Ok(None),
        Err(error) => Err(error),
    }
}

/// The kernel checks who may write the file, and not how it was opened.
fn writable(file: &impl AsFd, operation: &'static str, name: &str) -> Result<()> {
    match file::is_open_for_writing(file) {
        Ok(true) => Ok(()),
        Ok(false) => Err(AttributeError::NotOpenForWriting {
            operation,
            name: name.into(),
        }),
        Err(source) => Err(refused(file, operation, name, source)),
    }
}

fn refused(
    file: &impl AsFd,
    operation: &'static str,
    name: &str,
    source: SysError,
) -> AttributeError {
    AttributeError::Refused {
        operation,
        name: name.into(),
        hint: hint(file, source.errno),
        source,
    }
}

/// Returns what the limits of the file's file system are, if they are the reason.
fn hint(file: &impl AsFd, errno: Errno) -> String {
    let kind = filesystem::of_fd(file).ok().map(|system| system.magic);
    let kind = kind.and_then(filesystem::name).unwrap_or_default();
    let is_room = [Errno::NOSPC, Errno::TOOBIG, Errno::RANGE].contains(&errno);
    let limits = match (is_room, kind) {
        (true, "ext2" | "ext3" | "ext4") => {
            ": ext4 keeps all extended attributes of a file in its inode and one block, usually 4 KiB"
        }
        (true, "xfs") => ": XFS keeps up to 64 KiB for each value",
        (true, "btrfs") => ": Btrfs keeps up to 16 KiB for each value",
        (true, _) => ": the file system has no more room for extended attributes of this file",
        (false, _) if errno == Errno::NOTSUP => {
            ": this file system has no extended attributes user.* (tmpfs has them since Linux 6.6)"
        }
        (false, _) if errno == Errno::PERM && is_special(file) => {
            ": only regular files have such attributes"
        }
        _ => "",
    };
    limits.into()
}

/// Returns whether the object is no regular file.
fn is_special(file: &impl AsFd) -> bool {
    trawl_sys::stat::stat_fd(file).is_ok_and(|stat| !stat.is_file())
}
