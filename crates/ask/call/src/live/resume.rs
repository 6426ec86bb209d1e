//! Resumes a walk at a position: which directories and entries have already been returned.

use crate::cookie::{Cookie, Stage};

/// The part of a directory, or of a directory below it, that has already been returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resume {
    /// Names on the way to the directory of the last record.
    way: Vec<Vec<u8>>,
    stage: Stage,
}

impl Resume {
    /// Creates the value for the root in which the search resumes.
    pub(crate) fn new(cookie: &Cookie) -> Resume {
        let parts = crate::pattern::components(&cookie.dir);
        Resume {
            way: parts.map(<[u8]>::to_vec).collect(),
            stage: cookie.stage.clone(),
        }
    }

    /// Returns whether the match of the root itself was returned. Valid for the root only.
    pub(crate) fn has_root(&self) -> bool {
        self.stage > Stage::Begin
    }

    /// Returns whether the error about this directory is still to be returned.
    pub(crate) fn tells_own(&self) -> bool {
        self.way.is_empty() && self.stage < Stage::Own
    }

    /// Returns whether the entry with this name is still to be returned.
    pub(crate) fn gives(&self, name: &[u8]) -> bool {
        match (&self.way[..], &self.stage) {
            ([], Stage::Begin | Stage::Itself | Stage::Own) => true,
            ([], Stage::Name(last)) => name > &last[..],
            _ => false,
        }
    }

    /// Returns the part of the directory `name` that was already returned: `None` for all of it,
    /// `Some(None)` for nothing.
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
