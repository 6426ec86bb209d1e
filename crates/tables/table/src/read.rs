//! Reads an untrusted table.

use crate::layout::{
    ATTRIBUTE_NAMES, FileKind, Level, MAGIC, NONE, Stat, Time, directory, entry, head, stat,
};

/// For longer names the kernel reports that they are too long, not that they do not exist.
const NAME_BYTES_MAX: usize = 255;

/// The bytes are not a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadTable;

/// A part of a table.
#[derive(Clone, Copy, Debug)]
struct Part {
    at: usize,
    count: usize,
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    bytes: &'a [u8],
    directories: Part,
    entries: Part,
    order: Part,
    stats: Part,
    heap: Part,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_le_bytes)
}

impl<'a> Table<'a> {
    /// Checks the positions of its parts.
    ///
    /// # Errors
    /// If a part does not lie within the bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Table<'a>, BadTable> {
        Table::parts(bytes).ok_or(BadTable)
    }

    fn parts(bytes: &'a [u8]) -> Option<Table<'a>> {
        let head = bytes.get(..head::BYTES)?;
        if head.get(..MAGIC.len())? != MAGIC || u64_at(head, head::LENGTH)? != bytes.len() as u64 {
            return None;
        }
        Level::from_number(u8::try_from(u32_at(head, head::LEVEL)?).ok()?)?;
        let part = |which: usize, size: usize| {
            let at = u32_at(head, head::PARTS + which * 8)? as usize;
            let count = u32_at(head, head::PARTS + which * 8 + 4)? as usize;
            let end = at.checked_add(count.checked_mul(size)?)?;
            (end <= bytes.len()).then_some(Part { at, count })
        };
        let table = Table {
            bytes,
            directories: part(0, directory::BYTES)?,
            entries: part(1, entry::BYTES)?,
            order: part(2, 4)?,
            stats: part(3, stat::BYTES)?,
            heap: part(4, 1)?,
        };
        (table.directories.count > 0 && table.order.count == table.entries.count).then_some(table)
    }

    fn one(&self, part: Part, number: u32, size: usize) -> Option<&'a [u8]> {
        let number = number as usize;
        let at = part.at.checked_add(number.checked_mul(size)?)?;
        let bytes = self.bytes.get(at..at.checked_add(size)?)?;
        (number < part.count).then_some(bytes)
    }

    fn in_heap(&self, at: u32, length: usize) -> Option<&'a [u8]> {
        let end = (at as usize).checked_add(length)?;
        if end > self.heap.count {
            return None;
        }
        let at = self.heap.at.checked_add(at as usize)?;
        self.bytes.get(at..at.checked_add(length)?)
    }

    /// Returns the page's generation when the table was begun.
    pub fn generation(&self) -> u64 {
        u64_at(self.bytes, head::GENERATION).unwrap_or(0)
    }

    /// Returns when the table was begun, by the monotonic clock.
    pub fn begun_ns(&self) -> i64 {
        u64_at(self.bytes, head::BEGUN_NS).unwrap_or(0) as i64
    }

    /// Returns how much was asked.
    pub fn level(&self) -> Level {
        let level = self.bytes.get(head::LEVEL).copied();
        level.and_then(Level::from_number).unwrap_or(Level::Names)
    }

    /// Returns whether the table shows that nothing exists at an absolute path: a directory on the
    /// way, or the last one, is listed and does not have the name. It is false for paths with `.`,
    /// `..` or double slashes, and for paths that lead through something that is not a directory of
    /// the table.
    pub fn says_absent(&self, path: &[u8]) -> bool {
        let rest = match self.path() {
            b"/" => Some(path),
            top => path.strip_prefix(top),
        };
        let (Some([b'/', rest @ ..]), Some(mut at)) = (rest, self.directory(0)) else {
            return false;
        };
        for name in rest.split(|byte| *byte == b'/') {
            if matches!(name, b"" | b"." | b"..") || name.len() > NAME_BYTES_MAX {
                return false;
            }
            let Some(entry) = at.find(name) else {
                return at.is_searchable();
            };
            let Some(below) = entry.directory() else {
                return false;
            };
            at = below;
        }
        false
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.count
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.count == 0
    }

    /// Returns the path of the directory that it is about.
    pub fn path(&self) -> &'a [u8] {
        let at = u32_at(self.bytes, head::PATH).unwrap_or(NONE);
        let length = u32_at(self.bytes, head::PATH + 4).unwrap_or(NONE) as usize;
        self.in_heap(at, length).unwrap_or_default()
    }

    /// Returns the error with which getxattr(2) fails for a file of this kind without attributes.
    pub fn missing_attribute(&self, kind: FileKind, name: &[u8]) -> Option<i32> {
        let known = |known: &str| known.as_bytes() == name;
        let which = ATTRIBUTE_NAMES.iter().position(|one| known(one))?;
        let at = head::ERRNOS + kind as usize * ATTRIBUTE_NAMES.len() + which;
        let errno = *self.bytes.get(at)?;
        (errno != 0).then_some(i32::from(errno))
    }

    /// Returns the directory with this number; 0 is the one that was asked about.
    pub fn directory(&self, number: u32) -> Option<Directory<'a>> {
        let bytes = self.one(self.directories, number, directory::BYTES)?;
        Some(Directory {
            table: *self,
            number,
            bytes,
        })
    }

    fn entry(&self, number: u32) -> Option<Entry<'a>> {
        let bytes = self.one(self.entries, number, entry::BYTES)?;
        Some(Entry {
            table: *self,
            bytes,
        })
    }
}

