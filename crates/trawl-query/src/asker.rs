//! Whether the ids of this process say what it may do.
//!
//! An index tells from ids why something is not to be seen. In a user
//! namespace (a rootless container) the process sees other ids than those
//! that the index has, and its superuser is none to the files outside; a
//! superuser may have given up the capabilities that make one. Then the
//! kernel is asked, directory by directory.

use crate::permission::Access;
use rustix::fs::{Access as Wish, AtFlags, CWD, accessat, statat};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use trawl_model::path;

/// What the ids of this process are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// They are those that files have.
    Known,
    /// They are those of a user namespace.
    Foreign,
    /// User 0 outside, or perhaps so, who may open all of an index, but not
    /// all of the files.
    Limited,
}

/// What the ids of this process are worth, as they are when first asked for.
pub fn asker() -> Asker {
    static ASKER: OnceLock<Asker> = OnceLock::new();
    *ASKER.get_or_init(|| {
        // Without `/proc` nothing is known of namespaces.
        let maps = ["/proc/self/uid_map", "/proc/self/gid_map"].map(std::fs::read_to_string);
        let users = maps[0].as_deref().unwrap_or_default();
        let is_root = rustix::process::geteuid().is_root();
        match maps.iter().flatten().any(|map| !is_whole(map)) {
            true if users.is_empty() || is_root && leads_to_root(users) => Asker::Limited,
            true => Asker::Foreign,
            false if is_root && !may_pass_all() => Asker::Limited,
            false => Asker::Known,
        }
    })
}

/// True for the map of the first namespace, user_namespaces(7).
fn is_whole(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// True if user 0 is user 0 outside, too.
fn leads_to_root(map: &str) -> bool {
    map.lines()
        .any(|line| line.split_whitespace().take(2).eq(["0", "0"]))
}

/// True if the process may read and search every directory, capabilities(7).
fn may_pass_all() -> bool {
    let either = CapabilitySet::DAC_READ_SEARCH | CapabilitySet::DAC_OVERRIDE;
    capabilities(None).map_or(true, |sets| sets.effective.intersects(either))
}

/// What the kernel lets this process do with a directory; `None` if it is not
/// there.
pub(crate) fn of_kernel(stored: &[u8]) -> Option<Access> {
    let shown = OsStr::from_bytes(path::display(stored));
    let may = |wish| match accessat(CWD, shown, wish, AtFlags::EACCESS) {
        Ok(()) => Some(true),
        Err(Errno::ACCESS | Errno::NAMETOOLONG) => Some(false),
        Err(_) => None,
    };
    Some(match (may(Wish::EXEC_OK)?, may(Wish::READ_OK)?) {
        (true, true) => Access::Full,
        (true, false) => Access::Pass,
        (false, _) => Access::None,
    })
}

/// False if a closed directory lies before what is stored so.
pub(crate) fn may_reach(stored: &[u8]) -> bool {
    let shown = OsStr::from_bytes(path::display(stored));
    let looked = statat(CWD, shown, AtFlags::SYMLINK_NOFOLLOW);
    !matches!(looked, Err(Errno::ACCESS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read() {
        assert!(is_whole("         0          0 4294967295\n"));
        assert!(!is_whole("         0       1000          1\n"));
        assert!(leads_to_root("0 0 1\n"));
        assert!(!leads_to_root("0 1000 1\n1 100000 65536\n"));
        assert_eq!(of_kernel(b""), Some(Access::Full));
        assert_eq!(of_kernel(b"/nothing/of/that/name"), None);
    }
}
