//! `-phrase`: these words occur in the file's text, one after the other.

use trawl_keywords::{Query, Question};

use super::keyword::{refused, text};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::questions;

/// The `-phrase` predicate.
pub(crate) static PHRASE: Predicate = Predicate {
    name: "-phrase",
    aliases: &[],
    args: "WORDS",
    kind: Kind::Test,
    help: "is a regular file whose text has these words one after the other",
    cost: Cost::Content,
    columns: questions::COLUMNS,
    standard: Standard::Trawl,
    parse: Parse::Leaf(|args| {
        let query = Query::phrase(&text(args)?).map_err(|why| refused("-phrase", &why))?;
        Ok(args.settings.questions.add(Question::Words(query)))
    }),
};
