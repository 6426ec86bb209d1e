//! What is looked for.
//!
//! A [`Pattern`] has two halves. Its [`Needles`] are bytes that every match
//! contains; they leave out rows that cannot match, and may leave in any
//! other. What decides is a search for one [`Literal`] or a [`Matcher`] of
//! the caller's. So a needle that is forgotten costs time, and a needle that
//! a match does not contain loses it: when in doubt there is none.

use memchr::memmem::Finder;

use crate::trail::Trail;
use crate::{glob, regex};

/// What a pattern is put to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The last component alone.
    Name,
    /// The whole path: `dir + "/" + name`.
    Path,
}

/// Whether letters match in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// Only themselves.
    Sensitive,
    /// In either case. A needle so marked may stand for whatever Unicode's
    /// simple case folding or the C library's tables make equal to it.
    Folded,
}

/// Where in the subject a literal must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// Anywhere.
    Anywhere,
    /// At its start.
    Start,
    /// At its end.
    End,
    /// It is all of it.
    Whole,
}

/// Bytes that a subject contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The bytes. In a path, a `/` is the border of two components.
    pub bytes: Vec<u8>,
    /// Where they must be.
    pub anchor: Anchor,
}

impl Literal {
    /// These bytes, anywhere.
    pub fn anywhere(bytes: impl Into<Vec<u8>>) -> Literal {
        Literal {
            bytes: bytes.into(),
            anchor: Anchor::Anywhere,
        }
    }
}

/// What every match contains: of each list of alternatives at least one.
/// Without any, everything can match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needles {
    /// What they are contained in.
    pub subject: Subject,
    /// How letters compare.
    pub case: Case,
    /// Lists of alternatives, all of which must be met. An empty list is met
    /// by nothing.
    pub all: Vec<Vec<Literal>>,
}

impl Needles {
    /// Nothing is known of what matches.
    pub fn none(subject: Subject, case: Case) -> Needles {
        Needles {
            subject,
            case,
            all: Vec::new(),
        }
    }

    /// One literal.
    pub fn literal(literal: Literal, subject: Subject, case: Case) -> Needles {
        Needles {
            subject,
            case,
            all: vec![vec![literal]],
        }
    }

    /// What all subjects contain that a shell pattern matches as a whole, as
    /// fnmatch(3) does without flags (`*` and `?` match slashes, too).
    pub fn of_glob(pattern: &[u8], subject: Subject, case: Case) -> Needles {
        glob::needles(pattern, subject, case)
    }

    /// What all subjects contain in which a regular expression is found, in
    /// the syntax of the `regex` crates, without Unicode mode's demand that
    /// text be UTF-8. An expression that cannot be read has no needles.
    pub fn of_regex(pattern: &str, subject: Subject, case: Case) -> Needles {
        regex::needles(pattern, subject, case)
    }
}

/// Decides whether a subject matches.
pub trait Matcher: Sync {
    /// True if it does.
    fn is_match(&self, subject: &[u8]) -> bool;

    /// What holds for all subjects that begin with a directory's path and a
    /// slash. The trail is kept for the next one.
    fn begin(&self, _directory: &[u8], _trail: &mut Trail) -> Beginning {
        Beginning::Unknown
    }

    /// Whether a subject matches that goes on with a name from a place that
    /// [`Matcher::begin`] gave; `None` if it has to be asked whole.
    fn goes_on(&self, _place: u8, _name: &[u8]) -> Option<bool> {
        None
    }
}

/// What a matcher knows of the subjects that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// All match, or none does.
    Decided(bool),
    /// It depends on what follows, and goes on from here.
    Open(u8),
    /// Nothing: each has to be asked whole.
    Unknown,
}

impl<F: Fn(&[u8]) -> bool + Sync> Matcher for F {
    fn is_match(&self, subject: &[u8]) -> bool {
        self(subject)
    }
}

/// What decides.
pub(crate) enum Decider<'p> {
    Everything,
    Literal {
        literal: Literal,
        finder: Box<Finder<'static>>,
    },
    Matcher(&'p dyn Matcher),
}

/// What is looked for: see the module's text.
pub struct Pattern<'p> {
    pub(crate) needles: Needles,
    pub(crate) decider: Decider<'p>,
}

impl<'p> Pattern<'p> {
    /// Every row.
    pub fn everything() -> Pattern<'p> {
        Pattern {
            needles: Needles::none(Subject::Name, Case::Sensitive),
            decider: Decider::Everything,
        }
    }

    /// Rows whose subject contains these bytes. With [`Case::Folded`],
    /// ASCII's letters alone are equal in either case; for others use a
    /// matcher.
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

    /// Rows of whose subject a matcher says so. The needles must be met by
    /// whatever it matches.
    pub fn matcher(needles: Needles, matcher: &'p dyn Matcher) -> Pattern<'p> {
        Pattern {
            needles,
            decider: Decider::Matcher(matcher),
        }
    }

    /// What every match contains.
    pub fn needles(&self) -> &Needles {
        &self.needles
    }

    /// Whether a whole subject matches.
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
