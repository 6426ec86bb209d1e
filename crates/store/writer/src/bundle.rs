//! Copies the rows of small segments into a few large ones.
//!
//! An index with many guards has many small shards, and a reader that may read everything would
//! open each of them for every query. Therefore the rows of small segments are written a second
//! time: as ordinary segments beside the pack that names them, for the index's owner alone. For
//! each small segment the pack names the bundle's segment that has its rows; readers that use the
//! pack read that segment instead.
//!
//! The bundle omits own rows of directories behind barriers, and attribute values beside them:
//! readers that may read everything find these where the directory is listed.
//!
//! The bundle is derived: without it readers use the small segments. A segment of the previous
//! snapshot's bundle stays if all small segments that it was made from stay, so a scan that finds
//! few changes adds little.

use crate::carry::is_sound;
use crate::clean::remove_matching;
use crate::encode::Compressor;
use crate::read_back;
use crate::revision::Stored;
use crate::segment::{self, Lifetime, Listing, SegmentInput, Target, XattrRow};
use std::collections::{HashMap, HashSet};
use std::mem::take;
use trawl_format::ListingKind;
use trawl_format::error::Result;
use trawl_format::id::{SegmentId, SnapshotId};
use trawl_format::layout;
use trawl_format::manifest::{GuardStep, SegmentInfo};
use trawl_format::pack::{self, Pack};
use trawl_format::snapshot::{Shard, Snapshot};
use trawl_format::store::{Dir, sync_file};
use trawl_model::path;

/// A segment is small if all its tables have fewer rows than this.
const SMALL_ROWS: u64 = 8192;
/// Minimum number of small segments for which a bundle is made.
const SMALL_LEAST: usize = 32;
/// A segment of the bundle with at least this many rows takes no further small segments.
const FULL_ROWS: u64 = 1 << 18;
/// When the bundle changes, segments of the previous bundle with fewer rows than this are rewritten
/// as well, so that segments do not become too many.
const KEPT_ROWS_LEAST: u64 = FULL_ROWS / 2;

/// The bundle of a snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Bundle {
    segments: Vec<SegmentInfo>,
    members: Members,
}

/// Small segments by the directory names of their shards. The value is the number, from 1, of the
/// bundle's segment with their rows.
type Members = HashMap<Vec<String>, HashMap<SegmentId, u32>>;

/// Where a bundle is made.
pub(crate) struct BundleTarget<'a> {
    /// The source's directory of files for the owner alone.
    pub(crate) private: &'a Dir,
    /// The writer's part of the ids of new segments.
    pub(crate) writer: SnapshotId,
    /// Maximum memory for waiting rows, in bytes.
    pub(crate) memory_bytes: usize,
}

impl Bundle {
    /// Returns the bundle's segments.
    pub(crate) fn segments(&self) -> &[SegmentInfo] {
        &self.segments
    }

    /// Returns for each segment of a shard the number, from 1, of the bundle's segment with its
    /// rows, or 0.
    pub(crate) fn numbers(&self, components: &[String], segments: &[SegmentInfo]) -> Vec<u32> {
        let Some(known) = self.members.get(components) else {
            return Vec::new();
        };
        let number = |segment: &SegmentInfo| known.get(&segment.id).copied().unwrap_or(0);
        segments.iter().map(number).collect()
    }

    /// Returns the bundle that a pack describes.
    pub(crate) fn of_pack(pack: &Pack) -> Bundle {
        let Some((_, manifest)) = pack.unpack(pack.shard_count()) else {
            return Bundle::default();
        };
        let mut members = Members::new();
        for shard in 0..pack.shard_count() {
            let bundled = (0..pack.segment_count(shard)).map(|at| pack.bundled(shard, at));
            let bundled: Vec<Option<u32>> = bundled.collect();
            if bundled.iter().all(Option::is_none) {
                continue;
            }
            if let Some((components, manifest)) = pack.unpack(shard) {
                let segments = manifest.segments.iter().zip(bundled);
                let known = segments.filter_map(|(segment, number)| Some((segment.id, number?)));
                members.insert(components, known.collect());
            }
        }
        Bundle {
            segments: manifest.segments,
            members,
        }
    }

    /// Returns the directory whose own row and attribute values a shard behind this guard has
    /// copies of, if there is one.
    pub(crate) fn copied(guard: &[GuardStep]) -> Option<&[u8]> {
        guard.iter().rev().find_map(|step| match step {
            GuardStep::Barrier { path, .. } => Some(&path[..]),
            GuardStep::Predicate { .. } => None,
        })
    }

    /// True for the own row of the directory at `copied` and for its attribute values.
    pub(crate) fn is_copy(what: &Stored, copied: Option<&[u8]>) -> bool {
        match what {
            Stored::Rows(kind, _) => *kind == ListingKind::Barrier,
            Stored::Value { dir, name, .. } => {
                copied.is_some_and(|copied| copied == path::join(dir, name))
            }
            Stored::Issue(_) => false,
        }
    }

