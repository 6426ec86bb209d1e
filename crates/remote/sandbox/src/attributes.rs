//! Extended attributes: answers getxattr(2) and listxattr(2) in place of the file system in memory,
//! which has none.
//!
//! The server's user may see the attributes. The kernel's rules for the calling process are applied
//! here: it may have become another user.
//!
//! Source: <https://man7.org/linux/man-pages/man7/xattr.7.html>; Linux, `fs/xattr.c`.

use std::sync::Arc;

use rustix::io::Errno as Failure;
use trawl_call::Attributes;
use trawl_mount::ExtendedAttributes;
use trawl_mount::tree::{is_directory, is_link};
use trawl_sys::Errno;
use trawl_sys::seccomp::{Verdict, read_path, write_memory};

use crate::calls::WantedXattrs;

/// Maximum length of a name in bytes.
const NAME_MAX_BYTES: usize = 255;
/// Maximum length of a value or a list of names in bytes; a larger buffer makes no difference.
const ROOM_MAX_BYTES: u64 = 64 << 10;
const READ: u32 = 4;

fn fail(failure: Failure) -> Verdict {
    Verdict::Fail(Errno(failure.raw_os_error()))
}

/// Returns the verdict on a call that asks for extended attributes of an object; `all` returns
/// these.
pub(crate) fn answer(
    thread: i32,
    wanted: &WantedXattrs,
    of: &Attributes,
    all: impl FnOnce() -> Result<Arc<ExtendedAttributes>, Errno>,
) -> Verdict {
    let name = match wanted.name.map(|address| read_path(thread, address)) {
        None => None,
        Some(Ok(name)) if (1..=NAME_MAX_BYTES).contains(&name.len()) => Some(name),
        Some(Err(error)) if error.raw_os_error() != Some(Failure::NAMETOOLONG.raw_os_error()) => {
            return fail(Failure::FAULT);
        }
        Some(_) => return fail(Failure::RANGE),
    };
    let all = match all() {
        Ok(all) => all,
        // The error that the kernel reports for a file system without extended attributes.
        Err(Errno::NOSYS) => return fail(Failure::OPNOTSUPP),
        Err(errno) => return Verdict::Fail(errno),
    };
    let asking = match all.is_empty() {
        // Without attributes, the answer is the same for every user.
        true => Asking::ours(),
        false => Asking::of(thread),
    };
    let found = match name {
        None => Ok(asking.names(&all)),
        Some(name) => asking.value(&all, &name, of),
    };
    match found {
        Err(errno) => Verdict::Fail(errno),
        Ok(bytes) => give(thread, wanted, &bytes),
    }
}

/// Writes the bytes for the call, or returns their number if its buffer has size 0.
fn give(thread: i32, wanted: &WantedXattrs, bytes: &[u8]) -> Verdict {
    let length = bytes.len() as u64;
    if wanted.room == 0 {
        return Verdict::Return(length as i64);
    }
    if length > wanted.room.min(ROOM_MAX_BYTES) {
        return match wanted.room >= ROOM_MAX_BYTES {
            true => fail(Failure::TOOBIG),
            false => fail(Failure::RANGE),
        };
    }
    match write_memory(thread, wanted.to, bytes) {
        Ok(()) => Verdict::Return(length as i64),
        Err(_) => fail(Failure::FAULT),
    }
}

/// The calling process's credentials, by the ids that they have outside of the command's
/// namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asking {
    user: u32,
    group: u32,
    groups: Vec<u32>,
    /// Whether it is the user whom the server serves, as far as can be told.
    is_ours: bool,
    /// Whether access-control lists are shown. As with a mount, they are hidden in a user
    /// namespace: the users that they name have no ids there, so copying them would fail.
    has_acls: bool,
}

impl Asking {
    /// Returns the credentials of this process's user.
    fn ours() -> Asking {
        let user = trawl_sys::identity::effective_uid();
        Asking {
            user,
            group: u32::MAX,
            groups: Vec::new(),
            is_ours: true,
            // Any other user gets a user namespace.
            has_acls: user == 0,
        }
    }

    /// Returns the credentials with which a thread accesses files. A thread that has ended gets no
    /// answer anyway.
    fn of(thread: i32) -> Asking {
        let status = std::fs::read_to_string(format!("/proc/{thread}/status"));
        Asking::in_status(&status.unwrap_or_default())
    }

