//! `-xattr`: has an extended attribute whose name matches, and whose value
//! matches if one is given. A value counts only if the current user may read
//! it.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};
use trawl_text::glob::Case;

use crate::context::Context;
use crate::leaf::Leaf;
use crate::lookups::{AttributeName, AttributeTest};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-xattr` predicate.
pub(crate) static XATTR: Predicate = Predicate {
    name: "-xattr",
    aliases: &[],
    args: "NAME[=VALUE]",
    kind: Kind::Test,
    help: "has an extended attribute whose name matches NAME and, if given, whose readable value matches VALUE",
    cost: Cost::Path,
    columns: COLUMNS,
    standard: Standard::Trawl,
    parse: Parse::Leaf(|args| {
        let word = args.value()?;
        let at = word.iter().position(|byte| *byte == b'=');
        let (name, value) = match at {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (word, None),
        };
        let glob = |pattern: &[u8]| args.glob(pattern, Case::Sensitive);
        Ok(Box::new(HasAttribute(AttributeTest {
            word: word.to_vec(),
            name: AttributeName::Like(glob(name)),
            value: value.map(glob),
        })))
    }),
};

/// Columns that [`HasAttribute`] reads.
pub(super) const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::XattrNames,
    Column::Acl,
    Column::AclDefault,
]);

/// The test of `-xattr` and `-xattrname`.
#[derive(Debug)]
pub(super) struct HasAttribute(pub(super) AttributeTest);

impl Leaf for HasAttribute {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let HasAttribute(test) = self;
        let in_row = |name: &[u8]| match name {
            b"" => false,
            b"system.posix_acl_access" => test.is_about(name) && test.admits(row.acl()),
            b"system.posix_acl_default" => test.is_about(name) && test.admits(row.acl_default()),
            _ => test.value.is_none() && test.is_about(name),
        };
        if row.xattr_names().split(|byte| *byte == 0).any(in_row) {
            return true;
        }
        if !test.needs_lookup() {
            return false;
        }
        let path = cx.path(row).to_vec();
        cx.probe.has_attribute(row, &path, test)
    }

    fn attribute_test(&self) -> Option<&AttributeTest> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn names_and_values_are_patterns() {
        let spec = Spec {
            xattr_names: b"system.posix_acl_access\0user.mime\0",
            acl: b"\x02\0\0\0 an ACL",
            ..Spec::default()
        };
        for (word, expected) in [
            ("user.mime", true),
            ("user.*", true),
            ("user.m", false),
            ("mime", false),
            ("*", true),
            ("trusted.*", true),
            ("trusted.seen", true),
            ("trusted.other", false),
            ("user.mime=text/*", true),
            ("user.mime=image/*", false),
            ("user.*=text/plain", true),
            ("user.other=*", false),
            ("system.*=*ACL", true),
            ("system.*=", false),
        ] {
            assert_eq!(
                matches(&format!("-xattr {word}"), &spec),
                expected,
                "{word}"
            );
        }
        assert!(!matches("-xattr *", &Spec::named("plain")));
        assert_eq!(error_of("-xattr"), "missing argument to `-xattr'");
    }
}
