//! What a change source says: which names, objects, directories and subtrees may no longer be as
//! they were recorded.
//!
//! A change is a hint, never a state: whoever receives one looks at the file system, and what that
//! says then is true. Objects are named by an [`ObjectKey`], which renames do not change.

use std::borrow::Borrow;
use std::fmt;

/// Which file system, as the kernel numbers it (`fsid_t`) or the source does. Zeroes are an id, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileSystemId(pub [u8; 8]);

/// Length of what stands before the handle: the file system's id, the handle's length and type.
const HEAD_BYTES: usize = 16;

/// A file or directory by a name that no rename changes and that no later file gets: its file
/// system and its file handle.
///
/// Laid out as the kernel's records are: the id (8 bytes), the handle's length (4, native order),
/// its type (4, native order), its bytes. So keys are compared and hashed as they were received.
/// Opaque, meaningful on this machine only.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey(Box<[u8]>);

/// An [`ObjectKey`] that lies in somebody else's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef<'a>(&'a [u8]);

impl ObjectKey {
    /// The key of a handle of this type with these bytes.
    #[must_use]
    pub fn new(file_system: FileSystemId, kind: i32, handle: &[u8]) -> Self {
        let length = u32::try_from(handle.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(HEAD_BYTES + handle.len());
        bytes.extend(file_system.0);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(handle);
        ObjectKey(bytes.into())
    }

    /// Borrows it.
    #[must_use]
    pub fn as_ref(&self) -> ObjectRef<'_> {
        ObjectRef(&self.0)
    }
}

impl<'a> ObjectRef<'a> {
    /// The key that `bytes` are; `None` if they are none.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let length = u32::from_ne_bytes(bytes.get(8..12)?.try_into().ok()?);
        let handle = bytes.get(HEAD_BYTES..)?;
        (handle.len() == usize::try_from(length).ok()?).then_some(ObjectRef(bytes))
    }

    /// Its own copy.
    #[must_use]
    pub fn to_key(self) -> ObjectKey {
        ObjectKey(self.0.into())
    }

    /// All of it, as it is laid out.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The file system.
    #[must_use]
    pub fn file_system(self) -> FileSystemId {
        let mut id = [0; 8];
        id.copy_from_slice(&self.0[..8]);
        FileSystemId(id)
    }

    /// The type of the handle.
    #[must_use]
    pub fn kind(self) -> i32 {
        let mut kind = [0; 4];
        kind.copy_from_slice(&self.0[12..HEAD_BYTES]);
        i32::from_ne_bytes(kind)
    }

    /// The bytes of the handle.
    #[must_use]
    pub fn handle(self) -> &'a [u8] {
        &self.0[HEAD_BYTES..]
    }
}

/// Maps of keys are asked with the bytes of a borrowed one.
impl Borrow<[u8]> for ObjectKey {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for ObjectRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in &self.0[..8] {
            write!(f, "{byte:02x}")?;
        }
        write!(f, ":{:x}:", self.kind())?;
        for byte in self.handle() {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// What may be different about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameChange {
    /// The attributes or the content of what it stands for.
    Attributes,
    /// Also whether it is there, and what it stands for; and the directory's own attributes.
    Listing,
}

/// How an object was reached when it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reached {
    /// Through a name, which is reported as changed, too.
    ByName,
    /// In a way that tells no name.
    Unnamed,
}

/// Why a whole subtree may be different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SubtreeCause {
    /// The directory was moved, perhaps in from where nobody watches: all paths below are others.
    Moved,
    /// It is new to the source, and may have had content before it was watched.
    New,
    /// Too much of it changed to be listed.
    Crowded,
}

/// Why nothing of a file system can be trusted any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doubt {
    /// The kernel's queue was full, and events were lost.
    QueueOverflow,
    /// What was received could not be understood.
    Malformed,
    /// Records are missing from a recording.
    MissingRecords,
    /// Directories could not be watched: the limit on marks is reached.
    TooManyDirectories,
    /// More changed than the receiver had room for.
    Crowded,
    /// Something was mounted or unmounted, so that directories were not watched.
    Mounts,
}

/// Something that may no longer be as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// A name in a directory.
    Name {
        /// The directory.
        directory: ObjectRef<'a>,
        /// The name, one component.
        name: &'a [u8],
        /// What about it.
        what: NameChange,
    },
    /// The attributes or content of an object, under all its names.
    Object {
        /// The object; a directory's names are not meant.
        object: ObjectRef<'a>,
        /// How it was reached.
        reached: Reached,
    },
    /// All names in a directory, and its own attributes.
    Listing {
        /// The directory.
        directory: ObjectRef<'a>,
    },
    /// A directory and everything below.
    Subtree {
        /// The directory.
        directory: ObjectRef<'a>,
        /// Why.
        cause: SubtreeCause,
    },
    /// Everything in a file system.
    Everything {
        /// The file system.
        file_system: FileSystemId,
        /// Why.
        cause: Doubt,
    },
}

/// Takes changes as a source reads them.
pub trait Receiver {
    /// One change. What it borrows is gone afterwards.
    fn change(&mut self, change: Change<'_>);
}

impl<F: FnMut(Change<'_>)> Receiver for F {
    fn change(&mut self, change: Change<'_>) {
        self(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn a_key_is_its_parts_and_is_found_by_its_bytes() {
        let id = FileSystemId(*b"\x01\x02\x03\x04\x05\x06\x07\x08");
        let key = ObjectKey::new(id, 0x81, b"handle");
        let parts = (
            key.as_ref().file_system(),
            key.as_ref().kind(),
            key.as_ref().handle(),
        );
        assert_eq!(parts, (id, 0x81, &b"handle"[..]));
        let bytes = key.as_ref().as_bytes().to_vec();
        assert_eq!(
            ObjectRef::parse(&bytes).map(ObjectRef::to_key),
            Some(key.clone())
        );
        assert_eq!(ObjectRef::parse(&bytes[..bytes.len() - 1]), None);
        assert_eq!(ObjectRef::parse(b"short"), None);
        let map = HashMap::from([(key, 7)]);
        assert_eq!(map.get(&bytes[..]), Some(&7));
    }
}
