//! Answers from an index: makes the records that a walk of the file system would give from rows.
//!
//! Facts that rows do not have are looked up in the file system, entry by entry, as the asking
//! user: whether a match may be read, written or executed, and where a link leads. A live walk, in
//! its place in the order, covers the directories for which the index has nothing for this user or
//! nothing that is as of now: directories that the user may not both list and search, other file
//! systems below the root, and the index's own directory.
//!
//! Invariants: the records and their order are those of the live walk. Where the index cannot give
//! them (links are followed, a part was not read or was left out when the index was made, something
//! was mounted since, the index is a recording), the executor fails with the reason and answers
//! nothing.
//!
//! The executor does not know how fresh the index is; its caller does.

mod chain;
mod files;
mod merge;
mod read;

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::rows::Row;
use trawl_model::{FileType, path};
use trawl_query::{DeniedRequest, Index, Listing, Located, Request as Walk, Start, View};
use trawl_sys::mount_table;

use crate::error::CallError;
use crate::executor::{Executor, Stream};
use crate::live::LiveWalk;
use crate::options::{Links, Metadata, Mounts};
use crate::request::{Request, Root};

pub(crate) use chain::{Chain, has_match};
pub use files::{FileRow, Files};

/// Answers from an index.
#[derive(Clone, Debug)]
pub struct IndexRead {
    index: Arc<Index>,
    /// Canonical paths of the directories in which the indexes lie.
    places: Arc<[Vec<u8>]>,
}

/// The part of a search, about one root, that the index can answer.
pub(crate) struct Prepared {
    pub(crate) index: Arc<Index>,
    pub(crate) start: Start,
    /// The request about this root alone.
    pub(crate) request: Request,
    /// Directories below the root that a live walk covers, in path order, none within another.
    pub(crate) live: Vec<Vec<u8>>,
}

impl Executor for IndexRead {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        let mut ways = Vec::with_capacity(request.roots().len());
        for at in 0..request.roots().len() {
            ways.push(match canonical(&request.roots()[at]) {
                Ok(place) => Some(self.prepare(&request, at, &place)?),
                Err(_) => None,
            });
        }
        let choose = move |at: usize, request| match ways.get_mut(at).and_then(Option::take) {
            Some(prepared) => read::begin(prepared),
            // The root does not exist: a live walk reports the error.
            None => LiveWalk::default().begin(request),
        };
        Ok(Box::new(Chain::new(request, choose)))
    }
}

impl IndexRead {
    /// Creates an executor over the index that lies in this directory; it is read as the user whose
    /// credentials it was opened with.
    pub fn new(index: Arc<Index>, place: &Path) -> IndexRead {
        IndexRead::of_all(index, &[place.to_owned()])
    }

    /// Like [`IndexRead::new`], for several indexes that were opened as one.
    pub fn of_all(index: Arc<Index>, places: &[PathBuf]) -> IndexRead {
        let canonical = |place: &PathBuf| canonical_path(place.as_os_str().as_bytes()).ok();
        let places = places.iter().filter_map(canonical).collect();
        IndexRead { index, places }
    }

    /// Prepares the answer about one root, which lies at this canonical place.
    ///
    /// # Errors
    /// [`CallError::NotServed`] if the index cannot answer as the file system would.
    pub(crate) fn prepare(
        &self,
        request: &Request,
        at: usize,
        place: &[u8],
    ) -> Result<Prepared, CallError> {
        let request = request.only(at);
        let root = &request.roots()[0];
        let no = |why: &str| CallError::not_served(root.path(), why);
        if request.options().links == Links::Follow {
            return Err(no("only a live search follows links"));
        }
        if root.confined().is_some() {
            return Err(no("only a live search can be confined to a tree"));
        }
        if !root.skip().is_empty() {
            return Err(no("only a live search can leave out parts of it"));
        }
        let start = match self.index.locate(place)? {
            Located::Found(start) if start.is_dir => *start,
            Located::Found(_) => return Err(no("it is not a directory")),
            Located::NotIndexed { .. } => return Err(no("it is not indexed; run trawl index")),
            _ => return Err(no("the index does not show it to this user")),
        };
        check_options(&start, root)?;
        self.check_read(&start, root)?;
        let live = self.live_parts(&start, &request)?;
        Ok(Prepared {
            index: Arc::clone(&self.index),
            start,
            request,
            live,
        })
    }

