//! Writes a snapshot: the sink behind a scan.
//!
//! Batches wait in memory, by shard, until they exceed a budget. Then the writer writes large or
//! idle shards as segments, so that a small shard becomes one segment and a large one few.
//!
//! Durability: every file except `current` carries the new snapshot's id in its name, so nothing
//! refers to it before the commit. The commit syncs segments and manifests, then the snapshot's
//! description, and then renames `current`. A writer that is dropped before that removes its files;
//! the next writer removes those of a killed one.
//!
//! Unchanged items of the previous snapshot's segments are not written again ([`crate::carry`]).

pub(crate) mod checkpoint;
mod description;
mod sharing;

use crate::bundle::Bundle;
use crate::carry::{KnownItems, Previous};
use crate::clean;
use crate::encode::Compressor;
use crate::error::WriterError;
use crate::gc::{self, Collected};
use crate::guard_dirs::{self, GuardDirs};
use crate::item_file::ItemWriter;
use crate::items::{Extras, Itemizer};
use crate::lock::{Held, SourceLock};
use crate::new_index::{add_source, move_source};
use crate::revision::{NewEdition, Revision};
use crate::segment::Lifetime;
use crate::shard::{ShardBuffer, Snapshotting};
use crate::tighten::{Tightened, tighten};
use crate::{attributes, live};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use trawl_format::ListingKind;
use trawl_format::digest::DigestKey;
use trawl_format::error::{IndexError, Result};
use trawl_format::id::SnapshotId;
use trawl_format::index::{IndexDir, temporary_name};
use trawl_format::layout;
use trawl_format::manifest::Totals;
use trawl_format::retention::{Keeps, Rule};
use trawl_format::snapshot::{ShardList, Snapshot};
use trawl_format::source::{Source, kept_rule, snapshot_ids};
use trawl_format::store::Dir;
use trawl_format::{crash, sealed};
use trawl_model::guard::{Guard, Predicate};
use trawl_model::placement::{GuardId, Placer};
use trawl_model::sink::SourceRoot;
use trawl_model::{DirBatch, DirId, Entry, FileType, IdMap, Issue, Sink, Timestamp, Xattr, path};

/// Default memory for waiting rows, in bytes: about 270,000 entries. The columns of a row group and
/// the allocator's overhead come on top (measured: 2.2 M entries peak at about twice this).
pub const DEFAULT_MEMORY_BYTES: usize = 64 << 20;
/// A shard that takes less than this fraction of the memory is tiny.
const TINY_SHARE: usize = 1024;
/// A commit of more files than this uses one syncfs(2), which writes back the whole file system,
/// instead of one fsync(2) per file.
const SYNC_EACH_FILES: usize = 32;

/// Options for writing a snapshot, and the facts recorded in its description.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Maximum bytes of waiting rows before a segment is written.
    pub memory_bytes: usize,
    /// Start of the scan; the snapshot's id is derived from it.
    pub started: Timestamp,
    /// Version of the program.
    pub version: String,
    /// Options of the scan by name, for people.
    pub options: BTreeMap<String, String>,
}

/// Result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Id of the new current snapshot.
    pub id: SnapshotId,
    /// Sums over all shards.
    pub totals: Totals,
    /// Number of shards.
    pub shards: usize,
    /// Number of entry rows of each shard, ascending.
    pub shard_rows: Vec<u64>,
    /// Size of all segment files in bytes, including the bundle's.
    pub size_bytes: u64,
    /// Size in bytes of the new files among them; the others belong to older snapshots, too.
    pub new_bytes: u64,
    /// Changes to older snapshots, which are now as strict as this one.
    pub tightened: Tightened,
}

/// How a snapshot shares segments with the previous and the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writing {
    /// Shares nothing: every segment is new, and no items are recorded for the next snapshot.
    #[default]
    Alone,
    /// Writes every segment anew, but lets the next snapshot share them.
    Anew,
    /// Shares segments with the previous snapshot. The unchanged part of a segment of which only a
    /// part is unchanged is read and written again.
    Sharing,
}

