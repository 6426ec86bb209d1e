//! One snapshot as this process may read it: its segments, and a cache of their
//! open files.

use crate::as_of::AsOf;
use crate::error::{QueryError, Result};
use crate::holders::InodeFilters;
use crate::locate::{Located, Reach, Span, locate};
use crate::open_sidecars::{self, Sidecar, Sidecars};
use crate::places::{Having, SegmentIndex};
use crate::segment::{KEPT_PAGE_BYTES, KeptPages, Scratch, SegmentFile};
use rustix::process::{Resource, getrlimit};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use trawl_format::schema::Table;
use trawl_format::{Glance, SegmentInfo, Shard, Snapshot, SnapshotInfo};
use trawl_indices::Definition;
use trawl_model::Timestamp;
use trawl_model::guard::Credentials;
use trawl_model::sync::lock;

/// Maximum number of files kept open; fewer if the process has a low descriptor
/// limit.
const OPEN_FILES: usize = 200;
/// Maximum number of files held open for a walk.
const HELD_FILES: usize = 8192;
/// Number of subtrees whose listings are cached.
const SUBTREES: usize = 4;
/// Up to this many segments, every segment is examined for each directory.
const FEW_SEGMENTS: usize = 16;
/// Bytes of small files kept in memory.
const KEPT_BYTES: usize = 32 << 20;

/// A snapshot of a source, as this process may read it.
#[derive(Debug)]
pub struct View {
    snapshot: Snapshot,
    /// Credentials of the reader.
    who: Arc<Credentials>,
    /// The moment that the query asked about.
    as_of: AsOf,
    /// Every segment that is read, as positions of the shard and of the segment
    /// in it. The bundle comes after the shards and replaces the segments whose
    /// rows it has.
    segments: Vec<(usize, usize)>,
    open: Arc<Mutex<OpenFiles>>,
    sidecars: Mutex<Sidecars>,
    /// An index of the first segments, for callers that ask for many
    /// directories.
    places: Option<Arc<SegmentIndex>>,
    /// Filters of inode numbers on pages of these segments, as far as they are
    /// known.
    inodes: Arc<Mutex<InodeFilters>>,
    /// The wider view that was asked for last.
    wider: Mutex<Option<Wider>>,
    /// Definitions of the source's named indices, once they were asked for.
    pub(crate) definitions: OnceLock<Vec<Definition>>,
    /// Names of the named indices that answered.
    pub(crate) indices_used: Mutex<BTreeSet<String>>,
    /// Recently requested subtrees, and the places of their listings.
    subtrees: Mutex<VecDeque<(Vec<u8>, Vec<Span>)>>,
}

/// A view that includes shards which are found only by knowing a path.
#[derive(Debug)]
struct Wider {
    /// The directories of these shards.
    shards: Vec<PathBuf>,
    view: Arc<View>,
}

/// A segment of a view, as a position in [`View::segments`].
pub(crate) type SegmentAt = usize;

/// Files that were used recently; the oldest are dropped first.
#[derive(Debug)]
struct OpenFiles {
    /// Maximum number of files with a descriptor.
    limit: usize,
    files: HashMap<(SegmentAt, Table), Arc<SegmentFile>>,
    with_descriptor: VecDeque<(SegmentAt, Table)>,
    in_memory: VecDeque<(SegmentAt, Table)>,
    kept_bytes: usize,
    /// Decoded pages of these files.
    pages: Arc<KeptPages>,
    /// Files that a current walk will read, kept open so that they cannot
    /// disappear.
    held: HashMap<(SegmentAt, Table), File>,
    /// Maximum number of these.
    held_limit: usize,
}

impl OpenFiles {
    fn new() -> OpenFiles {
        let allowed = getrlimit(Resource::Nofile).current;
        let allowed = allowed.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        OpenFiles {
            limit: (allowed / 4).min(OPEN_FILES),
            files: HashMap::new(),
            with_descriptor: VecDeque::new(),
            in_memory: VecDeque::new(),
            kept_bytes: 0,
            pages: Arc::new(KeptPages::new(KEPT_PAGE_BYTES)),
            held: HashMap::new(),
            held_limit: (allowed / 2).min(HELD_FILES),
        }
    }

