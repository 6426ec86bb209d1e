//! Finds which items of the previous snapshot are unchanged, so that the new snapshot refers to
//! existing segments instead of writing them again.
//!
//! While a scan delivers items (listings, groups of attribute values, issues), each is looked up
//! among the items of the previous snapshot's segments in the same shard. An item that is found is
//! counted and dropped: the writer does not encode it. In the end a segment whose items were all
//! found belongs to the new snapshot as it is. If only some of a segment's items were found, these
//! are read from it again ([`read_back`]) and written with the new items.
//!
//! Below, an item that is found again has *come back*.
//!
//! Invariants:
//!
//! - An item is dropped only if the files of its segment match their hashes; the writer checks this
//!   when it begins.
//! - Every dropped item is in the new snapshot, or the commit fails.
//! - Memory is 20 bytes for each item of the previous snapshot.

use crate::item_file::{self, Continues, ShardHash, shard_hash};
use crate::items::{Content, Extras, Item, ItemKey, Itemizer};
use crate::read_back;
use crate::revision::Stored;
use crate::segment::{XattrRow, append_fragment};
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use trawl_format::ListingKind;
use trawl_format::error::{IndexError, Result};
use trawl_format::id::{Hash, SegmentId, SnapshotId};
use trawl_format::layout;
use trawl_format::manifest::{Manifest, SegmentInfo, Totals};
use trawl_format::snapshot::{ShardList, Snapshot, SnapshotInfo};
use trawl_format::source::Source;
use trawl_format::store::Dir;
use trawl_model::{DirBatch, KnownListings, Timestamp};
use xxhash_rust::xxh3::Xxh3;

/// Segments with fewer rows than this are merged if a shard that is being written to has more than
/// [`SMALL_MOST`] of them.
const SMALL_ROWS: u64 = 100_000;
const SMALL_MOST: usize = 8;
/// An entry that changed within this time before the previous scan began, or later, may have
/// changed again within the same tick of the clock that stamps it.
const RACY_SECS: i64 = 2;
/// Option in the description of a snapshot that was made without a scan. Its value is the last
/// scanned snapshot, from which it derives.
pub const CHECKPOINT: &str = "checkpoint";
/// Number of bytes read at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// One item of the previous snapshot, and its segment.
#[derive(Clone, Copy)]
struct KnownItem {
    item: Item,
    segment: u32,
}

/// All items of the previous snapshot, in order.
struct Table {
    known: Vec<KnownItem>,
    key: ItemKey,
    /// A listing that changed at this time or later, or has entries that did, is not assumed to be
    /// unchanged.
    trusted_before: Option<Timestamp>,
}

/// Listings of the previous snapshot, available once the writer has begun: for a scan that trusts
/// times of change.
#[derive(Clone, Default)]
pub struct KnownItems(Arc<OnceLock<Arc<Table>>>);

/// A shard of the previous snapshot.
pub(crate) struct PreviousShard {
    pub(crate) components: Vec<String>,
    pub(crate) manifest: Manifest,
    /// Name of its manifest's file.
    pub(crate) file_name: String,
}

struct Segment {
    shard: usize,
    info: SegmentInfo,
    continues: Continues,
    items: u32,
    back: u32,
    /// Sums over the items that came back.
    totals: Totals,
}

/// The previous snapshot while the next one is being written.
pub(crate) struct Previous {
    id: SnapshotId,
    /// Path for messages.
    data_path: PathBuf,
    shards: Vec<PreviousShard>,
    by_components: HashMap<Vec<String>, usize>,
    segments: Vec<Segment>,
    table: Arc<Table>,
    /// One bit for each item of the table, set if the item came back.
    back: Vec<u64>,
}

/// Decision about the previous snapshot's segments.
#[derive(Default)]
pub(crate) struct Settlement {
    /// Segments that the new snapshot shares, each with its shard, in their order.
    pub(crate) shared: Vec<(usize, SegmentInfo)>,
    /// Sums over the items that came back, by shard.
    pub(crate) totals: Vec<(usize, Totals)>,
    /// Numbers of the segments to read back.
    pub(crate) partial: Vec<usize>,
}

