//! Maps user and group ids of another host to ids of this host.
//!
//! A file system that belongs to other machines may use different ids for the
//! same people. An id map assigns an id of this host to each of its ids. It is
//! applied to owners, groups and ACL entries before anything else reads them,
//! so that rows and guards contain only ids of this host.
//!
//! The map is a text with one rule a line:
//!
//! ```text
//! uid 1000-1999 501000     # a range: 1000 is 501000, 1001 is 501001 …
//! gid 100 100              # one id
//! uid * keep               # ids without a line stay as they are
//! gid * nobody             # ids without a line are nobody's (the default)
//! ```
//!
//! No two ids are mapped to the same id: otherwise a user could gain rights
//! that only two users together have, or only one of them. Ranges must not
//! overlap on either side, and a kept id becomes [`Uid::NOBODY`] if a line
//! assigns its number to another id. No process can have the id
//! [`Uid::NOBODY`], so the permission bits of such an owner apply to no user,
//! and an ACL entry for it is dropped because it has no effect. The superuser's
//! id has no special role: without a line for 0, objects that belong to root
//! belong to nobody here.

use crate::acl::Acl;
use crate::entry::{DirAccess, DirBatch, Entry, Meta, Span};
use crate::id::{Gid, Uid};
use crate::sink::SourceRoot;
use std::fmt;

/// The invalid id: -1, `(uid_t) -1` in chown(2).
const NO_ID: u32 = u32::MAX;

/// A map of user and group ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdMap {
    users: Table,
    groups: Table,
}

/// Rule for ids without a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Others {
    /// The id becomes nobody.
    #[default]
    Nobody,
    /// The id stays the same, unless a line assigns its number to another id.
    Keep,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Table {
    /// Sorted ranges that do not overlap on either side.
    ranges: Vec<Range>,
    others: Others,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    first: u32,
    last: u32,
    to: u32,
}

impl Range {
    fn to_last(self) -> u32 {
        self.to + (self.last - self.first)
    }
}

/// An error in the text of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdMapError {
    /// The line number, from 1.
    pub line: usize,
    /// The problem in this line.
    pub problem: Problem,
}

/// A problem in one line of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The line is not UTF-8, or does not consist of three words.
    Form,
    /// The first word is neither `uid` nor `gid`.
    Kind,
    /// The second word is not an id or a range of ids.
    From,
    /// The third word is not an id, or the end of the target range is not one.
    To,
    /// The rule for other ids is neither `keep` nor `nobody`.
    Others,
    /// A rule for other ids was already given.
    OthersAgain,
    /// A previous line already maps one of these ids.
    FromAgain,
    /// A previous line already maps to one of these ids.
    ToAgain,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Problem::Form => "it is not three words: write uid FROM TO, or uid * nobody",
            Problem::Kind => "it must begin with uid or gid",
            Problem::From => "its second word must be an id, a range such as 1000-1999, or *",
            Problem::To => "its third word must be an id from 0 to 4294967294, a range's last too",
            Problem::Others => "ids without a line can be keep or nobody",
            Problem::OthersAgain => "a line before it says what ids without a line become",
            Problem::FromAgain => "a line before it maps one of these ids",
            Problem::ToAgain => "a line before it maps to one of these ids: two would become one",
        })
    }
}

impl fmt::Display for IdMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for IdMapError {}

