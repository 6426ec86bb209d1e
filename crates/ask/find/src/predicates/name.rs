//! `-name`: has a base name that matches PATTERN.

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

/// The `-name` predicate.
pub(crate) static NAME: Predicate = Predicate {
    name: "-name",
    aliases: &[],
    args: "PATTERN",
    kind: Kind::Test,
    help: "has a base name that matches PATTERN",
    cost: Cost::Name,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| parse(args, Case::Sensitive)),
};

#[derive(Debug)]
struct Name {
    glob: Glob,
}

impl Leaf for Name {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        self.glob.matches(cx.name(row))
    }

    fn filter(&self) -> Filter {
        Filter::of_need(self.glob.need(Within::Name))
    }
}

/// Parses the pattern of `-name` and `-iname`.
pub(super) fn parse(args: &mut Arguments<'_>, case: Case) -> Result<Box<dyn Leaf>, FindError> {
    let pattern = args.value()?;
    if pattern.contains(&b'/') && pattern != b"/" {
        let name = args.spelled();
        let whole = name.replace("name", "wholename");
        let quote = |text: &str| args.quoted(text.as_bytes());
        let line = format!(
            "warning: {} matches against basenames only, but the given pattern contains a \
             directory separator ({}), thus the expression will evaluate to false all the time.  \
             Did you mean {}?",
            quote(&name),
            quote("/"),
            quote(&whole),
        );
        args.warn(line);
    }
    let glob = args.glob(pattern, case);
    Ok(Box::new(Name { glob }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn the_last_component_is_matched() {
        for (words, name, expected) in [
            ("-name a*", "abc", true),
            ("-name a*", "Abc", false),
            ("-name *", ".hidden", true),
            ("-name [[:digit:]]?", "1x", true),
            ("-name a/b", "b", false),
        ] {
            assert_eq!(
                matches(words, &Spec::named(name)),
                expected,
                "{words} {name}"
            );
        }
    }
}
