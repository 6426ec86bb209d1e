//! Questions about groups, answered from the rows of an index that the asking user can read.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use trawl_model::{Regions, path};
use trawl_query::{Located, Start};
use trawl_session::{Follow, Session};

use crate::directory::{Directory, Entry};
use crate::error::GroupsError;
use crate::grouper::Grouper;
use crate::hints::{OtherPlaces, Sought, Whereabouts};
use crate::identity::{Extent, GroupId, Identity};
use crate::scope::{IndexLook, Place, Reach, Sight, places, roots};
use crate::source::Claim;
use crate::summary::{Collect, Growing, Summary, Wanted};

/// Most ids that a message about an ambiguous name has.
const IDS_SHOWN: usize = 8;

/// A member of a group.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The directory, as stored.
    pub dir: &'a [u8],
    /// The entry.
    pub entry: &'a Entry,
    /// The group, and why the file belongs to it.
    pub claim: &'a Claim,
}

impl Member<'_> {
    /// Returns the path, as stored.
    #[must_use]
    pub fn path(&self) -> Vec<u8> {
        path::join(self.dir, &self.entry.name)
    }
}

/// A file, and why it belongs to its group.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The path, as stored.
    pub path: Vec<u8>,
    /// The group, and the reason.
    pub claim: Claim,
}

/// Questions of one user about one index.
pub struct Question<'q, 's> {
    session: &'q mut Session<'s>,
    grouper: Grouper,
}

impl<'q, 's> Question<'q, 's> {
    /// Returns the questions that this session answers, about these groups.
    pub fn new(session: &'q mut Session<'s>, grouper: Grouper) -> Question<'q, 's> {
        Question { session, grouper }
    }

    /// Ends the questions, and returns the groups for further ones.
    #[must_use]
    pub fn into_grouper(self) -> Grouper {
        self.grouper
    }

