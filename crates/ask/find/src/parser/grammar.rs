//! Joins leaves by operators: `!` binds tighter than `-a`, `-a` than `-o`, `-o`
//! than `,`.
//!
//! The messages are GNU find's, including those about a missing part.

use crate::error::FindError;
use crate::expr::{Expr, Node};
use crate::leaf::Effect;
use crate::predicate::Operator;
use crate::predicates::constant;

/// A word of the expression.
#[derive(Debug)]
pub(super) enum Token {
    /// A test, action or option.
    Leaf(Node),
    /// An operator as it was spelled.
    Operator(Operator, String),
}

/// The result of joining tokens.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// The expression, if there is one.
    pub(super) expr: Option<Expr>,
    /// The expressions after `-exclude`.
    pub(super) excluded: Vec<Expr>,
}

/// Joins the tokens.
pub(super) fn join(tokens: Vec<Token>) -> Result<Joined, FindError> {
    if tokens.is_empty() {
        return Ok(Joined::default());
    }
    if let Some(Token::Operator(Operator::Close, name)) = tokens.first() {
        return Err(grammar(format!(
            "invalid expression: expected expression before closing parentheses '{name}'."
        )));
    }
    let acts = |token: &Token| matches!(token, Token::Leaf(node) if node.leaf.replaces_print());
    let mut words = Words {
        acts: tokens.iter().any(acts),
        tokens: tokens.into_iter().peekable(),
        before: None,
        open: 0,
        excluded: Vec::new(),
        is_excluding: false,
    };
    let expr = words.comma()?;
    match words.tokens.peek() {
        None => Ok(Joined {
            expr: Some(expr),
            excluded: words.excluded,
        }),
        Some(_) => Err(grammar("you have too many ')'")),
    }
}

fn grammar(reason: impl Into<String>) -> FindError {
    FindError::Grammar {
        reason: reason.into(),
    }
}

struct Words {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    /// The operator that was read last, if nothing has followed it yet.
    before: Option<String>,
    /// Whether there is an action. If there is none, GNU find adds one after
    /// the words, and has another message for a part that is missing before it.
    acts: bool,
    /// Current nesting of parentheses, negations and `-exclude`.
    open: usize,
    /// The expressions after `-exclude`.
    excluded: Vec<Expr>,
    /// True while the expression after an `-exclude` is read.
    is_excluding: bool,
}

/// Maximum nesting of parentheses, negations and `-exclude`; evaluation is
/// recursive.
const DEEPEST: usize = 200;

impl Words {
    fn peek(&mut self) -> Option<Operator> {
        match self.tokens.peek() {
            Some(Token::Operator(operator, _)) => Some(*operator),
            _ => None,
        }
    }

    /// Takes the next token if it is this operator.
    fn take(&mut self, wanted: Operator) -> bool {
        if self.peek() != Some(wanted) {
            return false;
        }
        if let Some(Token::Operator(_, name)) = self.tokens.next() {
            self.before = Some(name);
        }
        true
    }

    fn comma(&mut self) -> Result<Expr, FindError> {
        let mut parts = vec![self.or()?];
        while self.take(Operator::Comma) {
            parts.push(self.or()?);
        }
        Ok(single_or(parts, Expr::Comma))
    }

    fn or(&mut self) -> Result<Expr, FindError> {
        let mut parts = vec![self.and()?];
        while self.take(Operator::Or) {
            parts.push(self.and()?);
        }
        Ok(single_or(parts, Expr::Or))
    }

    fn and(&mut self) -> Result<Expr, FindError> {
        let mut parts = vec![self.primary()?];
        loop {
            let more = match self.tokens.peek() {
                None => false,
                Some(Token::Leaf(_)) => true,
                Some(Token::Operator(operator, _)) if operator.begins_a_part() => true,
                Some(_) => self.take(Operator::And),
            };
            if !more {
                return Ok(single_or(parts, Expr::And));
            }
            parts.push(self.primary()?);
        }
    }

    fn primary(&mut self) -> Result<Expr, FindError> {
        match self.tokens.next() {
            Some(Token::Leaf(node)) => {
                self.before = None;
                Ok(Expr::Leaf(node))
            }
            Some(Token::Operator(operator, name)) => self.operator(operator, name),
            None => Err(match self.before.take() {
                Some(name) if !self.acts => {
                    grammar(format!("expected an expression after '{name}'"))
                }
                _ => grammar("invalid expression"),
            }),
        }
    }

    fn operator(&mut self, operator: Operator, name: String) -> Result<Expr, FindError> {
        match operator {
            Operator::And | Operator::Or | Operator::Comma => Err(grammar(format!(
                "invalid expression; you have used a binary operator '{name}' with nothing before it."
            ))),
            Operator::Close => Err(match self.before.take() {
                Some(before) => {
                    grammar(format!("expected an expression between '{before}' and ')'"))
                }
                None => grammar("invalid expression; you have too many ')'"),
            }),
            Operator::Not => {
                self.before = Some(name);
                self.nested(|words| Ok(Expr::Not(Box::new(words.primary()?))))
            }
            Operator::Open => self.nested(|words| words.parenthesis(&name)),
            Operator::Exclude => self.exclusion(name),
        }
    }