/// Writes one snapshot of one source.
///
/// Nothing is opened before [`Sink::root`] names the source's root: the permissions above it decide
/// where in the index the source lies.
pub struct SnapshotWriter {
    index: Arc<IndexDir>,
    root: Vec<u8>,
    options: WriterOptions,
    id_map: Option<IdMap>,
    writing: Writing,
    known: KnownItems,
    keep: Option<Rule>,
    makes_bundle: bool,
    work: Option<Work>,
}

impl SnapshotWriter {
    /// Begins a snapshot of the source with this root. The source is added to the index if
    /// necessary.
    ///
    /// # Errors
    /// None at present: nothing is opened before the root is known.
    pub fn begin(index: &IndexDir, root: &[u8], options: WriterOptions) -> Result<SnapshotWriter> {
        Ok(SnapshotWriter {
            index: Arc::new(index.share()),
            root: root.to_vec(),
            options,
            id_map: None,
            writing: Writing::Alone,
            known: KnownItems::default(),
            keep: None,
            makes_bundle: false,
            work: None,
        })
    }

    /// Sets a map for user and group ids, which is applied before anything else looks at the ids.
    /// The map is kept with the snapshot ([`Source::id_map`]).
    #[must_use]
    pub fn with_id_map(mut self, id_map: Option<IdMap>) -> SnapshotWriter {
        self.id_map = id_map;
        self
    }

    /// Sets how segments are shared with other snapshots.
    #[must_use]
    pub fn with_writing(mut self, writing: Writing) -> SnapshotWriter {
        self.writing = writing;
        self
    }

    /// Sets the rule for which snapshots to keep, and stores it with the source
    /// ([`Source::retention`]). `None` leaves the current rule.
    #[must_use]
    pub fn with_retention(mut self, rule: Option<Rule>) -> SnapshotWriter {
        self.keep = rule;
        self
    }

    /// Makes a bundle of small segments. Without one, readers that may read everything open each
    /// segment.
    #[must_use]
    pub fn with_bundle(mut self) -> SnapshotWriter {
        self.makes_bundle = true;
        self
    }

    /// Returns the known items of the previous snapshot, which are available once the root is
    /// known.
    pub fn known(&self) -> KnownItems {
        self.known.clone()
    }

    /// Returns the id of the new snapshot; `None` before the root is known.
    pub fn id(&self) -> Option<SnapshotId> {
        self.work.as_ref().map(|work| work.id)
    }

    /// Writes the remaining rows and makes the snapshot current ([`Prepared::commit`]). `finished`
    /// is the end of the scan.
    ///
    /// # Errors
    /// On any failure the previous snapshot stays current and the new files are removed.
    pub fn commit(self, finished: Timestamp) -> crate::error::Result<Committed> {
        self.prepare(finished)?.commit()
    }

    /// Writes everything except the `current` file, which would make the snapshot current.
    ///
    /// # Errors
    /// If files cannot be read or written; the new files are then removed.
    pub fn prepare(self, finished: Timestamp) -> Result<Prepared> {
        let mut work = self.work.ok_or_else(|| untold(&self.root))?;
        let committed = work.finish(finished)?;
        Ok(Prepared { work, committed })
    }

    fn work(&mut self, path: &[u8]) -> Result<&mut Work> {
        self.work.as_mut().ok_or_else(|| untold(path))
    }
}

fn untold(path: &[u8]) -> IndexError {
    IndexError::Order {
        path: path.to_vec(),
        problem: "the root did not come first",
    }
}

/// A snapshot that is complete and durable, but not current yet. Dropping it removes its files.
pub struct Prepared {
    work: Work,
    committed: Committed,
}

impl Prepared {
    /// Returns the id that the snapshot gets.
    pub(crate) fn id(&self) -> SnapshotId {
        self.work.id
    }

    /// Returns the source of the snapshot.
    pub fn source(&self) -> &Source {
        &self.work.source
    }

