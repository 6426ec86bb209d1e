//! `-noleaf`: meant for file systems without usable link counts; has no effect
//! here.

use trawl_model::ColumnSet;

use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-noleaf` predicate.
pub(crate) static NOLEAF: Predicate = Predicate {
    name: "-noleaf",
    aliases: &[],
    args: "",
    kind: Kind::GlobalOption,
    help: "do nothing (accepted for compatibility)",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|_| Ok(())),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn it_is_true() {
        assert!(matches("-noleaf", &Spec::default()));
    }
}
