//! Makes a table.

use std::vec;
use std::vec::Vec;

use crate::layout::{
    ATTRIBUTE_NAMES, FileKind, Level, MAGIC, NONE, Stat, directory, entry, head, stat,
};

/// A name in a directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryParts<'a> {
    /// The name.
    pub name: &'a [u8],
    /// `d_type`.
    pub kind: u8,
    /// `d_ino`.
    pub ino: u64,
    /// The result of statx(2).
    pub stat: Option<&'a Stat>,
    /// The target, if it is a symbolic link and the target is known.
    pub link: Option<&'a [u8]>,
    /// The asking user's permissions, as access(2) numbers them.
    pub access: Option<u8>,
    /// Whether it is known to have no extended attributes.
    pub is_bare: bool,
}

/// Whether names in a directory can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// They can: an unlisted name does not exist.
    Allowed,
    /// Perhaps not: the reason why a name is not reached is unknown.
    Unknown,
}

/// The number of an added entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewEntry(u32);

#[derive(Clone, Copy, Debug)]
struct NewDirectory {
    entry: u32,
    parent: u32,
    first: u32,
    count: u32,
    state: u32,
}

/// A table under construction: directories one after the other, each with all its entries.
#[derive(Debug)]
pub struct Builder {
    level: Level,
    generation: u64,
    begun_ns: i64,
    as_of_ns: Option<i64>,
    path: Vec<u8>,
    directories: Vec<NewDirectory>,
    entries: Vec<[u8; entry::BYTES]>,
    stats: Vec<u8>,
    heap: Vec<u8>,
    errnos: [[u8; ATTRIBUTE_NAMES.len()]; FileKind::COUNT],
    left_off: Option<u32>,
}

impl Builder {
    /// Begins a table about the directory at `path`; `root` is its lstat(2) result.
    pub fn new(path: &[u8], root: &Stat, level: Level) -> Builder {
        let mut builder = Builder {
            level,
            generation: 0,
            begun_ns: 0,
            as_of_ns: None,
            path: path.to_vec(),
            directories: Vec::new(),
            entries: Vec::new(),
            stats: Vec::new(),
            heap: Vec::new(),
            errnos: Default::default(),
            left_off: None,
        };
        builder.push(&EntryParts {
            kind: 4,
            ino: root.ino,
            stat: Some(root),
            ..EntryParts::default()
        });
        builder.add_directory(NewEntry(0), None);
        builder
    }

    /// Sets when the table was begun: the page's generation then, and the monotonic clock. The time
    /// is lowered to that of [`Builder::as_of`], if that is earlier.
    pub fn begun(&mut self, generation: u64, begun_ns: i64) {
        let begun_ns = self.as_of_ns.map_or(begun_ns, |as_of| as_of.min(begun_ns));
        (self.generation, self.begun_ns) = (generation, begun_ns);
    }

    /// Notes that the table uses information that was true at this time, by the monotonic clock,
    /// before the table was begun.
    pub fn as_of(&mut self, then_ns: i64) {
        let as_of_ns = self.as_of_ns.map_or(then_ns, |as_of| as_of.min(then_ns));
        self.as_of_ns = Some(as_of_ns);
    }

    /// Returns when the table was begun, or the earlier time of the information that it uses.
    pub fn begun_ns(&self) -> i64 {
        self.begun_ns
    }

    /// Sets the error with which getxattr(2) fails for files of this kind without the attribute.
    pub fn missing_attribute(&mut self, kind: FileKind, name: usize, errno: u8) {
        if let Some(at) = self.errnos[kind as usize].get_mut(name) {
            *at = errno;
        }
    }

