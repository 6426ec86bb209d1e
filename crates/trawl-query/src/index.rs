//! An open index: its sources, their current snapshots, and where in them a
//! path lies.
//!
//! What a reader sees is what the kernel lets it open. Shards and sources
//! behind a name barrier are found by those who know a path behind it, and
//! only for a question that starts there.

use crate::as_of::AsOf;
use crate::error::Result;
use crate::locate::{Located, has_root, locate};
use crate::permission::{Access, Judge};
use crate::segment::Scratch;
pub(crate) use crate::view::SegmentAt;
pub use crate::view::View;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use trawl_index::{IndexDir, SnapshotInfo, Source};
use trawl_model::guard::Credentials;
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Uid, path};

/// An open index.
#[derive(Debug)]
pub struct Index {
    dir: IndexDir,
    /// Who asks.
    who: Arc<Credentials>,
    /// Of when.
    as_of: AsOf,
    sources: Vec<Source>,
    views: Vec<OnceLock<Option<Arc<View>>>>,
    /// Views of sources that are found by path alone, by root.
    hidden: Mutex<HashMap<Vec<u8>, Arc<View>>>,
    /// Views that come before those of the index, each for a path and what is
    /// below it.
    added: Mutex<Vec<(Vec<u8>, Arc<View>)>>,
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

impl Start {
    /// The entry's own row.
    pub fn own_row(&self) -> Row<'_> {
        Row {
            batch: &self.row,
            at: 0,
            dir: path::split(&self.path).map_or(b"", |(dir, _)| dir),
        }
    }

    /// The same for who will ask for many single directories: a question after one does not look
    /// at all segments.
    #[must_use]
    pub fn for_many(mut self) -> Start {
        self.view = self.view.for_many();
        self
    }

    /// True if the asker may reach what is in it, so that the kernel would go
    /// through it to `.` or `..`.
    pub fn may_search(&self) -> bool {
        let row = Row {
            batch: &self.row,
            at: 0,
            dir: b"",
        };
        Judge::of_reader(&self.view).judge(&row) != Access::None
    }
}

impl Index {
    /// Opens an index; snapshots are opened when they are asked about. `who`
    /// are the credentials of this process: what may be opened the kernel
    /// decides, they tell why something is not to be seen.
    pub fn open(path: &Path, who: Credentials) -> Result<Index> {
        Index::open_as_of(path, who, AsOf::Now)
    }

    /// The same, for answers from other snapshots than the current ones.
    pub fn open_as_of(path: &Path, who: Credentials, as_of: AsOf) -> Result<Index> {
        let dir = IndexDir::open(path)?;
        let sources = dir.sources()?;
        Ok(Index {
            dir,
            who: Arc::new(who),
            as_of,
            views: sources.iter().map(|_| OnceLock::new()).collect(),
            sources,
            hidden: Mutex::default(),
            added: Mutex::default(),
        })
    }

    /// Its sources that can be listed, by root path.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Who asks.
    pub fn who(&self) -> &Arc<Credentials> {
        &self.who
    }

    /// Of when its answers are.
    pub fn is_as_of(&self) -> AsOf {
        self.as_of
    }

    /// The snapshots of the source that is nearest to `path`, the oldest
    /// first, and its root; `None` if `path` is in no source that the asker
    /// may know of.
    pub fn snapshots_of(&self, path: &[u8]) -> Result<Option<(Vec<u8>, Vec<SnapshotInfo>)>> {
        let mut hidden = Vec::new();
        if self.who.uid != Uid::ROOT {
            hidden = self.dir.sources_behind(path)?;
        }
        let all = self.sources.iter().chain(&hidden);
        let around = all.filter(|source| path::is_within(path, source.root()));
        let Some(nearest) = around.max_by_key(|source| source.root().len()) else {
            return Ok(None);
        };
        Ok(Some((nearest.root().to_vec(), nearest.snapshots()?)))
    }

