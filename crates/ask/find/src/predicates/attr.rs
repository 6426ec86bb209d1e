//! `-attr`: an attribute of the file's content has a value.

use trawl_keywords::{AttributeTest, Question};

use super::keyword::{refused, text};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::questions;

/// The `-attr` predicate.
pub(crate) static ATTR: Predicate = Predicate {
    name: "-attr",
    aliases: &[],
    args: "NAME[=VALUE]",
    kind: Kind::Test,
    help: "is a regular file whose content has the attribute NAME, with = != < <= > or >= VALUE if given",
    cost: Cost::Content,
    columns: questions::COLUMNS,
    standard: Standard::Trawl,
    parse: Parse::Leaf(|args| {
        let test = AttributeTest::parse(&text(args)?).map_err(|why| refused("-attr", &why))?;
        Ok(args.settings.questions.add(Question::Attribute(test)))
    }),
};
