//! Parses a pattern by the rules of its dialect.

use trawl_text::glob::Case;

use super::RegexError;
use super::bracket;
use super::syntax::*;
use super::tree::{Anchor, Node, Set, Unit, Word};

/// Maximum number in braces (`RE_DUP_MAX`).
const REPEAT_MAX: u32 = 0x7fff;
/// Maximum nesting of groups.
const DEEPEST: usize = super::NEST_LIMIT as usize;
/// Maximum number of repetitions of one part.
const MOST_REPEATS: usize = 50;

/// A token of a pattern, by the rules of the dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    End,
    Literal(Unit),
    /// Matches no text.
    Never,
    Or,
    Star,
    Plus,
    Question,
    OpenBrace,
    CloseBrace,
    Open,
    Close,
    Bracket,
    Dot,
    Anchor(Anchor),
    Word(Word),
    Reference(u8),
    TrailingBackslash,
}

struct Reader<'a> {
    units: &'a [Unit],
    syntax: Syntax,
    case: Case,
    /// Positions of the current token and of the next one.
    at: usize,
    next: usize,
    token: Token,
    depth: usize,
    /// Number of groups so far, and which of the first nine are complete.
    groups: u32,
    closed: u16,
}

/// Parses a whole pattern.
pub(super) fn parse(units: &[Unit], syntax: Syntax, case: Case) -> Result<Node, RegexError> {
    let mut reader = Reader {
        units,
        syntax,
        case,
        at: 0,
        next: 0,
        token: Token::End,
        depth: 0,
        groups: 0,
        closed: 0,
    };
    reader.advance(TokenPosition::Start);
    reader.alternatives()
}

/// Position of a token; it decides the meaning of `^`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenPosition {
    /// At the start of the pattern, of a group or of an alternative.
    Start,
    Within,
}