/// A directory of a table.
#[derive(Clone, Copy, Debug)]
pub struct Directory<'a> {
    table: Table<'a>,
    number: u32,
    bytes: &'a [u8],
}

impl<'a> Directory<'a> {
    fn field(&self, at: usize) -> u32 {
        u32_at(self.bytes, at).unwrap_or(0)
    }

    /// Returns its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns whether all its entries are in the table. If not, nothing is known about its
    /// content.
    pub fn is_listed(&self) -> bool {
        matches!(
            self.field(directory::STATE),
            directory::LISTED | directory::SEARCHABLE
        )
    }

    /// Returns whether some of its entries are in the table; nothing is known about others.
    pub fn is_partly_listed(&self) -> bool {
        self.field(directory::STATE) == directory::PARTLY
    }

    /// Returns whether it is listed and names in it can be reached: an unlisted name does not
    /// exist.
    pub fn is_searchable(&self) -> bool {
        self.field(directory::STATE) == directory::SEARCHABLE
    }

    /// Returns its parent, if that is in the table.
    pub fn parent(&self) -> Option<Directory<'a>> {
        let parent = self.field(directory::PARENT);
        // Parents come first, which excludes loops.
        let is_above = parent < self.number;
        is_above.then(|| self.table.directory(parent)).flatten()
    }

    /// Returns its own entry.
    pub fn itself(&self) -> Option<Entry<'a>> {
        self.table.entry(self.field(directory::ENTRY))
    }

    /// Returns the number of its entries, including `.` and `..`; 0 if it is not listed.
    pub fn len(&self) -> u32 {
        match self.is_listed() {
            true => self.field(directory::COUNT),
            false => 0,
        }
    }

    /// Returns whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns its entry at this place in the order of listing.
    pub fn entry(&self, place: u32) -> Option<Entry<'a>> {
        let number = self.field(directory::FIRST).checked_add(place)?;
        match place < self.len() {
            true => self.table.entry(number),
            false => None,
        }
    }

    /// Returns the entry with this name.
    pub fn find(&self, name: &[u8]) -> Option<Entry<'a>> {
        let first = self.field(directory::FIRST);
        let known = match self.is_partly_listed() {
            true => self.field(directory::COUNT),
            false => self.len(),
        };
        let (mut low, mut high) = (0, known);
        while low < high {
            let middle = low + (high - low) / 2;
            let place = first.checked_add(middle)?;
            let number = u32_at(self.table.one(self.table.order, place, 4)?, 0)?;
            let entry = self.table.entry(number)?;
            match entry.name().cmp(name) {
                core::cmp::Ordering::Equal => return Some(entry),
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

/// An entry of a table.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    table: Table<'a>,
    bytes: &'a [u8],
}

impl<'a> Entry<'a> {
    fn has(&self, flag: u8) -> bool {
        self.bytes
            .get(entry::FLAGS)
            .is_some_and(|flags| flags & flag != 0)
    }

    /// Returns its name; empty for the directory that the table is about.
    pub fn name(&self) -> &'a [u8] {
        let at = u32_at(self.bytes, entry::NAME).unwrap_or(NONE);
        let length = u16_at(self.bytes, entry::NAME_LENGTH).unwrap_or(0);
        self.table
            .in_heap(at, usize::from(length))
            .unwrap_or_default()
    }

    /// Returns its `d_type`.
    pub fn kind(&self) -> u8 {
        self.bytes.get(entry::KIND).copied().unwrap_or(0)
    }

    /// Returns its `d_ino`.
    pub fn ino(&self) -> u64 {
        u64_at(self.bytes, entry::INO).unwrap_or(0)
    }

    /// Returns the directory that it is, if that is in the table.
    pub fn directory(&self) -> Option<Directory<'a>> {
        self.table.directory(u32_at(self.bytes, entry::DIRECTORY)?)
    }

    /// Returns the link's target.
    pub fn link(&self) -> Option<&'a [u8]> {
        let at = u32_at(self.bytes, entry::LINK)?;
        let length = u16_at(self.bytes, entry::LINK_LENGTH)?;
        match self.has(entry::HAS_LINK) {
            true => self.table.in_heap(at, usize::from(length)),
            false => None,
        }
    }

    /// Returns the permissions of the table's user, as access(2) numbers them.
    pub fn access(&self) -> Option<u16> {
        let bits = u16_at(self.bytes, entry::ACCESS)?;
        self.has(entry::HAS_ACCESS).then_some(bits)
    }

    /// Returns whether it is known to have no extended attributes.
    pub fn is_bare(&self) -> bool {
        self.has(entry::HAS_NO_ATTRIBUTES)
    }

    /// Returns the statx(2) result.
    pub fn stat(&self) -> Option<Stat> {
        let number = u32_at(self.bytes, entry::STAT)?;
        let bytes = self.table.one(self.table.stats, number, stat::BYTES)?;
        let (mut wide, mut times, mut narrow) = ([0; 9], [Time::default(); 4], [0; 5]);
        for (at, wide) in wide.iter_mut().enumerate() {
            *wide = u64_at(bytes, stat::WIDE + at * 8)?;
        }
        for (at, narrow) in narrow.iter_mut().enumerate() {
            *narrow = u32_at(bytes, stat::NARROW + at * 4)?;
        }
        for (at, time) in times.iter_mut().enumerate() {
            time.secs = u64_at(bytes, stat::SECS + at * 8)? as i64;
            time.nanos = u32_at(bytes, stat::NARROW + 20 + at * 4)?;
        }
        Some(Stat::of_numbers(wide, times, narrow))
    }
}

