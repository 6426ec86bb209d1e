//! The commands that `-exec` and related actions run.
//!
//! | module | purpose |
//! |---|---|
//! | `words` | parses a command, and fills in an entry's name |
//! | `beside` | opens the directory of an entry |
//! | `limits` | limits the arguments of a command |
//! | `launch` | runs a command, and reports how it ended |
//! | `single` | runs a command for each entry (`;`) |
//! | `batch` | runs a command for many entries (`{} +`) |
//! | `consent` | asks the question of `-ok` |
//!
//! Everything printed is written out before a command runs. Commands inherit
//! find's standard input, except those of `-ok` and `-okdir`, which read from
//! /dev/null.

mod batch;
mod beside;
mod consent;
mod launch;
mod single;
mod words;

use trawl_sys::command::Limits;

use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use words::Ending;

/// The directory that a command runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// Find's own directory; the command is given the path.
    Start,
    /// The entry's directory; the command is given `./` and the name.
    Beside,
}

/// Whether the user is asked before a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The user is not asked.
    Given,
    /// The user is asked each time.
    Asked,
}

/// Parses a command up to its `;` or `+`.
///
/// # Errors
/// If the words are not a valid command, with GNU find's message.
pub(crate) fn parse(
    args: &mut Arguments<'_>,
    place: Where,
    consent: Consent,
) -> Result<Box<dyn Leaf>, FindError> {
    let words = words::read(args, place, consent)?;
    let limits = Limits::of_process().ok_or_else(|| {
        let reason = "The environment is too large for exec().";
        FindError::bad("-exec", reason)
    })?;
    Ok(match words.ending {
        Ending::Semicolon => Box::new(single::Single::new(words.words, place, consent, limits)),
        Ending::Plus => Box::new(batch::Batch::new(words.words, place, limits)?),
    })
}