    fn in_status(status: &str) -> Asking {
        let numbers = |name: &str| -> Vec<u32> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let words = line.unwrap_or_default().split_whitespace();
            words.filter_map(|word| word.parse().ok()).collect()
        };
        // The four ids are real, effective, saved, and file system id.
        let last = |name| numbers(name).get(3).copied().unwrap_or(u32::MAX);
        let ours = Asking::ours();
        Asking {
            user: last("Uid:"),
            group: last("Gid:"),
            groups: numbers("Groups:"),
            is_ours: last("Uid:") == ours.user,
            has_acls: ours.has_acls,
        }
    }

    /// Returns whether a name is shown.
    fn is_shown(&self, name: &[u8]) -> bool {
        match is_acl(name) {
            true => self.has_acls,
            false => self.user == 0 || !name.starts_with(b"trusted."),
        }
    }

    fn names(&self, all: &ExtendedAttributes) -> Vec<u8> {
        let shown = all.iter().filter(|(name, _)| self.is_shown(name));
        let names: Vec<_> = shown.flat_map(|(name, _)| [&name[..], b"\0"]).collect();
        names.concat()
    }

    fn value(
        &self,
        all: &ExtendedAttributes,
        name: &[u8],
        of: &Attributes,
    ) -> Result<Vec<u8>, Errno> {
        let missing = match is_acl(name) && !self.has_acls {
            true => Failure::OPNOTSUPP,
            false => missing(name, of),
        };
        let missing = Errno(missing.raw_os_error());
        if !self.is_shown(name) {
            return Err(missing);
        }
        if name.starts_with(b"user.") && !self.may_read(of) {
            return Err(Errno::ACCES);
        }
        let found = all.iter().find(|(known, _)| known == name);
        found.ok_or(missing)?.1.clone()
    }

    /// Returns whether owner and mode permit reading. For the server's user, the server has checked
    /// it.
    fn may_read(&self, of: &Attributes) -> bool {
        if self.is_ours || self.user == 0 || !(is_file(of) || is_directory(of)) {
            return true;
        }
        let bits = if self.user == of.uid {
            of.mode >> 6
        } else if self.group == of.gid || self.groups.contains(&of.gid) {
            of.mode >> 3
        } else {
            of.mode
        };
        bits & READ != 0
    }
}

fn is_file(of: &Attributes) -> bool {
    const TYPE: u32 = 0o170_000;
    const REGULAR: u32 = 0o100_000;
    of.mode & TYPE == REGULAR
}

fn is_acl(name: &[u8]) -> bool {
    matches!(
        name,
        b"system.posix_acl_access" | b"system.posix_acl_default"
    )
}

/// Returns the kernel's error for an attribute that does not exist.
fn missing(name: &[u8], of: &Attributes) -> Failure {
    let is_known = [&b"user."[..], b"trusted.", b"security."]
        .iter()
        .any(|space| {
            name.strip_prefix(*space)
                .is_some_and(|rest| !rest.is_empty())
        });
    match is_known || is_acl(name) && !is_link(of) {
        true => Failure::NODATA,
        false => Failure::OPNOTSUPP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: u32) -> Attributes {
        Attributes {
            mode,
            uid: 10,
            gid: 20,
            ..Attributes::default()
        }
    }

    fn all() -> ExtendedAttributes {
        let one = |name: &str| (name.as_bytes().to_vec(), Ok(b"x".to_vec()));
        vec![one("user.a"), one("trusted.b"), one("security.c")]
    }

    #[test]
    fn who_asks_is_read_from_the_kernel() {
        let status = "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \nNgid:\t0\n";
        let asking = Asking::in_status(status);
        assert_eq!((asking.user, asking.group), (4, 8));
        assert_eq!(asking.groups, [9, 10]);
        let ours = Asking::of(std::process::id() as i32);
        assert!(ours.is_ours, "{ours:?}");
        let nobody = Asking::in_status("");
        assert_eq!((nobody.user, nobody.is_ours), (u32::MAX, false));
    }

    #[test]
    fn others_see_what_the_kernel_shows_them() {
        let asking = |user, group| Asking {
            user,
            group,
            groups: vec![30],
            is_ours: false,
            has_acls: true,
        };
        let (root, owner, other) = (asking(0, 0), asking(10, 1), asking(11, 1));
        assert_eq!(root.names(&all()), b"user.a\0trusted.b\0security.c\0");
        assert_eq!(other.names(&all()), b"user.a\0security.c\0");
        let value = |who: &Asking, name: &str, mode| who.value(&all(), name.as_bytes(), &of(mode));
        let is_denied = |who: &Asking, mode| value(who, "user.a", mode) == Err(Errno::ACCES);
        assert!(!is_denied(&root, 0o100_000) && !is_denied(&owner, 0o100_400));
        assert!(is_denied(&other, 0o100_440) && !is_denied(&other, 0o100_004));
        assert!(is_denied(&asking(11, 20), 0o100_604) && !is_denied(&asking(11, 20), 0o100_040));
        // Objects that are neither files nor directories have no user attributes, so reading those
        // is never denied.
        assert!(!is_denied(&other, 0o010_000));
        let errno = |found: Result<Vec<u8>, Errno>| found.expect_err("none").0;
        let nodata = Failure::NODATA.raw_os_error();
        assert_eq!(errno(value(&other, "trusted.b", 0o100_644)), nodata);
        assert_eq!(errno(value(&root, "user.z", 0o100_644)), nodata);
        let acl = "system.posix_acl_access";
        assert_eq!(errno(value(&root, acl, 0o100_644)), nodata);
        let unsupported = Failure::OPNOTSUPP.raw_os_error();
        assert_eq!(errno(value(&root, acl, 0o120_777)), unsupported);
        assert_eq!(errno(value(&root, "nothing", 0o100_644)), unsupported);
        assert_eq!(value(&other, "security.c", 0o100_000), Ok(b"x".to_vec()));
        let all: ExtendedAttributes = vec![(acl.into(), Ok(Vec::new()))];
        let inside = Asking {
            has_acls: false,
            ..owner.clone()
        };
        assert_eq!(owner.names(&all), b"system.posix_acl_access\0");
        assert_eq!(inside.names(&all), b"");
        let found = inside.value(&all, acl.as_bytes(), &of(0o100_644));
        assert_eq!(errno(found), unsupported);
    }
}
