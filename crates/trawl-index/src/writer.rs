//! Writing a snapshot: the sink behind a scan.
//!
//! Batches wait in memory, by shard, until a budget is spent; then the
//! largest shards are written as segments, so that small shards become one
//! segment each. A directory whose guard is not yet known (see
//! [`trawl_model::placement`]) waits beside them.
//!
//! Durability: every file but `current` carries the new snapshot's id in its
//! name, so nothing refers to it before the commit. The commit makes segments
//! and manifests durable, then the snapshot's description, then renames
//! `current`. A writer that is dropped before that removes
//! what it wrote; what a killed one left is removed by the next.

use crate::clean;
use crate::encode::Compressor;
use crate::error::{IndexError, Result};
use crate::id::SnapshotId;
use crate::index::{IndexDir, temporary_name};
use crate::layout;
use crate::lock::SourceLock;
use crate::manifest::{GuardStep, Totals};
use crate::schema::FORMAT;
use crate::segment::{Listing, ListingKind};
use crate::shard::{ShardBuffer, Snapshotting};
use crate::snapshot::{ShardList, SnapshotInfo};
use crate::source::{Source, snapshot_ids};
use crate::store::{Dir, sync_file};
use crate::{attributes, crash, sealed};
use std::collections::{BTreeMap, HashMap};
use trawl_model::placement::{Candidate, GuardId, Place, Placer};
use trawl_model::sink::SourceRoot;
use trawl_model::{DirBatch, DirId, Issue, Sink, Timestamp, path};

/// The memory that waiting rows may take unless told otherwise, bytes: some
/// 270,000 entries. The columns of a row group and the allocator's reserve
/// come on top (measured: 2.2 M entries peak at about twice this).
pub const DEFAULT_MEMORY_BYTES: usize = 64 << 20;
/// A commit of more files than this is made durable by one syncfs(2), which
/// writes back the whole file system, instead of an fsync(2) each.
const SYNC_EACH_FILES: usize = 32;

/// How a snapshot is written and what it says of itself.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Bytes of rows to hold before writing a segment.
    pub memory_bytes: usize,
    /// When the scan began; also the snapshot's id.
    pub started: Timestamp,
    /// The program's version.
    pub version: String,
    /// The scan's options, by name, for people.
    pub options: BTreeMap<String, String>,
}

/// What a commit made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The new current snapshot.
    pub id: SnapshotId,
    /// Sums over all shards.
    pub totals: Totals,
    /// Number of shards.
    pub shards: usize,
    /// Bytes of all segment files.
    pub size_bytes: u64,
}

/// Something that waits for its directory's guard.
enum Waiting {
    Batch(Box<DirBatch>),
    Issue(DirId, Issue),
}

/// Writes one snapshot of one source.
pub struct SnapshotWriter {
    source: Source,
    guards: Dir,
    lock: SourceLock,
    id: SnapshotId,
    options: WriterOptions,
    placer: Option<Placer>,
    shards: HashMap<GuardId, ShardBuffer>,
    waiting: HashMap<Candidate, Vec<Waiting>>,
    memory_bytes: usize,
    compressor: Compressor,
    committed: bool,
}

impl SnapshotWriter {
    /// Starts a snapshot of the source with this root, which is added to
    /// the index if need be.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if another process writes this source.
    pub fn begin(index: &IndexDir, root: &[u8], options: WriterOptions) -> Result<SnapshotWriter> {
        let source = index.add_source(root, options.started)?;
        let mut lock = SourceLock::take(source.dir())?;
        if lock.was_interrupted {
            clean::remove_leftovers(&source)?;
        }
        let id = next_id(&source, options.started)?;
        lock.sign()?;
        Ok(SnapshotWriter {
            guards: source.dir().open_dir(layout::GUARDS)?,
            compressor: Compressor::new(source.path())?,
            source,
            lock,
            id,
            options,
            placer: None,
            shards: HashMap::new(),
            waiting: HashMap::new(),
            memory_bytes: 0,
            committed: false,
        })
    }

    /// The id that the snapshot will have.
    pub fn id(&self) -> SnapshotId {
        self.id
    }

    /// Writes what is left and makes the snapshot current. `finished` is
    /// when the scan ended.
    ///
    /// # Errors
    /// Any failure leaves the previous snapshot current and removes what
    /// was written.
    pub fn commit(mut self, finished: Timestamp) -> Result<Committed> {
        if let Some(item) = self.waiting.values().flatten().next() {
            let path = match item {
                Waiting::Batch(batch) => &batch.path,
                Waiting::Issue(_, issue) => &issue.path,
            };
            return Err(IndexError::Order {
                path: path.clone(),
                problem: "a directory was not ended",
            });
        }
        let mut guards: Vec<GuardId> = self.shards.keys().copied().collect();
        guards.sort_unstable();
        for guard in &guards {
            self.flush(*guard)?;
        }
        self.write_manifests()?;
        self.sync()?;
        self.write_description(finished)?;
        self.make_current()?;
        let mut done = Committed {
            id: self.id,
            totals: Totals::default(),
            shards: self.shards.len(),
            size_bytes: 0,
        };
        for shard in self.shards.values() {
            done.totals.add(shard.totals());
            done.size_bytes += shard.size_bytes();
        }
        Ok(done)
    }