    fn keep(&mut self, key: (SegmentAt, Table), file: &Arc<SegmentFile>) {
        if self.files.insert(key, Arc::clone(file)).is_some() {
            return;
        }
        match file.memory_bytes() {
            None => self.with_descriptor.push_back(key),
            Some(bytes) => {
                self.kept_bytes += bytes;
                self.in_memory.push_back(key);
            }
        }
        while self.with_descriptor.len() > self.limit {
            let oldest = self.with_descriptor.pop_front();
            oldest.and_then(|oldest| self.files.remove(&oldest));
        }
        while self.kept_bytes > KEPT_BYTES {
            let Some(oldest) = self.in_memory.pop_front() else {
                break;
            };
            let dropped = self
                .files
                .remove(&oldest)
                .and_then(|file| file.memory_bytes());
            self.kept_bytes = self.kept_bytes.saturating_sub(dropped.unwrap_or_default());
        }
    }
}

impl OpenFiles {
    /// Closes the files of segments from `end` on.
    fn keep_below(&mut self, end: SegmentAt) {
        let stays = |(at, _): &(SegmentAt, Table)| *at < end;
        let mut bytes = 0;
        self.files.retain(|key, file| {
            let kept = stays(key);
            if !kept {
                bytes += file.memory_bytes().unwrap_or_default();
            }
            kept
        });
        self.kept_bytes = self.kept_bytes.saturating_sub(bytes);
        self.held.retain(|key, _| stays(key));
        self.with_descriptor.retain(stays);
        self.in_memory.retain(stays);
    }
}

impl View {
    /// Makes a view of a snapshot that was not opened by
    /// [`Index::locate`](crate::Index::locate), such as an older one, for a
    /// reader with these credentials.
    pub fn new(snapshot: Snapshot, who: Arc<Credentials>) -> View {
        let in_use = snapshot.bundle_in_use();
        let is_used = |number: usize| in_use.get(number).copied().unwrap_or(false);
        let mut segments = Vec::new();
        for (at, shard) in snapshot.shards.iter().enumerate() {
            let all = 0..shard.segment_count();
            let read = all.filter(|segment| !shard.bundled(*segment).is_some_and(is_used));
            segments.extend(read.map(|segment| (at, segment)));
        }
        let bundle = (0..in_use.len()).filter(|segment| is_used(*segment));
        segments.extend(bundle.map(|segment| (snapshot.shards.len(), segment)));
        View {
            segments,
            sidecars: Mutex::default(),
            snapshot,
            who,
            as_of: AsOf::Now,
            open: Arc::new(Mutex::new(OpenFiles::new())),
            places: None,
            inodes: Arc::default(),
            wider: Mutex::new(None),
            definitions: OnceLock::new(),
            indices_used: Mutex::default(),
            subtrees: Mutex::new(VecDeque::new()),
        }
    }

    /// Sets the maximum bytes of decoded pages that lookups keep, before anything
    /// is read: 32 MiB otherwise.
    #[must_use]
    pub fn keeping_page_bytes(self, most: usize) -> View {
        self.lock_open().pages = Arc::new(KeptPages::new(most));
        self
    }

    /// Prepares the view for repeated queries about many single directories.
    #[must_use]
    pub fn with_places(mut self) -> View {
        self.places = Some(Arc::new(SegmentIndex::of(&self)));
        self
    }

    /// Returns a view of the same snapshot for queries about many single
    /// directories; the same view if that makes no difference.
    pub(crate) fn for_many(self: &Arc<View>) -> Arc<View> {
        if self.places.is_some() || self.segments.len() <= FEW_SEGMENTS {
            return Arc::clone(self);
        }
        let view = View::new(self.snapshot.clone(), Arc::clone(&self.who));
        Arc::new(view.seen_as_of(self.as_of).with_places())
    }

