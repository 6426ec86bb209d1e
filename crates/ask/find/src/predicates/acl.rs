//! `-acl`: has an access control list that adds to the mode bits, or a default
//! one.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};

use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-acl` predicate.
pub(crate) static ACL: Predicate = Predicate {
    name: "-acl",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "has an access control list beyond its mode bits, or a default one",
    cost: Cost::Name,
    columns: ColumnSet::of(&[Column::Mode, Column::Acl, Column::AclDefault]),
    standard: Standard::Bfs,
    parse: Parse::Leaf(|_| Ok(Box::new(HasAcl))),
};

/// Size in bytes of an access control list that holds only the entries of
/// owner, group and others, that is, the mode bits: a version and three
/// entries.
const MINIMAL_BYTES: usize = 4 + 3 * 8;

#[derive(Debug)]
struct HasAcl;

impl Leaf for HasAcl {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        let has_default = row.file_type() == FileType::Directory && !row.acl_default().is_empty();
        row.acl().len() > MINIMAL_BYTES || has_default
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn lists_beyond_the_mode_count() {
        let spec = |mode, acl: &'static [u8], acl_default: &'static [u8]| Spec {
            mode,
            acl,
            acl_default,
            ..Spec::default()
        };
        let (minimal, extended): (&[u8], &[u8]) = (&[2; 28], &[2; 36]);
        for (spec, expected) in [
            (spec(0o100_644, b"", b""), false),
            (spec(0o100_644, minimal, b""), false),
            (spec(0o100_644, extended, b""), true),
            (spec(0o040_755, b"", minimal), true),
            (spec(0o040_755, b"", b""), false),
        ] {
            assert_eq!(matches("-acl", &spec), expected, "{spec:?}");
        }
    }
}
