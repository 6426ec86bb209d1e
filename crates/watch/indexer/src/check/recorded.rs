//! Derives what a user may see of a source whose file system this host cannot ask, because the
//! source is a recording or its ids are mapped. Uses the rows that the superuser is shown, and the
//! permission algebra.

use std::collections::HashMap;

use trawl_model::guard::{Bit, Credentials, Guard, Predicate};
use trawl_model::{DirAccess, path};

use super::facts::{Entries, Facts};
use super::source::Seen;

/// Permissions of directories, by path.
pub(super) type Accesses = HashMap<Vec<u8>, DirAccess>;

/// One user's permissions on a source.
pub(super) struct Judge<'a> {
    pub(super) who: &'a Credentials,
    pub(super) root: &'a [u8],
    /// Guard formed by the directories above the root.
    pub(super) above: &'a Guard,
    /// Permissions of every directory in question and of all directories above them.
    pub(super) known: &'a Accesses,
}

impl Judge<'_> {
    /// Returns what the user sees of a directory with these entries if they know its path.
    pub(super) fn list(&self, dir: &[u8], all: &Entries) -> Seen {
        let passes = self.above.admits(self.who, |_| true);
        let above = chain(self.root, dir).filter(|above| above.len() < dir.len());
        let mut above = above.map(|above| self.has(above, Bit::Search));
        if !passes || above.any(|may| !may) || !self.has(dir, Bit::Read) {
            return Seen::Refused;
        }
        if !self.has(dir, Bit::Search) {
            return Seen::NamesOnly;
        }
        let seen = |(name, facts): (&Vec<u8>, &Facts)| (name.clone(), facts.seen_by(self.who));
        Seen::Listing(all.iter().map(seen).collect())
    }

    /// Returns true if a walk from the root reaches the directory.
    pub(super) fn comes_to(&self, dir: &[u8]) -> bool {
        let may = |dir| self.has(dir, Bit::Search) && self.has(dir, Bit::Read);
        self.above.admits(self.who, |_| true) && chain(self.root, dir).all(may)
    }

    fn has(&self, dir: &[u8], bit: Bit) -> bool {
        let access = self.known.get(dir);
        access.is_some_and(|access| Predicate::of(access, bit).admits(self.who))
    }
}

/// Returns `dir` and all directories above it, up to `root`.
pub(super) fn chain<'p>(root: &'p [u8], dir: &'p [u8]) -> impl Iterator<Item = &'p [u8]> {
    let next = |at: &&'p [u8]| path::split(at).map(|(above, _)| above);
    let up = std::iter::successors(Some(dir), next);
    up.take_while(move |at| path::is_within(at, root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::{Gid, Uid};

    fn access(mode: u32, uid: u32) -> DirAccess {
        DirAccess {
            mode,
            uid: Uid(uid),
            gid: Gid(uid),
            acl: None,
        }
    }

    #[test]
    fn users_are_judged_by_every_directory_on_the_way() {
        let known = Accesses::from([
            (b"/r".to_vec(), access(0o711, 1)),
            (b"/r/d".to_vec(), access(0o755, 1)),
            (b"/r/p".to_vec(), access(0o700, 5)),
            (b"/r/n".to_vec(), access(0o744, 1)),
        ]);
        let who = Credentials {
            uid: Uid(5),
            groups: vec![Gid(5)],
        };
        let judge = Judge {
            who: &who,
            root: b"/r",
            above: &Guard::default(),
            known: &known,
        };
        let none = Entries::new();
        let list = |dir: &[u8]| judge.list(dir, &none);
        assert_eq!(list(b"/r"), Seen::Refused);
        assert_eq!(list(b"/r/d"), Seen::Listing(Entries::new()));
        assert_eq!(list(b"/r/p"), Seen::Listing(Entries::new()));
        assert_eq!(list(b"/r/n"), Seen::NamesOnly);
        assert_eq!(list(b"/r/unknown"), Seen::Refused);
        assert!(!judge.comes_to(b"/r/d"), "the root may not be listed");
        let chain: Vec<&[u8]> = chain(b"/r", b"/r/a/b").collect();
        assert_eq!(chain, [&b"/r/a/b"[..], b"/r/a", b"/r"]);
    }
}