    /// Returns whether these errors are known for all attributes.
    pub fn knows_missing(&self, kind: FileKind) -> bool {
        self.errnos[kind as usize].iter().all(|errno| *errno != 0)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there is no entry except the directory itself.
    pub fn is_empty(&self) -> bool {
        self.entries.len() <= 1
    }

    /// Removes the entries behind the first `entries`: those of a directory that could not be read
    /// to its end.
    pub fn truncate(&mut self, entries: usize) {
        self.entries.truncate(entries.max(1));
    }

    /// Adds an entry to the present directory.
    pub fn push(&mut self, parts: &EntryParts<'_>) -> NewEntry {
        let mut bytes = [0; entry::BYTES];
        let name_at = self.heap.len() as u32;
        self.heap.extend_from_slice(parts.name);
        let stat = parts.stat.map_or(NONE, |stat| self.push_stat(stat));
        let (mut flags, mut link_at, mut link_length) = (0, 0, 0);
        if let Some(link) = parts
            .link
            .filter(|link| link.len() <= usize::from(u16::MAX))
        {
            flags |= entry::HAS_LINK;
            (link_at, link_length) = (self.heap.len() as u32, link.len() as u16);
            self.heap.extend_from_slice(link);
        }
        if parts.access.is_some() {
            flags |= entry::HAS_ACCESS;
        }
        if parts.is_bare {
            flags |= entry::HAS_NO_ATTRIBUTES;
        }
        put32(&mut bytes, entry::NAME, name_at);
        put16(&mut bytes, entry::NAME_LENGTH, parts.name.len() as u16);
        bytes[entry::KIND] = parts.kind;
        bytes[entry::FLAGS] = flags;
        put64(&mut bytes, entry::INO, parts.ino);
        put32(&mut bytes, entry::DIRECTORY, NONE);
        put32(&mut bytes, entry::STAT, stat);
        put32(&mut bytes, entry::LINK, link_at);
        put16(&mut bytes, entry::LINK_LENGTH, link_length);
        put16(
            &mut bytes,
            entry::ACCESS,
            u16::from(parts.access.unwrap_or(0)),
        );
        self.entries.push(bytes);
        NewEntry((self.entries.len() - 1) as u32)
    }

    fn push_stat(&mut self, of: &Stat) -> u32 {
        let number = self.stats.len() / stat::BYTES;
        for wide in of.wide() {
            self.stats.extend_from_slice(&wide.to_le_bytes());
        }
        for time in of.times() {
            self.stats.extend_from_slice(&time.secs.to_le_bytes());
        }
        for narrow in of.narrow() {
            self.stats.extend_from_slice(&narrow.to_le_bytes());
        }
        for time in of.times() {
            self.stats.extend_from_slice(&time.nanos.to_le_bytes());
        }
        self.stats.resize((number + 1) * stat::BYTES, 0);
        number as u32
    }

    /// Adds a directory that is not listed yet; returns its number.
    pub fn add_directory(&mut self, at: NewEntry, parent: Option<u32>) -> u32 {
        let number = self.directories.len() as u32;
        self.directories.push(NewDirectory {
            entry: at.0,
            parent: parent.unwrap_or(NONE),
            first: 0,
            count: 0,
            state: 0,
        });
        if let Some(bytes) = self.entries.get_mut(at.0 as usize) {
            put32(bytes, entry::DIRECTORY, number);
        }
        number
    }

    /// Notes that this directory is the first that did not fit.
    pub fn leave_off(&mut self, number: u32) {
        self.left_off = Some(number);
    }

    /// Returns the path of the first directory that did not fit, relative to the table's directory,
    /// in the form of a question that continues there.
    pub fn left_off(&self) -> Option<Vec<u8>> {
        let mut names = Vec::new();
        let mut number = self.left_off? as usize;
        while let Some(of) = self.directories.get(number).filter(|of| of.parent != NONE) {
            names.push(self.name(of.entry));
            number = of.parent as usize;
        }
        let mut path = Vec::new();
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        Some(path)
    }

    /// Notes that exactly the entries from `first` on are in a directory.
    pub fn listed(&mut self, number: u32, first: usize, search: Search) {
        let count = self.entries.len() - first;
        if let Some(of) = self.directories.get_mut(number as usize) {
            (of.first, of.count) = (first as u32, count as u32);
            of.state = match search {
                Search::Allowed => directory::SEARCHABLE,
                Search::Unknown => directory::LISTED,
            };
        }
    }

    /// Notes that the entries from `first` on are some of a directory's: nothing is known about
    /// others.
    pub fn partly_listed(&mut self, number: u32, first: usize) {
        self.listed(number, first, Search::Unknown);
        if let Some(of) = self.directories.get_mut(number as usize) {
            of.state = directory::PARTLY;
        }
    }

    fn name(&self, number: u32) -> &[u8] {
        let bytes = &self.entries[number as usize];
        let mut at = [0; 4];
        at.copy_from_slice(&bytes[entry::NAME..entry::NAME + 4]);
        let length = u16::from_le_bytes([bytes[entry::NAME_LENGTH], bytes[entry::NAME_LENGTH + 1]]);
        let at = u32::from_le_bytes(at) as usize;
        &self.heap[at..at + usize::from(length)]
    }

    fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        for of in self.directories.iter().filter(|of| of.state != 0) {
            let range = of.first as usize..(of.first + of.count) as usize;
            order[range].sort_unstable_by(|one, two| self.name(*one).cmp(self.name(*two)));
        }
        order
    }

