//! What leaves ask about an entry beyond its row. The index and the live file
//! system each have their answers.

use std::ffi::CString;
use std::rc::Rc;

use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Column, ColumnSet, FileType};
use trawl_sys::BorrowedFd;
use trawl_sys::SysError;
use trawl_sys::access::Wish;

use crate::lookups::AttributeTest;

/// Why a question has no answer: the text of an errno, strerror(3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause(pub String);

/// What somebody may want to do with a file, access(2).
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
    /// The same for the kernel.
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

/// Where a symbolic link led.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To something of this type.
    Is(FileType),
    /// To nothing.
    Missing,
    /// In a circle.
    Loop,
    /// To where it cannot be seen.
    Unknown(Cause),
}

/// A place in the live file system: a name in an open directory.
#[derive(Debug)]
pub struct Place<'p> {
    /// The directory; the working directory for a start point.
    pub dir: BorrowedFd<'p>,
    /// The name in it; a start point's whole spelling.
    pub name: CString,
}

/// Answers questions about one entry at a time. `path` is the entry's path as
/// it is printed.
pub trait Probe {
    /// Whether a directory holds nothing.
    ///
    /// # Errors
    /// Why that cannot be told.
    fn is_empty_directory(&self, row: &Row<'_>, path: &[u8]) -> Result<bool, Cause>;

    /// What the entry is once links are followed, stat(2).
    fn target(&self, row: &Row<'_>, path: &[u8]) -> Target;

    /// The entry's own type, lstat(2), where the row is that of what a link
    /// leads to.
    fn own_type(&self, row: &Row<'_>, path: &[u8]) -> Target;

    /// Whether the asker may do this with the entry, links followed,
    /// access(2) with the effective ids.
    fn may(&self, row: &Row<'_>, path: &[u8], access: Access) -> bool;

    /// Whether the entry has an attribute that passes a test of which the row
    /// does not tell.
    fn has_attribute(&self, row: &Row<'_>, path: &[u8], test: &AttributeTest) -> bool;

    /// Where the entry is in the live file system, if it is looked at there.
    fn place(&self, row: &Row<'_>, path: &[u8]) -> Option<Place<'_>>;
}

/// Looks at an entry of the live file system when a leaf first needs that:
/// behind a command, what the command left counts.
pub trait LateLook {
    /// The attributes that the row's entry has now, as a row.
    ///
    /// # Errors
    /// Those of statx(2).
    fn look(&self, row: &Row<'_>) -> Result<Rc<RowBatch>, SysError>;
}

/// Answers nothing: where there is no entry.
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

    fn place(&self, _: &Row<'_>, _: &[u8]) -> Option<Place<'_>> {
        None
    }
}
