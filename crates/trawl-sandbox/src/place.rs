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
    let mut path = plain(&path);
    for _ in 0..OPEN_MAX {
        match behind(asked.thread, &path, named.is_followed) {
            Some(open) => path = open,
            None => break,
        }
    }
    Some(path)
}

/// What is open and leads to something else that is open.
const OPEN_MAX: usize = 8;

/// Where a path leads that begins at something that a process has open, as the kernel shows it;
/// programs spell out so what their descriptors are.
fn behind(thread: i32, path: &[u8], is_followed: bool) -> Option<Vec<u8>> {
    let text = path
        .strip_prefix(b"/dev/fd/")
        .map(|rest| [b"self/fd/", rest].concat());
    let text = text.as_deref().or_else(|| path.strip_prefix(b"/proc/"))?;
    let mut names = text.splitn(4, |byte| *byte == b'/');
    let process = match names.next()? {
        b"self" | b"thread-self" => thread,
        number => std::str::from_utf8(number).ok()?.parse().ok()?,
    };
    let (descriptor, rest) = match names.next()? {
        b"fd" => {
            let number = std::str::from_utf8(names.next()?).ok()?;
            (Some(number.parse().ok()?), names.next())
        }
        b"cwd" => {
            let rest = text.splitn(3, |byte| *byte == b'/').nth(2);
            (None, rest)
        }
        _ => return None,
    };
    // The link itself is the kernel's.
    if rest.is_none() && !is_followed {
        return None;
    }
    let mut open = base(process, descriptor)?;
    open.push(b'/');
    open.extend_from_slice(rest.unwrap_or_default());
    Some(plain(&open))
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

    #[test]
    fn what_is_open_leads_there() {
        use std::os::fd::AsRawFd;
        let ours = std::process::id() as i32;
        let opened = std::fs::File::open("/usr").expect("there is one");
        let fd = opened.as_raw_fd();
        let behind = |path: String, is_followed| behind(ours, path.as_bytes(), is_followed);
        let usr = std::fs::canonicalize("/usr").expect("there is one");
        let usr = usr.as_os_str().as_bytes();
        for place in ["/proc/self", "/proc/thread-self", &format!("/proc/{ours}")] {
            let open = format!("{place}/fd/{fd}");
            assert_eq!(behind(open.clone(), true).as_deref(), Some(usr));
            assert_eq!(behind(open.clone(), false), None);
            let wanted = [usr, b"/a/b"].concat();
            assert_eq!(behind(format!("{open}/a/b"), false), Some(wanted));
        }
        assert_eq!(behind(format!("/dev/fd/{fd}"), true).as_deref(), Some(usr));
        let here = std::env::current_dir().expect("there is one");
        let here = [here.as_os_str().as_bytes(), b"/src"].concat();
        assert_eq!(behind("/proc/self/cwd/src".to_owned(), false), Some(here));
        for other in [
            "/proc/self/fd",
            "/proc/self/fd/x",
            "/proc/self/maps",
            "/proc",
            "/dev/fd",
        ] {
            assert_eq!(behind(other.to_owned(), true), None, "{other}");
        }
    }
}
