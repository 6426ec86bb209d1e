//! Which path in which tree a call means, as far as names say it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_sys::seccomp::{Asked, read_path};

use crate::calls::Named;

/// The path that a call names, absolute and without dots; `None` if that cannot be told.
pub(crate) fn absolute(asked: &Asked, named: &Named) -> Option<Vec<u8>> {
    let text = match named.path {
        Some(address) => read_path(asked.thread, address).ok()?,
        None => Vec::new(),
    };
    if text.is_empty() && named.directory.is_none() {
        return None;
    }
    let mut path = match text.first() {
        Some(b'/') => Vec::new(),
        _ => base(asked.thread, named.directory)?,
    };
    path.push(b'/');
    path.extend_from_slice(&text);
    Some(plain(&path))
}

/// Where a descriptor, or the process, is.
fn base(thread: i32, directory: Option<i32>) -> Option<Vec<u8>> {
    let link = match directory {
        Some(fd) if fd >= 0 => format!("/proc/{thread}/fd/{fd}"),
        Some(_) => return None,
        None => format!("/proc/{thread}/cwd"),
    };
    let target = std::fs::read_link(Path::new(&link)).ok()?;
    let bytes = target.as_os_str().as_bytes();
    bytes.starts_with(b"/").then(|| bytes.to_vec())
}

/// Without empty names and dots; two dots take the name before them away.
pub(crate) fn plain(path: &[u8]) -> Vec<u8> {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    [b"/", &names.join(&b'/')[..]].concat()
}

/// The part of an absolute path below a point.
pub(crate) fn below<'p>(path: &'p [u8], point: &[u8]) -> Option<&'p [u8]> {
    match path.strip_prefix(point)? {
        b"" => Some(b""),
        rest => rest.strip_prefix(b"/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_plain() {
        for (path, wanted) in [
            ("/", "/"),
            ("//a/./b//", "/a/b"),
            ("/a/../b", "/b"),
            ("/../../a", "/a"),
            ("/a/b/..", "/a"),
        ] {
            assert_eq!(plain(path.as_bytes()), wanted.as_bytes());
        }
        assert_eq!(below(b"/mnt/a", b"/mnt"), Some(&b"a"[..]));
        assert_eq!(below(b"/mnt", b"/mnt"), Some(&b""[..]));
        assert_eq!(below(b"/mntx", b"/mnt"), None);
    }
}
