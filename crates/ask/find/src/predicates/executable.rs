//! `-executable`: the current user may execute the file or search the
//! directory.

use super::readable::leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::probe::{ACCESS_COLUMNS, Access};

/// The `-executable` predicate.
pub(crate) static EXECUTABLE: Predicate = Predicate {
    name: "-executable",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "is executable, or searchable if a directory, by the current user; follows symbolic links",
    cost: Cost::LookUp,
    columns: ACCESS_COLUMNS,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(leaf(Access::Execute))),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// The probe of tests permits every access.
    #[test]
    fn it_takes_no_argument() {
        assert!(matches("-executable", &Spec::default()));
        assert!(!matches("! -executable", &Spec::default()));
        assert!(error_of("-executable x").starts_with("paths must precede"));
    }
}
