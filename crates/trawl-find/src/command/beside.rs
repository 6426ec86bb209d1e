//! The directory that an entry lies in, and what the entry is called there.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use trawl_model::rows::Row;
use trawl_sys::directory::{Links, Purpose, open_path};
use trawl_sys::{CWD, SysError};

use crate::context::Context;

/// An entry as seen from its directory.
#[derive(Debug)]
pub(super) struct Beside {
    /// The directory; find's own if `None`.
    pub(super) dir: Option<OwnedFd>,
    /// `./` and the name.
    pub(super) name: Vec<u8>,
}

impl Beside {
    /// Opens the directory of the row at `path`.
    ///
    /// # Errors
    /// Those of open(2).
    pub(super) fn of(row: &Row<'_>, path: &[u8], cx: &Context<'_>) -> Result<Beside, SysError> {
        let (parent, name) = match cx.is_at_start() {
            true => split(path),
            false => (&b""[..], row.name()),
        };
        let name = match name {
            [b'/', ..] => name.to_vec(),
            _ => [b"./", name].concat(),
        };
        let dir = match cx.probe.place(row, path) {
            Some(place) if !cx.is_at_start() => {
                let here = place.dir.try_clone_to_owned();
                Some(here.map_err(|error| {
                    let errno = error.raw_os_error().unwrap_or(0);
                    SysError::new(trawl_sys::Op::Fcntl, trawl_sys::Errno(errno))
                })?)
            }
            _ if parent.is_empty() => None,
            _ => {
                let parent = CString::new(parent).unwrap_or_default();
                Some(open_path(CWD, &parent, Purpose::Pass, Links::Followed)?)
            }
        };
        Ok(Beside { dir, name })
    }
}

/// A start point's directory, empty for the working directory, and its last
/// component with the slashes at its end as one.
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
