//! The differences between two snapshots of a tree, one by one or counted.

mod summary;
pub mod words;

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use trawl_diff::{
    AttributeSet, BUFFER_BYTES, Collapse, Difference, Kind, Moves, Outcome, Question, differences,
};
use trawl_find::resolve::Resolved;
use trawl_model::mapped;
use trawl_query::{AsOf, Located, Start};
use trawl_session::{Completeness, Denials, Depth, Follow, Missing, Notice, Session, Sessions};

pub use self::summary::{Grouping, Sums, Tally};
use crate::error::AnswerError;
use crate::no_answer::NoAnswer;

/// Which differences are found, and what is known about them.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// The attributes that are compared.
    pub compare: AttributeSet,
    /// Further attributes that are filled in for each difference.
    pub read: AttributeSet,
    /// Whether moves are looked for.
    pub moves: Moves,
    /// True if entries that moved only with their directory are left out.
    pub collapse_moves: bool,
    /// Kinds of differences; empty for all.
    pub only: Vec<Kind>,
}

/// A tree as of two times.
pub struct Pair<'a> {
    before: Session<'a>,
    after: Session<'a>,
    starts: (Option<Start>, Option<Start>),
}

/// What a comparison lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lacking {
    /// Number of directories that the user may not list.
    pub denied: u64,
    /// What the sessions lack.
    pub completeness: Completeness,
}

impl<'a> Pair<'a> {
    /// Opens the indexes as of two times.
    ///
    /// # Errors
    /// If one cannot be opened.
    pub fn open(
        sessions: &Sessions<'a>,
        before: AsOf,
        after: AsOf,
    ) -> Result<Pair<'a>, AnswerError> {
        let open = |as_of| {
            let mut session = sessions.open(as_of)?;
            session.tell_denials(Denials::Counted);
            Ok::<_, AnswerError>(session)
        };
        Ok(Pair {
            before: open(before)?,
            after: open(after)?,
            starts: (None, None),
        })
    }

    /// Finds the path in both snapshots, and returns it. Links are followed as they are in the
    /// newer one.
    ///
    /// # Errors
    /// If an index cannot be read.
    pub fn locate(&mut self, given: &OsStr) -> Result<Result<Vec<u8>, NoAnswer>, AnswerError> {
        let Some(path) = self.path_of(given)? else {
            return Ok(Err(NoAnswer::NoPath));
        };
        let (Some(before), Some(after)) = (place(&self.before, &path)?, place(&self.after, &path)?)
        else {
            return Ok(Err(NoAnswer::Reported));
        };
        if before.is_none() && after.is_none() {
            return Ok(Err(NoAnswer::InNeither));
        }
        self.starts = (before, after);
        Ok(Ok(path))
    }

    /// Returns the path that `given` leads to in the second snapshot, else in the first.
    fn path_of(&mut self, given: &OsStr) -> Result<Option<Vec<u8>>, AnswerError> {
        let given = given.as_bytes();
        let mut path = None;
        for session in [&mut self.after, &mut self.before] {
            match session.resolve(given, Follow::Last)? {
                Some(Resolved::To(Located::Found(_), found)) => return Ok(Some(found)),
                Some(Resolved::To(_, found)) => path = path.or(Some(found)),
                _ => {}
            }
        }
        Ok(path)
    }

    /// Returns true if both times mean the same snapshot.
    pub fn is_one_snapshot(&self) -> bool {
        match &self.starts {
            (Some(before), Some(after)) => {
                let info = |start: &Start| (start.view.root().to_vec(), start.view.info().id);
                info(before) == info(after)
            }
            _ => false,
        }
    }

    /// Passes the differences below the path that was located to `visit`, in path order, until the
    /// visitor ends the answer. Returns what was not compared.
    ///
    /// # Errors
    /// If an index cannot be read.
    pub fn compare(
        &self,
        options: &DiffOptions,
        visit: &mut dyn FnMut(&Difference) -> ControlFlow<()>,
    ) -> Result<Outcome, AnswerError> {
        let question = Question {
            before: self.starts.0.as_ref(),
            after: self.starts.1.as_ref(),
            compare: options.compare,
            read: options.read,
            moves: options.moves,
            buffer_bytes: BUFFER_BYTES,
            cancel: self.after.cancel(),
        };
        let mut collapse = options.collapse_moves.then(Collapse::default);
        let only = &options.only;
        Ok(differences(&question, &mut |difference| {
            let is_hidden = collapse
                .as_mut()
                .is_some_and(|collapse| collapse.hides(&difference));
            let is_wanted = only.is_empty() || only.contains(&difference.kind);
            match is_hidden || !is_wanted {
                true => ControlFlow::Continue(()),
                false => visit(&difference),
            }
        })?)
    }

    /// Reports the gaps in the answer through the sessions, and returns them.
    ///
    /// # Errors
    /// If an index cannot be read.
    pub fn finish(mut self) -> Result<Lacking, AnswerError> {
        let mut lacking = Lacking::default();
        let (before, after) = std::mem::take(&mut self.starts);
        for (mut session, start) in [(self.before, before), (self.after, after)] {
            if let Some(start) = &start {
                session.note(start, Depth::All)?;
            }
            lacking.denied = lacking.denied.max(session.denied());
            lacking.completeness.add(&session.finish());
        }
        Ok(lacking)
    }
}

/// Looks up a path in a snapshot: `Some(None)` means that nothing is there; `None`, after reporting
/// why, that nothing is known about it.
fn place(session: &Session<'_>, wanted: &[u8]) -> Result<Option<Option<Start>>, AnswerError> {
    let say = session.listener();
    Ok(match session.index().locate(wanted)? {
        Located::Found(start) => Some(Some(*start)),
        Located::Missing { .. } | Located::NotDirectory { .. } => Some(None),
        Located::NotIndexed { nearest } => {
            say(session.why_not_indexed(wanted, nearest)?);
            None
        }
        _ => {
            say(Notice::Missing {
                given: mapped::theirs(wanted).into_owned(),
                why: Missing::Denied,
            });
            None
        }
    })
}
