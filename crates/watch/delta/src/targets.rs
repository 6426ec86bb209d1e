//! Determines from the dirty set which directories to read again.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::CString;
use std::sync::Arc;

use trawl_changes::{
    Dirty, DirtyDirectory, KeyResolver, NameChange, ObjectKey, ObjectPlace, Reached,
    ResolvedDirectory,
};
use trawl_model::path;
use trawl_scan::{Excludes, Extent};

use crate::catch_up::{CatchUpResult, Suspect};
use crate::error::{ApplyError, Result, Unappliable};

/// A path, in path order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key(Vec<u8>);

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        path::cmp(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Directories to read, in path order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Targets {
    dirs: BTreeMap<Key, Target>,
    /// Objects, by device and inode number, that are dirty under all names that the index has of
    /// them.
    pub(crate) objects: HashSet<(u64, u64)>,
    /// Directories in which a name may have been given to another object.
    changed: HashSet<Vec<u8>>,
    /// Objects that need not be looked up yet.
    pub(crate) named: Named,
}

/// Objects that were reported under a name, by inode number. The entry found under that name tells
/// whether it is theirs, and whether they have others.
pub(crate) type Named = HashMap<u64, ObjectKey>;

/// Names in a directory.
pub(crate) type NameSet = BTreeSet<Vec<u8>>;

/// The parts of a directory to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) extent: Extent,
    pub(crate) origin: Origin,
    /// The dirty names of a listing; `None` if any name may be dirty.
    pub(crate) names: Option<Arc<NameSet>>,
}

/// The reason for reading a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The directory is dirty: it is read if the index has it.
    Dirty,
    /// The directory was moved there: it is read if the index has it, or if its parent was read.
    Moved,
    /// The directory was found in its parent: the index must have it.
    Found,
}

impl Targets {
    /// Returns the targets that cover the dirty entries below `root`.
    pub(crate) fn of(
        dirty: &Dirty,
        root: &[u8],
        excludes: &Excludes,
        places: &mut dyn KeyResolver,
    ) -> Result<Targets> {
        if !dirty.everything.is_empty() {
            return Err(ApplyError::Unappliable(Unappliable::Everything));
        }
        let mut targets = Targets::default();
        let mut changed = HashMap::new();
        for (key, directory) in &dirty.directories {
            let ResolvedDirectory::At(path) = places.place(key.as_ref())? else {
                // A directory that was removed or moved out was also reported by its name.
                continue;
            };
            let mut paths = places.also(key.as_ref())?;
            paths.push(path);
            for path in paths {
                targets.add_directory(&path, directory, (root, excludes));
                if is_listing_changed(directory) {
                    changed.insert(path, directory);
                }
            }
        }
        for (key, reached) in &dirty.objects {
            if *reached == Reached::Unnamed {
                targets.add_all_names(key, root, places)?;
                continue;
            }
            // Two keys may share an inode number, since numbers are reused: one of the two is
            // looked up.
            let ino = places.inode_of(key.as_ref());
            let asked = match ino {
                Some(ino) => targets.named.insert(ino, key.clone()),
                None => Some(key.clone()),
            };
            if let Some(key) = asked {
                targets.add_all_names(&key, root, places)?;
            }
        }
        targets.list_new_whole(&changed);
        targets.changed = changed.into_keys().collect();
        Ok(targets)
    }

    /// Adds an object, wherever it is.
    pub(crate) fn add_all_names(
        &mut self,
        object: &ObjectKey,
        root: &[u8],
        places: &mut dyn KeyResolver,
    ) -> Result<()> {
        let place = places.object(object.as_ref())?;
        if let ObjectPlace::Directory(_) = place {
            for path in places.also(object.as_ref())? {
                self.add_object(ObjectPlace::Directory(path), root)?;
            }
        }
        self.add_object(place, root)
    }

    /// Adds the dirty part of a directory that is at this path.
    fn add_directory(
        &mut self,
        path: &[u8],
        directory: &DirtyDirectory,
        (root, excludes): (&[u8], &Excludes),
    ) {
        if is_listing_changed(directory) {
            self.add_above(path, root);
        }
        match directory {
            DirtyDirectory::Names(names) => {
                let names = names.keys().map(|name| name.to_vec());
                self.add_names(path.to_vec(), names);
            }
            DirtyDirectory::Listing => self.add(path.to_vec(), Extent::Listing),
            // The index need not have the directory that was moved here.
            DirtyDirectory::Subtree(_) if is_excluded(path, root, excludes) => {}
            DirtyDirectory::Subtree(_) => self.put(path.to_vec(), Origin::Moved),
        }
    }

