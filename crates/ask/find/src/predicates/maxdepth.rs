//! `-maxdepth`: descends at most N levels below the start points.

use trawl_model::ColumnSet;

use crate::error::FindError;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-maxdepth` predicate.
pub(crate) static MAXDEPTH: Predicate = Predicate {
    name: "-maxdepth",
    aliases: &[],
    args: "N",
    kind: Kind::GlobalOption,
    help: "descend at most N levels below the starting points",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.traversal.max_depth = parse(args, "-maxdepth")?;
        Ok(())
    }),
};

/// Parses a depth, the argument of `-maxdepth` and `-mindepth`.
pub(super) fn parse(args: &mut Arguments<'_>, name: &'static str) -> Result<usize, FindError> {
    let text = args.value()?;
    let digits = std::str::from_utf8(text)
        .ok()
        .filter(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()));
    let Some(digits) = digits else {
        let quoted = args.quoted(text);
        let reason =
            format!("Expected a positive decimal integer argument to {name}, but got {quoted}");
        return Err(FindError::bad(name, reason));
    };
    // GNU find keeps depths in an int.
    let depth = digits
        .parse::<i32>()
        .ok()
        .and_then(|n| usize::try_from(n).ok());
    depth.ok_or_else(|| FindError::bad(name, format!("{digits}: Numerical result out of range")))
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, program};

    #[test]
    fn depths_are_plain_numbers() {
        assert_eq!(program("-maxdepth 3").traversal.max_depth, 3);
        assert_eq!(program("-maxdepth 3 -maxdepth 1").traversal.max_depth, 1);
        for word in ["x", "-1", "+1", "1.5"] {
            assert_eq!(
                error_of(&format!("-maxdepth {word}")),
                format!(
                    "Expected a positive decimal integer argument to -maxdepth, but got ‘{word}’"
                )
            );
        }
        assert_eq!(
            error_of("-maxdepth 99999999999999999999"),
            "99999999999999999999: Numerical result out of range"
        );
    }
}