#[cfg(all(test, feature = "build"))]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::{Builder, EntryParts, Search};
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let root = Stat {
            ino: 7,
            mode: 0o40755,
            btime: Time { secs: -3, nanos: 9 },
            mask: 0xfff,
            ..Stat::default()
        };
        let mut builder = Builder::new(b"/r", &root, Level::Attributes);
        builder.as_of(99);
        builder.as_of(100);
        builder.begun(5, 101);
        builder.missing_attribute(FileKind::Directory, 1, 61);
        let first = builder.len();
        let name = |name: &'static [u8]| EntryParts {
            name,
            ..EntryParts::default()
        };
        let sub = builder.push(&EntryParts {
            kind: 4,
            stat: Some(&root),
            access: Some(5),
            is_bare: true,
            ..name(b"sub")
        });
        builder.push(&EntryParts {
            link: Some(b"to/there"),
            kind: 10,
            ..name(b"\xff\n")
        });
        builder.push(&name(b""));
        builder.push(&name(b"a"));
        builder.listed(0, first, Search::Allowed);
        let sub = builder.add_directory(sub, Some(0));
        let first = builder.len();
        let part = builder.push(&name(b"part"));
        builder.listed(sub, first, Search::Unknown);
        let part = builder.add_directory(part, Some(sub));
        let first = builder.len();
        let whole = builder.push(&name(b"whole"));
        builder.partly_listed(part, first);
        let whole = builder.add_directory(whole, Some(part));
        let first = builder.len();
        builder.push(&name(b"there"));
        builder.listed(whole, first, Search::Allowed);
        builder.finish().unwrap()
    }

    #[test]
    fn what_was_put_in_comes_out() {
        let bytes = sample();
        let table = Table::new(&bytes).unwrap();
        assert_eq!((table.path(), table.generation()), (&b"/r"[..], 5));
        assert_eq!((table.begun_ns(), table.level()), (99, Level::Attributes));
        let missing = |kind, name: &[u8]| table.missing_attribute(kind, name);
        assert_eq!(
            missing(FileKind::Directory, b"security.capability"),
            Some(61)
        );
        assert_eq!(missing(FileKind::Link, b"security.capability"), None);
        let root = table.directory(0).unwrap();
        let names: Vec<&[u8]> = (0..root.len())
            .map(|at| root.entry(at).unwrap().name())
            .collect();
        assert_eq!(names, [&b"sub"[..], b"\xff\n", b"", b"a"]);
        assert!(
            names
                .iter()
                .all(|name| root.find(name).unwrap().name() == *name)
        );
        assert!(root.find(b"b").is_none() && root.entry(4).is_none());
        assert_eq!(root.find(b"\xff\n").unwrap().link(), Some(&b"to/there"[..]));
        let sub = root.find(b"sub").unwrap();
        assert_eq!((sub.access(), sub.is_bare()), (Some(5), true));
        let stat = sub.stat().unwrap();
        assert_eq!(
            (stat.ino, stat.mode, stat.btime.secs, stat.mask),
            (7, 0o40755, -3, 0xfff)
        );
        let sub = sub.directory().unwrap();
        assert!(sub.is_listed() && sub.len() == 1 && !sub.is_searchable());
        let part = sub.find(b"part").unwrap().directory().unwrap();
        assert!(!part.is_listed() && part.is_empty() && part.is_partly_listed());
        assert!(part.find(b"whole").is_some() && part.find(b"other").is_none());
        assert!(root.is_searchable());
        assert_eq!(sub.parent().unwrap().number(), 0);
        assert!(root.parent().is_none() && table.directory(4).is_none());
    }

    #[test]
    fn only_listed_directories_say_what_is_not_there() {
        let bytes = sample();
        let table = Table::new(&bytes).unwrap();
        let long = [b"/r/", &[b'n'; 256][..]].concat();
        for (path, is_absent) in [
            (&b"/r/b"[..], true),
            (b"/r/b/c", true),
            (b"/r/sub/part/whole/x", true),
            (b"/r/sub/part/whole/x/y", true),
            (b"/r/a", false),
            (b"/r/a/below a file", false),
            (b"/r/sub/x", false),
            (b"/r/sub/part/x", false),
            (b"/r/sub/part/whole/there", false),
            (b"/r/../b", false),
            (b"/r//b", false),
            (b"/r/b/", true),
            (b"/r", false),
            (b"/r/", false),
            (b"/rb", false),
            (b"/b", false),
            (b"b", false),
            (b"", false),
            (&long, false),
        ] {
            assert_eq!(table.says_absent(path), is_absent, "{path:?}");
        }
    }

    /// Calls every function on everything in the table.
    fn walk(bytes: &[u8]) {
        let Ok(table) = Table::new(bytes) else { return };
        let _ = (
            table.path(),
            table.level(),
            table.missing_attribute(FileKind::Link, b"x"),
            table.says_absent(b"/r/sub/part/whole/x"),
        );
        for number in 0..5 {
            let Some(directory) = table.directory(number) else {
                continue;
            };
            let _ = (directory.itself(), directory.parent(), directory.find(b"a"));
            for place in 0..directory.len().min(9) {
                let Some(entry) = directory.entry(place) else {
                    continue;
                };
                let _ = (entry.name(), entry.link(), entry.stat(), entry.directory());
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..6), cut: usize) {
            let mut bytes = sample();
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            walk(&bytes);
            bytes.truncate(cut % bytes.len());
            walk(&bytes);
        }
    }
}
