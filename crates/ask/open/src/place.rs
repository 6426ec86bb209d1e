//! Finds the index that a user writes, the indexes that a user asks, and the asking user's
//! credentials.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_model::guard::Credentials;
use trawl_model::{Gid, Uid};

use crate::error::AskError;

/// Directory of the administrator's index, which everyone may ask.
const SHARED: &str = "/var/lib/trawl";

/// Returns the index directory to write: the given one, else the first in `TRAWL_INDEX`, else this
/// user's default.
///
/// # Errors
/// [`AskError::NoHome`] if there is no default.
pub fn index_dir(given: Option<PathBuf>) -> Result<PathBuf, AskError> {
    let named = named(given, variable).into_iter().next();
    let uid = trawl_sys::identity::effective_uid();
    match named {
        Some(Named::At(path)) => Ok(path),
        Some(Named::Default) | None => own(uid, variable),
    }
}

/// Returns the index directories to ask; they answer together. These are the given one; else the
/// elements of `TRAWL_INDEX`, separated by colons, where an empty element stands for the default;
/// else the default. The default is the user's own index and the administrator's, as far as they
/// exist and may be opened. There is always at least one directory, which may not exist.
///
/// # Errors
/// As [`index_dir`].
pub fn indexes_to_ask(given: Option<PathBuf>) -> Result<Vec<PathBuf>, AskError> {
    let named = named(given, variable);
    let own = own(trawl_sys::identity::effective_uid(), variable);
    together(named, own, is_index).map(without_repeats)
}

/// Returns whether the user names an index.
pub fn is_named(given: &Option<PathBuf>) -> bool {
    given.is_some() || variable("TRAWL_INDEX").is_some()
}

/// An index that the user names.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    At(PathBuf),
    /// The default, as if no index were named.
    Default,
}

/// Returns the indexes that the user names, on the command line or else in the environment.
fn named(given: Option<PathBuf>, get: impl Fn(&str) -> Option<OsString>) -> Vec<Named> {
    if let Some(path) = given {
        return vec![Named::At(path)];
    }
    let Some(list) = get("TRAWL_INDEX") else {
        return Vec::new();
    };
    let parts = list.as_bytes().split(|byte| *byte == b':');
    let part = |part: &[u8]| match part {
        b"" => Named::Default,
        path => Named::At(PathBuf::from(OsStr::from_bytes(path))),
    };
    parts.map(part).collect()
}

/// Returns the indexes to ask. A named index must exist, and opening it reports if it does not;
/// default indexes are left out if they do not exist.
fn together(
    named: Vec<Named>,
    own: Result<PathBuf, AskError>,
    is_index: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, AskError> {
    let shared = PathBuf::from(SHARED);
    let default = own.as_ref().ok().into_iter().chain([&shared]);
    let default: Vec<PathBuf> = default.filter(|path| is_index(path)).cloned().collect();
    let mut all = Vec::new();
    let is_default = named.is_empty();
    for one in named {
        match one {
            Named::At(path) => all.push(path),
            Named::Default => all.extend(default.iter().cloned()),
        }
    }
    if is_default {
        all = default;
    }
    match all.is_empty() {
        // Opening this index reports that it does not exist.
        true => own.map(|own| vec![own]),
        false => Ok(all),
    }
}

/// Leaves out repeated directories, even under another path.
fn without_repeats(all: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    let is_new = |path: &PathBuf| {
        let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        seen.insert(place)
    };
    all.into_iter().filter(is_new).collect()
}

/// Returns this process's effective credentials.
///
/// # Errors
/// [`AskError::Groups`] if the groups cannot be read.
pub fn asker() -> Result<Credentials, AskError> {
    let mut groups = trawl_sys::identity::groups().map_err(AskError::Groups)?;
    groups.push(trawl_sys::identity::effective_gid());
    Ok(Credentials {
        uid: Uid(trawl_sys::identity::effective_uid()),
        groups: groups.into_iter().map(Gid).collect(),
    })
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns whether there is an index that may be opened.
fn is_index(path: &Path) -> bool {
    std::fs::File::open(path.join(trawl_format::layout::FORMAT_FILE)).is_ok()
}

/// Returns the default index directory of this user.
fn own(uid: u32, get: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, AskError> {
    if uid == 0 {
        return Ok(PathBuf::from(SHARED));
    }
    // The XDG specification says to ignore a relative path.
    if let Some(data) = get("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
    {
        return Ok(data.join("trawl"));
    }
    match get("HOME") {
        Some(home) => Ok(PathBuf::from(home).join(".local/share/trawl")),
        None => Err(AskError::NoHome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_where_the_manual_says() {
        let env = |set: &'static [(&str, &str)]| {
            move |name: &str| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            }
        };
        let place = |uid, set| own(uid, env(set)).ok().map(|p| p.display().to_string());
        let all = &[("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(place(0, all).as_deref(), Some("/var/lib/trawl"));
        assert_eq!(place(7, all).as_deref(), Some("/x/trawl"));
        assert_eq!(
            place(7, &[("XDG_DATA_HOME", "x"), ("HOME", "/h")]).as_deref(),
            Some("/h/.local/share/trawl")
        );
        assert_eq!(place(7, &[]), None);
    }

    #[test]
    fn every_index_of_the_user_is_asked() {
        let ask = |list: Option<&str>, there: &'static [&str]| {
            let named = named(None, |_| list.map(OsString::from));
            let is_index = |path: &Path| there.iter().any(|dir| path == Path::new(dir));
            let all = together(named, Ok(PathBuf::from("/own")), is_index).unwrap();
            let all: Vec<_> = all.iter().map(|path| path.display().to_string()).collect();
            all.join(" ")
        };
        assert_eq!(ask(None, &["/own", SHARED]), "/own /var/lib/trawl");
        assert_eq!(ask(None, &[SHARED]), SHARED);
        assert_eq!(ask(None, &["/own"]), "/own");
        assert_eq!(ask(None, &[]), "/own");
        assert_eq!(ask(Some("/a:/b"), &["/own", SHARED]), "/a /b");
        assert_eq!(
            ask(Some("/a:"), &["/own", SHARED]),
            "/a /own /var/lib/trawl"
        );
        assert_eq!(ask(Some(":/a"), &[]), "/a");
        let given = named(Some(PathBuf::from("/with:colon")), |_| None);
        assert_eq!(given, [Named::At(PathBuf::from("/with:colon"))]);
    }

    #[test]
    fn the_administrators_index_is_asked_without_a_home() {
        let place = |there: bool| together(Vec::new(), Err(AskError::NoHome), |_| there).ok();
        assert_eq!(place(true), Some(vec![PathBuf::from(SHARED)]));
        assert_eq!(place(false), None);
    }
}
