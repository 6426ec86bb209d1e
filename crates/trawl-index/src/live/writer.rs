//! Writing generations: what was read of a source again, and which rows of
//! before no longer hold.
//!
//! A [`Round`] takes listings as a scan delivers them and writes them as
//! segments of the shards that their guards name, with names that nothing
//! refers to. [`LiveWriter::publish`] makes them, and the rows that a round
//! says are dead, count: overlays first, then `state`, by a rename.
//!
//! The writer holds the source's lock as long as it lives, so no snapshot is
//! committed meanwhile, and what it wrote is removed by the next writer if it
//! is killed.

use super::live_shard::LiveShard;
use super::overlay::{self, DeadRows, Overlay, Overlays, Placed, STATE_FILE, State};
use super::ranges;
use crate::attributes;
use crate::clean;
use crate::encode::Compressor;
use crate::error::{IndexError, Result};
use crate::guard_dirs::{self, GuardDirs};
use crate::id::{Edition, SegmentId, SnapshotId};
use crate::index::{IndexDir, temporary_name};
use crate::layout;
use crate::lock::SourceLock;
use crate::manifest::{GuardStep, SegmentInfo};
use crate::schema::{FORMAT, Table};
use crate::segment::{Listing, ListingKind, Stay};
use crate::shard::{ShardBuffer, Snapshotting};
use crate::snapshot::{Changes, Shard, ShardList, Snapshot};
use crate::source::Source;
use crate::store::{Dir, if_there};
use crate::writer::{next_id, own_rows, root_batch};
use crate::{crash, sealed};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trawl_model::guard::{Guard, Predicate};
use trawl_model::placement::{GuardId, Placer};
use trawl_model::sink::{PartSink, SourceRoot};
use trawl_model::{DirAccess, DirBatch, DirId, IdMap, Issue, Sink, Timestamp};
use trawl_sys::lock::{Lock, try_lock};

/// Segments of a shard beside the snapshot's, about.
const SEGMENTS_MOST: usize = 8;
/// Segments of so few rows are put together whatever there is.
const SMALL_ROWS: u64 = 1024;
/// How long those who read a generation have when its files are to go at once,
/// and how often they are looked at.
const READERS_END: Duration = Duration::from_millis(200);
const READERS_LOOK: Duration = Duration::from_millis(2);
/// Generations whose files stay however long somebody reads them, at most.
const PINNED_MOST: usize = 1000;

/// Publishes generations of one source.
pub struct LiveWriter {
    pub(super) index: Arc<IndexDir>,
    pub(super) source: Source,
    pub(super) top: Arc<Dir>,
    pub(super) lock: Arc<SourceLock>,
    /// The snapshot that it goes on from.
    pub(super) base: Snapshot,
    pub(super) edition: Edition,
    /// Of the segments that it writes.
    pub(super) id: SnapshotId,
    id_map: Option<IdMap>,
    pub(super) above: Guard,
    pub(super) placer: Placer,
    pub(super) dirs: GuardDirs,
    compressor: Compressor,
    live: Dir,
    pub(super) shards: BTreeMap<Vec<String>, LiveShard>,
    /// What segments of a shard are numbered from.
    pub(super) next_segments: HashMap<Vec<String>, u32>,
    /// Directories of barriers that were made to look alike.
    pub(super) barriers: BTreeSet<Vec<String>>,
    pub(super) generation: u64,
    /// Up to when all changes are in.
    pub(super) as_of: Timestamp,
    pub(super) memory_bytes: usize,
    /// Generations before, the oldest first, and what goes with each.
    pub(super) before: VecDeque<Superseded>,
    /// The state that counts.
    pub(super) state: Option<File>,
    /// It made no snapshot yet.
    pub(super) is_first: bool,
    /// What it goes on from is not as it was.
    pub(super) is_lost: bool,
}

/// A generation that no new reader goes by.
pub(super) struct Superseded {
    pub(super) state: Option<File>,
    /// Where, and what is removed once nobody reads it.
    pub(super) files: Vec<FileIn>,
    pub(super) private: Vec<String>,
}

impl Superseded {
    /// True if somebody goes by it. Nobody is known to where there are no locks.
    fn is_read(&self) -> bool {
        let is_locked = |state| matches!(try_lock(state, Lock::Alone), Ok(false));
        self.state.as_ref().is_some_and(is_locked)
    }
}

/// A file: the directory names from the source's `data` to where it lies, and
/// its own.
pub(super) type FileIn = (Vec<String>, String);

/// When files go that hold nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// When nobody reads a generation that needs them.
    WhenUnread,
    /// At once, for they tell what some may no longer see. Who has them open
    /// goes on reading, who has not opens the source again.
    AtOnce,
}

/// What was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The generation.
    pub generation: u64,
    /// Rows of entries that were written.
    pub rows: u64,
    /// Segments that count beside the snapshot's.
    pub segments: usize,
    /// Bytes of all of these.
    pub size_bytes: u64,
    /// Rows of tables of the snapshot, and of these, that are dead.
    pub dead: u64,
}

impl LiveWriter {
    /// Goes on from the current snapshot of a source, whose root is now as
    /// told.
    ///
    /// # Errors
    /// [`IndexError::NoSnapshot`] if it has none, [`IndexError::Busy`] if
    /// somebody else writes it, [`IndexError::Moved`] if what is above the
    /// root lets others through than when it was indexed.
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
        overlay::forget(source.dir())?;
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

