//! Changes as a change source reports them: names, objects, directories and subtrees that may no
//! longer be as they were recorded.
//!
//! A change is a hint, never a state: the receiver reads the file system again and records its
//! current state. Objects are identified by an [`ObjectKey`], which renames do not change.

use std::borrow::Borrow;
use std::fmt;

/// Id of a file system, assigned by the kernel (`fsid_t`) or by the source. All zeroes is a valid
/// id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileSystemId(pub [u8; 8]);

/// Length in bytes of the header before the handle: file system id, handle length and handle type.
const HEAD_BYTES: usize = 16;

/// Stable identity of a file or directory: its file system and its file handle. No rename changes
/// it, and no later file reuses it.
///
/// The layout matches the kernel's records: the file system id (8 bytes), the handle's length (4,
/// native byte order), its type (4, native byte order) and its bytes. Keys can therefore be
/// compared and hashed in the form in which they were received. A key is opaque and meaningful on
/// this machine only.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey(Box<[u8]>);

/// A borrowed [`ObjectKey`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef<'a>(&'a [u8]);

impl ObjectKey {
    /// Makes a key from a handle's file system, type and bytes.
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

    /// Returns a borrowed view of the key.
    #[must_use]
    pub fn as_ref(&self) -> ObjectRef<'_> {
        ObjectRef(&self.0)
    }
}

impl<'a> ObjectRef<'a> {
    /// Parses a key from its bytes; returns `None` unless their length matches the header.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let length = u32::from_ne_bytes(bytes.get(8..12)?.try_into().ok()?);
        let handle = bytes.get(HEAD_BYTES..)?;
        (handle.len() == usize::try_from(length).ok()?).then_some(ObjectRef(bytes))
    }

    /// Returns an owned copy of the key.
    #[must_use]
    pub fn to_key(self) -> ObjectKey {
        ObjectKey(self.0.into())
    }

    /// Returns the whole key in its binary layout.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns the id of the file system.
    #[must_use]
    pub fn file_system(self) -> FileSystemId {
        let mut id = [0; 8];
        id.copy_from_slice(&self.0[..8]);
        FileSystemId(id)
    }

    /// Returns the type of the handle.
    #[must_use]
    pub fn kind(self) -> i32 {
        let mut kind = [0; 4];
        kind.copy_from_slice(&self.0[12..HEAD_BYTES]);
        i32::from_ne_bytes(kind)
    }

    /// Returns the bytes of the handle.
    #[must_use]
    pub fn handle(self) -> &'a [u8] {
        &self.0[HEAD_BYTES..]
    }
}

/// Allows a map with [`ObjectKey`] keys to be looked up by the bytes of an [`ObjectRef`].
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

/// The part of a name's state that may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameChange {
    /// The attributes or content of the object with this name.
    Attributes,
    /// Also whether the name exists and which object it names, and the directory's own attributes.
    Listing,
}

/// How an object was reached when it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reached {
    /// Through a name, which is also reported as changed.
    ByName,
    /// Without a name that the source can report.
    Unnamed,
}

/// Why a whole subtree may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SubtreeCause {
    /// The directory was moved, perhaps from a place that is not watched: all paths below it
    /// changed.
    Moved,
    /// The directory is new to the source and may have had content before it was watched.
    New,
    /// Too many changes occurred below the directory to list them one by one.
    Crowded,
}

/// Why the record of a file system can no longer be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doubt {
    /// The kernel's event queue overflowed, and events were lost.
    QueueOverflow,
    /// Received data could not be parsed.
    Malformed,
    /// The limit on marks was reached, so some directories could not be watched.
    TooManyDirectories,
    /// There were more changes than the receiver had room for.
    Crowded,
    /// Something was mounted or unmounted, so that some directories were not watched.
    Mounts,
}

/// A part of a file system that may no longer be as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// A name in a directory.
    Name {
        /// The directory.
        directory: ObjectRef<'a>,
        /// The name, one component.
        name: &'a [u8],
        /// The part of its state that may have changed.
        what: NameChange,
    },
    /// The attributes or content of an object, under all its names.
    Object {
        /// The object; for a directory, the names in it are not included.
        object: ObjectRef<'a>,
        /// How the object was reached.
        reached: Reached,
    },
    /// All names in a directory, and its own attributes.
    Listing {
        /// The directory.
        directory: ObjectRef<'a>,
    },
    /// A directory and everything below it.
    Subtree {
        /// The directory.
        directory: ObjectRef<'a>,
        /// The reason.
        cause: SubtreeCause,
    },
    /// Everything in a file system.
    Everything {
        /// The file system.
        file_system: FileSystemId,
        /// The reason.
        cause: Doubt,
    },
}

/// Receives changes as a source reads them.
pub trait Receiver {
    /// Receives one change. The data that it borrows is valid only during the call.
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