    fn write_manifests(&self) -> Result<()> {
        let shared = self.shared();
        let mut by_dir: HashMap<&[String], &ShardBuffer> = HashMap::new();
        for shard in self.shards.values().filter(|shard| shard.is_used()) {
            if let Some(other) = by_dir.insert(shard.components(), shard) {
                shard.check_distinct(other)?;
            }
            shard.write_manifest(&shared)?;
        }
        Ok(())
    }

    fn write_description(&self, finished: Timestamp) -> Result<()> {
        let info = SnapshotInfo {
            format: FORMAT,
            id: self.id,
            root: self.source.root().to_vec(),
            started: self.options.started,
            finished,
            version: self.options.version.clone(),
            options: self.options.options.clone(),
        };
        let used = self.shards.values().filter(|shard| shard.is_used());
        let mut shards: Vec<_> = used.map(|shard| shard.components().to_vec()).collect();
        shards.sort_unstable();
        let list = ShardList {
            format: FORMAT,
            snapshot: self.id,
            shards,
        };
        let dir = self.source.dir().open_dir(layout::SNAPSHOTS)?;
        let write = |name: &str, bytes: Vec<u8>| {
            let file = dir.write_new(name, &bytes)?;
            sync_file(&file, &dir.join(name))
        };
        let name = layout::shard_list_file(self.id);
        write(&name, sealed::seal_json(&list, &dir.join(&name))?)?;
        let name = layout::snapshot_file(self.id);
        write(&name, sealed::seal_json(&info, &dir.join(&name))?)?;
        dir.sync()
    }

    /// Makes segments and manifests durable.
    fn sync(&self) -> Result<()> {
        let files: usize = self.shards.values().map(|shard| shard.files() + 1).sum();
        if files > SYNC_EACH_FILES {
            return self.guards.sync_filesystem();
        }
        let shared = self.shared();
        self.shards
            .values()
            .try_for_each(|shard| shard.sync(&shared))
    }

    fn make_current(&mut self) -> Result<()> {
        let bytes = sealed::seal(&self.id.to_string());
        let temporary = temporary_name(layout::CURRENT_FILE);
        crash::point("before the commit");
        let replaced = self
            .source
            .dir()
            .replace(layout::CURRENT_FILE, &temporary, &bytes);
        // The rename may have happened though syncing it failed: then the
        // files must stay.
        self.committed = replaced.is_ok() || self.source.current_id()? == Some(self.id);
        replaced?;
        crash::point("after the commit");
        self.lock.clear()
    }

