//! Writes generations: content of a source that was read again, and the rows that it supersedes.
//!
//! A [`Round`] takes listings as a scan delivers them and writes them as segments of the shards
//! that their guards name. Nothing refers to these files yet. [`Round::publish`] makes them
//! visible, together with the round's dead rows: it writes the overlays first, then renames
//! `state`.
//!
//! The writer holds the source's lock while it lives, so no snapshot is committed meanwhile. If it
//! is killed, the next writer removes its files.

use super::forget::forget;
use super::live_shard::LiveShard;
use crate::attributes;
use crate::clean;
use crate::encode::Compressor;
use crate::guard_dirs::{self, GuardDirs};
use crate::lock::SourceLock;
use crate::segment::{Lifetime, Listing};
use crate::shard::{ShardBuffer, Snapshotting};
use crate::writer::{next_id, own_rows, root_batch};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trawl_format::ListingKind;
use trawl_format::error::{IndexError, Result};
use trawl_format::id::{Edition, SegmentId, SnapshotId};
use trawl_format::index::{IndexDir, temporary_name};
use trawl_format::layout;
use trawl_format::live::ranges;
use trawl_format::live::{DeadRows, Overlay, Overlays, Placed, STATE_FILE, State, boot_id};
use trawl_format::manifest::{GuardStep, SegmentInfo};
use trawl_format::schema::{FORMAT, Table};
use trawl_format::snapshot::{Changes, Shard, ShardList, Snapshot};
use trawl_format::source::Source;
use trawl_format::store::{Dir, if_there};
use trawl_format::{crash, sealed};
use trawl_model::guard::{Guard, Predicate};
use trawl_model::placement::{GuardId, Placer};
use trawl_model::sink::{PartSink, SourceRoot};
use trawl_model::{DirAccess, DirBatch, DirId, IdMap, Issue, Sink, Timestamp};
use trawl_sys::lock::{Lock, try_lock};

/// Approximate maximum number of segments of a shard beside the snapshot's.
const SEGMENTS_MOST: usize = 8;
/// Segments with at most this many rows are merged regardless of the others' sizes.
const SMALL_ROWS: u64 = 1024;
/// Time that readers of a generation get to finish when its files must be removed at once, and the
/// interval at which their locks are checked.
const READERS_END: Duration = Duration::from_millis(200);
const READERS_LOOK: Duration = Duration::from_millis(2);
/// Maximum number of generations whose files stay while somebody reads them.
const PINNED_MOST: usize = 1000;

/// Publishes generations of one source.
pub struct LiveWriter {
    pub(super) index: Arc<IndexDir>,
    pub(super) source: Source,
    pub(super) top: Arc<Dir>,
    pub(super) lock: Arc<SourceLock>,
    /// The snapshot that this writer continues from.
    pub(super) base: Snapshot,
    pub(super) edition: Edition,
    /// The writer's part of the ids of its segments.
    pub(super) id: SnapshotId,
    id_map: Option<IdMap>,
    pub(super) above: Guard,
    pub(super) placer: Placer,
    pub(super) dirs: GuardDirs,
    compressor: Compressor,
    live: Dir,
    pub(super) shards: BTreeMap<Vec<String>, LiveShard>,
    /// First free segment number of each shard.
    pub(super) next_segments: HashMap<Vec<String>, u32>,
    /// Directories of barriers that have been disguised.
    pub(super) barriers: BTreeSet<Vec<String>>,
    pub(super) generation: u64,
    /// Time up to which all changes are included.
    pub(super) as_of: Timestamp,
    pub(super) memory_bytes: usize,
    /// Superseded generations, oldest first, each with the files to remove.
    pub(super) before: VecDeque<Superseded>,
    /// The `state` file in effect.
    pub(super) state: Option<File>,
    /// True until the writer has made a snapshot.
    pub(super) is_first: bool,
    /// True if the snapshot that it continues from has changed.
    pub(super) is_lost: bool,
}

/// A generation that new readers do not use any more.
pub(super) struct Superseded {
    pub(super) state: Option<File>,
    /// Files to remove once nobody reads the generation.
    pub(super) files: Vec<FileIn>,
    pub(super) private: Vec<String>,
}

impl Superseded {
    /// True if somebody reads it. Where the file system has no locks, readers are not known.
    fn is_read(&self) -> bool {
        let is_locked = |state| matches!(try_lock(state, Lock::Alone), Ok(false));
        self.state.as_ref().is_some_and(is_locked)
    }
}

