//! One thing that `ls` lists: what it prints of a row, owned, so that a
//! directory can be sorted.

use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::Row;
use trawl_model::{Dev, FileType, Gid, Meta, Timestamp, Uid};

/// The mark behind the mode in long format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AccessMark {
    /// Nothing beyond the mode.
    #[default]
    Plain,
    /// A security label only: `.`
    Label,
    /// An access control list, or a directory's default one: `+`
    List,
}

/// One line of a listing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Item {
    /// The name as it is printed: spelled by the user on the command line,
    /// the entry's own name in a directory.
    pub(crate) name: Vec<u8>,
    /// The attributes; `None` where the index does not hold them (the
    /// directory above a source's root).
    pub(crate) meta: Option<Meta>,
    /// A symbolic link's target.
    pub(crate) target: Vec<u8>,
    /// The mode of what the target leads to, where it was looked up.
    pub(crate) target_mode: Option<u32>,
    /// See [`AccessMark`].
    pub(crate) mark: AccessMark,
}

/// Every column that an [`Item`] is made from.
pub(crate) const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Ino,
    Column::Dev,
    Column::Mode,
    Column::Nlink,
    Column::Uid,
    Column::Gid,
    Column::Rdev,
    Column::Size,
    Column::Blocks,
    Column::Blksize,
    Column::Atime,
    Column::AtimeNs,
    Column::Mtime,
    Column::MtimeNs,
    Column::Ctime,
    Column::CtimeNs,
    Column::Btime,
    Column::BtimeNs,
    Column::LinkTarget,
    Column::XattrNames,
    Column::Acl,
    Column::AclDefault,
]);

impl Item {
    /// The item for a row, under `name`.
    pub(crate) fn from_row(row: &Row<'_>, name: &[u8]) -> Item {
        Item {
            name: name.to_vec(),
            meta: Some(meta(row)),
            target: row.link_target().to_vec(),
            target_mode: None,
            mark: access_mark(row),
        }
    }

    /// The item for something on the live system.
    pub(crate) fn from_live(live: &std::fs::Metadata, name: &[u8]) -> Item {
        use std::os::unix::fs::MetadataExt;
        let time = |secs, nanos: i64| Timestamp {
            secs,
            nanos: u32::try_from(nanos).unwrap_or_default(),
        };
        let meta = Meta {
            ino: live.ino(),
            dev: Dev::from_u64(live.dev()),
            rdev: Dev::from_u64(live.rdev()),
            mode: live.mode(),
            nlink: u32::try_from(live.nlink()).unwrap_or(u32::MAX),
            uid: Uid(live.uid()),
            gid: Gid(live.gid()),
            size: live.size(),
            blocks: live.blocks(),
            atime: time(live.atime(), live.atime_nsec()),
            mtime: time(live.mtime(), live.mtime_nsec()),
            ctime: time(live.ctime(), live.ctime_nsec()),
            ..Meta::default()
        };
        Item {
            meta: Some(meta),
            ..Item::unknown(name)
        }
    }

    /// An item of which nothing but the name is known.
    pub(crate) fn unknown(name: &[u8]) -> Item {
        Item {
            name: name.to_vec(),
            ..Item::default()
        }
    }

    /// The type; [`FileType::Unknown`] without attributes.
    pub(crate) fn file_type(&self) -> FileType {
        self.meta.map_or(FileType::Unknown, |meta| meta.file_type())
    }

    /// Allocated space, bytes.
    pub(crate) fn disk_bytes(&self) -> u128 {
        self.meta.map_or(0, |meta| u128::from(meta.blocks) * 512)
    }
}

/// A row's attributes as one value.
pub(crate) fn meta(row: &Row<'_>) -> Meta {
    Meta {
        ino: row.ino(),
        dev: row.dev(),
        rdev: row.rdev(),
        mode: row.mode(),
        nlink: row.nlink(),
        uid: row.uid(),
        gid: row.gid(),
        size: row.size(),
        blocks: row.blocks(),
        blksize: row.blksize(),
        atime: row.atime(),
        mtime: row.mtime(),
        ctime: row.ctime(),
        btime: row.btime(),
        attributes: row.attributes(),
        project: row.project(),
    }
}

fn access_mark(row: &Row<'_>) -> AccessMark {
    let is_dir = row.file_type() == FileType::Directory;
    let mut names = row.xattr_names().split(|b| *b == 0);
    if !row.acl().is_empty() || (is_dir && !row.acl_default().is_empty()) {
        AccessMark::List
    } else if names.any(|name| name == b"security.selinux") {
        AccessMark::Label
    } else {
        AccessMark::Plain
    }
}

/// Which of a file's times `ls` shows and sorts by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimeKind {
    /// Last change of the content.
    #[default]
    Modified,
    /// Last access.
    Accessed,
    /// Last change of the inode.
    Changed,
    /// Creation, where known.
    Born,
}

impl TimeKind {
    /// The time of this kind.
    pub(crate) fn of(self, meta: &Meta) -> Option<Timestamp> {
        match self {
            TimeKind::Modified => Some(meta.mtime),
            TimeKind::Accessed => Some(meta.atime),
            TimeKind::Changed => Some(meta.ctime),
            TimeKind::Born => meta.btime,
        }
    }
}