    /// Returns the segments named by packs in a private directory. Unreadable packs are skipped,
    /// since readers cannot use their bundles either.
    pub(crate) fn all_named(private: &Dir) -> Result<HashSet<SegmentId>> {
        let mut named = HashSet::new();
        for edition in private.list()?.iter().filter_map(|n| layout::pack_name(n)) {
            if let Ok(pack) = pack::read(private, edition) {
                let (_, manifest) = pack.unpack(pack.shard_count()).unzip();
                let segments = manifest.map(|manifest| manifest.segments);
                named.extend(segments.into_iter().flatten().map(|segment| segment.id));
            }
        }
        Ok(named)
    }

    /// Returns for each of the bundle's segments the number of small segments that it was made
    /// from.
    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.segments.len()];
        for number in self.members.values().flat_map(HashMap::values) {
            if let Some(count) = counts.get_mut((*number as usize).wrapping_sub(1)) {
                *count += 1;
            }
        }
        counts
    }

    /// Syncs the bundle's files made by `writer`. The caller syncs the directory.
    pub(crate) fn sync(&self, private: &Dir, writer: SnapshotId) -> Result<()> {
        let own = self.segments.iter().filter(|s| s.id.snapshot == writer);
        for (name, _, _) in own.flat_map(SegmentInfo::named_files) {
            sync_file(&private.open_file(&name)?, &private.join(&name))?;
        }
        Ok(())
    }
}

/// A segment whose rows go into the bundle.
struct Small {
    shard: usize,
    id: SegmentId,
    components: Vec<String>,
    first_dir: Option<Vec<u8>>,
    /// The directory whose own row and attribute values it has copies of.
    copied: Option<Vec<u8>>,
}

/// Makes the bundle of a snapshot, reusing segments of the bundle in the pack `before`. The new
/// files are not synced.
///
/// After a failure the snapshot has no bundle, which is valid.
pub(crate) fn make(
    place: &BundleTarget<'_>,
    snapshot: &Snapshot,
    before: Option<&Pack>,
    compressor: &mut Compressor,
) -> Bundle {
    let Ok(first) = next_number(place) else {
        return Bundle::default();
    };
    try_make(place, first, snapshot, before, compressor).unwrap_or_else(|_| {
        let is_new = |name: &str| {
            let id = layout::segment_of(name);
            id.is_some_and(|id| id.snapshot == place.writer && id.number >= first)
        };
        // Nothing refers to files that cannot be removed here; gc removes them.
        let _ = remove_matching(place.private, is_new);
        Bundle::default()
    })
}

fn try_make(
    place: &BundleTarget<'_>,
    first: u32,
    snapshot: &Snapshot,
    before: Option<&Pack>,
    compressor: &mut Compressor,
) -> Result<Bundle> {
    let small = small_segments(&snapshot.shards);
    if small.len() < SMALL_LEAST {
        return Ok(Bundle::default());
    }
    let before = before.map(Bundle::of_pack).unwrap_or_default();
    let (mut bundle, mut loose) = keep(place.private, &before, small, 0);
    if loose.len() < SMALL_LEAST {
        return Ok(bundle);
    }
    if !bundle.segments.is_empty() {
        let small = small_segments(&snapshot.shards);
        (bundle, loose) = keep(place.private, &before, small, KEPT_ROWS_LEAST);
    }
    let root = trawl_model::escape::escape(&snapshot.info.root);
    let mut writer = Writer {
        place,
        root: &root,
        next: first,
        compressor,
        input: SegmentInput::default(),
        rows: 0,
        memory_bytes: 0,
        bundle,
        numbers: vec![0; loose.len()],
        at: usize::MAX,
    };
    let wanted: Vec<_> = loose.iter().map(|small| (small.shard, small.id)).collect();
    read_back::read(snapshot.clone(), &wanted, &mut |at, what| {
        let copied = loose.get(at).and_then(|small| small.copied.as_deref());
        match Bundle::is_copy(&what, copied) {
            true => Ok(()),
            false => writer.add(at, what),
        }
    })?;
    writer.finish(loose)
}

/// Returns the small segments of all shards, in path order. Leaves out the segment with the source
/// root's own row, since that row has no other copy.
fn small_segments(shards: &[Shard]) -> Vec<Small> {
    let mut small = Vec::new();
    for (at, shard) in shards.iter().enumerate() {
        let components = shard.components();
        for segment in &shard.manifest.segments {
            let is_small = segment.files.values().all(|file| file.rows < SMALL_ROWS);
            if is_small && !(segment.own_row && components.is_empty()) {
                small.push(Small {
                    shard: at,
                    id: segment.id,
                    components: components.to_vec(),
                    first_dir: segment.first_dir.clone(),
                    copied: Bundle::copied(&shard.manifest.guard).map(<[u8]>::to_vec),
                });
            }
        }
    }
    let dir = |small: &Small| small.first_dir.is_none();
    small.sort_by(|a, b| match (&a.first_dir, &b.first_dir) {
        (Some(a), Some(b)) => path::cmp(a, b),
        _ => dir(a).cmp(&dir(b)),
    });
    small
}

