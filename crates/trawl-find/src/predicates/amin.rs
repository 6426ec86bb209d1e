//! `-amin`: was last accessed N minutes ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-amin` predicate.
pub(crate) static AMIN: Predicate = Predicate {
    name: "-amin",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was last accessed N minutes ago",
    cost: Cost::Number,
    columns: Which::Access.columns(),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| Age::in_minutes(args, Which::Access)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn ages_are_rounded_up() {
        let unit = 60;
        for (argument, age_secs, expected) in [
            ("0", unit - 1, false),
            ("1", unit - 1, true),
            ("1", unit + 1, false),
            ("2", unit + 1, true),
            ("+1", unit + 1, true),
            ("+1", unit - 1, false),
            ("-1", unit - 1, true),
            ("-1", unit + 1, false),
            ("-0.5", unit / 3, true),
        ] {
            let words = format!("-amin {argument}");
            assert_eq!(
                matches(&words, &Spec::default().atime_ago(age_secs)),
                expected,
                "{words} {age_secs}"
            );
        }
        assert_eq!(error_of("-amin x"), "invalid argument `x' to `-amin'");
        assert_eq!(error_of("-amin"), "missing argument to `-amin'");
    }
}
