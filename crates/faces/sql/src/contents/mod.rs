//! Questions about the contents of files: `keyword('ssd')` and its kin.
//!
//! | module | content |
//! |---|---|
//! | `placing` | finds the rows of `entries` that a call is about, while the statement is planned |
//! | `asking` | evaluates a call on rows: packs that the user may open, or the file as of now |
//! | `sift` | the part of a scan that evaluates contents, last and only where they decide |
//!
//! Invariants: a call is planned on rows of the index, and a file is only read in a directory that the
//! index shows, so no statement can name a file elsewhere to read; the evaluation is that of `trawl find` ([`trawl_find::questions`]); a file whose content
//! decides and is not known is among the remarks on the answer, and the call is null.

mod asking;
mod placing;
mod sift;

pub(crate) use asking::{document_now, is_about_contents, is_test, not_of_now};
pub(crate) use placing::place;
pub(crate) use sift::{Sift, Wanted};

use std::sync::Arc;

use trawl_keywords::{Asked, AttributeTest, KeywordsError, Query, Question};

/// The columns of `entries` that a call reads, in the order of its arguments.
const COLUMNS: [&str; 10] = [
    "path", "path_raw", "type", "dev", "ino", "size", "mtime", "ctime", "source", "snapshot",
];

/// What a call asks about a file.
#[derive(Debug)]
enum Asking {
    /// Whether a condition is true.
    Test(Arc<Asked>),
    /// The values of the attribute of this name. The condition is that it exists.
    Values(String, Arc<Asked>),
    /// How well a query for words matches.
    Score(Arc<Asked>),
}

impl Asking {
    /// Returns what a function of this name asks; `None` if it is not about contents.
    fn of(function: &str, text: &str) -> Option<Result<Asking, KeywordsError>> {
        let asked = |question| Arc::new(Asked::new(question));
        let words = |query| asked(Question::Words(query));
        Some(match function {
            "keyword" => Query::parse(text).map(|query| Asking::Test(words(query))),
            "phrase" => Query::phrase(text).map(|query| Asking::Test(words(query))),
            "attr" => {
                AttributeTest::parse(text).map(|one| Asking::Test(asked(Question::Attribute(one))))
            }
            "attribute" => Ok(Asking::Values(text.to_owned(), asked(exists(text)))),
            "score" => Query::parse(text).map(|query| Asking::Score(words(query))),
            _ => return None,
        })
    }

    /// Returns the condition without which the answer is false or null.
    fn asked(&self) -> &Asked {
        match self {
            Asking::Test(asked) | Asking::Values(_, asked) | Asking::Score(asked) => asked,
        }
    }
}

/// Returns the question whether an attribute exists.
pub(crate) fn exists(name: &str) -> Question {
    Question::Attribute(AttributeTest::exists(name))
}
