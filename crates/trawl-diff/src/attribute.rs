//! The attributes that can be compared, and the comparison of two rows.
//!
//! Values of extended attributes are not compared: changing one also changes
//! `ctime`. The preferred I/O size (`blksize`) is not compared either, because
//! it is a property of the file system and not of the file.

use std::ops::Range;
use trawl_model::rows::{ByteColumn, Row, RowBatch};
use trawl_model::{Column, ColumnSet, FileType};

macro_rules! attributes {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, [$($column:ident),*];)*) => {
        /// An attribute of an entry.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Attribute {
            $($(#[$doc])* $variant,)*
        }

        /// Every attribute, in output order.
        pub const ALL_ATTRIBUTES: &[Attribute] = &[$(Attribute::$variant,)*];

        impl Attribute {
            /// Its name in options and machine-readable output.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Attribute::$variant => $name,)*
                }
            }

            /// The columns that the attribute is read from.
            const fn columns(self) -> &'static [Column] {
                match self {
                    $(Attribute::$variant => &[$(Column::$column),*],)*
                }
            }
        }
    };
}

attributes! {
    /// File type: regular file, directory, …
    Type, "type", [Mode];
    /// Apparent size.
    Size, "size", [Size];
    /// Allocated space.
    Blocks, "blocks", [Blocks];
    /// Permission bits.
    Mode, "mode", [Mode];
    /// Owner.
    Owner, "owner", [Uid];
    /// Owning group.
    Group, "group", [Gid];
    /// Last change of the content (`mtime`).
    Mtime, "mtime", [Mtime, MtimeNs];
    /// Last change of the inode (`ctime`).
    Ctime, "ctime", [Ctime, CtimeNs];
    /// Last access (`atime`).
    Atime, "atime", [Atime, AtimeNs];
    /// Time of creation; compared only if both snapshots know it.
    Btime, "btime", [Btime, BtimeNs];
    /// Number of hard links.
    Links, "links", [Nlink];
    /// A symbolic link's target.
    Target, "target", [LinkTarget];
    /// The access ACL.
    Acl, "acl", [Acl];
    /// A directory's default ACL.
    DefaultAcl, "default-acl", [AclDefault];
    /// Names of extended attributes.
    Xattrs, "xattrs", [XattrNames];
    /// Project id.
    Project, "project", [Project];
    /// Attribute flags (immutable, …).
    Flags, "flags", [Attributes];
    /// Inode number; it differs if another object has taken the name.
    Inode, "inode", [Ino];
    /// The device that holds the file.
    Device, "device", [Dev];
    /// The device that a device file represents.
    Rdev, "rdev", [Rdev];
}

/// A set of attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AttributeSet(u32);

impl AttributeSet {
    /// The empty set.
    pub const EMPTY: AttributeSet = AttributeSet(0);

    /// The set of just these attributes.
    pub fn of(attributes: &[Attribute]) -> AttributeSet {
        let bits = attributes.iter().map(|attribute| 1 << *attribute as u32);
        AttributeSet(bits.fold(0, |all: u32, bit: u32| all | bit))
    }

    /// The set of all attributes.
    pub fn all() -> AttributeSet {
        AttributeSet::of(ALL_ATTRIBUTES)
    }

    /// Returns this set without the attributes of `other`.
    #[must_use]
    pub const fn minus(self, other: AttributeSet) -> AttributeSet {
        AttributeSet(self.0 & !other.0)
    }