    /// Opens the snapshot as if it were current.
    ///
    /// # Errors
    /// If its files cannot be read.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        self.older(self.work.id)
    }

    /// Opens a committed snapshot of the source. It cannot be removed while the source is being
    /// written.
    ///
    /// # Errors
    /// [`IndexError::NoSnapshot`] if there is no such snapshot.
    pub(crate) fn older(&self, id: SnapshotId) -> Result<Snapshot> {
        let (source, top) = (&self.work.source, Arc::clone(&self.work.top));
        Snapshot::open_locked(source.dir(), top, source.root(), id)
    }

    /// Returns the new guard of the source as a whole.
    pub(crate) fn above(&self) -> &Guard {
        &self.work.above
    }

    /// True if this snapshot and the committed snapshot `id` hold the same directories behind the
    /// same guards, and every directory was listed. Attribute values may still have different
    /// guards.
    ///
    /// Also false if this cannot be decided: the list of shards is lost, or the last writer was
    /// interrupted.
    pub fn is_placed_as(&self, id: SnapshotId) -> bool {
        let totals = &self.committed.totals;
        let Some(before) = self.list_of(id) else {
            return false;
        };
        let now = self.work.shard_list();
        !self.work.lock.was_interrupted()
            && totals.dirs == totals.listed
            && (now.key, now.digests, now.shards) == (before.key, before.digests, before.shards)
            && now.above == before.above
    }

    /// False if the committed snapshot `id` certainly has no attribute values.
    pub(crate) fn may_have_values(&self, id: SnapshotId) -> bool {
        let list = self.list_of(id);
        list.is_none_or(|list| list.values > 0 || list.digests.is_empty())
    }

    /// Reads a list of shards; `None` if it is lost or damaged, which those who need it report.
    fn list_of(&self, id: SnapshotId) -> Option<ShardList> {
        ShardList::of(self.work.source.dir(), id).ok().flatten()
    }

    /// Removes the older snapshots that `retention` does not keep once this one is current. The
    /// present current snapshot stays. Snapshots that stay only because somebody reads them are in
    /// [`Collected::in_use`].
    ///
    /// # Errors
    /// If files cannot be listed or removed.
    pub fn collect(&self, retention: impl Keeps) -> Result<Collected> {
        let source = &self.work.source;
        let Some(current) = source.current_id()? else {
            return Ok(Collected::default());
        };
        let mut ids = snapshot_ids(source.dir())?;
        ids.push(current);
        // If a list of shards is lost, the files that its snapshot needs are unknown.
        match ids.iter().all(|id| self.list_of(*id).is_some()) {
            true => gc::remove_old(source, self.work.id, current, &retention),
            false => Ok(Collected::default()),
        }
    }

    /// Begins to rewrite an older snapshot of the source with other shards, because readers of it
    /// will need this snapshot's permissions.
    ///
    /// # Errors
    /// If the older snapshot's files cannot be listed.
    pub(crate) fn revise(&self, older: &Snapshot) -> Result<Revision<'_>> {
        let place = NewEdition {
            source: &self.work.source,
            top: &self.work.top,
            above: &self.work.above,
            writer: self.work.id,
            memory_bytes: self.work.options.memory_bytes,
        };
        Revision::begin(place, older)
    }

    /// Makes all older snapshots as strict as this one, and then makes this one current. This is
    /// the only way to make a snapshot current. An index for its owner alone shows nothing to other
    /// users, and the first snapshot of a source has no older ones: then nothing is tightened.
    ///
    /// Older snapshots that are damaged are forgotten even if somebody reads them, since it is
    /// unknown what they show to whom ([`Tightened::damaged`]; [`gc::collect`] removes their files).
    ///
    /// # Errors
    /// [`WriterError::Older`] if an older snapshot cannot be made stricter: then the previous
    /// snapshot stays current, and the snapshots processed before stay tightened.
    /// [`WriterError::Index`] if files cannot be written or replaced.
    pub fn commit(mut self) -> crate::error::Result<Committed> {
        let tightened = tighten(&self).map_err(|error| WriterError::Older(Box::new(error)))?;
        self.work.publish()?;
        gc::forget_snapshots(&self.work.source, &tightened.damaged)?;
        live::forget_damaged(self.work.source.dir())?;
        // Last step: a writer that ends before it is recognized as interrupted.
        self.work.lock.clear()?;
        self.committed.tightened = tightened;
        Ok(self.committed.clone())
    }
}

