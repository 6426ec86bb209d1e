//! The size of a tree in each snapshot that is kept.

mod measure;

use trawl_query::{AsOf, Located, SnapshotInfo};
use trawl_session::{Completeness, Depth, Missing, Notice, Part, Session, Sessions};

use self::measure::measure;
pub use self::measure::{Measured, base};
use crate::error::AnswerError;
use crate::no_answer::NoAnswer;
use crate::past::{Known, known};

/// Kind of key by which sizes are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Everything together.
    #[default]
    Total,
    /// Each directory directly below, and the entries beside them.
    Dir,
    /// Each owner.
    Owner,
    /// The part of regular files' names after the last dot.
    Ext,
}

/// The sizes of a tree in all snapshots.
#[derive(Debug)]
pub struct Growth {
    /// Each snapshot and the sizes in it, the oldest first; no sizes where the tree did not exist.
    pub times: Vec<(SnapshotInfo, Measured)>,
    /// What the sizes lack.
    pub completeness: Completeness,
}

/// Measures a path in each snapshot of its source. Links are followed as they are now.
///
/// # Errors
/// If an index cannot be read.
pub fn growth(
    sessions: &Sessions<'_>,
    given: &[u8],
    by: By,
) -> Result<Result<Growth, NoAnswer>, AnswerError> {
    let follow = trawl_session::Follow::Last;
    let Known { path, snapshots } = match known(sessions, given, follow)? {
        Ok(known) => known,
        Err(why) => return Ok(Err(why)),
    };
    let mut growth = Growth {
        times: Vec::with_capacity(snapshots.len()),
        completeness: Completeness::default(),
    };
    let mut is_anywhere = false;
    for info in snapshots {
        let session = sessions.open(AsOf::Snapshot(info.id))?;
        let (measured, lacking) = at_one_time(session, given, &path, by)?;
        is_anywhere |= measured.is_some();
        growth.completeness.add(&lacking);
        growth.times.push((info, measured.unwrap_or_default()));
    }
    Ok(match is_anywhere {
        true => Ok(growth),
        false => Err(NoAnswer::Unseen),
    })
}

/// Measures the path in a snapshot; `None` if the path does not exist there.
fn at_one_time(
    mut session: Session<'_>,
    given: &[u8],
    path: &[u8],
    by: By,
) -> Result<(Option<Measured>, Completeness), AnswerError> {
    let measured = match session.index().locate(path)? {
        Located::Found(start) => {
            let measured = measure(&session, &start, by)?;
            session.note_part(&start, given, &Part::whole(Depth::All))?;
            Some(measured)
        }
        Located::Denied { .. } | Located::Hidden { .. } => {
            (session.listener())(Notice::Missing {
                given: given.to_vec(),
                why: Missing::Denied,
            });
            session.note_unreachable(1);
            None
        }
        _ => None,
    };
    Ok((measured, session.finish()))
}
