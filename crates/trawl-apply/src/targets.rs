//! From what is dirty to the directories that are read again.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::CString;
use std::sync::Arc;

use trawl_live::{
    Dirty, DirtyDirectory, NameChange, Names, ObjectKey, ObjectPlace, Place, Places, Reached,
};
use trawl_model::path;
use trawl_scan::{Excludes, Extent};

use crate::catch_up::{Found, Suspect};
use crate::error::{ApplyError, Result, Unappliable};

/// A path, ordered as paths are.
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
    /// Objects, by device and inode number, that are dirty under all names
    /// that the index has of them.
    pub(crate) objects: HashSet<(u64, u64)>,
    /// Directories in which names are dirty with what they stand for.
    changed: HashSet<Vec<u8>>,
    /// What need not be asked for yet.
    pub(crate) named: Named,
}

/// Objects of which one name is dirty, by inode number: whether they have
/// others is told by what is found under that name.
pub(crate) type Named = HashMap<u64, ObjectKey>;

/// Names in a directory.
pub(crate) type NameSet = BTreeSet<Vec<u8>>;

/// What is read of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) extent: Extent,
    pub(crate) origin: Origin,
    /// All that is dirty of a listing; `None` if that may be anything.
    pub(crate) names: Option<Arc<NameSet>>,
}

/// Why a directory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is dirty: read if the index has it.
    Dirty,
    /// It was moved there: read if the index has it, or the one that holds it
    /// was read.
    Moved,
    /// It was found in the one that holds it: the index is to have it.
    Found,
}

impl Targets {
    /// Those that cover what is dirty below `root`.
    pub(crate) fn of(
        dirty: &Dirty,
        root: &[u8],
        excludes: &Excludes,
        places: &mut dyn Places,
    ) -> Result<Targets> {
        if !dirty.everything.is_empty() {
            return Err(ApplyError::Unappliable(Unappliable::Everything));
        }
        let mut targets = Targets::default();
        let mut changed = HashMap::new();
        for (key, directory) in &dirty.directories {
            let Place::At(path) = places.place(key.as_ref())? else {
                // What is gone, or went out, was reported by its name, too.
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
            // Inode numbers are given again: one of two is asked for.
            let ino = places.inode_of(key.as_ref());
            let asked = match ino {
                Some(ino) => targets.named.insert(ino, key.clone()),
                None => Some(key.clone()),
            };
            if let Some(key) = asked {
                targets.add_if_several(&key, root, places)?;
            }
        }
        targets.list_new_whole(&changed);
        targets.changed = changed.into_keys().collect();
        Ok(targets)
    }

    /// Adds an object of which a name is dirty, if it has others.
    pub(crate) fn add_if_several(
        &mut self,
        object: &ObjectKey,
        root: &[u8],
        places: &mut dyn Places,
    ) -> Result<()> {
        match places.names_of(object.as_ref()) {
            Names::None | Names::One => Ok(()),
            Names::Several => self.add_all_names(object, root, places),
        }
    }

    /// Adds an object, wherever it is.
    fn add_all_names(
        &mut self,
        object: &ObjectKey,
        root: &[u8],
        places: &mut dyn Places,
    ) -> Result<()> {
        let place = places.object(object.as_ref())?;
        if let ObjectPlace::Directory(_) = place {
            for path in places.also(object.as_ref())? {
                self.add_object(ObjectPlace::Directory(path), root)?;
            }
        }
        self.add_object(place, root)
    }

    /// Adds what is dirty of a directory that is at this path.
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
            // What was moved here need not be known.
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

    /// Adds the directory that holds `path`, whose row is there; the root's
    /// stands alone, and is always read.
    pub(crate) fn add_above(&mut self, path: &[u8], root: &[u8]) {
        if let Some((above, name)) = path::split(path).filter(|_| path != root) {
            self.add_names(above.to_vec(), [name.to_vec()]);
        }
    }

    /// Adds one that is dirty, whatever of it is.
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

    /// Adds one that is to be written again, whether or not it is dirty.
    pub(crate) fn add_again(&mut self, path: Vec<u8>) {
        let above = path::split(&path);
        match above.is_some_and(|(above, _)| self.changed.contains(above)) {
            // It may have come to its name since.
            true => self.add(path, Extent::Listing),
            false => self.add_names(path, []),
        }
    }

    /// Adds one of which these names are dirty.
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

    /// Adds all that others are.
    pub(crate) fn add_all(&mut self, others: Targets) {
        for (Key(path), target) in others.dirs {
            match target.names {
                Some(names) => self.add_names(path, names.iter().cloned()),
                None => self.add(path, target.extent),
            }
        }
        self.objects.extend(others.objects);
    }

    /// Has those listed as a whole that may be other directories than the
    /// index has at their paths: their own names were given to something.
    /// What lies below one that came from elsewhere is read with it.
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

    /// Adds what may be otherwise than the index has it: names in their directories, and
    /// directories as a whole.
    pub(crate) fn add_suspects(&mut self, found: Found, root: &[u8]) {
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
            // Another directory may have come to its name.
            if path::split(path).is_some_and(|(above, _)| changed.contains(above)) {
                target.names = None;
            }
        }
    }

    /// Adds a directory that may be new at its path, or of which nothing is known.
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

    /// Adds one that was found, with all below.
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

    /// Leaves out what lies below `dir`, but for what lies in or below those
    /// of its entries that `is_dir`: it cannot be there.
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

    /// True if something is to be read that is `dir`, or below it.
    pub(crate) fn has_within(&self, dir: &[u8]) -> bool {
        let first = self.dirs.range(Key(dir.to_vec())..).next();
        first.is_some_and(|(Key(path), _)| path::is_within(path, dir))
    }

    /// True if there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.dirs.is_empty()
    }

    /// The first, which is taken out with all that it covers.
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

/// True if the directory's own attributes are dirty, too.
fn is_listing_changed(directory: &DirtyDirectory) -> bool {
    match directory {
        DirtyDirectory::Names(names) => names.values().any(|what| *what == NameChange::Listing),
        DirtyDirectory::Listing | DirtyDirectory::Subtree(_) => true,
    }
}

/// True if a scan leaves out a directory, or one above it.
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
