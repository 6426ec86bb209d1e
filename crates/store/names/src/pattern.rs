//! Search patterns.
//!
//! A [`Pattern`] has two halves. Its [`Needles`] are bytes that every match
//! contains; they rule out rows that cannot match, and may let any other row
//! through. The decision is made by a search for one [`Literal`] or by the
//! caller's [`Matcher`]. So a missing needle only costs time, but a needle that
//! some match does not contain loses that match: when in doubt, leave a needle
//! out.

use memchr::memmem::Finder;

use crate::trail::Trail;

/// The text that a pattern is matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The last component of the path.
    Name,
    /// The whole path: `dir + "/" + name`.
    Path,
}

/// Whether case matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// Letters match only themselves.
    Sensitive,
    /// Letters match in either case. A needle with this mark also stands for
    /// all characters that Unicode's simple case folding or the C library's
    /// tables treat as equal to it.
    Folded,
}

/// Where in the subject a literal must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// Anywhere.
    Anywhere,
    /// At the start.
    Start,
    /// At the end.
    End,
    /// The literal is the whole subject.
    Whole,
}

/// A run of bytes that a subject contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The bytes. In a path, a `/` separates two components.
    pub bytes: Vec<u8>,
    /// Where the bytes must be.
    pub anchor: Anchor,
}

impl Literal {
    /// Returns a literal that may be anywhere.
    pub fn anywhere(bytes: impl Into<Vec<u8>>) -> Literal {
        Literal {
            bytes: bytes.into(),
            anchor: Anchor::Anywhere,
        }
    }
}

/// Bytes that every match contains: at least one literal from each list of
/// alternatives. Without any list, everything can match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needles {
    /// The text that contains them.
    pub subject: Subject,
    /// Whether case matters.
    pub case: Case,
    /// Lists of alternatives; each list must be met. Nothing meets an empty
    /// list.
    pub all: Vec<Vec<Literal>>,
}

impl Needles {
    /// Returns needles that every subject meets.
    pub fn none(subject: Subject, case: Case) -> Needles {
        Needles {
            subject,
            case,
            all: Vec::new(),
        }
    }

    /// Returns needles that consist of one literal.
    pub fn literal(literal: Literal, subject: Subject, case: Case) -> Needles {
        Needles {
            subject,
            case,
            all: vec![vec![literal]],
        }
    }
}

/// Decides whether a subject matches.
pub trait Matcher: Sync {
    /// True if the subject matches.
    fn is_match(&self, subject: &[u8]) -> bool;

    /// Evaluates the prefix that consists of a directory's path and a slash.
    /// The trail carries state from one directory to the next.
    fn begin(&self, _directory: &[u8], _trail: &mut Trail) -> Beginning {
        Beginning::Unknown
    }

    /// Returns whether a subject matches, continuing after the prefix from a
    /// state that [`Matcher::begin`] returned; `None` if the whole subject must
    /// be tested.
    fn goes_on(&self, _place: u8, _name: &[u8]) -> Option<bool> {
        None
    }
}

/// The result of matching a common prefix of subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// All subjects with this prefix match (true), or none does (false).
    Decided(bool),
    /// It depends on the rest; the state continues from here.
    Open(u8),
    /// Unknown: each subject must be tested as a whole.
    Unknown,
}

impl<F: Fn(&[u8]) -> bool + Sync> Matcher for F {
    fn is_match(&self, subject: &[u8]) -> bool {
        self(subject)
    }
}

/// The part of a pattern that decides whether a subject matches.
pub(crate) enum Decider<'p> {
    Everything,
    Literal {
        literal: Literal,
        finder: Box<Finder<'static>>,
    },
    Matcher(&'p dyn Matcher),
}

/// A search pattern; see the module documentation.
pub struct Pattern<'p> {
    pub(crate) needles: Needles,
    pub(crate) decider: Decider<'p>,
}

impl<'p> Pattern<'p> {
    /// Returns a pattern that matches every row.
    pub fn everything() -> Pattern<'p> {
        Pattern {
            needles: Needles::none(Subject::Name, Case::Sensitive),
            decider: Decider::Everything,
        }
    }

    /// Returns a pattern that matches rows whose subject contains these bytes.
    /// With [`Case::Folded`], only ASCII letters are compared without case; use
    /// a matcher for others.
    pub fn literal(literal: Literal, subject: Subject, case: Case) -> Pattern<'p> {
        let mut literal = literal;
        if case == Case::Folded {
            literal.bytes.make_ascii_lowercase();
        }
        let finder = Box::new(Finder::new(&literal.bytes).into_owned());
        Pattern {
            needles: Needles::literal(literal.clone(), subject, case),
            decider: Decider::Literal { literal, finder },
        }
    }

    /// Returns a pattern that matches the rows that `matcher` accepts. Every
    /// subject that it accepts must meet the needles.
    pub fn matcher(needles: Needles, matcher: &'p dyn Matcher) -> Pattern<'p> {
        Pattern {
            needles,
            decider: Decider::Matcher(matcher),
        }
    }

    /// Bytes that every match contains.
    pub fn needles(&self) -> &Needles {
        &self.needles
    }

    /// True if the whole subject matches.
    pub(crate) fn is_match(&self, subject: &[u8], scratch: &mut Vec<u8>) -> bool {
        match &self.decider {
            Decider::Everything => true,
            Decider::Matcher(matcher) => matcher.is_match(subject),
            Decider::Literal { literal, finder } => {
                let subject = match self.needles.case {
                    Case::Sensitive => subject,
                    Case::Folded => {
                        scratch.clear();
                        scratch.extend_from_slice(subject);
                        scratch.make_ascii_lowercase();
                        scratch
                    }
                };
                match literal.anchor {
                    Anchor::Anywhere => finder.find(subject).is_some(),
                    Anchor::Start => subject.starts_with(&literal.bytes),
                    Anchor::End => subject.ends_with(&literal.bytes),
                    Anchor::Whole => subject == literal.bytes,
                }
            }
        }
    }
}
