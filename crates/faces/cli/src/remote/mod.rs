//! Command lines that another machine answers, and command lines that are answered here for another
//! machine (`trawl answer`).
//!
//! - `questions`: the commands and options that a server answers.
//! - `servers`: which server is asked.
//! - `asking`: sends a command line, and prints the answers one after the other.
//! - `merging`: merges the rows of several answers into one order.
//! - `mapped`: questions of somebody whose machine shows trees of the server at other places.
//!
//! Invariants: a server answers only what the table in `questions` lists, whatever a client sends:
//! it parses the words with the parsers of the command line. Nothing is run or written there.

mod asking;
mod mapped;
mod merging;
mod questions;
mod servers;

pub(crate) use merging::Merged;

use std::ffi::OsString;

use crate::arguments::Arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Asks the servers that the command line or the user's settings name; `None` if the question is
/// answered here.
///
/// # Errors
/// If the question cannot be asked there, or is one that is not answered for other machines.
pub(crate) fn elsewhere(
    arguments: &Arguments,
    words: &[OsString],
) -> Result<Option<Exit>, Failure> {
    if arguments.answers {
        trawl_find::restrict(questions::predicate_is_refused);
        if arguments.gives_rows {
            output::give_rows();
        }
        if let Some(mapping) = &arguments.mapping {
            mapped::begin(mapping, arguments)?;
        }
        return questions::check(arguments).map(|()| None);
    }
    let servers = servers::of(arguments)?;
    match servers.is_empty() {
        true => Ok(None),
        false => asking::ask(&servers, arguments, words).map(Some),
    }
}
