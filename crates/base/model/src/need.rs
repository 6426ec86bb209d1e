//! Literals that a path must contain to match, joined by and and or.
//!
//! A [`Need`] never decides whether a path matches, as with a
//! [`filter`](crate::filter). It is a necessary condition for searching an
//! index of names, so that only few rows have to be tested by the query itself.
//! A need may say too little, never too much.

/// The part of an entry's path that contains a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Within {
    /// The entry's name.
    Name,
    /// The whole path.
    Path,
}

/// How the letters of a literal are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Letters {
    /// Exactly: bytes must be equal.
    Exact,
    /// Regardless of case, which includes characters beyond ASCII that a locale
    /// treats as the same letter. The literal itself is ASCII.
    Folded,
}

/// Position of a literal within the name or path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// At any position.
    Anywhere,
    /// At the beginning.
    Start,
    /// At the end.
    End,
    /// The literal is the whole name or path.
    Whole,
}

impl At {
    /// Returns the position, given whether it includes the beginning and the
    /// end.
    pub const fn of(starts: bool, ends: bool) -> At {
        match (starts, ends) {
            (true, true) => At::Whole,
            (true, false) => At::Start,
            (false, true) => At::End,
            (false, false) => At::Anywhere,
        }
    }

    /// Returns true if the literal is at the beginning.
    pub const fn starts(self) -> bool {
        matches!(self, At::Start | At::Whole)
    }

    /// Returns true if the literal is at the end.
    pub const fn ends(self) -> bool {
        matches!(self, At::End | At::Whole)
    }
}

/// A byte string that a matching name or path contains.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Literal {
    /// The bytes; not empty, except with [`At::Whole`].
    pub bytes: Vec<u8>,
    /// The part of the path that contains them.
    pub within: Within,
    /// Their position in this part.
    pub at: At,
    /// How letters are compared.
    pub letters: Letters,
}

/// A necessary condition on the paths of all matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Need {
    /// No condition is known.
    #[default]
    Nothing,
    /// The path contains this literal.
    Has(Literal),
    /// All of these conditions hold.
    All(Vec<Need>),
    /// At least one of these conditions holds; an empty list matches nothing.
    Either(Vec<Need>),
}

impl Need {
    /// The condition that no path fulfils.
    pub const IMPOSSIBLE: Need = Need::Either(Vec::new());

    /// Returns true if no condition is known.
    pub fn is_nothing(&self) -> bool {
        *self == Need::Nothing
    }

    /// Returns the conjunction of both conditions.
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

    /// Returns the disjunction of both conditions.
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

    /// Returns the condition that all these literals occur.
    pub fn all(literals: impl IntoIterator<Item = Literal>) -> Need {
        let needs = literals.into_iter().map(Need::Has);
        needs.fold(Need::Nothing, Need::and)
    }

    /// Returns a copy in which `change` has replaced each literal.
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

    /// Evaluates the condition; `holds` evaluates a single literal.
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
