//! Presents the index as one statement sees it: its sources, the chosen snapshots, and open views
//! of them.
//!
//! Each statement gets a new catalogue. So all its tables use the same snapshots, and a shell sees
//! newly indexed data. Files that the user may not open are not there; this module decides nothing
//! about permissions.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock};

use trawl_cli::sql::{Indexes, shown_index, why_none};
use trawl_find::resolve::is_recorded;
use trawl_format::{Snapshot, SnapshotId, SnapshotInfo, Source};
use trawl_keywords::Contents;
use trawl_model::escape::escape;
use trawl_model::guard::Credentials;
use trawl_model::sync::lock;
use trawl_model::{Issue, Timestamp, path};
use trawl_query::{AsOf, DeniedRequest, Index, Located, Start, View};

use crate::error::{Result, SqlError};

/// The index, for one statement.
#[derive(Debug)]
pub(crate) struct Catalog {
    index: Arc<Index>,
    /// The time that answers are about.
    as_of: AsOf,
    /// One snapshot of each source that has one.
    chosen: OnceLock<Vec<Arc<Edition>>>,
    /// All snapshots of all sources, by source, oldest first.
    all: OnceLock<Vec<Arc<Edition>>>,
    /// Snapshots that were read, and paths that the answer lacks.
    told: Mutex<Remarks>,
    indexes: Indexes,
    contents: OnceLock<Arc<Contents>>,
    /// Directories that the index shows, as far as contents below them were read.
    directories: Mutex<HashSet<Vec<u8>>>,
}

/// Number of directories that are remembered.
const MOST_DIRECTORIES: usize = 1024;

/// Remarks on an answer besides its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remarks {
    /// Snapshots that were read.
    pub(crate) read: Vec<Read>,
    /// Paths that a query asks for and the index does not show, each with the reason.
    pub(crate) unseen: Vec<(Vec<u8>, String)>,
    /// Paths of files whose content decides and is not known, each with the reason.
    pub(crate) unread: Vec<(Vec<u8>, String)>,
}

impl Remarks {
    /// Returns the number of paths that the answer lacks.
    pub(crate) fn lacking(&self) -> u64 {
        (self.unseen.len() + self.unread.len()) as u64
    }
}

/// A snapshot that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) info: SnapshotInfo,
    /// Text that names its index, where several are asked.
    pub(crate) by: String,
}

/// A snapshot that is opened on demand.
#[derive(Debug)]
pub(crate) struct Edition {
    /// When and how it was made.
    pub(crate) info: SnapshotInfo,
    /// Whether it is the source's current snapshot.
    pub(crate) is_current: bool,
    who: Arc<Credentials>,
    view: OnceLock<Arc<View>>,
}

impl Catalog {
    /// Opens the index.
    pub(crate) fn open(indexes: &Indexes, as_of: AsOf) -> Result<Catalog> {
        Ok(Catalog {
            index: Arc::new(indexes.open(as_of)?),
            as_of,
            chosen: OnceLock::new(),
            all: OnceLock::new(),
            told: Mutex::default(),
            indexes: indexes.clone(),
            contents: OnceLock::new(),
            directories: Mutex::default(),
        })
    }

    /// The index, shared.
    pub(crate) fn share_index(&self) -> Arc<Index> {
        Arc::clone(&self.index)
    }

    /// Returns the snapshot that answers for a path by default; `None` if that is not known.
    pub(crate) fn info_of(&self, stored: &[u8]) -> Option<&SnapshotInfo> {
        let editions = self.chosen().ok()?.iter();
        let around = editions.filter(|edition| path::is_within(stored, &edition.info.root));
        let nearest = around.max_by_key(|edition| edition.info.root.len());
        nearest.map(|edition| &edition.info)
    }

    /// Returns whether the index shows the directory of a path.
    fn shows_directory_of(&self, stored: &[u8]) -> Result<bool> {
        let (dir, _) = path::split(stored).unwrap_or_default();
        if lock(&self.directories).contains(dir) {
            return Ok(true);
        }
        let is_shown = match self.index.locate(dir)? {
            Located::Found(start) => start.is_dir && start.path == dir,
            _ => false,
        };
        if is_shown {
            let mut directories = lock(&self.directories);
            if directories.len() >= MOST_DIRECTORIES {
                directories.clear();
            }
            directories.insert(dir.to_vec());
        }
        Ok(is_shown)
    }

    /// Returns what the index knows of the contents of files.
    pub(crate) fn contents(&self) -> &Arc<Contents> {
        self.contents.get_or_init(|| self.indexes.contents())
    }

    /// Returns whether answers are about a time in the past.
    pub(crate) fn is_past(&self) -> bool {
        self.as_of.is_past()
    }

    /// Returns whether a row is about the live file system: it is of the current snapshot of a source
    /// that is no trace, and the question is not about the past. `source` and `snapshot` are the
    /// columns of the row, `stored` is its path. The engine may apply what is true of a row to rows
    /// that are equal to it: a path is only believed if the index shows its directory.
    pub(crate) fn is_of_now(&self, source: &str, snapshot: &str, stored: &[u8]) -> Result<bool> {
        if self.is_past() || !self.shows_directory_of(stored)? {
            return Ok(false);
        }
        let is_its = |info: &SnapshotInfo| {
            info.id.to_string() == snapshot
                && escape(path::display(&info.root)) == source
                && path::is_within(stored, &info.root)
        };
        for edition in self.chosen()? {
            if is_its(&edition.info) {
                let view = self.view(edition)?;
                return Ok(view.is_some_and(|view| !is_recorded(&view)));
            }
        }
        // A source that is known only to users who know a path in it, or an older snapshot.
        Ok(match self.index.locate(stored)? {
            Located::Found(start) => is_its(start.view.info()) && !is_recorded(&start.view),
            _ => false,
        })
    }

