//! `-cmin`: had its status last changed N minutes ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-cmin` predicate.
pub(crate) static CMIN: Predicate = Predicate {
    name: "-cmin",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "had its status last changed N minutes ago",
    cost: Cost::Number,
    columns: Which::Change.columns(),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| Age::in_minutes(args, Which::Change)),
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
            let words = format!("-cmin {argument}");
            assert_eq!(
                matches(&words, &Spec::default().ctime_ago(age_secs)),
                expected,
                "{words} {age_secs}"
            );
        }
        assert_eq!(error_of("-cmin x"), "invalid argument `x' to `-cmin'");
        assert_eq!(error_of("-cmin"), "missing argument to `-cmin'");
    }
}
