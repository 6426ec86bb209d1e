//! Whether the ids of this process tell what it may do.
//!
//! The index explains from ids why something cannot be seen. Ids may mislead:
//! in a user namespace (a rootless container) a process has other ids than the
//! index records, and its superuser has no power over files outside. A
//! superuser may also have dropped the capabilities that override permissions.
//! In these cases the kernel is asked, directory by directory.

use crate::permission::Access;
use rustix::fs::{Access as Wish, AtFlags, CWD, accessat, statat};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use trawl_model::path;

/// How far the ids of this process can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The ids are those that files have.
    Known,
    /// The ids are those of a user namespace.
    Foreign,
    /// The process is, or may be, user 0 outside the namespace: it may open all
    /// of an index, but not all of the indexed files.
    Limited,
}

/// Returns how far the ids of this process can be trusted, as determined by the
/// first call.
pub fn asker() -> Asker {
    static ASKER: OnceLock<Asker> = OnceLock::new();
    *ASKER.get_or_init(|| {
        // Without `/proc` the namespace is unknown.
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

/// True for the identity map of the initial namespace; see user_namespaces(7).
fn is_whole(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// True if user 0 inside the namespace is user 0 outside.
fn leads_to_root(map: &str) -> bool {
    map.lines()
        .any(|line| line.split_whitespace().take(2).eq(["0", "0"]))
}

/// True if the process may read and search every directory; see
/// capabilities(7).
fn may_pass_all() -> bool {
    let either = CapabilitySet::DAC_READ_SEARCH | CapabilitySet::DAC_OVERRIDE;
    capabilities(None).map_or(true, |sets| sets.effective.intersects(either))
}

/// Returns the access that the kernel grants this process to a directory;
/// `None` if it does not exist.
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

/// False if a directory above this stored path denies search permission.
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
