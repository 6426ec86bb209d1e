//! The groups that `trawl find -group-of` asks for, and the relations of `-related-to`.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use trawl_find::grouping::{Grouping, Members};
use trawl_groups::Question;
use trawl_model::path::split;
use trawl_model::sync::lock;

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::related;
use crate::scope::Session;

/// The groups of files, computed from an index, and related files, which are looked at now.
#[derive(Debug)]
pub(crate) struct Together {
    /// The index, if one was named.
    pub(crate) index: Option<PathBuf>,
    /// Options of the question.
    pub(crate) manner: Manner,
    /// What could not be looked at when related files were asked for.
    pub(crate) issues: Mutex<Vec<String>>,
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

    fn related_to(&self, path: &[u8]) -> Result<Members, String> {
        let file = Path::new(OsStr::from_bytes(path));
        let found = related::all_of(file, self.index.clone());
        let (paths, issues) = found.map_err(|failure| format!("-related-to: {failure}"))?;
        lock(&self.issues).extend(issues);
        let mut members = Members::default();
        for path in &paths {
            if let Some((dir, name)) = split(path.as_os_str().as_bytes()) {
                members.add(dir, name);
            }
        }
        Ok(members)
    }
}
