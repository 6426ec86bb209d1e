//! `-mindepth`: skips entries less than N levels below the start points.

use trawl_model::ColumnSet;

use super::maxdepth;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-mindepth` predicate.
pub(crate) static MINDEPTH: Predicate = Predicate {
    name: "-mindepth",
    aliases: &[],
    args: "N",
    kind: Kind::GlobalOption,
    help: "apply no tests or actions at levels less than N below the starting points",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.traversal.min_depth = maxdepth::parse(args, "-mindepth")?;
        Ok(())
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, program};

    #[test]
    fn depths_are_plain_numbers() {
        assert_eq!(program("-mindepth 3").traversal.min_depth, 3);
        assert_eq!(program("-mindepth 3 -mindepth 1").traversal.min_depth, 1);
        for word in ["x", "-1", "+1", "1.5"] {
            assert_eq!(
                error_of(&format!("-mindepth {word}")),
                format!(
                    "Expected a positive decimal integer argument to -mindepth, but got ‘{word}’"
                )
            );
        }
        assert_eq!(
            error_of("-mindepth 99999999999999999999"),
            "99999999999999999999: Numerical result out of range"
        );
    }
}
