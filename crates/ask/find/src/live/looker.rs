//! Reads one entry of the live file system into a row.

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::rc::Rc;

use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Column, ColumnSet, FileType};
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::stat::{Stat, stat_at, stat_at_followed};
use trawl_sys::{BorrowedFd, Errno, SysError, xattr};

use crate::probe::LateLook;
use crate::traversal::Follow;

/// The file that is meant if an entry is a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The link itself.
    Itself,
    /// The link's target, or the link itself if the target does not exist.
    Target,
}

impl Meaning {
    /// Returns the file that is meant for an entry below the start point.
    pub(crate) fn below(follow: Follow) -> Meaning {
        match follow {
            Follow::Always => Meaning::Target,
            _ => Meaning::Itself,
        }
    }
}

/// The attributes that every look returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looked {
    pub(crate) is_dir: bool,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    /// An error to report about a link that stands for itself.
    pub(crate) trouble: Option<SysError>,
}

/// Reads entries into rows. One per thread.
pub(crate) struct Looker {
    wanted: ColumnSet,
    row: RowBatch,
    target: TargetBuffer,
    xattrs: Option<xattr::Reader>,
}

impl Looker {
    /// Creates a looker that fills these columns.
    pub(crate) fn new(wanted: ColumnSet) -> Looker {
        let of_xattrs = [Column::XattrNames, Column::Acl, Column::AclDefault];
        let reads = of_xattrs.iter().any(|column| wanted.contains(*column));
        Looker {
            wanted,
            row: RowBatch::default(),
            target: TargetBuffer::default(),
            xattrs: reads.then(xattr::Reader::for_any_thread),
        }
    }

    /// The row that was read last.
    pub(crate) fn row(&self) -> Row<'_> {
        Row {
            batch: &self.row,
            at: 0,
            dir: b"",
        }
    }

    /// Changes the name in the row that was read last.
    pub(crate) fn rename(&mut self, name: &[u8]) {
        self.row.name.clear();
        self.row.name.push(name);
    }

    /// Reads the attributes of `name` in `dir` into the row.
    ///
    /// # Errors
    /// Those of statx(2).
    pub(crate) fn look(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        meaning: Meaning,
    ) -> Result<Looked, SysError> {
        let (stat, trouble) = match meaning {
            Meaning::Itself => (stat_at(dir, name)?, None),
            Meaning::Target => stat_through(dir, name)?,
        };
        self.fill(&stat, name.to_bytes());
        if stat.is_symlink() && self.wanted.contains(Column::LinkTarget) {
            let target = read_link_at(dir, name, &mut self.target);
            self.row.link_target.push(target.unwrap_or_default());
        }
        self.fill_attributes(dir, name);
        Ok(Looked {
            is_dir: stat.is_directory(),
            dev: stat.dev.as_u64(),
            ino: stat.ino,
            trouble,
        })
    }

    fn fill(&mut self, stat: &Stat, name: &[u8]) {
        let row = &mut self.row;
        row.clear();
        row.len = 1;
        row.name.push(name);
        row.push_meta(stat);
    }

    /// Attributes that cannot be read count as missing, as in GNU find.
    fn fill_attributes(&mut self, dir: BorrowedFd<'_>, name: &CStr) {
        let Some(reader) = &mut self.xattrs else {
            return;
        };
        if reader.enter(dir).is_err() {
            return;
        }
        let row = &mut self.row;
        row.xattr_names
            .push(reader.list(dir, name).unwrap_or_default());
        for (attribute, column) in [
            (c"system.posix_acl_access", &mut row.acl),
            (c"system.posix_acl_default", &mut row.acl_default),
        ] {
            let value = reader.get(dir, name, attribute).ok().flatten();
            column.push(value.unwrap_or_default());
        }
    }
}

/// Looks at entries of one directory when a leaf first needs it.
pub(crate) struct Late<'d> {
    dir: BorrowedFd<'d>,
    meaning: Meaning,
    wanted: ColumnSet,
    /// Created on first use: most entries are never looked at.
    looker: RefCell<Option<Looker>>,
}

impl<'d> Late<'d> {
    /// Creates it for the entries of `dir`; `wanted` are the columns that
    /// leaves read.
    pub(crate) fn new(dir: BorrowedFd<'d>, meaning: Meaning, wanted: ColumnSet) -> Late<'d> {
        Late {
            dir,
            meaning,
            wanted,
            looker: RefCell::default(),
        }
    }
}

impl LateLook for Late<'_> {
    fn look(&self, row: &Row<'_>) -> Result<Rc<RowBatch>, SysError> {
        let name = CString::new(row.name()).unwrap_or_default();
        let mut looker = self.looker.borrow_mut();
        let looker = looker.get_or_insert_with(|| Looker::new(self.wanted));
        looker.look(self.dir, &name, self.meaning)?;
        Ok(Rc::new(std::mem::take(&mut looker.row)))
    }
}

/// Returns the attributes of a link's target. If the target does not exist,
/// returns the link's own, with an error to report if a component on the way is
/// not a directory.
fn stat_through(dir: BorrowedFd<'_>, name: &CStr) -> Result<(Stat, Option<SysError>), SysError> {
    match stat_at_followed(dir, name) {
        Ok(stat) => Ok((stat, None)),
        Err(error) if matches!(error.errno, Errno::NOENT | Errno::NOTDIR) => {
            let own = stat_at(dir, name).map_err(|_| error)?;
            Ok((own, (error.errno == Errno::NOTDIR).then_some(error)))
        }
        Err(error) => Err(error),
    }
}

/// Returns the type of `name`, links followed.
pub(crate) fn type_through(dir: BorrowedFd<'_>, name: &CStr) -> Result<FileType, SysError> {
    Ok(FileType::from_mode(stat_at_followed(dir, name)?.mode))
}
