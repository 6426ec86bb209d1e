//! Estimates how deep a statement nests, from its tokens, before a tree is built: the parser, the
//! planner and the code that frees a plan recurse as deep on the stack.
//!
//! A chain of operators is as deep as it is long: `1+1+1` is `(1+1)+1`. Parts separated by commas
//! lie side by side. The estimate may be too high, never too low.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{Result, SqlError};

/// Maximum depth. Nobody writes more by hand, and programs can write lists instead of chains. The
/// planner's time and memory grow with the square of the depth: at 2,000 it takes some 15 seconds.
const DEPTH_MAX: usize = 3000;

/// The content between two parentheses, as far as it was seen.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Number of tokens that may nest since the last comma.
    chain: usize,
    /// The deepest parenthesis since the last comma.
    inner: usize,
    /// The deepest part before the last comma.
    deepest: usize,
}

impl Level {
    fn end_part(&mut self) {
        self.deepest = self.deepest.max(self.chain + self.inner);
        (self.chain, self.inner) = (0, 0);
    }
}

/// Checks the depth of the statements.
///
/// # Errors
/// If they nest deeper than a stack can be assumed to hold.
pub(crate) fn check(text: &str) -> Result<()> {
    let dialect = GenericDialect {};
    // The parser refuses text that cannot be tokenized, with its own message.
    let Ok(tokens) = Tokenizer::new(&dialect, text).tokenize() else {
        return Ok(());
    };
    match depth(&tokens) {
        depth if depth > DEPTH_MAX => Err(SqlError::TooDeep {
            depth,
            most: DEPTH_MAX,
        }),
        _ => Ok(()),
    }
}

fn depth(tokens: &[Token]) -> usize {
    let mut levels = vec![Level::default()];
    for token in tokens {
        let open = levels.len();
        let Some(level) = levels.last_mut() else {
            break;
        };
        match token {
            Token::Comma | Token::SemiColon => level.end_part(),
            Token::LParen | Token::LBracket | Token::LBrace => levels.push(Level::default()),
            Token::RParen | Token::RBracket | Token::RBrace if open > 1 => {
                level.end_part();
                let inner = level.deepest + 1;
                levels.pop();
                if let Some(level) = levels.last_mut() {
                    level.inner = level.inner.max(inner);
                }
            }
            token if nests(token) => level.chain += 1,
            _ => {}
        }
        // Every open parenthesis is nested in the ones around it.
        if levels.len() > DEPTH_MAX {
            return levels.len();
        }
    }
    // The parser refuses unclosed parentheses.
    while let Some(mut level) = levels.pop() {
        level.end_part();
        match levels.last_mut() {
            Some(around) => around.inner = around.inner.max(level.deepest + 1),
            None => return level.deepest,
        }
    }
    0
}

/// Returns false for names, values and separators.
fn nests(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.keyword != Keyword::NoKeyword && word.quote_style.is_none(),
        Token::Whitespace(_)
        | Token::Period
        | Token::EOF
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> usize {
        let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize();
        depth(&tokens.unwrap())
    }

    #[test]
    fn chains_and_parentheses_are_deep_and_lists_are_not() {
        let plus = |count| format!("SELECT 1{}", "+1".repeat(count));
        assert!(of(&plus(30_000)) >= 30_000);
        assert!(check(&plus(30_000)).is_err() && check(&plus(2900)).is_ok());
        let nested = format!("SELECT {}1{}", "(".repeat(11_000), ")".repeat(11_000));
        assert!(check(&nested).is_err());
        let signs = format!("SELECT {}1", "- ".repeat(11_000));
        assert!(check(&signs).is_err());
        let unions = vec!["SELECT 1"; 9000].join(" UNION ALL ");
        assert!(check(&unions).is_err());
        let list = vec!["1"; 100_000].join(",");
        assert!(of(&format!("SELECT 1 WHERE 1 IN ({list})")) < 20);
        let rows = vec!["(1+1,'a')"; 50_000].join(",");
        assert!(of(&format!("VALUES {rows}")) < 20);
    }

    #[test]
    fn the_depth_of_a_group_counts_where_it_stands() {
        let group = |count| format!("(1{})", "+1".repeat(count));
        let text = format!(
            "SELECT {}{}",
            group(6000),
            format!("+{}", group(10)).repeat(6000)
        );
        assert!(of(&text) >= 12_000);
        assert!(check(&text).is_err());
    }
}
