//! Finding entries by their names, with nothing else read of them.
//!
//! The rows of a scope that can match are cut into pieces, ordered by where
//! they begin; workers search them, and what they find is merged into path
//! order on the caller's thread as it comes in. A segment's name sidecar says
//! which rows can match and gives their names; where there is none, or it is
//! damaged, names come from the segment's tables. What waits is bounded: the
//! pieces are small, and no worker is far ahead of the merge.

mod candidates;
mod columns;
mod merge;
mod narrow;
mod pieces;
mod values;
mod workers;

use crate::error::Result;
use crate::index::{Index, Start, View};
use crate::permission;
use crate::segment::Scratch;
use crate::walk::check_cancelled_by;
use merge::{Hits, InOrder};
use pieces::{Piece, Source, pieces};
use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;
use trawl_model::need::{Literal, Need, Within};
use trawl_model::sync::processors;
use trawl_model::{Subtrees, path};
use trawl_names::{Matcher, NameMatch, Pattern, Subject};
use workers::Workers;

pub(crate) use candidates::{candidates, holders};
pub(crate) use narrow::{narrowed, rows_with};
pub(crate) use pieces::rows as rows_of;
pub(crate) use values::{INDEX_ROWS_LEAST, select_by_value};

/// Number of hits between two checks for cancellation.
const LOOKS: u32 = 256;

/// A search for names or paths.
#[derive(Clone, Copy)]
pub struct NameRequest<'a> {
    /// Whether names or whole paths are tested.
    pub within: Within,
    /// Text that every match contains.
    pub need: &'a Need,
    /// Says whether a name, or a path as it is stored, matches.
    pub test: &'a dyn Matcher,
    /// The literal that the test looks for, if that is all it does.
    pub literal: Option<&'a Literal>,
    /// Decides whether a match is returned.
    pub keep: Option<&'a (dyn Fn(Hit<'_>) -> bool + Sync)>,
    /// Directories that are left out with everything below them.
    pub skip: &'a Subtrees,
    /// Threads; as many as there are processors if `None`.
    pub threads: Option<NonZeroUsize>,
    /// Ends the search with [`QueryError::Cancelled`](crate::QueryError::Cancelled) soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

/// An entry that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit<'a> {
    /// The directory that it is in, as stored.
    pub dir: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
}

impl NameRequest<'_> {
    /// Whether an entry is given, wherever it is.
    pub fn admits(&self, hit: Hit<'_>) -> bool {
        let matched = match self.within {
            Within::Name => self.test.is_match(hit.name),
            Within::Path => self.test.is_match(&path::join(hit.dir, hit.name)),
        };
        matched && self.keeps(hit)
    }

    /// Whether what matches is given.
    fn keeps(&self, hit: Hit<'_>) -> bool {
        let Hit { dir, name } = hit;
        let is_out = |out: &Vec<u8>| {
            path::is_within(dir, out)
                || path::split(out).is_some_and(|(above, last)| above == dir && last == name)
        };
        !self.skip.roots().iter().any(is_out) && self.keep.is_none_or(|keep| keep(hit))
    }
}

/// An event of a search in path order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The next entry.
    Hit(Hit<'a>),
    /// No entry will come for a while.
    Pause,
}

impl Index {
    /// Gives what matches below `start`, in path order, until `emit` breaks.
    ///
    /// # Errors
    /// Whatever cannot be read of the index, and [`QueryError::Cancelled`](crate::QueryError::Cancelled).
    pub fn search_names(
        &self,
        start: &Start,
        request: &NameRequest<'_>,
        emit: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let pieces = pieces(start, request)?;
        let work = |hit: Hit<'_>, hits: &mut Hits| hits.push(hit);
        run(&start.view, &pieces, request, work, |workers| {
            InOrder::new(&pieces).run(workers, emit)
        })
    }

