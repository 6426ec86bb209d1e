//! Matches tokens against a name. Only the last `*` is ever retried, so the
//! time is at most proportional to the product of both lengths.

use super::Case;
use super::parse::Token;

/// The units that a name consists of.
pub(super) trait Units {
    /// Returns the first unit of `name` as a number and as a character, and its
    /// length in bytes.
    fn next(name: &[u8]) -> Option<(u32, Option<char>, usize)>;
    /// Returns the unit in lower case.
    fn fold(unit: u32) -> u32;
}

/// Units are bytes; only ASCII bytes are letters.
pub(super) struct Bytes;

impl Units for Bytes {
    fn next(name: &[u8]) -> Option<(u32, Option<char>, usize)> {
        let byte = *name.first()?;
        let c = byte.is_ascii().then(|| char::from(byte));
        Some((u32::from(byte), c, 1))
    }

    fn fold(unit: u32) -> u32 {
        u8::try_from(unit).map_or(unit, |byte| u32::from(byte.to_ascii_lowercase()))
    }
}

/// Units are characters. The name must be UTF-8.
pub(super) struct Chars;

impl Units for Chars {
    fn next(name: &[u8]) -> Option<(u32, Option<char>, usize)> {
        // Decoding a character needs no more than its own bytes.
        let length = match name.first()? {
            0..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        let text = std::str::from_utf8(name.get(..length)?).ok()?;
        let c = text.chars().next()?;
        Some((u32::from(c), Some(c), length))
    }

    fn fold(unit: u32) -> u32 {
        let Some(c) = char::from_u32(unit) else {
            return unit;
        };
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(small), None) => u32::from(small),
            // U+0130, a capital I with a dot, folds to i, as in towlower(3).
            (Some(small), Some(_)) if c == '\u{130}' => u32::from(small),
            _ => unit,
        }
    }
}

/// Returns whether the tokens match the whole name.
pub(super) fn matches<U: Units>(tokens: &[Token], name: &[u8], case: Case) -> bool {
    let (mut token, mut at) = (0, 0);
    // Where to continue if the tokens after the last `*` do not match: the
    // token after it, and the end of the run that it matches so far.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match tokens.get(token) {
            Some(Token::Star) => {
                token += 1;
                retry = Some((token, at));
                if token == tokens.len() {
                    return true;
                }
                continue;
            }
            Some(wanted) => {
                if let Some(length) = step::<U>(wanted, &name[at..], case) {
                    token += 1;
                    at += length;
                    continue;
                }
            }
            None if at == name.len() => return true,
            None => {}
        }
        let Some((behind, run_end)) = retry else {
            return false;
        };
        let Some((_, _, length)) = U::next(&name[run_end..]) else {
            return false;
        };
        token = behind;
        at = run_end + length;
        retry = Some((behind, at));
    }
}

/// Returns the number of bytes of `name` that the token matches.
fn step<U: Units>(token: &Token, name: &[u8], case: Case) -> Option<usize> {
    let (unit, c, length) = U::next(name)?;
    let matched = match token {
        Token::Any => true,
        Token::One(wanted) => {
            unit == *wanted || (case == Case::Folded && U::fold(unit) == U::fold(*wanted))
        }
        Token::OneOf(set) => set.contains(unit, c, case, U::fold),
        Token::Star => false,
    };
    matched.then_some(length)
}
