//! Projects by markers: "All source files, document files and generated files belonging to the same
//! project" (the paper's Table 4).
//!
//! A repository is a project wherever it lies, as `git rev-parse --show-toplevel` says. Other markers
//! count only outside of projects: the outermost directory is the top, so a program with twenty
//! makefiles is one project.

use std::sync::Arc;

use trawl_model::path::join;
use trawl_text::glob::Case;

use super::{below_directory, last_name};
use crate::directory::{Directory, Trail};
use crate::error::GroupsError;
use crate::hints::{Hints, Sought};
use crate::rules::{Names, ProjectsRule};
use crate::source::{Claim, Claims, Look, Source, Why, claim_each};

/// Claims files below tops of projects.
#[derive(Debug)]
pub(crate) struct Projects {
    rule: Arc<str>,
    repositories: Names,
    /// Markers that are names of files.
    files: Names,
    /// Markers in a directory below: the first name, and the whole.
    deeper: Vec<(Vec<u8>, Vec<u8>)>,
    never: Vec<Vec<Names>>,
    above: Trail<Option<Claim>>,
    current: Option<Claim>,
}

impl Projects {
    pub(crate) fn new(rule: &ProjectsRule) -> Projects {
        let (deeper, files): (Vec<String>, Vec<String>) = rule
            .markers
            .iter()
            .cloned()
            .partition(|marker| marker.contains('/'));
        let deeper = deeper.into_iter().map(|marker| {
            let first = marker.split('/').next().unwrap_or_default();
            (first.as_bytes().to_vec(), marker.as_bytes().to_vec())
        });
        Projects {
            rule: rule.name.as_str().into(),
            repositories: Names::new(&rule.repositories, Case::Sensitive),
            files: Names::new(&files, Case::Sensitive),
            deeper: deeper.collect(),
            never: rule.never.iter().map(|path| parts(path)).collect(),
            above: Trail::default(),
            current: None,
        }
    }

    fn is_never(&self, dir: &[u8]) -> bool {
        let names: Vec<&[u8]> = dir.split(|byte| *byte == b'/').skip(1).collect();
        self.never.iter().any(|parts| {
            let mut pairs = parts.iter().zip(&names);
            parts.len() == names.len() && pairs.all(|(part, name)| part.matches(name))
        })
    }

    /// Returns the marker of a repository.
    fn repository(&self, dir: &Directory<'_>) -> Option<Vec<u8>> {
        let mut names = dir.entries.iter().map(|entry| &entry.name);
        names.find(|name| self.repositories.matches(name)).cloned()
    }

    /// Returns the marker of another project.
    fn marker(&self, dir: &Directory<'_>, look: &dyn Look) -> Result<Option<Vec<u8>>, GroupsError> {
        let mut files = dir.entries.iter().filter(|entry| !entry.is_dir);
        if let Some(found) = files.find(|entry| self.files.matches(&entry.name)) {
            return Ok(Some(found.name.clone()));
        }
        for (first, marker) in &self.deeper {
            let is_there = dir.entry(first).is_some_and(|entry| entry.is_dir);
            if is_there && look.is_file(&join(dir.path, marker))? {
                return Ok(Some(marker.clone()));
            }
        }
        Ok(None)
    }

    /// Returns the project of a directory; `within` is that of the directory above.
    fn project(
        &self,
        dir: &Directory<'_>,
        within: Option<Claim>,
        look: &dyn Look,
    ) -> Result<Option<Claim>, GroupsError> {
        if self.is_never(dir.path) {
            return Ok(within);
        }
        let found = match (self.repository(dir), &within) {
            (Some(found), _) => Some(found),
            (None, Some(_)) => None,
            (None, None) => self.marker(dir, look)?,
        };
        let Some(marker) = found else {
            return Ok(within);
        };
        Ok(Some(Claim {
            group: below_directory(&self.rule, dir.path, last_name(dir.path)),
            why: Why::Marker(join(dir.path, &marker).into()),
        }))
    }
}

/// Returns the patterns of the names in a path; none for `/`.
fn parts(path: &str) -> Vec<Names> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts
        .map(|part| Names::new(&[part.to_owned()], Case::Sensitive))
        .collect()
}

impl Source for Projects {
    fn hint(&self, sought: &Sought<'_>, hints: &mut Hints) {
        hints.below_directories(sought, &self.rule);
    }

    fn begin(&mut self) {
        self.above.clear();
    }

    fn enter(&mut self, dir: &Directory<'_>, look: &dyn Look) -> Result<(), GroupsError> {
        let within = self.above.nearest(dir.path).cloned().flatten();
        self.current = self.project(dir, within, look)?;
        self.above.push(dir.path, self.current.clone());
        Ok(())
    }

    fn claim(&mut self, dir: &Directory<'_>, claims: &mut Claims) {
        if self.current.is_some() {
            claim_each(dir, claims, |_| self.current.clone());
        }
    }
}