    /// Returns the groups with members below the paths, each with a summary of these members;
    /// without paths, all groups. Only groups are returned whose summary admits a file that is
    /// wanted. The order means nothing.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn list(
        &mut self,
        below: &[OsString],
        wanted: &Wanted,
    ) -> Result<Vec<(Arc<Identity>, Summary)>, GroupsError> {
        let collect = match wanted.needs_words() {
            true => Collect::Words,
            false => Collect::Numbers,
        };
        let mut all: HashMap<GroupId, (Arc<Identity>, Growing)> = HashMap::new();
        let mut number = 0;
        let places = self.places(below)?;
        self.each_directory(&places, Sight::ALL, &mut |dir, claims| {
            number += 1;
            for (entry, claim) in files(dir, claims) {
                let new = || (Arc::clone(&claim.group), Growing::default());
                let (_, growing) = all.entry(claim.group.id).or_insert_with(new);
                growing.add(dir, number, entry, collect);
            }
            ControlFlow::Continue(())
        })?;
        let all = all.into_values();
        let all = all.map(|(group, growing)| (group, growing.finish(collect)));
        Ok(all
            .filter(|(_, summary)| summary.may_hold(wanted))
            .collect())
    }

    /// Returns the groups with members below the paths; without paths, all groups. The order means
    /// nothing.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn identities(&mut self, below: &[OsString]) -> Result<Vec<Arc<Identity>>, GroupsError> {
        let mut all: HashMap<GroupId, Arc<Identity>> = HashMap::new();
        let places = self.places(below)?;
        self.each_directory(&places, Sight::names(None), &mut |dir, claims| {
            for (_, claim) in files(dir, claims) {
                let group = &claim.group;
                all.entry(group.id).or_insert_with(|| Arc::clone(group));
            }
            ControlFlow::Continue(())
        })?;
        Ok(all.into_values().collect())
    }

    /// Returns the group of this id or name.
    ///
    /// # Errors
    /// If no group has this id or name, if several have the name, or if the index cannot be read.
    pub fn find(&mut self, word: &[u8]) -> Result<Arc<Identity>, GroupsError> {
        let is_id = Sought::new(word).id().is_some();
        self.members_of(word, &mut |_| match is_id {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    /// Passes the members of the group of this id or name to `visit`, until the visitor ends the
    /// answer, and returns the group. The entries have names only. Reads only directories that the
    /// members can be in.
    ///
    /// # Errors
    /// If no group has this id or name, if several have the name, or if the index cannot be read. The
    /// caller must then drop the members that it has got.
    pub fn members_of(
        &mut self,
        word: &[u8],
        visit: &mut dyn FnMut(&Member<'_>) -> ControlFlow<()>,
    ) -> Result<Arc<Identity>, GroupsError> {
        let sought = Sought::new(word);
        let mut found: HashMap<GroupId, Arc<Identity>> = HashMap::new();
        let places = self.places(&[])?;
        let regions = self.regions(&sought, &places)?;
        let sight = Sight::names(regions.as_ref());
        self.each_directory(&places, sight, &mut |dir, claims| {
            let mut members = files(dir, claims).filter(|(_, claim)| sought.admits(&claim.group));
            members.try_for_each(|(entry, claim)| {
                let group = &claim.group;
                found.entry(group.id).or_insert_with(|| Arc::clone(group));
                visit(&Member {
                    dir: dir.path,
                    entry,
                    claim,
                })
            })
        })?;
        only(word, found)
    }

    /// Returns the directories that members of the group can be in, and those above them; `None` if
    /// they can be anywhere.
    fn regions(
        &self,
        sought: &Sought<'_>,
        places: &[Place],
    ) -> Result<Option<Regions>, GroupsError> {
        let hints = self.grouper.hints(sought);
        let mut regions = match hints.whereabouts(sought) {
            Whereabouts::Anywhere => return Ok(None),
            Whereabouts::In(mut regions, names) => {
                for place in places {
                    place.directories_named(self.session, &names, &mut regions)?;
                }
                regions
            }
            Whereabouts::Of(directories, others) => {
                let mut regions = Regions::default();
                for place in places {
                    place.each_path(self.session, &mut |dir| {
                        directories.look_at(dir, &mut regions);
                    })?;
                }
                if regions.is_empty() && others == OtherPlaces::Anywhere {
                    return Ok(None);
                }
                regions
            }
        };
        regions.add_those_above();
        Ok(Some(regions))
    }
}

/// Returns the only group that was found for the word.
fn only(word: &[u8], found: HashMap<GroupId, Arc<Identity>>) -> Result<Arc<Identity>, GroupsError> {
    let mut found: Vec<Arc<Identity>> = found.into_values().collect();
    found.sort_by_key(|group| group.id);
    match &found[..] {
        [] => Err(GroupsError::Unknown { name: word.into() }),
        [only] => Ok(Arc::clone(only)),
        several => {
            let ids = several.iter().take(IDS_SHOWN).map(|one| one.id.to_string());
            Err(GroupsError::Ambiguous {
                name: word.into(),
                ids: ids.collect::<Vec<String>>().join(", "),
            })
        }
    }
}

impl Question<'_, '_> {
    /// Passes the members of a group to `visit`, in path order, until the visitor ends the answer.
    /// Reads only the part of the index that the members can be in.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn members(
        &mut self,
        group: &Identity,
        visit: &mut dyn FnMut(&Member<'_>) -> ControlFlow<()>,
    ) -> Result<(), GroupsError> {
        let (places, regions) = match &group.extent {
            Extent::Everywhere => {
                let places = self.places(&[])?;
                let regions = self.regions(&Sought::of_id(group.id), &places)?;
                (places, regions)
            }
            Extent::Below(dir) => match self.places_at(dir, Reach::Below)? {
                // The place lies above what is indexed.
                none if none.is_empty() => (self.places(&[])?, None),
                places => (places, None),
            },
            Extent::In(dir) => (self.places_at(dir, Reach::Itself)?, None),
        };
        let sight = Sight {
            regions: regions.as_ref(),
            ..Sight::ALL
        };
        self.each_directory(&places, sight, &mut |dir, claims| {
            files(dir, claims)
                .filter(|(_, claim)| claim.group.id == group.id)
                .try_for_each(|(entry, claim)| {
                    visit(&Member {
                        dir: dir.path,
                        entry,
                        claim,
                    })
                })
        })
    }

    /// Passes every file below these paths to `visit`, in path order, until the visitor ends the
    /// answer; without paths, every file.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn every_member(
        &mut self,
        below: &[OsString],
        visit: &mut dyn FnMut(&Member<'_>) -> ControlFlow<()>,
    ) -> Result<(), GroupsError> {
        let places = self.places(below)?;
        self.each_directory(&places, Sight::ALL, &mut |dir, claims| {
            files(dir, claims).try_for_each(|(entry, claim)| {
                visit(&Member {
                    dir: dir.path,
                    entry,
                    claim,
                })
            })
        })
    }

    /// Returns the group of a file, and why it belongs to it. `None` if there is no such path,
    /// which the session reports.
    ///
    /// # Errors
    /// If the path is that of a directory, or the index cannot be read.
    pub fn explain(&mut self, file: &OsStr) -> Result<Option<Explained>, GroupsError> {
        let Some(start) = self.session.locate(file, Follow::Never)? else {
            return Ok(None);
        };
        let Some((dir, name)) = path::split(&start.path).filter(|_| !start.is_dir) else {
            return Err(GroupsError::IsDirectory {
                path: file.as_bytes().to_vec(),
            });
        };
        let mut found = None;
        let places = self.places_at(dir, Reach::Itself)?;
        self.each_directory(&places, Sight::names(None), &mut |dir, claims| {
            found = files(dir, claims)
                .find(|(entry, _)| entry.name == name)
                .map(|(_, claim)| claim.clone());
            ControlFlow::Continue(())
        })?;
        match found {
            Some(claim) => Ok(Some(Explained {
                path: start.path.clone(),
                claim,
            })),
            None => Err(GroupsError::Unlisted {
                path: file.as_bytes().to_vec(),
            }),
        }
    }

    /// Returns the places below these paths; without any, all sources.
    fn places(&mut self, below: &[OsString]) -> Result<Vec<Place>, GroupsError> {
        let mut starts: Vec<Start> = Vec::new();
        for given in below {
            let found = self.session.locate(given, Follow::Last)?;
            if found.as_ref().is_some_and(|start| !start.is_dir) {
                return Err(GroupsError::NotDirectory {
                    path: given.as_bytes().to_vec(),
                });
            }
            starts.extend(found);
        }
        if below.is_empty() {
            starts = roots(self.session)?;
        }
        places(self.session, starts, Reach::Below)
    }

    fn places_at(&mut self, dir: &[u8], reach: Reach) -> Result<Vec<Place>, GroupsError> {
        let start = match self.session.index().locate(dir)? {
            Located::Found(start) => Some(*start),
            _ => None,
        };
        places(self.session, start.into_iter().collect(), reach)
    }

    /// Visits the directories of the places, each with the claims for its entries.
    fn each_directory(
        &mut self,
        places: &[Place],
        sight: Sight<'_>,
        visit: Visit<'_>,
    ) -> Result<(), GroupsError> {
        let Question { session, grouper } = self;
        let session: &Session<'_> = session;
        let index = IndexLook(session.index());
        for place in places {
            grouper.begin();
            place.visit_above(session, &mut |dir| grouper.enter(dir, &index))?;
            let flow = place.visit(session, sight, &mut |dir| {
                grouper.enter(dir, &index)?;
                Ok(visit(dir, grouper.claims(dir)))
            })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Function that is called with each directory and the claims for its entries.
type Visit<'v> = &'v mut dyn FnMut(&Directory<'_>, &[Option<Claim>]) -> ControlFlow<()>;

/// Returns the files of a directory, each with its claim.
fn files<'d>(
    dir: &Directory<'d>,
    claims: &'d [Option<Claim>],
) -> impl Iterator<Item = (&'d Entry, &'d Claim)> {
    let pairs = dir.entries.iter().zip(claims);
    pairs.filter_map(|(entry, claim)| Some((entry, claim.as_ref()?)))
}
