//! Matches one component of a pattern against one name.

use trawl_model::need::{At, Letters, Literal, Need, Within};
use trawl_text::glob::{Case, Glob};
use trawl_text::locale::Locale;

use super::{Mode, Period};

/// A compiled component.
#[derive(Debug)]
pub(super) struct Component {
    /// The component as it was written.
    text: Vec<u8>,
    matcher: Matcher,
}

#[derive(Debug)]
enum Matcher {
    Glob(Glob),
    /// A component with `?`, which matches one byte or none.
    Optional(Tokens),
}

/// Why a component cannot be compiled.
pub(super) enum BadComponent {
    /// No name can match.
    Hopeless,
    /// It has a `?` and too many characters.
    TooLong,
}

impl Component {
    /// Compiles a component. The caller ensures that a byte follows every `\`.
    pub(super) fn new(text: &[u8], mode: Mode) -> Result<Component, BadComponent> {
        let optional = match mode {
            Mode::Paper => Tokens::with_optional(text)?,
            Mode::Fnmatch => None,
        };
        let matcher = match (optional, mode) {
            (Some(tokens), _) => Matcher::Optional(tokens),
            (None, Mode::Paper) => Matcher::Glob(glob(&with_plain_brackets(text))),
            (None, Mode::Fnmatch) => Matcher::Glob(glob(text)),
        };
        match &matcher {
            Matcher::Glob(glob) if glob.is_hopeless() => Err(BadComponent::Hopeless),
            _ => Ok(Component {
                text: text.to_vec(),
                matcher,
            }),
        }
    }

    /// Returns the component as it was written.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns whether the whole name matches.
    pub(super) fn matches(&self, name: &[u8], period: Period) -> bool {
        if period == Period::Explicit && name.first() == Some(&b'.') && !self.begins_with_period() {
            return false;
        }
        match &self.matcher {
            Matcher::Glob(glob) => glob.matches(name),
            Matcher::Optional(tokens) => tokens.match_name(name),
        }
    }

    fn begins_with_period(&self) -> bool {
        matches!(&self.text[..], [b'.', ..] | [b'\\', b'.', ..])
    }

    /// Returns the only name that can match, if there is exactly one.
    pub(super) fn literal(&self) -> Option<&[u8]> {
        match &self.matcher {
            Matcher::Glob(glob) => glob.literal(),
            Matcher::Optional(_) => None,
        }
    }

    /// Returns the condition that every matching name fulfils.
    pub(super) fn need(&self) -> Need {
        match &self.matcher {
            Matcher::Glob(glob) => glob.need(Within::Name),
            Matcher::Optional(tokens) => tokens.need(),
        }
    }
}

fn glob(text: &[u8]) -> Glob {
    Glob::new(text, Case::Sensitive, Locale::Bytes)
}

/// Returns the text with its brackets quoted.
fn with_plain_brackets(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut is_quoted = false;
    for byte in text {
        if *byte == b'[' && !is_quoted {
            plain.push(b'\\');
        }
        is_quoted = *byte == b'\\' && !is_quoted;
        plain.push(*byte);
    }
    plain
}

/// Maximum number of tokens in a component with `?`: more than twice the maximum length of a name.
const TOKENS_MAX: usize = 511;
const WORDS: usize = (TOKENS_MAX + 1) / 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// Any run of bytes.
    Run,
    /// One byte or none.
    Maybe,
}

#[derive(Debug)]
struct Tokens(Vec<Token>);

impl Tokens {
    /// Returns the tokens of a component with an unquoted `?`; `None` for a component without one.
    fn with_optional(text: &[u8]) -> Result<Option<Tokens>, BadComponent> {
        let mut tokens = Vec::new();
        let mut bytes = text.iter();
        while let Some(byte) = bytes.next() {
            let token = match byte {
                b'*' => Token::Run,
                b'?' => Token::Maybe,
                b'\\' => Token::Byte(*bytes.next().ok_or(BadComponent::Hopeless)?),
                byte => Token::Byte(*byte),
            };
            match (tokens.last(), token) {
                (Some(Token::Run), Token::Run | Token::Maybe) => {}
                (Some(Token::Maybe), Token::Run) => {
                    // A run includes all optional bytes before it.
                    while tokens.last() == Some(&Token::Maybe) {
                        tokens.pop();
                    }
                    if tokens.last() != Some(&Token::Run) {
                        tokens.push(Token::Run);
                    }
                }
                _ => tokens.push(token),
            }
        }
        if !text.contains(&b'?') || !has_unquoted_mark(text) {
            return Ok(None);
        }
        match tokens.len() > TOKENS_MAX {
            true => Err(BadComponent::TooLong),
            false => Ok(Some(Tokens(tokens))),
        }
    }

    /// Returns whether the whole name matches. Tracks all possible positions in the pattern at
    /// once, so that nothing is tried twice.
    fn match_name(&self, name: &[u8]) -> bool {
        let tokens = &self.0;
        let mut places = Positions::default();
        places.add(tokens, 0);
        for byte in name {
            let mut next = Positions::default();
            for at in places.each() {
                match tokens.get(at) {
                    Some(Token::Byte(wanted)) if wanted == byte => next.add(tokens, at + 1),
                    Some(Token::Run) => next.add(tokens, at),
                    Some(Token::Maybe) => next.add(tokens, at + 1),
                    _ => {}
                }
            }
            if next.is_empty() {
                return false;
            }
            places = next;
        }
        places.has(tokens.len())
    }

    fn need(&self) -> Need {
        let tokens = &self.0;
        let (mut literals, mut run, mut start) = (Vec::new(), Vec::new(), 0);
        for at in 0..=tokens.len() {
            if let Some(Token::Byte(byte)) = tokens.get(at) {
                run.push(*byte);
                continue;
            }
            if !run.is_empty() {
                literals.push(Literal {
                    bytes: std::mem::take(&mut run),
                    within: Within::Name,
                    at: At::of(start == 0, at == tokens.len()),
                    letters: Letters::Exact,
                });
            }
            start = at + 1;
        }
        Need::all(literals)
    }
}

fn has_unquoted_mark(text: &[u8]) -> bool {
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => _ = bytes.next(),
            b'?' => return true,
            _ => {}
        }
    }
    false
}

/// A set of positions in a list of tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Positions {
    words: [u64; WORDS],
}

impl Positions {
    /// Adds a position and those that can be reached from it without consuming a byte.
    fn add(&mut self, tokens: &[Token], mut at: usize) {
        loop {
            let Some(word) = self.words.get_mut(at / 64) else {
                return;
            };
            let bit = 1 << (at % 64);
            if *word & bit != 0 {
                return;
            }
            *word |= bit;
            match tokens.get(at) {
                Some(Token::Run | Token::Maybe) => at += 1,
                _ => return,
            }
        }
    }

    fn has(&self, at: usize) -> bool {
        let word = self.words.get(at / 64);
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    fn each(self) -> impl Iterator<Item = usize> {
        self.words
            .into_iter()
            .enumerate()
            .flat_map(|(index, mut word)| {
                std::iter::from_fn(move || {
                    let bit = word.trailing_zeros();
                    word &= word.wrapping_sub(1);
                    (bit < 64).then_some(index * 64 + bit as usize)
                })
            })
    }
}
