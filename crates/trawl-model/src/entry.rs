//! Records of one directory, as a source delivers them.
//!
//! A [`DirBatch`] owns two flat buffers (fixed-size rows and a heap of bytes),
//! so that a directory costs only a few allocations however many entries it
//! has.

use crate::acl::Acl;
use crate::id::{Dev, DirId, Gid, Uid};
use crate::issue::Issue;
use crate::time::Timestamp;

/// The type of a file system object, inode(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileType {
    /// Regular file, `f`.
    Regular,
    /// Directory, `d`.
    Directory,
    /// Symbolic link, `l`.
    Symlink,
    /// FIFO, `p`.
    Fifo,
    /// Socket, `s`.
    Socket,
    /// Block device, `b`.
    Block,
    /// Character device, `c`.
    Char,
    /// Any other type (specific to a file system).
    Unknown,
}

impl FileType {
    /// The bits of `st_mode` that hold the type (`S_IFMT`).
    pub const MASK: u32 = 0o170_000;

    /// Returns the type in a mode's `S_IFMT` bits.
    pub const fn from_mode(mode: u32) -> FileType {
        match mode & Self::MASK {
            0o100_000 => FileType::Regular,
            0o040_000 => FileType::Directory,
            0o120_000 => FileType::Symlink,
            0o010_000 => FileType::Fifo,
            0o140_000 => FileType::Socket,
            0o060_000 => FileType::Block,
            0o020_000 => FileType::Char,
            _ => FileType::Unknown,
        }
    }

    /// Returns the letter that find(1) uses in `-type` and `%y`.
    pub const fn letter(self) -> u8 {
        match self {
            FileType::Regular => b'f',
            FileType::Directory => b'd',
            FileType::Symlink => b'l',
            FileType::Fifo => b'p',
            FileType::Socket => b's',
            FileType::Block => b'b',
            FileType::Char => b'c',
            FileType::Unknown => b'U',
        }
    }
}

/// A byte range of a batch's heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset in bytes.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Span {
    /// The empty span.
    pub const EMPTY: Span = Span { start: 0, len: 0 };

    /// Returns true if the span is empty.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The attributes of an object, as returned by statx(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Inode number.
    pub ino: u64,
    /// Device number of the file system that holds the object.
    pub dev: Dev,
    /// Device number that a device file represents; otherwise 0:0.
    pub rdev: Dev,
    /// Type and permissions (`st_mode`).
    pub mode: u32,
    /// Number of hard links.
    pub nlink: u32,
    /// Owner.
    pub uid: Uid,
    /// Owning group.
    pub gid: Gid,
    /// Apparent size, bytes.
    pub size: u64,
    /// Allocated space, in units of 512 bytes.
    pub blocks: u64,
    /// Preferred I/O size, bytes.
    pub blksize: u32,
    /// Time of the last access.
    pub atime: Timestamp,
    /// Time of the last change of the content.
    pub mtime: Timestamp,
    /// Time of the last change of the inode.
    pub ctime: Timestamp,
    /// Time of creation, if the file system records it.
    pub btime: Option<Timestamp>,
    /// `stx_attributes & stx_attributes_mask`.
    pub attributes: u64,
    /// Project (quota) id, if the file system has one.
    pub project: Option<u32>,
}

impl Meta {
    /// Returns the object's type.
    pub const fn file_type(&self) -> FileType {
        FileType::from_mode(self.mode)
    }
}

/// One directory entry: its attributes, and the spans of its strings in the
/// heap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// Attributes of the object (symbolic links are not followed).
    pub meta: Meta,
    /// The name, which contains no slash.
    pub name: Span,
    /// Target of a symbolic link; empty for other types.
    pub link_target: Span,
    /// Names of the extended attributes, each terminated by a NUL, as
    /// listxattr(2) returns them; the names of POSIX ACLs are included.
    pub xattr_names: Span,
    /// Access ACL: the value of `system.posix_acl_access`; empty if there is
    /// none.
    pub acl: Span,
    /// Default ACL of a directory: the value of `system.posix_acl_default`;
    /// empty if there is none.
    pub acl_default: Span,
}

/// The value of one extended attribute of one entry.
#[derive(Clone, Copy, Debug)]
pub struct Xattr {
    /// Index into [`DirBatch::entries`].
    pub entry: u32,
    /// The attribute's full name (`user.comment`).
    pub name: Span,
    /// The attribute's value.
    pub value: Span,
}

/// The permissions that determine which users may search and list a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DirAccess {
    /// `st_mode`; only the permission bits are used.
    pub mode: u32,
    /// Owner.
    pub uid: Uid,
    /// Owning group.
    pub gid: Gid,
    /// Access ACL, if there is one beyond the mode.
    pub acl: Option<Acl>,
}

/// The entries of one directory, or one fragment of them if there are many.
#[derive(Clone, Debug, Default)]
pub struct DirBatch {
    /// Id of the directory, unique within the scan.
    pub dir: DirId,
    /// Id of its parent directory; `None` for a source's root.
    pub parent: Option<DirId>,
    /// Absolute path without a trailing slash; empty for `/` (see
    /// [`crate::path`]).
    pub path: Vec<u8>,
    /// Permissions that determine who may search and list it.
    pub access: DirAccess,
    /// The directory's own attributes, read from its open descriptor.
    pub own: Meta,
    /// Fragment number: 0 for the first (often only) fragment. Each fragment is
    /// sorted by name. The fragments of one directory may arrive in any order
    /// of names.
    pub fragment: u32,
    /// The rows, sorted by name bytes within the fragment.
    pub entries: Vec<Entry>,
    /// Values of extended attributes, in entry order.
    pub xattrs: Vec<Xattr>,
    /// Errors in reading these entries, or in listing one of them that is a
    /// directory. Every user who may list this directory may see them.
    pub issues: Vec<Issue>,
    /// Heap bytes that the spans refer to.
    pub heap: Vec<u8>,
}

impl DirBatch {
    /// Returns the bytes of `span`; empty if the span exceeds the heap.
    pub fn bytes(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.heap
            .get(start..start + span.len as usize)
            .unwrap_or_default()
    }

    /// Appends `bytes` to the heap and returns their span. The caller keeps a
    /// batch's heap below 4 GiB (a fragment has at most 65,536 entries).
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Span {
        let start = self.heap.len() as u32;
        self.heap.extend_from_slice(bytes);
        Span {
            start,
            len: bytes.len() as u32,
        }
    }

    /// Returns the approximate memory use of the batch, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.path.len()
            + self.heap.len()
            + self.entries.len() * size_of::<Entry>()
            + self.xattrs.len() * size_of::<Xattr>()
            + self
                .issues
                .iter()
                .map(|i| size_of::<Issue>() + i.path.len())
                .sum::<usize>()
            + size_of::<DirBatch>()
    }
}
