//! Facts that some tests need about a whole scope before its rows are
//! evaluated: which directories are empty, and which entries have extended
//! attributes that their rows do not show.
//!
//! Memory grows with the number of entries found, not with the size of the
//! scope.

use std::collections::{HashMap, HashSet};

use trawl_model::Dev;
use trawl_text::glob::Glob;

use crate::probe::Cause;

/// A set of paths, as stored in the index.
pub type Paths = HashSet<Vec<u8>>;

/// Directories known to be empty or unlistable, by stored path; filled only if
/// a leaf asks for it.
#[derive(Debug, Default)]
pub struct Emptiness {
    /// Directories that were listed and have no entries.
    pub empty: Paths,
    /// Directories that may not be listed, so that it is unknown whether they
    /// are empty.
    pub denied: Paths,
    /// The device of the file system that was listed.
    pub device: Option<Dev>,
}

impl Emptiness {
    /// Returns whether a directory, given by its stored path, has no entries.
    ///
    /// # Errors
    /// If the directory may not be listed.
    pub fn holds(&self, stored: &[u8]) -> Result<bool, Cause> {
        match self.denied.contains(stored) {
            true => Err(Cause("Permission denied".into())),
            false => Ok(self.empty.contains(stored)),
        }
    }
}

/// The facts that were looked up.
#[derive(Debug, Default)]
pub struct Lookups {
    /// Directories without entries; filled only if a leaf asks for them.
    pub empty_directories: Emptiness,
    /// Entries with an attribute that passes a test, by
    /// [`AttributeTest::word`].
    pub with_attribute: HashMap<Vec<u8>, Paths>,
}

impl Lookups {
    /// Returns whether an entry was found to have an attribute that passes the
    /// test.
    pub fn has_attribute(&self, test: &AttributeTest, stored: impl Fn() -> Vec<u8>) -> bool {
        let found = self.with_attribute.get(&test.word);
        found.is_some_and(|paths| !paths.is_empty() && paths.contains(&stored()))
    }
}

/// A condition on the names of attributes.
#[derive(Debug)]
pub enum AttributeName {
    /// This name only.
    Exactly(Vec<u8>),
    /// Names that match the pattern.
    Like(Glob),
}

/// A test of extended attributes.
#[derive(Debug)]
pub struct AttributeTest {
    /// The argument as it was written. Tests with the same word are the same
    /// test.
    pub word: Vec<u8>,
    /// The condition on the name.
    pub name: AttributeName,
    /// The pattern that the value must match, if any.
    pub value: Option<Glob>,
}

/// Prefix of attribute names that only the superuser may list. Rows do not have
/// them.
const TRUSTED: &[u8] = b"trusted.";

impl AttributeTest {
    /// Returns whether the test's name condition holds for `name`.
    pub fn is_about(&self, name: &[u8]) -> bool {
        match &self.name {
            AttributeName::Exactly(wanted) => wanted == name,
            AttributeName::Like(glob) => glob.matches(name),
        }
    }

    /// Returns whether this attribute's value, or its existence, has to be
    /// looked up because rows do not show it.
    pub fn looks_up(&self, name: &[u8]) -> bool {
        (self.value.is_some() || name.starts_with(TRUSTED)) && self.is_about(name)
    }

    /// Returns false if no attribute that the test may match has to be looked
    /// up.
    pub fn needs_lookup(&self) -> bool {
        let may_be_trusted = || match (&self.name, self.word.first()) {
            (AttributeName::Exactly(name), _) => name.starts_with(TRUSTED),
            (_, first) => matches!(first, Some(b't' | b'*' | b'?' | b'[' | b'\\')),
        };
        self.value.is_some() || may_be_trusted()
    }

    /// Returns whether the value passes the test.
    pub fn admits(&self, value: &[u8]) -> bool {
        self.value.as_ref().is_none_or(|glob| glob.matches(value))
    }
}
