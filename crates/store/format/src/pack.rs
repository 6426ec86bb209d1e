//! Stores all manifests of an edition in one file, for readers that may read everything.
//!
//! ```text
//! "trawl pack 2\n"
//! u32, u64, u64    format, snapshot, later snapshot of the edition (0: none)
//! text             the source's root
//! guard            guard of the source as a whole
//! 32 bytes         key of the digests
//! u32, u32         number of shards; segments of all shards and the bundle
//! for each shard, and finally for the bundle:
//!   text           names of the directories that lead to it, joined by `/`
//!   u64            snapshot in its manifest
//!   guard          its guard
//!   11 × u64       its sums, as [`Totals`] has them
//!   u8, u128       1 if its digest is known; the digest
//!   u32            number of its segments
//!   for each segment:
//!     u64, u32     the snapshot of its writer, its number
//!     u64, u64     rows, dirs
//!     u8, u8       flags for its parts (`OWN_ROW` …); its tables, one bit each
//!     u32          if its rows are in the bundle: the number of that segment
//!     text, text   if it has directories: the first and the last
//!     for each table: u64, u64, u128, u64, u128, as [`FileRef`] has them
//!     u64, u128    if it has a name sidecar: as [`NamesRef`] has them
//!     6 × u64      if it has sums: as [`SegmentSums`] has them
//!     text         if it has a filter of its directories: its bytes
//! u128             xxh3-128 of all bytes before
//! ```
//! Numbers are little-endian. A text is its length as a u32, followed by its bytes. A guard is the
//! number of its steps as a u32, followed by the steps. A step is a byte, 0 or 1, followed by one
//! text (the predicate) or two (path, list).
//!
//! The bundle ([`crate::Snapshot::bundle`]) is stored as a shard without directory names, guard and sums.
//!
//! Opening a pack reads every byte once but builds no manifests; these are made on demand
//! ([`crate::shard_manifest`]). The file is derived: without it readers use the manifests
//! themselves. It is made before the edition is committed, from the same data as the manifests.

use crate::digest::DigestKey;
use crate::dir_filter::{DirFilter, DirKey, may_hold};
use crate::error::{IndexError, Result};
use crate::id::{Edition, Hash, SegmentId, SnapshotId};
use crate::layout;
use crate::manifest::{
    FileRef, GuardStep, Manifest, NamesRef, SegmentInfo, SegmentSums, Totals, check_format,
};
use crate::schema::{FORMAT, Table};
use crate::store::{Dir, sync_file};
use std::collections::BTreeMap;
use std::iter::repeat;
use std::path::Path;
use trawl_model::operation::Operation;
use xxhash_rust::xxh3::xxh3_128;

const MAGIC: &[u8] = b"trawl pack 2\n";
const HASH_BYTES: usize = 16;
/// Minimum size in bytes of the record of a shard, and of a segment.
const SHARD_BYTES_LEAST: usize = 100;
const SEGMENT_BYTES_LEAST: usize = 30;

/// Flags for the parts that a segment has.
const OWN_ROW: u8 = 1;
const DIRS: u8 = 2;
const NAMES: u8 = 4;
const SUMS: u8 = 8;
const FILTER: u8 = 16;
const BUNDLED: u8 = 32;

/// Content of an edition's pack.
pub struct Contents<'a> {
    /// The edition.
    pub edition: Edition,
    /// The source's root.
    pub root: &'a [u8],
    /// Guard of the source as a whole.
    pub above: &'a [GuardStep],
    /// Key of the digests.
    pub key: DigestKey,
    /// The shards, in any order.
    pub shards: Vec<Packing<'a>>,
    /// Segments of the bundle.
    pub bundle: &'a [SegmentInfo],
}

/// A shard to store in a pack.
pub struct Packing<'a> {
    /// Directory names that lead to the shard.
    pub components: &'a [String],
    /// Snapshot in its manifest.
    pub snapshot: SnapshotId,
    /// Its guard.
    pub guard: Vec<GuardStep>,
    /// Its segments.
    pub segments: &'a [SegmentInfo],
    /// Its sums.
    pub totals: &'a Totals,
    /// Digest of the set of its directories, if that is known.
    pub digest: Option<Hash>,
    /// For each segment the number, from 1, of the bundle's segment with its rows, or 0. Empty if
    /// no segment is in the bundle.
    pub bundled: Vec<u32>,
}