    fn add_object(&mut self, place: ObjectPlace, root: &[u8]) -> Result<()> {
        match place {
            ObjectPlace::Gone | ObjectPlace::Outside => Ok(()),
            ObjectPlace::Directory(path) => {
                self.add_above(&path, root);
                self.add(path, Extent::Listing);
                Ok(())
            }
            ObjectPlace::At(path) => {
                self.add_above(&path, root);
                Ok(())
            }
            ObjectPlace::Object { dev, ino } => {
                self.objects.insert((dev, ino));
                Ok(())
            }
            ObjectPlace::Unknown => Err(ApplyError::Unappliable(Unappliable::Unnamed)),
        }
    }

    /// Adds the parent of `path`, which holds its row. The root's row is in no listing and is
    /// always read.
    pub(crate) fn add_above(&mut self, path: &[u8], root: &[u8]) {
        if let Some((above, name)) = path::split(path).filter(|_| path != root) {
            self.add_names(above.to_vec(), [name.to_vec()]);
        }
    }

    /// Adds a directory of which any part may be dirty.
    pub(crate) fn add(&mut self, path: Vec<u8>, extent: Extent) {
        let known = self.dirs.entry(Key(path));
        let known = known.or_insert(Target {
            extent,
            origin: Origin::Dirty,
            names: None,
        });
        known.names = None;
        if extent == Extent::Subtree {
            known.extent = extent;
        }
    }

    /// Adds a directory that must be rewritten, whether or not it is dirty.
    pub(crate) fn add_again(&mut self, path: Vec<u8>) {
        let above = path::split(&path);
        match above.is_some_and(|(above, _)| self.changed.contains(above)) {
            // It may be another directory that got this name since.
            true => self.add(path, Extent::Listing),
            false => self.add_names(path, []),
        }
    }

    /// Adds a directory with these dirty names.
    pub(crate) fn add_names(&mut self, path: Vec<u8>, names: impl IntoIterator<Item = Vec<u8>>) {
        let known = self.dirs.entry(Key(path));
        let known = known.or_insert_with(|| Target {
            extent: Extent::Listing,
            origin: Origin::Dirty,
            names: Some(Arc::default()),
        });
        if let Some(known) = &mut known.names {
            Arc::make_mut(known).extend(names);
        }
    }

    /// Adds all targets of `others`.
    pub(crate) fn add_all(&mut self, others: Targets) {
        for (Key(path), target) in others.dirs {
            match target.names {
                Some(names) => self.add_names(path, names.iter().cloned()),
                None => self.add(path, target.extent),
            }
        }
        self.objects.extend(others.objects);
    }

    /// Has directories listed as a whole whose own names were given to another object: they may not
    /// be the directories that the index has at their paths. The content of a directory that was
    /// moved in is read with it.
    fn list_new_whole(&mut self, changed: &HashMap<Vec<u8>, &DirtyDirectory>) {
        for (Key(path), target) in &mut self.dirs {
            let above = path::split(path);
            let above = above.and_then(|(above, name)| Some((changed.get(above)?, name)));
            let may_be_new = match above {
                None => false,
                Some((DirtyDirectory::Names(names), name)) => {
                    names.get(name) == Some(&NameChange::Listing)
                }
                Some((DirtyDirectory::Listing | DirtyDirectory::Subtree(_), _)) => true,
            };
            if may_be_new {
                target.names = None;
            }
        }
    }

    /// Adds entries that may differ from the index: names in their directories, and whole
    /// directories.
    pub(crate) fn add_suspects(&mut self, found: CatchUpResult, root: &[u8]) {
        if found.is_root_suspect {
            self.add(root.to_vec(), Extent::Listing);
            self.changed.insert(root.to_vec());
        }
        for suspect in found.suspects {
            let Suspect { dir, name, is_dir } = suspect;
            if is_dir {
                let path = path::join(&dir, &name);
                self.add_listing(path.clone());
                self.changed.insert(path);
            }
            self.add_names(dir, [name]);
        }
        let changed = &self.changed;
        for (Key(path), target) in &mut self.dirs {
            // Another directory may have got this name.
            if path::split(path).is_some_and(|(above, _)| changed.contains(above)) {
                target.names = None;
            }
        }
    }