/// A file: the directory names from the source's `data` directory to its location, and its name.
pub(super) type FileIn = (Vec<String>, String);

/// When to remove files without valid rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// When nobody reads a generation that needs them.
    WhenUnread,
    /// At once, because they contain rows that some users may no longer see. Readers that have them
    /// open continue to read; others must open the source again.
    AtOnce,
}

/// Result of publishing a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// Number of the generation.
    pub generation: u64,
    /// Number of entry rows written.
    pub rows: u64,
    /// Number of segments in effect beside the snapshot's.
    pub segments: usize,
    /// Size of all these segments in bytes.
    pub size_bytes: u64,
    /// Number of dead rows in tables of the snapshot and of these segments.
    pub dead: u64,
}

impl LiveWriter {
    /// Continues from the current snapshot of a source. `root` is the present state of the source's
    /// root.
    ///
    /// # Errors
    /// [`IndexError::NoSource`] if the index has no such source, [`IndexError::NoSnapshot`] if the
    /// source has no snapshot, [`IndexError::Busy`] if another process writes it,
    /// [`IndexError::Moved`] if the directories above the root let other users through than when it
    /// was indexed.
    pub fn begin(
        index: &IndexDir,
        mut root: SourceRoot,
        memory_bytes: usize,
        now: Timestamp,
    ) -> Result<LiveWriter> {
        let source = index
            .source(&root.path)?
            .ok_or_else(|| IndexError::NoSource {
                path: index.path().to_owned(),
                source_name: trawl_model::escape::escape(trawl_model::path::display(&root.path))
                    .into_owned(),
            })?;
        let lock = SourceLock::take(source.dir())?;
        if lock.was_interrupted {
            clean::remove_leftovers(&source)?;
        }
        let current = source.current_id()?.ok_or(IndexError::NoSnapshot {
            path: source.path().to_owned(),
            snapshot: SnapshotId(0),
        })?;
        forget(source.dir())?;
        lock.sign()?;
        let base = Snapshot::open(source.dir(), &root.path, current, Changes::None)?;
        let base = base.without_bundle();
        let edition = base.info.edition();
        let list = ShardList::read(source.dir(), edition)?;
        let id_map = source.id_map()?;
        if let Some(map) = &id_map {
            map.apply_root(&mut root);
        }
        if !source.lies_behind(&root.above) {
            return Err(IndexError::Moved {
                path: source.path().to_owned(),
            });
        }
        let placer = Placer::new(&root.path, &root.above)
            .with_large_open(list.map(|list| list.large_open).unwrap_or_default());
        let live = source.dir().make_dir(layout::LIVE)?;
        let top = Arc::new(source.dir().open_dir(layout::DATA)?);
        let mut writer = LiveWriter {
            compressor: Compressor::new(source.path())?,
            id: next_id(&source, now)?,
            above: placer.guard(placer.root_guard()),
            placer,
            top,
            lock: Arc::new(lock),
            index: Arc::new(index.share()),
            edition,
            id_map,
            dirs: GuardDirs::default(),
            live,
            shards: BTreeMap::new(),
            next_segments: HashMap::new(),
            barriers: BTreeSet::new(),
            generation: 0,
            as_of: Timestamp::default(),
            memory_bytes,
            before: VecDeque::new(),
            state: None,
            is_first: true,
            is_lost: false,
            base,
            source,
        };
        writer.remove_own_files()?;
        Ok(writer)
    }

