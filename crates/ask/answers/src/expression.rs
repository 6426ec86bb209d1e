//! A find expression, which selects the entries that a question is about.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use trawl_find::{Environment, Sieve, SieveAt};
use trawl_query::{Index, Start};

use crate::error::AnswerError;

/// A selection of entries: all entries if no expression was given.
#[derive(Default)]
pub struct Expression(Option<Sieve>);

impl Expression {
    /// Parses the words of an expression.
    ///
    /// # Errors
    /// If the expression is invalid, or does anything but test entries.
    pub fn read(words: &[OsString]) -> Result<Expression, AnswerError> {
        if words.is_empty() {
            return Ok(Expression(None));
        }
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let sieve = Sieve::new(&words, &Environment::of_process());
        let sieve = sieve.map_err(|why| AnswerError::Expression(why.to_string()))?;
        Ok(Expression(Some(sieve)))
    }

    /// Returns true if no expression was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns true if the expression tests the type, so that it may select more than files.
    pub fn asks_for_type(&self) -> bool {
        self.0.as_ref().is_some_and(Sieve::asks_for_type)
    }

    /// Returns the test for entries at and below a start point.
    pub fn at<'s>(
        &'s self,
        index: &'s Index,
        start: &Start,
        spelled: &[u8],
    ) -> Option<SieveAt<'s>> {
        let sieve = self.0.as_ref()?;
        Some(sieve.at(index, start, spelled))
    }
}