    /// Sets the expression after `-exclude` aside, and returns a leaf that is
    /// always true in its place.
    fn exclusion(&mut self, name: String) -> Result<Expr, FindError> {
        if std::mem::replace(&mut self.is_excluding, true) {
            return Err(grammar("-exclude is not supported within -exclude"));
        }
        self.before = Some(name);
        let excluded = self.nested(Words::primary)?;
        self.is_excluding = false;
        let mut acts = None;
        excluded.leaves(&mut |node| {
            if node.effect != Effect::None {
                acts = Some(node.predicate.name);
            }
        });
        if let Some(action) = acts {
            return Err(grammar(format!(
                "{action} is not supported within -exclude"
            )));
        }
        self.excluded.push(excluded);
        Ok(Expr::Leaf(constant::node()))
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Words) -> Result<Expr, FindError>,
    ) -> Result<Expr, FindError> {
        self.open += 1;
        if self.open > DEEPEST {
            return Err(grammar("invalid expression; it is nested too deeply"));
        }
        let expr = read(self);
        self.open -= 1;
        expr
    }

    fn parenthesis(&mut self, name: &str) -> Result<Expr, FindError> {
        self.before = None;
        if self.tokens.peek().is_none() {
            return Err(grammar(format!(
                "invalid expression; expected to find a ')' but didn't see one. \
                 Perhaps you need an extra predicate after '{name}'"
            )));
        }
        if self.peek() == Some(Operator::Close) {
            return Err(grammar(
                "invalid expression; empty parentheses are not allowed.",
            ));
        }
        let expr = self.comma()?;
        if !self.take(Operator::Close) {
            return Err(grammar(
                "invalid expression; I was expecting to find a ')' somewhere but did not see one.",
            ));
        }
        self.before = None;
        Ok(expr)
    }
}

fn single_or(mut parts: Vec<Expr>, many: fn(Vec<Expr>) -> Expr) -> Expr {
    match parts.len() {
        1 => parts.remove(0),
        _ => many(parts),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, expression};

    #[test]
    fn operators_bind_as_in_find() {
        for (words, expected) in [
            ("-true", "true"),
            // The implied -print is part of the list.
            ("-true -false", "and(true false print)"),
            ("-true -a -false -o -true", "or(and(true false) true)"),
            ("! -true -false", "and(false not(true) print)"),
            ("! ! -true", "not(not(true))"),
            ("-true , -false -o -true", "comma(true or(false true))"),
            (
                "( -true -o -false ) -true",
                "and(true or(false true) print)",
            ),
            ("-not ( -true , -false )", "not(comma(true false))"),
        ] {
            assert_eq!(
                crate::testing::shape(&expression(words)),
                expected,
                "{words}"
            );
        }
    }

    /// The messages of `find . WORDS`.
    #[test]
    fn mistakes_are_named_as_find_names_them() {
        for (words, expected) in [
            (
                "(",
                "invalid expression; expected to find a ')' but didn't see one. Perhaps you need an extra predicate after '('",
            ),
            (
                "-true (",
                "invalid expression; expected to find a ')' but didn't see one. Perhaps you need an extra predicate after '('",
            ),
            (
                "( )",
                "invalid expression; empty parentheses are not allowed.",
            ),
            (
                "( -true",
                "invalid expression; I was expecting to find a ')' somewhere but did not see one.",
            ),
            ("-true )", "you have too many ')'"),
            (
                "-daystart ) -print",
                "invalid expression: expected expression before closing parentheses ')'.",
            ),
            ("-print -o", "invalid expression"),
            ("-ls !", "invalid expression"),
            ("!", "expected an expression after '!'"),
            ("-not", "expected an expression after '-not'"),
            (
                "-a -true",
                "invalid expression; you have used a binary operator '-a' with nothing before it.",
            ),
            ("-true -a", "expected an expression after '-a'"),
            (
                "-true -o -o -true",
                "invalid expression; you have used a binary operator '-o' with nothing before it.",
            ),
            ("-true ,", "expected an expression after ','"),
            (
                "! -a -true",
                "invalid expression; you have used a binary operator '-a' with nothing before it.",
            ),
            ("( ! )", "expected an expression between '!' and ')'"),
            (
                "( -true -o )",
                "expected an expression between '-o' and ')'",
            ),
            (
                "( , )",
                "invalid expression; you have used a binary operator ',' with nothing before it.",
            ),
        ] {
            assert_eq!(error_of(words), expected, "{words}");
        }
        let deep = "( ".repeat(5_000) + "-true";
        assert!(error_of(&deep).contains("too deeply"));
    }
}