    /// The source.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The source as readers see it who go by the last generation.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.base.clone();
        let overlays = self.shards.iter();
        let overlays =
            overlays.map(|(components, shard)| (components.clone(), shard.overlay.clone()));
        snapshot.lay_over(overlays.collect());
        snapshot
    }

    /// True if the way to the source's root lets through whom it did when
    /// this writer began.
    pub fn is_reached_as(&self, root: &SourceRoot) -> bool {
        let mut root = root.clone();
        if let Some(map) = &self.id_map {
            map.apply_root(&mut root);
        }
        self.source.lies_behind(&root.above)
    }

    /// Nothing is new: what counts is true for a later time.
    ///
    /// # Errors
    /// If `state` cannot be written.
    pub fn confirm(&mut self, as_of: Timestamp) -> Result<()> {
        if self.generation == 0 {
            // There is no overlay that a state could go by.
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

    /// The writer's part of the ids of segments beside the snapshot's.
    pub fn writer_id(&self) -> SnapshotId {
        self.id
    }

    /// True if readers still go by this segment, beside the snapshot's.
    pub fn has(&self, segment: SegmentId) -> bool {
        let mut segments = self.overlays().flat_map(|overlay| &overlay.segments);
        segments.any(|known| known.id == segment)
    }

    /// Small segments of shards that have many: what they hold is best read
    /// again, so that it lies together.
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
            // Each one is at most as large as all before together: so no row
            // is read again more often than there are powers of two.
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

    /// Begins to take what is new.
    pub fn round(&mut self) -> Round<'_> {
        Round {
            writer: self,
            taken: Taken::default(),
        }
    }

    /// Makes what a round brought count; returns the files that are to go at once.
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
        // It counts: whatever cannot be removed now, its files stay.
        self.shards.append(&mut next);
        self.generation = generation;
        self.as_of = as_of;
        if removal == Removal::WhenUnread {
            superseded.files.append(&mut gone);
        }
        self.before.push_back(superseded);
        Ok((self.told(rows), gone))
    }

    /// What lies beside the snapshot.
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

    /// The shards that a round changes, as they will be.
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
            // One that was not published may have been left by a full disk.
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

    /// Makes a generation count.
    fn write_state(&self, generation: u64, as_of: Timestamp) -> Result<File> {
        let state = State {
            format: FORMAT,
            edition: self.edition.to_string(),
            boot: overlay::boot_id(),
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

    /// Removes what only generations need that nobody reads any more.
    pub(super) fn remove_unread(&mut self) -> Result<()> {
        while let Some(first) = self.before.front() {
            if first.is_read() && self.before.len() <= PINNED_MOST {
                break;
            }
            self.remove_first()?;
        }
        Ok(())
    }

    /// Removes what only the oldest of the generations before needs.
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

    /// Waits a moment for those who read generations before.
    fn let_readers_end(&self) {
        let until = Instant::now() + READERS_END;
        while self.before.iter().any(Superseded::is_read) && Instant::now() < until {
            std::thread::sleep(READERS_LOOK);
        }
    }

    /// Removes what only generations before need, whoever reads them. Most
    /// have read what they wanted: files that go under a reader are an error
    /// to it.
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

    /// Lets go of the source. What was published counts until a snapshot is
    /// committed or the machine is started again; if that was nothing, there
    /// is no trace of it.
    ///
    /// # Errors
    /// If the lock cannot be given back.
    pub fn end(self) -> Result<()> {
        if self.generation > 0 && !self.has_changes() {
            clean::remove_overlays(&self.source)?;
        }
        self.lock.clear()
    }

    /// The generation that counts, if one was published.
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

    /// Adds rows, and the attribute values that they carry.
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

    /// Writes all that waits.
    fn flush(&mut self, round: &mut Taken) -> Result<()> {
        let mut shards: Vec<(GuardId, ShardBuffer)> = round.shards.drain().collect();
        shards.sort_by_key(|(guard, _)| *guard);
        let shared = Snapshotting {
            top: &self.top,
            edition: self.id.into(),
            root: self.source.root(),
            stay: Stay::Short,
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

    /// Makes the directories of barriers that were not there, and those in
    /// which one was made look like the others.
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

/// Removes what was written of a segment that will not count.
fn remove_segment(top: &Dir, components: &[String], id: SegmentId) -> Result<()> {
    let Some(data) = if_there(top.open_below(components))? else {
        return Ok(());
    };
    for table in Table::ALL {
        if_there(data.remove_file(&layout::segment_file(id, table)))?;
    }
    if_there(data.remove_file(&layout::names_file(id))).map(drop)
}

/// Rows that no longer hold.
#[derive(Debug)]
struct Killed {
    guard: Vec<GuardStep>,
    components: Vec<String>,
    segment: SegmentId,
    table: Table,
    rows: Range<u64>,
}

/// What a round took so far.
#[derive(Default)]
struct Taken {
    shards: HashMap<GuardId, ShardBuffer>,
    memory_bytes: usize,
    segments: Vec<(Vec<GuardStep>, Vec<String>, SegmentInfo)>,
    dead: Vec<Killed>,
}

/// Takes what is new, and which rows it stands for. Dropped before it is
/// published, its files are removed.
pub struct Round<'w> {
    pub(super) writer: &'w mut LiveWriter,
    taken: Taken,
}

impl Round<'_> {
    /// The listings, attribute values or issues in these rows of a table of a
    /// shard's segment no longer hold.
    pub fn kill(&mut self, shard: &Shard, segment: SegmentId, table: Table, rows: Range<u64>) {
        self.taken.dead.push(Killed {
            guard: shard.manifest.guard.clone(),
            components: shard.components().to_vec(),
            segment,
            table,
            rows,
        });
    }

    /// Makes all of it count for readers from now on. `as_of` is up to when
    /// all changes are in.
    ///
    /// # Errors
    /// If files cannot be written: then nothing has changed for readers.
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
                    // Of what is hidden now they may tell, too.
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

    /// The root's own row.
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
