//! Errors of definitions and of files. The caller adds the path.

use std::io;

use crate::definition::{INDICES_MAX, NAME_BYTES_MAX};
use crate::over::{ATTRIBUTES_MAX, CONTENT_BYTES_MAX, RELATION_BYTES_MAX, XATTR_BYTES_MAX};

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFileError {
    /// The file cannot be read.
    #[error("cannot read it: {0}")]
    Read(#[source] io::Error),
    /// Its bytes are not those of a named index.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// A newer program wrote it.
    #[error("it has version {0}, which this program does not know")]
    Version(u32),
    /// It was made from another segment, or for another definition.
    #[error("it belongs to another segment or index")]
    Foreign,
}

/// Why a definition is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name is empty, too long, or has other characters.
    #[error(
        "invalid name `{0}`: use 1 to {NAME_BYTES_MAX} letters, digits, `-` and `_`, and begin \
         with a letter"
    )]
    Name(String),
    /// There is no such attribute.
    #[error(
        "unknown attribute `{name}`: use {known}, attr:NAME for an attribute of contents, \
         xattr:NAME for an extended attribute, or relation:KIND"
    )]
    Attribute {
        /// The name that was given.
        name: String,
        /// All attributes.
        known: String,
    },
    /// An attribute is given twice.
    #[error("attribute `{0}` is given twice")]
    Twice(String),
    /// Something else answers questions about it.
    #[error("`{name}` has no named index: {by}")]
    Elsewhere {
        /// The name that was given.
        name: String,
        /// What answers them.
        by: &'static str,
    },
    /// The name of an attribute of contents is empty, too long, or has other characters.
    #[error(
        "invalid attribute `attr:{0}`: use 1 to {CONTENT_BYTES_MAX} letters, digits, `-`, `_` and \
         `.`, and begin with a letter"
    )]
    Content(String),
    /// The name of an extended attribute has no class, is too long, or has other characters.
    #[error(
        "invalid extended attribute `{0}`: use its full name, such as user.comment, of at most \
         {XATTR_BYTES_MAX} visible ASCII characters without commas"
    )]
    Xattr(String),
    /// The name of a kind of relations is empty, too long, or has other characters; or all kinds
    /// have others beside them.
    #[error(
        "invalid relation `relation:{0}`: kinds are lower-case words of at most \
         {RELATION_BYTES_MAX} characters, such as includes, and relation:all stands alone"
    )]
    Relation(String),
    /// An attribute of contents or an extended attribute has others beside it.
    #[error("`{0}` must be the only attribute of its index: define one index for each")]
    Alone(String),
    /// A relation has something else beside it.
    #[error("`{0}` can have only relations beside it: write each as relation:KIND")]
    Mixed(String),
    /// Columns and extended attributes have no lists and no words.
    #[error("inverted indices are over attributes of contents, attr:NAME: use ordered or hashed")]
    Inverted,
    /// Attributes have no two ends.
    #[error("graph indices are over relations: use --on relation:KIND, or relation:all")]
    Graph,
    /// Relations have no order.
    #[error("indices over relations are graphs: use --kind graph")]
    OnlyGraph,
    /// The path of a part is none.
    #[error("the part of the source is not a path below its root")]
    Part,
    /// Only columns are indexed for parts.
    #[error(
        "an index over contents, extended attributes or relations is of a whole source: give the \
         path of its root"
    )]
    WholeOnly,
    /// None, or too many.
    #[error("an index has 1 to {ATTRIBUTES_MAX} attributes")]
    Count,
    /// Another index has the name.
    #[error("index `{0}` exists already: drop it first, or choose another name")]
    Exists(String),
    /// There are too many.
    #[error("a source has at most {INDICES_MAX} named indices: drop one first")]
    TooMany,
    /// There is no index of this name.
    #[error("there is no index `{0}`: `trawl index list` shows those that exist")]
    Missing(String),
    /// The list of definitions makes no sense.
    #[error("line {0} of the list of named indices is invalid")]
    Line(usize),
}
