//! Receiving answers from [`trawl_answers`]: a failure to write one ends the answer.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use trawl_answers::NoAnswer;

use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::say;

/// The failure of a visitor, if there was one.
#[derive(Default)]
pub(crate) struct Failing(Option<Failure>);

impl Failing {
    /// Goes on unless this failed.
    pub(crate) fn check(&mut self, done: Result<(), Failure>) -> ControlFlow<()> {
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.0 = Some(failure);
                ControlFlow::Break(())
            }
        }
    }

    /// Returns the visitor's failure, else the answer.
    pub(crate) fn end<T, E>(self, answered: Result<T, E>) -> Result<T, Failure>
    where
        Failure: From<E>,
    {
        match self.0 {
            Some(failure) => Err(failure),
            None => Ok(answered?),
        }
    }
}

/// Reports why a question about several snapshots has no answer.
pub(crate) fn say_no_answer(given: &OsStr, why: &NoAnswer) -> Exit {
    match why {
        NoAnswer::Reported => {}
        NoAnswer::NotIndexed(outside) => say(outside),
        NoAnswer::InNone(count) => say(format_args!(
            "{} is not in any of {count} snapshots",
            quoted(given.as_bytes())
        )),
        why => say(format_args!(
            "cannot access {}: {why}",
            quoted(given.as_bytes())
        )),
    }
    Exit::Fatal
}
