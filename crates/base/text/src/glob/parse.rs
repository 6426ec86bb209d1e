//! Parses a pattern into tokens, by bytes or by characters.

use super::Case;
use super::matcher::{Bytes, Chars, Units};
use super::set::{Bound, Member, Set};

/// One token of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This unit: a byte, or a character's code.
    One(u32),
    /// Any unit.
    Any,
    /// Any run of units.
    Star,
    /// Any unit of a set.
    OneOf(Set),
}

impl Token {
    /// Returns the byte that the token matches, if it matches just one.
    pub(super) fn as_byte(&self) -> Option<u8> {
        match self {
            Token::One(unit) => u8::try_from(*unit).ok(),
            _ => None,
        }
    }
}

/// Returns the tokens of a pattern: by characters if its `text` is given, else
/// by bytes. Returns `None` if the pattern can match nothing.
pub(super) fn parse(pattern: &[u8], text: Option<&str>, case: Case) -> Option<Vec<Token>> {
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
                Bracket::Cut(set) => {
                    let fold = if text.is_some() {
                        Chars::fold
                    } else {
                        Bytes::fold
                    };
                    if !set.contains(*unit, Some('['), case, fold) {
                        return None;
                    }
                    Token::One(*unit)
                }
                Bracket::Hopeless => return None,
            },
            _ => Token::One(*unit),
        };
        tokens.push(token);
    }
    Some(tokens)
}

/// Returns the unit if it is ASCII, else 0.
fn ascii(unit: u32) -> u8 {
    u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(0)
}

enum Bracket {
    /// A set, and the number of units after its `[`.
    Set(Set, usize),
    /// No `]` closes it: the `[` is a literal.
    Literal,
    /// No `]` closes it, and it ends in a range without an end. The C library
    /// takes the `[` as a literal only if the members before the range include
    /// a `[`.
    Cut(Set),
    /// It holds an unknown class or collating element, so the pattern matches
    /// nothing.
    Hopeless,
}

/// An element of a bracket expression.
enum Element {
    Unit(u32),
    /// `[.x.]`. As the end of a range it keeps its case even if case is
    /// ignored.
    Collating(u32),
    /// `[=x=]`
    Equivalent(u32),
    Class(String),
}

/// Parses a bracket expression after its `[`.
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
        let Some((member, next)) = parse_member(units, at) else {
            return Bracket::Literal;
        };
        at = next;
        match member {
            Ok(member) => members.push(member),
            Err(()) => hopeless = true,
        }
        if at > units.len() {
            let negated = false;
            return Bracket::Cut(Set { negated, members });
        }
    }
    if hopeless {
        return Bracket::Hopeless;
    }
    Bracket::Set(Set { negated, members }, at + 1)
}

/// A parsed value, or an error for an unknown class or element; and its end.
type Parsed<T> = (Result<T, ()>, usize);

/// Parses the member at `at`: an element or a range. Returns `None` if the
/// pattern ends within it. If only the end of a range is missing, returns its
/// beginning, and an end past the pattern's end.
fn parse_member(units: &[u32], at: usize) -> Option<Parsed<Member>> {
    let (element, next) = parse_element(units, at)?;
    let Ok(element) = element else {
        return Some((Err(()), next));
    };
    let (low, alone) = match element {
        Element::Unit(unit) => (Bound::Plain(unit), Member::One(unit)),
        Element::Collating(unit) => (Bound::Exact(unit), Member::Exact(unit)),
        Element::Equivalent(unit) => return Some((Ok(Member::Exact(unit)), next)),
        Element::Class(name) => return Some((Member::class(&name).ok_or(()), next)),
    };
    let is = |at: usize, byte: u8| units.get(at).is_some_and(|u| ascii(*u) == byte);
    if !is(next, b'-') || is(next + 1, b']') {
        return Some((Ok(alone), next));
    }
    if next + 1 == units.len() {
        return Some((Ok(alone), next + 2));
    }
    let (high, end) = parse_range_end(units, next + 1)?;
    Some((high.map(|high| Member::Range(low, high)), end))
}

/// Parses the element after a range's `-`. Of the bracketed elements only
/// `[.x.]` can end a range: the `[` of any other is itself the end.
fn parse_range_end(units: &[u32], at: usize) -> Option<Parsed<Bound>> {
    let is = |at: usize, byte: u8| units.get(at).is_some_and(|u| ascii(*u) == byte);
    if is(at, b'[') && !is(at + 1, b'.') {
        return Some((Ok(Bound::Plain(u32::from(b'['))), at + 1));
    }
    let (element, end) = parse_element(units, at)?;
    let bound = match element {
        Ok(Element::Unit(unit)) => Ok(Bound::Plain(unit)),
        Ok(Element::Collating(unit)) => Ok(Bound::Exact(unit)),
        _ => Err(()),
    };
    Some((bound, end))
}

/// Parses the element at `at`, and returns it with its end. Returns `None` if
/// the pattern ends within it, an inner error for an unknown element.
fn parse_element(units: &[u32], at: usize) -> Option<Parsed<Element>> {
    let unit = *units.get(at)?;
    match (ascii(unit), units.get(at + 1).map(|u| ascii(*u))) {
        (b'\\', _) => Some((Ok(Element::Unit(*units.get(at + 1)?)), at + 2)),
        (b'[', Some(b':')) => Some(parse_class(units, at)),
        (b'[', Some(mark @ (b'.' | b'='))) => parse_collating(units, at, mark),
        _ => Some((Ok(Element::Unit(unit)), at + 1)),
    }
}

/// Parses `[:name:]`. If it is malformed, its `[` is a literal.
fn parse_class(units: &[u32], at: usize) -> Parsed<Element> {
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

/// Parses `[.x.]` and `[=x=]` of one unit.
fn parse_collating(units: &[u32], at: usize, mark: u8) -> Option<Parsed<Element>> {
    let is = |at: usize, byte: u8| units.get(at).is_some_and(|u| ascii(*u) == byte);
    let unit = *units.get(at + 2)?;
    if is(at + 3, mark) && is(at + 4, b']') {
        let element = match mark {
            b'=' => Element::Equivalent(unit),
            _ => Element::Collating(unit),
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