    /// True if the attribute is in the set.
    pub const fn contains(self, attribute: Attribute) -> bool {
        self.0 & (1 << attribute as u32) != 0
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn union(self, other: AttributeSet) -> AttributeSet {
        AttributeSet(self.0 | other.0)
    }

    /// True if the set has no attributes.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The attributes in the set, in output order.
    pub fn iter(self) -> impl Iterator<Item = Attribute> {
        let all = ALL_ATTRIBUTES.iter().copied();
        all.filter(move |attribute| self.contains(*attribute))
    }

    fn put(&mut self, attribute: Attribute) {
        self.0 |= 1 << attribute as u32;
    }

    /// The columns that these attributes are read from, plus the columns that
    /// identify an object. The set of all attributes needs all columns.
    pub(crate) fn columns(self) -> ColumnSet {
        if self == AttributeSet::all() {
            return ColumnSet::all();
        }
        let identity = ColumnSet::of(&[
            Column::Name,
            Column::Ino,
            Column::Dev,
            Column::Mode,
            Column::Size,
            Column::Mtime,
            Column::MtimeNs,
            Column::Btime,
            Column::BtimeNs,
        ]);
        self.compared().union(identity)
    }

    /// The columns that these attributes alone are read from.
    pub(crate) fn compared(self) -> ColumnSet {
        let columns = self.iter().map(|one| ColumnSet::of(one.columns()));
        columns.fold(ColumnSet::EMPTY, ColumnSet::union)
    }
}

/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o7777;

/// Returns the attributes in `compare` that differ between two rows.
/// `is_same_device` says whether both rows lie on the same device.
pub fn changed(
    before: &Row<'_>,
    after: &Row<'_>,
    compare: AttributeSet,
    is_same_device: bool,
) -> AttributeSet {
    let mut changed = AttributeSet::EMPTY;
    for attribute in compare.iter() {
        let differs = match attribute {
            Attribute::Type => before.file_type() != after.file_type(),
            Attribute::Size => before.size() != after.size(),
            Attribute::Blocks => before.blocks() != after.blocks(),
            Attribute::Mode => (before.mode() ^ after.mode()) & PERMISSIONS != 0,
            Attribute::Owner => before.uid() != after.uid(),
            Attribute::Group => before.gid() != after.gid(),
            Attribute::Mtime => before.mtime() != after.mtime(),
            Attribute::Ctime => before.ctime() != after.ctime(),
            Attribute::Atime => before.atime() != after.atime(),
            Attribute::Btime => match (before.btime(), after.btime()) {
                (Some(before), Some(after)) => before != after,
                _ => false,
            },
            Attribute::Links => before.nlink() != after.nlink(),
            Attribute::Target => before.link_target() != after.link_target(),
            Attribute::Acl => before.acl() != after.acl(),
            Attribute::DefaultAcl => before.acl_default() != after.acl_default(),
            Attribute::Xattrs => before.xattr_names() != after.xattr_names(),
            Attribute::Project => before.project() != after.project(),
            Attribute::Flags => before.attributes() != after.attributes(),
            Attribute::Inode => before.ino() != after.ino(),
            Attribute::Device => !is_same_device,
            Attribute::Rdev => before.rdev() != after.rdev() && is_device_file(before, after),
        };
        if differs {
            changed.put(attribute);
        }
    }
    changed
}

/// True if either row is a device file. For other types `rdev` is undefined.
fn is_device_file(before: &Row<'_>, after: &Row<'_>) -> bool {
    let is_one = |row: &Row<'_>| matches!(row.file_type(), FileType::Block | FileType::Char);
    is_one(before) || is_one(after)
}

/// A range of rows of one batch.
pub(crate) type Rows<'a> = (&'a RowBatch, Range<usize>);

/// Collects the positions of row pairs that differ in at least one of these
/// columns. Both ranges have the same length. The result may contain pairs that
/// turn out to be equal, but misses none that differ.
pub(crate) fn find_unlike(
    before: Rows<'_>,
    after: Rows<'_>,
    columns: ColumnSet,
    found: &mut Vec<u32>,
) {
    found.clear();
    let mut finder = Finder {
        before,
        after,
        found,
    };
    for column in columns.iter() {
        finder.look_at(column);
    }
    found.sort_unstable();
    found.dedup();
}

/// Compares one column at a time over the whole range.
struct Finder<'a, 'f> {
    before: Rows<'a>,
    after: Rows<'a>,
    found: &'f mut Vec<u32>,
}

