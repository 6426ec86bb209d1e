//! Tracks by directory: "Music in the same album, videos belonging to the same episode or event"
//! (the paper's Table 4).

use std::sync::Arc;

use trawl_model::path::split;
use trawl_text::glob::Case;

use super::{below_directory, last_name};
use crate::directory::Directory;
use crate::hints::{Hints, Sought};
use crate::rules::{AlbumsRule, Names};
use crate::source::{Claim, Claims, Source, Why, claim_each};

/// Claims the tracks of a directory, and what accompanies them.
#[derive(Debug)]
pub(crate) struct Albums {
    rule: Arc<str>,
    files: Names,
    beside: Names,
    discs: Names,
}

impl Albums {
    pub(crate) fn new(rule: &AlbumsRule) -> Albums {
        Albums {
            rule: rule.name.as_str().into(),
            files: Names::new(&rule.files, Case::Folded),
            beside: Names::new(&rule.beside, Case::Folded),
            discs: Names::new(&rule.discs, Case::Folded),
        }
    }

    /// Returns the directory of the album: the one above if this one holds one of several discs.
    fn place<'d>(&self, dir: &'d [u8]) -> &'d [u8] {
        match split(dir) {
            Some((above, name)) if !above.is_empty() && self.discs.matches(name) => above,
            _ => dir,
        }
    }
}

impl Source for Albums {
    fn hint(&self, sought: &Sought<'_>, hints: &mut Hints) {
        hints.below_directories(sought, &self.rule);
    }

    fn claim(&mut self, dir: &Directory<'_>, claims: &mut Claims) {
        let place = self.place(dir.path);
        let mut group = None;
        claim_each(dir, claims, |at| {
            if !self.files.matches(&dir.entries[at].name) {
                return None;
            }
            let new = || below_directory(&self.rule, place, last_name(place));
            Some(Claim {
                group: Arc::clone(group.get_or_insert_with(new)),
                why: Why::Album,
            })
        });
        let Some(group) = group else { return };
        claim_each(dir, claims, |at| {
            let is_beside = self.beside.matches(&dir.entries[at].name);
            is_beside.then(|| Claim {
                group: Arc::clone(&group),
                why: Why::Beside,
            })
        });
    }
}
