//! Where the members of a group can lie that is asked for by its id or its name.
//!
//! The id and the name of a group are made from its rule and its place, so both say where to look:
//! the lists of the package of this name, directories of this name, or the directory whose path is
//! the name. A question about one group then reads the rows of a few directories instead of all.
//!
//! Invariant: hints may name too many places, never too few. Which files are members is decided by
//! claims alone.

use std::collections::HashSet;
use std::sync::Arc;

use trawl_model::Regions;
use trawl_model::path::split;

use crate::identity::{GroupId, Identity};

/// A group that is asked for: by its id if the word is one, else by its name.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'w> {
    word: &'w [u8],
    id: Option<GroupId>,
}

impl<'w> Sought<'w> {
    /// Returns the group that a user's word means.
    #[must_use]
    pub fn new(word: &'w [u8]) -> Sought<'w> {
        let text = std::str::from_utf8(word).ok();
        let id = text.and_then(|text| text.parse().ok());
        Sought { word, id }
    }

    /// Returns the group of this id.
    pub(crate) fn of_id(id: GroupId) -> Sought<'static> {
        Sought {
            word: b"",
            id: Some(id),
        }
    }

    /// Returns the id; `None` if the group is asked for by its name.
    #[must_use]
    pub fn id(&self) -> Option<GroupId> {
        self.id
    }

    /// Returns the name; `None` if the group is asked for by its id.
    #[must_use]
    pub fn name(&self) -> Option<&'w [u8]> {
        self.id.is_none().then_some(self.word)
    }

    /// Returns whether a group is asked for.
    #[must_use]
    pub fn admits(&self, group: &Identity) -> bool {
        match self.id {
            Some(id) => group.id == id,
            None => group.name == self.word,
        }
    }
}

/// Places that can have members of a group that is sought.
#[derive(Debug, Default)]
pub struct Hints {
    regions: Regions,
    /// Last names of directories: everything below them.
    names: HashSet<Vec<u8>>,
    /// Rules whose groups' keys are directories: one may have the id that is sought.
    keyed: Vec<(Arc<str>, Keyed)>,
    is_found: bool,
    is_anywhere: bool,
    is_anywhere_unless_found: bool,
}

/// How far the groups reach whose keys are directories.
#[derive(Clone, Copy, Debug)]
enum Keyed {
    Below,
    Itself,
}

/// The places where the members of a group can be.
#[derive(Debug)]
pub(crate) enum Whereabouts {
    /// Nothing.
    Anywhere,
    /// They are in these directories, and below directories of these names.
    In(Regions, HashSet<Vec<u8>>),
    /// In the directory with this id, which has to be looked up. If no directory has it, the members
    /// are in the other places.
    Of(Directories, OtherPlaces),
}

/// Whether a group can have a key that is not a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherPlaces {
    Anywhere,
    Nowhere,
}

/// The directories whose groups, by some rules, have an id.
#[derive(Debug)]
pub(crate) struct Directories {
    id: GroupId,
    rules: Vec<(Arc<str>, Keyed)>,
}

impl Directories {
    /// Adds the directory to the regions if a group with it as its key has the id.
    pub(crate) fn look_at(&self, dir: &[u8], regions: &mut Regions) {
        for (rule, keyed) in &self.rules {
            if GroupId::of(rule, &[dir]) == self.id {
                match keyed {
                    Keyed::Below => regions.add_below(dir),
                    Keyed::Itself => regions.add(dir),
                }
            }
        }
    }
}

impl Hints {
    /// Members can be anywhere.
    pub fn anywhere(&mut self) {
        self.is_anywhere = true;
    }

    /// The group is one of this source, as its id says: another source cannot have it.
    pub fn found(&mut self) {
        self.is_found = true;
    }

    /// Members can be anywhere, unless another source says that the group is its own.
    pub(crate) fn anywhere_unless_found(&mut self) {
        self.is_anywhere_unless_found = true;
    }

    /// The file at this path can be a member.
    pub fn file(&mut self, path: &[u8]) {
        if let Some((dir, _)) = split(path) {
            self.regions.add(dir);
        }
    }

    /// The file at this path can be a member, and if it is a directory, all files below it.
    pub fn entry(&mut self, path: &[u8]) {
        self.file(path);
        self.regions.add_below(path);
    }

    /// All files below directories of this name can be members; below all, if it is that of `/`.
    pub(crate) fn below_directories_named(&mut self, name: &[u8]) {
        match name {
            b"/" => self.anywhere(),
            _ => {
                self.names.insert(name.to_vec());
            }
        }
    }

    /// Groups of the rule are called after the last name of a directory, which is their key, and
    /// have all their members below it.
    pub(crate) fn below_directories(&mut self, sought: &Sought<'_>, rule: &Arc<str>) {
        match sought.name() {
            Some(name) => self.below_directories_named(name),
            None => self.keyed.push((Arc::clone(rule), Keyed::Below)),
        }
    }

    /// Groups of the rule are called after the path of a directory, which is their key, and have all
    /// their members in it.
    pub(crate) fn in_directories(&mut self, sought: &Sought<'_>, rule: &Arc<str>) {
        match sought.name() {
            Some(b"/") => self.regions.add(b""),
            Some(name) if name.starts_with(b"/") => self.regions.add(name),
            Some(_) => {}
            None => self.keyed.push((Arc::clone(rule), Keyed::Itself)),
        }
    }

    /// Returns what is known.
    pub(crate) fn whereabouts(self, sought: &Sought<'_>) -> Whereabouts {
        if self.is_anywhere {
            return Whereabouts::Anywhere;
        }
        let Some(id) = sought.id().filter(|_| !self.is_found) else {
            return Whereabouts::In(self.regions, self.names);
        };
        let directories = Directories {
            id,
            rules: self.keyed,
        };
        let others = match self.is_anywhere_unless_found {
            true => OtherPlaces::Anywhere,
            false => OtherPlaces::Nowhere,
        };
        Whereabouts::Of(directories, others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_told_apart() {
        let id = GroupId::of("projects", &[b"/srv/a"]);
        let word = id.to_string();
        let by_id = Sought::new(word.as_bytes());
        assert_eq!((by_id.id(), by_id.name()), (Some(id), None));
        let by_name = Sought::new(b"a");
        assert_eq!((by_name.id(), by_name.name()), (None, Some(&b"a"[..])));
    }

    #[test]
    fn a_directory_is_found_by_its_id() {
        let rule: Arc<str> = "projects".into();
        let id = GroupId::of(&rule, &[b"/srv/a"]);
        let word = id.to_string();
        let sought = Sought::new(word.as_bytes());
        let mut hints = Hints::default();
        hints.below_directories(&sought, &rule);
        let Whereabouts::Of(directories, OtherPlaces::Nowhere) = hints.whereabouts(&sought) else {
            panic!("the directory is not known");
        };
        let mut regions = Regions::default();
        directories.look_at(b"/srv/b", &mut regions);
        assert!(regions.is_empty());
        directories.look_at(b"/srv/a", &mut regions);
        assert!(regions.contains(b"/srv/a/x"));
    }
}
