//! `-path`: has a path, as spelled from the start point, that matches PATTERN.

use trawl_model::filter::Filter;
use trawl_model::need::Within;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};
use trawl_text::glob::{Case, Glob};

use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-path` predicate.
pub(crate) static PATH: Predicate = Predicate {
    name: "-path",
    aliases: &["-wholename"],
    args: "PATTERN",
    kind: Kind::Test,
    help: "has a path, as spelled from the starting point, that matches PATTERN",
    cost: Cost::Path,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| parse(args, Case::Sensitive)),
};

#[derive(Debug)]
struct PathTest {
    glob: Glob,
}

impl Leaf for PathTest {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        self.glob.matches(cx.path(row))
    }

    fn filter(&self) -> Filter {
        Filter::of_need(self.glob.need(Within::Path))
    }
}

/// Parses the pattern of `-path` and `-ipath`.
pub(super) fn parse(args: &mut Arguments<'_>, case: Case) -> Result<Box<dyn Leaf>, FindError> {
    let pattern = args.value()?;
    let glob = args.glob(pattern, case);
    let starts = &args.settings.starts;
    if pattern.ends_with(b"/")
        && !args.env.is_posix
        && !starts.iter().any(|start| glob.matches(start))
    {
        args.warn_always(format!(
            "warning: {} {} will not match anything because it ends with /.",
            args.spelled(),
            String::from_utf8_lossy(pattern)
        ));
    }
    Ok(Box::new(PathTest { glob }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    /// Rows of these tests lie in the directory `./top`.
    #[test]
    fn the_whole_path_is_matched() {
        for (words, name, expected) in [
            ("-path */abc", "abc", true),
            ("-path ./top/a?c", "abc", true),
            ("-path *", "abc", true),
            ("-wholename abc", "abc", false),
            ("-path ./T*", "abc", false),
        ] {
            assert_eq!(
                matches(words, &Spec::named(name)),
                expected,
                "{words} {name}"
            );
        }
    }
}
