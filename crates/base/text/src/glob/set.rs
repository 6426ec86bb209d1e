//! Sets of characters, the meaning of bracket expressions.

use super::Case;

/// A bracket expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) negated: bool,
    pub(super) members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Member {
    /// This unit; in either case if case is ignored.
    One(u32),
    /// This unit only, even if case is ignored: `[.x.]`, `[=x=]`.
    Exact(u32),
    /// Units from the first to the second; none if they are reversed.
    Range(Bound, Bound),
    Class(Class),
}

/// An end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Folded to lower case if case is ignored.
    Plain(u32),
    /// Never folded: `[.x.]`.
    Exact(u32),
}

impl Bound {
    fn unit(self, folded: impl Fn(u32) -> u32) -> u32 {
        match self {
            Bound::Plain(unit) => folded(unit),
            Bound::Exact(unit) => unit,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Alnum,
    Alpha,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Xdigit,
}

impl Member {
    pub(super) fn class(name: &str) -> Option<Member> {
        Some(Member::Class(match name {
            "alnum" => Class::Alnum,
            "alpha" => Class::Alpha,
            "blank" => Class::Blank,
            "cntrl" => Class::Cntrl,
            "digit" => Class::Digit,
            "graph" => Class::Graph,
            "lower" => Class::Lower,
            "print" => Class::Print,
            "punct" => Class::Punct,
            "space" => Class::Space,
            "upper" => Class::Upper,
            "xdigit" => Class::Xdigit,
            _ => return None,
        }))
    }

    /// Returns whether the member matches `unit`. `c` is its character, if it
    /// is one.
    pub(super) fn matches(&self, unit: u32, c: Option<char>, case: Case, fold: Fold) -> bool {
        let folded = |unit: u32| match case {
            Case::Sensitive => unit,
            Case::Folded => fold(unit),
        };
        let wanted = folded(unit);
        match self {
            Member::One(one) => folded(*one) == wanted,
            Member::Exact(exact) => *exact == unit,
            Member::Range(low, high) => (low.unit(folded)..=high.unit(folded)).contains(&wanted),
            Member::Class(class) => class.contains(c),
        }
    }
}

impl Class {
    /// Returns whether the class contains `c`: as isalpha(3) and related
    /// functions for ASCII, as iswalpha(3) and related functions beyond. `c` is
    /// `None` for a byte that is not a character.
    pub(super) fn contains(self, c: Option<char>) -> bool {
        let Some(c) = c else { return false };
        let printable = !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
        match self {
            Class::Alnum => c.is_alphanumeric(),
            Class::Alpha => c.is_alphabetic() || (c.is_numeric() && !c.is_ascii()),
            Class::Blank => c == '\t' || (is_space(c) && !c.is_control()),
            Class::Cntrl => !printable,
            Class::Digit => c.is_ascii_digit(),
            Class::Graph => printable && !is_space(c),
            Class::Lower => c.is_lowercase(),
            Class::Print => printable,
            Class::Punct => printable && !is_space(c) && !c.is_alphanumeric(),
            Class::Space => is_space(c),
            Class::Upper => c.is_uppercase(),
            Class::Xdigit => c.is_ascii_hexdigit(),
        }
    }
}

/// Returns whether `c` is white space for the C library, which excludes
/// non-breaking spaces.
fn is_space(c: char) -> bool {
    (c.is_whitespace() || c == '\u{b}')
        && !matches!(c, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}')
}

impl Set {
    /// Returns whether `unit` is in the set. `c` is its character, if it is
    /// one.
    pub(super) fn contains(&self, unit: u32, c: Option<char>, case: Case, fold: Fold) -> bool {
        let mut members = self.members.iter();
        let found = members.any(|member| member.matches(unit, c, case, fold));
        found != self.negated
    }
}

/// Folds a unit to lower case.
pub(super) type Fold = fn(u32) -> u32;
