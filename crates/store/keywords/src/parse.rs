//! Parses queries. Every error has a position and a remedy.

use crate::error::{KeywordsError, Result};
use crate::query::Expression;
use crate::words::words_of;

/// Maximum length of a query in bytes.
const QUERY_MAX: usize = 16 << 10;
/// Maximum depth of parentheses and NOTs.
const DEPTH_MAX: usize = 64;

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    And,
    Or,
    Not,
    /// A word, or a phrase: its words.
    Words(Vec<String>),
}

/// Parses a query.
pub(crate) fn expression(text: &str) -> Result<Expression> {
    let mut parser = Parser {
        text,
        tokens: Vec::new(),
        at: 0,
        depth: 0,
    };
    if text.len() > QUERY_MAX {
        return Err(parser.error(1, "it is longer than 16 KiB", "ask a shorter question"));
    }
    parser.split()?;
    let found = parser.either()?;
    match parser.tokens.get(parser.at) {
        None => Ok(found),
        Some((_, position)) => {
            let problem = "a parenthesis closes that was not opened";
            Err(parser.error(*position, problem, "remove it, or open one before it"))
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    /// Tokens with their positions.
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn error(&self, position: usize, problem: &str, remedy: &'static str) -> KeywordsError {
        KeywordsError::Query {
            query: crate::document::cut(self.text, 256).into(),
            position,
            problem: problem.into(),
            remedy,
        }
    }

    /// Splits the text into tokens.
    fn split(&mut self) -> Result<()> {
        let mut rest = self.text.char_indices().zip(1..).peekable();
        while let Some(((from, next), position)) = rest.next() {
            let token = match next {
                '(' => Token::Open,
                ')' => Token::Close,
                '"' => {
                    let end = rest.by_ref().find(|((_, one), _)| *one == '"');
                    let Some(((end, _), _)) = end else {
                        let problem = "a quotation mark opens and does not close";
                        return Err(self.error(position, problem, "close it with another one"));
                    };
                    self.words(&self.text[from + 1..end], position)?
                }
                space if space.is_whitespace() => continue,
                _ => {
                    let mut end = from + next.len_utf8();
                    while let Some(((at, one), _)) = rest.next_if(|((_, one), _)| is_inside(*one)) {
                        end = at + one.len_utf8();
                    }
                    match &self.text[from..end] {
                        "AND" => Token::And,
                        "OR" => Token::Or,
                        "NOT" => Token::Not,
                        word => self.bare(word, position)?,
                    }
                }
            };
            self.tokens.push((token, position));
        }
        Ok(())
    }

    /// Returns the token of a word without quotation marks.
    fn bare(&self, word: &str, position: usize) -> Result<Token> {
        if word.starts_with('-') {
            let remedy = "write NOT before the words that must not occur";
            return Err(self.error(position, "a word begins with -", remedy));
        }
        if let Some(at) = word.chars().position(|one| matches!(one, '*' | '?')) {
            let remedy = "write whole words; trawl grep searches for parts of words";
            return Err(self.error(position + at, "there is a wildcard", remedy));
        }
        self.words(word, position)
    }

    fn words(&self, text: &str, position: usize) -> Result<Token> {
        let words = words_of(text);
        match words.is_empty() {
            false => Ok(Token::Words(words)),
            true => {
                let problem = "there is no letter or digit";
                Err(self.error(position, problem, "remove it, or write a word"))
            }
        }
    }

    fn next_if(&mut self, wanted: &Token) -> bool {
        let is_it = self
            .tokens
            .get(self.at)
            .is_some_and(|(token, _)| token == wanted);
        self.at += usize::from(is_it);
        is_it
    }

    /// `all OR all …`
    fn either(&mut self) -> Result<Expression> {
        let mut parts = vec![self.all()?];
        while self.next_if(&Token::Or) {
            parts.push(self.all()?);
        }
        Ok(joined(parts, Expression::Or))
    }

    /// `one AND one …`; AND may be left out.
    fn all(&mut self) -> Result<Expression> {
        let mut parts = vec![self.one()?];
        loop {
            let is_asked = self.next_if(&Token::And);
            match self.tokens.get(self.at) {
                None | Some((Token::Or | Token::Close, _)) if !is_asked => break,
                _ => parts.push(self.one()?),
            }
        }
        Ok(joined(parts, Expression::And))
    }

    /// A word, a phrase, an expression in parentheses, or NOT before one of them.
    fn one(&mut self) -> Result<Expression> {
        let Some((token, position)) = self.tokens.get(self.at).cloned() else {
            let position = self.text.chars().count() + 1;
            let remedy = "write a word, or a \"phrase\"";
            return Err(self.error(position, "a word is missing at the end", remedy));
        };
        self.at += 1;
        match token {
            Token::Words(words) => Expression::of_words(words)
                .ok_or_else(|| self.error(position, "a word is missing", "write a word")),
            Token::Not => {
                let part = self.deeper(position, Parser::one)?;
                Ok(Expression::Not(Box::new(part)))
            }
            Token::Open => {
                let found = self.deeper(position, Parser::either)?;
                match self.next_if(&Token::Close) {
                    true => Ok(found),
                    false => {
                        let problem = "a parenthesis opens and does not close";
                        Err(self.error(position, problem, "close it behind its last word"))
                    }
                }
            }
            Token::Close | Token::And | Token::Or => {
                let remedy = "write a word before it; AND, OR and NOT as words go in \"quotation \
                              marks\" or in lower case";
                Err(self.error(position, "a word is missing", remedy))
            }
        }
    }

    fn deeper(
        &mut self,
        position: usize,
        parse: fn(&mut Self) -> Result<Expression>,
    ) -> Result<Expression> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let problem = "parentheses and NOTs are nested deeper than 64";
            return Err(self.error(position, problem, "ask a simpler question"));
        }
        let found = parse(self)?;
        self.depth -= 1;
        Ok(found)
    }
}

