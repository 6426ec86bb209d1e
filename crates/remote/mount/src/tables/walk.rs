//! Walks the known part of a tree, depth first in the order of listings, which is that of bulk
//! answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fuser::FileType;
use rustix::time::{ClockId, clock_gettime};
use trawl_call::Attributes;
use trawl_sys::Errno;
use trawl_table_service::{Builder, Demand, EntryParts, Extent, FileKind, Level, Search};

use super::shown::{Reader, kind};
use super::{NamespaceMount, Tables};
use crate::file_system::{below, dots, file_attr};
use crate::tree::{Ahead, Entry, Holds, Listing, Names, Timed, is_directory, is_link};

/// Maximum depth of listed directories below the demanded one.
const DEPTH_MAX: u32 = 256;
/// Maximum time to wait for missing listings after the first directory.
pub(super) const PATIENCE: Duration = Duration::from_millis(200);
/// Maximum time to wait for the first listing; without a table, the program would wait in the
/// kernel instead.
pub(super) const PATIENCE_FIRST: Duration = Duration::from_secs(8);
/// Lengths of link targets that tables contain; others are left to the kernel.
const TARGET_BYTES: std::ops::Range<usize> = 1..4096;

/// Maximum number of questions to the server about extended attributes for one table.
const QUESTIONS_MAX: u32 = 32;
/// File types for which the kernel gives the same answer about any absent attribute.
const BARE: [FileKind; 2] = [FileKind::Directory, FileKind::Regular];

/// A directory that is to be listed.
struct Due {
    number: u32,
    depth: u32,
    /// Its path below the top.
    path: Vec<u8>,
    /// For the directory where listing resumes, and those on the way to it: the rest of the way.
    from: Option<Vec<Vec<u8>>>,
}

/// A listing, and the extent to which it holds.
pub(super) struct KnownListing {
    pub(super) listing: Arc<Listing>,
    pub(super) holds: Holds,
}

/// The result of listing a directory.
enum ListingResult {
    On,
    /// The table is full: listing any directory after this one would leave a gap.
    Full,
}

