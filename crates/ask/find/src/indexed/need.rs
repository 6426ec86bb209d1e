//! Converts a need of paths as printed into a need of paths as stored.
//!
//! Below a start point, both paths have the same end after different
//! beginnings. A literal may lie in that end, in the printed beginning, or
//! across both.

use trawl_model::need::{At, Letters, Literal, Need, Within};

/// The beginnings of the paths of everything below a directory, each with a
/// slash at its end.
pub(super) struct Beginnings {
    spelled: Vec<u8>,
    stored: Vec<u8>,
}

impl Beginnings {
    /// Creates the beginnings for a directory, given by its path as printed and
    /// as stored.
    pub(super) fn new(mut spelled: Vec<u8>, stored: &[u8]) -> Beginnings {
        if !spelled.ends_with(b"/") {
            spelled.push(b'/');
        }
        Beginnings {
            spelled,
            stored: [stored, b"/"].concat(),
        }
    }

    /// Returns the need of printed paths as a need of stored paths.
    pub(super) fn stored(&self, need: &Need) -> Need {
        need.map(&|literal| match literal.within {
            Within::Name => Need::Has(literal.clone()),
            Within::Path => self.path(literal),
        })
    }

    fn path(&self, literal: &Literal) -> Need {
        let spelled = match literal.letters {
            Letters::Exact => self.spelled.clone(),
            // Case folding is only known for ASCII.
            Letters::Folded if !self.spelled.is_ascii() => return Need::Nothing,
            Letters::Folded => self.spelled.to_ascii_lowercase(),
        };
        let bytes = literal.bytes.as_slice();
        if literal.at.starts() {
            return match bytes.strip_prefix(spelled.as_slice()) {
                Some(rest) => self.at_start(literal, rest),
                None if spelled.starts_with(bytes) && literal.at == At::Start => Need::Nothing,
                None => Need::IMPOSSIBLE,
            };
        }
        let is_there = |window: &[u8]| window == bytes;
        if literal.at == At::Anywhere && spelled.windows(bytes.len()).any(is_there) {
            return Need::Nothing;
        }
        let across = (1..bytes.len()).filter(|cut| spelled.ends_with(&bytes[..*cut]));
        let across = across.map(|cut| {
            let rest = [b"/", &bytes[cut..]].concat();
            held(literal, rest, literal.at)
        });
        across.fold(Need::Has(literal.clone()), Need::or)
    }

    /// The need of a literal whose part after the printed beginning is `rest`.
    fn at_start(&self, literal: &Literal, rest: &[u8]) -> Need {
        if rest.is_empty() && literal.at == At::Start {
            return Need::Nothing;
        }
        match literal.letters {
            Letters::Exact => held(literal, [&self.stored, rest].concat(), literal.at),
            Letters::Folded => {
                let at = At::of(false, literal.at.ends());
                held(literal, [b"/", rest].concat(), at)
            }
        }
    }
}

/// Returns the literal with other bytes at another position.
fn held(literal: &Literal, bytes: Vec<u8>, at: At) -> Need {
    Need::Has(Literal {
        bytes,
        at,
        ..literal.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(literal: &Literal, path: &[u8]) -> bool {
        let folded = path.to_ascii_lowercase();
        let path = match literal.letters {
            Letters::Exact => path,
            Letters::Folded => &folded,
        };
        let bytes = literal.bytes.as_slice();
        match literal.at {
            At::Anywhere => path.windows(bytes.len()).any(|window| window == bytes),
            At::Start => path.starts_with(bytes),
            At::End => path.ends_with(bytes),
            At::Whole => path == bytes,
        }
    }

    proptest! {
        #[test]
        fn what_is_spelled_with_a_literal_is_stored_with_what_it_becomes(
            cut in (0usize..40, 1usize..9),
            at in proptest::sample::select(vec![At::Anywhere, At::Start, At::End, At::Whole]),
            letters in proptest::sample::select(vec![Letters::Exact, Letters::Folded]),
            spelled in proptest::sample::select(vec![".", "a", "A/b/", "/", "ab", "a/a//"]),
            stored in proptest::sample::select(vec!["/w/a", "", "/ab/ab"]),
            rest in proptest::collection::vec(proptest::sample::select(b"abA/.".to_vec()), 1..9),
        ) {
            let beginnings = Beginnings::new(spelled.into(), stored.as_bytes());
            let path = [&beginnings.spelled[..], &rest].concat();
            let text = match letters {
                Letters::Exact => path.clone(),
                Letters::Folded => path.to_ascii_lowercase(),
            };
            let start = cut.0 % text.len();
            let bytes = match at {
                At::Anywhere => text[start..text.len().min(start + cut.1)].to_vec(),
                At::Start => text[..=start].to_vec(),
                At::End => text[start..].to_vec(),
                At::Whole => text.clone(),
            };
            let literal = Literal { bytes, within: Within::Path, at, letters };
            prop_assert!(holds(&literal, &path));
            let stored = [&beginnings.stored[..], &rest].concat();
            let need = beginnings.stored(&Need::Has(literal));
            prop_assert!(need.holds(&mut |literal| holds(literal, &stored)), "{need:?}");
        }
    }

    #[test]
    fn a_literal_below_the_start_stays_and_one_above_goes() {
        let beginnings = Beginnings::new(b"./x".to_vec(), b"/w/x");
        let path = |text: &str, at| {
            beginnings.stored(&Need::Has(Literal {
                bytes: text.into(),
                within: Within::Path,
                at,
                letters: Letters::Exact,
            }))
        };
        let has = |text: &str, at| {
            Need::Has(Literal {
                bytes: text.into(),
                within: Within::Path,
                at,
                letters: Letters::Exact,
            })
        };
        assert_eq!(path("abc", At::Anywhere), has("abc", At::Anywhere));
        assert_eq!(path("./x", At::Start), Need::Nothing);
        assert_eq!(path("./x/ab", At::Start), has("/w/x/ab", At::Start));
        assert_eq!(path("./y", At::Start), Need::IMPOSSIBLE);
        let either = has("x/ab", At::Anywhere).or(has("/ab", At::Anywhere));
        assert_eq!(path("x/ab", At::Anywhere), either);
    }
}
