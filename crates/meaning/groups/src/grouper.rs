//! Asks the sources of groups in order.

use crate::directory::Directory;
use crate::edits::Edits;
use crate::error::GroupsError;
use crate::hints::{Hints, Sought};
use crate::rules::{Rule, Rules};
use crate::source::{Claim, Look, Source};
use crate::sources::{Albums, Directories, Events, Moved, Packages, Projects};

/// The sources of groups, in the order in which they are asked.
#[derive(Debug)]
pub struct Grouper {
    /// All but the last, which claims what is left.
    sources: Vec<Box<dyn Source>>,
    /// Number of sources before those that claim every file.
    specific: usize,
    rest: Directories,
    claims: Vec<Option<Claim>>,
}

impl Grouper {
    /// Returns the sources of these rules, after what the user moved. Reads the lists of packages.
    ///
    /// # Errors
    /// If lists of packages cannot be read.
    pub fn new(rules: &Rules, edits: Edits) -> Result<Grouper, GroupsError> {
        let mut grouper = Grouper {
            sources: vec![Box::new(Moved::new(edits))],
            specific: 1,
            rest: Directories::rest(),
            claims: Vec::new(),
        };
        for rule in &rules.rules {
            grouper.sources.push(match rule {
                Rule::Packages(rule) => Box::new(Packages::new(rule)?),
                Rule::Projects(rule) => Box::new(Projects::new(rule)),
                Rule::Albums(rule) => Box::new(Albums::new(rule)),
                Rule::Events(rule) => Box::new(Events::new(rule)),
                Rule::Directories(rule) => Box::new(Directories::new(rule)),
            });
            grouper.specific += usize::from(!rule.is_of_all_files());
        }
        Ok(grouper)
    }

    /// Adds a source, which is asked after all others but those that claim every file.
    pub fn add(&mut self, source: Box<dyn Source>) {
        self.sources.insert(self.specific, source);
        self.specific += 1;
    }

    /// Returns where the members of a group that is sought can lie.
    pub(crate) fn hints(&self, sought: &Sought<'_>) -> Hints {
        let mut hints = Hints::default();
        for source in &self.sources {
            source.hint(sought, &mut hints);
        }
        self.rest.hint(sought, &mut hints);
        hints
    }

    /// Begins at the top of a tree: the directories above it are entered next, then the tree.
    pub fn begin(&mut self) {
        self.sources.iter_mut().for_each(|source| source.begin());
    }

    /// Takes note of a directory, each before those below it.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn enter(&mut self, dir: &Directory<'_>, look: &dyn Look) -> Result<(), GroupsError> {
        let mut sources = self.sources.iter_mut();
        sources.try_for_each(|source| source.enter(dir, look))
    }

    /// Returns the claims for the entries of the directory that was entered last: one for each file,
    /// `None` for directories.
    pub fn claims(&mut self, dir: &Directory<'_>) -> &[Option<Claim>] {
        self.claims.clear();
        self.claims.resize(dir.entries.len(), None);
        for source in &mut self.sources {
            source.claim(dir, &mut self.claims);
        }
        self.rest.claim(dir, &mut self.claims);
        &self.claims
    }
}