fn is_inside(character: char) -> bool {
    !character.is_whitespace() && !matches!(character, '(' | ')' | '"')
}

fn joined(mut parts: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            join(parts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(expression: &Expression) -> String {
        let list = |name: &str, parts: &[Expression]| {
            let parts: Vec<String> = parts.iter().map(shown).collect();
            format!("{name}({})", parts.join(" "))
        };
        match expression {
            Expression::Word(word) => word.clone(),
            Expression::Phrase(words) => format!("'{}'", words.join(" ")),
            Expression::And(parts) => list("and", parts),
            Expression::Or(parts) => list("or", parts),
            Expression::Not(part) => format!("not({})", shown(part)),
        }
    }

    #[test]
    fn not_binds_closest_then_and_then_or() {
        for (text, expected) in [
            ("ssd AND (flash OR nvme)", "and(ssd or(flash nvme))"),
            ("a b OR c d", "or(and(a b) and(c d))"),
            ("NOT a b", "and(not(a) b)"),
            ("NOT (a b)", "not(and(a b))"),
            ("NOT NOT a", "not(not(a))"),
            ("\"Solid State\" disk", "and('solid state' disk)"),
            ("solid-state", "'solid state'"),
            ("\"one\"", "one"),
            ("and or not", "and(and or not)"),
            ("\"AND\"", "and"),
            ("((a))", "a"),
            ("a(b)c", "and(a b c)"),
        ] {
            let found = expression(text).map(|found| shown(&found));
            assert_eq!(found.ok().as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_have_a_place_and_a_remedy() {
        for (text, place, part) in [
            ("", 1, "missing"),
            ("ssd AND", 8, "missing"),
            ("ssd AND OR x", 9, "missing"),
            ("OR x", 1, "missing"),
            ("(a", 1, "does not close"),
            ("a)", 2, "was not opened"),
            ("\u{e4} \"b", 3, "does not close"),
            ("a -b", 3, "begins with -"),
            ("ab nv*", 6, "wildcard"),
            ("a +", 3, "no letter"),
            ("\"\"", 1, "no letter"),
            ("()", 2, "missing"),
        ] {
            match expression(text) {
                Err(KeywordsError::Query {
                    position, problem, ..
                }) => {
                    assert_eq!(position, place, "{text}");
                    assert!(problem.contains(part), "{text}: {problem}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        let deep = "(".repeat(100_000);
        assert!(expression(&deep).is_err() && expression(&deep[..1000]).is_err());
        assert!(expression(&"NOT ".repeat(1000)).is_err());
    }
}
