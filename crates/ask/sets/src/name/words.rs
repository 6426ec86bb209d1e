//! Words: what the braces of a name expand to, one at a time, in pieces that are expanded from left
//! to right.

use super::parse::{Node, Sequence, Token, sum};

/// Maximum number of components that are searched for together.
const RUN_MAX: usize = 48;

/// One word of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The user whose home directory precedes the pieces; empty for the asking user.
    pub(crate) home: Option<Vec<u8>>,
    pub(crate) pieces: Vec<Piece>,
    /// Whether components follow a brace: they are looked for, and a missing name is no member.
    pub(crate) is_checked: bool,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Bytes that stand for themselves, with slashes.
    Text(Vec<u8>),
    /// Components with wildcards, and what follows them.
    Run(Vec<Step>),
    /// A query on what precedes it.
    Query(Vec<u8>),
    /// A command in the directory that precedes it.
    Command(Vec<u8>),
    /// A wildcard right after a query or command.
    Misplaced,
}

/// A component to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A name.
    Name(Vec<u8>),
    /// A pattern in the language of fnmatch(3), for the search call.
    Pattern(Vec<u8>),
}

impl Step {
    /// Returns the component as the search call reads it.
    pub(crate) fn text(&self) -> Vec<u8> {
        match self {
            Step::Name(name) => {
                let mut text = Vec::new();
                name.iter().for_each(|byte| quote(*byte, &mut text));
                text
            }
            Step::Pattern(text) => text.clone(),
        }
    }
}

fn quote(byte: u8, text: &mut Vec<u8>) {
    if b"*?[]\\|".contains(&byte) {
        text.push(b'\\');
    }
    text.push(byte);
}

/// Returns the word with this number; the leftmost brace changes slowest, as in csh.
pub(super) fn word(root: &Sequence, number: u128) -> Word {
    let mut flat = Flat::default();
    flat.take(root, number);
    let (home, tokens) = home(flat.tokens);
    Word {
        home,
        pieces: pieces(&tokens),
        is_checked: flat.is_checked,
    }
}

#[derive(Default)]
struct Flat {
    tokens: Vec<Token>,
    has_choice: bool,
    is_checked: bool,
}

impl Flat {
    fn take(&mut self, sequence: &Sequence, mut number: u128) {
        let mut left = remaining(sequence);
        for node in &sequence.nodes {
            let parts = match node {
                Node::Token(token) => {
                    self.is_checked |= self.has_choice && *token == Token::Byte(b'/');
                    self.tokens.push(token.clone());
                    continue;
                }
                Node::Choice(parts) => parts,
            };
            let behind = left.pop().unwrap_or(1);
            let mut chosen = number / behind;
            number %= behind;
            for part in parts {
                if chosen < part.count {
                    self.take(part, chosen);
                    break;
                }
                chosen -= part.count;
            }
            self.has_choice = true;
        }
    }
}

/// Returns for each choice the number of words of what follows it, the first choice last.
fn remaining(sequence: &Sequence) -> Vec<u128> {
    let mut left = Vec::new();
    let mut product = 1u128;
    for node in sequence.nodes.iter().rev() {
        if let Node::Choice(parts) = node {
            left.push(product);
            product = product.saturating_mul(sum(parts));
        }
    }
    left
}

/// Splits off `~user`.
fn home(mut tokens: Vec<Token>) -> (Option<Vec<u8>>, Vec<Token>) {
    if tokens.first() != Some(&Token::Tilde) {
        return (None, tokens);
    }
    let is_in_name = |token: &&Token| **token != Token::Byte(b'/');
    let length = tokens[1..].iter().take_while(is_in_name).count();
    let user: Option<Vec<u8>> = tokens[1..=length]
        .iter()
        .map(|token| match token {
            Token::Byte(byte) => Some(*byte),
            _ => None,
        })
        .collect();
    if user.is_some() {
        tokens.drain(..=length);
    }
    (user, tokens)
}

enum Part {
    Slash,
    Step(Step),
    Other(Piece),
}

/// Groups tokens by component.
fn parts(tokens: &[Token]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Byte(b'/') => parts.push(Part::Slash),
            Token::Query(query) => parts.push(Part::Other(Piece::Query(query.clone()))),
            Token::Command(text) => parts.push(Part::Other(Piece::Command(text.clone()))),
            _ => {
                let is_in = |token: &&Token| {
                    !matches!(
                        token,
                        Token::Byte(b'/') | Token::Query(_) | Token::Command(_)
                    )
                };
                let length = tokens[at..].iter().take_while(is_in).count();
                let step = step(&tokens[at..at + length]);
                let is_attached = matches!(parts.last(), Some(Part::Other(_)));
                match (&step, is_attached) {
                    (Step::Pattern(_), true) => parts.push(Part::Other(Piece::Misplaced)),
                    _ => parts.push(Part::Step(step)),
                }
                at += length - 1;
            }
        }
        at += 1;
    }
    parts
}

fn step(tokens: &[Token]) -> Step {
    let (mut name, mut text) = (Vec::new(), Vec::new());
    let mut is_name = true;
    for token in tokens {
        match token {
            Token::Byte(byte) => {
                name.push(*byte);
                quote(*byte, &mut text);
            }
            Token::Tilde => {
                name.push(b'~');
                text.push(b'~');
            }
            Token::Any => text.push(b'*'),
            Token::One => text.push(b'?'),
            Token::Set(set) => text.extend_from_slice(set),
            Token::Query(_) | Token::Command(_) => {}
        }
        is_name &= matches!(token, Token::Byte(_) | Token::Tilde);
    }
    match is_name {
        true => Step::Name(name),
        false => Step::Pattern(text),
    }
}

/// Collects the longest runs: from a component with wildcards on, everything that one search call
/// answers.
fn pieces(tokens: &[Token]) -> Vec<Piece> {
    let parts = parts(tokens);
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        at += 1;
        let first = match part {
            Part::Slash => {
                text.push(b'/');
                continue;
            }
            Part::Step(Step::Name(name)) => {
                text.extend_from_slice(name);
                continue;
            }
            Part::Step(step) => Ok(step),
            Part::Other(piece) => Err(piece),
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        let mut run = match first {
            Err(piece) => {
                pieces.push(piece.clone());
                continue;
            }
            Ok(step) => vec![step.clone()],
        };
        while let (Some(Part::Slash), Some(Part::Step(step))) = (parts.get(at), parts.get(at + 1))
            && run.len() < RUN_MAX
            && !matches!(step, Step::Name(name) if name == b"." || name == b"..")
        {
            run.push(step.clone());
            at += 2;
        }
        pieces.push(Piece::Run(run));
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}
