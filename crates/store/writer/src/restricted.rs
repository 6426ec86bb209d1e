//! Finds the subdirectories of a listing that some of its readers may not list.

use std::collections::HashMap;
use trawl_format::restricted::{Restricted, RestrictedBuilder};
use trawl_model::guard::{Bit, Element, Guard, Predicate};
use trawl_model::{Acl, DirAccess, DirBatch, FileType, Gid, Uid, path};

/// The bits of a mode that decide who may list and search.
const LIST_AND_SEARCH: u32 = 0o555;

/// Compares the permissions of subdirectories with the guard of the shard that their rows are
/// written to.
#[derive(Debug)]
pub(crate) struct Restrictions<'a> {
    guard: &'a Guard,
    /// The results, by permissions.
    known: HashMap<Permissions, bool>,
    builder: RestrictedBuilder,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Permissions {
    mode: u32,
    uid: Uid,
    gid: Gid,
    acl: Vec<u8>,
}

impl<'a> Restrictions<'a> {
    pub(crate) fn new(guard: &'a Guard) -> Restrictions<'a> {
        Restrictions {
            guard,
            known: HashMap::new(),
            builder: RestrictedBuilder::default(),
        }
    }

    /// Returns the value of the column `restricted` for a listing with all its rows.
    pub(crate) fn of(&mut self, batch: &DirBatch) -> Option<Vec<u8>> {
        for entry in &batch.entries {
            let meta = &entry.meta;
            if meta.file_type() != FileType::Directory {
                continue;
            }
            let acl = batch.bytes(entry.acl);
            if acl.is_empty() && meta.mode & LIST_AND_SEARCH == LIST_AND_SEARCH {
                continue;
            }
            let permissions = Permissions {
                mode: meta.mode,
                uid: meta.uid,
                gid: meta.gid,
                acl: acl.to_vec(),
            };
            if self.restrict(permissions) {
                self.builder.add(&Restricted {
                    path: &path::join(&batch.path, batch.bytes(entry.name)),
                    mode: meta.mode,
                    uid: meta.uid,
                    gid: meta.gid,
                    acl,
                });
            }
        }
        self.builder.take()
    }

    /// True if a user may pass the guard and still may not list and search a directory with these
    /// permissions.
    fn restrict(&mut self, permissions: Permissions) -> bool {
        if let Some(known) = self.known.get(&permissions) {
            return *known;
        }
        let access = DirAccess {
            mode: permissions.mode,
            uid: permissions.uid,
            gid: permissions.gid,
            acl: Acl::parse(&permissions.acl),
        };
        let is_granted = |bit| {
            let wanted = Predicate::of(&access, bit);
            let grants = |element: &Element| match element {
                Element::Predicate(passed) => *passed == wanted || passed.implies(&wanted),
                // Who knows the path passes, too.
                Element::Barrier { .. } => false,
            };
            wanted.is_trivial() || self.guard.0.iter().any(grants)
        };
        let is_restricted = !(is_granted(Bit::Search) && is_granted(Bit::Read));
        self.known.insert(permissions, is_restricted);
        is_restricted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_format::restricted::{Value, decode};
    use trawl_model::{Entry, Meta};

    const OWNER_ONLY: u32 = 0o040_700;

    fn listing(dirs: &[(&str, u32, u32)]) -> DirBatch {
        let mut batch = DirBatch {
            path: b"/t".to_vec(),
            ..DirBatch::default()
        };
        for (name, mode, uid) in dirs {
            let mut entry = Entry {
                name: batch.push_bytes(name.as_bytes()),
                ..Entry::default()
            };
            entry.meta = Meta {
                mode: *mode,
                uid: Uid(*uid),
                gid: Gid(*uid),
                ..Meta::default()
            };
            batch.entries.push(entry);
        }
        batch
    }

    fn passed(mode: u32, uid: u32) -> Guard {
        let access = DirAccess {
            mode,
            uid: Uid(uid),
            gid: Gid(uid),
            acl: None,
        };
        let bits = [Bit::Search, Bit::Read];
        Guard(
            bits.map(|bit| Element::Predicate(Predicate::of(&access, bit)))
                .into(),
        )
    }

    fn names(guard: &Guard, batch: &DirBatch) -> Vec<String> {
        let value = Restrictions::new(guard).of(batch).unwrap_or_default();
        match decode(&value) {
            Some(Value::Dirs(dirs)) => dirs
                .iter()
                .map(|dir| String::from_utf8(dir.path.to_vec()).unwrap())
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_guard_does_not_grant_is_restricted() {
        let batch = listing(&[
            ("all", 0o040_755, 1),
            ("file", 0o100_600, 1),
            ("mine", OWNER_ONLY, 1),
            ("theirs", OWNER_ONLY, 2),
            ("search", 0o040_711, 1),
            ("list", 0o040_744, 1),
        ]);
        let all = ["/t/mine", "/t/theirs", "/t/search", "/t/list"];
        assert_eq!(names(&Guard::default(), &batch), all);
        assert_eq!(names(&passed(OWNER_ONLY, 1), &batch), ["/t/theirs"]);
        // Whoever may only search the listing's directory need not be its owner.
        let behind = Guard(vec![Element::Barrier {
            path: b"/t".to_vec(),
            list: Predicate::of(
                &DirAccess {
                    mode: OWNER_ONLY,
                    uid: Uid(1),
                    gid: Gid(1),
                    acl: None,
                },
                Bit::Read,
            ),
        }]);
        assert_eq!(names(&behind, &batch), all);
    }
}
