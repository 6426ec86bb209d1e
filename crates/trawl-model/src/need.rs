//! What a path must hold to match, as far as that is known: runs of bytes,
//! and how they go together.
//!
//! As with a [`filter`](crate::filter), a [`Need`] never decides what
//! matches. It is what an index of names is asked for, so that only few rows
//! are put to the question itself.

/// Which part of an entry's path holds a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Within {
    /// The entry's name.
    Name,
    /// Its whole path.
    Path,
}

/// In which letters a literal is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Letters {
    /// In just these.
    Exact,
    /// In capitals or small ones, or in whatever characters beyond ASCII a
    /// locale takes for the same. The literal itself is ASCII.
    Folded,
}

/// Where a literal lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// Somewhere.
    Anywhere,
    /// At the beginning.
    Start,
    /// At the end.
    End,
    /// It is all there is.
    Whole,
}

impl At {
    /// At the beginning or not, at the end or not.
    pub const fn of(starts: bool, ends: bool) -> At {
        match (starts, ends) {
            (true, true) => At::Whole,
            (true, false) => At::Start,
            (false, true) => At::End,
            (false, false) => At::Anywhere,
        }
    }

    /// True if the beginning is where it begins.
    pub const fn starts(self) -> bool {
        matches!(self, At::Start | At::Whole)
    }

    /// True if the end is where it ends.
    pub const fn ends(self) -> bool {
        matches!(self, At::End | At::Whole)
    }
}

/// A run of bytes that a matching path holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Literal {
    /// Not empty, but for [`At::Whole`].
    pub bytes: Vec<u8>,
    /// In what.
    pub within: Within,
    /// Where in it.
    pub at: At,
    /// In which letters.
    pub letters: Letters,
}

/// What every match has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Need {
    /// Nothing is known.
    #[default]
    Nothing,
    /// This literal.
    Has(Literal),
    /// All of these.
    All(Vec<Need>),
    /// One of these; without any there is no match.
    Either(Vec<Need>),
}

impl Need {
    /// Nothing matches.
    pub const IMPOSSIBLE: Need = Need::Either(Vec::new());

    /// True if nothing is known.
    pub fn is_nothing(&self) -> bool {
        *self == Need::Nothing
    }

    /// What has both.
    #[must_use]
    pub fn and(self, other: Need) -> Need {
        match (self, other) {
            (Need::Nothing, need) | (need, Need::Nothing) => need,
            (Need::All(mut parts), Need::All(more)) => {
                parts.extend(more);
                Need::All(parts)
            }
            (Need::All(mut parts), need) | (need, Need::All(mut parts)) => {
                parts.push(need);
                Need::All(parts)
            }
            (one, two) if one == two => one,
            (one, two) => Need::All(vec![one, two]),
        }
    }

    /// What has one of both.
    #[must_use]
    pub fn or(self, other: Need) -> Need {
        match (self, other) {
            (Need::Nothing, _) | (_, Need::Nothing) => Need::Nothing,
            (Need::Either(mut parts), Need::Either(more)) => {
                parts.extend(more);
                Need::Either(parts)
            }
            (Need::Either(mut parts), need) | (need, Need::Either(mut parts)) => {
                parts.push(need);
                match parts.len() {
                    1 => parts.swap_remove(0),
                    _ => Need::Either(parts),
                }
            }
            (one, two) if one == two => one,
            (one, two) => Need::Either(vec![one, two]),
        }
    }

    /// The need for all of these literals.
    pub fn all(literals: impl IntoIterator<Item = Literal>) -> Need {
        let needs = literals.into_iter().map(Need::Has);
        needs.fold(Need::Nothing, Need::and)
    }

    /// The same with each literal replaced by what `change` makes of it.
    #[must_use]
    pub fn map(&self, change: &dyn Fn(&Literal) -> Need) -> Need {
        match self {
            Need::Nothing => Need::Nothing,
            Need::Has(literal) => change(literal),
            Need::All(parts) => {
                let parts = parts.iter().map(|part| part.map(change));
                parts.fold(Need::Nothing, Need::and)
            }
            Need::Either(parts) => {
                let parts = parts.iter().map(|part| part.map(change));
                parts.fold(Need::IMPOSSIBLE, Need::or)
            }
        }
    }

    /// Whether it is fulfilled, where `holds` says it of a literal.
    pub fn holds(&self, holds: &mut dyn FnMut(&Literal) -> bool) -> bool {
        match self {
            Need::Nothing => true,
            Need::Has(literal) => holds(literal),
            Need::All(parts) => parts.iter().all(|part| part.holds(holds)),
            Need::Either(parts) => parts.iter().any(|part| part.holds(holds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn literal(byte: u8) -> Literal {
        Literal {
            bytes: vec![byte],
            within: Within::Path,
            at: At::Anywhere,
            letters: Letters::Exact,
        }
    }

    fn any_need() -> impl Strategy<Value = Need> {
        let leaf = prop_oneof![
            Just(Need::Nothing),
            (0u8..4).prop_map(|byte| Need::Has(literal(byte))),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let parts = proptest::collection::vec(inner, 0..3);
            prop_oneof![
                parts.clone().prop_map(Need::All),
                parts.prop_map(Need::Either),
            ]
        })
    }

    fn holds(need: &Need, text: &[u8]) -> bool {
        need.holds(&mut |literal| text.contains(&literal.bytes[0]))
    }

    proptest! {
        #[test]
        fn joined_needs_mean_what_they_say(
            a in any_need(),
            b in any_need(),
            text in proptest::collection::vec(0u8..4, 0..4),
        ) {
            let (in_a, in_b) = (holds(&a, &text), holds(&b, &text));
            prop_assert_eq!(holds(&a.clone().and(b.clone()), &text), in_a && in_b);
            prop_assert_eq!(holds(&a.clone().or(b), &text), in_a || in_b);
            let same = a.map(&|literal| Need::Has(literal.clone()));
            prop_assert_eq!(holds(&same, &text), in_a);
        }
    }
}
