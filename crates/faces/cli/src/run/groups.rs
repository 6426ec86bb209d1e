//! `trawl run --fetch-groups`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use trawl_groups::{Grouper, GroupsError, Question};
use trawl_model::path::split;
use trawl_query::{Index, Located};
use trawl_run::RunError;
use trawl_run::learning::{Together, fetch_groups};
use trawl_session::{Options, Session, settings, silent};

use super::{FAILED, RunArgs, teller};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::groups::grouper;
use crate::output::say;

/// Groups with more files than this are left alone: what one file says about so many others is
/// little.
const GROUP_MEMBERS_MAX: usize = 4096;

/// Runs the command, and has the rest of a file's group fetched once the file is opened.
pub(super) fn run(index: Option<PathBuf>, args: &RunArgs) -> Exit {
    // The index is that of the place where this program begins.
    let indexes = settings::indexes_to_ask(index).map_err(Failure::from);
    let together = move || match indexes.and_then(|indexes| Known::open(&indexes)) {
        Ok(known) => Groups(Some(known)),
        Err(failure) => {
            say(format_args!("no groups are fetched: {failure}"));
            Groups(None)
        }
    };
    match fetch_groups(&args.command, &teller(), together) {
        Ok(code) => Exit::Command(code),
        Err(error @ RunError::Usage(_)) => {
            say(format_args!(
                "{error}; run the command without --fetch-groups"
            ));
            FAILED
        }
        Err(error) => {
            say(error);
            FAILED
        }
    }
}

/// The groups of the files of the user's indexes, if they could be opened.
struct Groups(Option<Known>);

/// The groups, as of when the command first opened a file: they only say what to fetch.
struct Known {
    index: Arc<Index>,
    grouper: Option<Grouper>,
}

impl Known {
    fn open(indexes: &[PathBuf]) -> Result<Known, Failure> {
        // Why learnt groups are missing, if they are, is no matter of a fetch.
        let (grouper, _) = grouper(None)?;
        let session = Session::open(indexes, quietly())?;
        Ok(Known {
            index: session.share_index(),
            grouper: Some(grouper),
        })
    }

    /// Returns the other files of a file's group; none if the group is too large.
    fn others(&mut self, file: &[u8]) -> Result<Vec<Vec<u8>>, GroupsError> {
        if !matches!(self.index.locate(file)?, Located::Found(_)) {
            return Ok(Vec::new());
        }
        let Some(grouper) = self.grouper.take() else {
            return Ok(Vec::new());
        };
        let mut session = Session::over(Arc::clone(&self.index), quietly());
        let mut question = Question::new(&mut session, grouper);
        let found = others(&mut question, file);
        self.grouper = Some(question.into_grouper());
        found
    }
}

fn quietly() -> Options<'static> {
    Options {
        listener: &silent,
        ..Options::default()
    }
}

fn others(question: &mut Question<'_, '_>, file: &[u8]) -> Result<Vec<Vec<u8>>, GroupsError> {
    use std::os::unix::ffi::OsStrExt;
    let Some(found) = question.explain(std::ffi::OsStr::from_bytes(file))? else {
        return Ok(Vec::new());
    };
    let mut members = Vec::new();
    question.members(&found.claim.group, &mut |member| {
        members.push(member.path());
        match members.len() > GROUP_MEMBERS_MAX {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    match members.len() > GROUP_MEMBERS_MAX {
        true => Ok(Vec::new()),
        false => Ok(nearest_first(members, file)),
    }
}

/// Returns the members other than this one: those that follow it in its directory, then those before
/// it there, then the others.
fn nearest_first(members: Vec<Vec<u8>>, file: &[u8]) -> Vec<Vec<u8>> {
    let directory = |path: &[u8]| split(path).map(|(dir, _)| dir.to_vec());
    let own = directory(file);
    let mut others: Vec<Vec<u8>> = members.into_iter().filter(|path| path != file).collect();
    others.sort_by_cached_key(|path| {
        let is_elsewhere = directory(path) != own;
        (is_elsewhere, !is_elsewhere && path[..] < *file)
    });
    others
}

impl Together for Groups {
    fn others(&mut self, file: &[u8]) -> Vec<Vec<u8>> {
        // A file whose group cannot be told has nothing fetched.
        let known = self.0.as_mut();
        known.map_or_else(Vec::new, |known| known.others(file).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_files_come_first() {
        let paths =
            |all: &[&str]| -> Vec<Vec<u8>> { all.iter().map(|one| (*one).into()).collect() };
        let members = paths(&[
            "/p/Makefile",
            "/p/s/a.c",
            "/p/s/b.c",
            "/p/s/c.c",
            "/p/t/d.c",
        ]);
        let expected = paths(&["/p/s/c.c", "/p/s/a.c", "/p/Makefile", "/p/t/d.c"]);
        assert_eq!(nearest_first(members, b"/p/s/b.c"), expected);
    }
}
