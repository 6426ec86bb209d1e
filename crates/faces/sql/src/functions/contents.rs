//! Functions on the contents of files.
//!
//! A call names no column: it is about the row of `entries` around it. [`crate::contents`] finds that
//! row while the statement is planned, and evaluates the call; a call that is left over has none.

use arrow::array::ArrayRef;
use datafusion::error::Result;

use super::{FunctionInfo, Moment, Type};

/// Arguments: the question, or the path of the row that it is about before it.
const ARGUMENTS: &[&[Type]] = &[&[Type::Text], &[Type::Text, Type::Text]];

/// The rows of this group.
pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        name: "keyword",
        usage: "keyword('ssd AND (flash OR nvme)')",
        doc: "True for a regular file whose text matches the query, as in find -keyword; null if the file cannot be read",
        arguments: ARGUMENTS,
        result: Type::Truth,
        call: misplaced,
    },
    FunctionInfo {
        name: "phrase",
        usage: "phrase('solid state')",
        doc: "True for a regular file whose text has these words one after the other, as in find -phrase",
        arguments: ARGUMENTS,
        result: Type::Truth,
        call: misplaced,
    },
    FunctionInfo {
        name: "attr",
        usage: "attr('exposure<0.01')",
        doc: "True for a regular file whose attribute fulfils the condition, as in find -attr",
        arguments: ARGUMENTS,
        result: Type::Truth,
        call: misplaced,
    },
    FunctionInfo {
        name: "attribute",
        usage: "attribute('artist')",
        doc: "The values of an attribute of a regular file as text, with `, ` between them; null if it has none",
        arguments: ARGUMENTS,
        result: Type::Text,
        call: misplaced,
    },
    FunctionInfo {
        name: "score",
        usage: "score('ssd AND (flash OR nvme)')",
        doc: "How well a regular file's text matches the query, as in find -sort score (BM25): greater is better, 0 if it does not match; null if the file cannot be read",
        arguments: ARGUMENTS,
        result: Type::Real,
        call: misplaced,
    },
];

fn misplaced(_: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    datafusion::common::plan_err!("a function on the contents of files is about rows of entries")
}
