//! Makes a snapshot from a base snapshot and the changes published beside it, without reading the
//! source. The result equals what both together say.
//!
//! New manifests name segments without dead rows as they are. Of segments with dead rows the valid
//! rows are read and written again, together with small segments of the same shard. An unchanged
//! shard keeps its manifest under another name.
//!
//! Memory is bounded by a writer's memory plus 16 bytes for each directory that was listed again.

use super::{Sharing, Work, WriterOptions};
use crate::bundle::Bundle;
use crate::carry::content;
use crate::encode::Compressor;
use crate::guard_dirs::{self, GuardDirs};
use crate::items::{ItemKey, Itemizer};
use crate::lock::Held;
use crate::read_back;
use crate::revision::{Stored, totals_of_rows};
use crate::segment::LIGHT_ROWS;
use crate::shard::ShardBuffer;
use crate::writer::Prepared;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use trawl_format::ListingKind;
use trawl_format::digest::DigestKey;
use trawl_format::error::Result;
use trawl_format::id::{Hash, SegmentId, SnapshotId};
use trawl_format::index::IndexDir;
use trawl_format::layout::{self, GuardName};
use trawl_format::live::ranges;
use trawl_format::manifest::{SegmentInfo, Totals};
use trawl_format::schema::Table;
use trawl_format::snapshot::{Shard, ShardList, Snapshot};
use trawl_format::source::Source;
use trawl_format::store::{Dir, if_there};
use trawl_model::guard::Guard;
use trawl_model::placement::{GuardId, Placer};

/// Segments beside the snapshot with fewer rows than this were written for short use: they are
/// written again, merged.
const SMALL_ROWS: u64 = LIGHT_ROWS;
/// If a changed shard has more small segments than this, all of them are written again.
const SMALL_MOST: usize = 8;

/// Parts from which a snapshot of base and changes is made.
pub(crate) struct Both<'a> {
    pub(crate) index: Arc<IndexDir>,
    pub(crate) source: Source,
    /// The source's `data` directory.
    pub(crate) top: Arc<Dir>,
    pub(crate) lock: Held,
    /// Id of the new snapshot.
    pub(crate) id: SnapshotId,
    pub(crate) options: WriterOptions,
    /// Guard of the source as a whole, unchanged.
    pub(crate) above: Guard,
    pub(crate) list: ShardList,
    /// Directories of barriers made since the base snapshot.
    pub(crate) barriers: BTreeSet<Vec<String>>,
    /// The snapshot with the changes published beside it. Shards of the changes follow the first
    /// `base_shards` shards.
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) base_shards: usize,
    /// Writer of the segments beside the snapshot.
    pub(crate) writer: SnapshotId,
    /// Called now and then; an error ends the work.
    pub(crate) go_on: &'a mut dyn FnMut() -> Result<()>,
}

/// Indexes of a shard's two parts: the snapshot's segments and those beside it.
#[derive(Clone, Copy, Default)]
struct Halves {
    base: Option<usize>,
    newer: Option<usize>,
}

/// A segment of either part.
struct Part<'s> {
    shard: usize,
    is_newer: bool,
    info: &'s SegmentInfo,
    fate: Fate,
}

/// Decision about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The new snapshot takes it over as it is.
    Stays,
    /// Its valid rows are written again.
    Written,
    /// None of its rows is valid.
    Goes,
}

/// Digests of directories added to and removed from a shard's listings.
#[derive(Default)]
struct Listed {
    gone: Vec<u128>,
    come: Vec<u128>,
}

/// Segments to read again because they are written again.
struct ReadAgain {
    wanted: Vec<(usize, SegmentId)>,
    /// For each segment its guard, and whether its own row is the valid one.
    places: Vec<(GuardId, bool)>,
}

impl Prepared {
    /// Makes a snapshot that equals another snapshot with the changes published beside it.
    ///
    /// # Errors
    /// If files cannot be read or written. The new files are removed then.
    pub(crate) fn of_both(both: Both<'_>) -> Result<Prepared> {
        let finished = both.options.started;
        let (mut work, mut maker) = Maker::begin(both)?;
        let mut again = ReadAgain {
            wanted: Vec::new(),
            places: Vec::new(),
        };
        let mut spans = Vec::new();
        let halves = std::mem::take(&mut maker.halves);
        for (components, halves) in &halves {
            maker.take_shard(&mut work, components, *halves, (&mut again, &mut spans))?;
        }
        maker.write_again(&mut work, &again)?;
        maker.count_listed(&mut work, &spans)?;
        maker.write_manifests(&work)?;
        maker.disguise_barriers(&mut work)?;
        (maker.go_on)()?;
        work.make_bundle(finished)?;
        work.sync()?;
        work.write_description(finished)?;
        let committed = work.told();
        Ok(Prepared { work, committed })
    }
}