    /// Returns the source.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the source as readers of the last generation see it.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.base.clone();
        let overlays = self.shards.iter();
        let overlays =
            overlays.map(|(components, shard)| (components.clone(), shard.overlay.clone()));
        snapshot.lay_over(overlays.collect());
        snapshot
    }

    /// True if the directories above the source's root let the same users through as when this
    /// writer began.
    pub fn is_reached_as(&self, root: &SourceRoot) -> bool {
        let mut root = root.clone();
        if let Some(map) = &self.id_map {
            map.apply_root(&mut root);
        }
        self.source.lies_behind(&root.above)
    }

    /// Confirms that nothing has changed up to `as_of`.
    ///
    /// # Errors
    /// If `state` cannot be written.
    pub fn confirm(&mut self, as_of: Timestamp) -> Result<()> {
        if self.generation == 0 {
            // No overlay exists yet that `state` could name.
            let nothing = Taken::default();
            return self.publish(nothing, as_of, Removal::WhenUnread).map(drop);
        }
        let state = self.write_state(self.generation, as_of)?;
        self.as_of = as_of;
        let state = self.state.replace(state);
        self.before.push_back(Superseded {
            state,
            files: Vec::new(),
            private: Vec::new(),
        });
        self.remove_unread()
    }

    /// Returns the writer's part of the ids of segments beside the snapshot's.
    pub fn writer_id(&self) -> SnapshotId {
        self.id
    }

    /// True if a segment beside the snapshot's is still in effect.
    pub fn has(&self, segment: SegmentId) -> bool {
        let mut segments = self.overlays().flat_map(|overlay| &overlay.segments);
        segments.any(|known| known.id == segment)
    }

    /// Returns small segments of shards that have many: reading and writing their rows again merges
    /// them.
    pub fn crowding(&self) -> Vec<SegmentId> {
        let mut crowding = Vec::new();
        for shard in self.shards.values() {
            let segments = &shard.overlay.segments;
            if segments.len() <= SEGMENTS_MOST {
                continue;
            }
            let mut sizes: Vec<(u64, SegmentId)> =
                segments.iter().map(|s| (s.rows, s.id)).collect();
            sizes.sort_unstable();
            // Each of these segments is at most as large as all smaller ones together, so no row is
            // rewritten more often than there are powers of two.
            let mut rows = SMALL_ROWS;
            for (own, id) in sizes {
                if own > rows {
                    break;
                }
                rows += own;
                crowding.push(id);
            }
        }
        crowding
    }

    /// Begins a round.
    pub fn round(&mut self) -> Round<'_> {
        Round {
            writer: self,
            taken: Taken::default(),
        }
    }

    /// Publishes the content of a round. Returns the files that must be removed at once.
    fn publish(
        &mut self,
        done: Taken,
        as_of: Timestamp,
        removal: Removal,
    ) -> Result<(Published, Vec<FileIn>)> {
        let generation = self.generation + 1;
        let rows = done.segments.iter().map(|(_, _, info)| info.rows).sum();
        let mut next = self.changed_by(done);
        let mut superseded = Superseded {
            state: None,
            files: Vec::new(),
            private: Vec::new(),
        };
        let mut gone = Vec::new();
        for (components, shard) in &mut next {
            let dropped = shard.drop_dead().into_iter();
            let dropped = dropped.map(|name| (components.clone(), name));
            gone.extend(dropped);
            let before = shard.overlay.generation;
            if before > 0 {
                let name = layout::overlay_file(self.edition, before);
                superseded.files.push((components.clone(), name));
            }
            shard.overlay.generation = generation;
        }
        self.write_overlays(&next, generation)?;
        crash::point("before a generation");
        let state = self.write_state(generation, as_of)?;
        crash::point("after a generation");
        if self.generation > 0 {
            let name = layout::overlays_file(self.edition, self.generation);
            superseded.private.push(name);
        }
        superseded.state = self.state.replace(state);
        // The generation is in effect. Files that cannot be removed now stay.
        self.shards.append(&mut next);
        self.generation = generation;
        self.as_of = as_of;
        if removal == Removal::WhenUnread {
            superseded.files.append(&mut gone);
        }
        self.before.push_back(superseded);
        Ok((self.told(rows), gone))
    }

    /// Returns the overlays beside the snapshot.
    pub(super) fn overlays(&self) -> impl Iterator<Item = &Overlay> {
        self.shards.values().map(|shard| &shard.overlay)
    }

    fn told(&self, rows: u64) -> Published {
        let overlays = || self.overlays();
        let segments = || overlays().flat_map(|overlay| &overlay.segments);
        let dead = overlays().flat_map(|overlay| &overlay.dead);
        let count = |dead: &DeadRows| {
            [Table::Dirs, Table::Xattrs, Table::Issues]
                .into_iter()
                .map(|table| ranges::count(dead.rows.of(table)))
                .sum::<u64>()
        };
        Published {
            generation: self.generation,
            rows,
            segments: segments().count(),
            size_bytes: segments().map(SegmentInfo::size_bytes).sum(),
            dead: dead.map(count).sum(),
        }
    }

    /// Returns the shards that a round changes, in their new state.
    fn changed_by(&self, done: Taken) -> BTreeMap<Vec<String>, LiveShard> {
        let mut next: BTreeMap<Vec<String>, LiveShard> = BTreeMap::new();
        for (guard, components, info) in done.segments {
            let known = next
                .entry(components.clone())
                .or_insert_with(|| self.copy_of(&components, &guard));
            known.overlay.segments.push(info);
        }
        for killed in done.dead {
            let known = next
                .entry(killed.components.clone())
                .or_insert_with(|| self.copy_of(&killed.components, &killed.guard));
            known.kill(killed.segment, killed.table, killed.rows);
        }
        next
    }

    fn copy_of(&self, components: &[String], guard: &[GuardStep]) -> LiveShard {
        match self.shards.get(components) {
            Some(known) => known.clone(),
            None => LiveShard {
                overlay: Overlay::new(self.edition, guard.to_vec()),
            },
        }
    }

    fn write_overlays(
        &self,
        next: &BTreeMap<Vec<String>, LiveShard>,
        generation: u64,
    ) -> Result<()> {
        let mut all = Overlays {
            format: FORMAT,
            generation,
            shards: Vec::new(),
        };
        for (components, shard) in &self.shards {
            if !next.contains_key(components) {
                all.shards.push(Placed::of(components, &shard.overlay));
            }
        }
        let name = layout::overlay_file(self.edition, generation);
        for (components, shard) in next {
            let data = self.top.open_below(components)?;
            let bytes = sealed::seal_json(&shard.overlay, &data.join(&name))?;
            // A round that failed, such as on a full disk, may have left this file.
            if_there(data.remove_file(&name))?;
            data.write_new(&name, &bytes)?;
            all.shards.push(Placed::of(components, &shard.overlay));
        }
        let private = self.source.private()?;
        let name = layout::overlays_file(self.edition, generation);
        let bytes = sealed::seal_json(&all, &private.join(&name))?;
        if_there(private.remove_file(&name))?;
        private.write_new(&name, &bytes).map(drop)
    }

    /// Puts a generation into effect.
    fn write_state(&self, generation: u64, as_of: Timestamp) -> Result<File> {
        let state = State {
            format: FORMAT,
            edition: self.edition.to_string(),
            boot: boot_id(),
            generation,
            as_of,
        };
        let bytes = sealed::seal_json(&state, &self.live.join(STATE_FILE))?;
        let temporary = temporary_name(STATE_FILE);
        if_there(self.live.remove_file(&temporary))?;
        self.live.write_new(&temporary, &bytes)?;
        let file = self.live.open_to_lock(&temporary)?;
        self.live.rename(&temporary, STATE_FILE)?;
        Ok(file)
    }

    /// Removes the files of superseded generations that nobody reads any more.
    pub(super) fn remove_unread(&mut self) -> Result<()> {
        while let Some(first) = self.before.front() {
            if first.is_read() && self.before.len() <= PINNED_MOST {
                break;
            }
            self.remove_first()?;
        }
        Ok(())
    }

    /// Removes the files that only the oldest superseded generation needs.
    fn remove_first(&mut self) -> Result<()> {
        let Some(first) = self.before.pop_front() else {
            return Ok(());
        };
        let private = self.source.private()?;
        for name in &first.private {
            if_there(private.remove_file(name))?;
        }
        self.remove_files(&first.files)
    }

    /// Waits up to [`READERS_END`] for readers of superseded generations.
    fn let_readers_end(&self) {
        let until = Instant::now() + READERS_END;
        while self.before.iter().any(Superseded::is_read) && Instant::now() < until {
            std::thread::sleep(READERS_LOOK);
        }
    }

    /// Removes the files that only superseded generations need, even if somebody reads them. Most
    /// readers have finished by then; the others get an error when a file is missing.
    pub(super) fn remove_before(&mut self) -> Result<()> {
        self.let_readers_end();
        while !self.before.is_empty() {
            self.remove_first()?;
        }
        Ok(())
    }

    fn remove_files(&self, files: &[FileIn]) -> Result<()> {
        for (components, name) in files {
            if let Some(data) = if_there(self.top.open_below(components))? {
                if_there(data.remove_file(name))?;
            }
        }
        Ok(())
    }

    /// Removes files of an earlier writer that had the same id.
    fn remove_own_files(&mut self) -> Result<()> {
        clean::remove_overlays(&self.source)
    }

    /// Releases the source. The published changes stay in effect until a snapshot is committed or
    /// the machine reboots. If nothing was published, no files remain.
    ///
    /// # Errors
    /// If the lock file cannot be cleared.
    pub fn end(self) -> Result<()> {
        if self.generation > 0 && !self.has_changes() {
            clean::remove_overlays(&self.source)?;
        }
        self.lock.clear()
    }

    /// Returns the number of the generation in effect; 0 if none was published.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    fn accept(&mut self, round: &mut Taken, guard: GuardId, mut batch: DirBatch) -> Result<()> {
        for (guard, own) in own_rows(&mut self.placer, &batch) {
            self.put_rows(round, guard, ListingKind::Barrier, own)?;
        }
        let issues = std::mem::take(&mut batch.issues);
        for issue in issues {
            let bytes = self.buffer(round, guard).add_issue(issue);
            round.memory_bytes += bytes;
        }
        self.put_rows(round, guard, ListingKind::Listed, batch)
    }

    /// Adds rows and the attribute values that they carry.
    fn put_rows(
        &mut self,
        round: &mut Taken,
        guard: GuardId,
        kind: ListingKind,
        mut batch: DirBatch,
    ) -> Result<()> {
        for (guard, value) in attributes::take(&mut batch, guard, &mut self.placer) {
            let bytes = self.buffer(round, guard).add_xattr(value);
            round.memory_bytes += bytes;
        }
        let bytes = self
            .buffer(round, guard)
            .add_listing(Listing { kind, batch });
        round.memory_bytes += bytes;
        match round.memory_bytes > self.memory_bytes {
            true => self.flush(round),
            false => Ok(()),
        }
    }

    fn buffer<'r>(&self, round: &'r mut Taken, guard: GuardId) -> &'r mut ShardBuffer {
        round.shards.entry(guard).or_insert_with(|| {
            let elements = self.placer.guard(guard).0;
            let below = elements.get(self.above.0.len()..).unwrap_or_default();
            ShardBuffer::new(Guard(below.to_vec()))
        })
    }

    /// Writes all waiting rows.
    fn flush(&mut self, round: &mut Taken) -> Result<()> {
        let mut shards: Vec<(GuardId, ShardBuffer)> = round.shards.drain().collect();
        shards.sort_by_key(|(guard, _)| *guard);
        let shared = Snapshotting {
            top: &self.top,
            edition: self.id.into(),
            root: self.source.root(),
            stay: Lifetime::Short,
        };
        for (_, mut shard) in shards {
            let components = shard.components().to_vec();
            let next = self.next_segments.entry(components.clone()).or_default();
            shard.number_from(*next);
            let number = *next;
            *next += 1;
            let written = shard.flush(&shared, &mut self.dirs, &mut self.compressor);
            if let Err(error) = written {
                let id = SegmentId {
                    snapshot: self.id,
                    number,
                };
                let _ = remove_segment(&self.top, &components, id);
                return Err(error);
            }
            let guard = GuardStep::of_guard(shard.guard());
            for info in shard.segments() {
                let segment = (guard.clone(), components.clone(), info.clone());
                round.segments.push(segment);
            }
        }
        round.memory_bytes = 0;
        Ok(())
    }

    /// Makes missing directories of barriers, and disguises those that are new or got a barrier.
    fn make_barriers(&mut self, round: &Taken) -> Result<()> {
        let lists: Vec<(Guard, Predicate)> = self
            .placer
            .hidden_lists()
            .map(|(guard, list)| (self.placer.guard(guard), list.clone()))
            .collect();
        let has_new = |barriers: &[String]| {
            let mut new = round.segments.iter().map(|(_, components, _)| components);
            new.any(|components| components.starts_with(barriers))
        };
        for (guard, list) in lists {
            let Some(below) = guard.0.get(self.above.0.len()..) else {
                continue;
            };
            let mut components = layout::data_components(below);
            components.push(layout::barriers_dir(&list));
            if self.barriers.contains(&components) && !has_new(&components) {
                continue;
            }
            self.dirs.make_barriers(&self.top, below, &list)?;
            let barriers = self.top.open_below(&components)?;
            guard_dirs::disguise(&barriers, self.edition.id.time())?;
            self.barriers.insert(components);
        }
        Ok(())
    }
}

