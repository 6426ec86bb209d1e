//! Parses a pattern into tokens, by bytes or by characters.

use super::Case;
use super::matcher::{Bytes, Chars, Units};
use super::set::{Bound, Fold, Member, Set};

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
    let fold: Fold = if text.is_some() {
        Chars::fold
    } else {
        Bytes::fold
    };
    let mut parser = Parser::new(&units, case, fold);
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
            b'[' => match parser.parse_set(at) {
                Bracket::Set(set, end) => {
                    at = end;
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

/// Returns the unit if it is ASCII, else 0.
fn ascii(unit: u32) -> u8 {
    u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(0)
}

#[derive(Debug, PartialEq, Eq)]
enum Bracket {
    /// A set, and its end.
    Set(Set, usize),
    /// No `]` closes it: the `[` is a literal.
    Literal,
    /// The pattern matches nothing: the set holds an unknown class or collating
    /// element, or [`Unclosed::Cut`] applies.
    Hopeless,
}

/// How a bracket expression ends that no `]` closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unclosed {
    /// Its `[` is a literal.
    Plain,
    /// It ends in a range without an end. The C library takes its `[` as a
    /// literal only if the members before the range include a `[`.
    Cut { has_bracket: bool },
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

/// A parsed value, or an error for an unknown class or element; and its end.
type Parsed<T> = (Result<T, ()>, usize);

/// Parses the bracket expressions of a pattern, in the order of their `[`.
///
/// It remembers what it learnt from expressions without an end, so that no part
/// of the pattern is scanned once per `[`.
struct Parser<'a> {
    units: &'a [u32],
    case: Case,
    fold: Fold,
    /// How an expression ends that has a member, not its first one, at an
    /// index. Empty until an expression is found that nothing closes.
    unclosed: Vec<Option<Unclosed>>,
    /// The next `.]` at or after an index. Empty until it is needed.
    closes: Vec<Option<usize>>,
}

impl<'a> Parser<'a> {
    fn new(units: &'a [u32], case: Case, fold: Fold) -> Parser<'a> {
        Parser {
            units,
            case,
            fold,
            unclosed: Vec::new(),
            closes: Vec::new(),
        }
    }

    fn is(&self, at: usize, byte: u8) -> bool {
        self.units.get(at).is_some_and(|u| ascii(*u) == byte)
    }

    /// Parses a bracket expression, from the index after its `[`.
    fn parse_set(&mut self, start: usize) -> Bracket {
        let mut at = start;
        let negated = self.is(at, b'!') || self.is(at, b'^');
        if negated {
            at += 1;
        }
        let (mut members, mut hopeless, first) = (Vec::new(), false, at);
        // Where members begin, and how many are before them.
        let mut starts = Vec::new();
        let unclosed = loop {
            if at > first {
                if self.is(at, b']') {
                    break None;
                }
                if let Some(known) = self.unclosed.get(at).copied().flatten() {
                    break Some(known);
                }
                starts.push((at, members.len()));
            }
            let Some((member, next)) = self.parse_member(at) else {
                break Some(Unclosed::Plain);
            };
            at = next;
            match member {
                Ok(member) => members.push(member),
                Err(()) => hopeless = true,
            }
            if at > self.units.len() {
                break Some(Unclosed::Cut { has_bracket: false });
            }
        };
        match unclosed {
            Some(unclosed) => self.give_up(unclosed, &members, &starts),
            None if hopeless => Bracket::Hopeless,
            None => Bracket::Set(Set { negated, members }, at + 1),
        }
    }

    /// Returns what becomes of an expression that nothing closes, and remembers
    /// it for each of its members. `unclosed` is how it ends after them.
    fn give_up(
        &mut self,
        mut unclosed: Unclosed,
        members: &[Member],
        starts: &[(usize, usize)],
    ) -> Bracket {
        self.unclosed.resize(self.units.len() + 1, None);
        let mut rest = members;
        for (at, count) in starts.iter().rev() {
            let (before, behind) = rest.split_at(*count);
            unclosed = self.after(behind, unclosed);
            if let Some(known) = self.unclosed.get_mut(*at) {
                *known = Some(unclosed);
            }
            rest = before;
        }
        match self.after(rest, unclosed) {
            Unclosed::Plain | Unclosed::Cut { has_bracket: true } => Bracket::Literal,
            Unclosed::Cut { has_bracket: false } => Bracket::Hopeless,
        }
    }

    /// Returns how an expression ends from `members` on, if it ends in
    /// `unclosed` after them.
    fn after(&self, members: &[Member], unclosed: Unclosed) -> Unclosed {
        let matches = |member: &Member| {
            let bracket = u32::from(b'[');
            member.matches(bracket, Some('['), self.case, self.fold)
        };
        match unclosed {
            Unclosed::Cut { has_bracket: false } => Unclosed::Cut {
                has_bracket: members.iter().any(matches),
            },
            known => known,
        }
    }

    /// Returns the index of the next `.]` at or after `from`.
    fn next_close(&mut self, from: usize) -> Option<usize> {
        if self.closes.is_empty() {
            let mut closes = vec![None; self.units.len()];
            let mut next = None;
            for (at, close) in closes.iter_mut().enumerate().rev() {
                if self.is(at, b'.') && self.is(at + 1, b']') {
                    next = Some(at);
                }
                *close = next;
            }
            self.closes = closes;
        }
        self.closes.get(from).copied().flatten()
    }

    /// Parses the member at `at`: an element or a range. Returns `None` if the
    /// pattern ends within it. If only the end of a range is missing, returns
    /// its beginning, and an end past the pattern's end.
    fn parse_member(&mut self, at: usize) -> Option<Parsed<Member>> {
        let (element, next) = self.parse_element(at)?;
        let Ok(element) = element else {
            return Some((Err(()), next));
        };
        let (low, alone) = match element {
            Element::Unit(unit) => (Bound::Plain(unit), Member::One(unit)),
            Element::Collating(unit) => (Bound::Exact(unit), Member::Exact(unit)),
            Element::Equivalent(unit) => return Some((Ok(Member::Exact(unit)), next)),
            Element::Class(name) => return Some((Member::class(&name).ok_or(()), next)),
        };
        if !self.is(next, b'-') || self.is(next + 1, b']') {
            return Some((Ok(alone), next));
        }
        if next + 1 == self.units.len() {
            return Some((Ok(alone), next + 2));
        }
        let (high, end) = self.parse_range_end(next + 1)?;
        Some((high.map(|high| Member::Range(low, high)), end))
    }

    /// Parses the element after a range's `-`. Of the bracketed elements only
    /// `[.x.]` can end a range: the `[` of any other is itself the end.
    fn parse_range_end(&mut self, at: usize) -> Option<Parsed<Bound>> {
        if self.is(at, b'[') && !self.is(at + 1, b'.') {
            return Some((Ok(Bound::Plain(u32::from(b'['))), at + 1));
        }
        let (element, end) = self.parse_element(at)?;
        let bound = match element {
            Ok(Element::Unit(unit)) => Ok(Bound::Plain(unit)),
            Ok(Element::Collating(unit)) => Ok(Bound::Exact(unit)),
            _ => Err(()),
        };
        Some((bound, end))
    }

    /// Parses the element at `at`, and returns it with its end. Returns `None`
    /// if the pattern ends within it, an inner error for an unknown element.
    fn parse_element(&mut self, at: usize) -> Option<Parsed<Element>> {
        let unit = *self.units.get(at)?;
        match (ascii(unit), self.units.get(at + 1).map(|u| ascii(*u))) {
            (b'\\', _) => Some((Ok(Element::Unit(*self.units.get(at + 1)?)), at + 2)),
            (b'[', Some(b':')) => Some(parse_class(self.units, at)),
            (b'[', Some(mark @ (b'.' | b'='))) => self.parse_collating(at, mark),
            _ => Some((Ok(Element::Unit(unit)), at + 1)),
        }
    }

    /// Parses `[.x.]` and `[=x=]` of one unit.
    fn parse_collating(&mut self, at: usize, mark: u8) -> Option<Parsed<Element>> {
        let unit = *self.units.get(at + 2)?;
        if self.is(at + 3, mark) && self.is(at + 4, b']') {
            let element = match mark {
                b'=' => Element::Equivalent(unit),
                _ => Element::Collating(unit),
            };
            return Some((Ok(element), at + 5));
        }
        if mark == b'=' {
            return Some((Ok(Element::Unit(u32::from(b'['))), at + 1));
        }
        match self.next_close(at + 2) {
            Some(end) => Some((Err(()), end + 2)),
            None => Some((Err(()), at + 2)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn literal(pattern: &str) -> Vec<Token> {
        pattern.bytes().map(|b| Token::One(u32::from(b))).collect()
    }

    fn parsed(pattern: &str) -> Option<Vec<Token>> {
        parse(pattern.as_bytes(), None, Case::Sensitive)
    }

    /// If each `[` were scanned to the end, this would take hours.
    #[test]
    fn many_unclosed_brackets_are_parsed_in_one_pass() {
        let many = 100_000;
        for part in ["[", "[[.", "[=", "[:", "[[:a", "[a-", "[!"] {
            let pattern = part.repeat(many) + "x";
            assert!(parsed(&pattern) == Some(literal(&pattern)), "{part}");
        }
        let pattern = "[".repeat(many) + "a-";
        assert!(parsed(&pattern).is_none());
        let pattern = "[".repeat(many) + "[-";
        assert!(parsed(&pattern) == Some(literal(&pattern)));

        let set_of = |units: &str| {
            let members = units.bytes().map(|b| Member::One(u32::from(b))).collect();
            let negated = false;
            Token::OneOf(Set { negated, members })
        };
        // The only `.]` is at the end.
        let pattern = "[[.".repeat(many) + "[[..]";
        let mut expected = literal(&"[[.".repeat(many));
        expected.extend([Token::One(u32::from(b'[')), set_of("..")]);
        assert!(parsed(&pattern) == Some(expected));
        // Each `]` belongs to an element of the expression before it.
        let pattern = "[[=x=]".repeat(many);
        let expected: Vec<Token> = (0..many)
            .flat_map(|_| [Token::One(u32::from(b'[')), set_of("=x=")])
            .collect();
        assert!(parsed(&pattern) == Some(expected));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn what_is_remembered_changes_nothing(
            pattern in "[\\[\\].=:\\-!\\\\a]{0,14}",
            folded: bool,
        ) {
            let case = if folded { Case::Folded } else { Case::Sensitive };
            let units: Vec<u32> = pattern.bytes().map(u32::from).collect();
            let mut parser = Parser::new(&units, case, Bytes::fold);
            for at in 0..=units.len() {
                let fresh = Parser::new(&units, case, Bytes::fold).parse_set(at);
                prop_assert_eq!(parser.parse_set(at), fresh, "{} at {}", pattern, at);
            }
        }
    }
}
