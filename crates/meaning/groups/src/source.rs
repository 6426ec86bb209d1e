//! Sources of groups: the one place where a kind of groups joins.
//!
//! A source sees the directories of a tree, each before those below it, with all entries, and
//! claims files for groups. Sources are asked in order, and a file belongs to the first group that
//! claims it. The sources are: what the user moved by hand, one source for each rule, and last the
//! rule that every file belongs to its directory. A source of groups that are learnt from accesses
//! implements [`Source`] and is added with [`Grouper::add`](crate::Grouper::add).

use std::fmt;
use std::sync::Arc;

use trawl_text::words::shown;

use crate::directory::Directory;
use crate::error::GroupsError;
use crate::hints::{Hints, Sought};
use crate::identity::Identity;

/// Answers questions about entries elsewhere in the tree, as the asking user.
pub trait Look {
    /// Returns whether the user sees an entry at this path that is not a directory.
    ///
    /// # Errors
    /// If the index cannot be read.
    fn is_file(&self, path: &[u8]) -> Result<bool, GroupsError>;
}

/// A kind of groups.
pub trait Source: fmt::Debug + Send {
    /// Begins at the top of a tree: the directories above are entered next.
    fn begin(&mut self) {}

    /// Takes note of a directory, and of its entries. Called for every directory, a directory
    /// before those below it.
    ///
    /// # Errors
    /// If the index cannot be read.
    fn enter(&mut self, dir: &Directory<'_>, look: &dyn Look) -> Result<(), GroupsError> {
        let _ = (dir, look);
        Ok(())
    }

    /// Says where the files can lie that it claims for a group that is sought. Without a hint, all
    /// directories are looked at.
    fn hint(&self, sought: &Sought<'_>, hints: &mut Hints) {
        let _ = sought;
        hints.anywhere();
    }

    /// Claims files of the directory that was entered last. `claims` has a place for each entry;
    /// those that are `Some` were claimed before, and entries that are directories are not claimed.
    fn claim(&mut self, dir: &Directory<'_>, claims: &mut Claims);
}

/// The claims for the entries of a directory.
pub type Claims = [Option<Claim>];

/// Calls `claim` with the position of each file that was not claimed before, and keeps the result.
pub fn claim_each(
    dir: &Directory<'_>,
    claims: &mut Claims,
    mut claim: impl FnMut(usize) -> Option<Claim>,
) {
    for (at, entry) in dir.entries.iter().enumerate() {
        if !entry.is_dir && claims[at].is_none() {
            claims[at] = claim(at);
        }
    }
}

/// The group that a file belongs to, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The group.
    pub group: Arc<Identity>,
    /// The reason.
    pub why: Why,
}

/// Why a file belongs to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The user moved this path, which is the file's or that of a directory above.
    Moved(Arc<[u8]>),
    /// The package manager lists the file.
    Listed,
    /// The file lies below a directory that the package manager lists for this package only.
    OwnDirectory(Arc<[u8]>),
    /// The file lies below a directory with this marker, given by its path.
    Marker(Arc<[u8]>),
    /// It is a track or an episode of the directory.
    Album,
    /// It was taken between two pauses in a directory.
    Event,
    /// It accompanies other members in its directory.
    Beside,
    /// Programs of the user opened it together with other members.
    Learnt,
    /// It lies in the directory.
    Directory,
}

impl Why {
    /// Returns the marker: the path that made the file a member; `None` if it is the file's own.
    #[must_use]
    pub fn marker(&self) -> Option<&[u8]> {
        match self {
            Why::Moved(path) | Why::OwnDirectory(path) | Why::Marker(path) => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Moved(path) => write!(f, "you moved {} to the group", shown(path)),
            Why::Listed => f.write_str("the package manager lists the file"),
            Why::OwnDirectory(dir) => write!(
                f,
                "the package manager lists {} for this package only",
                shown(dir)
            ),
            Why::Marker(marker) => write!(f, "{} marks the top of a project", shown(marker)),
            Why::Album => f.write_str("it is a part of the directory's album"),
            Why::Event => f.write_str("it was made in the same event as others of the directory"),
            Why::Beside => f.write_str("it accompanies other members of its directory"),
            Why::Learnt => f.write_str("your programs opened it together with other members"),
            Why::Directory => f.write_str("it lies in the directory"),
        }
    }
}
