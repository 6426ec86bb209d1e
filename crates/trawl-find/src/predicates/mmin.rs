//! `-mmin`: was last modified N minutes ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-mmin` predicate.
pub(crate) static MMIN: Predicate = Predicate {
    name: "-mmin",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was last modified N minutes ago",
    cost: Cost::Number,
    columns: Which::Modification.columns(),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| Age::in_minutes(args, Which::Modification)),
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
            let words = format!("-mmin {argument}");
            assert_eq!(
                matches(&words, &Spec::default().mtime_ago(age_secs)),
                expected,
                "{words} {age_secs}"
            );
        }
        assert_eq!(error_of("-mmin x"), "invalid argument `x' to `-mmin'");
        assert_eq!(error_of("-mmin"), "missing argument to `-mmin'");
    }
}
