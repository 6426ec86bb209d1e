//! `-mtime`: was last modified N days ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-mtime` predicate.
pub(crate) static MTIME: Predicate = Predicate {
    name: "-mtime",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was last modified N days ago",
    cost: Cost::Number,
    columns: Which::Modification.columns(),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| Age::in_days(args, Which::Modification)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn ages_are_rounded_down() {
        let unit = 86400;
        for (argument, age_secs, expected) in [
            ("0", unit - 1, true),
            ("0", unit, false),
            ("1", unit, true),
            ("1", 2 * unit - 1, true),
            ("+1", 2 * unit - 1, false),
            ("+1", 2 * unit + 1, true),
            ("-1", unit - 2, true),
            ("-1", unit + 2, false),
            ("1.5", 3 * unit / 2 + 2, true),
        ] {
            let words = format!("-mtime {argument}");
            assert_eq!(
                matches(&words, &Spec::default().mtime_ago(age_secs)),
                expected,
                "{words} {age_secs}"
            );
        }
        assert_eq!(error_of("-mtime x"), "invalid argument `x' to `-mtime'");
        assert_eq!(error_of("-mtime"), "missing argument to `-mtime'");
    }
}