/// Keeps the segments of the previous bundle whose members are all among `small`, whose files are
/// undamaged, and that have at least `rows_least` rows. Also returns the elements of `small` that
/// are in none of these.
fn keep(
    private: &Dir,
    before: &Bundle,
    small: Vec<Small>,
    rows_least: u64,
) -> (Bundle, Vec<Small>) {
    let number_of = |small: &Small| {
        let known = before.members.get(&small.components)?;
        known.get(&small.id).map(|number| *number as usize - 1)
    };
    let mut found = vec![0; before.segments.len()];
    for at in small.iter().filter_map(number_of) {
        if let Some(count) = found.get_mut(at) {
            *count += 1;
        }
    }
    let mut bundle = Bundle::default();
    let mut numbers = vec![0u32; before.segments.len()];
    let counts = found.iter().zip(before.counts());
    for (at, (info, (found, all))) in before.segments.iter().zip(counts).enumerate() {
        if *found == all && info.rows >= rows_least && is_sound(private, info) {
            bundle.segments.push(info.clone());
            numbers[at] = bundle.segments.len() as u32;
        }
    }
    let mut loose = Vec::new();
    for small in small {
        match number_of(&small).and_then(|at| numbers.get(at).copied()) {
            Some(number) if number > 0 => bundle.put(small, number),
            _ => loose.push(small),
        }
    }
    (bundle, loose)
}

impl Bundle {
    fn put(&mut self, small: Small, number: u32) {
        let shard = self.members.entry(small.components).or_default();
        shard.insert(small.id, number);
    }
}

/// Returns the first number that no segment of the writer has in the directory.
fn next_number(place: &BundleTarget<'_>) -> Result<u32> {
    let number = |name: &String| {
        let id = layout::segment_of(name)?;
        (id.snapshot == place.writer).then_some(id.number + 1)
    };
    Ok(place
        .private
        .list()?
        .iter()
        .filter_map(number)
        .max()
        .unwrap_or(0))
}

/// Writes the content read back from small segments.
struct Writer<'a> {
    place: &'a BundleTarget<'a>,
    root: &'a str,
    next: u32,
    compressor: &'a mut Compressor,
    input: SegmentInput,
    rows: u64,
    memory_bytes: usize,
    bundle: Bundle,
    /// For each small segment the number of the bundle's segment, if anything was read of it.
    numbers: Vec<u32>,
    /// Index of the small segment that is being read.
    at: usize,
}

impl Writer<'_> {
    fn add(&mut self, at: usize, what: Stored) -> Result<()> {
        if at != self.at && (self.rows >= FULL_ROWS || self.is_memory_spent()) {
            self.flush()?;
        }
        self.at = at;
        if let Some(number) = self.numbers.get_mut(at) {
            *number = self.bundle.segments.len() as u32 + 1;
        }
        match what {
            Stored::Rows(kind, batch) => {
                self.rows += batch.entries.len() as u64;
                self.memory_bytes += batch.memory_bytes();
                self.input.listings.push(Listing { kind, batch });
            }
            Stored::Value {
                dir,
                name,
                attr,
                value,
            } => {
                let row = XattrRow {
                    dir,
                    name,
                    attr,
                    value,
                };
                self.memory_bytes += row.memory_bytes();
                self.input.xattrs.push(row);
            }
            Stored::Issue(issue) => {
                self.memory_bytes += issue.path.len() + issue.detail.len();
                self.input.issues.push(issue);
            }
        }
        Ok(())
    }

    fn is_memory_spent(&self) -> bool {
        self.memory_bytes > self.place.memory_bytes
    }

    fn flush(&mut self) -> Result<()> {
        (self.rows, self.memory_bytes) = (0, 0);
        let target = Target {
            dir: self.place.private,
            id: SegmentId {
                snapshot: self.place.writer,
                number: self.next,
            },
            root: self.root,
            stay: Lifetime::Long,
            guard: None,
        };
        self.next += 1;
        let (info, _) = segment::write(&target, take(&mut self.input), self.compressor)?;
        self.bundle.segments.push(info);
        Ok(())
    }

    /// Writes the waiting rows and returns the bundle. A small segment that gave no rows has only
    /// copies.
    fn finish(mut self, loose: Vec<Small>) -> Result<Bundle> {
        if !self.input.is_empty() {
            self.flush()?;
        }
        let any = u32::from(!self.bundle.segments.is_empty());
        for (small, number) in loose.into_iter().zip(take(&mut self.numbers)) {
            let number = number.max(any);
            if number > 0 {
                self.bundle.put(small, number);
            }
        }
        Ok(self.bundle)
    }
}
