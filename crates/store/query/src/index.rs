//! An open index: its sources, their current snapshots, and the place of a path
//! in them.
//!
//! A reader sees what the kernel lets it open. Shards and sources behind a name
//! barrier are found only by a query whose start path leads through the
//! barrier, since the reader must know the name.

use crate::as_of::AsOf;
use crate::asker::{Asker, asker};
use crate::error::{QueryError, Result};
use crate::locate::{Located, has_root, locate};
use crate::permission::{Access, Judge};
use crate::promise::Promises;
use crate::segment::Scratch;
use crate::together::{HeldSource, Places, UNKNOWN, merge};
pub(crate) use crate::view::SegmentAt;
pub use crate::view::View;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use trawl_format::{IndexDir, Snapshot, SnapshotInfo, Source};
use trawl_model::guard::Credentials;
use trawl_model::rows::{Row, RowBatch};
use trawl_model::sync::lock;
use trawl_model::{Uid, path};

/// An open index, or several that are queried as one ([`crate::together`]).
#[derive(Debug)]
pub struct Index {
    dirs: Vec<IndexDir>,
    /// Credentials of the asking user.
    who: Arc<Credentials>,
    /// The moment that queries ask about.
    as_of: AsOf,
    /// Asked before a source is read.
    promises: Option<Arc<dyn Promises>>,
    sources: Vec<Source>,
    /// For each source, the index that holds it.
    held_by: Vec<usize>,
    /// Sources that do not answer, because another source has the same root.
    others: Vec<Source>,
    views: Vec<OnceLock<Option<Arc<View>>>>,
    /// Views of sources that can be found only by path, by index and root. They
    /// take precedence over listed sources with the same root and index.
    hidden: Mutex<HashMap<IndexAndRoot, Arc<View>>>,
    /// Views that take precedence over those of the index, each with the path
    /// that it covers together with everything below.
    added: Mutex<Vec<(Vec<u8>, Arc<View>)>>,
}

/// Number of an index, and root of one of its sources.
type IndexAndRoot = (usize, Vec<u8>);

/// The start of a query: an entry of a snapshot.
#[derive(Clone, Debug)]
pub struct Start {
    /// The snapshot.
    pub view: Arc<View>,
    /// Absolute path without a trailing slash; empty for `/`.
    pub path: Vec<u8>,
    /// The entry's own row with all columns.
    pub row: RowBatch,
    /// True if it is a directory.
    pub is_dir: bool,
}

impl Start {
    /// A directory of which only the place is known, and not the row.
    pub(crate) fn at(view: &Arc<View>, path: &[u8]) -> Start {
        Start {
            view: Arc::clone(view),
            path: path.to_vec(),
            row: RowBatch::default(),
            is_dir: true,
        }
    }

    /// The entry's own row.
    pub fn own_row(&self) -> Row<'_> {
        Row {
            batch: &self.row,
            at: 0,
            dir: path::split(&self.path).map_or(b"", |(dir, _)| dir),
        }
    }

    /// Prepares for queries about many single directories: each then looks only
    /// at the segments that may hold the directory.
    #[must_use]
    pub fn for_many(mut self) -> Start {
        self.view = self.view.for_many();
        self
    }

    /// True if the asking user may search the directory, so that the kernel
    /// would resolve `.` and `..` in it.
    pub fn may_search(&self) -> bool {
        let row = Row {
            batch: &self.row,
            at: 0,
            dir: b"",
        };
        Judge::of_reader(&self.view).judge(&row, || self.path.clone()) != Access::None
    }
}

impl Index {
    /// Opens an index. Snapshots are opened when they are needed. `who` are the
    /// credentials of this process; they only explain why something cannot be
    /// seen, since the kernel decides what can be opened.
    pub fn open(path: &Path, who: Credentials) -> Result<Index> {
        Index::open_as_of(path, who, AsOf::Now)
    }

    /// Like [`Index::open`], but answers from other snapshots than the current
    /// ones.
    pub fn open_as_of(path: &Path, who: Credentials, as_of: AsOf) -> Result<Index> {
        let places = Places {
            dirs: &[path.to_owned()],
            known: &UNKNOWN,
        };
        Index::open_all(&places, who, as_of)
    }

