//! Checks whether the dirty set covers the differences between two walks.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use trawl_changes::{Dirty, DirtyDirectory, NameChange, ObjectKey};

use crate::covers::Covers as _;
use crate::walk::{Entry, Tree};

/// Result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Number of paths that differ.
    pub(crate) different: usize,
    /// Number of paths that differ only in their blocks and are not dirty; no event reports that.
    pub(crate) blocks_alone: usize,
    /// Number of dirty names.
    pub(crate) names: usize,
    /// Number of these names whose entries are unchanged, or did not exist before or after.
    pub(crate) needless: usize,
    /// Paths of files with several names that differ and are not dirty: without privileges, changes
    /// through a name outside the watched tree are not reported.
    pub(crate) elsewhere: Vec<PathBuf>,
    /// Other paths that differ and are not dirty. There must be none.
    pub(crate) uncovered: Vec<PathBuf>,
}

fn name_of(path: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt;
    path.file_name().unwrap_or_default().as_bytes()
}

/// Returns true if the entry's own attributes are covered.
fn is_entry_covered(dirty: &Dirty, path: &Path, entry: &Entry) -> bool {
    let parent = entry.parent.as_ref();
    dirty.covers_name(parent, name_of(path), NameChange::Attributes)
        || dirty.covers_object(entry.key.as_ref())
        || dirty.covers_subtree(entry.key.as_ref())
}

/// Returns true if the path is known to have been replaced, or is a dirty subtree; then everything
/// below it is examined.
fn is_replaced(dirty: &Dirty, path: &Path, before: Option<&Entry>, after: Option<&Entry>) -> bool {
    let entries = || before.into_iter().chain(after);
    if entries().any(|entry| dirty.covers_subtree(entry.key.as_ref())) {
        return true;
    }
    before.map(|entry| &entry.key) != after.map(|entry| &entry.key)
        && entries().any(|entry| {
            dirty.covers_name(entry.parent.as_ref(), name_of(path), NameChange::Listing)
        })
}

fn is_covered(dirty: &Dirty, root: &Path, path: &Path, before: &Tree, after: &Tree) -> bool {
    let (was, is) = (before.get(path), after.get(path));
    if was
        .into_iter()
        .chain(is)
        .any(|entry| is_entry_covered(dirty, path, entry))
    {
        return true;
    }
    let above = path.ancestors().take_while(|above| above.starts_with(root));
    above
        .into_iter()
        .any(|above| is_replaced(dirty, above, before.get(above), after.get(above)))
}

/// Compares two walks with the set that was dirty in between.
pub(crate) fn compare(dirty: &Dirty, root: &Path, before: &Tree, after: &Tree) -> Outcome {
    let mut outcome = Outcome::default();
    let mut changed: HashSet<(&ObjectKey, &[u8])> = HashSet::new();
    let paths: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for path in paths {
        let (was, is) = (before.get(path), after.get(path));
        let (attributes, blocks) = match (was, is) {
            (Some(was), Some(is)) => (
                was.attributes != is.attributes || was.key != is.key,
                was.blocks != is.blocks,
            ),
            _ => (true, true),
        };
        if !attributes && !blocks {
            continue;
        }
        let entries = was.into_iter().chain(is);
        changed.extend(entries.map(|entry| (&entry.parent, name_of(path))));
        let is_covered = is_covered(dirty, root, path, before, after);
        if attributes {
            outcome.different += 1;
            let mut entries = was.into_iter().chain(is);
            if !is_covered && entries.any(Entry::has_several_names) {
                outcome.elsewhere.push(path.clone());
            } else if !is_covered {
                outcome.uncovered.push(path.clone());
            }
        } else if !is_covered {
            outcome.blocks_alone += 1;
        }
    }
    (outcome.names, outcome.needless) = count_names(dirty, &changed);
    outcome
}

/// Returns the number of dirty names, and of those that did not change.
fn count_names(dirty: &Dirty, changed: &HashSet<(&ObjectKey, &[u8])>) -> (usize, usize) {
    let (mut names, mut needless) = (0, 0);
    for (key, directory) in &dirty.directories {
        if let DirtyDirectory::Names(dirty) = directory {
            names += dirty.len();
            let same = dirty
                .keys()
                .filter(|name| !changed.contains(&(key, &name[..])));
            needless += same.count();
        }
    }
    (names, needless)
}