impl<'a> Finder<'a, '_> {
    fn look_at(&mut self, column: Column) {
        match column {
            Column::Dir | Column::Name | Column::NameRaw | Column::Type | Column::Blksize => {}
            Column::Ino => self.numbers(|batch| &batch.ino),
            Column::Dev => self.numbers(|batch| &batch.dev),
            Column::Mode => self.numbers(|batch| &batch.mode),
            Column::Nlink => self.numbers(|batch| &batch.nlink),
            Column::Uid => self.numbers(|batch| &batch.uid),
            Column::Gid => self.numbers(|batch| &batch.gid),
            Column::Rdev => self.numbers(|batch| &batch.rdev),
            Column::Size => self.numbers(|batch| &batch.size),
            Column::Blocks => self.numbers(|batch| &batch.blocks),
            Column::Atime => self.numbers(|batch| &batch.atime),
            Column::AtimeNs => self.numbers(|batch| &batch.atime_ns),
            Column::Mtime => self.numbers(|batch| &batch.mtime),
            Column::MtimeNs => self.numbers(|batch| &batch.mtime_ns),
            Column::Ctime => self.numbers(|batch| &batch.ctime),
            Column::CtimeNs => self.numbers(|batch| &batch.ctime_ns),
            Column::Btime => self.numbers(|batch| &batch.btime),
            Column::BtimeNs => self.numbers(|batch| &batch.btime_ns),
            Column::LinkTarget => self.strings(|batch| &batch.link_target),
            Column::XattrNames => self.strings(|batch| &batch.xattr_names),
            Column::Acl => self.strings(|batch| &batch.acl),
            Column::AclDefault => self.strings(|batch| &batch.acl_default),
            Column::Project => self.numbers(|batch| &batch.project),
            Column::Attributes => self.numbers(|batch| &batch.attributes),
        }
    }

    fn numbers<T: PartialEq + 'a>(&mut self, column: impl Fn(&'a RowBatch) -> &'a Vec<T>) {
        let values = |rows: &Rows<'a>| column(rows.0).get(rows.1.clone()).unwrap_or_default();
        let (before, after) = (values(&self.before), values(&self.after));
        if before != after {
            let pairs = before.iter().zip(after).enumerate();
            let unlike = pairs.filter(|(_, (before, after))| before != after);
            self.found.extend(unlike.map(|(at, _)| at as u32));
        }
    }

    fn strings(&mut self, column: impl Fn(&'a RowBatch) -> &'a ByteColumn) {
        let (a, b) = (column(self.before.0), column(self.after.0));
        // Most string columns are entirely empty.
        if a.data.is_empty() && b.data.is_empty() {
            return;
        }
        for at in 0..self.before.1.len() {
            if a.get(self.before.1.start + at) != b.get(self.after.1.start + at) {
                self.found.push(at as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_has_a_name_and_a_place_in_a_set() {
        let all = AttributeSet::all();
        assert_eq!(all.iter().count(), ALL_ATTRIBUTES.len());
        let names: std::collections::HashSet<&str> =
            ALL_ATTRIBUTES.iter().map(|one| one.name()).collect();
        assert_eq!(names.len(), ALL_ATTRIBUTES.len());
        let one = AttributeSet::of(&[Attribute::Atime]);
        assert!(!all.minus(one).contains(Attribute::Atime));
        assert!(all.minus(all).is_empty());
    }

    #[test]
    fn unlike_rows_are_found_wherever_the_ranges_begin() {
        let batch = |sizes: &[u64], targets: &[&str]| {
            let mut batch = RowBatch {
                len: sizes.len(),
                size: sizes.to_vec(),
                ..RowBatch::default()
            };
            targets
                .iter()
                .for_each(|text| batch.link_target.push(text.as_bytes()));
            batch
        };
        let a = batch(&[1, 2, 3, 4], &["x", "y", "", ""]);
        let b = batch(&[0, 1, 2, 9, 4], &["-", "x", "z", "", ""]);
        let mut found = Vec::new();
        let all = AttributeSet::all().compared();
        find_unlike((&a, 0..4), (&b, 1..5), all, &mut found);
        assert_eq!(found, [1, 2]);
        let sizes = AttributeSet::of(&[Attribute::Size]);
        find_unlike((&a, 0..4), (&b, 1..5), sizes.compared(), &mut found);
        assert_eq!(found, [2]);
    }
}
