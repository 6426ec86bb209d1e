//! The commands that `-exec` and its relatives run.
//!
//! | part | what it knows |
//! |---|---|
//! | `words` | how a command is read, and filled in |
//! | `beside` | the directory that an entry lies in, and its name there |
//! | `limits` | how many arguments a command may have |
//! | `launch` | how a command is run, and what is told of its end |
//! | `single` | a command for each entry (`;`) |
//! | `batch` | a command for many entries (`{} +`) |
//! | `consent` | the question of `-ok` |
//!
//! What was printed is written out before a command runs. Commands read what
//! find reads, but for those of `-ok`, which read nothing.

mod batch;
mod beside;
mod consent;
mod launch;
mod limits;
mod single;
mod words;

use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use words::Ending;

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// Where the search was begun; it is given the path.
    Start,
    /// In the entry's directory; it is given `./` and the name.
    Beside,
}

/// Whether somebody is asked before a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// No.
    Given,
    /// Each time.
    Asked,
}

/// Reads a command up to its `;` or `+`.
///
/// # Errors
/// If it is none, in find's words.
pub(crate) fn parse(
    args: &mut Arguments<'_>,
    place: Where,
    consent: Consent,
) -> Result<Box<dyn Leaf>, FindError> {
    let words = words::read(args, place, consent)?;
    let limits = limits::Limits::of_process()?;
    Ok(match words.ending {
        Ending::Semicolon => Box::new(single::Single::new(words.words, place, consent, limits)),
        Ending::Plus => Box::new(batch::Batch::new(words.words, place, limits)?),
    })
}