    /// Puts what matches below `start` to `work`, on any thread and in no
    /// order between the values that are added to, which `emit` gets.
    ///
    /// # Errors
    /// As [`Index::search_names`].
    pub fn search_names_apart<O: Default + Send>(
        &self,
        start: &Start,
        request: &NameRequest<'_>,
        work: impl Fn(Hit<'_>, &mut O) + Sync,
        mut emit: impl FnMut(O) -> ControlFlow<()>,
    ) -> Result<()> {
        let pieces = pieces(start, request)?;
        run(&start.view, &pieces, request, work, |workers| {
            for at in 0..pieces.len() {
                if emit(workers.take(at)?).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }
}

/// Searches the pieces on several threads while `collect` takes their results.
fn run<O: Default + Send>(
    view: &View,
    pieces: &[Piece],
    request: &NameRequest<'_>,
    work: impl Fn(Hit<'_>, &mut O) + Sync,
    collect: impl FnOnce(&Workers<'_, O>) -> Result<()>,
) -> Result<()> {
    let shows = permission::showing(view);
    let work = |hit: Hit<'_>, out: &mut O| {
        if shows(hit.dir) {
            work(hit, out);
        }
    };
    let search = |at: usize, scratch: &mut Scratch| match pieces.get(at) {
        Some(piece) => search_piece(view, piece, request, &work, scratch),
        None => Ok(O::default()),
    };
    let threads = request.threads.map_or_else(processors, NonZeroUsize::get);
    Workers::run(pieces.len(), threads, &search, collect)
}

fn search_piece<O: Default>(
    view: &View,
    piece: &Piece,
    request: &NameRequest<'_>,
    work: &(impl Fn(Hit<'_>, &mut O) + Sync),
    scratch: &mut Scratch,
) -> Result<O> {
    check_cancelled_by(request.cancel)?;
    if piece.source != Source::Columns {
        let mut out = O::default();
        // What a damaged one has given so far is given again.
        if search_sidecar(view, piece, request, &mut |hit| work(hit, &mut out))? {
            return Ok(out);
        }
    }
    let mut out = O::default();
    for rows in &piece.rows {
        let mut give = |hit: Hit<'_>| work(hit, &mut out);
        columns::search(view, piece.segment, rows, request, scratch, &mut give)?;
    }
    Ok(out)
}

/// False if the sidecar cannot be read to the end.
fn search_sidecar(
    view: &View,
    piece: &Piece,
    request: &NameRequest<'_>,
    give: &mut dyn FnMut(Hit<'_>),
) -> Result<bool> {
    let Some(names) = view.names(piece.segment) else {
        return Ok(false);
    };
    let rows = match piece.source {
        Source::Either => match candidates::among(&names, request.need, &piece.rows) {
            Ok(rows) => Cow::Owned(rows),
            Err(_) => return Ok(false),
        },
        Source::Sidecar | Source::Columns => Cow::Borrowed(piece.rows.as_slice()),
    };
    if rows.is_empty() {
        return Ok(true);
    }
    let subject = subject(request.within);
    let pattern = match request.literal {
        Some(literal) => {
            let case = candidates::case(literal);
            Pattern::literal(candidates::literal(literal), subject, case)
        }
        None => {
            let needles = candidates::of_subject(request.need, subject);
            Pattern::matcher(needles, request.test)
        }
    };
    let mut found = 0u32;
    let mut give = |entry: NameMatch<'_>| {
        let NameMatch { dir, name, .. } = entry;
        if request.keeps(Hit { dir, name }) {
            give(Hit { dir, name });
        }
        found = found.wrapping_add(1);
        match found.is_multiple_of(LOOKS) && check_cancelled_by(request.cancel).is_err() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let done = names.search_among(&pattern, &rows, &mut give);
    check_cancelled_by(request.cancel)?;
    Ok(done.is_ok())
}

fn subject(within: Within) -> Subject {
    match within {
        Within::Name => Subject::Name,
        Within::Path => Subject::Path,
    }
}

/// The parts of `ranges` that lie in `rows`.
fn within(ranges: &[Range<u64>], rows: &Range<u64>) -> Vec<Range<u64>> {
    let cut = ranges
        .iter()
        .map(|range| range.start.max(rows.start)..range.end.min(rows.end));
    cut.filter(|range| !range.is_empty()).collect()
}