impl Reader<'_> {
    fn has(&self, rule: Rule) -> bool {
        self.syntax.has(rule)
    }

    fn advance(&mut self, place: TokenPosition) {
        self.at = self.next;
        let (token, length) = self.peek(self.at, place);
        self.token = token;
        self.next = self.at + length;
    }

    /// Returns the token at a position, and its length.
    fn peek(&self, at: usize, place: TokenPosition) -> (Token, usize) {
        let Some(unit) = self.units.get(at).copied() else {
            return (Token::End, 0);
        };
        let byte = unit.ascii();
        if byte == b'\\' {
            return match self.units.get(at + 1) {
                Some(quoted) => (self.quoted(*quoted), 2),
                None => (Token::TrailingBackslash, 1),
            };
        }
        let limited = self.has(LIMITED);
        let plain_plus = !limited && !self.has(BACKSLASH_PLUS);
        let plain_braces = self.has(INTERVALS) && self.has(PLAIN_BRACES);
        let token = match byte {
            b'\n' if self.has(NEWLINE_IS_OR) => Token::Or,
            b'|' if !limited && self.has(PLAIN_OR) => Token::Or,
            b'*' => Token::Star,
            b'+' if plain_plus => Token::Plus,
            b'?' if plain_plus => Token::Question,
            b'{' if plain_braces => Token::OpenBrace,
            b'}' if plain_braces => Token::CloseBrace,
            b'(' if self.has(PLAIN_GROUPS) => Token::Open,
            b')' if self.has(PLAIN_GROUPS) => Token::Close,
            b'[' => Token::Bracket,
            b'.' => Token::Dot,
            b'^' if self.is_start(at, place) => Token::Anchor(Anchor::LineStart),
            b'$' if self.is_end(at) => Token::Anchor(Anchor::LineEnd),
            _ => Token::Literal(unit),
        };
        (token, 1)
    }

    /// Returns the token of a backslash and a unit.
    fn quoted(&self, unit: Unit) -> Token {
        match self.quoted_special(unit) {
            // If case is ignored, the C library folds the text to capitals but
            // not this unit, so it never matches.
            Token::Literal(unit)
                if self.case == Case::Folded && unit.ascii().is_ascii_lowercase() =>
            {
                Token::Never
            }
            token => token,
        }
    }

    fn quoted_special(&self, unit: Unit) -> Token {
        let byte = unit.ascii();
        let limited = self.has(LIMITED);
        let quoted_braces = self.has(INTERVALS) && !self.has(PLAIN_BRACES);
        match byte {
            b'|' if !limited && !self.has(PLAIN_OR) => Token::Or,
            b'1'..=b'9' if !self.has(NO_REFERENCES) => Token::Reference(byte - b'0'),
            b'(' if !self.has(PLAIN_GROUPS) => Token::Open,
            b')' if !self.has(PLAIN_GROUPS) => Token::Close,
            b'+' if !limited && self.has(BACKSLASH_PLUS) => Token::Plus,
            b'?' if !limited && self.has(BACKSLASH_PLUS) => Token::Question,
            b'{' if quoted_braces => Token::OpenBrace,
            b'}' if quoted_braces => Token::CloseBrace,
            _ if self.has(NO_GNU) => Token::Literal(unit),
            b'<' => Token::Anchor(Anchor::WordStart),
            b'>' => Token::Anchor(Anchor::WordEnd),
            b'b' => Token::Anchor(Anchor::WordBoundary),
            b'B' => Token::Anchor(Anchor::NotWordBoundary),
            b'`' => Token::Anchor(Anchor::TextStart),
            b'\'' => Token::Anchor(Anchor::TextEnd),
            b'w' => Token::Word(Word::Letter),
            b'W' => Token::Word(Word::NotLetter),
            b's' => Token::Word(Word::Space),
            b'S' => Token::Word(Word::NotSpace),
            _ => Token::Literal(unit),
        }
    }

    fn is_start(&self, at: usize, place: TokenPosition) -> bool {
        let after_newline = || {
            let before = at.checked_sub(1).and_then(|before| self.units.get(before));
            self.has(NEWLINE_IS_OR) && before.is_some_and(|unit| unit.ascii() == b'\n')
        };
        self.has(ANCHORS_ANYWHERE) || place == TokenPosition::Start || after_newline()
    }

    fn is_end(&self, at: usize) -> bool {
        if self.has(ANCHORS_ANYWHERE) || at + 1 == self.units.len() {
            return true;
        }
        matches!(
            self.peek(at + 1, TokenPosition::Within).0,
            Token::Or | Token::Close
        )
    }

    fn alternatives(&mut self) -> Result<Node, RegexError> {
        let mut parts = vec![self.branch()?];
        while self.token == Token::Or {
            self.advance(TokenPosition::Start);
            parts.push(self.branch()?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Node::Alternate(parts),
        })
    }

    fn branch(&mut self) -> Result<Node, RegexError> {
        let mut parts = Vec::new();
        loop {
            match self.token {
                Token::End | Token::Or => break,
                Token::Close if self.depth > 0 => break,
                _ => parts.push(self.expression()?),
            }
        }
        Ok(match parts.len() {
            0 => Node::Empty,
            1 => parts.remove(0),
            _ => Node::Concat(parts),
        })
    }

    fn expression(&mut self) -> Result<Node, RegexError> {
        let node = match self.token {
            Token::Literal(unit) => Node::Literal(unit),
            Token::Never => Node::Set(Set::default()),
            Token::Open => self.group()?,
            Token::Bracket => {
                let (set, length) =
                    bracket::parse(&self.units[self.next..], self.syntax, self.case)?;
                self.next += length;
                Node::Set(set)
            }
            Token::Reference(number) if self.closed & (1 << number) == 0 => {
                return Err(RegexError::InvalidBackReference);
            }
            Token::Reference(_) => Node::Reference,
            Token::Star | Token::Plus | Token::Question | Token::OpenBrace => {
                match self.stray_repeat()? {
                    Some(node) => node,
                    None => return Ok(Node::Empty),
                }
            }
            Token::Close if !self.has(STRAY_CLOSE) => return Err(RegexError::Close),
            Token::Close | Token::CloseBrace => Node::Literal(self.last_unit()),
            Token::Anchor(anchor) => {
                // Anchors are never repeated.
                let caret = anchor == Anchor::LineStart;
                self.advance(if caret {
                    TokenPosition::Start
                } else {
                    TokenPosition::Within
                });
                return Ok(Node::Anchor(anchor));
            }
            Token::Dot if self.has(DOT_NEWLINE) => Node::Any,
            Token::Dot => Node::AnyButNewline,
            Token::Word(word) => Node::Word(word),
            Token::TrailingBackslash => return Err(RegexError::Backslash),
            Token::End | Token::Or => return Ok(Node::Empty),
        };
        self.advance(TokenPosition::Within);
        self.repeats(node)
    }

    /// Parses a repetition with nothing before it; `None` if the repetition is
    /// ignored.
    fn stray_repeat(&mut self) -> Result<Option<Node>, RegexError> {
        let strict_braces = self.has(NO_STRAY_INTERVALS);
        if self.token == Token::OpenBrace && strict_braces {
            return Err(RegexError::NothingToRepeat);
        }
        if self.has(NO_STRAY_REPEATS) && !strict_braces {
            return Err(RegexError::NothingToRepeat);
        }
        if self.has(REPEATS_ANYWHERE) {
            while matches!(
                self.token,
                Token::Star | Token::Plus | Token::Question | Token::OpenBrace
            ) {
                self.advance(TokenPosition::Within);
            }
            return match self.token {
                Token::End | Token::Or => Ok(None),
                // A `)` here is a literal, as in the C library.
                _ => self.expression().map(|node| {
                    // The caller advances once more, so step back onto the end.
                    self.next = self.at;
                    Some(node)
                }),
            };
        }
        Ok(Some(Node::Literal(self.last_unit())))
    }

    /// Returns the last unit of the current token as a literal.
    fn last_unit(&self) -> Unit {
        let last = self.next.checked_sub(1).and_then(|at| self.units.get(at));
        last.copied().unwrap_or(Unit::Byte(0))
    }

    fn group(&mut self) -> Result<Node, RegexError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(RegexError::TooBig);
        }
        self.groups = self.groups.saturating_add(1);
        let number = self.groups;
        self.advance(TokenPosition::Start);
        let inner = match self.token {
            Token::Close => Node::Empty,
            _ => self.alternatives()?,
        };
        if self.token != Token::Close {
            return Err(RegexError::Open);
        }
        self.depth -= 1;
        if number <= 9 {
            self.closed |= 1 << number;
        }
        Ok(Node::Group(Box::new(inner)))
    }

    /// Parses the repetitions after a part.
    fn repeats(&mut self, mut node: Node) -> Result<Node, RegexError> {
        for _ in 0..MOST_REPEATS {
            let (least, most) = match self.token {
                Token::Star => (0, None),
                Token::Plus => (1, None),
                Token::Question => (0, Some(1)),
                Token::OpenBrace => match self.braces()? {
                    Some(bounds) => bounds,
                    // It is not a repetition: the brace is a literal.
                    None => {
                        self.token = Token::Literal(self.last_unit());
                        return Ok(node);
                    }
                },
                _ => return Ok(node),
            };
            self.advance(TokenPosition::Within);
            // A star over a star has no effect.
            let is_star = |node: &Node| {
                matches!(
                    node,
                    Node::Repeat {
                        least: 0,
                        most: None,
                        ..
                    }
                )
            };
            if !(is_star(&node) && (least, most) == (0, None)) {
                node = Node::Repeat {
                    inner: Box::new(node),
                    least,
                    most,
                };
            }
            let again = matches!(self.token, Token::Star | Token::OpenBrace);
            if again && self.has(NO_STRAY_INTERVALS) {
                return Err(RegexError::NothingToRepeat);
            }
        }
        Err(RegexError::TooBig)
    }

    /// Parses numbers in braces up to the closing brace, which becomes the
    /// current token. Returns `None` if they are invalid and the brace is a
    /// literal.
    fn braces(&mut self) -> Result<Option<(u32, Option<u32>)>, RegexError> {
        let start = (self.at, self.next, self.token);
        self.advance(TokenPosition::Within);
        let first = self.number();
        let comma = self.is_comma();
        let bounds = if comma {
            self.advance(TokenPosition::Within);
            let second = self.number();
            Some((first.unwrap_or(0), second))
        } else {
            first.map(|number| (number, Some(number)))
        };
        let closed = self.token == Token::CloseBrace;
        match bounds {
            Some((least, most)) if closed => {
                if most.is_some_and(|most| most < least) {
                    return Err(RegexError::Repetition);
                }
                if least.max(most.unwrap_or(0)) > REPEAT_MAX {
                    return Err(RegexError::TooBig);
                }
                Ok(Some((least, most)))
            }
            None if closed => Err(RegexError::Repetition),
            _ if self.has(STRAY_BRACES) => {
                (self.at, self.next, self.token) = start;
                Ok(None)
            }
            _ if self.rest_lacks_close() => Err(RegexError::Brace),
            _ => Err(RegexError::Repetition),
        }
    }

    /// Returns true if neither a brace nor a comma ends the current number.
    fn rest_lacks_close(&self) -> bool {
        let mut at = self.at;
        loop {
            match self.peek(at, TokenPosition::Within) {
                (Token::End, _) => return true,
                (Token::CloseBrace, _) => return false,
                (Token::Literal(unit), _) if unit.ascii() == b',' => return false,
                (_, length) => at += length,
            }
        }
    }

    fn is_comma(&self) -> bool {
        matches!(self.token, Token::Literal(unit) if unit.ascii() == b',')
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Token::Literal(unit) = self.token
            && unit.ascii().is_ascii_digit()
        {
            let digit = u32::from(unit.ascii() - b'0');
            number = Some((number.unwrap_or(0) * 10 + digit).min(REPEAT_MAX + 1));
            self.advance(TokenPosition::Within);
        }
        number
    }
}
