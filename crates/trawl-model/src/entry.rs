//! One directory's worth of records, as a source delivers them.
//!
//! A [`DirBatch`] owns two flat buffers (fixed-size rows and a heap of
//! bytes), so that a directory costs a handful of allocations however many
//! entries it has.

use crate::acl::Acl;
use crate::id::{Dev, DirId, Gid, Uid};
use crate::issue::Issue;
use crate::time::Timestamp;

/// What kind of object an entry is, inode(7).
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
    /// None of these (a file system's own invention).
    Unknown,
}

impl FileType {
    /// The bits of `st_mode` that hold the type (`S_IFMT`).
    pub const MASK: u32 = 0o170_000;

    /// The type in a mode's `S_IFMT` bits.
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

    /// The letter that find(1)'s `-type` and `%y` use.
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

/// A range of a batch's heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset in bytes.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Span {
    /// The span of nothing.
    pub const EMPTY: Span = Span { start: 0, len: 0 };

    /// True if the span holds no byte.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The attributes of an object, as statx(2) gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Inode number.
    pub ino: u64,
    /// The device the object lies on.
    pub dev: Dev,
    /// The device the object is, for device files; otherwise 0:0.
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
    /// Last access.
    pub atime: Timestamp,
    /// Last change of the content.
    pub mtime: Timestamp,
    /// Last change of the inode.
    pub ctime: Timestamp,
    /// Creation, where the file system keeps it.
    pub btime: Option<Timestamp>,
    /// `stx_attributes & stx_attributes_mask`.
    pub attributes: u64,
    /// Project (quota) id, where the file system keeps one.
    pub project: Option<u32>,
}

impl Meta {
    /// The object's type.
    pub const fn file_type(&self) -> FileType {
        FileType::from_mode(self.mode)
    }
}

/// One directory entry: its attributes and where its bytes lie in the heap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// The attributes of what the name leads to (links not followed).
    pub meta: Meta,
    /// The name, without any slash.
    pub name: Span,
    /// A symbolic link's target; empty otherwise.
    pub link_target: Span,
    /// Names of the extended attributes, each ended by a NUL, as
    /// listxattr(2) returns them; POSIX ACLs included.
    pub xattr_names: Span,
    /// The access ACL, as the `system.posix_acl_access` value; empty if none.
    pub acl: Span,
    /// A directory's default ACL, likewise.
    pub acl_default: Span,
}

/// The value of one extended attribute of one entry.
#[derive(Clone, Copy, Debug)]
pub struct Xattr {
    /// Index into [`DirBatch::entries`].
    pub entry: u32,
    /// The attribute's full name (`user.comment`).
    pub name: Span,
    /// Its value.
    pub value: Span,
}

/// What decides who may search and list a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DirAccess {
    /// `st_mode`; only the permission bits count.
    pub mode: u32,
    /// Owner.
    pub uid: Uid,
    /// Owning group.
    pub gid: Gid,
    /// The access ACL, if there is one beyond the mode.
    pub acl: Option<Acl>,
}

/// The entries of one directory, or a fragment of them if there are many.
#[derive(Clone, Debug, Default)]
pub struct DirBatch {
    /// The directory, unique within the scan.
    pub dir: DirId,
    /// The directory that holds it; `None` for a source's root.
    pub parent: Option<DirId>,
    /// Absolute, no trailing slash, empty for `/` (see [`crate::path`]).
    pub path: Vec<u8>,
    /// Who may search and list it.
    pub access: DirAccess,
    /// The directory's own attributes, read from its open descriptor.
    pub own: Meta,
    /// 0 for the first (often only) fragment. Each fragment is sorted by
    /// name; fragments of one directory follow each other in any order of
    /// names.
    pub fragment: u32,
    /// The rows, sorted by name bytes within the fragment.
    pub entries: Vec<Entry>,
    /// Values of extended attributes, in entry order.
    pub xattrs: Vec<Xattr>,
    /// What could not be read of these entries, or below one of them when
    /// it is a directory that cannot be listed. Visible to whoever may list
    /// this directory.
    pub issues: Vec<Issue>,
    /// The bytes that the spans point into.
    pub heap: Vec<u8>,
}

impl DirBatch {
    /// The bytes of `span`; empty if it does not lie in the heap.
    pub fn bytes(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.heap
            .get(start..start + span.len as usize)
            .unwrap_or_default()
    }

    /// Appends `bytes` to the heap. The caller keeps a batch's heap below
    /// 4 GiB (a fragment has at most 65,536 entries).
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Span {
        let start = self.heap.len() as u32;
        self.heap.extend_from_slice(bytes);
        Span {
            start,
            len: bytes.len() as u32,
        }
    }

    /// About how much memory the batch holds, bytes.
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
