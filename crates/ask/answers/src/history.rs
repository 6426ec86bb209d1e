//! The state of a path in each snapshot that is kept.
//!
//! A history follows the path, not the object. Links above the path are followed as they are now.

use std::ops::ControlFlow;

use trawl_diff::{AttributeSet, changed};
use trawl_model::Column;
use trawl_model::rows::OwnedRow;
use trawl_query::{AsOf, Located, SnapshotInfo, Start};
use trawl_session::{Follow, Sessions};

use crate::error::AnswerError;
use crate::no_answer::NoAnswer;
use crate::past::{Known, known};

/// State of a path in a snapshot, compared with the snapshot before.
#[derive(Debug)]
pub enum Change {
    /// It exists; before, it did not exist or its state was unknown.
    Created(OwnedRow),
    /// It is unchanged.
    Same(OwnedRow),
    /// These of its attributes changed.
    Changed(Box<(OwnedRow, OwnedRow)>, AttributeSet),
    /// It does not exist.
    Gone,
    /// It is hidden from the user.
    Unknown,
}

impl Change {
    /// Returns the name of the state in output for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Change::Created(_) => "present",
            Change::Same(_) => "same",
            Change::Changed(..) => "changed",
            Change::Gone => "absent",
            Change::Unknown => "unknown",
        }
    }

    /// Returns the attributes in this snapshot, if the path exists and the user may see it.
    pub fn state(&self) -> Option<&OwnedRow> {
        match self {
            Change::Created(state) | Change::Same(state) => Some(state),
            Change::Changed(states, _) => Some(&states.1),
            Change::Gone | Change::Unknown => None,
        }
    }

    fn between(last: &Last, now: &Last) -> Change {
        match (last, now) {
            (_, Last::Nothing | Last::Unknown) => Change::Unknown,
            (_, Last::Absent) => Change::Gone,
            (Last::Present(before), Last::Present(after)) => {
                let (before, after) = (before.own_row(), after.own_row());
                let ignored = AttributeSet::of(&[Column::Atime, Column::Dev]);
                let which = changed(&before, &after, AttributeSet::all().minus(ignored), true);
                let states = (before.owned(), after.owned());
                match which.is_empty() {
                    true => Change::Same(states.1),
                    false => Change::Changed(Box::new(states), which),
                }
            }
            (_, Last::Present(after)) => Change::Created(after.own_row().owned()),
        }
    }
}

/// A path in a snapshot.
#[derive(Debug)]
pub struct Moment {
    /// The snapshot.
    pub info: SnapshotInfo,
    /// The state of the path.
    pub change: Change,
    /// True if the state differs from that in the snapshot before.
    pub is_news: bool,
}

/// State of the path in the snapshot before.
#[derive(Default)]
enum Last {
    /// There is no snapshot before.
    #[default]
    Nothing,
    Present(Box<Start>),
    Absent,
    Unknown,
}

/// The states of the path in all snapshots together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// True if the path exists in one of them.
    pub present: bool,
    /// True if it is hidden from the user in one of them.
    pub hidden: bool,
}

/// Passes the state of a path in each snapshot of its source to `visit`, the oldest first, until
/// the visitor ends the answer.
///
/// # Errors
/// If an index cannot be read.
pub fn history(
    sessions: &Sessions<'_>,
    given: &[u8],
    visit: &mut dyn FnMut(&Moment) -> ControlFlow<()>,
) -> Result<Result<Seen, NoAnswer>, AnswerError> {
    let Known { path, snapshots } = match known(sessions, given, Follow::Never)? {
        Ok(known) => known,
        Err(why) => return Ok(Err(why)),
    };
    let count = snapshots.len();
    let (mut last, mut seen) = (Last::Nothing, Seen::default());
    for info in snapshots {
        let now = at_one_time(sessions, &info, &path)?;
        seen.present |= matches!(now, Last::Present(_));
        seen.hidden |= matches!(now, Last::Unknown);
        let moment = compared(info, &last, &now);
        if visit(&moment).is_break() {
            return Ok(Ok(seen));
        }
        last = now;
    }
    Ok(match seen == Seen::default() {
        true => Err(NoAnswer::InNone(count)),
        false => Ok(seen),
    })
}

fn at_one_time(
    sessions: &Sessions<'_>,
    info: &SnapshotInfo,
    path: &[u8],
) -> Result<Last, AnswerError> {
    let session = sessions.open(AsOf::Snapshot(info.id))?;
    Ok(match session.index().locate(path)? {
        Located::Found(start) => Last::Present(start),
        Located::Missing { .. } | Located::NotDirectory { .. } => Last::Absent,
        _ => Last::Unknown,
    })
}

fn compared(info: SnapshotInfo, last: &Last, now: &Last) -> Moment {
    let change = Change::between(last, now);
    let is_old = match (&change, last) {
        // Until the path exists for the first time there is nothing to report.
        (Change::Gone, Last::Absent | Last::Nothing) => true,
        (Change::Same(_), _) | (Change::Unknown, Last::Unknown) => true,
        _ => false,
    };
    Moment {
        info,
        change,
        is_news: !is_old,
    }
}