/// A snapshot being written.
struct Work {
    index: Arc<IndexDir>,
    source: Source,
    /// The source's `data` directory, shared by snapshots that are read meanwhile.
    top: Arc<Dir>,
    lock: Held,
    id: SnapshotId,
    options: WriterOptions,
    /// The id map as text.
    id_map: Option<String>,
    /// The rule for which snapshots to keep, as text.
    keep: Option<String>,
    placer: Placer,
    /// The current snapshot's list of shards, until sharing begins.
    before: Option<ShardList>,
    /// Guard of the source as a whole. The source's directory lies behind it, so guards below do
    /// not repeat it.
    above: Guard,
    key: DigestKey,
    dirs: GuardDirs,
    barriers: Vec<Vec<String>>,
    shards: HashMap<GuardId, ShardBuffer>,
    memory_bytes: usize,
    /// Number of batches received.
    clock: u64,
    compressor: Compressor,
    sharing: Option<Sharing>,
    makes_bundle: bool,
    bundle: Bundle,
    /// Writer of segments beside the snapshot; those that the new snapshot adopts may not be synced
    /// yet.
    beside: Option<SnapshotId>,
    committed: bool,
}

/// State for sharing segments with the previous snapshot and for letting the next snapshot share
/// this one's.
struct Sharing {
    itemizer: Itemizer,
    file: Option<ItemWriter>,
    /// Writers of segments that have left items.
    items: Vec<SnapshotId>,
    previous: Option<Previous>,
}

impl Work {
    /// Locks the source, removes leftovers of a killed writer, and begins a snapshot.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if another process writes this source.
    fn begin(index: Arc<IndexDir>, root: &SourceRoot, options: WriterOptions) -> Result<Work> {
        let placer = Placer::new(&root.path, &root.above);
        let above = placer.guard(placer.root_guard());
        let source = add_source(&index, &root.path, &above.0, options.started)?;
        let lock = SourceLock::take(source.dir())?;
        if lock.was_interrupted {
            clean::remove_leftovers(&source)?;
        }
        let id = next_id(&source, options.started)?;
        lock.sign()?;
        let before = source.current_id()?;
        // If the list is lost, indexing again makes a new one.
        let list = before.and_then(|id| ShardList::of(source.dir(), id).ok()?);
        let keep = kept_rule(source.dir(), before)?;
        Ok(Work {
            top: Arc::new(source.dir().open_dir(layout::DATA)?),
            compressor: Compressor::new(source.path())?,
            key: match &list {
                Some(list) if list.key != DigestKey::default() => list.key,
                _ => DigestKey::random(source.path())?,
            },
            placer: placer.with_large_open(
                list.as_ref()
                    .map(|list| list.large_open.clone())
                    .unwrap_or_default(),
            ),
            before: list,
            index,
            source,
            lock: Held::Own(lock),
            id,
            options,
            id_map: None,
            keep,
            above,
            dirs: GuardDirs::default(),
            barriers: Vec::new(),
            shards: HashMap::new(),
            memory_bytes: 0,
            clock: 0,
            sharing: None,
            makes_bundle: false,
            bundle: Bundle::default(),
            beside: None,
            committed: false,
        })
    }

    fn finish(&mut self, finished: Timestamp) -> Result<Committed> {
        let mut guards: Vec<GuardId> = self.shards.keys().copied().collect();
        guards.sort_unstable();
        self.settle()?;
        for guard in &guards {
            self.flush(*guard)?;
        }
        self.finish_items()?;
        self.write_manifests()?;
        self.make_barriers()?;
        self.make_bundle(finished)?;
        self.sync()?;
        self.write_description(finished)?;
        Ok(self.told())
    }

