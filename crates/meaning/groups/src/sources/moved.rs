//! Files that the user moved: "Others: Adjust manually" (the paper's Table 4).

use std::collections::HashMap;
use std::sync::Arc;

use trawl_model::path;

use crate::directory::Directory;
use crate::edits::Edits;
use crate::hints::{Hints, Sought};
use crate::identity::{Extent, Identity};
use crate::rules::MOVED;
use crate::source::{Claim, Claims, Source, Why, claim_each};

/// Claims files that the user moved.
#[derive(Debug)]
pub(crate) struct Moved {
    edits: Edits,
    groups: HashMap<Vec<u8>, Arc<Identity>>,
}

impl Moved {
    pub(crate) fn new(edits: Edits) -> Moved {
        let rule: Arc<str> = MOVED.into();
        let names = edits.iter().map(|(_, group)| group.to_vec());
        let groups = names.map(|name| {
            let group = Identity::new(&rule, &[&name], name.clone(), Extent::Everywhere);
            (name, group)
        });
        Moved {
            groups: groups.collect(),
            edits,
        }
    }

    fn claim_of(&self, found: (&[u8], &[u8])) -> Option<Claim> {
        let (moved, group) = found;
        Some(Claim {
            group: Arc::clone(self.groups.get(group)?),
            why: Why::Moved(moved.into()),
        })
    }
}

impl Source for Moved {
    fn hint(&self, sought: &Sought<'_>, hints: &mut Hints) {
        for (path, name) in self.edits.iter() {
            let group = self.groups.get(name);
            if group.is_some_and(|group| sought.admits(group)) {
                hints.entry(path);
                hints.found();
            }
        }
    }

    fn claim(&mut self, dir: &Directory<'_>, claims: &mut Claims) {
        if self.edits.is_empty() {
            return;
        }
        let above = self.edits.nearest(dir.path);
        let above = above.and_then(|found| self.claim_of(found));
        claim_each(dir, claims, |at| {
            let path = path::join(dir.path, &dir.entries[at].name);
            let own = self.edits.get(&path).map(|group| (&path[..], group));
            own.and_then(|found| self.claim_of(found))
                .or_else(|| above.clone())
        });
    }
}
