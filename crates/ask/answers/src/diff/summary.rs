//! Differences counted by directory, owner or extension.
//!
//! The old state of an entry counts in its old group, the new state in its new group: a file that
//! changed its owner is taken from one owner and given to the other. Every name of a file counts.

use std::collections::HashMap;

use trawl_diff::{Difference, Kind};
use trawl_model::rows::OwnedRow;
use trawl_model::{FileType, path};

/// Grouping of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// The directory of the entry, at most this many levels below the path that is compared.
    Directory(usize),
    /// The owner.
    Owner,
    /// The part of a regular file's name after the last dot.
    Extension,
}

/// Sums of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Number of entries created.
    pub created: u64,
    /// Number of entries deleted.
    pub deleted: u64,
    /// Number of entries with other attributes.
    pub changed: u64,
    /// Number of entries moved.
    pub moved: u64,
    /// Growth of the apparent sizes, in bytes.
    pub size_delta: i128,
    /// Growth of the allocated space, in bytes.
    pub disk_delta: i128,
}

impl Sums {
    /// Returns what one difference adds.
    pub fn of(difference: &Difference) -> Sums {
        let mut sums = Sums::default();
        let states = [(&difference.before, -1), (&difference.after, 1)];
        for (state, sign) in states {
            if let Some(state) = state {
                sums.put(state, sign);
            }
        }
        sums.count(difference.kind);
        sums
    }

    /// Adds other sums.
    pub fn add(&mut self, other: &Sums) {
        self.created += other.created;
        self.deleted += other.deleted;
        self.changed += other.changed;
        self.moved += other.moved;
        self.size_delta += other.size_delta;
        self.disk_delta += other.disk_delta;
    }

    fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Created => self.created += 1,
            Kind::Deleted => self.deleted += 1,
            Kind::Changed => self.changed += 1,
            Kind::Moved => self.moved += 1,
        }
    }

    fn put(&mut self, state: &OwnedRow, sign: i128) {
        self.size_delta += sign * i128::from(state.meta.size);
        self.disk_delta += sign * i128::from(state.meta.blocks) * 512;
    }
}

/// Counter of differences.
#[derive(Debug)]
pub struct Tally<'a> {
    grouping: Grouping,
    top: &'a [u8],
    groups: HashMap<Vec<u8>, Sums>,
}

impl<'a> Tally<'a> {
    /// Returns a counter for differences below `top`.
    pub fn new(grouping: Grouping, top: &'a [u8]) -> Tally<'a> {
        Tally {
            grouping,
            top,
            groups: HashMap::new(),
        }
    }

    /// Counts a difference.
    pub fn add(&mut self, difference: &Difference) {
        let from = difference.from.as_ref().unwrap_or(&difference.path);
        let before = difference.before.as_ref().map(|state| (state, from, -1));
        let after = difference
            .after
            .as_ref()
            .map(|state| (state, &difference.path, 1));
        let is_counted_at = after
            .or(before)
            .map(|(state, path, _)| self.key(path, state));
        for (state, path, sign) in [before, after].into_iter().flatten() {
            let key = self.key(path, state);
            self.groups.entry(key).or_default().put(state, sign);
        }
        if let Some(key) = is_counted_at {
            self.groups.entry(key).or_default().count(difference.kind);
        }
    }

    /// Returns the sums by key: the path of a directory, a user id, or an extension.
    pub fn groups(&self) -> &HashMap<Vec<u8>, Sums> {
        &self.groups
    }

    fn key(&self, path: &[u8], state: &OwnedRow) -> Vec<u8> {
        match self.grouping {
            Grouping::Owner => state.meta.uid.0.to_string().into_bytes(),
            Grouping::Directory(depth) => directory(path, self.top, depth).to_vec(),
            Grouping::Extension if state.meta.file_type() == FileType::Regular => {
                let (_, name) = path::split(path).unwrap_or_default();
                trawl_query::extension(name).to_vec()
            }
            Grouping::Extension => Vec::new(),
        }
    }
}

/// Returns the directory that holds `entry`, or its ancestor that is `depth` levels below `top`.
fn directory<'p>(entry: &'p [u8], top: &[u8], depth: usize) -> &'p [u8] {
    let dir = path::split(entry).map_or(&b""[..], |(dir, _)| dir);
    if !path::is_within(dir, top) {
        return entry;
    }
    let rest = dir.get(top.len()..).unwrap_or_default();
    let slashes = rest.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    match slashes.map(|(at, _)| at).nth(depth) {
        Some(end) => &dir[..top.len() + end],
        None => dir,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_told_apart_to_a_depth() {
        for (entry, depth, expected) in [
            ("/t/a/b/c/f", 1, "/t/a"),
            ("/t/a/b/c/f", 2, "/t/a/b"),
            ("/t/a/b/c/f", 9, "/t/a/b/c"),
            ("/t/f", 1, "/t"),
            ("/t/a", 1, "/t"),
            ("/t/a/f", 0, "/t"),
            ("/t", 1, "/t"),
        ] {
            let found = directory(entry.as_bytes(), b"/t", depth);
            assert_eq!(found, expected.as_bytes(), "{entry} {depth}");
        }
    }
}