    /// True if no earlier snapshot contains this writer's segments.
    fn writes(&self, writer: SnapshotId) -> bool {
        writer == self.id || Some(writer) == self.beside
    }

    fn publish(&mut self) -> Result<()> {
        let started = self.options.started;
        move_source(&self.index, &self.source, &self.above.0, started)?;
        self.make_current()
    }

    /// Makes the directories of barriers, including those without a barrier, and disguises them.
    fn make_barriers(&mut self) -> Result<()> {
        let lists: Vec<(Guard, Predicate)> = self
            .placer
            .hidden_lists()
            .map(|(guard, list)| (self.placer.guard(guard), list.clone()))
            .collect();
        for (guard, list) in lists {
            // The source's directory lies behind the guard of the source as a whole.
            let Some(below) = guard.0.get(self.above.0.len()..) else {
                continue;
            };
            let components = self.dirs.make_barriers(&self.top, below, &list)?;
            let barriers = self.top.open_below(&components)?;
            guard_dirs::disguise(&barriers, self.options.started)?;
            self.barriers.push(components);
        }
        self.barriers.sort_unstable();
        Ok(())
    }

    fn write_manifests(&self) -> Result<()> {
        let shared = self.shared();
        let mut by_dir: HashMap<&[String], &ShardBuffer> = HashMap::new();
        for shard in self.shards.values().filter(|shard| shard.is_used()) {
            if let Some(other) = by_dir.insert(shard.components(), shard) {
                shard.check_distinct(other)?;
            }
            let before = self.previous().zip(shard.previous());
            let before = before.and_then(|(previous, at)| previous.shard(at));
            let before = before.map(|before| (&before.manifest, &before.file_name[..]));
            shard.write_manifest(&shared, before)?;
        }
        Ok(())
    }

    /// Syncs segments and manifests.
    fn sync(&self) -> Result<()> {
        let files: usize = self
            .shards
            .values()
            .map(|shard| shard.files(|writer| self.writes(writer)) + 1)
            .sum();
        if files > SYNC_EACH_FILES {
            return self.top.sync_filesystem();
        }
        self.bundle.sync(&self.source.private()?, self.id)?;
        let shared = self.shared();
        self.shards
            .values()
            .try_for_each(|shard| shard.sync(&shared, self.beside))
    }

    fn make_current(&mut self) -> Result<()> {
        let bytes = sealed::seal(&self.id.to_string());
        let temporary = temporary_name(layout::CURRENT_FILE);
        crash::point("before the commit");
        let replaced = self
            .source
            .dir()
            .replace(layout::CURRENT_FILE, &temporary, &bytes);
        // The rename may have happened even if syncing it failed: then the files must stay.
        self.committed = replaced.is_ok() || self.source.current_id()? == Some(self.id);
        replaced?;
        crash::point("after the commit");
        Ok(())
    }

