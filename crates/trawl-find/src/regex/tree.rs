//! A regular expression as a tree.

/// What a pattern is made of: a character's code, or a byte that is part of
/// no character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Char(char),
    Byte(u8),
}

impl Unit {
    /// The unit if it is ASCII, else a NUL (which no pattern holds).
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
    /// `.`; the flag is in the variant's name.
    AnyButNewline,
    Any,
    Set(Set),
    Anchor(Anchor),
    Word(Word),
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
    Group(Box<Node>),
    /// What a group before matched. No automaton can tell.
    Reference,
    Repeat {
        inner: Box<Node>,
        least: u32,
        most: Option<u32>,
    },
}

impl Node {
    /// True if a back-reference is somewhere in it.
    pub(super) fn has_reference(&self) -> bool {
        match self {
            Node::Reference => true,
            Node::Concat(parts) | Node::Alternate(parts) => parts.iter().any(Node::has_reference),
            Node::Group(inner) | Node::Repeat { inner, .. } => inner.has_reference(),
            _ => false,
        }
    }

    /// Anchors of lines become anchors of the whole text.
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

    /// How many parts it has when repetitions are written out.
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

/// Places that match nothing but themselves.
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

/// Classes that a letter behind a backslash stands for.
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
    /// `[^x]` that leaves out newlines, too.
    pub(super) without_newline: bool,
    pub(super) ranges: Vec<(Unit, Unit)>,
    /// Names of POSIX classes.
    pub(super) classes: Vec<&'static str>,
}
