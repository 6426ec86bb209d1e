//! Permissions of index directories: the owner, mode and ACL with which the
//! kernel admits exactly the users whom a predicate admits.
//!
//! The directory belongs to the superuser, so that nobody else can change its
//! permissions or write into it; nobody is given write permission. The
//! predicate's users and groups become entries of a POSIX ACL (acl(5)). Three
//! of the kernel's rules determine the form:
//!
//! - The owning group is evaluated together with the named groups. So it is one
//!   of the predicate's groups, or a group whose members have the same access
//!   as everybody else.
//! - An ACL with an empty mask is not consulted, so the mask is `r-x`.
//! - If several groups match, one that grants is enough.

use crate::acl::Acl;
use crate::entry::DirAccess;
use crate::guard::Predicate;
use crate::id::{Gid, Uid};

/// The access that users get whom a predicate refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// None: the directory is a guard directory.
    Entry,
    /// Search without list permission: a directory of name barriers, whose
    /// children can be reached by users who know their names.
    Listing,
}

/// Permission bits of admitted users: list and search.
const ADMITTED: u8 = 5;

/// Returns the permissions of an index directory that admits the users whom
/// `who` admits.
///
/// The result belongs to user 0. [`DirAccess::mode`] holds permission bits
/// only; if there is an ACL, the group bits are its mask.
pub fn index_access(who: &Predicate, refused: Refused) -> DirAccess {
    let bits = |admitted: bool| match (admitted, refused) {
        (true, _) => ADMITTED,
        (false, Refused::Entry) => 0,
        (false, Refused::Listing) => 1,
    };
    let other = bits(who.other());
    let groups = || {
        let granting = who.granting().iter().map(|gid| (*gid, bits(true)));
        granting.chain(who.denying().iter().map(|gid| (*gid, bits(false))))
    };
    // Members of the neutral group have the same access as everybody else. It
    // cannot be used if the predicate denies a group: a member of both groups
    // would be admitted, because one granting group is enough.
    let neutral = (Gid(0), other);
    let (gid, group) = match who.denying().is_empty() {
        true => groups().find(|(gid, _)| gid.0 == 0).unwrap_or(neutral),
        false => groups().next().unwrap_or(neutral),
    };
    let named: Vec<(Gid, u8)> = groups().filter(|(other, _)| *other != gid).collect();
    if who.users().is_empty() && groups().count() <= 1 {
        let (gid, group) = groups().next().unwrap_or(neutral);
        return access(gid, group, other, None);
    }
    let users = who.users().iter().map(|(uid, ok)| (*uid, bits(*ok)));
    let mut groups = named;
    groups.sort_unstable();
    let acl = Acl {
        owner: 7,
        users: users.collect(),
        group,
        groups,
        mask: Some(ADMITTED),
        other,
    };
    access(gid, ADMITTED, other, Some(acl))
}

fn access(gid: Gid, group: u8, other: u8, acl: Option<Acl>) -> DirAccess {
    DirAccess {
        mode: 0o700 | u32::from(group) << 3 | u32::from(other),
        uid: Uid::ROOT,
        gid,
        acl,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Bit;
    use crate::guard::tests::any_access;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn the_directory_admits_whom_the_predicate_admits(source in any_access()) {
            for bit in [Bit::Read, Bit::Search] {
                let who = Predicate::of(&source, bit);
                let guard = index_access(&who, Refused::Entry);
                prop_assert_eq!(&Predicate::of(&guard, Bit::Read), &who);
                prop_assert_eq!(&Predicate::of(&guard, Bit::Search), &who);
                let barriers = index_access(&who, Refused::Listing);
                prop_assert_eq!(&Predicate::of(&barriers, Bit::Read), &who);
                prop_assert!(Predicate::of(&barriers, Bit::Search).is_trivial());
                for made in [guard, barriers] {
                    prop_assert_eq!(made.uid, Uid::ROOT);
                    prop_assert_eq!(made.mode & 0o022, 0, "nobody may write");
                    prop_assert!(made.acl.is_none_or(|acl| acl.mask == Some(5)));
                }
            }
        }
    }

    #[test]
    fn a_mode_is_enough_for_one_group() {
        let source = DirAccess {
            mode: 0o750,
            uid: Uid(0),
            gid: Gid(7),
            acl: None,
        };
        let made = index_access(&Predicate::of(&source, Bit::Read), Refused::Entry);
        assert_eq!((made.mode, made.gid, made.acl), (0o750, Gid(7), None));
    }
}
