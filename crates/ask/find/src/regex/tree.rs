//! The syntax tree of a regular expression.

/// A unit of a pattern: a character, or a byte that is not part of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Char(char),
    Byte(u8),
}

impl Unit {
    /// Returns the unit if it is ASCII, else a NUL, which no pattern holds.
    pub(super) fn ascii(self) -> u8 {
        match self {
            Unit::Char(c) if c.is_ascii() => c as u8,
            _ => 0,
        }
    }
}

/// A part of an expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Empty,
    Literal(Unit),
    /// `.` that does not match a newline; `Any` is one that does.
    AnyButNewline,
    Any,
    Set(Set),
    Anchor(Anchor),
    Word(Word),
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
    Group(Box<Node>),
    /// The text of an earlier group. No automaton can match it.
    Reference,
    Repeat {
        inner: Box<Node>,
        least: u32,
        most: Option<u32>,
    },
}

impl Node {
    /// Returns true if the expression has a back-reference.
    pub(super) fn has_reference(&self) -> bool {
        match self {
            Node::Reference => true,
            Node::Concat(parts) | Node::Alternate(parts) => parts.iter().any(Node::has_reference),
            Node::Group(inner) | Node::Repeat { inner, .. } => inner.has_reference(),
            _ => false,
        }
    }

    /// Turns anchors of lines into anchors of the whole text.
    pub(super) fn anchor_to_text(&mut self) {
        match self {
            Node::Anchor(anchor) => match anchor {
                Anchor::LineStart => *anchor = Anchor::TextStart,
                Anchor::LineEnd => *anchor = Anchor::TextEnd,
                _ => {}
            },
            Node::Concat(parts) | Node::Alternate(parts) => {
                parts.iter_mut().for_each(Node::anchor_to_text);
            }
            Node::Group(inner) | Node::Repeat { inner, .. } => inner.anchor_to_text(),
            _ => {}
        }
    }

    /// Number of parts when repetitions are expanded.
    pub(super) fn parts(&self) -> u64 {
        match self {
            Node::Concat(parts) | Node::Alternate(parts) => {
                let all = parts.iter().map(Node::parts);
                all.fold(1, u64::saturating_add)
            }
            Node::Group(inner) => inner.parts().saturating_add(1),
            Node::Repeat { inner, least, most } => {
                let times = most.unwrap_or(0).max(*least).max(1);
                inner.parts().saturating_mul(u64::from(times))
            }
            _ => 1,
        }
    }
}

/// Anchors: positions in a text, which match no characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    WordStart,
    WordEnd,
    WordBoundary,
    NotWordBoundary,
}

/// Character classes that a backslash and a letter stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Letter,
    NotLetter,
    Space,
    NotSpace,
}

/// A bracket expression.
#[derive(Clone, Debug, Default)]
pub(super) struct Set {
    pub(super) negated: bool,
    /// `[^x]` that does not match a newline either.
    pub(super) without_newline: bool,
    pub(super) ranges: Vec<(Unit, Unit)>,
    /// Names of POSIX classes.
    pub(super) classes: Vec<&'static str>,
}
