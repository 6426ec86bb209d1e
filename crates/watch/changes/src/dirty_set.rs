//! A set of everything that is dirty, without duplicates, in bounded memory.
//!
//! Invariant: every change that was put in is covered by the contents until they are
//! taken. If there is too much, names are replaced by their directory, directories by a subtree that contains them ([`DirtySet::shrink`]), and in the end by the file
//! system ([`Change::Everything`]): more is marked dirty, never less.

use std::collections::{BTreeMap, HashMap};

use trawl_model::change::{
    Change, Doubt, FileSystemId, NameChange, ObjectKey, ObjectRef, Reached, Receiver, SubtreeCause,
};

use crate::source::{KeyResolver, Names};

/// Size limits of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of names kept for one directory; beyond that, the directory is dirty as a
    /// whole.
    pub names_a_directory: usize,
    /// Size in bytes at which the set should be made smaller ([`DirtySet::is_crowded`]).
    pub crowded_bytes: usize,
    /// Maximum size in bytes: if it would be exceeded, the file system is dirty as a whole.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            names_a_directory: 4096,
            crowded_bytes: 64 << 20,
            max_bytes: 96 << 20,
        }
    }
}

/// The dirty part of one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirtyDirectory {
    /// These names; also the directory's own attributes if one of them is [`NameChange::Listing`].
    Names(HashMap<Box<[u8]>, NameChange>),
    /// All names, and the directory's own attributes.
    Listing,
    /// Also everything below it.
    Subtree(SubtreeCause),
}

/// Everything that is dirty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirty {
    /// Dirty directories.
    pub directories: HashMap<ObjectKey, DirtyDirectory>,
    /// Objects whose attributes or content are dirty under all their names. One that was
    /// [`Reached::ByName`] needs no further look if it has one name and that name is dirty, too.
    pub objects: HashMap<ObjectKey, Reached>,
    /// File systems of which nothing can be trusted; they have no entries in the other maps.
    pub everything: BTreeMap<FileSystemId, Doubt>,
}

/// Collects changes; see the module documentation.
#[derive(Clone, Debug)]
pub struct DirtySet {
    limits: Limits,
    dirty: Dirty,
    bytes: usize,
}

/// Approximate memory overhead in bytes of a map entry: its slot at a usual load, and the
/// allocator's header.
const ENTRY_BYTES: usize = 64;

fn key_bytes(key: ObjectRef<'_>) -> usize {
    key.as_bytes().len() + ENTRY_BYTES
}

fn name_bytes(name: &[u8]) -> usize {
    name.len() + ENTRY_BYTES
}

fn names_bytes(directory: &DirtyDirectory) -> usize {
    match directory {
        DirtyDirectory::Names(names) => names.keys().map(|name| name_bytes(name)).sum(),
        DirtyDirectory::Listing | DirtyDirectory::Subtree(_) => 0,
    }
}

impl Dirty {
    /// Returns true if nothing is dirty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of dirty names, directories, objects and file systems.
    #[must_use]
    pub fn len(&self) -> usize {
        let inside = self.directories.values().map(|directory| match directory {
            DirtyDirectory::Names(names) => names.len(),
            DirtyDirectory::Listing | DirtyDirectory::Subtree(_) => 1,
        });
        inside.sum::<usize>() + self.objects.len() + self.everything.len()
    }
}