/// An item that was read back.
pub(crate) struct Returned {
    pub(crate) shard: usize,
    pub(crate) continues: Continues,
    /// True for the first item of its segment.
    pub(crate) is_first: bool,
    pub(crate) item: Item,
    pub(crate) content: Content,
}

impl Previous {
    /// Loads the snapshot of `list`, leaving out segments with damaged files. `None` if none of it
    /// can be used.
    pub(crate) fn load(source: &Source, list: &ShardList, started: Timestamp) -> Option<Previous> {
        let info = SnapshotInfo::read(source.dir(), list.snapshot).ok()?;
        let key = ItemKey::new(&list.key);
        let mut previous = Previous {
            id: info.id,
            data_path: source.dir().join(layout::DATA),
            shards: Vec::new(),
            by_components: HashMap::new(),
            segments: Vec::new(),
            table: Arc::new(Table {
                known: Vec::new(),
                key: key.clone(),
                trusted_before: None,
            }),
            back: Vec::new(),
        };
        let name = layout::manifest_file(info.edition());
        let top = source.dir().open_dir(layout::DATA).ok()?;
        for components in &list.shards {
            previous.add_shard(&top, components, &name, source.root());
        }
        let mut known = previous.load_items(source, list)?;
        known.sort_unstable_by_key(|known| (known.item, known.segment));
        previous.back = vec![0; known.len().div_ceil(64)];
        previous.table = Arc::new(Table {
            known,
            key,
            trusted_before: trusted_before(&info, started),
        });
        Some(previous)
    }

    /// Adds the segments of a shard whose files are unchanged since they were written.
    fn add_shard(&mut self, top: &Dir, components: &[String], name: &str, root: &[u8]) {
        let read = || {
            let data = top.open_below(components)?;
            let bytes = data.read(name)?;
            let manifest = Manifest::from_bytes(&bytes, &data.join(name), self.id)?;
            Ok::<_, IndexError>((data, manifest))
        };
        // A damaged shard is written anew; whoever reads it reports the damage.
        let Ok((data, manifest)) = read() else {
            return;
        };
        if manifest.root != root {
            return;
        }
        let shard = self.shards.len();
        for info in &manifest.segments {
            if is_sound(&data, info) {
                self.segments.push(Segment {
                    shard,
                    info: info.clone(),
                    continues: Continues::No,
                    items: 0,
                    back: 0,
                    totals: Totals::default(),
                });
            }
        }
        self.by_components.insert(components.to_vec(), shard);
        self.shards.push(PreviousShard {
            components: components.to_vec(),
            manifest,
            file_name: name.to_owned(),
        });
    }

    /// Reads the items of all segments. A segment whose items cannot be read has none.
    fn load_items(&mut self, source: &Source, list: &ShardList) -> Option<Vec<KnownItem>> {
        let private = source.private().ok()?;
        let hashes: Vec<ShardHash> = (self.shards.iter())
            .map(|shard| shard_hash(&shard.components))
            .collect();
        let by_id: HashMap<(ShardHash, SegmentId), usize> = (self.segments.iter().enumerate())
            .filter_map(|(at, segment)| Some(((*hashes.get(segment.shard)?, segment.info.id), at)))
            .collect();
        let mut known = Vec::new();
        for snapshot in &list.items {
            let before = known.len();
            let mut found = Vec::new();
            let name = layout::items_file(*snapshot);
            let read = item_file::read(&private, &name, &mut |head, next| {
                let id = SegmentId {
                    snapshot: *snapshot,
                    number: head.number,
                };
                let Some(segment) = by_id.get(&(head.shard, id)) else {
                    return Ok(());
                };
                found.push((*segment, *head));
                for _ in 0..head.count {
                    known.push(KnownItem {
                        item: next()?,
                        segment: *segment as u32,
                    });
                }
                Ok(())
            });
            if read.is_err() {
                known.truncate(before);
                continue;
            }
            for (segment, head) in found {
                if let Some(segment) = self.segments.get_mut(segment) {
                    (segment.items, segment.continues) = (head.count, head.continues);
                }
            }
        }
        Some(known)
    }