    /// Adds a directory that may be new at its path, or about which nothing is known.
    fn add_listing(&mut self, path: Vec<u8>) {
        let known = self.dirs.entry(Key(path)).or_insert(Target {
            extent: Extent::Listing,
            origin: Origin::Moved,
            names: None,
        });
        known.names = None;
        if known.origin == Origin::Dirty {
            known.origin = Origin::Moved;
        }
    }

    /// Adds a directory that was found, with everything below.
    pub(crate) fn add_found(&mut self, path: Vec<u8>) {
        self.put(path, Origin::Found);
    }

    fn put(&mut self, path: Vec<u8>, origin: Origin) {
        let target = Target {
            extent: Extent::Subtree,
            origin,
            names: None,
        };
        self.dirs.insert(Key(path), target);
    }

    /// Drops targets below `dir`, except those in or below an entry for which `is_dir` holds: the
    /// others cannot exist.
    pub(crate) fn keep_below(&mut self, dir: &[u8], is_dir: impl Fn(&[u8]) -> bool) {
        let below = self.dirs.range(Key(dir.to_vec())..);
        let below = below.map(|(Key(path), _)| path);
        let mut gone: Vec<Key> = Vec::new();
        for path in below.take_while(|path| path::is_within(path, dir)) {
            let name = path.get(dir.len() + 1..).unwrap_or_default();
            let name = name.split(|byte| *byte == b'/').next().unwrap_or_default();
            if !name.is_empty() && !is_dir(name) {
                gone.push(Key(path.clone()));
            }
        }
        for key in gone {
            self.dirs.remove(&key);
        }
    }

    /// Returns true if `dir`, or something below it, is to be read.
    pub(crate) fn has_within(&self, dir: &[u8]) -> bool {
        let first = self.dirs.range(Key(dir.to_vec())..).next();
        first.is_some_and(|(Key(path), _)| path::is_within(path, dir))
    }

    /// Returns true if there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.dirs.is_empty()
    }

    /// Removes and returns the first target, and removes all targets that it covers.
    pub(crate) fn next(&mut self) -> Option<(Vec<u8>, Target)> {
        let (Key(path), target) = self.dirs.pop_first()?;
        while target.extent == Extent::Subtree
            && let Some(next) = self.dirs.first_entry()
            && path::is_within(&next.key().0, &path)
        {
            next.remove();
        }
        Some((path, target))
    }
}

/// Returns true if the directory's own attributes are dirty, too.
fn is_listing_changed(directory: &DirtyDirectory) -> bool {
    match directory {
        DirtyDirectory::Names(names) => names.values().any(|what| *what == NameChange::Listing),
        DirtyDirectory::Listing | DirtyDirectory::Subtree(_) => true,
    }
}

/// Returns true if a scan leaves out this directory, or one above it.
fn is_excluded(path: &[u8], root: &[u8], excludes: &Excludes) -> bool {
    let mut at = path;
    let mut joined = Vec::new();
    while let Some((dir, name)) = path::split(at).filter(|_| at != root) {
        let is_out =
            CString::new(name).is_ok_and(|name| excludes.excludes(dir, &name, &mut joined));
        if is_out {
            return true;
        }
        at = dir;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_subtree_covers_is_not_read_twice() {
        let mut targets = Targets::default();
        for path in ["/a/b", "/a", "/a-b", "/a/b/c"] {
            targets.add(path.into(), Extent::Listing);
        }
        targets.add(b"/a/b".to_vec(), Extent::Subtree);
        targets.add(b"/a/b".to_vec(), Extent::Listing);
        let mut taken = Vec::new();
        while let Some((path, extent)) = targets.next() {
            taken.push((String::from_utf8(path).unwrap(), extent.extent));
        }
        let wanted = [
            ("/a", Extent::Listing),
            ("/a/b", Extent::Subtree),
            ("/a-b", Extent::Listing),
        ];
        assert_eq!(
            taken,
            wanted.map(|(path, extent)| (path.to_owned(), extent))
        );
    }
}
