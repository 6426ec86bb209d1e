//! The attributes that can be compared, and the comparison of two rows.
//!
//! Values of extended attributes are not compared: changing one also changes
//! `ctime`. The preferred I/O size (`blksize`) is not compared either, because
//! it is a property of the file system and not of the file.

use std::ops::Range;
use trawl_model::column::COMPARED;
use trawl_model::rows::{ByteColumn, Row, RowBatch, Values};
use trawl_model::{Column, ColumnSet, FileType, Value};

/// The columns that every comparison reads because they identify an object.
const IDENTITY: ColumnSet = ColumnSet::of(&[
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

/// A set of attributes, each the column of [`COMPARED`] that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AttributeSet(ColumnSet);

impl AttributeSet {
    /// The empty set.
    pub const EMPTY: AttributeSet = AttributeSet(ColumnSet::EMPTY);

    /// Returns the set of just these attributes.
    pub const fn of(attributes: &[Column]) -> AttributeSet {
        AttributeSet(ColumnSet::of(attributes))
    }

    /// Returns the set of all attributes.
    pub const fn all() -> AttributeSet {
        AttributeSet::of(COMPARED)
    }

    /// Returns this set without the attributes of `other`.
    #[must_use]
    pub const fn minus(self, other: AttributeSet) -> AttributeSet {
        AttributeSet(self.0.minus(other.0))
    }

    /// Returns true if the attribute is in the set.
    pub const fn contains(self, attribute: Column) -> bool {
        self.0.contains(attribute)
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn union(self, other: AttributeSet) -> AttributeSet {
        AttributeSet(self.0.union(other.0))
    }

    /// Returns true if the set has no attributes.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the attributes in the set, in output order.
    pub fn iter(self) -> impl Iterator<Item = Column> {
        let all = COMPARED.iter().copied();
        all.filter(move |attribute| self.contains(*attribute))
    }

    /// Returns the names of the attributes, in output order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.iter().filter_map(Column::compared_as)
    }

    fn put(&mut self, attribute: Column) {
        self.0 = self.0.union(ColumnSet::of(&[attribute]));
    }

    /// The columns that these attributes are read from, plus the columns that
    /// identify an object. The set of all attributes needs all columns.
    pub(crate) fn columns(self) -> ColumnSet {
        if self == AttributeSet::all() {
            return ColumnSet::all();
        }
        self.compared().union(IDENTITY)
    }

    /// The columns that these attributes alone are read from.
    pub(crate) fn compared(self) -> ColumnSet {
        let columns = self.iter().map(Column::sources);
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
        let differs = || before.value(attribute) != after.value(attribute);
        let differs = match attribute {
            // The type is an attribute of its own.
            Column::Mode => (before.mode() ^ after.mode()) & PERMISSIONS != 0,
            // Compared only if both snapshots know it.
            Column::Btime => {
                differs()
                    && before.value(attribute) != Value::Null
                    && after.value(attribute) != Value::Null
            }
            Column::Dev => !is_same_device,
            Column::Rdev => differs() && is_device_file(before, after),
            _ => differs(),
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

impl Finder<'_, '_> {
    fn look_at(&mut self, column: Column) {
        match (self.before.0.values(column), self.after.0.values(column)) {
            (Values::U32(before, _), Values::U32(after, _)) => self.numbers(before, after),
            (Values::U64(before, _), Values::U64(after, _)) => self.numbers(before, after),
            (Values::I64(before, _), Values::I64(after, _)) => self.numbers(before, after),
            (Values::Bytes(before), Values::Bytes(after)) => self.strings(before, after),
            _ => {}
        }
    }

    fn numbers<T: PartialEq>(&mut self, before: &[T], after: &[T]) {
        let before = before.get(self.before.1.clone()).unwrap_or_default();
        let after = after.get(self.after.1.clone()).unwrap_or_default();
        if before != after {
            let pairs = before.iter().zip(after).enumerate();
            let unlike = pairs.filter(|(_, (before, after))| before != after);
            self.found.extend(unlike.map(|(at, _)| at as u32));
        }
    }

    fn strings(&mut self, before: &ByteColumn, after: &ByteColumn) {
        // Most string columns are entirely empty.
        if before.data.is_empty() && after.data.is_empty() {
            return;
        }
        for at in 0..self.before.1.len() {
            if before.get(self.before.1.start + at) != after.get(self.after.1.start + at) {
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
        assert_eq!(all.iter().count(), COMPARED.len());
        let names: std::collections::HashSet<&str> = all.names().collect();
        assert_eq!(names.len(), COMPARED.len());
        let one = AttributeSet::of(&[Column::Atime]);
        assert!(!all.minus(one).contains(Column::Atime));
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
        let sizes = AttributeSet::of(&[Column::Size]);
        find_unlike((&a, 0..4), (&b, 1..5), sizes.compared(), &mut found);
        assert_eq!(found, [2]);
    }
}
