//! Queries for keywords: words and phrases, joined by AND, OR and NOT.

use crate::error::{KeywordsError, Result};
use crate::parse;
use crate::words::words_of;

/// A condition on the words of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expression {
    /// The word occurs.
    Word(String),
    /// These words, at least two, occur one after the other.
    Phrase(Vec<String>),
    /// All are true.
    And(Vec<Expression>),
    /// One is true.
    Or(Vec<Expression>),
    /// It is not true.
    Not(Box<Expression>),
}

/// A query, ready to be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    expression: Expression,
}

impl Query {
    /// Parses a query such as `ssd AND (flash OR nvme) NOT "hard disk"`. Words side by side must
    /// all occur.
    ///
    /// # Errors
    /// [`KeywordsError::Query`] with the position of the mistake.
    pub fn parse(text: &str) -> Result<Query> {
        let expression = parse::expression(text)?;
        Ok(Query { expression })
    }

    /// Returns the query for these words, one after the other.
    ///
    /// # Errors
    /// [`KeywordsError::Query`] if the text has no words.
    pub fn phrase(text: &str) -> Result<Query> {
        match Expression::of_words(words_of(text)) {
            Some(expression) => Ok(Query { expression }),
            None => Err(KeywordsError::Query {
                query: text.into(),
                position: 1,
                problem: "there is no letter or digit".into(),
                remedy: "write the words of the phrase",
            }),
        }
    }

    /// Returns the condition.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Returns every word that the query names, once.
    pub fn words(&self) -> Vec<&str> {
        let mut words = Vec::new();
        self.expression.each_word(&mut |word| words.push(word));
        words.sort_unstable();
        words.dedup();
        words
    }

    /// Returns whether a text that matches still matches when words are added to its end.
    pub(crate) fn is_monotone(&self) -> bool {
        self.expression.is_monotone()
    }
}

impl Expression {
    /// Returns the expression for words side by side; `None` if there are none.
    pub(crate) fn of_words(mut words: Vec<String>) -> Option<Expression> {
        match words.len() {
            0 => None,
            1 => words.pop().map(Expression::Word),
            _ => Some(Expression::Phrase(words)),
        }
    }

    pub(crate) fn each_word<'e>(&'e self, visit: &mut dyn FnMut(&'e str)) {
        match self {
            Expression::Word(word) => visit(word),
            Expression::Phrase(words) => words.iter().for_each(|word| visit(word)),
            Expression::And(parts) | Expression::Or(parts) => {
                parts.iter().for_each(|part| part.each_word(visit));
            }
            Expression::Not(part) => part.each_word(visit),
        }
    }

    fn is_monotone(&self) -> bool {
        match self {
            Expression::Word(_) | Expression::Phrase(_) => true,
            Expression::And(parts) | Expression::Or(parts) => {
                parts.iter().all(Expression::is_monotone)
            }
            Expression::Not(_) => false,
        }
    }
}
