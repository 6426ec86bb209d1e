//! Summaries of groups, which tell without a look at members that a group has no file that is
//! wanted. The paper keeps them in memory: "These group summaries are very small and can easily fit
//! in memory for fast accesses" (section 3.1).

use trawl_model::Timestamp;

use crate::directory::{Directory, Entry};
use crate::words::{Hashes, Markers, hashes};

/// The least and the greatest of some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<T> {
    /// The least.
    pub min: T,
    /// The greatest.
    pub max: T,
}

impl<T: Ord + Copy> Range<T> {
    fn add(range: &mut Option<Range<T>>, value: T) {
        *range = Some(match range {
            None => Range {
                min: value,
                max: value,
            },
            Some(Range { min, max }) => Range {
                min: value.min(*min),
                max: value.max(*max),
            },
        });
    }
}

/// A summary of a group's members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of members. A file with several names counts with each.
    pub files: u64,
    /// Sum of apparent sizes in bytes.
    pub size_sum_bytes: u64,
    /// Sum of allocated space in bytes.
    pub disk_bytes: u64,
    /// Apparent sizes in bytes; `None` without members, as for the times.
    pub size_bytes: Option<Range<u64>>,
    /// Times of the last change of the content.
    pub mtime: Option<Range<Timestamp>>,
    /// Times of the last access.
    pub atime: Option<Range<Timestamp>>,
    /// Times of the last change of the inode.
    pub ctime: Option<Range<Timestamp>>,
    /// Words of the members' paths; `None` if nobody asked for them.
    pub markers: Option<Markers>,
}

/// What a file must be like. Conditions that are `None` or empty always hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Words that its path has.
    pub words: Vec<Vec<u8>>,
    /// Least size in bytes.
    pub min_bytes: Option<u64>,
    /// Earliest time of the last change of the content.
    pub since: Option<Timestamp>,
}

impl Wanted {
    /// Returns whether the summaries need the words of paths.
    #[must_use]
    pub fn needs_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// Returns whether a file fulfils all conditions.
    #[must_use]
    pub fn admits(&self, dir: &[u8], entry: &Entry) -> bool {
        let path = || [hashes(dir), hashes(&entry.name)].concat();
        self.min_bytes.is_none_or(|least| entry.size_bytes >= least)
            && self.since.is_none_or(|since| entry.mtime >= since)
            && (self.words.is_empty() || {
                let path = path();
                let wanted = self.words.iter().flat_map(|text| hashes(text));
                wanted.into_iter().all(|word| path.contains(&word))
            })
    }
}

impl Summary {
    /// Returns false only if no member fulfils the conditions.
    #[must_use]
    pub fn may_hold(&self, wanted: &Wanted) -> bool {
        let is_large = |least| self.size_bytes.is_some_and(|sizes| sizes.max >= least);
        let is_new = |since| self.mtime.is_some_and(|times| times.max >= since);
        let has = |word: &Vec<u8>| self.markers.as_ref().is_none_or(|all| all.may_have(word));
        self.files > 0
            && wanted.min_bytes.is_none_or(is_large)
            && wanted.since.is_none_or(is_new)
            && wanted.words.iter().all(has)
    }
}

/// Whether words of paths are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collect {
    Numbers,
    Words,
}

/// A summary that is being made.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    summary: Summary,
    words: Hashes,
    /// Number of the directory whose words were added last.
    directory: u64,
}

impl Growing {
    /// Adds a member. `directory` is the number of the directory, from 1.
    pub(crate) fn add(
        &mut self,
        dir: &Directory<'_>,
        directory: u64,
        entry: &Entry,
        collect: Collect,
    ) {
        let Growing { summary, .. } = self;
        summary.files += 1;
        summary.size_sum_bytes = summary.size_sum_bytes.saturating_add(entry.size_bytes);
        let disk = entry.blocks.saturating_mul(512);
        summary.disk_bytes = summary.disk_bytes.saturating_add(disk);
        Range::add(&mut summary.size_bytes, entry.size_bytes);
        Range::add(&mut summary.mtime, entry.mtime);
        Range::add(&mut summary.atime, entry.atime);
        Range::add(&mut summary.ctime, entry.ctime);
        if collect == Collect::Words {
            if self.directory != directory {
                self.directory = directory;
                self.words.extend(hashes(dir.path));
            }
            self.words.extend(hashes(&entry.name));
        }
    }

    pub(crate) fn finish(mut self, collect: Collect) -> Summary {
        if collect == Collect::Words {
            self.summary.markers = Some(Markers::new(&self.words));
        }
        self.summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        let entry = ("[a-d]{1,2}[.-][a-d]{1,2}", 0..50u64, 0..50i64);
        let entry = entry.prop_map(|(name, size_bytes, secs)| Entry {
            name: name.into_bytes(),
            size_bytes,
            mtime: Timestamp { secs, nanos: 0 },
            ..Entry::default()
        });
        proptest::collection::vec(entry, 0..12)
    }

    proptest! {
        /// "checking whether […] the targeted files *might* be within this group" (section 3.2).
        #[test]
        fn no_summary_excludes_a_group_with_a_match(
            entries in entries(),
            word in proptest::option::of("[a-d]{1,2}"),
            least in proptest::option::of(0..60u64),
            since in proptest::option::of(0..60i64),
        ) {
            let wanted = Wanted {
                words: word.into_iter().map(String::into_bytes).collect(),
                min_bytes: least,
                since: since.map(|secs| Timestamp { secs, nanos: 0 }),
            };
            let dir = Directory { path: b"/a/bc", entries: &entries };
            let mut growing = Growing::default();
            for entry in &entries {
                growing.add(&dir, 1, entry, Collect::Words);
            }
            let summary = growing.finish(Collect::Words);
            let has_match = entries.iter().any(|entry| wanted.admits(dir.path, entry));
            prop_assert!(summary.may_hold(&wanted) || !has_match);
            let largest = entries.iter().map(|entry| entry.size_bytes).max();
            prop_assert_eq!(summary.size_bytes.map(|sizes| sizes.max), largest);
        }
    }
}
