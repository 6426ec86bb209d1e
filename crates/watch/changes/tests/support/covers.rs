//! Whether the contents of a dirty set cover a change: what the set promises, in terms of its
//! fields. Each suite uses some of these functions.

#![allow(dead_code)]

use trawl_changes::{Dirty, DirtyDirectory, NameChange, ObjectRef};

/// Questions about what is dirty.
pub(crate) trait Covers {
    /// Returns true if this kind of change to the name is covered, not considering subtrees further
    /// up.
    fn covers_name(&self, directory: ObjectRef<'_>, name: &[u8], what: NameChange) -> bool;

    /// Returns true if the object's attributes and content are covered under all its names. Those
    /// of a directory are covered by any change of its listing.
    fn covers_object(&self, object: ObjectRef<'_>) -> bool;

    /// Returns true if the directory's whole listing is covered, not considering subtrees further
    /// up.
    fn covers_listing(&self, directory: ObjectRef<'_>) -> bool;

    /// Returns true if the directory and everything below is covered, not considering subtrees
    /// further up.
    fn covers_subtree(&self, directory: ObjectRef<'_>) -> bool;
}

impl Covers for Dirty {
    fn covers_name(&self, directory: ObjectRef<'_>, name: &[u8], what: NameChange) -> bool {
        self.everything.contains_key(&directory.file_system())
            || match self.directories.get(directory.as_bytes()) {
                Some(DirtyDirectory::Names(names)) => {
                    names.get(name).is_some_and(|dirty| *dirty >= what)
                }
                Some(DirtyDirectory::Listing | DirtyDirectory::Subtree(_)) => true,
                None => false,
            }
    }

    fn covers_object(&self, object: ObjectRef<'_>) -> bool {
        self.everything.contains_key(&object.file_system())
            || self.objects.contains_key(object.as_bytes())
            || match self.directories.get(object.as_bytes()) {
                Some(DirtyDirectory::Names(names)) => {
                    names.values().any(|what| *what == NameChange::Listing)
                }
                Some(DirtyDirectory::Listing | DirtyDirectory::Subtree(_)) => true,
                None => false,
            }
    }

    fn covers_listing(&self, directory: ObjectRef<'_>) -> bool {
        self.everything.contains_key(&directory.file_system())
            || matches!(
                self.directories.get(directory.as_bytes()),
                Some(DirtyDirectory::Listing | DirtyDirectory::Subtree(_))
            )
    }

    fn covers_subtree(&self, directory: ObjectRef<'_>) -> bool {
        self.everything.contains_key(&directory.file_system())
            || matches!(
                self.directories.get(directory.as_bytes()),
                Some(DirtyDirectory::Subtree(_))
            )
    }
}
