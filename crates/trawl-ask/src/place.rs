//! Which index a user writes and asks, and who asks.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use trawl_model::guard::Credentials;
use trawl_model::{Gid, Uid};

use crate::error::AskError;

/// Where the administrator's index lies, which everyone may ask.
const SHARED: &str = "/var/lib/trawl";

/// The index directory to write: the given one, else `TRAWL_INDEX`, else the default
/// of this user.
///
/// # Errors
/// [`AskError::NoHome`] if the default cannot be told.
pub fn index_dir(given: Option<PathBuf>) -> Result<PathBuf, AskError> {
    let uid = trawl_sys::identity::effective_uid();
    choose(given, uid, variable)
}

/// The index directory to ask: as [`index_dir`], but for an ordinary user
/// who has no index of their own the administrator's, if there is one that
/// may be opened.
///
/// # Errors
/// As [`index_dir`].
pub fn index_to_ask(given: Option<PathBuf>) -> Result<PathBuf, AskError> {
    let is_named = is_named(&given);
    match index_dir(given) {
        named if is_named => named,
        own => or_shared(own, is_index),
    }
}

/// True if the user says which index.
pub fn is_named(given: &Option<PathBuf>) -> bool {
    given.is_some() || variable("TRAWL_INDEX").is_some()
}

/// The user's own index, or the administrator's if only that is there.
fn or_shared(
    own: Result<PathBuf, AskError>,
    is_index: impl Fn(&Path) -> bool,
) -> Result<PathBuf, AskError> {
    let has_own = own.as_deref().is_ok_and(&is_index);
    match !has_own && is_index(Path::new(SHARED)) {
        true => Ok(PathBuf::from(SHARED)),
        false => own,
    }
}

/// Who this process is to the kernel.
///
/// # Errors
/// [`AskError::Groups`].
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

/// True if there is an index that may be opened.
fn is_index(path: &Path) -> bool {
    std::fs::File::open(path.join(trawl_index::layout::FORMAT_FILE)).is_ok()
}

fn choose(
    given: Option<PathBuf>,
    uid: u32,
    get: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, AskError> {
    if let Some(path) = given.or_else(|| get("TRAWL_INDEX").map(PathBuf::from)) {
        return Ok(path);
    }
    if uid == 0 {
        return Ok(PathBuf::from(SHARED));
    }
    // The XDG specification: a relative path is to be ignored.
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
        let place = |given: Option<&str>, uid, set| {
            choose(given.map(PathBuf::from), uid, env(set))
                .ok()
                .map(|p| p.display().to_string())
        };
        let all = &[
            ("TRAWL_INDEX", "/i"),
            ("XDG_DATA_HOME", "/x"),
            ("HOME", "/h"),
        ];
        assert_eq!(place(Some("given"), 0, all).as_deref(), Some("given"));
        assert_eq!(place(None, 0, all).as_deref(), Some("/i"));
        assert_eq!(place(None, 0, &all[1..]).as_deref(), Some("/var/lib/trawl"));
        assert_eq!(place(None, 7, &all[1..]).as_deref(), Some("/x/trawl"));
        assert_eq!(
            place(None, 7, &[("XDG_DATA_HOME", "x"), ("HOME", "/h")]).as_deref(),
            Some("/h/.local/share/trawl")
        );
        assert_eq!(place(None, 7, &[]), None);
    }

    #[test]
    fn who_has_no_index_asks_the_administrators() {
        let own = || Ok(PathBuf::from("/own"));
        let place = |own, there: &'static [&str]| {
            let is_index = |path: &Path| there.iter().any(|dir| path == Path::new(dir));
            or_shared(own, is_index).ok()
        };
        let (mine, shared) = (PathBuf::from("/own"), PathBuf::from(SHARED));
        assert_eq!(place(own(), &["/own", SHARED]).as_ref(), Some(&mine));
        assert_eq!(place(own(), &[SHARED]).as_ref(), Some(&shared));
        assert_eq!(place(own(), &[]).as_ref(), Some(&mine));
        assert_eq!(
            place(Err(AskError::NoHome), &[SHARED]).as_ref(),
            Some(&shared)
        );
        assert_eq!(place(Err(AskError::NoHome), &[]), None);
    }
}