    fn shared(&self) -> Snapshotting<'_> {
        Snapshotting {
            guards: &self.guards,
            id: self.id,
            root: self.source.root(),
        }
    }

    fn placer(&mut self, path: &[u8]) -> Result<&mut Placer> {
        self.placer.as_mut().ok_or_else(|| IndexError::Order {
            path: path.to_vec(),
            problem: "the root was not told first",
        })
    }

    fn shard(&mut self, guard: GuardId) -> &mut ShardBuffer {
        let placer = &self.placer;
        self.shards.entry(guard).or_insert_with(|| {
            let guard = placer.as_ref().map(|placer| placer.guard(guard));
            ShardBuffer::new(GuardStep::of_guard(&guard.unwrap_or_default()))
        })
    }

    /// Puts a batch where it belongs, or where it waits.
    fn put_batch(&mut self, batch: DirBatch) -> Result<()> {
        match self.placer(&batch.path)?.place(batch.dir) {
            Place::Now(guard) => self.accept(guard, batch),
            Place::Later(candidate) => {
                self.memory_bytes += batch.memory_bytes();
                let item = Waiting::Batch(Box::new(batch));
                self.waiting.entry(candidate).or_default().push(item);
            }
        }
        Ok(())
    }

    /// Puts an issue in a directory's shard, or where that directory waits.
    fn put_issue(&mut self, dir: DirId, issue: Issue) -> Result<()> {
        match self.placer(&issue.path)?.place(dir) {
            Place::Now(guard) => self.memory_bytes += self.shard(guard).add_issue(issue),
            Place::Later(candidate) => {
                let item = Waiting::Issue(dir, issue);
                self.waiting.entry(candidate).or_default().push(item);
            }
        }
        Ok(())
    }

    /// Places what waited for these candidates.
    fn settle(&mut self, decided: impl IntoIterator<Item = Candidate>) -> Result<()> {
        for candidate in decided {
            for item in self.waiting.remove(&candidate).unwrap_or_default() {
                match item {
                    Waiting::Batch(batch) => {
                        self.memory_bytes -= batch.memory_bytes();
                        self.put_batch(*batch)?;
                    }
                    Waiting::Issue(dir, issue) => self.put_issue(dir, issue)?,
                }
            }
            if let Some(placer) = &mut self.placer {
                placer.release(candidate);
            }
        }
        Ok(())
    }

    /// Adds a batch to its shard, and what it carries to theirs.
    fn accept(&mut self, guard: GuardId, mut batch: DirBatch) {
        self.accept_values(guard, &mut batch);
        let issues = std::mem::take(&mut batch.issues);
        let shard = self.shard(guard);
        let mut added: usize = issues.into_iter().map(|issue| shard.add_issue(issue)).sum();
        added += shard.add_listing(Listing {
            kind: ListingKind::Listed,
            batch,
        });
        self.memory_bytes += added;
    }

    /// Adds the attribute values that a batch carries to their shards.
    fn accept_values(&mut self, guard: GuardId, batch: &mut DirBatch) {
        let Some(placer) = &mut self.placer else {
            return;
        };
        for (guard, row) in attributes::take(batch, guard, placer) {
            self.memory_bytes += self.shard(guard).add_xattr(row);
        }
    }

    /// Writes the largest shards if the memory budget is spent.
    fn make_room(&mut self) -> Result<()> {
        if self.memory_bytes <= self.options.memory_bytes {
            return Ok(());
        }
        let mut by_size: Vec<(usize, GuardId)> = self
            .shards
            .iter()
            .map(|(guard, shard)| (shard.memory_bytes(), *guard))
            .collect();
        by_size.sort_unstable();
        while self.memory_bytes > self.options.memory_bytes / 2 {
            let Some((_, guard)) = by_size.pop() else {
                break;
            };
            self.flush(guard)?;
        }
        Ok(())
    }

    fn flush(&mut self, guard: GuardId) -> Result<()> {
        let shared = Snapshotting {
            guards: &self.guards,
            id: self.id,
            root: self.source.root(),
        };
        if let Some(shard) = self.shards.get_mut(&guard) {
            self.memory_bytes -= shard.flush(&shared, &mut self.compressor)?;
        }
        Ok(())
    }
}

impl Sink for SnapshotWriter {
    type Error = IndexError;

    fn root(&mut self, root: SourceRoot) -> Result<()> {
        if root.path != self.source.root() || self.placer.is_some() {
            return Err(IndexError::Order {
                path: root.path,
                problem: "it is not the root that the snapshot was begun for",
            });
        }
        let placer = Placer::new(&root.above);
        let guard = placer.root_guard();
        self.placer = Some(placer);
        let above = path::split(&root.path).map_or(&[][..], |(above, _)| above);
        let mut batch = DirBatch {
            path: above.to_vec(),
            entries: vec![root.entry],
            xattrs: root.xattrs,
            heap: root.heap,
            ..DirBatch::default()
        };
        self.accept_values(guard, &mut batch);
        self.memory_bytes += self.shard(guard).add_listing(Listing {
            kind: ListingKind::Root,
            batch,
        });
        Ok(())
    }

    fn batch(&mut self, batch: DirBatch) -> Result<()> {
        let placer = self.placer(&batch.path)?;
        if batch.fragment == 0 {
            placer.enter(batch.dir, batch.parent, &batch.path, &batch.access);
        }
        let decided = placer.add_rows(batch.dir, batch.entries.len() as u64);
        self.settle(decided)?;
        self.put_batch(batch)?;
        self.make_room()
    }

    fn subtree_done(&mut self, dir: DirId) -> Result<()> {
        let decided = self.placer(&[])?.done(dir);
        self.settle(decided)?;
        self.make_room()
    }

    fn issue(&mut self, dir: Option<DirId>, issue: Issue) -> Result<()> {
        match dir {
            Some(dir) => self.put_issue(dir, issue),
            None => {
                let guard = self.placer(&issue.path)?.root_guard();
                self.memory_bytes += self.shard(guard).add_issue(issue);
                Ok(())
            }
        }
    }
}

impl Drop for SnapshotWriter {
    /// Undoes what was not committed. A failure leaves files for the next
    /// writer to remove: the lock file still says so.
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

/// An id larger than any that the source has or had.
fn next_id(source: &Source, started: Timestamp) -> Result<SnapshotId> {
    let nanos = u64::try_from(started.as_nanos()).unwrap_or(0);
    let listed = snapshot_ids(source.dir())?.pop();
    let last = listed.max(source.current_id()?);
    let after = last.map_or(1, |id| id.0.saturating_add(1));
    Ok(SnapshotId(nanos.max(after)))
}
