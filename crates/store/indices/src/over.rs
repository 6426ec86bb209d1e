//! What an index is over: columns, an attribute of contents, an extended attribute, or relations.
//!
//! Only an index over columns has files of its own. What stores the others already serves them.

use std::fmt;

use trawl_model::column::{COLUMNS, Column};

use crate::definition::Kind;
use crate::error::DefinitionError;

/// Maximum number of attributes of an index.
pub(crate) const ATTRIBUTES_MAX: usize = 4;

/// The attributes that an index can have: columns of numbers and times of whole seconds.
pub const ATTRIBUTES: &[Column] = &[
    Column::Size,
    Column::Mtime,
    Column::Atime,
    Column::Ctime,
    Column::Uid,
    Column::Gid,
    Column::Mode,
    Column::Nlink,
    Column::Ino,
    Column::Dev,
    Column::Blocks,
];

/// Begins the name of an attribute of contents.
pub const CONTENT: &str = "attr:";
/// Begins the name of an extended attribute.
const XATTR: &str = "xattr:";
/// Begins the name of a kind of relations.
const RELATION: &str = "relation:";
/// Stands for all kinds of relations.
const ALL_RELATIONS: &str = "all";

/// Maximum length of the name of an attribute of contents in bytes.
pub(crate) const CONTENT_BYTES_MAX: usize = 64;
/// Maximum length of the name of an extended attribute in bytes: `XATTR_NAME_MAX` of
/// linux/limits.h.
pub(crate) const XATTR_BYTES_MAX: usize = 255;
/// Maximum length of the name of a kind of relations in bytes.
pub(crate) const RELATION_BYTES_MAX: usize = 64;

/// Attributes that have no named index, and what serves them.
const ELSEWHERE: [(&str, &str); 5] = [
    (
        "name",
        "the name sidecar of each segment serves `-name` and its kin already",
    ),
    (
        "path",
        "the name sidecar of each segment serves `-path` and its kin already",
    ),
    (
        "xattr:system.posix_acl_access",
        "ACLs have a column of their own: use find -xattr system.posix_acl_access=PATTERN",
    ),
    (
        "xattr:system.posix_acl_default",
        "ACLs have a column of their own: use find -xattr system.posix_acl_default=PATTERN",
    ),
    (
        "relation:same-content",
        "nothing stores it: `trawl related --kind same-content` and `trawl duplicates` compare \
         files now",
    ),
];

/// What an index is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Columns, the first in order first. Files beside segments serve them.
    Columns(Vec<Column>),
    /// The attribute of contents of this name, in lower case. The packs of keywords serve it.
    Content(String),
    /// The extended attribute of this full name. The tables of values serve it.
    Xattr(String),
    /// Relations of these kinds; of all if there are none. What `trawl related` reads serves them:
    /// the packs of keywords, and each user's record.
    Relations(Vec<String>),
}

