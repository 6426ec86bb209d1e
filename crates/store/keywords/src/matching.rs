//! Evaluates queries on a document that was just read, and scores it as Tantivy scores documents
//! of packs.

use std::collections::HashMap;

use tantivy::Term;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::{Bm25StatisticsProvider, Bm25Weight};

use crate::query::{Expression, Query};
use crate::schema;
use crate::words::Words;

/// Where the words of a query occur in a text.
#[derive(Clone, Debug, Default)]
pub struct Occurrences<'q> {
    positions: HashMap<&'q str, Vec<u32>>,
    /// Number of all words of the text.
    length: u32,
}

impl<'q> Occurrences<'q> {
    /// Finds the words of a query in a text.
    pub fn find(query: &'q Query, text: &str) -> Occurrences<'q> {
        let words = query.words().into_iter();
        let mut found = Occurrences {
            positions: words.map(|word| (word, Vec::new())).collect(),
            length: 0,
        };
        let (mut words, mut word) = (Words::new(text), String::new());
        while words.next_into(&mut word).is_some() {
            if let Some(positions) = found.positions.get_mut(&word[..]) {
                positions.push(found.length);
            }
            found.length = found.length.saturating_add(1);
        }
        found
    }

    /// Returns whether the query matches.
    pub fn matches(&self, query: &Query) -> bool {
        self.is_true(query.expression())
    }

    fn is_true(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Word(word) => !self.of(word).is_empty(),
            Expression::Phrase(words) => self.count(words) > 0,
            Expression::And(parts) => parts.iter().all(|part| self.is_true(part)),
            Expression::Or(parts) => parts.iter().any(|part| self.is_true(part)),
            Expression::Not(part) => !self.is_true(part),
        }
    }

    fn of(&self, word: &str) -> &[u32] {
        self.positions.get(word).map_or(&[], Vec::as_slice)
    }

    /// Number of times that the words occur one after the other.
    fn count(&self, words: &[String]) -> u32 {
        let Some((first, rest)) = words.split_first() else {
            return 0;
        };
        let begins = self.of(first).iter().filter(|begin| {
            let mut rest = rest.iter().zip(**begin + 1..);
            rest.all(|(word, at)| self.of(word).binary_search(&at).is_ok())
        });
        begins.count() as u32
    }

    /// Returns the score of a text that matches.
    pub(crate) fn score(&self, query: &Query, known: &dyn Bm25StatisticsProvider) -> f32 {
        let norm = FieldNormReader::fieldnorm_to_id(self.length);
        self.sum(query.expression(), norm, known)
    }

    fn sum(&self, expression: &Expression, norm: u8, known: &dyn Bm25StatisticsProvider) -> f32 {
        let of_words = |words: &[String], count| {
            let terms: Vec<Term> = words.iter().map(|word| term(word)).collect();
            // The statistics cannot fail; a score of 0 would be no error either.
            Bm25Weight::for_terms(known, &terms).map_or(0.0, |weight| weight.score(norm, count))
        };
        match expression {
            Expression::Not(_) => 0.0,
            other if !self.is_true(other) => 0.0,
            Expression::Word(word) => {
                of_words(std::slice::from_ref(word), self.of(word).len() as u32)
            }
            Expression::Phrase(words) => of_words(words, self.count(words)),
            Expression::And(parts) | Expression::Or(parts) => {
                parts.iter().map(|part| self.sum(part, norm, known)).sum()
            }
        }
    }
}

/// Returns the term of a word.
pub(crate) fn term(word: &str) -> Term {
    Term::from_field_text(schema::text(), word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_words_one_after_the_other() {
        for (query, text, expected) in [
            ("\"solid state\"", "a Solid-state disk", true),
            ("\"solid state\"", "solid, a state", false),
            ("\"a a b\"", "a a a b", true),
            ("\"a b a\"", "a b b a", false),
            ("a NOT b", "a c", true),
            ("a NOT b", "a b", false),
            ("a (b OR c)", "c a", true),
            ("NOT a", "", true),
            ("ab", "abc", false),
        ] {
            let query = Query::parse(query).unwrap();
            let found = Occurrences::find(&query, text);
            assert_eq!(found.matches(&query), expected, "{query:?} {text}");
        }
        let query = Query::parse("\"a a\"").unwrap();
        let found = Occurrences::find(&query, "a a a b a");
        assert_eq!(found.count(&["a".into(), "a".into()]), 2);
    }
}
