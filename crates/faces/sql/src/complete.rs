//! Completes keywords, tables, columns and functions in the shell.

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use crate::functions;
use crate::tables::TABLES;

/// Words of the query language.
const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "AS",
    "ASC",
    "AVG(",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST(",
    "COUNT(",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXPLAIN ANALYZE",
    "FROM",
    "FULL",
    "GROUP BY",
    "HAVING",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MAX(",
    "MIN(",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER BY",
    "OVER",
    "PARTITION BY",
    "RIGHT",
    "SELECT",
    "SHOW TABLES",
    "SUM(",
    "THEN",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
];

/// Completes words of statements.
#[derive(Debug)]
pub(crate) struct Assistant {
    words: Vec<String>,
}

impl Assistant {
    /// Collects all known words.
    pub(crate) fn new() -> Assistant {
        let mut words: Vec<String> = KEYWORDS.iter().map(|word| (*word).to_owned()).collect();
        for info in TABLES {
            words.push(info.name.to_owned());
            words.extend(
                info.table
                    .columns()
                    .into_iter()
                    .map(|one| one.name.to_owned()),
            );
        }
        words.extend(functions::every().map(|info| format!("{}(", info.name)));
        words.sort();
        words.dedup();
        Assistant { words }
    }

    /// Returns the start of the word that ends at `end`, and its possible completions.
    fn candidates(&self, line: &str, end: usize) -> (usize, Vec<String>) {
        let before = &line[..end];
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let start = before.rfind(|c: char| !is_part(c)).map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
        let typed = before[start..].to_lowercase();
        if typed.is_empty() {
            return (start, Vec::new());
        }
        let fits = |word: &&String| word.to_lowercase().starts_with(&typed);
        (start, self.words.iter().filter(fits).cloned().collect())
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        end: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line, end))
    }
}

// The shell decides whether more lines follow, and asks for them with another prompt.
impl Validator for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Helper for Assistant {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed_from_where_they_begin() {
        let assistant = Assistant::new();
        let (start, words) = assistant.candidates("SELECT human", 12);
        assert_eq!((start, &words[..]), (7, &["human_size(".to_owned()][..]));
        let (_, words) = assistant.candidates("select * from entr", 18);
        assert!(words.contains(&"entries_history".to_owned()), "{words:?}");
        assert_eq!(assistant.candidates("SELECT ", 7).1.len(), 0);
        assert_eq!(assistant.candidates("é", 2).0, 0);
    }
}