/// Rows of a segment's dirs table whose directories were added or removed.
struct SpanOf {
    guard: GuardId,
    shard: usize,
    segment: SegmentId,
    rows: Vec<Range<u64>>,
    is_gone: bool,
}

struct Maker<'a> {
    snapshot: &'a Snapshot,
    base_shards: usize,
    writer: SnapshotId,
    key: DigestKey,
    /// False if the base snapshot has no digests of its directories.
    has_digests: bool,
    barriers: BTreeSet<Vec<String>>,
    halves: BTreeMap<Vec<String>, Halves>,
    /// Changed shards, each with the number of directories that it listed before (0 if the base
    /// snapshot has no digests).
    changed: BTreeMap<GuardId, u64>,
    go_on: &'a mut dyn FnMut() -> Result<()>,
}

impl<'a> Maker<'a> {
    fn begin(both: Both<'a>) -> Result<(Work, Maker<'a>)> {
        let has_digests = !both.list.digests.is_empty() && both.list.key != DigestKey::default();
        let key = match has_digests {
            true => both.list.key,
            false => DigestKey::random(both.source.path())?,
        };
        let mut halves: BTreeMap<Vec<String>, Halves> = BTreeMap::new();
        for (at, shard) in both.snapshot.shards.iter().enumerate() {
            let known = halves.entry(shard.components().to_vec()).or_default();
            match at < both.base_shards {
                true => known.base = Some(at),
                false => known.newer = Some(at),
            }
        }
        let maker = Maker {
            snapshot: both.snapshot,
            base_shards: both.base_shards,
            writer: both.writer,
            key,
            has_digests,
            barriers: both.barriers,
            halves,
            changed: BTreeMap::new(),
            go_on: both.go_on,
        };
        let work = Work {
            compressor: Compressor::new(both.source.path())?,
            placer: Placer::new(both.source.root(), &[]).with_large_found(both.list.large_open),
            sharing: Some(Sharing {
                itemizer: Itemizer::new(ItemKey::new(&key)),
                file: None,
                items: match has_digests {
                    true => both.list.items,
                    false => Vec::new(),
                },
                previous: None,
            }),
            index: both.index,
            source: both.source,
            top: both.top,
            lock: both.lock,
            id: both.id,
            options: both.options,
            id_map: both.list.id_map,
            keep: both.list.keep,
            before: None,
            above: both.above,
            key,
            dirs: GuardDirs::default(),
            barriers: both.list.barriers,
            shards: HashMap::new(),
            memory_bytes: 0,
            clock: 0,
            makes_bundle: true,
            bundle: Bundle::default(),
            beside: Some(both.writer),
            committed: false,
        };
        Ok((work, maker))
    }