pub(super) struct Walk<'a> {
    demand: &'a Demand,
    pub(super) seen: &'a NamespaceMount,
    pub(super) reader: &'a Reader,
    /// Points at which other file systems are mounted.
    covered: Vec<Vec<u8>>,
    /// Minimum time for which facts must stay valid.
    pub(super) least: Duration,
    /// Time of the oldest fact in the table.
    oldest: Instant,
    /// Directories to list, the next one last.
    due: Vec<Due>,
    /// Whether it is worth asking for targets of links.
    asks_targets: bool,
    /// Limits of questions about extended attributes.
    ahead: Ahead,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        demand: &'a Demand,
        seen: &'a NamespaceMount,
        reader: &'a Reader,
        covered: Vec<Vec<u8>>,
    ) -> Walk<'a> {
        let least = Tables::age_left(seen.tree().max_age());
        Walk {
            demand,
            seen,
            reader,
            covered,
            least,
            ahead: Ahead {
                entries: demand.entries_max,
                least,
                questions: QUESTIONS_MAX,
            },
            oldest: Instant::now(),
            due: Vec::new(),
            asks_targets: demand.level >= Level::Stats || demand.extent == Extent::Each,
        }
    }

    /// Makes the table of the directory with this path below the top.
    pub(super) fn table(mut self, path: &[u8]) -> Result<Builder, Errno> {
        let attributes = self.reach(path)?;
        let attr = match path {
            b"" => Some(file_attr(attributes.ino, &attributes)),
            path => self
                .number(path, &attributes)
                .map(|it| file_attr(it, &attributes)),
        };
        let (reader, top) = (self.reader, &self.seen.top.stat);
        let root = attr.and_then(|attr| match path {
            b"" => reader.stat_top(&attr, &attributes, top),
            _ => reader.stat(&attr, &attributes, top),
        });
        let root = root.ok_or(Errno::OVERFLOW)?;
        let mut builder = Builder::new(&self.demand.path, &root, self.demand.level);
        let names = self.demand.from.split(|byte| *byte == b'/');
        let names = names.filter(|name| !name.is_empty());
        self.note_attributes(&mut builder);
        let first = Due {
            number: 0,
            depth: 0,
            path: path.to_vec(),
            from: Some(names.map(<[u8]>::to_vec).collect()),
        };
        let until = Instant::now() + PATIENCE_FIRST;
        if matches!(self.list(&mut builder, first, until)?, ListingResult::Full) {
            return Err(Errno::WOULDBLOCK);
        }
        let until = Instant::now() + PATIENCE;
        while let Some(due) = self.due.pop() {
            match self.list(&mut builder, due, until) {
                Ok(ListingResult::On) => {}
                // If the server cannot be asked, it is not asked again for this table.
                Ok(ListingResult::Full) | Err(_) => break,
            }
        }
        builder.as_of(self.oldest_ns());
        Ok(builder)
    }

    /// Adds the kernel's answer for files without an attribute, which was probed at the top.
    fn note_attributes(&self, builder: &mut Builder) {
        for (at, errno) in self.seen.top.attributes.iter().enumerate() {
            let errno = u8::try_from(*errno).unwrap_or(0);
            for kind in BARE {
                builder.missing_attribute(kind, at, errno);
            }
        }
    }

    /// Returns the attributes of a directory, if the kernel lets the reader search it and all
    /// directories on the way.
    fn reach(&mut self, path: &[u8]) -> Result<Attributes, Errno> {
        let tree = self.seen.tree();
        let mut attributes = tree.attributes(b"")?;
        self.note(tree.entry_as_of(b"", b"", &attributes));
        let mut so_far = Vec::new();
        for name in path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
        {
            if !self.reader.may_look_into(&attributes.what) {
                return Err(Errno::ACCES);
            }
            let Timed { what, at, asked } = tree.lookup(&so_far, name)?;
            let what = what.ok_or(Errno::NOENT)?;
            attributes = Timed { what, at, asked };
            self.note(tree.entry_as_of(&so_far, name, &attributes));
            so_far = below(&so_far, name);
            if !is_directory(&attributes.what) {
                return Err(Errno::NOTDIR);
            }
            if self.is_covered(&so_far) {
                return Err(Errno::XDEV);
            }
        }
        match self.reader.may_look_into(&attributes.what) {
            true => Ok(attributes.what),
            false => Err(Errno::ACCES),
        }
    }

    pub(super) fn note(&mut self, at: Instant) {
        self.oldest = self.oldest.min(at);
    }

    pub(super) fn oldest_ns(&self) -> i64 {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now
            .tv_sec
            .saturating_mul(1_000_000_000)
            .saturating_add(now.tv_nsec);
        let age_ns = i64::try_from(self.oldest.elapsed().as_nanos()).unwrap_or(i64::MAX);
        now_ns.saturating_sub(age_ns)
    }

    /// Returns whether another file system is mounted there.
    pub(super) fn is_covered(&self, path: &[u8]) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let point = self.seen.place.point.as_os_str().as_bytes();
        let is_it = |other: &Vec<u8>| {
            let rest = other
                .strip_prefix(point)
                .and_then(|rest| rest.strip_prefix(b"/"));
            rest == Some(path)
        };
        self.covered.iter().any(is_it)
    }

    fn number(&self, path: &[u8], attributes: &Attributes) -> Option<u64> {
        self.seen.place.mounted.nodes.claim(path, attributes)
    }

    /// Returns a directory's listing if it is completely known; `None` if the kernel has to answer.
    pub(super) fn known(
        &mut self,
        path: &[u8],
        until: Instant,
    ) -> Result<Option<KnownListing>, Errno> {
        let tree = self.seen.tree();
        let Some(listing) = tree.listing_until(path, self.least, until)? else {
            return Ok(None);
        };
        let holds = tree.holds(path, &listing);
        self.note(holds.as_of);
        Ok(Some(KnownListing { listing, holds }))
    }

    /// Lists a directory. On the way to where listing resumes, entries before the way are added
    /// without details.
    fn list(
        &mut self,
        builder: &mut Builder,
        due: Due,
        until: Instant,
    ) -> Result<ListingResult, Errno> {
        let is_on_the_way = due.from.is_some();
        // No change is reported when a closed directory becomes listable, so the kernel has to
        // answer.
        if due.number != 0 && self.seen.tree().is_shut(&due.path) {
            return Ok(ListingResult::On);
        }
        let Some(told) = self.known(&due.path, until)? else {
            builder.leave_off(due.number);
            return Ok(ListingResult::Full);
        };
        let listing = &told.listing;
        let is_whole = |entry: &Entry| entry.found.is_ok();
        if listing.trouble.is_some() || !listing.entries.iter().all(is_whole) {
            return Ok(ListingResult::On);
        }
        let first = builder.len();
        let length = first + listing.entries.len() + 2;
        if length > self.demand.entries_max as usize && !is_on_the_way {
            builder.leave_off(due.number);
            return Ok(ListingResult::Full);
        }
        let Some(bare) = self.bare(&due, &told, until) else {
            builder.leave_off(due.number);
            return Ok(ListingResult::Full);
        };
        let nodes = &self.seen.place.mounted.nodes;
        let dots = dots(self.seen.tree(), nodes, &due.path)?;
        for (name, ino) in [&b"."[..], b".."].into_iter().zip(dots) {
            builder.push(&EntryParts {
                name,
                kind: kind(FileType::Directory),
                ino,
                ..EntryParts::default()
            });
        }
        match self.entries(builder, due, &told, &bare) {
            Some(more) => self.due.extend(more.into_iter().rev()),
            None => builder.truncate(first),
        }
        Ok(ListingResult::On)
    }

    /// Returns which names in a directory have no extended attributes, if that is wanted; `None` if
    /// there is no time to ask. The first directory may be answered in part, because the program
    /// may want only one of many files.
    fn bare(&mut self, due: &Due, told: &KnownListing, until: Instant) -> Option<Vec<bool>> {
        if self.demand.level < Level::Attributes {
            return Some(Vec::new());
        }
        let way = due.from.as_ref().and_then(|from| from.first());
        let names = Names {
            dir: &due.path,
            listing: &told.listing,
            holds: &told.holds,
            first: way.and_then(|way| told.listing.place(way)).unwrap_or(0),
        };
        let is_first = due.number == 0;
        let until = match is_first {
            true => Instant::now() + PATIENCE,
            false => until,
        };
        let bare = self.seen.tree().bare(names, &mut self.ahead, until);
        self.note(bare.as_of);
        let is_whole = bare.names.len() == told.listing.entries.len();
        (is_first || is_whole).then_some(bare.names)
    }

    /// Adds the entries of a directory, and returns the subdirectories to list. `None` if an entry
    /// cannot be represented.
    fn entries(
        &mut self,
        builder: &mut Builder,
        due: Due,
        told: &KnownListing,
        bare: &[bool],
    ) -> Option<Vec<Due>> {
        let KnownListing { listing, holds } = told;
        let first = builder.len() - 2;
        let mut from = due.from.unwrap_or_default();
        let way = (!from.is_empty()).then(|| from.remove(0));
        let way = way.filter(|way| listing.get(way).is_some());
        let mut is_before = way.is_some();
        let mut inner = Vec::new();
        for (at, entry) in listing.entries.iter().enumerate() {
            let found = entry.found.as_ref().ok()?;
            let is_way = way.as_deref() == Some(&*entry.name);
            is_before &= !is_way;
            let path = below(&due.path, &entry.name);
            let attr = file_attr(self.number(&path, found)?, found);
            let is_directory = attr.kind == FileType::Directory;
            let is_said = !is_before && holds.is_certain(at) && !self.is_covered(&path);
            let is_wanted = self.demand.level >= Level::Stats || is_directory;
            let stat = (is_said && is_wanted)
                .then(|| self.reader.stat(&attr, found, &self.seen.top.stat))
                .flatten();
            let link = match is_said && is_link(found) {
                true => self.target(&path),
                false => None,
            };
            let pushed = builder.push(&EntryParts {
                name: &entry.name,
                kind: kind(attr.kind),
                ino: attr.ino.0,
                stat: stat.as_ref(),
                link: link.as_deref(),
                is_bare: bare.get(at) == Some(&true) && !is_link(found),
                ..EntryParts::default()
            });
            if is_directory && stat.is_some() {
                let from = is_way.then(|| std::mem::take(&mut from));
                inner.push((pushed, path, from, self.reader.may_look_into(found)));
            }
        }
        builder.listed(due.number, first, Search::Allowed);
        let goes_on = self.demand.extent == Extent::Below && due.depth < DEPTH_MAX;
        let mut more = Vec::new();
        for (pushed, path, from, is_open) in inner {
            let number = builder.add_directory(pushed, Some(due.number));
            if goes_on && is_open {
                more.push(Due {
                    number,
                    depth: due.depth + 1,
                    path,
                    from,
                });
            }
        }
        Some(more)
    }

    /// Returns the target of a link, if it is known or can be requested.
    pub(super) fn target(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        if !self.asks_targets {
            return None;
        }
        let Ok(known) = self.seen.tree().target_lasting(path, self.least) else {
            self.asks_targets = false;
            return None;
        };
        self.note(self.seen.tree().target_as_of(path, &known));
        let target = known.what.ok()?;
        TARGET_BYTES.contains(&target.len()).then_some(target)
    }
}