/// A pack that was read and validated.
#[derive(Debug)]
pub struct Pack {
    bytes: Vec<u8>,
    /// The source's root.
    pub root: Vec<u8>,
    /// Guard of the source as a whole.
    pub above: Vec<GuardStep>,
    /// Key of the digests.
    pub key: DigestKey,
    /// All shards, followed by the bundle.
    shards: Vec<ShardAt>,
    segments: Vec<SegmentAt>,
}

/// Start and end of a range of bytes in a pack.
type Span = (usize, usize);

/// Facts about a shard that are known without unpacking it.
#[derive(Clone, Copy, Debug)]
struct ShardAt {
    start: usize,
    first_segment: usize,
    segments: usize,
    /// Path of the barrier that its guard ends with.
    barrier: Option<Span>,
    digest: Option<Hash>,
}

/// Facts about a segment that are known without unpacking its shard.
#[derive(Clone, Copy, Debug)]
struct SegmentAt {
    dirs: Option<(Span, Span)>,
    filter: Option<Span>,
    has: u8,
    tables: u8,
    bundled: u32,
}

/// Facts that decide whether a query concerns a segment at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance<'a> {
    /// First and last directory, if the segment has any.
    pub dirs: Option<(&'a [u8], &'a [u8])>,
    /// True if row 0 of its dirs table is an own row.
    pub own_row: bool,
    filter: &'a [u8],
    tables: u8,
}

impl<'a> Glance<'a> {
    /// True if the segment has rows in a table.
    pub fn has(&self, table: Table) -> bool {
        self.tables & table_bit(table) != 0
    }

    /// False if the segment certainly lists neither `dir` nor any directory below it.
    pub fn may_hold(&self, dir: DirKey) -> bool {
        may_hold(self.filter, dir)
    }

    pub(crate) fn of(segment: &'a SegmentInfo) -> Glance<'a> {
        let dirs = segment
            .first_dir
            .as_deref()
            .zip(segment.last_dir.as_deref());
        Glance {
            dirs,
            own_row: segment.own_row,
            filter: segment.filter.as_ref().map_or(&[], |filter| &filter.0),
            tables: tables_of(segment),
        }
    }
}

fn table_bit(table: Table) -> u8 {
    1 << table as u8
}

fn tables_of(segment: &SegmentInfo) -> u8 {
    let bits = segment.files.keys().map(|table| table_bit(*table));
    bits.fold(0, |all, bit| all | bit)
}

/// Writes and syncs the pack of an edition. The caller syncs the directory.
pub fn write(private: &Dir, contents: &Contents<'_>) -> Result<()> {
    let name = layout::pack_file(contents.edition);
    let path = private.join(&name);
    let bytes = encode(contents).ok_or_else(|| IndexError::Encode {
        path: path.clone(),
        problem: "part of it is too long".to_owned(),
    })?;
    sync_file(&private.write_new(&name, &bytes)?, &path)
}

/// Reads the pack of an edition.
///
/// # Errors
/// If the pack does not exist or is invalid; the manifests hold the same data.
pub fn read(private: &Dir, edition: Edition) -> Result<Pack> {
    let _span = Operation::ReadManifest.span();
    let name = layout::pack_file(edition);
    Pack::from_bytes(private.read(&name)?, &private.join(&name), edition)
}

/// Encodes a pack; `None` if a length exceeds its field.
fn encode(contents: &Contents<'_>) -> Option<Vec<u8>> {
    let mut out = Writer(MAGIC.to_vec());
    out.u32(FORMAT);
    out.u64(contents.edition.id.0);
    out.u64(contents.edition.revision.map_or(0, |id| id.0));
    out.text(contents.root)?;
    out.guard(contents.above)?;
    out.0.extend_from_slice(&contents.key.bytes());
    out.length(contents.shards.len())?;
    let segments: usize = contents.shards.iter().map(|s| s.segments.len()).sum();
    out.length(segments + contents.bundle.len())?;
    for shard in &contents.shards {
        out.shard(shard)?;
    }
    out.shard(&Packing {
        components: &[],
        snapshot: contents.edition.id,
        guard: Vec::new(),
        segments: contents.bundle,
        totals: &Totals::default(),
        digest: None,
        bundled: Vec::new(),
    })?;
    let hash = xxh3_128(&out.0);
    out.u128(hash);
    Some(out.0)
}

struct Writer(Vec<u8>);

impl Writer {
    fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn u128(&mut self, number: u128) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn length(&mut self, length: usize) -> Option<()> {
        self.u32(u32::try_from(length).ok()?);
        Some(())
    }

