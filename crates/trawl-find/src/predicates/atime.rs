//! `-atime`: was last accessed N days ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-atime` predicate.
pub(crate) static ATIME: Predicate = Predicate {
    name: "-atime",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was last accessed N days ago",
    cost: Cost::Number,
    columns: Which::Access.columns(),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| Age::in_days(args, Which::Access)),
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
            let words = format!("-atime {argument}");
            assert_eq!(
                matches(&words, &Spec::default().atime_ago(age_secs)),
                expected,
                "{words} {age_secs}"
            );
        }
        assert_eq!(error_of("-atime x"), "invalid argument `x' to `-atime'");
        assert_eq!(error_of("-atime"), "missing argument to `-atime'");
    }
}