/// Removes the files of a segment that was not written completely.
fn remove_segment(top: &Dir, components: &[String], id: SegmentId) -> Result<()> {
    let Some(data) = if_there(top.open_below(components))? else {
        return Ok(());
    };
    for table in Table::ALL {
        if_there(data.remove_file(&layout::segment_file(id, table)))?;
    }
    if_there(data.remove_file(&layout::names_file(id))).map(drop)
}

/// Rows that become dead.
#[derive(Debug)]
struct Killed {
    guard: Vec<GuardStep>,
    components: Vec<String>,
    segment: SegmentId,
    table: Table,
    rows: Range<u64>,
}

/// Content that a round has taken so far.
#[derive(Default)]
struct Taken {
    shards: HashMap<GuardId, ShardBuffer>,
    memory_bytes: usize,
    segments: Vec<(Vec<GuardStep>, Vec<String>, SegmentInfo)>,
    dead: Vec<Killed>,
}

/// Takes new content and the rows that it supersedes. Its files are removed if it is dropped before
/// it is published.
pub struct Round<'w> {
    pub(super) writer: &'w mut LiveWriter,
    taken: Taken,
}

impl Round<'_> {
    /// Marks the listings, attribute values or issues in these rows of a segment's table as dead.
    pub fn kill(&mut self, shard: &Shard, segment: SegmentId, table: Table, rows: Range<u64>) {
        self.taken.dead.push(Killed {
            guard: shard.manifest.guard.clone(),
            components: shard.components().to_vec(),
            segment,
            table,
            rows,
        });
    }

    /// Makes the round visible to readers. `as_of` is the time up to which all changes are
    /// included.
    ///
    /// # Errors
    /// If files cannot be written; readers then see no change.
    pub fn publish(mut self, as_of: Timestamp, removal: Removal) -> Result<Published> {
        let mut taken = std::mem::take(&mut self.taken);
        let done = self.writer.flush(&mut taken);
        let done = done.and_then(|()| self.writer.make_barriers(&taken));
        if let Err(error) = done {
            self.taken = taken;
            return Err(error);
        }
        let written: Vec<_> = taken.segments.clone();
        match self.writer.publish(taken, as_of, removal) {
            Ok((published, gone)) => {
                match removal {
                    Removal::WhenUnread => self.writer.remove_unread()?,
                    // They may also contain rows that are hidden now.
                    Removal::AtOnce => self.writer.remove_before()?,
                }
                self.writer.remove_files(&gone)?;
                Ok(published)
            }
            Err(error) => {
                self.taken.segments = written;
                Err(error)
            }
        }
    }
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        for (_, components, segment) in &self.taken.segments {
            let Ok(data) = self.writer.top.open_below(components) else {
                continue;
            };
            for (name, _, _) in segment.named_files() {
                let _ = data.remove_file(&name);
            }
        }
    }
}