    fn text(&mut self, bytes: &[u8]) -> Option<()> {
        self.length(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Some(())
    }

    fn guard(&mut self, steps: &[GuardStep]) -> Option<()> {
        self.length(steps.len())?;
        for step in steps {
            match step {
                GuardStep::Predicate { who } => {
                    self.0.push(0);
                    self.text(who.as_bytes())?;
                }
                GuardStep::Barrier { path, list } => {
                    self.0.push(1);
                    self.text(path)?;
                    self.text(list.as_bytes())?;
                }
            }
        }
        Some(())
    }

    fn shard(&mut self, shard: &Packing<'_>) -> Option<()> {
        self.text(shard.components.join("/").as_bytes())?;
        self.u64(shard.snapshot.0);
        self.guard(&shard.guard)?;
        shard.totals.numbers().into_iter().for_each(|n| self.u64(n));
        self.0.push(u8::from(shard.digest.is_some()));
        self.u128(shard.digest.unwrap_or_default().0);
        self.length(shard.segments.len())?;
        let bundled = shard.bundled.iter().copied().chain(repeat(0));
        let mut segments = shard.segments.iter().zip(bundled);
        segments.try_for_each(|(segment, bundled)| self.segment(segment, bundled))
    }

    fn segment(&mut self, segment: &SegmentInfo, bundled: u32) -> Option<()> {
        self.u64(segment.id.snapshot.0);
        self.u32(segment.id.number);
        self.u64(segment.rows);
        self.u64(segment.dirs);
        let dirs = segment.first_dir.as_ref().zip(segment.last_dir.as_ref());
        let has = |bit, is_there| if is_there { bit } else { 0 };
        self.0.push(
            has(OWN_ROW, segment.own_row)
                | has(DIRS, dirs.is_some())
                | has(NAMES, segment.names.is_some())
                | has(SUMS, segment.sums.is_some())
                | has(FILTER, segment.filter.is_some())
                | has(BUNDLED, bundled > 0),
        );
        self.0.push(tables_of(segment));
        if bundled > 0 {
            self.u32(bundled);
        }
        if let Some((first, last)) = dirs {
            self.text(first)?;
            self.text(last)?;
        }
        for file in segment.files.values() {
            self.u64(file.rows);
            self.u64(file.size_bytes);
            self.u128(file.hash.0);
            self.u64(file.tail_bytes);
            self.u128(file.tail_hash.0);
        }
        if let Some(names) = segment.names {
            self.u64(names.size_bytes);
            self.u128(names.hash.0);
        }
        let sums = segment.sums.map(|sums| sums.numbers());
        sums.into_iter().flatten().for_each(|n| self.u64(n));
        match &segment.filter {
            Some(filter) => self.text(&filter.0),
            None => Some(()),
        }
    }
}

impl Pack {
    /// Decodes and validates a whole pack. `path` names it in errors.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] and [`IndexError::Format`].
    pub fn from_bytes(bytes: Vec<u8>, path: &Path, edition: Edition) -> Result<Pack> {
        let damaged = |what: &str| IndexError::damaged(path, what);
        let split = bytes.len().checked_sub(HASH_BYTES);
        let split = split.ok_or_else(|| damaged("it ends before its checksum"))?;
        let (body, hash) = bytes.split_at(split);
        if xxh3_128(body).to_le_bytes() != hash {
            return Err(damaged("its checksum does not match"));
        }
        let mut reader = Reader { bytes: body, at: 0 };
        let format = reader.head().ok_or_else(|| damaged("it is not a pack"))?;
        check_format(format, path)?;
        let pack = reader
            .pack(edition)
            .ok_or_else(|| damaged("its content is invalid"))?;
        Ok(Pack { bytes, ..pack })
    }

