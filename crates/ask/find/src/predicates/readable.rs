//! `-readable`: the current user may read the entry.

use trawl_model::rows::Row;

use crate::context::Context;
use crate::leaf::{Facts, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::probe::{ACCESS_COLUMNS, Access};

/// The `-readable` predicate.
pub(crate) static READABLE: Predicate = Predicate {
    name: "-readable",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "is readable by the current user; follows symbolic links",
    cost: Cost::LookUp,
    columns: ACCESS_COLUMNS,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(leaf(Access::Read))),
};

/// A test of whether the current user has some access to the entry.
#[derive(Debug)]
struct May {
    access: Access,
}

/// A leaf that tests one kind of access.
pub(super) fn leaf(access: Access) -> Box<dyn Leaf> {
    Box::new(May { access })
}

impl Leaf for May {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let path = match cx.is_at_start() {
            true => cx.path(row).to_vec(),
            false => Vec::new(),
        };
        cx.probe.may(row, &path, self.access)
    }

    /// The kernel is asked by name, even where the entry's attributes cannot be
    /// read.
    fn facts(&self) -> Option<Facts> {
        Some(Facts::Name)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// The probe of tests permits every access.
    #[test]
    fn it_takes_no_argument() {
        assert!(matches("-readable", &Spec::default()));
        assert!(!matches("! -readable", &Spec::default()));
        assert!(error_of("-readable x").starts_with("paths must precede"));
    }
}
