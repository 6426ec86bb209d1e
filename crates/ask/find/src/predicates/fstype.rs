//! `-fstype`: lies on a file system of a given type.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::context::Context;
use crate::leaf::{Facts, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-fstype` predicate.
pub(crate) static FSTYPE: Predicate = Predicate {
    name: "-fstype",
    aliases: &[],
    args: "TYPE",
    kind: Kind::Test,
    help: "is on a file system of type TYPE, as mounted now",
    // It looks at the entry itself, but only where it has to.
    cost: Cost::Look,
    columns: ColumnSet::of(&[Column::Dev]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let kind = String::from_utf8_lossy(args.value()?).into_owned();
        Ok(Box::new(FsType { kind }))
    }),
};

/// The type that find reports for a file system that is not mounted.
const UNKNOWN: &str = "unknown";

#[derive(Debug)]
struct FsType {
    kind: String,
}

impl Leaf for FsType {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let file_systems = &cx.world.file_systems;
        // GNU find rejects types that are mounted nowhere without looking at
        // the entry.
        if !file_systems.has_kind(&self.kind) {
            return false;
        }
        // Only the index has entries of file systems that are not mounted: GNU
        // find does not look at an entry to find this type.
        if self.kind == UNKNOWN {
            return cx.known == Facts::Attributes && file_systems.kind(row.dev()) == UNKNOWN;
        }
        match cx.looked(row, Facts::Attributes) {
            Some(batch) => {
                let row = Row {
                    batch: &batch,
                    at: 0,
                    dir: b"",
                };
                file_systems.kind(row.dev()) == self.kind
            }
            None => cx.known == Facts::Attributes && file_systems.kind(row.dev()) == self.kind,
        }
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts::Name)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn a_device_that_is_not_mounted_is_unknown() {
        let spec = Spec {
            dev: 0xfff_fff,
            ..Spec::default()
        };
        assert!(matches("-fstype unknown", &spec));
        assert!(!matches("-fstype ext4", &spec));
    }
}