    /// Returns the number of shards. The bundle follows the last one.
    pub fn shard_count(&self) -> usize {
        self.shards.len().saturating_sub(1)
    }

    /// Returns the number, from 1, of the bundle's segment with a segment's rows.
    pub fn bundled(&self, shard: usize, segment: usize) -> Option<u32> {
        let shard = self.shards.get(shard)?;
        let at = (segment < shard.segments).then_some(shard.first_segment + segment)?;
        let bundled = self.segments.get(at)?.bundled;
        (bundled > 0).then_some(bundled)
    }

    /// Returns the digest of the set of a shard's directories, if it is known.
    pub fn digest(&self, shard: usize) -> Option<Hash> {
        self.shards.get(shard)?.digest
    }

    pub(crate) fn barrier(&self, shard: usize) -> Option<&[u8]> {
        self.span(self.shards.get(shard)?.barrier?)
    }

    /// Returns the number of a shard's segments.
    pub fn segment_count(&self, shard: usize) -> usize {
        self.shards.get(shard).map_or(0, |shard| shard.segments)
    }

    pub(crate) fn glance(&self, shard: usize, segment: usize) -> Option<Glance<'_>> {
        let shard = self.shards.get(shard)?;
        let at = (segment < shard.segments).then_some(shard.first_segment + segment)?;
        let segment = self.segments.get(at)?;
        let dirs = match segment.dirs {
            Some((first, last)) => Some((self.span(first)?, self.span(last)?)),
            None => None,
        };
        Some(Glance {
            dirs,
            own_row: segment.has & OWN_ROW != 0,
            filter: match segment.filter {
                Some(filter) => self.span(filter)?,
                None => &[],
            },
            tables: segment.tables,
        })
    }

    /// True if every reference to a segment of the bundle is valid, and the bundle's segments have
    /// neither own rows nor such references.
    fn is_bundle_sound(&self) -> bool {
        let Some(bundle) = self.shards.last() else {
            return false;
        };
        let (of_shards, of_bundle) = self.segments.split_at(bundle.first_segment);
        of_shards
            .iter()
            .all(|s| s.bundled as usize <= of_bundle.len())
            && of_bundle.iter().all(|s| s.has & (OWN_ROW | BUNDLED) == 0)
    }

    fn span(&self, (start, end): Span) -> Option<&[u8]> {
        self.bytes.get(start..end)
    }

    /// Returns the directory names that lead to a shard, and its manifest. `None` if there is no
    /// such shard; existing shards were validated before.
    pub fn unpack(&self, shard: usize) -> Option<(Vec<String>, Manifest)> {
        let mut reader = Reader {
            bytes: &self.bytes,
            at: self.shards.get(shard)?.start,
        };
        let head = reader.shard_head()?;
        let names = head.components.split('/').filter(|name| !name.is_empty());
        let mut manifest = Manifest {
            format: FORMAT,
            snapshot: head.snapshot,
            root: self.root.clone(),
            guard: head.guard.to_steps()?,
            segments: Vec::new(),
            totals: head.totals,
        };
        for _ in 0..head.segments {
            manifest.segments.push(reader.segment()?.to_info());
        }
        Some((names.map(str::to_owned).collect(), manifest))
    }
}

/// Reads numbers and texts in sequence, never beyond the end of the bytes.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A guard whose steps were validated.
struct PackedGuard<'a> {
    bytes: &'a [u8],
    barrier: Option<Span>,
}

struct ShardHead<'a> {
    components: &'a str,
    snapshot: SnapshotId,
    guard: PackedGuard<'a>,
    totals: Totals,
    digest: Option<Hash>,
    segments: usize,
}

