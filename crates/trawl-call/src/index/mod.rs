//! Answers from an index: the records that a walk of the file system would give, from rows.
//!
//! What rows cannot say is asked of the file system, entry by entry, as the asking user: whether
//! a match may be read, written or executed, and what a link leads to. Directories that the user
//! may not both list and search are in the index for others; there a live walk goes on.
//!
//! Invariants: the records and their order are those of the live walk. Where that cannot be had
//! (links are followed, a part was not read when the index was made, something is mounted where
//! matches may lie, the index is a recording) the executor says so and answers nothing.
//!
//! Does not know how fresh an index is: who asks does.

mod chain;
mod merge;
mod read;

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use trawl_model::path;
use trawl_query::{DeniedRequest, Index, Located, Start};

use crate::error::CallError;
use crate::executor::{Executor, Stream};
use crate::live::LiveWalk;
use crate::mount_points::mount_points;
use crate::options::Links;
use crate::request::{Request, Root};

pub(crate) use chain::Chain;

/// Answers from an index.
#[derive(Clone, Debug)]
pub struct IndexRead {
    index: Arc<Index>,
}

/// One root's part of a search that the index can answer.
pub(crate) struct Prepared {
    pub(crate) index: Arc<Index>,
    pub(crate) start: Start,
    /// About this root alone.
    pub(crate) request: Request,
    /// Directories below the root that this user may not both list and search, in path order.
    pub(crate) closed: Vec<Vec<u8>>,
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
    /// Answers from this index, which is read as the user whose credentials it was opened with.
    pub fn new(index: Arc<Index>) -> IndexRead {
        IndexRead { index }
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
        let info = start.view.info();
        if start.view.is_past() || info.options.contains_key("from-trace") {
            return Err(no("the index has a recording of it"));
        }
        self.check_read(&start, root)?;
        check_mounts(&start, root)?;
        let closed = self.closed(&start, &request)?;
        Ok(Prepared {
            index: Arc::clone(&self.index),
            start,
            request,
            closed,
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

    /// Directories that matter and that this user may not both list and search, in path order.
    fn closed(&self, start: &Start, request: &Request) -> Result<Vec<Vec<u8>>, CallError> {
        let root = &request.roots()[0];
        let pattern = root.pattern();
        let denied = DeniedRequest {
            max_depth: pattern.levels(pattern.start()),
            skip: Vec::new(),
            cancel: Some(request.cancel().flag()),
        };
        let mut closed = Vec::new();
        self.index.denied(start, &denied, |path| {
            if let Some(path) = relative(path, &start.path)
                && !pattern.state_at(path).is_none()
            {
                closed.push(path.to_vec());
            }
            std::ops::ControlFlow::Continue(())
        })?;
        if closed.iter().any(Vec::is_empty) {
            let why = "this user may not list it";
            return Err(CallError::not_served(root.path(), why));
        }
        closed.sort_by(|a, b| path::cmp(a, b));
        Ok(closed)
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

/// An error if something is mounted where matches may lie: the index may be of what is below.
fn check_mounts(start: &Start, root: &Root) -> Result<(), CallError> {
    let not_served = |why: String| Err(CallError::not_served(root.path(), why));
    let points = match mount_points() {
        Ok(points) => points,
        Err(error) => return not_served(format!("cannot read what is mounted: {error}")),
    };
    for point in &points {
        if let Some(below) = relative(point, &start.path)
            && !below.is_empty()
            && root.pattern().below(below).is_some()
        {
            let point = point.escape_ascii();
            return not_served(format!("{point} is mounted below it"));
        }
    }
    Ok(())
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
    let path = std::fs::canonicalize(Path::new(OsStr::from_bytes(root.path())))?;
    let path = path.into_os_string().into_vec();
    path::normalize(&path).ok_or_else(|| std::io::ErrorKind::InvalidInput.into())
}