    fn shard(&self, at: Option<usize>) -> Option<&'a Shard> {
        self.snapshot.shards.get(at?)
    }

    /// Adds a shard with the segments that stay, and records the parts of it to read.
    fn take_shard(
        &mut self,
        work: &mut Work,
        components: &[String],
        halves: Halves,
        (again, spans): (&mut ReadAgain, &mut Vec<SpanOf>),
    ) -> Result<()> {
        let (base, newer) = (self.shard(halves.base), self.shard(halves.newer));
        let Some(either) = base.or(newer) else {
            return Ok(());
        };
        let below = either.manifest.guard()?;
        let guard = Guard([&work.above.0[..], &below.0].concat());
        let guard = work.placer.guard_of(&guard);
        let mut buffer = ShardBuffer::new(below);
        let mut parts = self.parts(halves);
        decide(&mut parts, self.writer);
        let newest = self.newest_own_row(&parts);
        let stay = parts.iter().filter(|part| part.fate == Fate::Stays);
        buffer.share(stay.clone().map(|part| part.info.clone()).collect());
        let is_same = parts
            .iter()
            .all(|part| part.fate == Fate::Stays && !part.is_newer);
        match base.filter(|_| is_same) {
            Some(base) => buffer.count(&base.manifest.totals),
            None => {
                for part in stay {
                    buffer.count(&totals_of_segment(part.info));
                }
            }
        }
        if !is_same || !self.has_digests {
            let listed = base.map_or(0, |base| base.manifest.totals.listed);
            let counts = if self.has_digests { listed } else { 0 };
            self.changed.insert(guard, counts);
        }
        if !is_same && let Some(root) = self.root_of(components, &parts, newest)? {
            buffer.count(&root);
        }
        if self.has_digests
            && let Some(digest) = base.and_then(|base| base.digest)
        {
            buffer.add_digest(digest.sum);
        }
        self.note_spans(&parts, guard, spans);
        for part in parts.iter().filter(|part| part.fate == Fate::Written) {
            again.wanted.push((part.shard, part.info.id));
            again.places.push((guard, newest == Some(part.info.id)));
        }
        work.shards.insert(guard, buffer);
        Ok(())
    }

    /// Returns the segments of a shard, oldest first.
    fn parts(&self, halves: Halves) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        for (at, is_newer) in [(halves.base, false), (halves.newer, true)] {
            let (Some(shard), Some(at)) = (self.shard(at), at) else {
                continue;
            };
            parts.extend(shard.manifest.segments.iter().map(|info| Part {
                shard: at,
                is_newer,
                info,
                fate: match shard.dead(info.id) {
                    Some(dead) if dead.is_all_of(info) => Fate::Goes,
                    Some(dead) if !dead.is_empty() => Fate::Written,
                    // The segment does not record its share of the sums.
                    _ if info.sums.is_none() => Fate::Written,
                    _ => Fate::Stays,
                },
            }));
        }
        parts
    }

    /// Returns the segment with the valid own row, if there is one.
    fn newest_own_row(&self, parts: &[Part<'_>]) -> Option<SegmentId> {
        let holds = |part: &&Part<'_>| {
            let shard = self.shard(Some(part.shard));
            let dead = shard.and_then(|shard| shard.dead(part.info.id));
            let first = dead.and_then(|dead| dead.dirs.first());
            part.fate != Fate::Goes && part.info.own_row && first.is_none_or(|rows| rows.start > 0)
        };
        parts.iter().filter(holds).map(|part| part.info.id).max()
    }

    /// Returns the share of the root's own row in the sums, if a segment that stays contains that
    /// row.
    fn root_of(
        &mut self,
        components: &[String],
        parts: &[Part<'_>],
        newest: Option<SegmentId>,
    ) -> Result<Option<Totals>> {
        let stays = |part: &&Part<'_>| Some(part.info.id) == newest && part.fate == Fate::Stays;
        // Own rows in other shards are copies.
        let part = parts.iter().find(stays).filter(|_| components.is_empty());
        let Some(part) = part else {
            return Ok(None);
        };
        let row = read_back::own_row(self.snapshot, part.shard, part.info.id)?;
        Ok(row.and_then(|row| match row {
            Stored::Rows(kind, batch) => Some(totals_of_rows(kind, &batch)),
            Stored::Value { .. } | Stored::Issue(_) => None,
        }))
    }

    /// Records the rows whose directories must be looked up for counts and digests.
    fn note_spans(&self, parts: &[Part<'_>], guard: GuardId, spans: &mut Vec<SpanOf>) {
        for part in parts {
            let shard = self.shard(Some(part.shard));
            let dead = shard.and_then(|shard| shard.dead(part.info.id));
            let dead = dead.map_or(&[][..], |dead| dead.of(Table::Dirs));
            let listed = u64::from(part.info.own_row)..part.info.dirs;
            let is_counted = self.has_digests && !part.is_newer;
            let rows = match is_counted {
                true => ranges::within(dead, &listed),
                false => ranges::without(dead, &listed),
            };
            if !rows.is_empty() {
                spans.push(SpanOf {
                    guard,
                    shard: part.shard,
                    segment: part.info.id,
                    rows,
                    is_gone: is_counted,
                });
            }
        }
    }

    /// Reads the valid rows of the segments that do not stay, and writes them shard by shard.
    fn write_again(&mut self, work: &mut Work, again: &ReadAgain) -> Result<()> {
        let mut at_guard = None;
        let go_on = &mut *self.go_on;
        let snapshot = self.snapshot.clone();
        read_back::read(snapshot, &again.wanted, &mut |at, what| {
            let Some((guard, has_own_row)) = again.places.get(at).copied() else {
                return Ok(());
            };
            let is_own = matches!(&what, Stored::Rows(kind, _) if *kind != ListingKind::Listed);
            if is_own && !has_own_row {
                return Ok(());
            }
            if let Some(before) = at_guard.replace(guard).filter(|before| *before != guard) {
                work.flush(before)?;
            }
            go_on()?;
            work.add(guard, content(what));
            match work.memory_bytes > work.options.memory_bytes {
                true => work.flush(guard),
                false => Ok(()),
            }
        })?;
        at_guard.map_or(Ok(()), |guard| work.flush(guard))
    }

    /// Updates the number and digest of directories listed in each changed shard.
    fn count_listed(&mut self, work: &mut Work, spans: &[SpanOf]) -> Result<()> {
        let mut by_guard: BTreeMap<GuardId, Listed> = BTreeMap::new();
        let (key, go_on) = (self.key, &mut *self.go_on);
        let wanted: Vec<_> = (spans.iter())
            .map(|span| (span.shard, span.segment, &span.rows[..]))
            .collect();
        read_back::directories(self.snapshot, &wanted, &mut |at, path| {
            let Some(span) = spans.get(at) else {
                return Ok(());
            };
            let listed = by_guard.entry(span.guard).or_default();
            let found = match span.is_gone {
                true => &mut listed.gone,
                false => &mut listed.come,
            };
            found.push(key.of(ListingKind::Listed, path).0);
            go_on()
        })?;
        for (guard, base) in &self.changed {
            let mut listed = by_guard.remove(guard).unwrap_or_default();
            let Some(shard) = work.shards.get_mut(guard) else {
                continue;
            };
            // A listing larger than a writer's memory spans several segments.
            for found in [&mut listed.gone, &mut listed.come] {
                found.sort_unstable();
                found.dedup();
            }
            let count = base + listed.come.len() as u64;
            shard.count_listed(count.saturating_sub(listed.gone.len() as u64));
            for one in listed.come {
                shard.add_digest(Hash(one));
            }
            for one in listed.gone {
                shard.subtract_digest(Hash(one));
            }
        }
        Ok(())
    }

    fn write_manifests(&self, work: &Work) -> Result<()> {
        let base = self.snapshot.shards.get(..self.base_shards);
        let base: HashMap<&[String], &Shard> = (base.unwrap_or_default().iter())
            .map(|shard| (shard.components(), shard))
            .collect();
        let file_name = layout::manifest_file(self.snapshot.info.edition());
        let shared = work.shared();
        for shard in work.shards.values().filter(|shard| shard.is_used()) {
            let before = base.get(shard.components());
            let before = before.map(|before| (&*before.manifest, &file_name[..]));
            shard.write_manifest(&shared, before)?;
        }
        Ok(())
    }

    /// Disguises all directories of barriers, including those without a barrier. The snapshot
    /// leaves out a directory of barriers if no remaining directory hides names for it.
    fn disguise_barriers(&mut self, work: &mut Work) -> Result<()> {
        let mut barriers: BTreeSet<Vec<String>> = BTreeSet::new();
        for shard in work.shards.values().filter(|shard| shard.is_used()) {
            let names = shard.components();
            let is_barriers =
                |end: &usize| layout::guard_name(&names[end - 1]) == GuardName::Barriers;
            let ends = (1..=names.len()).filter(is_barriers);
            barriers.extend(ends.map(|end| names[..end].to_vec()));
        }
        let mut others: BTreeSet<Vec<String>> = work.barriers.drain(..).collect();
        others.extend(self.barriers.iter().cloned());
        for components in others {
            if !barriers.contains(&components)
                && let Some(place) = layout::listed_beside(&components)
                && read_back::hides_names(self.snapshot, &place)?
            {
                barriers.insert(components);
            }
        }
        for components in barriers {
            if let Some(dir) = if_there(work.top.open_below(&components))? {
                guard_dirs::disguise(&dir, work.id.time())?;
                work.barriers.push(components);
            }
        }
        Ok(())
    }
}

/// Decides which small segments are written again: always those written beside the snapshot, and
/// all small ones of a changed shard that has many.
fn decide(parts: &mut [Part<'_>], writer: SnapshotId) {
    let is_small = |part: &Part<'_>| part.fate == Fate::Stays && part.info.rows < SMALL_ROWS;
    let is_own = |part: &Part<'_>| is_small(part) && part.info.id.snapshot == writer;
    let small = parts.iter().filter(|part| is_small(part)).count();
    let own = parts.iter().filter(|part| is_own(part)).count();
    let written = parts
        .iter()
        .filter(|part| part.fate == Fate::Written)
        .count();
    let is_changed = own + written > 0;
    for part in parts {
        let joins = is_own(part) || is_changed && small > SMALL_MOST && is_small(part);
        if joins {
            part.fate = Fate::Written;
        }
    }
}

/// Returns a segment's share of the sums over its shard, including the number of directories that
/// it lists, but without its own row.
fn totals_of_segment(info: &SegmentInfo) -> Totals {
    let rows = |table| info.files.get(&table).map_or(0, |file| file.rows);
    let mut totals = Totals {
        entries: info.rows - u64::from(info.own_row).min(info.rows),
        links: rows(Table::Links),
        xattrs: rows(Table::Xattrs),
        issues: rows(Table::Issues),
        listed: info.dirs - u64::from(info.own_row).min(info.dirs),
        ..Totals::default()
    };
    if let Some(sums) = &info.sums {
        totals.files = sums.files;
        totals.dirs = sums.dirs;
        totals.symlinks = sums.symlinks;
        totals.others = sums.others;
        totals.size_bytes = sums.size_bytes;
        totals.blocks = sums.blocks;
    }
    totals
}