    fn shared(&self) -> Snapshotting<'_> {
        Snapshotting {
            top: &self.top,
            edition: self.id.into(),
            root: self.source.root(),
            stay: Lifetime::Long,
        }
    }

    fn shard(&mut self, guard: GuardId) -> &mut ShardBuffer {
        let (placer, above) = (&self.placer, self.above.0.len());
        let sharing = self.sharing.as_ref();
        let previous = sharing.and_then(|sharing| sharing.previous.as_ref());
        self.shards.entry(guard).or_insert_with(|| {
            let elements = placer.guard(guard).0;
            let guard = Guard(elements.get(above..).unwrap_or_default().to_vec());
            let shard = ShardBuffer::new(guard);
            let before = previous.and_then(|previous| previous.shard_at(shard.components()));
            shard.with_previous(before)
        })
    }

    /// Copies the rows of directories that get a barrier to the shard behind it, for users who know
    /// the directories' names.
    fn copy_own_rows(&mut self, batch: &DirBatch) -> Result<()> {
        for (guard, mut own) in own_rows(&mut self.placer, batch) {
            self.accept_values(guard, &mut own)?;
            self.put_rows(guard, ListingKind::Barrier, own, Extras::Some)?;
        }
        Ok(())
    }

    /// Adds a batch to its shard, and the attribute values and issues that it carries to theirs.
    fn accept(&mut self, guard: GuardId, mut batch: DirBatch) -> Result<()> {
        let extras = Extras::of(&batch);
        self.copy_own_rows(&batch)?;
        self.accept_values(guard, &mut batch)?;
        let issues = std::mem::take(&mut batch.issues);
        for issue in issues {
            self.put_issue(guard, issue)?;
        }
        if batch.fragment == 0 {
            let digest = self.key.of(ListingKind::Listed, &batch.path);
            self.shard(guard).add_digest(digest);
        }
        self.put_rows(guard, ListingKind::Listed, batch, extras)
    }

    /// Adds the attribute values that a batch carries to their shards.
    fn accept_values(&mut self, guard: GuardId, batch: &mut DirBatch) -> Result<()> {
        let rows = attributes::take(batch, guard, &mut self.placer);
        self.put_values(rows, batch.fragment)
    }

    /// Writes shards if the memory budget is exceeded: large ones, and those that have received
    /// nothing for long and so are most likely complete. Shards that grow thus get few segments.
    /// Tiny shards are written last.
    fn make_room(&mut self) -> Result<()> {
        self.clock += 1;
        if self.memory_bytes <= self.options.memory_bytes {
            return Ok(());
        }
        let tiny = self.options.memory_bytes / TINY_SHARE;
        let mut waiting: Vec<(bool, u128, GuardId)> = (self.shards.iter())
            .filter(|(_, shard)| shard.memory_bytes() > 0)
            .map(|(guard, shard)| {
                let is_tiny = shard.memory_bytes() < tiny;
                (!is_tiny, shard.weight(self.clock), *guard)
            })
            .collect();
        waiting.sort_unstable();
        while self.memory_bytes > self.options.memory_bytes / 4 * 3 {
            let Some((_, _, guard)) = waiting.pop() else {
                break;
            };
            self.flush(guard)?;
        }
        Ok(())
    }

    fn flush(&mut self, guard: GuardId) -> Result<()> {
        let shared = Snapshotting {
            top: &self.top,
            edition: self.id.into(),
            root: self.source.root(),
            stay: Lifetime::Long,
        };
        if let Some(shard) = self.shards.get_mut(&guard) {
            let (head, items) = shard.take_items();
            self.memory_bytes -= shard.flush(&shared, &mut self.dirs, &mut self.compressor)?;
            self.keep_items(&head, &items)?;
        }
        Ok(())
    }

    fn add_root(&mut self, root: SourceRoot) -> Result<()> {
        let mut batch = root_batch(root);
        let guard = self.placer.root_guard();
        self.accept_values(guard, &mut batch)?;
        self.put_rows(guard, ListingKind::Root, batch, Extras::Some)
    }

    fn add_batch(&mut self, batch: DirBatch) -> Result<()> {
        if batch.fragment == 0 {
            self.placer
                .enter(batch.dir, batch.parent, &batch.path, &batch.access);
        }
        self.placer.add_rows(batch.dir, batch.entries.len() as u64);
        let guard = self.placer.place(batch.dir);
        self.accept(guard, batch)?;
        self.make_room()
    }

    fn add_issue(&mut self, dir: Option<DirId>, issue: Issue) -> Result<()> {
        let guard = match dir {
            Some(dir) => self.placer.place(dir),
            None => self.placer.root_guard(),
        };
        self.put_issue(guard, issue)
    }
}

impl Sink for SnapshotWriter {
    type Error = IndexError;

