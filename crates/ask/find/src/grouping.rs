//! Files that belong together, for the tests `-group-of`, `-in-group` and `-related-to`.

use std::collections::HashMap;

use trawl_model::Regions;

/// The members of a group, or related files: paths of files, as stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members(HashMap<Vec<u8>, Vec<Vec<u8>>>);

impl Members {
    /// Adds a file, given by its directory as stored and its name.
    pub fn add(&mut self, dir: &[u8], name: &[u8]) {
        let dirs = self.0.entry(name.to_vec()).or_default();
        dirs.push(dir.to_vec());
    }

    /// Returns the directories, as stored, that have a member of this name.
    pub fn directories_with(&self, name: &[u8]) -> &[Vec<u8>] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a file is a member, given by its directory as stored and its name.
    pub fn has(&self, dir: &[u8], name: &[u8]) -> bool {
        self.directories_with(name).iter().any(|one| one == dir)
    }

    /// Returns the directories, as stored, that have a member.
    pub fn directories(&self) -> Regions {
        let mut regions = Regions::default();
        for dir in self.0.values().flatten() {
            regions.add(dir);
        }
        regions
    }
}

/// What a group is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// The name, which several groups can have.
    pub name: Vec<u8>,
    /// The id.
    pub id: String,
}

/// Maximum depth of relations.
pub const DEPTH_MAX: u32 = 100;

/// Which related files `-related-to` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relations {
    /// Names of kinds; all kinds if there are none.
    pub kinds: Vec<String>,
    /// The direction.
    pub direction: Direction,
    /// The number of relations from the file to the last one that matches, from 1 to [`DEPTH_MAX`].
    pub depth: u32,
}

/// Which relations count: those that a file has, or those that others have to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Those that the file has.
    Forward,
    /// Those that others have to the file.
    Backward,
    /// All of them.
    #[default]
    Both,
}

impl Default for Relations {
    fn default() -> Relations {
        Relations {
            kinds: Vec::new(),
            direction: Direction::Both,
            depth: 1,
        }
    }
}

/// A source of groups and relations.
pub trait Grouping: Send + Sync + std::fmt::Debug {
    /// Returns the members of the group of the file at `path`, as the asking user sees them. The
    /// error says why there is no answer.
    fn members_with(&self, path: &[u8]) -> Result<Members, String>;

    /// Returns the members of the group with this id or name, as the asking user sees them. The
    /// error says why there is no answer.
    fn members_of(&self, group: &[u8]) -> Result<Members, String>;

    /// Returns the groups with members below these directories, in any order. The error says why
    /// there is no answer.
    fn groups_below(&self, dirs: &[Vec<u8>]) -> Result<Vec<Group>, String>;

    /// Returns the wanted files related to the file at `path`, as the asking user sees them. The error
    /// says why there is no answer.
    fn related_to(&self, path: &[u8], wanted: &Relations) -> Result<Members, String>;
}

/// No groups and no relations are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGroups;

const NOT_HERE: &str = "groups are not known here; trawl find knows them";

impl Grouping for NoGroups {
    fn members_with(&self, _: &[u8]) -> Result<Members, String> {
        Err(NOT_HERE.into())
    }

    fn members_of(&self, _: &[u8]) -> Result<Members, String> {
        Err(NOT_HERE.into())
    }

    fn groups_below(&self, _: &[Vec<u8>]) -> Result<Vec<Group>, String> {
        Err(NOT_HERE.into())
    }

    fn related_to(&self, _: &[u8], _: &Relations) -> Result<Members, String> {
        Err("relations are not known here; trawl find knows them".into())
    }
}