    /// Opens several indexes as one. Each path is answered by the source whose
    /// root is nearest to it, and among these by the freshest.
    ///
    /// # Errors
    /// If any of them cannot be opened.
    pub fn open_all(places: &Places<'_>, who: Credentials, as_of: AsOf) -> Result<Index> {
        let opened = places.dirs.iter().map(|path| IndexDir::open(path));
        let dirs = opened.collect::<trawl_format::Result<Vec<IndexDir>>>()?;
        let merged = merge(&dirs, as_of, places)?;
        Ok(Index {
            dirs,
            who: Arc::new(who),
            as_of,
            views: merged.chosen.iter().map(|_| OnceLock::new()).collect(),
            held_by: merged.chosen.iter().map(|held| held.index).collect(),
            sources: sources_of(merged.chosen),
            others: sources_of(merged.others),
            promises: None,
            hidden: Mutex::default(),
            added: Mutex::default(),
        })
    }

    /// Sets `promises`, which is asked before a source is read. Listed sources
    /// must have been asked about before this index was opened.
    #[must_use]
    pub fn promised(self, promises: Option<Arc<dyn Promises>>) -> Index {
        Index { promises, ..self }
    }

    /// The listed sources that answer, by root path.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// True if nothing in the index is hidden from the asking user.
    fn opens_everything(&self) -> bool {
        self.who.uid == Uid::ROOT && asker() != Asker::Foreign
    }

