//! Questions that leaves ask about an entry beyond its row. The index and the
//! live file system each implement the answers.

use std::ffi::CString;
use std::fs::File;
use std::rc::Rc;

use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Column, ColumnSet, FileType};
use trawl_sys::BorrowedFd;
use trawl_sys::SysError;
use trawl_sys::access::Wish;

use crate::lookups::AttributeTest;

/// Why a question has no answer: the strerror(3) text of an errno.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause(pub String);

/// A kind of access to a file, access(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `R_OK`
    Read,
    /// `W_OK`
    Write,
    /// `X_OK`
    Execute,
}

impl Access {
    /// The corresponding value for the kernel.
    pub(crate) fn wish(self) -> Wish {
        match self {
            Access::Read => Wish::Read,
            Access::Write => Wish::Write,
            Access::Execute => Wish::Execute,
        }
    }
}

/// The columns that [`Probe::may`] reads.
pub const ACCESS_COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Dev,
    Column::Mode,
    Column::Uid,
    Column::Gid,
    Column::Attributes,
    Column::Acl,
]);

/// The result of following a symbolic link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// It leads to a file of this type.
    Is(FileType),
    /// Its target does not exist.
    Missing,
    /// It is part of a loop.
    Loop,
    /// Its target cannot be looked at.
    Unknown(Cause),
}

/// A place in the live file system: a name in an open directory.
#[derive(Debug)]
pub struct NameInDirectory<'p> {
    /// The directory; for a start point, the working directory.
    pub dir: BorrowedFd<'p>,
    /// The name in the directory; for a start point, its whole path as spelled.
    pub name: CString,
}

/// Answers questions about one entry at a time. `path` is the entry's path as
/// it is printed.
pub trait Probe {
    /// Returns whether a directory has no entries.
    ///
    /// # Errors
    /// If that cannot be determined.
    fn is_empty_directory(&self, row: &Row<'_>, path: &[u8]) -> Result<bool, Cause>;

    /// Returns the entry's type after following links, stat(2).
    fn target(&self, row: &Row<'_>, path: &[u8]) -> Target;

    /// Returns the entry's own type, lstat(2), for a row that describes a
    /// link's target.
    fn own_type(&self, row: &Row<'_>, path: &[u8]) -> Target;

    /// Returns whether the current user has this access to the entry, after
    /// following links: access(2) with the effective ids.
    fn may(&self, row: &Row<'_>, path: &[u8], access: Access) -> bool;

    /// Returns whether the entry has an attribute that passes the test, for
    /// attributes that the row does not show.
    fn has_attribute(&self, row: &Row<'_>, path: &[u8], test: &AttributeTest) -> bool;

    /// Returns the entry's place in the live file system, if the search reads
    /// it there.
    fn place(&self, row: &Row<'_>, path: &[u8]) -> Option<NameInDirectory<'_>>;

    /// Opens the file as the current user, to read its content as of now. The file may have been
    /// replaced since the row was made, and need not be a regular file any more.
    ///
    /// # Errors
    /// If it cannot be opened, or the row is of another time.
    fn content(&self, row: &Row<'_>, path: &[u8]) -> Result<File, Cause>;
}

/// Looks at an entry of the live file system when a leaf first needs it. If a
/// command was run before, its result counts.
pub trait LateLook {
    /// Returns the current attributes of the row's entry, as a row.
    ///
    /// # Errors
    /// Those of statx(2).
    fn look(&self, row: &Row<'_>) -> Result<Rc<RowBatch>, SysError>;
}

/// A probe for contexts without an entry: answers no to every question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoProbe;

impl Probe for NoProbe {
    fn is_empty_directory(&self, _: &Row<'_>, _: &[u8]) -> Result<bool, Cause> {
        Ok(false)
    }

    fn target(&self, _: &Row<'_>, _: &[u8]) -> Target {
        Target::Missing
    }

    fn own_type(&self, _: &Row<'_>, _: &[u8]) -> Target {
        Target::Missing
    }

    fn may(&self, _: &Row<'_>, _: &[u8], _: Access) -> bool {
        false
    }

    fn has_attribute(&self, _: &Row<'_>, _: &[u8], _: &AttributeTest) -> bool {
        false
    }

    fn place(&self, _: &Row<'_>, _: &[u8]) -> Option<NameInDirectory<'_>> {
        None
    }

    fn content(&self, _: &Row<'_>, _: &[u8]) -> Result<File, Cause> {
        Err(Cause("it cannot be read here".into()))
    }
}
