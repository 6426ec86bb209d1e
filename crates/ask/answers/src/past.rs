//! The path of a question about several snapshots, and those snapshots.

use trawl_find::resolve::Resolved;
use trawl_query::{AsOf, SnapshotInfo};
use trawl_session::{Follow, Sessions};

use crate::error::AnswerError;
use crate::no_answer::NoAnswer;

/// A path, and the snapshots of the source that contains it.
pub(crate) struct Known {
    /// The path, absolute.
    pub(crate) path: Vec<u8>,
    /// The snapshots, oldest first.
    pub(crate) snapshots: Vec<SnapshotInfo>,
}

/// Looks up the path that `given` means now, and its snapshots.
pub(crate) fn known(
    sessions: &Sessions<'_>,
    given: &[u8],
    follow: Follow,
) -> Result<Result<Known, NoAnswer>, AnswerError> {
    let mut session = sessions.open(AsOf::Back(0))?;
    let path = match session.resolve(given, follow)? {
        Some(Resolved::To(_, path)) => path,
        _ => return Ok(Err(NoAnswer::NoPath)),
    };
    Ok(match session.index().snapshots_of(&path)? {
        Some((_, snapshots)) => Ok(Known { path, snapshots }),
        None => Err(NoAnswer::NotIndexed(session.outside(&path)?)),
    })
}