struct PackedSegment<'a> {
    id: SegmentId,
    rows: u64,
    dirs: u64,
    has: u8,
    tables: u8,
    bundled: u32,
    ends: Option<(&'a [u8], &'a [u8])>,
    spans: Option<(Span, Span)>,
    files: [Option<FileRef>; Table::ALL.len()],
    names: Option<NamesRef>,
    sums: Option<SegmentSums>,
    filter: Option<(&'a [u8], Span)>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn hash(&mut self) -> Option<Hash> {
        self.array().map(u128::from_le_bytes).map(Hash)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.u64()?;
        }
        Some(numbers)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }

    /// Reads the number of records that follow, each of at least `bytes_least` bytes. `None` if
    /// that many cannot follow.
    fn count(&mut self, bytes_least: usize) -> Option<usize> {
        let count = self.length()?;
        let left = self.bytes.len().checked_sub(self.at)?;
        (count <= left / bytes_least).then_some(count)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// Reads a text and returns its position.
    fn text_at(&mut self) -> Option<(&'a [u8], Span)> {
        let text = self.text()?;
        Some((text, (self.at - text.len(), self.at)))
    }

    fn utf8(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.text()?).ok()
    }

    /// Reads the magic bytes and returns the format version.
    fn head(&mut self) -> Option<u32> {
        if self.take(MAGIC.len())? != MAGIC {
            return None;
        }
        self.u32()
    }

    /// Reads everything except the magic bytes and format; the result has no bytes of its own yet.
    fn pack(&mut self, edition: Edition) -> Option<Pack> {
        let id = SnapshotId(self.u64()?);
        let revision = Some(self.u64()?).filter(|id| *id != 0).map(SnapshotId);
        if (Edition { id, revision }) != edition {
            return None;
        }
        let root = self.text()?.to_vec();
        let above = self.guard()?.to_steps()?;
        let key = DigestKey::from_bytes(&self.array()?);
        let shards = self.count(SHARD_BYTES_LEAST)?;
        let segments = self.count(SEGMENT_BYTES_LEAST)?;
        let mut pack = Pack {
            bytes: Vec::new(),
            root,
            above,
            key,
            shards: Vec::with_capacity(shards + 1),
            segments: Vec::with_capacity(segments),
        };
        for _ in 0..=shards {
            self.shard(edition, &mut pack)?;
        }
        let is_all = self.at == self.bytes.len() && pack.segments.len() == segments;
        (is_all && pack.is_bundle_sound()).then_some(pack)
    }

    fn shard(&mut self, edition: Edition, pack: &mut Pack) -> Option<()> {
        let start = self.at;
        let head = self.shard_head()?;
        if head.snapshot > edition.id {
            return None;
        }
        let first_segment = pack.segments.len();
        for _ in 0..head.segments {
            let segment = self.segment()?;
            pack.segments.push(SegmentAt {
                dirs: segment.spans,
                filter: segment.filter.map(|(_, at)| at),
                has: segment.has,
                tables: segment.tables,
                bundled: segment.bundled,
            });
        }
        pack.shards.push(ShardAt {
            start,
            first_segment,
            segments: head.segments,
            barrier: head.guard.barrier,
            digest: head.digest,
        });
        Some(())
    }

    fn shard_head(&mut self) -> Option<ShardHead<'a>> {
        Some(ShardHead {
            components: self.utf8()?,
            snapshot: SnapshotId(self.u64()?),
            guard: self.guard()?,
            totals: Totals::from_numbers(self.numbers()?),
            digest: {
                let is_known = self.u8()?;
                let digest = self.hash()?;
                (is_known == 1).then_some(digest)
            },
            segments: self.count(SEGMENT_BYTES_LEAST)?,
        })
    }

    fn guard(&mut self) -> Option<PackedGuard<'a>> {
        let start = self.at;
        let mut barrier = None;
        for _ in 0..self.count(1)? {
            (_, barrier) = self.step()?;
        }
        let bytes = self.bytes.get(start..self.at)?;
        Some(PackedGuard { bytes, barrier })
    }

    /// Reads a step and returns the position of its path if it is a barrier.
    fn step(&mut self) -> Option<(PackedStep<'a>, Option<Span>)> {
        match self.u8()? {
            0 => Some((PackedStep::Predicate(self.utf8()?), None)),
            1 => {
                let (path, at) = self.text_at()?;
                Some((PackedStep::Barrier(path, self.utf8()?), Some(at)))
            }
            _ => None,
        }
    }

    fn segment(&mut self) -> Option<PackedSegment<'a>> {
        let id = SegmentId {
            snapshot: SnapshotId(self.u64()?),
            number: self.u32()?,
        };
        let (rows, dirs) = (self.u64()?, self.u64()?);
        let (has, tables) = (self.u8()?, self.u8()?);
        let known = Table::ALL.into_iter().fold(0, |all, t| all | table_bit(t));
        if tables & !known != 0 || has & !(OWN_ROW | DIRS | NAMES | SUMS | FILTER | BUNDLED) != 0 {
            return None;
        }
        let bundled = match has & BUNDLED {
            0 => 0,
            _ => Some(self.u32()?).filter(|number| *number > 0)?,
        };
        let (mut ends, mut spans) = (None, None);
        if has & DIRS != 0 {
            let (first, last) = (self.text_at()?, self.text_at()?);
            ends = Some((first.0, last.0));
            spans = Some((first.1, last.1));
        }
        let mut files = [None; Table::ALL.len()];
        for (table, file) in Table::ALL.into_iter().zip(&mut files) {
            if tables & table_bit(table) != 0 {
                *file = Some(self.file()?);
            }
        }
        let mut segment = PackedSegment {
            id,
            rows,
            dirs,
            has,
            tables,
            bundled,
            ends,
            spans,
            files,
            names: None,
            sums: None,
            filter: None,
        };
        if has & NAMES != 0 {
            let (size_bytes, hash) = (self.u64()?, self.hash()?);
            segment.names = Some(NamesRef { size_bytes, hash });
        }
        if has & SUMS != 0 {
            segment.sums = Some(SegmentSums::from_numbers(self.numbers()?));
        }
        if has & FILTER != 0 {
            segment.filter = Some(self.text_at()?);
        }
        segment.is_sound().then_some(segment)
    }

    fn file(&mut self) -> Option<FileRef> {
        Some(FileRef {
            rows: self.u64()?,
            size_bytes: self.u64()?,
            hash: self.hash()?,
            tail_bytes: self.u64()?,
            tail_hash: self.hash()?,
        })
    }
}