    /// Fails if a relevant directory could not be read when the index was made.
    fn check_read(&self, start: &Start, root: &Root) -> Result<(), CallError> {
        let levels = root.pattern().levels(root.pattern().start());
        let issues = self.index.recorded_issues(start, levels)?;
        let hidden = issues.iter().filter(|issue| issue.op.hides_entries());
        let mut hidden = hidden.filter_map(|issue| relative(&issue.path, &start.path));
        match hidden.any(|path| root.pattern().below(path).is_some()) {
            false => Ok(()),
            true => {
                let why = "a part of it could not be read when it was indexed";
                Err(CallError::not_served(root.path(), why))
            }
        }
    }

    /// Returns the relevant directories that a live walk covers: those that this user may not both
    /// list and search; those on other file systems, which the index does not contain; and the
    /// index itself, whose changes no daemon follows.
    fn live_parts(&self, start: &Start, request: &Request) -> Result<Vec<Vec<u8>>, CallError> {
        let root = &request.roots()[0];
        let mut live = self.closed(start, request)?;
        let own = self.places.iter();
        live.extend(own.filter_map(|place| Some(relative(place, &start.path)?.to_vec())));
        live.retain(|path| !root.pattern().state_at(path).is_none());
        if live.iter().any(Vec::is_empty) {
            let why = "this user may not list it, or it is the index itself";
            return Err(CallError::not_served(root.path(), why));
        }
        let elsewhere = self.elsewhere(start, request)?;
        check_mounts(start, request, &elsewhere)?;
        match request.options().mounts {
            Mounts::Cross => live.extend(elsewhere),
            Mounts::Stay => {
                let is_there = |path: &Vec<u8>| elsewhere.iter().any(|e| path::is_within(path, e));
                live.retain(|path| !is_there(path));
            }
        }
        live.sort_by(|a, b| path::cmp(a, b));
        live.dedup_by(|later, earlier| path::is_within(later, earlier));
        Ok(live)
    }

    /// Returns the directories that this user may not both list and search.
    fn closed(&self, start: &Start, request: &Request) -> Result<Vec<Vec<u8>>, CallError> {
        let pattern = request.roots()[0].pattern();
        let denied = DeniedRequest {
            max_depth: pattern.levels(pattern.start()),
            cancel: Some(request.cancel().flag()),
            ..DeniedRequest::default()
        };
        let mut closed = Vec::new();
        self.index.denied(start, &denied, |path| {
            closed.extend(relative(path, &start.path).map(<[u8]>::to_vec));
            ControlFlow::Continue(())
        })?;
        Ok(closed)
    }

    /// Returns the relevant directories that were on another file system than the start when the
    /// index was made.
    fn elsewhere(&self, start: &Start, request: &Request) -> Result<Vec<Vec<u8>>, CallError> {
        let pattern = request.roots()[0].pattern();
        let home = i128::from(start.own_row().dev().as_u64());
        let mut found = Vec::new();
        for (low, high) in [(0, home - 1), (home + 1, i128::from(u64::MAX))] {
            let column = Column::Dev;
            let mut filter = Filter::default();
            filter.add(Clause { column, low, high });
            let walk = Walk {
                columns: ColumnSet::of(&[Column::Name, Column::Mode]),
                filter,
                max_depth: pattern.levels(pattern.start()),
                cancel: Some(request.cancel().flag()),
                ..Walk::default()
            };
            let work = |listing: &Listing<'_>, out: &mut Vec<Vec<u8>>| {
                let (batch, dir) = (listing.batch, listing.dir.path);
                let rows = listing.range.clone().map(|at| Row { batch, at, dir });
                let dirs = rows.filter(|row| row.file_type() == FileType::Directory);
                out.extend(dirs.map(|row| row.path()));
            };
            self.index.walk(start, &walk, work, |paths| {
                let paths = paths.iter().filter_map(|path| relative(path, &start.path));
                let paths = paths.filter(|path| pattern.below(path).is_some());
                found.extend(paths.map(<[u8]>::to_vec));
                ControlFlow::Continue(())
            })?;
        }
        Ok(found)
    }
}

