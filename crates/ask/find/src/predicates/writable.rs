//! `-writable`: the current user may write to the entry.

use super::readable::leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::probe::{ACCESS_COLUMNS, Access};

/// The `-writable` predicate.
pub(crate) static WRITABLE: Predicate = Predicate {
    name: "-writable",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "is writable by the current user; follows symbolic links",
    cost: Cost::LookUp,
    columns: ACCESS_COLUMNS,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(leaf(Access::Write))),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// The probe of tests permits every access.
    #[test]
    fn it_takes_no_argument() {
        assert!(matches("-writable", &Spec::default()));
        assert!(!matches("! -writable", &Spec::default()));
        assert!(error_of("-writable x").starts_with("paths must precede"));
    }
}
