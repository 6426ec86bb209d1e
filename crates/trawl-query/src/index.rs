//! An open index: its sources, their current snapshots, and where in them a
//! path lies.
//!
//! What a reader sees is what the kernel lets it open. Shards and sources
//! behind a name barrier are found by those who know a path behind it, and
//! only for a question that starts there.

use crate::as_of::AsOf;
use crate::asker::{Asker, asker};
use crate::error::{QueryError, Result};
use crate::locate::{Located, has_root, locate};
use crate::permission::{Access, Judge};
use crate::promise::Promises;
use crate::segment::Scratch;
use crate::together::{Held, Places, UNKNOWN, merge};
pub(crate) use crate::view::SegmentAt;
pub use crate::view::View;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use trawl_index::{IndexDir, Snapshot, SnapshotInfo, Source};
use trawl_model::guard::Credentials;
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Uid, path};

/// An open index, or several that are asked as one ([`crate::together`]).
#[derive(Debug)]
pub struct Index {
    dirs: Vec<IndexDir>,
    /// Who asks.
    who: Arc<Credentials>,
    /// Of when.
    as_of: AsOf,
    /// Who is asked before a source is read.
    promises: Option<Arc<dyn Promises>>,
    sources: Vec<Source>,
    /// Which of the indexes has each of the sources.
    held_by: Vec<usize>,
    /// Sources that do not answer, since another has the same root.
    others: Vec<Source>,
    views: Vec<OnceLock<Option<Arc<View>>>>,
    /// Views of sources that are found by path alone, by index and root; they come before those of
    /// the same root and index that were listed.
    hidden: Mutex<HashMap<IndexAndRoot, Arc<View>>>,
    /// Views that come before those of the index, each for a path and what is
    /// below it.
    added: Mutex<Vec<(Vec<u8>, Arc<View>)>>,
}

/// Which of the indexes, and the root of one of its sources.
type IndexAndRoot = (usize, Vec<u8>);

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
        Judge::of_reader(&self.view).judge(&row, || self.path.clone()) != Access::None
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
        let places = Places {
            dirs: &[path.to_owned()],
            known: &UNKNOWN,
        };
        Index::open_all(&places, who, as_of)
    }

    /// The same for several indexes, each path of which is answered by the one that covers it
    /// best: by the source that is nearest to it, then by the freshest.
    ///
    /// # Errors
    /// If any of them cannot be opened.
    pub fn open_all(places: &Places<'_>, who: Credentials, as_of: AsOf) -> Result<Index> {
        let opened = places.dirs.iter().map(|path| IndexDir::open(path));
        let dirs = opened.collect::<trawl_index::Result<Vec<IndexDir>>>()?;
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

    /// The same for who asks somebody before a source is read. The sources that can be listed were
    /// asked about before this was opened.
    #[must_use]
    pub fn promised(self, promises: Option<Arc<dyn Promises>>) -> Index {
        Index { promises, ..self }
    }

    /// The sources that can be listed and answer, by root path.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// True if nothing in the index is kept from the asker.
    fn opens_everything(&self) -> bool {
        self.who.uid == Uid::ROOT && asker() != Asker::Foreign
    }

    /// Where the indexes lie.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.dirs.iter().map(IndexDir::path)
    }

    /// Where the index lies that has the source with this root which answers; `None` if there is
    /// none that was found so far.
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

    /// The sources around `path` that only those find who know it, and which index has them.
    fn behind(&self, path: &[u8]) -> Result<Vec<(usize, Source)>> {
        let mut found = Vec::new();
        // Whoever may open everything has listed everything.
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

    /// The views of sources that only those find who know `path`.
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

    /// The sources around `path` that no listing leads to. Who is asked about one may have it lie
    /// elsewhere afterwards, behind other guards: then it is looked for again.
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
        let view = |mut snapshot: Snapshot| {
            snapshot.is_partial |= asker() != Asker::Known;
            Arc::new(View::new(snapshot, who).seen_as_of(self.as_of))
        };
        Ok(self.open_source(source)?.map(view))
    }

    /// The snapshot of a source that answers, with what changed since; `None` if it has none. It is
    /// not older than what was promised of it.
    ///
    /// # Errors
    /// [`QueryError::Behind`] if it is, even after another promise.
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
        // Whoever promised it may have begun anew meanwhile.
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

    /// The snapshot that answers about `start` are true for.
    pub fn as_of<'a>(&self, start: &'a Start) -> &'a SnapshotInfo {
        start.view.info()
    }
}

fn sources_of(held: Vec<Held>) -> Vec<Source> {
    held.into_iter().map(|held| held.source).collect()
}

/// Nothing is left half done by a panic while one of these is locked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