impl Default for DirtySet {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl DirtySet {
    /// Makes an empty set.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        DirtySet {
            limits,
            dirty: Dirty::default(),
            bytes: 0,
        }
    }

    /// Returns the current contents.
    #[must_use]
    pub fn dirty(&self) -> &Dirty {
        &self.dirty
    }

    /// Returns the approximate memory use in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if the set should soon be taken or made smaller.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.bytes >= self.limits.crowded_bytes
    }

    /// Removes and returns the contents.
    pub fn take(&mut self) -> Dirty {
        self.bytes = 0;
        std::mem::take(&mut self.dirty)
    }

    /// Adds contents that were taken and could not be processed.
    pub fn merge(&mut self, other: &Dirty) {
        for (file_system, cause) in &other.everything {
            self.put_everything(*file_system, *cause);
        }
        for (key, directory) in &other.directories {
            let key = key.as_ref();
            match directory {
                DirtyDirectory::Names(names) => {
                    for (name, what) in names {
                        self.put_name(key, name, *what);
                    }
                }
                whole => self.put_whole(key, whole.clone()),
            }
        }
        for (key, reached) in &other.objects {
            self.put_object(key.as_ref(), *reached);
        }
    }

    fn is_pointless(&self, key: ObjectRef<'_>) -> bool {
        self.dirty.everything.contains_key(&key.file_system())
    }

    fn put_name(&mut self, key: ObjectRef<'_>, name: &[u8], what: NameChange) {
        if self.is_pointless(key) {
            return;
        }
        let Some(directory) = self.dirty.directories.get_mut(key.as_bytes()) else {
            self.bytes += key_bytes(key) + name_bytes(name);
            let names = HashMap::from([(name.into(), what)]);
            let names = DirtyDirectory::Names(names);
            self.dirty.directories.insert(key.to_key(), names);
            return self.keep_to_limit(key.file_system());
        };
        let DirtyDirectory::Names(names) = directory else {
            return;
        };
        if let Some(known) = names.get_mut(name) {
            *known = (*known).max(what);
        } else if names.len() < self.limits.names_a_directory {
            names.insert(name.into(), what);
            self.bytes += name_bytes(name);
            self.keep_to_limit(key.file_system());
        } else {
            self.bytes -= names_bytes(directory);
            *directory = DirtyDirectory::Listing;
        }
    }

    /// Adds a listing or a subtree.
    fn put_whole(&mut self, key: ObjectRef<'_>, whole: DirtyDirectory) {
        if self.is_pointless(key) {
            return;
        }
        match self.dirty.directories.get_mut(key.as_bytes()) {
            None => {
                self.bytes += key_bytes(key);
                self.dirty.directories.insert(key.to_key(), whole);
                self.keep_to_limit(key.file_system());
            }
            Some(DirtyDirectory::Subtree(_)) => {}
            Some(known) => {
                self.bytes -= names_bytes(known);
                *known = whole;
            }
        }
    }

    fn put_object(&mut self, key: ObjectRef<'_>, reached: Reached) {
        if self.is_pointless(key) {
            return;
        }
        if let Some(known) = self.dirty.objects.get_mut(key.as_bytes()) {
            *known = (*known).max(reached);
            return;
        }
        self.bytes += key_bytes(key);
        self.dirty.objects.insert(key.to_key(), reached);
        self.keep_to_limit(key.file_system());
    }

    fn put_everything(&mut self, file_system: FileSystemId, cause: Doubt) {
        self.dirty.everything.entry(file_system).or_insert(cause);
        let stays = |key: &ObjectKey| key.as_ref().file_system() != file_system;
        self.dirty.directories.retain(|key, _| stays(key));
        self.dirty.objects.retain(|key, _| stays(key));
        self.count_again();
    }

    fn keep_to_limit(&mut self, file_system: FileSystemId) {
        if self.bytes > self.limits.max_bytes {
            self.put_everything(file_system, Doubt::Crowded);
        }
    }

    fn count_again(&mut self) {
        let directories = self.dirty.directories.iter();
        let directories =
            directories.map(|(key, directory)| key_bytes(key.as_ref()) + names_bytes(directory));
        let objects = self.dirty.objects.keys().map(|key| key_bytes(key.as_ref()));
        self.bytes = directories.sum::<usize>() + objects.sum::<usize>();
    }

    /// Makes a crowded set smaller. First removes objects that need no further look, then marks the
    /// directories with the most names dirty as a whole, then replaces directories that are close
    /// together by subtrees. Stops as soon as half of the limit is free. If that is not enough, the
    /// file systems with the most entries become dirty as a whole.
    pub fn shrink(&mut self, places: &mut dyn KeyResolver) {
        if !self.is_crowded() {
            return;
        }
        self.drop_plain_objects(places);
        self.fold_names();
        while self.is_too_large() && self.fold_directories(places) {}
        while self.is_crowded() {
            let Some(largest) = self.largest_file_system() else {
                return;
            };
            self.put_everything(largest, Doubt::Crowded);
        }
    }

    fn is_too_large(&self) -> bool {
        self.bytes > self.limits.crowded_bytes / 2
    }

    /// Removes objects that are dirty only under their one name, which is dirty anyway. The name
    /// under which a change was reported proves nothing: a process may have opened the object by a
    /// name that was removed since.
    fn drop_plain_objects(&mut self, places: &mut dyn KeyResolver) {
        let directories = &self.dirty.directories;
        let is_plain = |directory: &ObjectKey, name: &[u8]| match directories.get(directory) {
            Some(DirtyDirectory::Names(names)) => names.contains_key(name),
            Some(DirtyDirectory::Listing | DirtyDirectory::Subtree(_)) => true,
            None => false,
        };
        self.dirty
            .objects
            .retain(|key, reached| match places.names_of(key.as_ref()) {
                Names::None => false,
                Names::One { directory, name } => {
                    *reached == Reached::Unnamed || !is_plain(&directory, &name)
                }
                Names::Several => true,
            });
        self.count_again();
    }

    fn fold_names(&mut self) {
        let mut sizes: Vec<(usize, ObjectKey)> = self
            .dirty
            .directories
            .iter()
            .map(|(key, directory)| (names_bytes(directory), key.clone()))
            .filter(|(bytes, _)| *bytes > 0)
            .collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        for (_, key) in sizes {
            if !self.is_too_large() {
                return;
            }
            self.put_whole(key.as_ref(), DirtyDirectory::Listing);
        }
    }

    /// Replaces directories by their parents, first those whose parent has several; returns false
    /// if nothing was replaced. Each directory moves up one level, so this terminates.
    fn fold_directories(&mut self, places: &mut dyn KeyResolver) -> bool {
        let mut below: HashMap<ObjectKey, Vec<ObjectKey>> = HashMap::new();
        for key in self.dirty.directories.keys() {
            if let Some(parent) = places.parent(key.as_ref()) {
                below.entry(parent).or_default().push(key.clone());
            }
        }
        let directories = &self.dirty.directories;
        let (together, alone): (Vec<_>, Vec<_>) = below
            .into_iter()
            .partition(|(parent, inside)| inside.len() > 1 || directories.contains_key(parent));
        let folded = if together.is_empty() { alone } else { together };
        for (parent, inside) in &folded {
            for key in inside {
                if let Some(directory) = self.dirty.directories.remove(key) {
                    self.bytes -= key_bytes(key.as_ref()) + names_bytes(&directory);
                }
            }
            let subtree = DirtyDirectory::Subtree(SubtreeCause::Crowded);
            self.put_whole(parent.as_ref(), subtree);
        }
        !folded.is_empty()
    }

    fn largest_file_system(&self) -> Option<FileSystemId> {
        let mut sizes: BTreeMap<FileSystemId, usize> = BTreeMap::new();
        for (key, directory) in &self.dirty.directories {
            let size = sizes.entry(key.as_ref().file_system()).or_default();
            *size += key_bytes(key.as_ref()) + names_bytes(directory);
        }
        for key in self.dirty.objects.keys() {
            *sizes.entry(key.as_ref().file_system()).or_default() += key_bytes(key.as_ref());
        }
        sizes
            .into_iter()
            .max_by_key(|(_, bytes)| *bytes)
            .map(|(file_system, _)| file_system)
    }
}

impl Receiver for DirtySet {
    fn change(&mut self, change: Change<'_>) {
        match change {
            Change::Name {
                directory,
                name,
                what,
            } => self.put_name(directory, name, what),
            Change::Object { object, reached } => self.put_object(object, reached),
            Change::Listing { directory } => {
                self.put_whole(directory, DirtyDirectory::Listing);
            }
            Change::Subtree { directory, cause } => {
                self.put_whole(directory, DirtyDirectory::Subtree(cause));
            }
            Change::Everything { file_system, cause } => self.put_everything(file_system, cause),
        }
    }
}