    pub(crate) fn shard_at(&self, components: &[String]) -> Option<usize> {
        self.by_components.get(components).copied()
    }

    pub(crate) fn shard(&self, at: usize) -> Option<&PreviousShard> {
        self.shards.get(at)
    }

    /// Makes the known items available to a scan that has already begun.
    pub(crate) fn tell(&self, known: &KnownItems) {
        let _ = known.0.set(Arc::clone(&self.table));
    }

    /// Returns true, and marks the item as come back, if `item` is in `shard` and has not come back
    /// before.
    pub(crate) fn take(
        &mut self,
        shard: usize,
        item: &Item,
        totals: impl FnOnce() -> Totals,
    ) -> bool {
        let table = Arc::clone(&self.table);
        for at in table.find(item) {
            let number = table
                .known
                .get(at)
                .map_or(usize::MAX, |k| k.segment as usize);
            let Some(segment) = self.segments.get_mut(number) else {
                continue;
            };
            let (word, bit) = (at / 64, 1u64 << (at % 64));
            if segment.shard != shard || self.back.get(word).is_none_or(|word| word & bit != 0) {
                continue;
            }
            self.back[word] |= bit;
            segment.back += 1;
            segment.totals.add(&totals());
            return true;
        }
        false
    }

    /// Clears the mark of one item of a segment that came back.
    fn untake(&mut self, number: usize, item: &Item) -> bool {
        for at in self.table.find(item) {
            let is_of = (self.table.known.get(at)).is_some_and(|k| k.segment as usize == number);
            let (word, bit) = (at / 64, 1u64 << (at % 64));
            if is_of && self.back.get(word).is_some_and(|word| word & bit != 0) {
                self.back[word] &= !bit;
                return true;
            }
        }
        false
    }

    /// Decides what becomes of each segment. `written` are the shards that get new items.
    pub(crate) fn settle(&self, written: &HashSet<usize>) -> Settlement {
        let mut written = written.clone();
        let is_whole = |s: &Segment| s.back > 0 && s.back == s.items;
        let partial = |s: &&Segment| s.back > 0 && s.back < s.items;
        written.extend(self.segments.iter().filter(partial).map(|s| s.shard));
        let mut small: HashMap<usize, usize> = HashMap::new();
        for segment in self.segments.iter().filter(|s| is_whole(s)) {
            if segment.info.rows < SMALL_ROWS && written.contains(&segment.shard) {
                *small.entry(segment.shard).or_default() += 1;
            }
        }
        let is_crumb = |s: &Segment| {
            s.info.rows < SMALL_ROWS
                && s.continues == Continues::No
                && small.get(&s.shard).is_some_and(|count| *count > SMALL_MOST)
        };
        let mut settlement = Settlement::default();
        for (number, segment) in self.segments.iter().enumerate() {
            if segment.back == 0 {
                continue;
            }
            settlement.totals.push((segment.shard, segment.totals));
            if is_whole(segment) && !is_crumb(segment) {
                let shared = (segment.shard, segment.info.clone());
                settlement.shared.push(shared);
            } else {
                settlement.partial.push(number);
            }
        }
        settlement
    }

    /// Opens the previous snapshot.
    pub(crate) fn open(&self, source: &Source, top: Arc<Dir>) -> Result<Snapshot> {
        Snapshot::open_locked(source.dir(), top, source.root(), self.id)
    }

