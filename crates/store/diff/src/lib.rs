//! Compares two snapshots of a tree: entries created, deleted, changed and
//! moved.
//!
//! One pass reads both snapshots side by side: directories in path order, and
//! names in order within each. Segment files that both snapshots share are
//! skipped. Differences are reported in the same order; a moved entry is
//! reported at its new path.
//!
//! Invariants:
//!
//! - only rows that the asking user may see are read, so the differences reveal
//!   nothing that the snapshots themselves would not;
//! - a directory that only one snapshot has a listing of is not compared: it is
//!   reported as such, and none of its entries counts as created or deleted;
//! - memory is bounded by blocks of rows, [`BUFFER_BYTES`] of differences and
//!   [`MOVES_MOST`] moved entries; only a directory whose rows lie in several
//!   segments is held in memory as a whole.
//!
//! Read first: [`differences`]. `side` yields the rows of one snapshot, `merge`
//! compares two of them, `moves` finds entries with a new path.
//!
//! Knows nothing of how differences are printed.
#![forbid(unsafe_code)]

mod attribute;
mod collapse;
mod merge;
mod moves;
mod record;
mod side;

pub use attribute::{AttributeSet, changed};
pub use collapse::Collapse;
pub use record::{Difference, Kind};
pub use trawl_query::QueryError;

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use trawl_model::rows::Row;
use trawl_query::Start;

use crate::merge::{Event, merge};
use crate::moves::{Keys, Known};

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, QueryError>;

/// Maximum bytes of differences buffered to find moves among them. If there are
/// more, the snapshots are read again.
pub const BUFFER_BYTES: usize = 96 << 20;
/// Maximum number of moved entries held when the differences do not fit in the
/// buffer.
pub const MOVES_MOST: usize = 1 << 20;

/// Whether to look for moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moves {
    /// Match entries by device, inode number and, where known, time of
    /// creation.
    #[default]
    Find,
    /// Report a move as a deletion and a creation.
    Ignore,
}

/// One of the two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// The first snapshot.
    Before,
    /// The second snapshot.
    After,
}

/// One comparison: the paths to compare, and how.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The path in the first snapshot; `None` if it does not exist there.
    pub before: Option<&'a Start>,
    /// The same path in the second snapshot.
    pub after: Option<&'a Start>,
    /// The attributes to compare.
    pub compare: AttributeSet,
    /// Further attributes to fill in for each difference.
    pub read: AttributeSet,
    /// Whether to look for moves.
    pub moves: Moves,
    /// Maximum bytes of differences to buffer ([`BUFFER_BYTES`] except in
    /// tests).
    pub buffer_bytes: usize,
    /// Cancels the comparison with [`QueryError::Cancelled`] soon after it is
    /// set.
    pub cancel: Option<&'a AtomicBool>,
}

/// Limits of an answer: what was not compared or not found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Directories that both snapshots have but only one has a listing of, with
    /// the snapshot that has it. Their contents were not compared.
    pub not_compared: Vec<(Vec<u8>, Which)>,
    /// Number of further directories that `not_compared` leaves out.
    pub more_not_compared: u64,
    /// True if there were too many created and deleted entries to find all
    /// moves.
    pub moves_missed: bool,
}

/// Maximum number of directories listed in [`Outcome::not_compared`].
const NAMED_MOST: usize = 1000;

impl Outcome {
    fn note(&mut self, dir: &[u8], listed: Which) {
        if self.not_compared.len() < NAMED_MOST {
            self.not_compared.push((dir.to_vec(), listed));
        } else {
            self.more_not_compared += 1;
        }
    }
}

/// Passes each difference to `emit`, directory by directory, until it breaks.
///
/// # Errors
/// Fails if part of a snapshot cannot be read, or with
/// [`QueryError::Cancelled`].
pub fn differences(
    question: &Question<'_>,
    mut emit: impl FnMut(Difference) -> ControlFlow<()>,
) -> Result<Outcome> {
    if question.moves == Moves::Ignore {
        return stream(question, &Known::default(), &mut emit);
    }
    let mut held = Vec::new();
    let mut bytes = 0;
    let outcome = stream(question, &Known::default(), &mut |difference| {
        bytes += difference.memory_bytes();
        held.push(difference);
        match bytes > question.buffer_bytes {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    if bytes <= question.buffer_bytes {
        let devices = Devices::of(question);
        for difference in moves::join(held, devices, question.compare) {
            if emit(difference).is_break() {
                break;
            }
        }
        return Ok(outcome);
    }
    drop(held);
    let (known, missed) = find_moves(question)?;
    let mut outcome = stream(question, &known, &mut emit)?;
    outcome.moves_missed = missed;
    Ok(outcome)
}

/// Runs one pass, with the moves known so far.
fn stream(
    question: &Question<'_>,
    known: &Known,
    emit: &mut impl FnMut(Difference) -> ControlFlow<()>,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let devices = Devices::of(question);
    merge(question, question.compare, question.read, &mut |event| {
        let difference = match event {
            Event::NotCompared(dir, which) => {
                outcome.note(dir, which);
                None
            }
            Event::Deleted(row) => known
                .is_gone(&row, devices)
                .then(|| Difference::deleted(&row)),
            Event::Created(row) => Some(known.created(&row, devices, question.compare)),
            Event::Changed(before, after, attributes) => {
                Some(Difference::changed(&before, &after, attributes))
            }
        };
        difference.map_or(ControlFlow::Continue(()), &mut *emit)
    })?;
    Ok(outcome)
}

/// Finds moves in two passes over created and deleted entries: the first finds
/// keys that occur on both sides, the second reads the entries with those keys.
/// Returns true if there were too many to find all moves.
fn find_moves(question: &Question<'_>) -> Result<(Known, bool)> {
    let devices = Devices::of(question);
    let mut keys = Keys::default();
    let each = |read: AttributeSet, visit: &mut dyn FnMut(Row<'_>, Which)| {
        merge(question, AttributeSet::EMPTY, read, &mut |event| {
            match event {
                Event::Created(row) => visit(row, Which::After),
                Event::Deleted(row) => visit(row, Which::Before),
                Event::Changed(..) | Event::NotCompared(..) => {}
            }
            ControlFlow::Continue(())
        })
    };
    each(AttributeSet::EMPTY, &mut |row, which| {
        keys.add(&row, devices, which);
    })?;
    let (wanted, mut missed) = keys.in_both();
    let mut held = Vec::new();
    each(question.compare, &mut |row, which| {
        if !wanted.contains(&moves::key(&row, devices, which)) {
            return;
        }
        if held.len() >= 2 * MOVES_MOST {
            missed = true;
            return;
        }
        held.push(match which {
            Which::Before => Difference::deleted(&row),
            Which::After => Difference::created(&row),
        });
    })?;
    Ok((Known::new(held, wanted, devices), missed))
}

/// Device numbers of the two roots. The kernel assigns a number at mount time,
/// so the same file system may have another number after a remount.
#[derive(Clone, Copy, Debug, Default)]
struct Devices {
    before: u64,
    after: u64,
}

impl Devices {
    fn of(question: &Question<'_>) -> Devices {
        let of = |start: Option<&Start>| start.and_then(|start| start.row.dev.first().copied());
        let (before, after) = (of(question.before), of(question.after));
        Devices {
            before: before.or(after).unwrap_or_default(),
            after: after.or(before).unwrap_or_default(),
        }
    }

    /// Translates a device number of one snapshot to that of the second.
    fn common(self, device: u64, which: Which) -> u64 {
        match which == Which::Before && device == self.before {
            true => self.after,
            false => device,
        }
    }
}