    /// Returns a view of the same snapshot with a newer generation of changes,
    /// which follow its shards. Open files of the shards stay open.
    #[must_use]
    pub fn renewed(&self, snapshot: Snapshot) -> View {
        let kept = self.places.as_ref().map_or(0, |places| places.segments());
        self.lock_open().keep_below(kept);
        View {
            open: Arc::clone(&self.open),
            places: self.places.clone(),
            inodes: Arc::clone(&self.inodes),
            ..View::new(snapshot, Arc::clone(&self.who))
        }
    }

    /// Returns the inode filters if the segment keeps its position in renewed
    /// views, otherwise `None`.
    pub(crate) fn inode_filters(&self, at: SegmentAt) -> Option<MutexGuard<'_, InodeFilters>> {
        let lasting = self.places.as_ref().map_or(0, |places| places.segments());
        let filters = || lock(&self.inodes);
        (at < lasting).then(filters)
    }

    /// Returns the same view with dead rows, as far as files still have them.
    #[must_use]
    pub fn with_dead_rows(&self) -> View {
        self.renewed(self.snapshot.clone().with_dead_rows())
    }

    /// Returns the segments that may have listings of `dir`, or of its subtree.
    pub(crate) fn near(&self, dir: &[u8], reach: Reach) -> Vec<SegmentAt> {
        match &self.places {
            None => (0..self.segments.len()).collect(),
            Some(places) => {
                let mut near = places.near(self, dir, reach);
                near.extend(places.segments()..self.segments.len());
                near
            }
        }
    }

    /// Returns the segments with this kind of contents.
    pub(crate) fn having(&self, what: Having) -> Vec<SegmentAt> {
        let known = self.places.as_ref().map(|places| places.having(what));
        self.with_later(known.unwrap_or_default(), what)
    }

    /// Returns the segments that can have the own row of an entry of `dir`.
    pub(crate) fn having_own_rows_in(&self, dir: &[u8]) -> Vec<SegmentAt> {
        let known = self.places.as_ref().map(|places| places.own_rows_in(dir));
        self.with_later(known.unwrap_or_default(), Having::OwnRow)
    }

    /// Returns `known`, and the segments with this kind of contents after those
    /// that are indexed.
    fn with_later(&self, known: &[SegmentAt], what: Having) -> Vec<SegmentAt> {
        let first = self.places.as_ref().map_or(0, |places| places.segments());
        let others = (first..self.segments.len()).filter(|at| {
            let glance = self.glance(*at);
            glance.is_some_and(|(_, glance)| what.is_of(&glance))
        });
        let mut found = known.to_vec();
        found.extend(others);
        found
    }

    /// Returns what is known of a segment without reading its manifest.
    pub(crate) fn glance(&self, at: SegmentAt) -> Option<(&Shard, Glance<'_>)> {
        let (shard, segment) = self.segments.get(at)?;
        let shard = self.shard(*shard)?;
        Some((shard, shard.glance(*segment)?))
    }

    /// Records the moment that the query asked about.
    #[must_use]
    pub fn seen_as_of(self, as_of: AsOf) -> View {
        View { as_of, ..self }
    }

    /// True if the query is about the past, so that the live system cannot fill
    /// gaps.
    pub fn is_past(&self) -> bool {
        self.as_of.is_past()
    }

    /// The time up to which the index contains all changes, by its own account.
    pub(crate) fn changes_until(&self) -> Timestamp {
        let live = self.snapshot.live().map(|live| live.as_of);
        let started = self.snapshot.info.started;
        live.map_or(started, |time| time.max(started))
    }

    /// Returns the cached places of a subtree's listings.
    pub(crate) fn known_subtree(&self, dir: &[u8]) -> Option<Vec<Span>> {
        let subtrees = lock(&self.subtrees);
        let known = subtrees.iter().find(|(path, _)| path == dir);
        known.map(|(_, spans)| spans.clone())
    }

    /// Caches the places of a subtree's listings in place of the oldest.
    pub(crate) fn keep_subtree(&self, dir: &[u8], spans: &[Span]) {
        let mut subtrees = lock(&self.subtrees);
        if subtrees.len() >= SUBTREES {
            subtrees.pop_front();
        }
        subtrees.push_back((dir.to_vec(), spans.to_vec()));
    }

    /// Returns this view with the shards that are found only by knowing
    /// `asked`; the same view if there are none.
    pub(crate) fn knowing(self: &Arc<View>, asked: &[u8]) -> Result<Arc<View>> {
        if !self.is_partial() {
            return Ok(Arc::clone(self));
        }
        let behind = self.snapshot.behind(asked)?;
        if behind.is_empty() {
            return Ok(Arc::clone(self));
        }
        let places: Vec<PathBuf> = behind.iter().map(Shard::dir_path).collect();
        let mut wider = lock(&self.wider);
        if let Some(known) = wider.as_ref().filter(|known| known.shards == places) {
            return Ok(Arc::clone(&known.view));
        }
        let mut snapshot = self.snapshot.clone();
        snapshot.shards.extend(behind);
        let view = View::new(snapshot, Arc::clone(&self.who)).seen_as_of(self.as_of);
        let view = Arc::new(view);
        *wider = Some(Wider {
            shards: places,
            view: Arc::clone(&view),
        });
        Ok(view)
    }

    /// False if this reader sees everything in the snapshot.
    pub fn is_partial(&self) -> bool {
        self.snapshot.is_partial
    }

    /// Credentials of the reader.
    pub fn who(&self) -> &Credentials {
        &self.who
    }

    /// Description of the snapshot.
    pub fn info(&self) -> &SnapshotInfo {
        &self.snapshot.info
    }

    /// The source's root path.
    pub fn root(&self) -> &[u8] {
        &self.snapshot.info.root
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Its shards, without the bundle.
    pub fn shards(&self) -> &[Shard] {
        &self.snapshot.shards
    }

    /// Returns one of its shards; the position after the last is the bundle.
    fn shard(&self, at: usize) -> Option<&Shard> {
        let shards = &self.snapshot.shards;
        match at == shards.len() {
            true => self.snapshot.bundle(),
            false => shards.get(at),
        }
    }

    /// Finds the entry at `path`, which must lie within the root. The view of
    /// the result includes shards that are found only by knowing `path`.
    pub fn locate(self: &Arc<View>, path: &[u8]) -> Result<Located> {
        let view = self.knowing(path)?;
        let found = locate(&view, path, &mut Scratch::for_lookups())?;
        Ok(found.unwrap_or(Located::NotIndexed { nearest: None }))
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = (SegmentAt, &Shard, &SegmentInfo)> {
        let places = self.segments.iter().enumerate();
        places.filter_map(|(at, _)| {
            self.segment(at)
                .map(|(shard, segment)| (at, shard, segment))
        })
    }

    /// Iterates over what is known of each segment without reading its
    /// manifest, since most segments do not concern a query.
    pub(crate) fn glances(&self) -> impl Iterator<Item = (SegmentAt, &Shard, Glance<'_>)> {
        let places = self.segments.iter().enumerate();
        places.filter_map(|(at, (shard, segment))| {
            let shard = self.shard(*shard)?;
            Some((at, shard, shard.glance(*segment)?))
        })
    }

    pub(crate) fn segment_count(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn segment(&self, at: SegmentAt) -> Option<(&Shard, &SegmentInfo)> {
        let (shard, segment) = self.segments.get(at)?;
        let shard = self.shard(*shard)?;
        Some((shard, shard.manifest.segments.get(*segment)?))
    }

    /// Returns the shard of a segment and its position; the bundle comes after
    /// the last shard.
    pub(crate) fn shard_of(&self, at: SegmentAt) -> Option<(usize, &Shard)> {
        let (shard, _) = self.segments.get(at)?;
        Some((*shard, self.shard(*shard)?))
    }

    /// Opens a segment's file; `None` if the segment has no such table.
    pub(crate) fn file(&self, at: SegmentAt, table: Table) -> Result<Option<Arc<SegmentFile>>> {
        let Some((shard, segment)) = self.segment(at) else {
            return Ok(None);
        };
        let Some(expected) = segment.files.get(&table) else {
            return Ok(None);
        };
        if let Some(known) = self.lock_open().files.get(&(at, table)) {
            return Ok(Some(Arc::clone(known)));
        }
        let (held, pages) = {
            let open = self.lock_open();
            let held = open.held.get(&(at, table)).map(File::try_clone);
            (held, Arc::clone(&open.pages))
        };
        let file = match held {
            Some(Ok(file)) => {
                let path = shard.file_path(segment.id, table);
                SegmentFile::from_file(file, path, table, expected)?
            }
            _ => SegmentFile::open(shard, segment, table, expected)?,
        };
        let file = Arc::new(file.keeping(&pages));
        self.lock_open().keep((at, table), &file);
        Ok(Some(file))
    }

    /// Opens the files of segments that a walk will read, as many as the limit
    /// allows. A new snapshot may have them removed meanwhile, and an answer
    /// that has begun must be completed.
    pub(crate) fn hold(&self, segments: impl Iterator<Item = SegmentAt>) -> Result<()> {
        for at in segments {
            let Some((shard, segment)) = self.segment(at) else {
                continue;
            };
            for table in [Table::Dirs, Table::Entries] {
                let has_room = {
                    let open = self.lock_open();
                    let is_open = open.files.get(&(at, table));
                    let is_kept = is_open.is_some_and(|file| file.memory_bytes().is_some());
                    open.held.len() < open.held_limit
                        && !is_kept
                        && !open.held.contains_key(&(at, table))
                };
                if has_room && segment.files.contains_key(&table) {
                    let file = shard.open_file(segment, table)?;
                    self.lock_open().held.insert((at, table), file);
                }
            }
        }
        Ok(())
    }

    /// Returns a segment's name sidecar; `None` if it has no readable one.
    pub(crate) fn names(&self, at: SegmentAt) -> Option<Arc<Sidecar>> {
        let sidecars = || lock(&self.sidecars);
        if let Some(known) = sidecars().known(at) {
            return known;
        }
        let (shard, segment) = self.segment(at)?;
        let (length, sidecar) = match open_sidecars::open(shard, segment) {
            Some((length, sidecar)) => (length, Some(Arc::new(sidecar))),
            None => (0, None),
        };
        sidecars().keep(at, length, sidecar.clone());
        sidecar
    }

    /// Returns a segment's name sidecar if it is open.
    pub(crate) fn open_names(&self, at: SegmentAt) -> Option<Arc<Sidecar>> {
        lock(&self.sidecars).known(at).flatten()
    }

    /// Returns the dead rows of a segment's table, as in
    /// [`trawl_format::live::Dead`].
    pub(crate) fn dead(&self, at: SegmentAt, table: Table) -> &[Range<u64>] {
        let Some((_, shard)) = self.shard_of(at).filter(|(_, shard)| shard.has_dead()) else {
            return &[];
        };
        let dead = self
            .segment(at)
            .and_then(|(_, segment)| shard.dead(segment.id));
        dead.map_or(&[], |dead| dead.of(table))
    }

    /// Returns an error about a segment's file.
    pub(crate) fn damaged(&self, at: SegmentAt, table: Table, problem: &'static str) -> QueryError {
        let place = self
            .segment(at)
            .map(|(shard, segment)| shard.file_path(segment.id, table));
        QueryError::damaged(&place.unwrap_or_default(), problem)
    }

    fn lock_open(&self) -> MutexGuard<'_, OpenFiles> {
        lock(&self.open)
    }
}
