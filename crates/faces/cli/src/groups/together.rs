//! The groups that the tests `-group-of` and `-in-group` and the views of groups ask for, and the
//! relations of `-related-to`.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use trawl_find::grouping::{Group, Grouping, Members, Relations};
use trawl_groups::{Identity, Question};
use trawl_model::path::split;
use trawl_model::sync::lock;
use trawl_session::{Options, Session, silent};

use crate::again;
use crate::arguments::Manner;
use crate::failure::{Failure, quoted};
use crate::related;
use crate::settings;

/// The indexes whose rows make groups.
#[derive(Debug)]
pub(crate) enum Indexes {
    /// One that was named, or those of the process.
    Of(Option<PathBuf>),
    /// These, in a process that answers for a mount.
    These(Vec<PathBuf>),
}

/// The groups of files, computed from indexes when they are asked for, and related files, which are
/// looked at now.
#[derive(Debug)]
pub(crate) struct Together {
    /// The indexes.
    pub(crate) indexes: Indexes,
    /// Options of the question.
    pub(crate) manner: Manner,
    /// Messages about learnt groups that were left out, and about files that could not be read.
    pub(crate) issues: Mutex<Vec<String>>,
}

impl Together {
    /// Returns the options of a session. Nobody reads what a process says that answers for a mount.
    fn options(&self) -> Options<'static> {
        match self.indexes {
            Indexes::Of(_) => self.manner.options(),
            Indexes::These(_) => Options {
                listener: &silent,
                ..self.manner.options()
            },
        }
    }

    /// Returns the members of the group with this id or name, as the asking user sees them.
    pub(crate) fn members_named(&self, group: &[u8]) -> Result<Members, Failure> {
        self.ask(|question| {
            let mut members = Members::default();
            question.members_of(group, &mut |member| {
                members.add(member.dir, &member.entry.name);
                ControlFlow::Continue(())
            })?;
            Ok(members)
        })
    }

    /// Asks a question about groups.
    fn ask<A>(
        &self,
        question: impl Fn(&mut Question<'_, 'static>) -> Result<A, Failure>,
    ) -> Result<A, Failure> {
        self.manner.prepare();
        let indexes = match &self.indexes {
            Indexes::Of(index) => settings::indexes_to_ask(index.clone())?,
            Indexes::These(indexes) => indexes.clone(),
        };
        again::ask(|| {
            let (grouper, left_out) = super::grouper(None)?;
            if let Some(why) = left_out {
                let mut issues = lock(&self.issues);
                if !issues.contains(&why) {
                    issues.push(why);
                }
            }
            let mut session = Session::open(&indexes, self.options())?;
            question(&mut Question::new(&mut session, grouper))
        })
    }
}

fn members(question: &mut Question<'_, '_>, group: &Identity) -> Result<Members, Failure> {
    let mut members = Members::default();
    question.members(group, &mut |member| {
        members.add(member.dir, &member.entry.name);
        ControlFlow::Continue(())
    })?;
    Ok(members)
}

/// Says why there is no answer.
pub(crate) fn why(what: &str, failure: &Failure) -> String {
    match failure.is_missing_index() {
        true => {
            format!("{what}: groups are computed from an index, and there is none: {failure}")
        }
        false => format!("{what}: {failure}"),
    }
}

impl Grouping for Together {
    fn members_with(&self, path: &[u8]) -> Result<Members, String> {
        let found = self.ask(|question| {
            let explained = question.explain(OsStr::from_bytes(path))?;
            let group = explained.map(|found| found.claim.group);
            group.map(|group| members(question, &group)).transpose()
        });
        match found {
            Ok(Some(members)) => Ok(members),
            Ok(None) => Err(format!(
                "-group-of: the group of {} is not known, because the index does not show the file",
                quoted(path)
            )),
            Err(failure) => Err(why("-group-of", &failure)),
        }
    }

    fn members_of(&self, group: &[u8]) -> Result<Members, String> {
        let found = self.members_named(group);
        found.map_err(|failure| why("-in-group", &failure))
    }

    fn groups_below(&self, dirs: &[Vec<u8>]) -> Result<Vec<Group>, String> {
        let dirs: Vec<OsString> = dirs.iter().cloned().map(OsString::from_vec).collect();
        let found = self.ask(|question| Ok(question.identities(&dirs)?));
        let found = found.map_err(|failure| why("groups", &failure))?;
        let named = found.into_iter().map(|group| Group {
            name: group.name.to_vec(),
            id: group.id.to_string(),
        });
        Ok(named.collect())
    }

    fn related_to(&self, path: &[u8], wanted: &Relations) -> Result<Members, String> {
        let file = Path::new(OsStr::from_bytes(path));
        let index = match &self.indexes {
            Indexes::Of(index) => index.clone(),
            Indexes::These(_) => None,
        };
        let found = related::all_of(file, index, wanted);
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