    /// From now on answers about `path` and what is below it come from this
    /// view: what was read of the live system a moment ago.
    pub fn add_view(&self, path: &[u8], view: Arc<View>) {
        lock(&self.added).push((path.to_vec(), view));
    }

    /// Finds what the index has at `path` (absolute, normal: see
    /// [`trawl_model::path::normalize`]).
    pub fn locate(&self, path: &[u8]) -> Result<Located> {
        for view in self.views_around(path)? {
            let view = view.knowing(path)?;
            if let Some(located) = locate(&view, path, &mut Scratch::default())? {
                return Ok(located);
            }
        }
        Ok(Located::NotIndexed {
            nearest: self.nearest_root(path)?,
        })
    }

    /// The views of sources around `path`: added ones, the latest
    /// first, then those of the index, the nearest first.
    pub(crate) fn views_around(&self, path: &[u8]) -> Result<Vec<Arc<View>>> {
        let mut views = Vec::new();
        for (source, view) in self.sources.iter().zip(&self.views) {
            if path::is_within(path, source.root())
                && let Some(view) = self.open_view(source, view)?
            {
                views.push(view);
            }
        }
        // Whoever may open everything has listed everything.
        if self.who.uid != Uid::ROOT {
            views.extend(self.hidden_views(path)?);
        }
        views.sort_by_key(|view| Reverse(view.root().len()));
        let added = lock(&self.added);
        let around = |(top, _): &&(Vec<u8>, Arc<View>)| path::is_within(path, top);
        let added = added.iter().rev().filter(around);
        let added = added.map(|(_, view)| Arc::clone(view));
        Ok(added.chain(views).collect())
    }

    /// The views of sources that only those find who know `path`.
    fn hidden_views(&self, path: &[u8]) -> Result<Vec<Arc<View>>> {
        let mut views = Vec::new();
        for source in self.dir.sources_behind(path)? {
            if !path::is_within(path, source.root()) {
                continue;
            }
            let mut hidden = lock(&self.hidden);
            if let Some(known) = hidden.get(source.root()) {
                views.push(Arc::clone(known));
            } else if let Some(view) = self.view_of(&source)? {
                hidden.insert(source.root().to_vec(), Arc::clone(&view));
                views.push(view);
            }
        }
        Ok(views)
    }

    /// The root that shares the most leading components with `path`, of the
    /// sources that have a snapshot in which the root itself is to be seen.
    fn nearest_root(&self, path: &[u8]) -> Result<Option<Vec<u8>>> {
        let shared = |root: &[u8]| {
            let parts = path
                .split(|byte| *byte == b'/')
                .zip(root.split(|byte| *byte == b'/'));
            parts.take_while(|(a, b)| a == b).count()
        };
        let mut places: Vec<_> = self.sources.iter().zip(&self.views).collect();
        places.sort_by_key(|(source, _)| Reverse(shared(source.root())));
        for (source, view) in places {
            if let Some(view) = self.open_view(source, view)?
                && has_root(&view, &mut Scratch::default())?
            {
                return Ok(Some(source.root().to_vec()));
            }
        }
        Ok(None)
    }

    fn open_view(
        &self,
        source: &Source,
        view: &OnceLock<Option<Arc<View>>>,
    ) -> Result<Option<Arc<View>>> {
        if let Some(known) = view.get() {
            return Ok(known.clone());
        }
        let opened = self.view_of(source)?;
        Ok(view.get_or_init(|| opened).clone())
    }

    fn view_of(&self, source: &Source) -> Result<Option<Arc<View>>> {
        let who = Arc::clone(&self.who);
        let view = |snapshot| Arc::new(View::new(snapshot, who).seen_as_of(self.as_of));
        Ok(self.as_of.open(source)?.map(view))
    }

    /// The snapshot that answers about `start` are true for.
    pub fn as_of<'a>(&self, start: &'a Start) -> &'a SnapshotInfo {
        start.view.info()
    }
}

/// Nothing is left half done by a panic while one of these is locked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