impl Over {
    /// Reads attributes as they are written.
    pub(crate) fn read<A: AsRef<str>>(attributes: &[A]) -> Result<Over, DefinitionError> {
        if attributes.is_empty() || attributes.len() > ATTRIBUTES_MAX {
            return Err(DefinitionError::Count);
        }
        for (at, one) in attributes.iter().enumerate() {
            let one = one.as_ref();
            if attributes[..at].iter().any(|before| before.as_ref() == one) {
                return Err(DefinitionError::Twice(one.to_owned()));
            }
            if let Some((_, by)) = ELSEWHERE.iter().find(|(name, _)| *name == one) {
                let name = one.to_owned();
                return Err(DefinitionError::Elsewhere { name, by });
            }
        }
        let begin_with = |prefix: &'static str| {
            let names = attributes.iter().map(AsRef::as_ref);
            names.map(move |name| name.strip_prefix(prefix))
        };
        if let Some(kinds) = begin_with(RELATION).collect::<Option<Vec<&str>>>() {
            return relations(&kinds);
        }
        for prefix in [CONTENT, XATTR, RELATION] {
            let Some(name) = begin_with(prefix).flatten().next() else {
                continue;
            };
            return match (prefix, attributes.len()) {
                (CONTENT, 1) => content(name),
                (XATTR, 1) => xattr(name),
                (RELATION, _) => Err(DefinitionError::Mixed(format!("{prefix}{name}"))),
                _ => Err(DefinitionError::Alone(format!("{prefix}{name}"))),
            };
        }
        let columns = attributes.iter().map(|name| column_of(name.as_ref()));
        Ok(Over::Columns(columns.collect::<Result<_, _>>()?))
    }

    /// Fails if values of this cannot be arranged so.
    pub(crate) fn suits(&self, kind: Kind) -> Result<(), DefinitionError> {
        match (self, kind) {
            (Over::Relations(_), Kind::Graph) => Ok(()),
            (Over::Relations(_), _) => Err(DefinitionError::OnlyGraph),
            (_, Kind::Graph) => Err(DefinitionError::Graph),
            (Over::Columns(_) | Over::Xattr(_), Kind::Inverted) => Err(DefinitionError::Inverted),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Over::Columns(columns) => {
                let names: Vec<&str> = columns.iter().map(|one| name_of(*one)).collect();
                f.write_str(&names.join(","))
            }
            Over::Content(name) => write!(f, "{CONTENT}{name}"),
            Over::Xattr(name) => write!(f, "{XATTR}{name}"),
            Over::Relations(kinds) if kinds.is_empty() => write!(f, "{RELATION}{ALL_RELATIONS}"),
            Over::Relations(kinds) => {
                let kinds = kinds.iter().map(|kind| format!("{RELATION}{kind}"));
                f.write_str(&kinds.collect::<Vec<_>>().join(","))
            }
        }
    }
}

fn name_of(column: Column) -> &'static str {
    COLUMNS[column as usize].name
}

fn column_of(name: &str) -> Result<Column, DefinitionError> {
    let mut all = ATTRIBUTES.iter();
    let found = all.find(|column| name_of(**column) == name);
    found.copied().ok_or_else(|| DefinitionError::Attribute {
        name: name.to_owned(),
        known: (ATTRIBUTES.iter().map(|one| name_of(*one)))
            .collect::<Vec<&str>>()
            .join(", "),
    })
}

/// Reads the name of an attribute of contents. Names are compared without regard to case.
fn content(name: &str) -> Result<Over, DefinitionError> {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    match begins && name.len() <= CONTENT_BYTES_MAX && name.bytes().all(is_inner) {
        true => Ok(Over::Content(name.to_ascii_lowercase())),
        false => Err(DefinitionError::Content(name.to_owned())),
    }
}

/// Reads the full name of an extended attribute, such as `user.comment`. Names with other bytes than
/// visible ASCII, or with a comma, cannot be written in a line of the list.
fn xattr(name: &str) -> Result<Over, DefinitionError> {
    let has_class = name
        .split_once('.')
        .is_some_and(|(class, rest)| !class.is_empty() && !rest.is_empty());
    let is_visible = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    match has_class && name.len() <= XATTR_BYTES_MAX && name.bytes().all(is_visible) {
        true => Ok(Over::Xattr(name.to_owned())),
        false => Err(DefinitionError::Xattr(name.to_owned())),
    }
}

/// Reads kinds of relations; `all` stands alone.
fn relations(kinds: &[&str]) -> Result<Over, DefinitionError> {
    if kinds == [ALL_RELATIONS] {
        return Ok(Over::Relations(Vec::new()));
    }
    let is_inner =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
    let is_kind = |kind: &&str| {
        kind.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
            && kind.len() <= RELATION_BYTES_MAX
            && kind.bytes().all(is_inner)
            && *kind != ALL_RELATIONS
    };
    match kinds.iter().find(|kind| !is_kind(kind)) {
        None => Ok(Over::Relations(
            kinds.iter().map(|&kind| kind.into()).collect(),
        )),
        Some(wrong) => Err(DefinitionError::Relation((*wrong).to_owned())),
    }
}
