//! Answers from an index: the records that a walk of the file system would give, from rows.
//!
//! What rows cannot say is asked of the file system, entry by entry, as the asking user: whether
//! a match may be read, written or executed, and what a link leads to. Where the index has nothing
//! for this user, or nothing that is kept as of now, a live walk goes on, in its place in the
//! order: directories that the user may not both list and search, other file systems below, the
//! index's own directory.
//!
//! Invariants: the records and their order are those of the live walk. Where that cannot be had
//! (links are followed, a part was not read or left out when the index was made, something was
//! mounted since, the index is a recording) the executor says so and answers nothing.
//!
//! Does not know how fresh an index is: who asks does.

mod chain;
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

/// Answers from an index.
#[derive(Clone, Debug)]
pub struct IndexRead {
    index: Arc<Index>,
    /// Where it lies, as it has paths; several, if it is several.
    places: Arc<[Vec<u8>]>,
}

/// One root's part of a search that the index can answer.
pub(crate) struct Prepared {
    pub(crate) index: Arc<Index>,
    pub(crate) start: Start,
    /// About this root alone.
    pub(crate) request: Request,
    /// Directories below the root that a live walk goes into, in path order, none within another.
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
            // It is not there: a walk says so.
            None => LiveWalk::default().begin(request),
        };
        Ok(Box::new(Chain::new(request, choose)))
    }
}

impl IndexRead {
    /// Answers from this index, which lies in this directory and is read as the user whose
    /// credentials it was opened with.
    pub fn new(index: Arc<Index>, place: &Path) -> IndexRead {
        IndexRead::of_all(index, &[place.to_owned()])
    }

    /// The same for several that were opened to be asked as one.
    pub fn of_all(index: Arc<Index>, places: &[PathBuf]) -> IndexRead {
        let canonical = |place: &PathBuf| canonical_path(place.as_os_str().as_bytes()).ok();
        let places = places.iter().filter_map(canonical).collect();
        IndexRead { index, places }
    }

    /// What is needed to answer about one root, which lies at this place.
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
            return Err(no("links are followed, which only a live search does"));
        }
        if root.confined().is_some() {
            return Err(no("it is not to be left, which only a live search sees to"));
        }
        if !root.skip().is_empty() {
            return Err(no(
                "parts of it are left out, which only a live search does",
            ));
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

    /// An error if something that matters was not read when the index was made.
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

    /// Directories that matter and that a live walk goes into: those that this user may not both
    /// list and search, those on other file systems, which the index was not made of, and the
    /// index itself, whose changes no daemon looks at.
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

    /// Directories that this user may not both list and search.
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

    /// Directories that were on other file systems than the start when the index was made, and
    /// that matter.
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
    /// The source that has it.
    pub(crate) fn source(&self) -> &[u8] {
        self.start.view.root()
    }

    /// Begins to answer.
    pub(crate) fn begin(self) -> Result<Box<dyn Stream>, CallError> {
        read::begin(self)
    }
}

/// Why an index is not of all that a walk would find, or not as it would find it; `None` if it is.
pub fn why_other(view: &View) -> Option<&'static str> {
    const REASONS: [(&str, &str); 4] = [
        ("from-trace", "the index has a recording of it"),
        ("exclude", "the index leaves parts of it out"),
        ("id-map", "the index has other owners for it"),
        (
            "cross-file-systems",
            "the index has several file systems together",
        ),
    ];
    let options = &view.info().options;
    let mut reasons = REASONS
        .iter()
        .filter(|(name, _)| options.contains_key(*name));
    let reason = reasons.next().map(|(_, why)| *why);
    let is_past = view.is_past().then_some("the index is asked of the past");
    reason.or(is_past)
}

fn check_options(start: &Start, root: &Root) -> Result<(), CallError> {
    match why_other(&start.view) {
        None => Ok(()),
        Some(why) => Err(CallError::not_served(root.path(), why)),
    }
}

/// An error if something is mounted where matches may lie and the index does not know of it, or
/// knows what a mount point itself was when it was made, and no more.
fn check_mounts(start: &Start, request: &Request, elsewhere: &[Vec<u8>]) -> Result<(), CallError> {
    let root = &request.roots()[0];
    let not_served = |why: String| Err(CallError::not_served(root.path(), why));
    let mounts = match mount_table::read() {
        Ok(mounts) => mounts,
        Err(error) => return not_served(format!("cannot read what is mounted: {error}")),
    };
    for point in mounts.iter().map(|mount| &mount.point) {
        if let Some(below) = relative(point, &start.path)
            && !below.is_empty()
            && root.pattern().below(below).is_some()
            && !elsewhere.iter().any(|known| path::is_within(below, known))
        {
            let point = point.escape_ascii();
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

/// The path of what is at or below `top` from there.
pub(crate) fn relative<'p>(path: &'p [u8], top: &[u8]) -> Option<&'p [u8]> {
    match path.strip_prefix(top)? {
        b"" => Some(b""),
        rest => rest.strip_prefix(b"/"),
    }
}

/// Where a root lies, as the index has paths.
pub(crate) fn canonical(root: &Root) -> std::io::Result<Vec<u8>> {
    canonical_path(root.path())
}

fn canonical_path(path: &[u8]) -> std::io::Result<Vec<u8>> {
    let path = std::fs::canonicalize(Path::new(OsStr::from_bytes(path)))?;
    let path = path.into_os_string().into_vec();
    path::normalize(&path).ok_or_else(|| std::io::ErrorKind::InvalidInput.into())
}
