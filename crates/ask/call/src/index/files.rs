//! The regular files below a directory, from rows alone: no record is made, and nothing is looked
//! up in the file system.
//!
//! The files are those that a live walk would meet, mount points entered and links not followed,
//! except those below directories that only a live walk can list. The caller walks these.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::path;
use trawl_model::relative_path::join;
use trawl_model::rows::Row;
use trawl_query::{Listing, QueryError, Request as Walk, Start};

use super::{IndexRead, canonical_path, relative};
use crate::auto::IsFresh;
use crate::error::CallError;
use crate::options::Options;
use crate::pattern::{Language, Mode, Pattern, Period};
use crate::request::{Cancel, Request};

/// Maximum number of bytes of all selected paths.
const PATHS_MAX_BYTES: usize = 256 << 20;
/// Modes of regular files.
const REGULAR: (i128, i128) = (0o100_000, 0o107_777);

/// Paths of files, and what was said about each.
type Selected<M> = Vec<(Vec<u8>, M)>;

/// What a selection looks at.
pub struct FileRow<'r> {
    row: Row<'r>,
    /// Path of the file's directory below the top.
    pub below: &'r [u8],
}

impl<'r> FileRow<'r> {
    /// Returns the row, which has the columns of an identity: device, inode, size, and the times of
    /// modification and change.
    pub fn row(&self) -> &Row<'r> {
        &self.row
    }
}

/// What was found below a directory; paths are relative to it.
#[derive(Debug, Default)]
pub struct Files<M> {
    /// The selected files, in path order, and what was said about each.
    pub files: Vec<(Vec<u8>, M)>,
    /// Directories that only a live walk can list, in path order, none within another.
    pub live: Vec<Vec<u8>>,
}

impl IndexRead {
    /// Returns the regular files below `top` that `selects` says something about, if the index has all that a
    /// live walk would find, or says where it has not. `is_fresh` says which sources may be used.
    ///
    /// # Errors
    /// [`CallError::NotServed`] if the index cannot answer, or if the paths take too much memory.
    pub fn files<M: Send>(
        &self,
        top: &[u8],
        (is_fresh, cancel): (&IsFresh, &Cancel),
        selects: impl Fn(&FileRow<'_>) -> Option<M> + Sync,
    ) -> Result<Files<M>, CallError> {
        let language = Language {
            mode: Mode::Fnmatch,
            period: Period::Ordinary,
        };
        let everything = Pattern::new(b"*", language)?;
        let request = Request::new(&everything, &[top], Options::default())?;
        let request = request.cancelled_by(cancel.clone());
        let no = |why: &str| CallError::not_served(top, why);
        let place = canonical_path(top).map_err(|error| no(&error.to_string()))?;
        let prepared = self.prepare(&request, 0, &place)?;
        if !is_fresh(prepared.source()) {
            return Err(no("the index may be out of date"));
        }
        let looked = std::fs::metadata(Path::new(OsStr::from_bytes(path::display(&place))));
        if !looked.is_ok_and(|looked| is_of(&looked, &prepared.start)) {
            return Err(no("another directory is there than in the index"));
        }
        let skip = prepared.live.iter();
        let skip = skip.map(|dir| path::append(&prepared.start.path, dir));
        let walk = Walk {
            columns: columns(),
            filter: regular(),
            skip: skip.collect(),
            cancel: Some(cancel.flag()),
            ..Walk::default()
        };
        let files = read(&prepared.start, &walk, selects)?;
        let mut files = files.ok_or_else(|| no("too many files are selected"))?;
        files.sort_unstable_by(|(a, _), (b, _)| path::cmp(a, b));
        let live = prepared.live;
        Ok(Files { files, live })
    }
}

/// Reads the rows; returns `None` if the paths take too much memory.
fn read<M: Send>(
    start: &Start,
    walk: &Walk<'_>,
    selects: impl Fn(&FileRow<'_>) -> Option<M> + Sync,
) -> Result<Option<Selected<M>>, CallError> {
    let (mut files, mut bytes) = (Vec::new(), 0);
    let work = |listing: &Listing<'_>, out: &mut Selected<M>| {
        let (batch, dir) = (listing.batch, listing.dir.path);
        let Some(below) = relative(dir, &start.path) else {
            return;
        };
        for at in listing.range.clone() {
            let row = Row { batch, at, dir };
            let file = FileRow { row, below };
            if let Some(said) = selects(&file) {
                out.push((join(below, file.row.name()), said));
            }
        }
    };
    let walked = start.walk(walk, work, |more| {
        bytes += more.iter().map(|(name, _)| name.len()).sum::<usize>();
        files.extend(more);
        match bytes > PATHS_MAX_BYTES {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    match walked {
        Err(QueryError::Cancelled) => Err(CallError::Cancelled),
        walked => Ok(walked.map(|()| (bytes <= PATHS_MAX_BYTES).then_some(files))?),
    }
}

/// Returns whether the directory that was looked at is the one that the index has.
fn is_of(looked: &Metadata, start: &Start) -> bool {
    let row = start.own_row();
    looked.is_dir() && looked.dev() == row.dev().as_u64() && looked.ino() == row.ino()
}

fn columns() -> ColumnSet {
    ColumnSet::of(&[
        Column::Name,
        Column::Dev,
        Column::Ino,
        Column::Size,
        Column::Mtime,
        Column::MtimeNs,
        Column::Ctime,
        Column::CtimeNs,
    ])
}

fn regular() -> Filter {
    let mut filter = Filter::default();
    filter.add(Clause {
        column: Column::Mode,
        low: REGULAR.0,
        high: REGULAR.1,
    });
    filter
}
