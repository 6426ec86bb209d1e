//! Which server is behind a path on one of this user's mounts.
//!
//! The server resolves links by its own tree, this machine by its own: they may lead elsewhere. So
//! only paths without links are asked of the server; all others are opened through the mount.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use trawl_model::path;
use trawl_model::sync::lock;
use trawl_remote::mounts::{Mounted, served};

use crate::name::ServerPath;

/// Maximum number of directories that are remembered.
const DIRECTORIES_MAX: usize = 4096;

/// The mounts of this moment.
#[derive(Debug)]
pub(crate) struct Below {
    mounts: Vec<Mounted>,
    /// Whether a directory is reached without links.
    plain: Mutex<HashMap<Vec<u8>, bool>>,
}

impl Below {
    pub(crate) fn now() -> Below {
        Below {
            mounts: served(),
            plain: Mutex::default(),
        }
    }

    /// Returns where a file lies, if there is no link in its path.
    pub(crate) fn find(&self, name: &[u8]) -> Option<ServerPath> {
        if self.mounts.is_empty() {
            return None;
        }
        let normal = match name.starts_with(b"/") {
            true => path::normalize(name)?,
            false => return None,
        };
        // `..` behind a link means another directory than it seems to.
        if name.windows(2).any(|two| two == b"..") {
            return None;
        }
        let covering = |mount: &&Mounted| path::is_within(&normal, &mount.point);
        let mount = self.mounts.iter().rfind(covering)?;
        let (address, top) = mount.server.as_ref()?;
        let cut = normal.iter().rposition(|byte| *byte == b'/')?;
        let directory = if cut == 0 { b"/" } else { &normal[..cut] };
        let is_reached = self.is_reached(directory) && is_openable(&normal);
        is_reached.then(|| {
            let below = &normal[mount.point.len().min(normal.len())..];
            let below = below.strip_prefix(b"/").unwrap_or(below);
            let slash: &[u8] = if top.ends_with(b"/") { b"" } else { b"/" };
            ServerPath {
                address: address.clone(),
                path: [top, slash, below].concat(),
            }
        })
    }

    fn is_reached(&self, directory: &[u8]) -> bool {
        if let Some(known) = lock(&self.plain).get(directory) {
            return *known;
        }
        let is_plain = is_openable(directory);
        let mut plain = lock(&self.plain);
        if plain.len() >= DIRECTORIES_MAX {
            plain.clear();
        }
        plain.insert(directory.to_vec(), is_plain);
        is_plain
    }
}

/// Returns whether a path exists and contains no link.
fn is_openable(path: &[u8]) -> bool {
    let Ok(path) = CString::new(path) else {
        return false;
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened: rustix::io::Result<OwnedFd> =
        openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    opened.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use trawl_remote::Address;
    use trawl_testkit::Scratch;

    #[test]
    fn only_paths_without_links_are_asked_of_the_server() {
        let scratch = Scratch::new("below");
        let top = std::fs::canonicalize(scratch.path()).unwrap();
        let bytes = |path: &str| top.join(path).as_os_str().as_bytes().to_vec();
        for directory in ["m/d", "m/other/d", "beside"] {
            std::fs::create_dir_all(top.join(directory)).unwrap();
        }
        for file in ["m/d/f", "m/other/d/f", "beside/f"] {
            std::fs::write(top.join(file), "f").unwrap();
        }
        std::os::unix::fs::symlink("d", top.join("m/link")).unwrap();
        std::os::unix::fs::symlink("f", top.join("m/d/l")).unwrap();
        let server = (Address::Unix("/s".into()), b"/srv/x".to_vec());
        let mount = |point, server| Mounted { point, server };
        let below = Below {
            mounts: vec![
                mount(bytes("m"), Some(server)),
                mount(bytes("m/other"), None),
            ],
            plain: Mutex::default(),
        };
        let find = |path: &str| {
            let found = below.find(&bytes(path));
            found.map(|found| String::from_utf8(found.path).unwrap())
        };
        let served = Some("/srv/x/d/f".to_owned());
        assert_eq!(find("m/d/f"), served);
        assert_eq!(find("m//d/./f"), served);
        for path in [
            "m/link/f",
            "m/d/l",
            "m/d/../d/f",
            "m/other/d/f",
            "beside/f",
            "m/gone/f",
            "m2/f",
        ] {
            assert_eq!(find(path), None, "{path}");
        }
        assert!(below.find(b"m/d/f").is_none());
    }
}