enum PackedStep<'a> {
    Predicate(&'a str),
    Barrier(&'a [u8], &'a str),
}

impl PackedGuard<'_> {
    fn to_steps(&self) -> Option<Vec<GuardStep>> {
        let mut reader = Reader {
            bytes: self.bytes,
            at: 0,
        };
        let count = reader.count(1)?;
        let mut steps = Vec::with_capacity(count);
        for _ in 0..count {
            steps.push(match reader.step()?.0 {
                PackedStep::Predicate(who) => GuardStep::Predicate {
                    who: who.to_owned(),
                },
                PackedStep::Barrier(path, list) => GuardStep::Barrier {
                    path: path.to_vec(),
                    list: list.to_owned(),
                },
            });
        }
        Some(steps)
    }
}

impl PackedSegment<'_> {
    /// Checks the same properties as for a segment of a manifest.
    fn is_sound(&self) -> bool {
        let rows = |table: Table| {
            let file = Table::ALL
                .into_iter()
                .zip(&self.files)
                .find(|(t, _)| *t == table);
            file.and_then(|(_, file)| *file).map_or(0, |file| file.rows)
        };
        rows(Table::Entries) == self.rows
            && rows(Table::Dirs) == self.dirs
            && (self.has & OWN_ROW == 0 || self.dirs > 0)
            && (self.dirs > 0) == self.ends.is_some()
            && self
                .files
                .iter()
                .flatten()
                .all(|f| f.tail_bytes <= f.size_bytes)
    }

    fn to_info(&self) -> SegmentInfo {
        let files = Table::ALL.into_iter().zip(self.files);
        let files = files.filter_map(|(table, file)| Some((table, file?)));
        SegmentInfo {
            id: self.id,
            rows: self.rows,
            dirs: self.dirs,
            own_row: self.has & OWN_ROW != 0,
            first_dir: self.ends.map(|(first, _)| first.to_vec()),
            last_dir: self.ends.map(|(_, last)| last.to_vec()),
            files: files.collect::<BTreeMap<_, _>>(),
            names: self.names,
            sums: self.sums,
            filter: self.filter.map(|(filter, _)| DirFilter(filter.to_vec())),
        }
    }
}

#[cfg(test)]
mod tests;
