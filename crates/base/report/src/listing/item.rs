//! An entry of a listing: the printed parts of a row, owned, so that a directory can be sorted.

use trawl_model::rows::Row;
use trawl_model::{FileType, Meta};

/// The mark after the mode in long format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessMark {
    /// Only the mode.
    #[default]
    Plain,
    /// A security label: `.`
    Label,
    /// An access control list, or a directory's default one: `+`
    List,
}

/// An entry of a listing.
#[derive(Clone, Debug)]
pub struct Item {
    /// Name as it is printed: for an argument as the user spelled it, in a directory the entry's
    /// own name.
    pub name: Vec<u8>,
    /// Attributes; `None` if the index does not hold them (for the directory above a source's
    /// root).
    pub meta: Option<Meta>,
    /// Target of a symbolic link.
    pub target: Vec<u8>,
    /// Mode of the link's target, if it was looked up.
    pub target_mode: Option<u32>,
    /// Mark after the mode.
    pub mark: AccessMark,
    /// Type, which may be known without the attributes.
    pub kind: FileType,
    /// True if the file has capabilities.
    pub has_capability: bool,
    /// Absolute path with all links resolved, if it is shown.
    pub absolute: Option<Vec<u8>>,
}

impl Item {
    /// Returns the item for a row, under `name`.
    pub fn from_row(row: &Row<'_>, name: &[u8]) -> Item {
        Item {
            name: name.to_vec(),
            meta: Some(row.meta()),
            target: row.link_target().to_vec(),
            target_mode: None,
            mark: access_mark(row),
            kind: row.file_type(),
            has_capability: has_name(row, b"security.capability"),
            absolute: None,
        }
    }

    /// Returns an item of which only the name is known.
    pub fn unknown(name: &[u8]) -> Item {
        Item {
            name: name.to_vec(),
            meta: None,
            target: Vec::new(),
            target_mode: None,
            mark: AccessMark::Plain,
            kind: FileType::Unknown,
            has_capability: false,
            absolute: None,
        }
    }

    /// Returns the type.
    pub fn file_type(&self) -> FileType {
        self.meta.map_or(self.kind, |meta| meta.file_type())
    }

    /// Returns true for directories and for links to directories.
    pub fn leads_to_directory(&self) -> bool {
        let target = self.target_mode.map(FileType::from_mode);
        self.file_type() == FileType::Directory || target == Some(FileType::Directory)
    }

    /// Returns the allocated space in bytes.
    pub fn disk_bytes(&self) -> u128 {
        self.meta.map_or(0, |meta| u128::from(meta.blocks) * 512)
    }
}

fn access_mark(row: &Row<'_>) -> AccessMark {
    let is_dir = row.file_type() == FileType::Directory;
    if !row.acl().is_empty() || (is_dir && !row.acl_default().is_empty()) {
        AccessMark::List
    } else if has_name(row, b"security.selinux") {
        AccessMark::Label
    } else {
        AccessMark::Plain
    }
}

fn has_name(row: &Row<'_>, wanted: &[u8]) -> bool {
    row.xattr_names()
        .split(|b| *b == 0)
        .any(|name| name == wanted)
}
