//! A find expression after `--`, which selects the entries that a question is about.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use trawl_find::{Environment, Sieve, SieveAt};
use trawl_query::{Index, Start};

use crate::failure::Failure;

/// A selection of entries: all entries if no expression was given.
pub(crate) struct Expression(Option<Sieve>);

impl Expression {
    /// Parses the words of an expression. Fails if the expression is invalid.
    pub(crate) fn read(words: &[OsString]) -> Result<Expression, Failure> {
        if words.is_empty() {
            return Ok(Expression(None));
        }
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let sieve = Sieve::new(&words, &Environment::of_process());
        let sieve = sieve.map_err(|why| Failure::Usage(why.to_string()))?;
        Ok(Expression(Some(sieve)))
    }

    /// Returns true if no expression was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns true if the expression tests the type, so that it may select more than files.
    pub(crate) fn asks_for_type(&self) -> bool {
        self.0.as_ref().is_some_and(Sieve::asks_for_type)
    }

    /// Returns the test for entries at and below a start point.
    pub(crate) fn at<'s>(
        &'s self,
        index: &'s Index,
        start: &Start,
        spelled: &[u8],
    ) -> Option<SieveAt<'s>> {
        let sieve = self.0.as_ref()?;
        Some(sieve.at(index, start, spelled))
    }
}
