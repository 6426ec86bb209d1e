//! The index as one statement sees it: which sources there are, which
//! snapshots of them are asked, and open views of these.
//!
//! A catalogue is made anew for each statement, so that all tables of a
//! statement are of the same snapshots and a shell sees what was indexed
//! meanwhile. What may not be opened is not there; nothing here decides that.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use trawl_index::{Snapshot, SnapshotId, SnapshotInfo, Source};
use trawl_model::guard::Credentials;
use trawl_model::path;
use trawl_query::{AsOf, Index, Located, Start, View};

use crate::error::Result;

/// The index, for one statement.
#[derive(Debug)]
pub(crate) struct Catalog {
    index: Index,
    /// Of when answers are.
    as_of: AsOf,
    /// One snapshot of each source that has one.
    chosen: OnceLock<Vec<Arc<Edition>>>,
    /// All snapshots of all sources, by source, oldest first.
    all: OnceLock<Vec<Arc<Edition>>>,
    /// Which were read, and from where an answer could not be had.
    told: Mutex<Told>,
}

/// What is said of an answer besides its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// Snapshots that were read.
    pub(crate) read: Vec<SnapshotInfo>,
    /// Paths that a query names and the index does not show, and why.
    pub(crate) unseen: Vec<(Vec<u8>, &'static str)>,
}

/// A snapshot that is opened when it is needed.
#[derive(Debug)]
pub(crate) struct Edition {
    /// When and how it was made.
    pub(crate) info: SnapshotInfo,
    /// True if it is the source's current one.
    pub(crate) is_current: bool,
    who: Arc<Credentials>,
    view: OnceLock<Arc<View>>,
}

impl Catalog {
    /// Opens the index.
    pub(crate) fn open(path: &Path, who: &Credentials, as_of: AsOf) -> Result<Catalog> {
        Ok(Catalog {
            index: Index::open_as_of(path, who.clone(), as_of)?,
            as_of,
            chosen: OnceLock::new(),
            all: OnceLock::new(),
            told: Mutex::default(),
        })
    }

    /// The index itself.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The snapshots that are asked unless a table says otherwise: of each
    /// source the one of the time that is asked about.
    pub(crate) fn chosen(&self) -> Result<&[Arc<Edition>]> {
        if let Some(known) = self.chosen.get() {
            return Ok(known);
        }
        let mut chosen = Vec::new();
        for source in self.index.sources() {
            chosen.extend(self.choose(source)?.map(Arc::new));
        }
        Ok(self.chosen.get_or_init(|| chosen))
    }

    fn choose(&self, source: &Source) -> Result<Option<Edition>> {
        if !self.as_of.is_past() {
            let now = source.now()?;
            return Ok(now.map(|snapshot| self.opened(snapshot)));
        }
        let current = source.current_id()?;
        let kept = source.snapshots()?;
        let chosen = self.as_of.choose(&kept).cloned();
        Ok(chosen.map(|info| self.unopened(info, current)))
    }

    /// Every snapshot that is kept.
    pub(crate) fn all(&self) -> Result<&[Arc<Edition>]> {
        if let Some(known) = self.all.get() {
            return Ok(known);
        }
        let mut all = Vec::new();
        for source in self.index.sources() {
            let current = source.current_id()?;
            for info in source.snapshots()? {
                all.push(Arc::new(self.unopened(info, current)));
            }
        }
        Ok(self.all.get_or_init(|| all))
    }

    fn opened(&self, snapshot: Snapshot) -> Edition {
        let who = Arc::clone(self.index.who());
        let info = snapshot.info.clone();
        let view = Arc::new(View::new(snapshot, Arc::clone(&who)));
        Edition {
            info,
            is_current: true,
            who,
            view: OnceLock::from(view),
        }
    }

    fn unopened(&self, info: SnapshotInfo, current: Option<SnapshotId>) -> Edition {
        Edition {
            is_current: current == Some(info.id),
            info,
            who: Arc::clone(self.index.who()),
            view: OnceLock::new(),
        }
    }

    /// An open view of a snapshot; `None` if it was removed meanwhile.
    pub(crate) fn view(&self, edition: &Edition) -> Result<Option<Arc<View>>> {
        if let Some(known) = edition.view.get() {
            return Ok(Some(Arc::clone(known)));
        }
        let of_it = |source: &&Source| source.root() == edition.info.root;
        let Some(source) = self.index.sources().iter().find(of_it) else {
            return Ok(None);
        };
        let snapshot = match source.snapshot(edition.info.id) {
            Ok(snapshot) => snapshot,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let view = Arc::new(View::new(snapshot, Arc::clone(&edition.who)));
        Ok(Some(Arc::clone(edition.view.get_or_init(|| view))))
    }

    /// What a snapshot has at `wanted`, which lies within its root.
    pub(crate) fn start(&self, view: &Arc<View>, wanted: &[u8]) -> Result<Option<Start>> {
        Ok(match view.locate(wanted)? {
            Located::Found(start) => Some(*start),
            Located::Denied { .. } => self.unseen(wanted, "permission denied"),
            Located::Hidden { .. } => self.unseen(
                wanted,
                "the index keeps it for those who may list a directory above it: ask trawl find",
            ),
            _ => None,
        })
    }

    /// What lies at `wanted` in a source that is known only to those who
    /// know a path in it.
    pub(crate) fn hidden_start(&self, wanted: &[u8]) -> Result<Option<Start>> {
        let Located::Found(start) = self.index.locate(wanted)? else {
            return Ok(None);
        };
        let root = start.view.root();
        let is_listed = self.index.sources().iter().any(|one| one.root() == root);
        Ok((!is_listed).then_some(*start))
    }

    fn unseen(&self, wanted: &[u8], why: &'static str) -> Option<Start> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.unseen.push((path::display(wanted).to_vec(), why));
        None
    }

    /// Notes that a snapshot is part of an answer.
    pub(crate) fn note(&self, info: &SnapshotInfo) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.read.contains(info) {
            told.read.push(info.clone());
        }
    }

    /// What is to be said of the answers so far.
    pub(crate) fn told(&self) -> Told {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = std::mem::take(&mut *told);
        taken.unseen.sort();
        taken.unseen.dedup();
        taken
    }
}