    /// The index.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the snapshots that tables use by default: for each source the one for the requested
    /// time.
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
            let now = self.index.open_source(source)?;
            return Ok(now.map(|snapshot| self.opened(snapshot)));
        }
        let current = source.current_id()?;
        let kept = source.snapshots()?;
        let chosen = self.as_of.choose(&kept).cloned();
        Ok(chosen.map(|info| self.unopened(info, current)))
    }

    /// Returns every retained snapshot.
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

    /// Opens a view of a snapshot; `None` if the snapshot has been removed.
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

    /// Looks up `wanted`, which lies within the snapshot's root.
    pub(crate) fn start(&self, view: &Arc<View>, wanted: &[u8]) -> Result<Option<Start>> {
        Ok(match view.locate(wanted)? {
            Located::Found(start) => Some(*start),
            Located::Denied { .. } => {
                self.unseen(wanted, "permission denied".into());
                None
            }
            Located::Hidden { .. } => {
                let why = "the index keeps it for those who may list a directory above it: \
                           ask trawl find";
                self.unseen(wanted, why.into());
                None
            }
            _ => None,
        })
    }

    /// Notes that a directory's names are not visible, if so: this user may not list it, or it
    /// could not be listed when it was indexed.
    pub(crate) fn note_unlisted(&self, start: &Start) -> Result<()> {
        let request = DeniedRequest {
            max_depth: Some(1),
            ..DeniedRequest::default()
        };
        let mut is_closed = false;
        self.index.denied(start, &request, |closed| {
            is_closed |= closed == start.path;
            ControlFlow::Break(())
        })?;
        if is_closed {
            self.unseen(&start.path, "permission denied".into());
            return Ok(());
        }
        let issues = self.index.recorded_issues(start, Some(1))?;
        let is_own = |issue: &&Issue| issue.op.hides_entries() && issue.path == start.path;
        if let Some(issue) = issues.iter().find(is_own) {
            let why = format!(
                "it was not read when it was indexed ({})",
                issue.op.as_str()
            );
            self.unseen(&start.path, why);
        }
        Ok(())
    }

    /// Returns sources without a snapshot for the requested time that do not lie in a source with
    /// one, each with the reason.
    pub(crate) fn lacking(&self) -> Result<Vec<(Vec<u8>, String)>> {
        let chosen = self.chosen()?;
        let mut lacking = Vec::new();
        for source in self.index.sources() {
            let root = source.root();
            if !chosen
                .iter()
                .any(|one| path::is_within(root, &one.info.root))
            {
                lacking.push((root.to_vec(), why_none(self.as_of, &source.snapshots()?)));
            }
        }
        Ok(lacking)
    }

    /// Checks that at least one source can answer.
    ///
    /// # Errors
    /// If there are sources but none has a snapshot for the requested time.
    pub(crate) fn check_any(&self) -> Result<()> {
        if self.chosen()?.is_empty()
            && let Some((root, why)) = self.lacking()?.into_iter().next()
        {
            let path = path::display(&root).to_vec();
            return Err(SqlError::NoSnapshot { path, why });
        }
        Ok(())
    }

    /// Notes that a path is in no source, if so.
    pub(crate) fn note_unindexed(&self, wanted: &[u8]) -> Result<()> {
        if let Located::NotIndexed { .. } = self.index.locate(wanted)? {
            self.unseen(wanted, "it is not indexed; trawl index indexes it".into());
        }
        Ok(())
    }

    /// Makes an edition for a source without a snapshot, against which predicates about sources can
    /// be evaluated.
    pub(crate) fn stand_in(&self, root: &[u8]) -> Edition {
        let start = Timestamp::default();
        let info = SnapshotInfo {
            format: 0,
            id: SnapshotId(0),
            revision: None,
            root: root.to_vec(),
            started: start,
            finished: start,
            version: String::new(),
            options: BTreeMap::new(),
        };
        self.unopened(info, None)
    }

    /// Looks up `wanted` in a source that is not listed, because it is known only to users who know
    /// a path in it.
    pub(crate) fn hidden_start(&self, wanted: &[u8]) -> Result<Option<Start>> {
        let Located::Found(start) = self.index.locate(wanted)? else {
            return Ok(None);
        };
        let root = start.view.root();
        let is_listed = self.index.sources().iter().any(|one| one.root() == root);
        Ok((!is_listed).then_some(*start))
    }

    /// Notes a requested path that is not visible.
    pub(crate) fn unseen(&self, wanted: &[u8], why: String) {
        let mut told = lock(&self.told);
        told.unseen.push((path::display(wanted).to_vec(), why));
    }

    /// Notes a file whose content decides and is not known.
    pub(crate) fn unread(&self, stored: &[u8], why: String) {
        lock(&self.told).unread.push((stored.to_vec(), why));
    }

    /// Notes that a snapshot is part of an answer.
    pub(crate) fn note(&self, info: &SnapshotInfo) {
        let mut told = lock(&self.told);
        let by = shown_index(&self.index, &info.root);
        let info = info.clone();
        let read = Read { info, by };
        if !told.read.contains(&read) {
            told.read.push(read);
        }
    }

    /// Takes the remarks collected so far.
    pub(crate) fn told(&self) -> Remarks {
        let mut told = lock(&self.told);
        let mut taken = std::mem::take(&mut *told);
        for paths in [&mut taken.unseen, &mut taken.unread] {
            paths.sort();
            paths.dedup();
        }
        taken
    }
}
