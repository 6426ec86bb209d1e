//! Finds literals that every name has that a pattern matches: runs of plain
//! characters.

use trawl_model::need::{At, Letters, Literal, Need, Within};

use super::parse::Token;
use super::{Case, General, Glob, Program};

impl Glob {
    /// Returns a condition that a name, or a whole path, must fulfil to match.
    pub fn need(&self, within: Within) -> Need {
        let exact = |bytes: &[u8], at| {
            let literal = Literal {
                bytes: bytes.to_vec(),
                within,
                at,
                letters: Letters::Exact,
            };
            match bytes.is_empty() && at != At::Whole {
                true => Need::Nothing,
                false => Need::Has(literal),
            }
        };
        match &self.program {
            Program::Nothing => Need::IMPOSSIBLE,
            Program::Everything => Need::Nothing,
            Program::Literal(bytes) => exact(bytes, At::Whole),
            Program::Prefix(bytes) => exact(bytes, At::Start),
            Program::Suffix(bytes) => exact(bytes, At::End),
            Program::Substring(finder) => exact(finder.needle(), At::Anywhere),
            Program::General(general) => general.need(within),
        }
    }
}

impl Glob {
    /// Returns the literal that a name, or a whole path, must hold, if every
    /// name that holds it matches.
    pub fn literal_search(&self, within: Within) -> Option<Literal> {
        match (&self.program, self.need(within)) {
            (Program::General(_) | Program::Nothing, _) => None,
            (_, Need::Has(literal)) => Some(literal),
            _ => None,
        }
    }
}

impl General {
    fn need(&self, within: Within) -> Need {
        let by_bytes = self.by_bytes.as_deref();
        let by_bytes = by_bytes.map(|tokens| need(tokens, as_byte, self.case, within));
        let by_chars = self.by_chars.as_deref();
        let by_chars = by_chars.map(|tokens| need(tokens, as_character, self.case, within));
        match (by_bytes, by_chars) {
            (Some(one), Some(two)) => one.or(two),
            (Some(need), None) | (None, Some(need)) => need,
            (None, None) => Need::IMPOSSIBLE,
        }
    }
}

/// Appends the bytes of a unit; returns false if the unit does not stand for
/// one run of bytes.
type Spell = fn(u32, &mut Vec<u8>) -> bool;

fn as_byte(unit: u32, out: &mut Vec<u8>) -> bool {
    u8::try_from(unit).map(|byte| out.push(byte)).is_ok()
}

fn as_character(unit: u32, out: &mut Vec<u8>) -> bool {
    let Some(c) = char::from_u32(unit) else {
        return false;
    };
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    true
}

fn need(tokens: &[Token], spell: Spell, case: Case, within: Within) -> Need {
    let (mut literals, mut run, mut start) = (Vec::new(), Vec::new(), 0);
    for at in 0..=tokens.len() {
        let is_plain = match tokens.get(at) {
            // If case is ignored, other characters beyond ASCII may match as
            // well.
            Some(Token::One(unit)) if case == Case::Folded && *unit > 0x7f => false,
            Some(Token::One(unit)) => spell(*unit, &mut run),
            _ => false,
        };
        if is_plain {
            continue;
        }
        let place = At::of(start == 0, at == tokens.len());
        if !run.is_empty() || place == At::Whole {
            literals.push(literal(std::mem::take(&mut run), place, case, within));
        }
        start = at + 1;
    }
    Need::all(literals)
}

fn literal(mut bytes: Vec<u8>, at: At, case: Case, within: Within) -> Literal {
    let letters = match case {
        Case::Sensitive => Letters::Exact,
        Case::Folded => Letters::Folded,
    };
    if case == Case::Folded {
        bytes.make_ascii_lowercase();
    }
    Literal {
        bytes,
        within,
        at,
        letters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;

    fn literals(pattern: &str, case: Case) -> Vec<(String, At)> {
        let need = Glob::new(pattern.as_bytes(), case, Locale::Utf8).need(Within::Name);
        let parts = match need {
            Need::All(parts) => parts,
            Need::Nothing => Vec::new(),
            need => vec![need],
        };
        let literal = |need| match need {
            Need::Has(literal) => (String::from_utf8(literal.bytes).unwrap(), literal.at),
            other => panic!("{other:?}"),
        };
        parts.into_iter().map(literal).collect()
    }

    #[test]
    fn runs_of_plain_characters_are_needed() {
        use At::{Anywhere, End, Start, Whole};
        use Case::{Folded, Sensitive};
        for (pattern, case, expected) in [
            ("*", Sensitive, &[][..]),
            ("*.c", Sensitive, &[(".c", End)][..]),
            ("READ*", Folded, &[("read", Start)]),
            ("Makefile", Folded, &[("makefile", Whole)]),
            ("", Sensitive, &[("", Whole)]),
            (
                "a?b[cd]e*fg",
                Sensitive,
                &[("a", Start), ("b", Anywhere), ("e", Anywhere), ("fg", End)],
            ),
            ("*é*x\\*", Sensitive, &[("é", Anywhere), ("x*", End)]),
            ("É*aéb*", Folded, &[("a", Anywhere), ("b", Anywhere)]),
            ("?", Sensitive, &[]),
        ] {
            let expected: Vec<_> = expected
                .iter()
                .map(|(text, at)| ((*text).to_owned(), *at))
                .collect();
            assert_eq!(literals(pattern, case), expected, "{pattern}");
        }
        let hopeless = Glob::new(b"[[:no:]]x", Sensitive, Locale::Utf8);
        assert_eq!(hopeless.need(Within::Name), Need::IMPOSSIBLE);
    }

    proptest::proptest! {
        #[test]
        fn what_matches_has_what_is_needed(
            pattern in proptest::collection::vec(proptest::sample::select(b"ab\xc3\xa9*?[]\\".to_vec()), 0..7),
            name in proptest::collection::vec(proptest::sample::select(b"abA\xc3\xa9".to_vec()), 0..8),
            folded: bool,
        ) {
            let case = if folded { Case::Folded } else { Case::Sensitive };
            let glob = Glob::new(&pattern, case, Locale::Utf8);
            let holds = glob.need(Within::Name).holds(&mut |literal| {
                let name = match literal.letters {
                    Letters::Exact => name.clone(),
                    Letters::Folded => name.to_ascii_lowercase(),
                };
                match literal.at {
                    At::Whole => name == literal.bytes,
                    At::Start => name.starts_with(&literal.bytes),
                    At::End => name.ends_with(&literal.bytes),
                    At::Anywhere => memchr::memmem::find(&name, &literal.bytes).is_some(),
                }
            });
            proptest::prop_assert!(holds || !glob.matches(&name));
        }
    }
}
