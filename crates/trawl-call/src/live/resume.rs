//! Going on from a place: which directories and entries were given before.

use crate::cookie::{Cookie, Stage};

/// What was given of a directory, or of one below it, before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resume {
    /// The way to the directory in which the last record was.
    way: Vec<Vec<u8>>,
    stage: Stage,
}

impl Resume {
    /// For the root in which a search is gone on with.
    pub(crate) fn new(cookie: &Cookie) -> Resume {
        let parts = crate::pattern::components(&cookie.dir);
        Resume {
            way: parts.map(<[u8]>::to_vec).collect(),
            stage: cookie.stage.clone(),
        }
    }

    /// Whether the root itself was given, where this is about the root.
    pub(crate) fn has_root(&self) -> bool {
        self.stage > Stage::Begin
    }

    /// Whether what is wrong with this directory is still to be told.
    pub(crate) fn tells_own(&self) -> bool {
        self.way.is_empty() && self.stage < Stage::Own
    }

    /// Whether the entry with this name is still to be given.
    pub(crate) fn gives(&self, name: &[u8]) -> bool {
        match (&self.way[..], &self.stage) {
            ([], Stage::Begin | Stage::Itself | Stage::Own) => true,
            ([], Stage::Name(last)) => name > &last[..],
            _ => false,
        }
    }

    /// What was given of the directory with this name: `None` if everything, an inner `None` if
    /// nothing.
    pub(crate) fn below(&self, name: &[u8]) -> Option<Option<Resume>> {
        let Some((next, rest)) = self.way.split_first() else {
            return Some(None);
        };
        match name.cmp(next) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Greater => Some(None),
            std::cmp::Ordering::Equal => Some(Some(Resume {
                way: rest.to_vec(),
                stage: self.stage.clone(),
            })),
        }
    }
}