impl IdMap {
    /// Parses a map.
    ///
    /// # Errors
    /// Returns the first line that is invalid.
    pub fn parse(text: &[u8]) -> Result<IdMap, IdMapError> {
        let mut map = IdMap::default();
        let (mut users, mut groups) = (Seen::No, Seen::No);
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let failed = |problem| IdMapError {
                line: at + 1,
                problem,
            };
            let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
            let line = std::str::from_utf8(line).map_err(|_| failed(Problem::Form))?;
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [kind, from, to] = words[..] else {
                match words.is_empty() {
                    true => continue,
                    false => return Err(failed(Problem::Form)),
                }
            };
            let (table, seen) = match kind {
                "uid" => (&mut map.users, &mut users),
                "gid" => (&mut map.groups, &mut groups),
                _ => return Err(failed(Problem::Kind)),
            };
            table.add(from, to, seen).map_err(failed)?;
        }
        map.users.ranges.sort_unstable();
        map.groups.ranges.sort_unstable();
        Ok(map)
    }

    /// Returns this host's id of a user.
    pub fn user(&self, uid: Uid) -> Uid {
        Uid(self.users.map(uid.0))
    }

    /// Returns this host's id of a group.
    pub fn group(&self, gid: Gid) -> Gid {
        Gid(self.groups.map(gid.0))
    }

    /// Maps all ids in a directory's batch.
    pub fn apply(&self, batch: &mut DirBatch) {
        self.apply_access(&mut batch.access);
        self.apply_meta(&mut batch.own);
        let mut entries = std::mem::take(&mut batch.entries);
        for entry in &mut entries {
            self.apply_entry(entry, &mut batch.heap);
        }
        batch.entries = entries;
    }

    /// Maps the ids of a source's root and of those directories above it that
    /// lie on its file system. Directories further up already have this host's
    /// ids.
    pub fn apply_root(&self, root: &mut SourceRoot) {
        self.apply_entry(&mut root.entry, &mut root.heap);
        let foreign = root.above.iter_mut().rev().take(root.above_on_device);
        foreign.for_each(|access| self.apply_access(access));
    }

    /// Maps the ids in a directory's permissions.
    pub fn apply_access(&self, access: &mut DirAccess) {
        access.uid = self.user(access.uid);
        access.gid = self.group(access.gid);
        if let Some(acl) = &mut access.acl {
            self.apply_acl(acl);
        }
    }

    fn apply_meta(&self, meta: &mut Meta) {
        meta.uid = self.user(meta.uid);
        meta.gid = self.group(meta.gid);
    }

    fn apply_entry(&self, entry: &mut Entry, heap: &mut Vec<u8>) {
        self.apply_meta(&mut entry.meta);
        for span in [&mut entry.acl, &mut entry.acl_default] {
            let range = span.start as usize..(span.start + span.len) as usize;
            let acl = heap.get(range).and_then(Acl::parse);
            let bytes = acl.map(|mut acl| {
                self.apply_acl(&mut acl);
                acl.to_bytes()
            });
            *span = match bytes {
                Some(bytes) => {
                    let start = heap.len() as u32;
                    heap.extend_from_slice(&bytes);
                    let len = bytes.len() as u32;
                    Span { start, len }
                }
                // There is no ACL, or its value is malformed.
                None => Span::EMPTY,
            };
        }
    }

    fn apply_acl(&self, acl: &mut Acl) {
        for (uid, _) in &mut acl.users {
            *uid = self.user(*uid);
        }
        for (gid, _) in &mut acl.groups {
            *gid = self.group(*gid);
        }
        acl.users.retain(|(uid, _)| *uid != Uid::NOBODY);
        acl.groups.retain(|(gid, _)| *gid != Gid::NOBODY);
        acl.users.sort_unstable();
        acl.groups.sort_unstable();
    }
}

/// Whether a line has already given the rule for other ids.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    Yes,
}

impl Table {
    fn add(&mut self, from: &str, to: &str, seen: &mut Seen) -> Result<(), Problem> {
        if from == "*" {
            if std::mem::replace(seen, Seen::Yes) == Seen::Yes {
                return Err(Problem::OthersAgain);
            }
            self.others = match to {
                "keep" => Others::Keep,
                "nobody" => Others::Nobody,
                _ => return Err(Problem::Others),
            };
            return Ok(());
        }
        let (first, last) = from.split_once('-').unwrap_or((from, from));
        let (Some(first), Some(last)) = (id(first), id(last)) else {
            return Err(Problem::From);
        };
        let length = last.checked_sub(first).ok_or(Problem::From)?;
        let to = id(to).ok_or(Problem::To)?;
        let range = Range { first, last, to };
        let to_last = to.checked_add(length).filter(|id| *id != NO_ID);
        let to_last = to_last.ok_or(Problem::To)?;
        for other in &self.ranges {
            if first <= other.last && other.first <= last {
                return Err(Problem::FromAgain);
            }
            if to <= other.to_last() && other.to <= to_last {
                return Err(Problem::ToAgain);
            }
        }
        self.ranges.push(range);
        Ok(())
    }

    fn map(&self, id: u32) -> u32 {
        let after = self.ranges.partition_point(|range| range.first <= id);
        let before = after.checked_sub(1).and_then(|at| self.ranges.get(at));
        if let Some(range) = before.filter(|range| id <= range.last) {
            return range.to + (id - range.first);
        }
        let is_given = |range: &Range| (range.to..=range.to_last()).contains(&id);
        match self.others {
            Others::Keep if !self.ranges.iter().any(is_given) => id,
            _ => NO_ID,
        }
    }
}

/// Parses a decimal number that is a valid id.
fn id(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let id = text.parse().ok().filter(|id| *id != NO_ID);
    id.filter(|_| is_plain)
}

