//! Kinds of relations: "a directed graph of files with kinds". Hooks can add kinds.

use std::fmt;

use crate::error::RelationError;

/// Kind of a relation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Programs open both together. Goes both ways.
    OpenedWith,
    /// The first was written from the second.
    BuiltFrom,
    /// The first includes the second, such as a header.
    Includes,
    /// The first has a link to the second.
    LinksTo,
    /// Both have the same bytes. Goes both ways.
    SameContent,
    /// A hook says that the first is derived from the second.
    Derived,
    /// Another kind that hooks report.
    Other(String),
}

/// Which end of a relation a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// The file that was asked about has the relation to the other.
    Forward,
    /// The other has the relation to the file that was asked about.
    Backward,
}

impl Kind {
    /// The kinds that need no hook of the user's.
    pub const ALL: [Kind; 6] = [
        Kind::OpenedWith,
        Kind::BuiltFrom,
        Kind::Includes,
        Kind::LinksTo,
        Kind::SameContent,
        Kind::Derived,
    ];

    /// Returns the kind's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Kind::OpenedWith => "opened-with",
            Kind::BuiltFrom => "built-from",
            Kind::Includes => "includes",
            Kind::LinksTo => "links-to",
            Kind::SameContent => "same-content",
            Kind::Derived => "derived",
            Kind::Other(name) => name,
        }
    }

    /// Returns the kind of this name, or of a hook's name for it.
    ///
    /// # Errors
    /// Fails if the name is no kind.
    pub fn from_name(name: &str) -> Result<Kind, RelationError> {
        if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name) {
            return Ok(kind);
        }
        match name {
            "derived-from" => Ok(Kind::Derived),
            _ if trawl_hooks::found::is_name(name) => Ok(Kind::Other(name.to_owned())),
            _ => Err(RelationError::Kind {
                name: name.to_owned(),
            }),
        }
    }

    /// Returns whether hooks report relations of this kind.
    #[must_use]
    pub fn is_reference(&self) -> bool {
        !matches!(self, Kind::OpenedWith | Kind::BuiltFrom | Kind::SameContent)
    }

    /// Returns the relation in words, as seen from the file that was asked about.
    #[must_use]
    pub fn words(&self, direction: Direction) -> String {
        let backward = direction == Direction::Backward;
        let words = match self {
            Kind::OpenedWith => "opened with",
            Kind::BuiltFrom if backward => "used to build",
            Kind::BuiltFrom => "built from",
            Kind::Includes if backward => "included by",
            Kind::Includes => "includes",
            Kind::LinksTo if backward => "linked from",
            Kind::LinksTo => "links to",
            Kind::SameContent => "same content as",
            Kind::Derived if backward => "origin of",
            Kind::Derived => "derived from",
            Kind::Other(name) if backward => return format!("{name} of"),
            Kind::Other(name) => name,
        };
        words.to_owned()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
