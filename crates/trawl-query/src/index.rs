//! An open index: its sources, their current snapshots, and where in them a
//! path lies.

use crate::error::{QueryError, Result};
use crate::locate::{Located, locate};
use crate::segment::{Scratch, SegmentFile};
use rustix::process::{Resource, getrlimit};
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use trawl_index::schema::Table;
use trawl_index::{IndexDir, SegmentInfo, Shard, Snapshot, SnapshotInfo, Source};
use trawl_model::path;
use trawl_model::rows::RowBatch;

/// Files that are kept open, at most; fewer where a process may have few
/// descriptors.
const OPEN_FILES: usize = 200;
/// Bytes of small files that are kept in memory.
const KEPT_BYTES: usize = 32 << 20;

/// An open index.
#[derive(Debug)]
pub struct Index {
    sources: Vec<Source>,
    views: Vec<OnceLock<Option<Arc<View>>>>,
}

/// A source's current snapshot, as this process may read it.
#[derive(Debug)]
pub struct View {
    info: SnapshotInfo,
    shards: Vec<Shard>,
    /// Every segment, by shard and place there.
    segments: Vec<(usize, usize)>,
    open: Mutex<OpenFiles>,
}

/// A segment of a view, by its place in [`View::segments`].
pub(crate) type SegmentAt = usize;

/// Files that were used lately; the oldest are dropped first.
#[derive(Debug)]
struct OpenFiles {
    /// The most files with a descriptor.
    limit: usize,
    files: HashMap<(SegmentAt, Table), Arc<SegmentFile>>,
    with_descriptor: VecDeque<(SegmentAt, Table)>,
    in_memory: VecDeque<(SegmentAt, Table)>,
    kept_bytes: usize,
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

/// Where a question starts: an entry of a snapshot.
#[derive(Clone, Debug)]
pub struct Start {
    /// The snapshot.
    pub view: Arc<View>,
    /// Absolute path, no trailing slash, empty for `/`.
    pub path: Vec<u8>,
    /// The entry's own row, with all columns.
    pub row: RowBatch,
    /// True if it is a directory.
    pub is_dir: bool,
}

impl Index {
    /// Opens an index; snapshots are opened when they are asked about.
    pub fn open(path: &Path) -> Result<Index> {
        let sources = IndexDir::open(path)?.sources()?;
        let views = sources.iter().map(|_| OnceLock::new()).collect();
        Ok(Index { sources, views })
    }

    /// Its sources, by root path.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Finds what the index has at `path` (absolute, normal: see
    /// [`trawl_model::path::normalize`]).
    pub fn locate(&self, path: &[u8]) -> Result<Located> {
        let within = |source: &&Source| path::is_within(path, source.root());
        let mut best: Option<Arc<View>> = None;
        let places = self.sources.iter().zip(&self.views);
        for (source, view) in places.filter(|(source, _)| within(source)) {
            let longer = best
                .as_ref()
                .is_none_or(|best| best.root().len() <= source.root().len());
            if longer && let Some(view) = open_view(source, view)? {
                best = Some(view);
            }
        }
        match best {
            Some(view) => locate(&view, path, &mut Scratch::default()),
            None => Ok(Located::NotIndexed {
                nearest: self.nearest_root(path),
            }),
        }
    }

    /// The root that shares the most leading components with `path`, of the
    /// sources that have a snapshot.
    fn nearest_root(&self, path: &[u8]) -> Option<Vec<u8>> {
        let shared = |root: &[u8]| {
            let parts = path
                .split(|byte| *byte == b'/')
                .zip(root.split(|byte| *byte == b'/'));
            parts.take_while(|(a, b)| a == b).count()
        };
        let nearest = self
            .sources
            .iter()
            .filter(|source| matches!(source.current_id(), Ok(Some(_))))
            .max_by_key(|source| shared(source.root()));
        nearest.map(|source| source.root().to_vec())
    }

    /// The snapshot that answers about `start` are true for.
    pub fn as_of<'a>(&self, start: &'a Start) -> &'a SnapshotInfo {
        start.view.info()
    }
}

fn open_view(source: &Source, view: &OnceLock<Option<Arc<View>>>) -> Result<Option<Arc<View>>> {
    if let Some(known) = view.get() {
        return Ok(known.clone());
    }
    let opened = source
        .current()?
        .map(|snapshot| Arc::new(View::new(snapshot)));
    Ok(view.get_or_init(|| opened).clone())
}

impl View {
    /// A view of a snapshot that was opened by other means than
    /// [`Index::locate`], such as an older one.
    pub fn new(snapshot: Snapshot) -> View {
        let Snapshot { info, shards, .. } = snapshot;
        let in_shard = |(at, shard): (usize, &Shard)| {
            let segments = 0..shard.manifest.segments.len();
            segments
                .map(move |segment| (at, segment))
                .collect::<Vec<_>>()
        };
        View {
            segments: shards.iter().enumerate().flat_map(in_shard).collect(),
            info,
            shards,
            open: Mutex::new(OpenFiles::new()),
        }
    }

    /// When and how it was made.
    pub fn info(&self) -> &SnapshotInfo {
        &self.info
    }

    /// The source's root path.
    pub fn root(&self) -> &[u8] {
        &self.info.root
    }

    /// Its shards.
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// Finds what the snapshot has at `path`, which lies within its root.
    pub fn locate(self: &Arc<View>, path: &[u8]) -> Result<Located> {
        locate(self, path, &mut Scratch::default())
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = (SegmentAt, &Shard, &SegmentInfo)> {
        let places = self.segments.iter().enumerate();
        places.filter_map(|(at, _)| {
            self.segment(at)
                .map(|(shard, segment)| (at, shard, segment))
        })
    }

    pub(crate) fn segment(&self, at: SegmentAt) -> Option<(&Shard, &SegmentInfo)> {
        let (shard, segment) = self.segments.get(at)?;
        let shard = self.shards.get(*shard)?;
        Some((shard, shard.manifest.segments.get(*segment)?))
    }

    /// The shard of a segment, and its place among the shards.
    pub(crate) fn shard_of(&self, at: SegmentAt) -> Option<(usize, &Shard)> {
        let (shard, _) = self.segments.get(at)?;
        Some((*shard, self.shards.get(*shard)?))
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
        let file = Arc::new(SegmentFile::open(shard, segment, table, expected)?);
        self.lock_open().keep((at, table), &file);
        Ok(Some(file))
    }

    /// An error about a segment's file.
    pub(crate) fn damaged(&self, at: SegmentAt, table: Table, problem: &'static str) -> QueryError {
        let place = self
            .segment(at)
            .map(|(shard, segment)| shard.file_path(segment.id, table));
        QueryError::damaged(&place.unwrap_or_default(), problem)
    }

    fn lock_open(&self) -> std::sync::MutexGuard<'_, OpenFiles> {
        // Nothing is left half done by a panic while it is locked.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