    /// Returns the table's bytes; `None` if they would not fit in 4 GiB.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        let order = self.order();
        let path_at = self.heap.len();
        self.heap.extend_from_slice(&self.path);
        let mut out = vec![0; head::BYTES];
        let mut parts = [0u32; 10];
        let mut part = |out: &Vec<u8>, at: usize, number: usize| -> Option<()> {
            parts[at * 2] = u32::try_from(out.len()).ok()?;
            parts[at * 2 + 1] = u32::try_from(number).ok()?;
            Some(())
        };
        part(&out, 0, self.directories.len())?;
        for of in &self.directories {
            for number in [of.entry, of.parent, of.first, of.count, of.state, 0] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        part(&out, 1, self.entries.len())?;
        out.extend_from_slice(self.entries.as_flattened());
        part(&out, 2, order.len())?;
        for number in order {
            out.extend_from_slice(&number.to_le_bytes());
        }
        part(&out, 3, self.stats.len() / stat::BYTES)?;
        out.extend_from_slice(&self.stats);
        part(&out, 4, self.heap.len())?;
        out.extend_from_slice(&self.heap);
        u32::try_from(out.len()).ok()?;
        self.write_head(&mut out, &parts, path_at);
        Some(out)
    }

    fn write_head(&self, out: &mut [u8], parts: &[u32; 10], path_at: usize) {
        let length = out.len() as u64;
        out[..MAGIC.len()].copy_from_slice(&MAGIC);
        put64(out, head::LENGTH, length);
        put64(out, head::GENERATION, self.generation);
        put64(out, head::BEGUN_NS, self.begun_ns as u64);
        for (at, number) in parts.iter().enumerate() {
            put32(out, head::PARTS + at * 4, *number);
        }
        put32(out, head::LEVEL, self.level as u32);
        let errnos = self.errnos.as_flattened();
        out[head::ERRNOS..head::ERRNOS + errnos.len()].copy_from_slice(errnos);
        put32(out, head::PATH, path_at as u32);
        put32(out, head::PATH + 4, self.path.len() as u32);
    }
}

const _: () = assert!(directory::BYTES == 24);

fn put16(out: &mut [u8], at: usize, number: u16) {
    out[at..at + 2].copy_from_slice(&number.to_le_bytes());
}

fn put32(out: &mut [u8], at: usize, number: u32) {
    out[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

fn put64(out: &mut [u8], at: usize, number: u64) {
    out[at..at + 8].copy_from_slice(&number.to_le_bytes());
}