impl fmt::Display for IdMap {
    /// Writes the map as text that [`IdMap::parse`] reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, table) in [("uid", &self.users), ("gid", &self.groups)] {
            for Range { first, last, to } in &table.ranges {
                writeln!(f, "{kind} {first}-{last} {to}")?;
            }
            let others = match table.others {
                Others::Nobody => "nobody",
                Others::Keep => "keep",
            };
            writeln!(f, "{kind} * {others}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Bit, Credentials, Predicate};
    use proptest::prelude::*;

    const MAP: &[u8] = b"# people\nuid 1000-1999 501000\n\n  uid 0 0 # root\ngid 5 7\ngid * keep\n";

    fn map() -> IdMap {
        IdMap::parse(MAP).unwrap()
    }

    #[test]
    fn ids_are_mapped_kept_or_nobodys() {
        let users = [0, 999, 1000, 1999, 2000, 501_000].map(|id| map().user(Uid(id)).0);
        assert_eq!(users, [0, NO_ID, 501_000, 501_999, NO_ID, NO_ID]);
        // 7 is already taken: the map assigns it to group 5.
        assert_eq!([5, 6, 7].map(|id| map().group(Gid(id)).0), [7, 6, NO_ID]);
    }

    #[test]
    fn what_makes_no_sense_is_named_by_line() {
        for (text, line, problem) in [
            ("uid 1", 1, Problem::Form),
            ("\nusers 1 2", 2, Problem::Kind),
            ("uid 9-5 1", 1, Problem::From),
            ("uid -1 1", 1, Problem::From),
            ("uid +1 1", 1, Problem::From),
            ("uid 4294967295 1", 1, Problem::From),
            ("uid 1 x", 1, Problem::To),
            ("uid 0-9 4294967290", 1, Problem::To),
            ("uid * drop", 1, Problem::Others),
            ("uid * keep\nuid * keep", 2, Problem::OthersAgain),
            ("uid 1-5 10\nuid 5 20", 2, Problem::FromAgain),
            ("uid 1-5 10\ngid 5 10\nuid 6 14", 3, Problem::ToAgain),
        ] {
            let error = IdMap::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error, IdMapError { line, problem }, "{text:?}");
        }
        assert_eq!(IdMap::parse(b"uid 1 \xff").unwrap_err().line, 1);
    }

    #[test]
    fn text_reads_back() {
        assert_eq!(IdMap::parse(map().to_string().as_bytes()), Ok(map()));
        assert_eq!(IdMap::parse(b""), Ok(IdMap::default()));
    }

    #[test]
    fn every_id_of_a_batch_is_mapped() {
        let acl = Acl {
            users: vec![(Uid(1001), 4), (Uid(3000), 7)],
            groups: vec![(Gid(5), 4), (Gid(7), 7)],
            mask: Some(7),
            ..Acl::default()
        };
        let mut batch = DirBatch {
            own: Meta {
                uid: Uid(1002),
                ..Meta::default()
            },
            access: DirAccess {
                acl: Some(acl.clone()),
                uid: Uid(1003),
                ..DirAccess::default()
            },
            ..DirBatch::default()
        };
        let bytes = batch.push_bytes(&acl.to_bytes());
        batch.entries.push(Entry {
            meta: Meta {
                gid: Gid(5),
                ..Meta::default()
            },
            acl: bytes,
            acl_default: bytes,
            ..Entry::default()
        });
        map().apply(&mut batch);
        let mapped = Acl {
            users: vec![(Uid(501_001), 4)],
            groups: vec![(Gid(7), 4)],
            ..acl
        };
        assert_eq!(batch.own.uid, Uid(501_002));
        assert_eq!(batch.access.uid, Uid(501_003));
        assert_eq!(batch.access.acl.as_ref(), Some(&mapped));
        let entry = batch.entries[0];
        assert_eq!((entry.meta.uid, entry.meta.gid), (Uid(0), Gid(7)));
        for span in [entry.acl, entry.acl_default] {
            assert_eq!(Acl::parse(batch.bytes(span)).as_ref(), Some(&mapped));
        }
    }

    #[test]
    fn only_what_lies_on_the_file_system_has_its_ids() {
        let access = DirAccess {
            uid: Uid(1000),
            ..DirAccess::default()
        };
        let mut root = SourceRoot {
            above: vec![access.clone(), access.clone(), access],
            above_on_device: 1,
            ..SourceRoot::default()
        };
        map().apply_root(&mut root);
        let owners: Vec<u32> = root.above.iter().map(|access| access.uid.0).collect();
        assert_eq!(owners, [1000, 1000, 501_000]);
    }

    #[test]
    fn nobody_is_not_a_user_of_a_predicate() {
        let access = DirAccess {
            mode: 0o750,
            uid: Uid::NOBODY,
            gid: Gid::NOBODY,
            acl: None,
        };
        assert!(Predicate::of(&access, Bit::Read).is_superuser_only());
        let open = DirAccess {
            mode: 0o005,
            ..access
        };
        assert!(Predicate::of(&open, Bit::Read).is_trivial());
    }

    proptest! {
        #[test]
        fn whom_a_mapped_directory_admits_is_whom_it_admitted(
            access in crate::guard::tests::any_access(),
            uid in 0u32..8,
            groups in proptest::collection::vec(0u32..8, 0..4),
        ) {
            // All ids have a line: users get different numbers, and nothing
            // else changes.
            let map = IdMap::parse(b"uid 0 0\nuid 1-9999 700001\ngid 0-9999 800000").unwrap();
            let who = Credentials { uid: Uid(uid), groups: groups.into_iter().map(Gid).collect() };
            let there = Credentials {
                uid: map.user(who.uid),
                groups: who.groups.iter().map(|gid| map.group(*gid)).collect(),
            };
            let mut mapped = access.clone();
            map.apply_access(&mut mapped);
            for bit in [Bit::Read, Bit::Search] {
                let before = Predicate::of(&access, bit).admits(&who);
                prop_assert_eq!(Predicate::of(&mapped, bit).admits(&there), before);
            }
        }
    }
}
