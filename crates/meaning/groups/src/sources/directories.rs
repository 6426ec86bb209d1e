//! Files by directory: "All files stored in the same directory" (the paper's Table 4).

use std::sync::Arc;

use trawl_model::path::display;
use trawl_text::glob::Case;

use super::in_directory;
use crate::directory::Directory;
use crate::hints::{Hints, Sought};
use crate::rules::{DirectoriesRule, Names, REST};
use crate::source::{Claim, Claims, Source, Why, claim_each};

/// Claims the files of each directory.
#[derive(Debug)]
pub(crate) struct Directories {
    rule: Arc<str>,
    /// Patterns of names; `None` for all.
    files: Option<Names>,
}

impl Directories {
    pub(crate) fn new(rule: &DirectoriesRule) -> Directories {
        Directories {
            rule: rule.name.as_str().into(),
            files: match rule.files.is_empty() {
                true => None,
                false => Some(Names::new(&rule.files, Case::Folded)),
            },
        }
    }

    /// Returns the source that claims all files that are left.
    pub(crate) fn rest() -> Directories {
        Directories {
            rule: REST.into(),
            files: None,
        }
    }
}

impl Source for Directories {
    fn hint(&self, sought: &Sought<'_>, hints: &mut Hints) {
        hints.in_directories(sought, &self.rule);
    }

    fn claim(&mut self, dir: &Directory<'_>, claims: &mut Claims) {
        let mut group = None;
        claim_each(dir, claims, |at| {
            let name = &dir.entries[at].name;
            if self.files.as_ref().is_some_and(|all| !all.matches(name)) {
                return None;
            }
            let new = || in_directory(&self.rule, dir.path, display(dir.path).to_vec());
            Some(Claim {
                group: Arc::clone(group.get_or_insert_with(new)),
                why: Why::Directory,
            })
        });
    }
}