    /// Directories of the indexes.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.dirs.iter().map(IndexDir::path)
    }

    /// Returns the directory of the index that holds the answering source with
    /// this root; `None` if no such source has been found so far.
    pub fn path_of(&self, root: &[u8]) -> Option<&Path> {
        let listed = self.sources.iter().position(|source| source.root() == root);
        let hidden = || {
            let hidden = lock(&self.hidden);
            let mut of_it = hidden.keys().filter(|(_, one)| one == root);
            of_it.next().map(|(at, _)| *at)
        };
        let at = listed.map(|at| self.held_by[at]).or_else(hidden)?;
        Some(self.dirs.get(at)?.path())
    }

    /// Credentials of the asking user.
    pub fn who(&self) -> &Arc<Credentials> {
        &self.who
    }

    /// The moment that queries ask about.
    pub fn is_as_of(&self) -> AsOf {
        self.as_of
    }

    /// Returns the root of the source nearest to `path`, and its snapshots,
    /// oldest first; `None` if `path` is in no source that the asking user may
    /// know of.
    pub fn snapshots_of(&self, path: &[u8]) -> Result<Option<(Vec<u8>, Vec<SnapshotInfo>)>> {
        let hidden: Vec<Source> = self.behind(path)?.into_iter().map(|(_, it)| it).collect();
        let all = || self.sources.iter().chain(&self.others).chain(&hidden);
        let around = all().filter(|source| path::is_within(path, source.root()));
        let Some(nearest) = around.max_by_key(|source| source.root().len()) else {
            return Ok(None);
        };
        let root = nearest.root();
        let mut snapshots = Vec::new();
        for source in all().filter(|source| source.root() == root) {
            snapshots.extend(source.snapshots()?);
        }
        snapshots.sort_by_key(|info| (info.started, info.id));
        snapshots.dedup_by_key(|info| info.id);
        Ok(Some((root.to_vec(), snapshots)))
    }

    /// Returns the sources around `path` that are found only by knowing the
    /// path, and the index of each.
    fn behind(&self, path: &[u8]) -> Result<Vec<(usize, Source)>> {
        let mut found = Vec::new();
        // A user who may open everything has already listed all sources.
        if self.opens_everything() {
            return Ok(found);
        }
        for (at, dir) in self.dirs.iter().enumerate() {
            let behind = dir.sources_behind(path)?.into_iter();
            let around = behind.filter(|source| path::is_within(path, source.root()));
            found.extend(around.map(|source| (at, source)));
        }
        Ok(found)
    }

    /// Makes `view` answer queries about `path` and everything below it from
    /// now on. Used for rows that were just read from the live system.
    pub fn add_view(&self, path: &[u8], view: Arc<View>) {
        lock(&self.added).push((path.to_vec(), view));
    }

    /// Finds the entry at `path` (absolute and normalized: see
    /// [`trawl_model::path::normalize`]).
    pub fn locate(&self, path: &[u8]) -> Result<Located> {
        for view in self.views_around(path)? {
            let view = view.knowing(path)?;
            if let Some(located) = locate(&view, path, &mut Scratch::for_lookups())? {
                return Ok(located);
            }
        }
        Ok(Located::NotIndexed {
            nearest: self.nearest_root(path)?,
        })
    }

    /// Returns the snapshot of the source at `root`, if the asking user may know of the source.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn view_of_root(&self, root: &[u8]) -> Result<Option<Arc<View>>> {
        let mut views = self.views_around(root)?.into_iter();
        Ok(views.find(|view| view.root() == root))
    }

    /// Returns the views of sources around `path`: added views first, latest
    /// first, then those of the index, nearest first.
    pub(crate) fn views_around(&self, path: &[u8]) -> Result<Vec<Arc<View>>> {
        let hidden = self.hidden_views(path)?;
        let is_hidden = |at: usize, source: &Source| {
            let mut hidden = hidden.iter();
            hidden.any(|(index, view)| *index == at && view.root() == source.root())
        };
        let mut views = Vec::new();
        for ((source, view), at) in self.sources.iter().zip(&self.views).zip(&self.held_by) {
            if path::is_within(path, source.root())
                && !is_hidden(*at, source)
                && let Some(view) = self.open_view(source, view)?
            {
                views.push(view);
            }
        }
        views.extend(hidden.into_iter().map(|(_, view)| view));
        views.sort_by_key(|view| Reverse((view.root().len(), view.changes_until())));
        let added = lock(&self.added);
        let around = |(top, _): &&(Vec<u8>, Arc<View>)| path::is_within(path, top);
        let added = added.iter().rev().filter(around);
        let added = added.map(|(_, view)| Arc::clone(view));
        Ok(added.chain(views).collect())
    }

    /// Returns the views of sources that are found only by knowing `path`.
    fn hidden_views(&self, path: &[u8]) -> Result<Vec<(usize, Arc<View>)>> {
        let mut views = Vec::new();
        for (at, source) in self.hidden_sources(path)? {
            let key = (at, source.root().to_vec());
            let mut hidden = lock(&self.hidden);
            if let Some(known) = hidden.get(&key) {
                views.push((at, Arc::clone(known)));
            } else if let Some(view) = self.view_of(&source)? {
                hidden.insert(key, Arc::clone(&view));
                views.push((at, view));
            }
        }
        Ok(views)
    }

    /// Returns the unlisted sources around `path`. Asking about a source may
    /// move it behind other guards, so its index is searched again.
    fn hidden_sources(&self, path: &[u8]) -> Result<Vec<(usize, Source)>> {
        let mut behind = self.behind(path)?;
        let Some(promises) = &self.promises else {
            return Ok(behind);
        };
        for (at, dir) in self.dirs.iter().enumerate() {
            let here = behind.iter().filter(|(index, _)| *index == at);
            let asked = here.filter(|(_, source)| promises.ask(source));
            if asked.count() > 0 {
                behind.retain(|(index, _)| *index != at);
                let found = dir.sources_around(path)?.into_iter();
                behind.extend(found.map(|source| (at, source)));
            }
        }
        Ok(behind)
    }

    /// Returns the root that shares most leading components with `path`, among
    /// sources with a snapshot whose root row can be seen.
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
                && has_root(&view, &mut Scratch::for_lookups())?
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
        let view = |mut snapshot: Snapshot| {
            snapshot.is_partial |= asker() != Asker::Known;
            Arc::new(View::new(snapshot, who).seen_as_of(self.as_of))
        };
        Ok(self.open_source(source)?.map(view))
    }

    /// Opens the answering snapshot of a source, with later changes; `None` if
    /// it has no snapshot. The snapshot is at least as new as promised.
    ///
    /// # Errors
    /// [`QueryError::Behind`] if it is older, even after asking again.
    pub fn open_source(&self, source: &Source) -> Result<Option<Snapshot>> {
        let opened = self.as_of.open(source)?;
        let Some(promises) = self.promises.as_ref().filter(|_| !self.as_of.is_past()) else {
            return Ok(opened);
        };
        let keeps = |opened: &Option<Snapshot>| {
            let promise = promises.promised(source);
            promise.is_none_or(|promise| promise.is_kept_by(opened.as_ref()))
        };
        if keeps(&opened) {
            return Ok(opened);
        }
        // The daemon may have started over in the meantime.
        promises.ask_again(source);
        let opened = self.as_of.open(source)?;
        match keeps(&opened) {
            true => Ok(opened),
            false => Err(QueryError::Behind {
                path: source.path().to_owned(),
                root: source.root().to_vec(),
            }),
        }
    }

    /// The snapshot that answers about `start` refer to.
    pub fn as_of<'a>(&self, start: &'a Start) -> &'a SnapshotInfo {
        start.view.info()
    }
}

fn sources_of(held: Vec<HeldSource>) -> Vec<Source> {
    held.into_iter().map(|held| held.source).collect()
}
