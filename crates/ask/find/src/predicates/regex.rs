//! `-regex`: has a path that matches the regular expression PATTERN as a whole.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};
use trawl_text::glob::Case;

use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::regex::Regex;

/// The `-regex` predicate.
pub(crate) static REGEX: Predicate = Predicate {
    name: "-regex",
    aliases: &[],
    args: "PATTERN",
    kind: Kind::Test,
    help: "has a path that matches the regular expression PATTERN from start to end",
    cost: Cost::Regex,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| parse(args, Case::Sensitive)),
};

#[derive(Debug)]
struct RegexTest {
    regex: Regex,
}

impl Leaf for RegexTest {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.path_matches(row, &self.regex, std::ptr::from_ref(self).addr())
    }

    fn filter(&self) -> Filter {
        Filter::of_need(self.regex.need().clone())
    }
}

/// Parses the expression of `-regex` and `-iregex`.
pub(super) fn parse(args: &mut Arguments<'_>, case: Case) -> Result<Box<dyn Leaf>, FindError> {
    let pattern = args.value()?;
    let regex = Regex::new(pattern, args.settings.dialect, case, args.env.locale);
    let regex = regex.map_err(|reason| FindError::Regex {
        pattern: String::from_utf8_lossy(pattern).into_owned(),
        reason: reason.to_string(),
    })?;
    Ok(Box::new(RegexTest { regex }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// Rows of these tests lie in the directory `./top`.
    #[test]
    fn the_whole_path_is_matched() {
        for (words, name, expected) in [
            ("-regex .*/a.c", "abc", true),
            ("-regex abc", "abc", false),
            ("-regextype egrep -regex .*(b|x)c", "abc", true),
            ("-regex ./top/ABC", "abc", false),
        ] {
            assert_eq!(
                matches(words, &Spec::named(name)),
                expected,
                "{words} {name}"
            );
        }
        assert_eq!(
            error_of("-regex \\("),
            "failed to compile regular expression '\\(': Unmatched ( or \\("
        );
    }
}
