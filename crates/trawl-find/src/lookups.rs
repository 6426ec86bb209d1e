//! What some tests have to know of a whole scope before its rows are put to
//! them: which directories are empty, which entries have attributes that
//! their rows do not tell of.
//!
//! Memory goes with the entries that are found, not with the scope.

use std::collections::{HashMap, HashSet};

use trawl_model::Dev;
use trawl_text::glob::Glob;

use crate::probe::Cause;

/// Paths, as stored.
pub type Paths = HashSet<Vec<u8>>;

/// What is known of directories beside their rows, if a leaf asks for it; by
/// stored path.
#[derive(Debug, Default)]
pub struct Emptiness {
    /// Those that were listed and hold nothing.
    pub empty: Paths,
    /// Those that may not be listed: whether they hold something cannot be
    /// told.
    pub denied: Paths,
    /// The device of the file system that was listed.
    pub device: Option<Dev>,
}

impl Emptiness {
    /// Whether a directory, by its stored path, holds nothing.
    ///
    /// # Errors
    /// If it may not be listed.
    pub fn holds(&self, stored: &[u8]) -> Result<bool, Cause> {
        match self.denied.contains(stored) {
            true => Err(Cause("Permission denied".into())),
            false => Ok(self.empty.contains(stored)),
        }
    }
}

/// What was looked up.
#[derive(Debug, Default)]
pub struct Lookups {
    /// Directories without entries, if a leaf asks for them.
    pub empty_directories: Emptiness,
    /// By [`AttributeTest::word`], entries with an attribute that passes it.
    pub with_attribute: HashMap<Vec<u8>, Paths>,
}

impl Lookups {
    /// Whether an entry was found to have an attribute that passes a test.
    pub fn has_attribute(&self, test: &AttributeTest, stored: impl Fn() -> Vec<u8>) -> bool {
        let found = self.with_attribute.get(&test.word);
        found.is_some_and(|paths| !paths.is_empty() && paths.contains(&stored()))
    }
}

/// Which names of attributes are meant.
#[derive(Debug)]
pub enum AttributeName {
    /// This one.
    Exactly(Vec<u8>),
    /// Those that match.
    Like(Glob),
}

/// A test of extended attributes.
#[derive(Debug)]
pub struct AttributeTest {
    /// How it was written; tests written alike are the same.
    pub word: Vec<u8>,
    /// What the name must be.
    pub name: AttributeName,
    /// What the value must match.
    pub value: Option<Glob>,
}

/// Names that only the superuser may know begin so. They are not in rows.
const TRUSTED: &[u8] = b"trusted.";

impl AttributeTest {
    /// Whether the name is meant.
    pub fn is_about(&self, name: &[u8]) -> bool {
        match &self.name {
            AttributeName::Exactly(wanted) => wanted == name,
            AttributeName::Like(glob) => glob.matches(name),
        }
    }

    /// Whether it has to be looked up what an attribute of this name has
    /// for a value, or that there is one: rows do not tell.
    pub fn looks_up(&self, name: &[u8]) -> bool {
        (self.value.is_some() || name.starts_with(TRUSTED)) && self.is_about(name)
    }

    /// False if nothing that it may be about has to be looked up.
    pub fn needs_lookup(&self) -> bool {
        let may_be_trusted = || match (&self.name, self.word.first()) {
            (AttributeName::Exactly(name), _) => name.starts_with(TRUSTED),
            (_, first) => matches!(first, Some(b't' | b'*' | b'?' | b'[' | b'\\')),
        };
        self.value.is_some() || may_be_trusted()
    }

    /// Whether the value passes.
    pub fn admits(&self, value: &[u8]) -> bool {
        self.value.as_ref().is_none_or(|glob| glob.matches(value))
    }
}