impl Sink for Round<'_> {
    type Error = IndexError;

    /// Adds the root's own row.
    fn root(&mut self, mut root: SourceRoot) -> Result<()> {
        if let Some(map) = &self.writer.id_map {
            map.apply_root(&mut root);
        }
        let guard = self.writer.placer.root_guard();
        let (kind, batch) = (ListingKind::Root, root_batch(root));
        self.writer.put_rows(&mut self.taken, guard, kind, batch)
    }

    fn batch(&mut self, mut batch: DirBatch) -> Result<()> {
        let writer = &mut *self.writer;
        if let Some(map) = &writer.id_map {
            map.apply(&mut batch);
        }
        if batch.fragment == 0 {
            writer
                .placer
                .enter(batch.dir, batch.parent, &batch.path, &batch.access);
        }
        let guard = writer.placer.place(batch.dir);
        writer.accept(&mut self.taken, guard, batch)
    }

    fn subtree_done(&mut self, dir: DirId) -> Result<()> {
        self.writer.placer.done(dir);
        Ok(())
    }

    fn issue(&mut self, dir: Option<DirId>, issue: Issue) -> Result<()> {
        let guard = match dir {
            Some(dir) => self.writer.placer.place(dir),
            None => self.writer.placer.root_guard(),
        };
        let bytes = self.writer.buffer(&mut self.taken, guard).add_issue(issue);
        self.taken.memory_bytes += bytes;
        Ok(())
    }
}

impl PartSink for Round<'_> {
    fn passed(
        &mut self,
        dir: DirId,
        parent: Option<DirId>,
        path: &[u8],
        access: &DirAccess,
    ) -> Result<()> {
        let mut access = access.clone();
        if let Some(map) = &self.writer.id_map {
            map.apply_access(&mut access);
        }
        self.writer.placer.enter(dir, parent, path, &access);
        Ok(())
    }
}
