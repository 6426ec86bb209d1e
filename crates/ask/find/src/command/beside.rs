//! The directory of an entry, and the entry's name there.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use trawl_model::rows::Row;
use trawl_sys::directory::{Links, Purpose, open_path};
use trawl_sys::{Errno, Op, SysError};

use crate::context::Context;

/// An entry as seen from its directory.
#[derive(Debug)]
pub(super) struct Beside {
    /// The directory; find's own directory if `None`.
    pub(super) dir: Option<OwnedFd>,
    /// `./` and the name; a name that begins with a slash as it is.
    pub(super) name: Vec<u8>,
}

impl Beside {
    /// Opens the directory of the row at `path`.
    ///
    /// # Errors
    /// Those of open(2).
    pub(super) fn of(row: &Row<'_>, path: &[u8], cx: &Context<'_>) -> Result<Beside, SysError> {
        let Some(place) = cx.probe.place(row, path) else {
            return Err(SysError::new(Op::Openat, Errno::NOENT));
        };
        let (parent, name) = split(place.name.to_bytes());
        let dir = match parent {
            b"" if cx.is_at_start() => None,
            b"" => Some(open_path(place.dir, c".", Purpose::Pass, Links::Refused)?),
            _ => {
                let parent = CString::new(parent).unwrap_or_default();
                Some(open_path(
                    place.dir,
                    &parent,
                    Purpose::Pass,
                    Links::Followed,
                )?)
            }
        };
        let name = match name {
            [b'/', ..] => name.to_vec(),
            _ => [b"./", name].concat(),
        };
        Ok(Beside { dir, name })
    }
}

/// Splits a path into its directory, empty if it has none, and its last
/// component with at most one of the slashes after it.
fn split(spelled: &[u8]) -> (&[u8], &[u8]) {
    let bare = spelled.iter().rposition(|byte| *byte != b'/');
    let Some(last) = bare else {
        return (b"/", &spelled[..spelled.len().min(1)]);
    };
    let begin = spelled[..last].iter().rposition(|byte| *byte == b'/');
    let end = spelled.len().min(last + 2);
    match begin {
        None => (b"", &spelled[..end]),
        Some(slash) => (&spelled[..=slash], &spelled[slash + 1..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_points_are_split_as_find_splits_them() {
        for (spelled, dir, name) in [
            ("a", "", "a"),
            ("a//", "", "a/"),
            ("a/b", "a/", "b"),
            ("a/b/", "a/", "b/"),
            ("a/..", "a/", ".."),
            ("/", "/", "/"),
            ("//", "/", "/"),
            ("/a", "/", "a"),
            (".", "", "."),
        ] {
            let expected = (dir.as_bytes(), name.as_bytes());
            assert_eq!(split(spelled.as_bytes()), expected, "{spelled}");
        }
    }
}
