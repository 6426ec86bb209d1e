//! The groups that `trawl find -group-of` asks for.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_find::grouping::{Grouping, Members};
use trawl_groups::Question;

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::scope::Session;

/// The groups of files, computed from an index.
#[derive(Debug)]
pub(crate) struct Together {
    /// The index, if one was named.
    pub(crate) index: Option<PathBuf>,
    /// Options of the question.
    pub(crate) manner: Manner,
}

impl Together {
    fn members(&self, path: &[u8]) -> Result<Option<Members>, Failure> {
        let grouper = super::grouper(None)?;
        let mut session = Session::open(self.index.clone(), self.manner, Exit::Fatal)?;
        let mut question = Question::new(&mut session, grouper);
        let Some(found) = question.explain(OsStr::from_bytes(path))? else {
            return Ok(None);
        };
        let mut members = Members::default();
        question.members(&found.claim.group, &mut |member| {
            members.add(member.dir, &member.entry.name);
            ControlFlow::Continue(())
        })?;
        Ok(Some(members))
    }
}

impl Grouping for Together {
    fn members_with(&self, path: &[u8]) -> Result<Members, String> {
        match self.members(path) {
            Ok(Some(members)) => Ok(members),
            Ok(None) => Err(format!(
                "-group-of: the group of {} is not known, because the index does not show the file",
                quoted(path)
            )),
            Err(failure) if failure.is_missing_index() => Err(format!(
                "-group-of: groups are computed from an index, and there is none: {failure}"
            )),
            Err(failure) => Err(format!("-group-of: {failure}")),
        }
    }
}
