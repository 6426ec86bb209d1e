//! `-lname`: is a symbolic link whose target matches PATTERN.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};
use trawl_text::glob::{Case, Glob};

use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-lname` predicate.
pub(crate) static LNAME: Predicate = Predicate {
    name: "-lname",
    aliases: &[],
    args: "PATTERN",
    kind: Kind::Test,
    help: "is a symbolic link whose target matches PATTERN",
    cost: Cost::Name,
    columns: ColumnSet::of(&[Column::Mode, Column::LinkTarget]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| parse(args, Case::Sensitive)),
};

#[derive(Debug)]
struct LinkName {
    glob: Glob,
}

impl Leaf for LinkName {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        if row.file_type() != FileType::Symlink {
            return false;
        }
        let target = cx.link_target(row, |cx, error| cx.cannot_look(row, error));
        target.is_some_and(|target| self.glob.matches(&target))
    }
}

/// Reads the pattern of `-lname` and `-ilname`.
pub(super) fn parse(args: &mut Arguments<'_>, case: Case) -> Result<Box<dyn Leaf>, FindError> {
    let pattern = args.value()?;
    let glob = args.glob(pattern, case);
    Ok(Box::new(LinkName { glob }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn targets_are_matched() {
        let link = Spec {
            mode: 0o120_777,
            target: "thing",
            ..Spec::default()
        };
        for (words, expected) in [
            ("-lname *ing", true),
            ("-lname T*", false),
            ("-lname thing -type l", true),
        ] {
            assert_eq!(matches(words, &link), expected, "{words}");
        }
        assert!(
            !matches("-lname *", &Spec::default()),
            "only links have targets"
        );
    }
}