impl Prepared {
    /// Returns the root of the source that contains it.
    pub(crate) fn source(&self) -> &[u8] {
        self.start.view.root()
    }

    /// Begins the answer.
    pub(crate) fn begin(self) -> Result<Box<dyn Stream>, CallError> {
        read::begin(self)
    }
}

/// Returns why an index does not contain all that a walk would find, or not as the walk would find
/// it; `None` if it does.
pub fn why_other(view: &View) -> Option<&'static str> {
    const REASONS: [(&str, &str); 4] = [
        ("from-trace", "the index has a recording of it"),
        ("exclude", "the index leaves parts of it out"),
        ("id-map", "the index maps its owners to other ids"),
        (
            "cross-file-systems",
            "the index combines several file systems",
        ),
    ];
    let options = &view.info().options;
    let mut reasons = REASONS
        .iter()
        .filter(|(name, _)| options.contains_key(*name));
    let reason = reasons.next().map(|(_, why)| *why);
    let is_past = view
        .is_past()
        .then_some("the index is asked about the past");
    reason.or(is_past)
}

fn check_options(start: &Start, root: &Root) -> Result<(), CallError> {
    match why_other(&start.view) {
        None => Ok(()),
        Some(why) => Err(CallError::not_served(root.path(), why)),
    }
}

/// Fails if something is mounted where matches may lie and the index does not know it, or if
/// attributes of a mount point are wanted, which the index has only as of its making.
fn check_mounts(start: &Start, request: &Request, elsewhere: &[Vec<u8>]) -> Result<(), CallError> {
    let root = &request.roots()[0];
    let not_served = |why: String| Err(CallError::not_served(root.path(), why));
    let mounts = match mount_table::read() {
        Ok(mounts) => mounts,
        Err(error) => return not_served(format!("cannot read the mount table: {error}")),
    };
    for point in mounts.iter().map(|mount| &mount.point) {
        if let Some(below) = relative(point, &start.path)
            && !below.is_empty()
            && root.pattern().below(below).is_some()
            && !elsewhere.iter().any(|known| path::is_within(below, known))
        {
            let point = path::display(point);
            let point = trawl_model::mapped::spelled(point)
                .escape_ascii()
                .to_string();
            return not_served(format!("{point} was mounted below it since it was indexed"));
        }
    }
    let wants_attributes = request.options().metadata != Metadata::Omit;
    match elsewhere.iter().find(|path| root.pattern().matches(path)) {
        Some(path) if wants_attributes => {
            let path = path.escape_ascii();
            not_served(format!("{path} below it is on another file system"))
        }
        _ => Ok(()),
    }
}

/// Returns the path relative to `top` of a path at or below it.
pub(crate) fn relative<'p>(path: &'p [u8], top: &[u8]) -> Option<&'p [u8]> {
    match path.strip_prefix(top)? {
        b"" => Some(b""),
        rest => rest.strip_prefix(b"/"),
    }
}

/// Returns a root's canonical path, in the form that the index uses.
pub(crate) fn canonical(root: &Root) -> std::io::Result<Vec<u8>> {
    canonical_path(root.path())
}

fn canonical_path(path: &[u8]) -> std::io::Result<Vec<u8>> {
    let path = std::fs::canonicalize(Path::new(OsStr::from_bytes(path)))?;
    let path = path.into_os_string().into_vec();
    path::normalize(&path).ok_or_else(|| std::io::ErrorKind::InvalidInput.into())
}
