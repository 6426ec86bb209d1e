//! Determines the path that a call refers to, as far as names tell it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_sys::seccomp::{InterceptedCall, read_path};

use crate::calls::Named;

/// The place that a call refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallTarget {
    /// The path, absolute and without dots.
    pub(crate) path: Vec<u8>,
    /// The kernel's link to an open file, if the call refers to that file itself, whatever has its
    /// name by now.
    pub(crate) open: Option<String>,
}

/// Returns the place that a call refers to; `None` if it cannot be determined.
pub(crate) fn absolute(asked: &InterceptedCall, named: &Named) -> Option<CallTarget> {
    let text = match named.path {
        Some(address) => read_path(asked.thread, address).ok()?,
        None => Vec::new(),
    };
    if text.is_empty() && named.directory.is_none() {
        return None;
    }
    let mut place = match text.first() {
        Some(b'/') => CallTarget {
            path: plain(&text),
            open: None,
        },
        _ => below_open(asked.thread, named.directory, &text)?,
    };
    for _ in 0..OPEN_MAX {
        match behind(asked.thread, &place.path, named.is_followed) {
            Some(further) => place = further,
            None => break,
        }
    }
    Some(place)
}

/// Returns the place of a path relative to an open directory or the working directory, or of the
/// open file itself.
fn below_open(process: i32, directory: Option<i32>, rest: &[u8]) -> Option<CallTarget> {
    let link = match directory {
        Some(fd) if fd >= 0 => format!("/proc/{process}/fd/{fd}"),
        Some(_) => return None,
        None => format!("/proc/{process}/cwd"),
    };
    let target = std::fs::read_link(Path::new(&link)).ok()?;
    let bytes = target.as_os_str().as_bytes();
    if !bytes.starts_with(b"/") {
        return None;
    }
    Some(CallTarget {
        path: plain(&[bytes, b"/", rest].concat()),
        open: rest.is_empty().then_some(link),
    })
}

/// Maximum number of links through open files that are followed.
const OPEN_MAX: usize = 8;

/// Resolves a path through a process's open file, in the form in which the kernel shows it
/// (`/proc/PID/fd`); programs use such paths to name their descriptors.
fn behind(thread: i32, path: &[u8], is_followed: bool) -> Option<CallTarget> {
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
    // The link itself is left to the kernel.
    if rest.is_none() && !is_followed {
        return None;
    }
    below_open(process, descriptor, rest.unwrap_or_default())
}

/// Removes empty names and dots; two dots remove the name before them.
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

/// Returns the part of an absolute path below a point.
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
        let led = |path: String, is_followed| behind(ours, path.as_bytes(), is_followed);
        let behind = |path, is_followed| led(path, is_followed).map(|place| place.path);
        let usr = std::fs::canonicalize("/usr").expect("there is one");
        let usr = usr.as_os_str().as_bytes();
        for place in ["/proc/self", "/proc/thread-self", &format!("/proc/{ours}")] {
            let open = format!("{place}/fd/{fd}");
            assert_eq!(behind(open.clone(), true).as_deref(), Some(usr));
            assert_eq!(behind(open.clone(), false), None);
            let wanted = [usr, b"/a/b"].concat();
            assert_eq!(behind(format!("{open}/a/b"), false), Some(wanted));
            let itself = led(open.clone(), true).and_then(|place| place.open);
            assert_eq!(itself, Some(format!("/proc/{ours}/fd/{fd}")));
            let below = led(format!("{open}/a/b"), true).expect("a place");
            assert_eq!(below.open, None);
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
