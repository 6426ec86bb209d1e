//! From a pattern's text to tokens, by bytes or by characters.

use super::set::{Member, Set};

/// One step of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This unit (a byte, or a character's code).
    One(u32),
    /// Any one unit.
    Any,
    /// Any run of units.
    Star,
    /// One unit of a set.
    OneOf(Set),
}

impl Token {
    /// The byte that the token stands for, if it is one.
    pub(super) fn as_byte(&self) -> Option<u8> {
        match self {
            Token::One(unit) => u8::try_from(*unit).ok(),
            _ => None,
        }
    }
}

/// Tokens of a pattern; by characters if its `text` is given. `None` if it
/// can match nothing.
pub(super) fn parse(pattern: &[u8], text: Option<&str>) -> Option<Vec<Token>> {
    let units: Vec<u32> = match text {
        Some(text) => text.chars().map(u32::from).collect(),
        None => pattern.iter().map(|b| u32::from(*b)).collect(),
    };
    let mut tokens = Vec::with_capacity(units.len());
    let mut at = 0;
    while let Some(unit) = units.get(at) {
        at += 1;
        let token = match ascii(*unit) {
            b'*' if tokens.last() == Some(&Token::Star) => continue,
            b'*' => Token::Star,
            b'?' => Token::Any,
            b'\\' => {
                let quoted = *units.get(at)?;
                at += 1;
                Token::One(quoted)
            }
            b'[' => match parse_set(&units[at..]) {
                Bracket::Set(set, length) => {
                    at += length;
                    Token::OneOf(set)
                }
                Bracket::Literal => Token::One(*unit),
                Bracket::Hopeless => return None,
            },
            _ => Token::One(*unit),
        };
        tokens.push(token);
    }
    Some(tokens)
}

/// The unit as a byte to compare with; 0 for what is beyond ASCII.
fn ascii(unit: u32) -> u8 {
    u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(0)
}

enum Bracket {
    /// A set and how many units it took behind its `[`.
    Set(Set, usize),
    /// No `]` closes it: `[` stands for itself.
    Literal,
    /// It has a class or an element that there is not.
    Hopeless,
}

/// One element of a bracket expression.
enum Element {
    Unit(u32),
    Exact(u32),
    Class(String),
}

/// Reads a bracket expression behind its `[`.
fn parse_set(units: &[u32]) -> Bracket {
    let mut at = 0;
    let negated = matches!(units.first().map(|u| ascii(*u)), Some(b'!' | b'^'));
    if negated {
        at += 1;
    }
    let (mut members, mut hopeless, first) = (Vec::new(), false, at);
    loop {
        match units.get(at).map(|u| ascii(*u)) {
            None => return Bracket::Literal,
            Some(b']') if at > first => break,
            Some(_) => {}
        }
        let Some((element, next)) = parse_element(units, at) else {
            return Bracket::Literal;
        };
        at = next;
        match element {
            Ok(Element::Class(name)) => match Member::class(&name) {
                Some(member) => members.push(member),
                None => hopeless = true,
            },
            Ok(Element::Exact(unit)) => members.push(Member::Exact(unit)),
            Ok(Element::Unit(low)) => match parse_range_end(units, at) {
                None => members.push(Member::Range(low, low)),
                Some(Some((Ok(Element::Unit(high)), next))) => {
                    members.push(Member::Range(low, high));
                    at = next;
                }
                Some(None) => return Bracket::Literal,
                Some(Some((_, next))) => {
                    hopeless = true;
                    at = next;
                }
            },
            Err(()) => hopeless = true,
        }
    }
    if hopeless {
        return Bracket::Hopeless;
    }
    Bracket::Set(Set { negated, members }, at + 1)
}

type Parsed = (Result<Element, ()>, usize);

/// The element behind a `-`, if a range goes on at `at`; the inner option is
/// empty where the pattern ends in it.
fn parse_range_end(units: &[u32], at: usize) -> Option<Option<Parsed>> {
    let is = |at: usize, byte: u8| units.get(at).is_some_and(|u| ascii(*u) == byte);
    if !is(at, b'-') || is(at + 1, b']') {
        return None;
    }
    if units.get(at + 1).is_none() {
        return Some(None);
    }
    // Of the elements in brackets only `[.x.]` can end a range: the `[` of
    // another is itself the end.
    if is(at + 1, b'[') && !is(at + 2, b'.') {
        return Some(Some((Ok(Element::Unit(u32::from(b'['))), at + 2)));
    }
    Some(parse_element(units, at + 1))
}

/// Reads one element at `at`; where it ends. `None` where the pattern ends
/// in it, an inner error for an element that there is not.
fn parse_element(units: &[u32], at: usize) -> Option<Parsed> {
    let unit = *units.get(at)?;
    match (ascii(unit), units.get(at + 1).map(|u| ascii(*u))) {
        (b'\\', _) => Some((Ok(Element::Unit(*units.get(at + 1)?)), at + 2)),
        (b'[', Some(b':')) => Some(parse_class(units, at)),
        (b'[', Some(mark @ (b'.' | b'='))) => parse_collating(units, at, mark),
        _ => Some((Ok(Element::Unit(unit)), at + 1)),
    }
}

/// `[:name:]`; anything else that begins so is a `[` of its own.
fn parse_class(units: &[u32], at: usize) -> Parsed {
    let mut name = String::new();
    for (index, unit) in units.iter().enumerate().skip(at + 2) {
        match ascii(*unit) {
            b':' if units.get(index + 1).is_some_and(|u| ascii(*u) == b']') => {
                return (Ok(Element::Class(name)), index + 2);
            }
            letter @ b'a'..=b'y' => name.push(char::from(letter)),
            _ => break,
        }
    }
    (Ok(Element::Unit(u32::from(b'['))), at + 1)
}

/// `[.x.]` and `[=x=]` of one unit.
fn parse_collating(units: &[u32], at: usize, mark: u8) -> Option<Parsed> {
    let is = |at: usize, byte: u8| units.get(at).is_some_and(|u| ascii(*u) == byte);
    let unit = *units.get(at + 2)?;
    if is(at + 3, mark) && is(at + 4, b']') {
        let element = match mark {
            b'=' => Element::Exact(unit),
            _ => Element::Unit(unit),
        };
        return Some((Ok(element), at + 5));
    }
    if mark == b'=' {
        return Some((Ok(Element::Unit(u32::from(b'['))), at + 1));
    }
    let end = (at + 2..units.len()).find(|i| is(*i, mark) && is(i + 1, b']'));
    match end {
        Some(end) => Some((Err(()), end + 2)),
        None => Some((Err(()), at + 2)),
    }
}