    /// Reads the items that came back in the segments `numbers` of `snapshot` and passes them to
    /// `put`.
    pub(crate) fn read_back(
        &mut self,
        snapshot: Snapshot,
        numbers: &[usize],
        put: &mut dyn FnMut(Returned) -> Result<()>,
    ) -> Result<()> {
        let in_snapshot: HashMap<&[String], usize> = (snapshot.shards.iter().enumerate())
            .map(|(at, shard)| (shard.components(), at))
            .collect();
        let mut wanted = Vec::new();
        for number in numbers {
            let place = self.segments.get(*number).and_then(|segment| {
                let shard = self.shards.get(segment.shard)?;
                let at = in_snapshot.get(&shard.components[..])?;
                Some((*at, segment.info.id))
            });
            wanted.push(place.ok_or_else(|| self.lost(*number))?);
        }
        let mut back = Back {
            itemizer: Itemizer::new(self.table.key.clone()),
            previous: self,
            left: 0,
            number: usize::MAX,
            is_first: true,
            waiting: None,
            put,
        };
        read_back::read(snapshot, &wanted, &mut |at, what| {
            let number = numbers.get(at).copied().unwrap_or(usize::MAX);
            back.add(number, what)
        })?;
        back.turn_to(usize::MAX)?;
        // Detects a segment for which the reader gave nothing at all.
        for number in numbers {
            if self.segments.get(*number).is_some_and(|s| s.back > 0) {
                return Err(self.lost(*number));
            }
        }
        Ok(())
    }

    fn lost(&self, number: usize) -> IndexError {
        let segment = self.segments.get(number);
        let path = segment.and_then(|segment| {
            let shard = self.shards.get(segment.shard)?;
            let dir = (self.data_path).join(layout::display_path(&shard.components));
            Some(dir.join(segment.info.id.to_string()))
        });
        IndexError::damaged(
            &path.unwrap_or_else(|| self.data_path.clone()),
            "items that were found unchanged are missing: index again with --full",
        )
    }
}

/// Assembles content read back from segments into items.
struct Back<'a> {
    previous: &'a mut Previous,
    itemizer: Itemizer,
    number: usize,
    /// Number of items of the segment that came back and have not been read yet.
    left: u32,
    is_first: bool,
    /// Fragments of one listing, or values of one directory, collected so far.
    waiting: Option<Content>,
    put: &'a mut dyn FnMut(Returned) -> Result<()>,
}

impl Back<'_> {
    fn add(&mut self, number: usize, what: Stored) -> Result<()> {
        if number != self.number {
            self.turn_to(number)?;
        }
        match (&mut self.waiting, content(what)) {
            (Some(Content::Rows(_, batch)), Content::Rows(_, more)) if more.fragment > 0 => {
                append_fragment(batch, more);
            }
            (Some(Content::Values(group)), Content::Values(more)) if is_same_dir(group, &more) => {
                group.extend(more);
            }
            (_, what) => {
                self.give()?;
                self.waiting = Some(what);
            }
        }
        Ok(())
    }

    /// Ends the current segment and begins another.
    fn turn_to(&mut self, number: usize) -> Result<()> {
        self.give()?;
        if self.left > 0 {
            return Err(self.previous.lost(self.number));
        }
        if let Some(segment) = self.previous.segments.get_mut(number) {
            self.left = std::mem::take(&mut segment.back);
        }
        (self.number, self.is_first) = (number, true);
        Ok(())
    }

    /// Passes on the complete item, if it came back.
    fn give(&mut self) -> Result<()> {
        let Some(what) = self.waiting.take() else {
            return Ok(());
        };
        let items = &mut self.itemizer;
        let candidates = match &what {
            Content::Rows(kind, batch) => items.stored_listing(*kind, batch),
            Content::Values(rows) => [items.values(rows); 2],
            Content::Issue(issue) => [items.issue(issue); 2],
        };
        let number = self.number;
        let mut candidates = candidates.into_iter();
        let Some(item) = candidates.find(|item| self.previous.untake(number, item)) else {
            return Ok(());
        };
        self.left = self.left.saturating_sub(1);
        let Some(segment) = self.previous.segments.get(number) else {
            return Ok(());
        };
        let is_first = std::mem::take(&mut self.is_first);
        (self.put)(Returned {
            shard: segment.shard,
            continues: segment.continues,
            is_first,
            item,
            content: what,
        })
    }
}