    fn root(&mut self, mut root: SourceRoot) -> Result<()> {
        if root.path != self.root || self.work.is_some() {
            return Err(IndexError::Order {
                path: root.path,
                problem: "it is not the root that the snapshot was begun for",
            });
        }
        if let Some(map) = &self.id_map {
            map.apply_root(&mut root);
        }
        let mut work = Work::begin(Arc::clone(&self.index), &root, self.options.clone())?;
        work.id_map = self.id_map.as_ref().map(IdMap::to_string);
        if let Some(rule) = &self.keep {
            work.keep = Some(rule.to_string());
        }
        work.makes_bundle = self.makes_bundle;
        let list = work.before.take();
        work.share(self.writing, list.as_ref(), &self.known);
        work.add_root(root)?;
        self.work = Some(work);
        Ok(())
    }

    fn batch(&mut self, mut batch: DirBatch) -> Result<()> {
        if let Some(map) = &self.id_map {
            map.apply(&mut batch);
        }
        self.work(&batch.path)?.add_batch(batch)
    }

    fn subtree_done(&mut self, dir: DirId) -> Result<()> {
        self.work(&[])?.placer.done(dir);
        Ok(())
    }

    fn issue(&mut self, dir: Option<DirId>, issue: Issue) -> Result<()> {
        self.work(&issue.path)?.add_issue(dir, issue)
    }
}

impl Drop for Work {
    /// Removes files that were not committed. After a failure the next writer removes them, since
    /// the lock file still records an interrupted writer.
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        let shards = self.shards.values().map(ShardBuffer::components);
        if clean::remove_snapshot(&self.source, self.id, shards).is_ok() {
            let _ = self.lock.clear();
        }
    }
}

/// Returns an id larger than any that the source has or had.
pub(crate) fn next_id(source: &Source, started: Timestamp) -> Result<SnapshotId> {
    let nanos = u64::try_from(started.as_nanos()).unwrap_or(0);
    let listed = snapshot_ids(source.dir())?.pop();
    let last = listed.max(source.current_id()?);
    let after = last.map_or(1, |id| id.0.saturating_add(1));
    Ok(SnapshotId(nanos.max(after)))
}

/// Converts a source's root to a batch of one row.
pub(crate) fn root_batch(root: SourceRoot) -> DirBatch {
    let above = path::split(&root.path).map_or(&[][..], |(above, _)| above);
    DirBatch {
        path: above.to_vec(),
        entries: vec![root.entry],
        xattrs: root.xattrs,
        heap: root.heap,
        ..DirBatch::default()
    }
}

/// Returns the rows of directories in a batch that get a barrier, each as a batch of its own with
/// the guard behind the barrier. They serve users who know the directories' names.
pub(crate) fn own_rows(placer: &mut Placer, batch: &DirBatch) -> Vec<(GuardId, DirBatch)> {
    let mut rows = Vec::new();
    if !placer.hides(batch.dir) {
        return rows;
    }
    for (at, entry) in batch.entries.iter().enumerate() {
        if entry.meta.file_type() != FileType::Directory {
            continue;
        }
        let path = path::join(&batch.path, batch.bytes(entry.name));
        let access = attributes::access_of(batch, entry);
        if let Some(guard) = placer.barrier_to(batch.dir, &path, &access) {
            rows.push((guard, own_row(batch, at, entry)));
        }
    }
    rows
}

/// Copies one row of a batch, with its attributes, to a batch of its own.
fn own_row(batch: &DirBatch, at: usize, entry: &Entry) -> DirBatch {
    let mut own = DirBatch {
        path: batch.path.clone(),
        ..DirBatch::default()
    };
    let spans = [
        entry.name,
        entry.link_target,
        entry.xattr_names,
        entry.acl,
        entry.acl_default,
    ];
    let [name, link_target, xattr_names, acl, acl_default] =
        spans.map(|span| own.push_bytes(batch.bytes(span)));
    own.entries.push(Entry {
        meta: entry.meta,
        name,
        link_target,
        xattr_names,
        acl,
        acl_default,
    });
    for xattr in batch.xattrs.iter().filter(|x| x.entry as usize == at) {
        let [name, value] = [xattr.name, xattr.value].map(|s| own.push_bytes(batch.bytes(s)));
        own.xattrs.push(Xattr {
            entry: 0,
            name,
            value,
        });
    }
    own
}
