//! Learnt groups as a source of groups: what the asking user's programs opened together
//! ([`trawl_relations::groups`]).

use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use trawl_groups::source::{Claim, Claims, Source, Why, claim_each};
use trawl_groups::{Directory, Extent, Grouper, Hints, Identity, Sought};
use trawl_model::path::{join, split};
use trawl_relations::{LearntGroup, Place, RelationError, learnt_groups};

/// Name of the rule of learnt groups.
pub(super) const RULE: &str = "learnt";

/// Claims files that programs opened together.
#[derive(Debug, Default)]
struct Learnt {
    /// Groups by directory, as stored, and by name.
    members: HashMap<Vec<u8>, HashMap<Vec<u8>, Arc<Identity>>>,
}

/// Adds the groups that this process's user has learnt, if there are any. Returns why they are left
/// out if the record is another user's: it says nothing about this one.
pub(super) fn add(grouper: &mut Grouper) -> Result<Option<String>, RelationError> {
    let place = match Place::of_process() {
        // A user without a home directory has learnt nothing.
        Err(RelationError::NoHome) => return Ok(None),
        place => place?,
    };
    let groups = match learnt_groups(&place) {
        Err(error) if error.is_anothers() => {
            return Ok(Some(format!("learnt groups are left out: {error}")));
        }
        groups => groups?,
    };
    if !groups.is_empty() {
        grouper.add(Box::new(Learnt::new(groups)));
    }
    Ok(None)
}

impl Learnt {
    fn new(groups: Vec<LearntGroup>) -> Learnt {
        let rule: Arc<str> = RULE.into();
        let mut all = Learnt::default();
        for group in groups {
            let key = group.id.as_bytes();
            let identity = Identity::new(&rule, &[key], group.name, Extent::Everywhere);
            for path in group.members {
                let path = path.into_os_string().into_vec();
                if let Some((dir, name)) = split(&path) {
                    let names = all.members.entry(dir.to_vec()).or_default();
                    names.insert(name.to_vec(), Arc::clone(&identity));
                }
            }
        }
        all
    }
}

impl Source for Learnt {
    fn hint(&self, sought: &Sought<'_>, hints: &mut Hints) {
        for (dir, names) in &self.members {
            for (name, group) in names {
                if sought.admits(group) {
                    hints.file(&join(dir, name));
                    hints.found();
                }
            }
        }
    }

    fn claim(&mut self, dir: &Directory<'_>, claims: &mut Claims) {
        let Some(names) = self.members.get(dir.path) else {
            return;
        };
        claim_each(dir, claims, |at| {
            let group = names.get(&dir.entries[at].name)?;
            Some(Claim {
                group: Arc::clone(group),
                why: Why::Learnt,
            })
        });
    }
}
