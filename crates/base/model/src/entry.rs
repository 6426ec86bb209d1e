//! Records of one directory, as a source delivers them.
//!
//! A [`DirBatch`] owns two flat buffers (fixed-size rows and a heap of bytes),
//! so that a directory costs only a few allocations however many entries it
//! has.

use crate::acl::Acl;
use crate::column::{Column, with_fields};
use crate::field::{
    KNOWN, NAME_LEN, NumberField, NumberVisitor, Place, TimeField, Value, high, low, whole, words,
};
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

impl Meta {
    /// Returns the object's type.
    pub const fn file_type(&self) -> FileType {
        FileType::from_mode(self.mode)
    }
}

macro_rules! entries {
    (
        numbers { $(
            $(#[$doc:meta])*
            $field:ident: $ty:ty as $stored:ty = $column:ident $at:expr;
        )* }
        times { $(
            $(#[$time_doc:meta])*
            $time:ident: $time_ty:ty = $secs:ident $secs_at:expr, $nanos_field:ident $nanos:ident $nanos_at:expr;
        )* }
        strings { $(
            $(#[$string_doc:meta])*
            $string:ident = $string_column:ident $len_at:expr;
        )* }
    ) => {
        /// The attributes of an object, as returned by statx(2).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Meta {
            $($(#[$doc])* pub $field: $ty,)*
            $($(#[$time_doc])* pub $time: $time_ty,)*
        }

        impl Meta {
            /// Passes every number column of the entries table to `visitor`.
            #[inline]
            pub fn visit_numbers(visitor: &mut impl NumberVisitor) {
                $(<$ty as NumberField>::visit(visitor, Column::$column, |meta| meta.$field);)*
                $(<$time_ty as TimeField>::visit(
                    visitor,
                    [Column::$secs, Column::$nanos],
                    |meta| meta.$time,
                );)*
            }

            /// Returns the value of a column; null for columns of names and byte strings.
            pub fn value(&self, column: Column) -> Value<'static> {
                match column {
                    $(Column::$column => self.$field.value(),)*
                    $(Column::$secs => self.$time.value(),
                    Column::$nanos => self.$time.nanos_value(),)*
                    Column::Type => Value::Type(self.file_type()),
                    Column::Dir | Column::Name | Column::NameRaw $(| Column::$string_column)* => {
                        Value::Null
                    }
                }
            }
        }

        /// One directory entry: its attributes, and the spans of its strings in the heap.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Entry {
            /// Attributes of the object (symbolic links are not followed).
            pub meta: Meta,
            /// The name, which contains no slash.
            pub name: Span,
            $($(#[$string_doc])* pub $string: Span,)*
        }

        /// Number of words in [`Entry::words`].
        const WORDS: usize = words(&[KNOWN, NAME_LEN, $($at,)* $($secs_at, $nanos_at,)* $($len_at,)*]);

        impl Entry {
            /// Returns the entry with other spans.
            #[inline]
            #[must_use]
            pub fn with_spans(&self, mut moved: impl FnMut(Span) -> Span) -> Entry {
                Entry {
                    meta: self.meta,
                    name: moved(self.name),
                    $($string: moved(self.$string),)*
                }
            }

            /// Returns the spans of the name and the byte strings.
            #[inline]
            pub fn spans(&self) -> [Span; 1 + STRINGS.len()] {
                [self.name, $(self.$string,)*]
            }

            /// Passes every column of byte strings, except the name, to `visitor`.
            #[inline]
            pub fn visit_strings(visitor: &mut impl StringVisitor) {
                $(visitor.string(Column::$string_column, |entry| entry.$string);)*
            }

            /// Returns all attributes and the lengths of all strings, for hashing: two entries with
            /// equal words and equal strings are equal. A column has the same place in every
            /// version of the program.
            #[inline]
            pub fn words(&self) -> [u64; WORDS] {
                let mut words = [0; WORDS];
                $(put_number(&mut words, const { $at }, self.meta.$field);)*
                $(put_time(&mut words, const { [$secs_at, $nanos_at] }, self.meta.$time);)*
                put(&mut words, NAME_LEN, u64::from(self.name.len));
                $(put(&mut words, const { $len_at }, u64::from(self.$string.len));)*
                words
            }
        }

        // A place must have the size of the column, and a bit if the column may be null.
        const _: () = {
            $(assert!(
                size_of::<$stored>() * 8 == ($at).bits
                    && <$ty as NumberField>::NULL.is_some() == ($at).known.is_some()
            );)*
            $(assert!(
                ($secs_at).bits == 64
                    && ($nanos_at).bits == 32
                    && <$time_ty as TimeField>::NULL.is_some() == ($secs_at).known.is_some()
            );)*
            $(assert!(($len_at).bits == 32);)*
        };

        /// The columns of byte strings, except the name.
        pub const STRINGS: &[Column] = &[$(Column::$string_column,)*];
    };
}
with_fields!(entries);

/// Receives the columns of byte strings, each with the function that takes its span from an entry.
pub trait StringVisitor {
    /// A column of byte strings.
    fn string(&mut self, column: Column, of: impl Fn(&Entry) -> Span + Copy);
}

#[inline]
fn put(words: &mut [u64; WORDS], at: Place, number: u64) {
    words[at.word] |= number << at.shift;
}

#[inline]
fn put_number<T: NumberField>(words: &mut [u64; WORDS], at: Place, field: T) {
    let (number, is_known) = field.word();
    put(words, at, number);
    put_known(words, at, is_known);
}

#[inline]
fn put_time<T: TimeField>(words: &mut [u64; WORDS], [secs, nanos]: [Place; 2], field: T) {
    let time = field.known();
    let known = time.unwrap_or_default();
    put(words, secs, known.secs as u64);
    put(words, nanos, u64::from(known.nanos));
    put_known(words, secs, time.is_some());
}

#[inline]
fn put_known(words: &mut [u64; WORDS], at: Place, is_known: bool) {
    if let Some(bit) = at.known {
        put(words, KNOWN, u64::from(is_known) << bit);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of [`Entry::words`] that items of segments were hashed with so far.
    #[test]
    #[allow(clippy::needless_update, reason = "for columns that are added later")]
    fn columns_keep_their_places_in_the_hashed_words() {
        let time = |secs, nanos| Timestamp { secs, nanos };
        let span = |len| Span { start: 9, len };
        let dev = |minor| Dev { major: 8, minor };
        let meta = Meta {
            ino: 1,
            dev: dev(2),
            rdev: dev(3),
            mode: 4,
            nlink: 5,
            uid: Uid(6),
            gid: Gid(7),
            size: 8,
            blocks: 9,
            blksize: 10,
            atime: time(11, 12),
            mtime: time(13, 14),
            ctime: time(-15, 16),
            btime: Some(time(17, 18)),
            attributes: 19,
            project: Some(20),
            ..Meta::default()
        };
        let entry = Entry {
            meta,
            name: span(21),
            link_target: span(22),
            xattr_names: span(23),
            acl: span(24),
            acl_default: span(25),
            ..Entry::default()
        };
        let pair = |low: u64, high: u64| low | high << 32;
        let mut words = [
            1,
            dev(2).as_u64(),
            dev(3).as_u64(),
            pair(4, 5),
            pair(6, 7),
            8,
            9,
            pair(10, 0b11),
            11,
            13,
            -15i64 as u64,
            17,
            pair(12, 14),
            pair(16, 18),
            19,
            pair(20, 21),
            pair(22, 23),
            pair(24, 25),
        ];
        assert_eq!(entry.words()[..words.len()], words);
        let unknown = Entry {
            meta: Meta {
                btime: None,
                project: None,
                ..meta
            },
            ..entry
        };
        (words[7], words[11], words[13]) = (10, 0, 16);
        words[15] = pair(0, 21);
        assert_eq!(unknown.words()[..words.len()], words);
    }
}
