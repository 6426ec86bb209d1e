//! What differs between two snapshots of a tree: created, deleted, changed,
//! moved.
//!
//! Both snapshots are gone through once, side by side, directory by directory
//! in path order, by name within each. What both have in the same segment file
//! is not looked at. Differences come in that order; one that moved comes where
//! it went.
//!
//! Invariants:
//!
//! - only what the asker may see of a snapshot is taken from it, so that
//!   nothing is told that the snapshot itself would not tell;
//! - what one of the two has no listing of is not compared: it is said, and
//!   nothing in it counts as created or deleted;
//! - memory is bounded by blocks of rows, [`BUFFER_BYTES`] of differences and
//!   what [`MOVES_MOST`] moved entries take; only a directory whose rows lie
//!   in several segments is held as a whole.
//!
//! Read first: [`differences`]; `side` gives one snapshot's rows, `merge`
//! holds two of them against each other, `moves` finds what has another path.
//!
//! Knows nothing of how differences are printed.
#![forbid(unsafe_code)]

mod attribute;
mod collapse;
mod merge;
mod moves;
mod record;
mod side;

pub use attribute::{ALL_ATTRIBUTES, Attribute, AttributeSet, changed};
pub use collapse::Collapse;
pub use record::{Difference, Kind, State};
pub use trawl_query::QueryError;

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use trawl_model::rows::Row;
use trawl_query::Start;

use crate::merge::{Event, merge};
use crate::moves::{Keys, Known};

/// This crate's results.
pub type Result<T> = std::result::Result<T, QueryError>;

/// Differences that are held to find what moved among them; where there are
/// more, the snapshots are gone through again.
pub const BUFFER_BYTES: usize = 96 << 20;
/// Moved entries that are held where the differences are not.
pub const MOVES_MOST: usize = 1 << 20;

/// Whether what has another path is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moves {
    /// By device, inode and, where it is known, time of creation.
    #[default]
    Find,
    /// It is deleted in one place and created in the other.
    Ignore,
}

/// Which of the two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// The one that is compared.
    Before,
    /// What it is compared with.
    After,
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// A path in the first snapshot; `None` if it is not there.
    pub before: Option<&'a Start>,
    /// The same path in the second.
    pub after: Option<&'a Start>,
    /// Attributes that count.
    pub compare: AttributeSet,
    /// Attributes that differences have besides.
    pub read: AttributeSet,
    /// Whether moves are looked for.
    pub moves: Moves,
    /// Differences that are held, bytes ([`BUFFER_BYTES`] but in tests).
    pub buffer_bytes: usize,
    /// Ends it with [`QueryError::Cancelled`] soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

/// What is to be known about an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Directories of which just one snapshot has a listing though both have
    /// the directory: what is in them was not compared.
    pub not_compared: Vec<(Vec<u8>, Which)>,
    /// More such directories than are kept here.
    pub more_not_compared: u64,
    /// True if so much was created and deleted that not all moves were found.
    pub moves_missed: bool,
}

/// Directories that [`Outcome::not_compared`] names at most.
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

/// Gives each difference, directory by directory, until `emit` ends it.
///
/// # Errors
/// Whatever cannot be read of a snapshot, and [`QueryError::Cancelled`].
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

/// One pass, with what is known of moves.
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

/// Two passes over what was created and deleted: for what has the same
/// identity, then for what that is. True if there was too much.
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

/// The device numbers of the two roots. They are given when a file system is
/// mounted, so that the same one may have another the next time.
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

    /// A device of one snapshot as the other would have it.
    fn common(self, device: u64, which: Which) -> u64 {
        match which == Which::Before && device == self.before {
            true => self.after,
            false => device,
        }
    }
}
