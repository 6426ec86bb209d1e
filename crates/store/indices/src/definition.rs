//! What a named index is over, and the list of a source's definitions.
//!
//! The list is text, one definition a line: `NAME KIND ATTRIBUTE,ATTRIBUTE…`.

use std::fmt;
use std::str::FromStr;

use trawl_model::column::{COLUMNS, Column};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::DefinitionError;

/// Maximum number of named indices of a source (Propeller, section 3.2: "up to 16 named indices
/// beyond the four basic indices").
pub const INDICES_MAX: usize = 16;
/// Maximum number of attributes of an index.
pub(crate) const ATTRIBUTES_MAX: usize = 4;
/// Maximum length of a name in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 32;

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

/// How values are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By value, for ranges.
    Ordered,
    /// By the hash of the value, for single values.
    Hashed,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 2] = [Kind::Ordered, Kind::Hashed];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Ordered => "ordered",
            Kind::Hashed => "hashed",
        }
    }
}

/// A named index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    name: String,
    kind: Kind,
    attributes: Vec<Column>,
}

impl Definition {
    /// Returns a definition. `attributes` are names of [`ATTRIBUTES`], the first in order first.
    ///
    /// # Errors
    /// If a name is invalid.
    pub fn new<A: AsRef<str>>(
        name: &str,
        kind: Kind,
        attributes: &[A],
    ) -> Result<Definition, DefinitionError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
        if !begins || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_word) {
            return Err(DefinitionError::Name(name.to_owned()));
        }
        if attributes.is_empty() || attributes.len() > ATTRIBUTES_MAX {
            return Err(DefinitionError::Count);
        }
        let mut columns = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            let column = attribute_of(attribute.as_ref())?;
            if columns.contains(&column) {
                return Err(DefinitionError::Twice(attribute.as_ref().to_owned()));
            }
            columns.push(column);
        }
        Ok(Definition {
            name: name.to_owned(),
            kind,
            attributes: columns,
        })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how values are arranged.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the attributes, the first in order first.
    pub fn attributes(&self) -> &[Column] {
        &self.attributes
    }

    /// Returns a number that files made for this definition bear.
    pub fn id(&self) -> u64 {
        xxh3_64(self.to_string().as_bytes())
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attributes: Vec<&str> = self.attributes.iter().map(|one| name_of(*one)).collect();
        let (name, kind) = (&self.name, self.kind.name());
        write!(f, "{name} {kind} {}", attributes.join(","))
    }
}

impl FromStr for Definition {
    type Err = DefinitionError;

    fn from_str(line: &str) -> Result<Definition, DefinitionError> {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, kind, attributes] = words[..] else {
            return Err(DefinitionError::Line(1));
        };
        let kind = Kind::ALL.into_iter().find(|one| one.name() == kind);
        let attributes: Vec<&str> = attributes.split(',').collect();
        Definition::new(name, kind.ok_or(DefinitionError::Line(1))?, &attributes)
    }
}

fn name_of(column: Column) -> &'static str {
    COLUMNS[column as usize].name
}

fn attribute_of(name: &str) -> Result<Column, DefinitionError> {
    let is_it = |column: &&Column| name_of(**column) == name;
    let found = ATTRIBUTES.iter().find(is_it);
    found.copied().ok_or_else(|| DefinitionError::Attribute {
        name: name.to_owned(),
        known: (ATTRIBUTES.iter().map(|one| name_of(*one)))
            .collect::<Vec<&str>>()
            .join(", "),
    })
}

/// Reads a list of definitions.
///
/// # Errors
/// If a line is invalid, or there are too many or two of one name.
pub fn read_all(text: &[u8]) -> Result<Vec<Definition>, DefinitionError> {
    let text = std::str::from_utf8(text).map_err(|_| DefinitionError::Line(1))?;
    let mut all: Vec<Definition> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let one: Definition = line.parse().map_err(|_| DefinitionError::Line(at + 1))?;
        let is_known = all.iter().any(|known| known.name == one.name);
        if is_known || all.len() == INDICES_MAX {
            return Err(DefinitionError::Line(at + 1));
        }
        all.push(one);
    }
    Ok(all)
}

/// Returns the text of a list.
pub fn write_all(all: &[Definition]) -> Vec<u8> {
    all.iter()
        .flat_map(|one| format!("{one}\n").into_bytes())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let all = [
            Definition::new("big", Kind::Ordered, &["size"]).unwrap(),
            Definition::new("by-owner", Kind::Hashed, &["uid", "gid"]).unwrap(),
        ];
        assert_eq!(
            write_all(&all),
            b"big ordered size\nby-owner hashed uid,gid\n"
        );
        assert_eq!(read_all(&write_all(&all)), Ok(all.to_vec()));
        assert_ne!(all[0].id(), all[1].id());
    }

    #[test]
    fn invalid_definitions_are_refused() {
        for name in ["", "1a", "a b", "a/b", "é", "-a", &"a".repeat(33)] {
            let made = Definition::new(name, Kind::Ordered, &["size"]);
            assert_eq!(made, Err(DefinitionError::Name(name.to_owned())));
        }
        let none: [&str; 0] = [];
        let made = |names: &[&str]| Definition::new("a", Kind::Ordered, names);
        assert_eq!(made(&none), Err(DefinitionError::Count));
        assert_eq!(
            made(&["size"; 2]),
            Err(DefinitionError::Twice("size".into()))
        );
        assert!(matches!(
            made(&["name"]),
            Err(DefinitionError::Attribute { .. })
        ));
        let five = ["size", "uid", "gid", "ino", "dev"];
        assert_eq!(made(&five), Err(DefinitionError::Count));
        for text in [
            "a ordered",
            "a sorted size",
            "a ordered size\na hashed uid",
            "\n",
            "a  b",
        ] {
            assert!(read_all(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_all(&bytes);
        }
    }
}
