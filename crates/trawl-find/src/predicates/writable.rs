//! `-writable`: the asker may write to it.

use super::readable::leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::probe::{ACCESS_COLUMNS, Access};

/// The predicate.
pub(crate) static WRITABLE: Predicate = Predicate {
    name: "-writable",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "the asker may write to it, links followed",
    cost: Cost::LookUp,
    columns: ACCESS_COLUMNS,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(leaf(Access::Write))),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// The probe of tests allows everything.
    #[test]
    fn it_takes_no_argument() {
        assert!(matches("-writable", &Spec::default()));
        assert!(!matches("! -writable", &Spec::default()));
        assert!(error_of("-writable x").starts_with("paths must precede"));
    }
}