pub(crate) fn content(stored: Stored) -> Content {
    match stored {
        Stored::Rows(kind, batch) => Content::Rows(kind, batch),
        Stored::Issue(issue) => Content::Issue(issue),
        Stored::Value {
            dir,
            name,
            attr,
            value,
        } => Content::Values(vec![XattrRow {
            dir,
            name,
            attr,
            value,
        }]),
    }
}

fn is_same_dir(a: &[XattrRow], b: &[XattrRow]) -> bool {
    matches!((a.first(), b.first()), (Some(a), Some(b)) if a.dir == b.dir)
}

impl Table {
    /// Returns the range of the items equal to `item`.
    fn find(&self, item: &Item) -> Range<usize> {
        let known = &self.known;
        let start = self.guess(item);
        let mut end = start;
        while known.get(end).is_some_and(|known| known.item == *item) {
            end += 1;
        }
        start..end
    }

    /// Returns the position of the first item that is not before `item`. Hashes are evenly
    /// distributed, so the search starts where a perfectly even distribution would put it.
    fn guess(&self, item: &Item) -> usize {
        let known = &self.known;
        let is_before = |at: usize| known.get(at).is_some_and(|known| known.item < *item);
        let position = u128::from(item.position()) * known.len() as u128;
        let guess = (position >> 64) as usize;
        let (mut low, mut high) = (guess, guess);
        let mut step = 16;
        while low > 0 && !is_before(low - 1) {
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 16;
        while high < known.len() && is_before(high) {
            high = (high + step).min(known.len());
            step *= 2;
        }
        let between = known.get(low..high).unwrap_or_default();
        low + between.partition_point(|known| known.item < *item)
    }
}

impl std::fmt::Debug for KnownItems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.0.get().map_or(0, |table| table.known.len());
        write!(f, "KnownItems({known})")
    }
}

impl KnownListings for KnownItems {
    fn is_known(&self, batch: &DirBatch) -> bool {
        let Some(table) = self.0.get() else {
            return false;
        };
        let Some(before) = table.trusted_before else {
            return false;
        };
        let is_old = |entry: &trawl_model::Entry| entry.meta.ctime < before;
        if batch.own.ctime >= before || !batch.entries.iter().all(is_old) {
            return false;
        }
        let mut itemizer = Itemizer::new(table.key.clone());
        let item = itemizer.listing(ListingKind::Listed, batch, Extras::None);
        !table.find(&item).is_empty()
    }
}

/// Returns the time from which on changes are too close to the start of the scan of `info`, or
/// after it. `None` if the snapshot's times prove nothing (attributes were not read, no scan made
/// it) or the clock was set back.
fn trusted_before(info: &SnapshotInfo, started: Timestamp) -> Option<Timestamp> {
    // A checkpoint contains changes of directories that were not all looked at.
    let is_read = !["no-xattr", "from-trace", CHECKPOINT]
        .iter()
        .any(|option| info.options.contains_key(*option));
    (is_read && info.finished <= started).then(|| info.started.minus_secs(RACY_SECS))
}

/// True if all files of a segment, including its name sidecar, have the bytes that were written.
pub(crate) fn is_sound(data: &Dir, segment: &SegmentInfo) -> bool {
    let mut buffer = vec![0; BUFFER_BYTES];
    segment.named_files().all(|(name, size_bytes, hash)| {
        matches!(
            is_as_written(data, &name, (size_bytes, hash), &mut buffer),
            Ok(true)
        )
    })
}

fn is_as_written(data: &Dir, name: &str, expected: (u64, Hash), buffer: &mut [u8]) -> Result<bool> {
    let mut file = data.open_file(name)?;
    let (mut hasher, mut size_bytes) = (Xxh3::new(), 0);
    loop {
        let count = match file.read(buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(IndexError::io("read", data.join(name), error)),
        };
        hasher.update(buffer.get(..count).unwrap_or_default());
        size_bytes += count as u64;
    }
    Ok((size_bytes, Hash(hasher.digest128())) == expected)
}
