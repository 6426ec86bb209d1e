//! Files that may be duplicates, and with verification those that are.

mod candidates;
mod verify;

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use trawl_model::column::{Column, ColumnSet};
use trawl_query::{Alike, DuplicateRequest, Entry, Start};
use trawl_session::spelling::printed_path;
use trawl_session::{Depth, Follow, Part, Session};

use self::verify::{Verified, Verifier};
use crate::error::AnswerError;

/// Whether the files' content is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Files are candidates: nothing is read.
    No,
    /// Files are read, and only those with the same content now are duplicates.
    Content,
}

/// Options of [`duplicates`].
#[derive(Clone, Copy, Debug)]
pub struct DuplicatesOptions {
    /// The attributes that the files have in common.
    pub alike: Alike,
    /// Minimum size in bytes.
    pub least_bytes: u64,
    /// Whether their content is compared.
    pub verify: Verify,
}

/// Two or more files that may be, or are, the same.
pub struct Set<'a> {
    /// The files, in path order.
    pub files: &'a [&'a Entry],
    /// Their paths, spelled as the user began.
    pub paths: &'a [Vec<u8>],
}

impl Set<'_> {
    /// Returns the size of each file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.files.first().map_or(0, |entry| entry.row().size())
    }

    /// Returns the space in bytes that is freed if all files but the one that takes most are
    /// removed.
    pub fn reclaimable_bytes(&self) -> u64 {
        let disk = |entry: &&Entry| entry.row().blocks().saturating_mul(512);
        let most = self.files.iter().map(disk).max().unwrap_or(0);
        let all = self.files.iter().map(disk).fold(0, u64::saturating_add);
        all.saturating_sub(most)
    }
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// Number of files that could not be read, or changed since they were indexed; always 0
    /// without verification.
    pub unread: u64,
}

/// Passes sets of duplicates below a path to `visit`, large files first, until the visitor ends the
/// answer. Returns `None` if the path does not exist, which the session reports.
///
/// # Errors
/// If the index cannot be read, or if files are to be verified but the index is not about those of
/// now.
pub fn duplicates(
    session: &mut Session<'_>,
    given: &OsStr,
    options: &DuplicatesOptions,
    visit: &mut dyn FnMut(&Set<'_>) -> ControlFlow<()>,
) -> Result<Option<Searched>, AnswerError> {
    let Some(start) = session.locate(given, Follow::Last)? else {
        return Ok(None);
    };
    session.note_part(&start, given.as_bytes(), &Part::whole(Depth::All))?;
    if options.verify == Verify::Content && !session.is_live() {
        return Err(match session.is_past() {
            true => AnswerError::FilesOfPast,
            false => AnswerError::FilesOfRecording,
        });
    }
    search(session, &start, given.as_bytes(), options, visit).map(Some)
}

fn search(
    session: &Session<'_>,
    start: &Start,
    given: &[u8],
    options: &DuplicatesOptions,
    visit: &mut dyn FnMut(&Set<'_>) -> ControlFlow<()>,
) -> Result<Searched, AnswerError> {
    let request = DuplicateRequest {
        alike: options.alike,
        least_bytes: options.least_bytes,
        columns: ColumnSet::of(&[Column::Size, Column::Blocks, Column::Dev, Column::Ino]),
        threads: None,
        cancel: session.cancel(),
    };
    let mut searched = Searched::default();
    let mut tell = |files: &[&Entry]| {
        let path = |entry: &&Entry| printed_path(given, &start.path, &entry.path);
        let paths: Vec<Vec<u8>> = files.iter().map(path).collect();
        visit(&Set {
            files,
            paths: &paths,
        })
    };
    match options.verify {
        Verify::No => session.index().duplicates(start, &request, |group| {
            tell(&group.iter().collect::<Vec<&Entry>>())
        })?,
        Verify::Content => verified(session, start, &request, &mut |group| {
            searched.unread += group.unread;
            group.same().try_for_each(|files| tell(&files))
        })?,
    }
    Ok(searched)
}

/// Passes verified groups to `visit`, until it ends the answer. Groups that were found before an
/// error of the index are passed, too.
fn verified(
    session: &Session<'_>,
    start: &Start,
    request: &DuplicateRequest<'_>,
    visit: &mut dyn FnMut(&Verified) -> ControlFlow<()>,
) -> Result<(), AnswerError> {
    let mut verifier = Verifier::default();
    let mut is_ended = false;
    let done = session.index().duplicates(start, request, |group| {
        if !verifier.take(group) {
            return ControlFlow::Continue(());
        }
        let groups = verifier.compare(request.cancel);
        let flow = groups.iter().try_for_each(&mut *visit);
        is_ended = flow.is_break();
        flow
    });
    if !is_ended {
        let _ = verifier
            .compare(request.cancel)
            .iter()
            .try_for_each(&mut *visit);
    }
    Ok(done?)
}
