//! `-xattrname`: has an extended attribute of exactly this name.

use crate::lookups::{AttributeName, AttributeTest};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

use super::xattr::{COLUMNS, HasAttribute};

/// The `-xattrname` predicate.
pub(crate) static XATTRNAME: Predicate = Predicate {
    name: "-xattrname",
    aliases: &[],
    args: "NAME",
    kind: Kind::Test,
    help: "has an extended attribute with exactly the name NAME",
    cost: Cost::Name,
    columns: COLUMNS,
    standard: Standard::Bfs,
    parse: Parse::Leaf(|args| {
        let name = args.value()?;
        Ok(Box::new(HasAttribute(AttributeTest {
            word: name.to_vec(),
            name: AttributeName::Exactly(name.to_vec()),
            value: None,
        })))
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn a_name_is_itself() {
        let spec = Spec {
            xattr_names: b"user.a\0user.*\0",
            ..Spec::default()
        };
        for (name, expected) in [
            ("user.a", true),
            ("user.?", false),
            ("user.*", true),
            ("user", false),
        ] {
            assert_eq!(
                matches(&format!("-xattrname {name}"), &spec),
                expected,
                "{name}"
            );
        }
    }
}
