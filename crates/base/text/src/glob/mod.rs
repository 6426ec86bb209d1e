//! Shell patterns with the meaning of fnmatch(3) without flags: `*` matches any
//! run, `?` one character, `[…]` one of a set, and `\` escapes. Slashes and
//! leading dots are not special.
//!
//! In a UTF-8 locale a pattern is matched by characters and by bytes, and
//! either counts as a match: so `?` matches `é` and also a stray byte, as in
//! find(1). Where POSIX leaves a bracket expression undefined, these rules
//! apply: a range cannot end in a class (`[a-[:digit:]`), and its end is then
//! the class's `[`; a `[:` or `[=` that begins no class or element is two
//! characters; a pattern with an unknown class or an unknown `[.…]` matches
//! nothing.
//!
//! A pattern is compiled once. A pattern that is a literal, a prefix, a suffix
//! or a substring is matched by a search for bytes.

mod literals;
mod matcher;
mod parse;
mod set;

use std::borrow::Cow;

use memchr::memmem::Finder;

use crate::locale::Locale;
use matcher::matches;
use parse::{Token, parse};

/// Whether matching ignores case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// A letter matches only itself.
    Sensitive,
    /// A letter matches in either case.
    Folded,
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Glob {
    program: Program,
}

#[derive(Debug)]
enum Program {
    Nothing,
    Everything,
    Literal(Vec<u8>),
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    Substring(Box<Finder<'static>>),
    General(General),
}

#[derive(Debug)]
struct General {
    /// The pattern's tokens by bytes; `None` if it can match nothing.
    by_bytes: Option<Vec<Token>>,
    by_chars: Option<Vec<Token>>,
    case: Case,
    /// Bytes that every match contains, if any are known.
    required: Option<Box<Finder<'static>>>,
    /// True if the pattern holds bytes beyond ASCII.
    is_wide: bool,
}

/// Returns the pattern as fnmatch(3) of the GNU C library reads it. If
/// `POSIXLY_CORRECT` is set, only `!` negates a bracket expression, and `^` is
/// an ordinary member.
pub fn for_fnmatch(pattern: &[u8], is_posix: bool) -> Cow<'_, [u8]> {
    if !is_posix || !pattern.windows(2).any(|two| two == b"[^") {
        return Cow::Borrowed(pattern);
    }
    let mut quoted = Vec::with_capacity(pattern.len() + 1);
    for (at, byte) in pattern.iter().enumerate() {
        if *byte == b'^' && at > 0 && pattern[at - 1] == b'[' {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    Cow::Owned(quoted)
}

impl Glob {
    /// Compiles a pattern as fnmatch(3) does in this process's environment,
    /// that is, its locale and `POSIXLY_CORRECT`.
    pub fn of_environment(pattern: &[u8], case: Case) -> Glob {
        let is_posix = std::env::var_os("POSIXLY_CORRECT").is_some();
        let pattern = for_fnmatch(pattern, is_posix);
        Glob::new(&pattern, case, Locale::from_env())
    }

    /// Compiles a pattern. Every pattern is valid, but some match nothing.
    pub fn new(pattern: &[u8], case: Case, locale: Locale) -> Glob {
        let by_bytes = parse(pattern, None, case);
        if case == Case::Sensitive
            && let Some(program) = by_bytes.as_deref().and_then(simple)
        {
            return Glob { program };
        }
        let text = std::str::from_utf8(pattern).ok();
        let text = text.filter(|_| locale.is_utf8());
        let by_chars = text.and_then(|text| parse(pattern, Some(text), case));
        if by_bytes.is_none() && by_chars.is_none() {
            let program = Program::Nothing;
            return Glob { program };
        }
        let required = match case {
            Case::Sensitive => by_bytes.as_deref().and_then(longest_literal),
            Case::Folded => None,
        };
        Glob {
            program: Program::General(General {
                by_bytes,
                by_chars,
                case,
                required,
                is_wide: !pattern.is_ascii(),
            }),
        }
    }

    /// Returns whether the whole of `name` matches.
    pub fn matches(&self, name: &[u8]) -> bool {
        match &self.program {
            Program::Nothing => false,
            Program::Everything => true,
            Program::Literal(literal) => name == &literal[..],
            Program::Prefix(prefix) => name.starts_with(prefix),
            Program::Suffix(suffix) => name.ends_with(suffix),
            Program::Substring(finder) => finder.find(name).is_some(),
            Program::General(general) => general.matches(name),
        }
    }

    /// Returns the only name that matches, if the pattern is a literal.
    pub fn literal(&self) -> Option<&[u8]> {
        match &self.program {
            Program::Literal(literal) => Some(literal),
            _ => None,
        }
    }

    /// Returns true if no name can match (a trailing backslash, an unknown
    /// class).
    pub fn is_hopeless(&self) -> bool {
        matches!(self.program, Program::Nothing)
    }
}

impl General {
    fn matches(&self, name: &[u8]) -> bool {
        if let Some(required) = &self.required
            && required.find(name).is_none()
        {
            return false;
        }
        if let Some(tokens) = &self.by_bytes
            && matches::<matcher::Bytes>(tokens, name, self.case)
        {
            return true;
        }
        // If everything is ASCII, characters and bytes are the same.
        if !self.is_wide && name.is_ascii() {
            return false;
        }
        self.by_chars.as_ref().is_some_and(|tokens| {
            std::str::from_utf8(name).is_ok() && matches::<matcher::Chars>(tokens, name, self.case)
        })
    }
}

/// Returns the program of a pattern that is a search for bytes: a literal with
/// `*` before or after it.
fn simple(tokens: &[Token]) -> Option<Program> {
    let is_star = |token: Option<&Token>| matches!(token, Some(Token::Star));
    let leading = tokens.iter().take_while(|t| **t == Token::Star).count();
    if leading == tokens.len() && leading > 0 {
        return Some(Program::Everything);
    }
    let inner = &tokens[leading..];
    let trailing = inner
        .iter()
        .rev()
        .take_while(|t| **t == Token::Star)
        .count();
    let inner = &inner[..inner.len() - trailing];
    let literal: Option<Vec<u8>> = inner.iter().map(Token::as_byte).collect();
    let literal = literal?;
    Some(match (is_star(tokens.first()), is_star(tokens.last())) {
        (false, false) => Program::Literal(literal),
        (false, true) => Program::Prefix(literal),
        (true, false) => Program::Suffix(literal),
        (true, true) => Program::Substring(Box::new(Finder::new(&literal).into_owned())),
    })
}

/// Returns a search for the longest run of bytes that every match contains, if
/// it is long enough to be worthwhile.
fn longest_literal(tokens: &[Token]) -> Option<Box<Finder<'static>>> {
    let runs = tokens.split(|token| token.as_byte().is_none());
    let run = runs
        .max_by_key(|run| run.len())
        .filter(|run| run.len() > 2)?;
    let bytes: Vec<u8> = run.iter().filter_map(Token::as_byte).collect();
    Some(Box::new(Finder::new(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::CString;
    use trawl_sys::pattern::Flags;

    fn c_library(pattern: &[u8], name: &[u8], case: Case) -> bool {
        let flags = match case {
            Case::Sensitive => Flags::NONE,
            Case::Folded => Flags::CASEFOLD,
        };
        let (pattern, name) = (CString::new(pattern).unwrap(), CString::new(name).unwrap());
        trawl_sys::pattern::matches(&pattern, &name, flags)
    }

    fn bytes_of(alphabet: &'static str, most: usize) -> impl Strategy<Value = Vec<u8>> {
        let parts: Vec<Vec<u8>> = alphabet
            .split(' ')
            .map(|part| part.replace('~', "\u{e9}").into_bytes())
            .chain([vec![0xff], vec![b' ']])
            .collect();
        proptest::collection::vec(proptest::sample::select(parts), 0..most)
            .prop_map(|parts| parts.concat())
    }

    /// Returns whether POSIX (XBD 9.3.5) leaves a bracket expression undefined:
    /// it has a `[:`, `[=` or `[.` that begins nothing valid, or a class as the
    /// end of a range. The C library's answer then depends on whether an
    /// earlier member has already matched.
    fn is_undefined(pattern: &[u8]) -> bool {
        let mut at = 0;
        while at < pattern.len() {
            match pattern[at] {
                b'\\' => at += 2,
                b'[' => {
                    if bracket_is_undefined(&pattern[at + 1..]) {
                        return true;
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
        false
    }

    /// Like `is_undefined`, for one expression after its `[`.
    fn bracket_is_undefined(mut rest: &[u8]) -> bool {
        if let [b'!' | b'^', behind @ ..] = rest {
            rest = behind;
        }
        let mut first = true;
        loop {
            let ends_range = !first && rest.len() > 1 && rest[0] == b'-' && rest[1] == b'[';
            rest = match rest {
                [] => return false,
                [b']', ..] if !first => return false,
                [b'-', b'[', b':' | b'=', ..] if ends_range => return true,
                [b'\\', _, behind @ ..] => behind,
                [b'[', mark @ (b':' | b'=' | b'.'), behind @ ..] => {
                    let end = behind.windows(2).position(|two| two == [*mark, b']']);
                    match end {
                        Some(1) if *mark != b':' => &behind[3..],
                        Some(5) if *mark == b':' => &behind[7..],
                        _ => return true,
                    }
                }
                [_, behind @ ..] => behind,
            };
            first = false;
        }
    }

    /// Expected values are from find -name over names of one character, with
    /// `POSIXLY_CORRECT` set.
    #[test]
    fn a_caret_negates_nothing_for_posix() {
        for (pattern, expected) in [
            ("[^a]", "a^"),
            ("[!a]", "b^[]"),
            ("[a^]", "a^"),
            ("[^]", "^"),
            ("[[^]", "^["),
            ("\\[^", ""),
            ("x[^", ""),
        ] {
            let spelled = for_fnmatch(pattern.as_bytes(), true);
            let glob = Glob::new(&spelled, Case::Sensitive, Locale::Utf8);
            let matched = "ab^[]"
                .chars()
                .filter(|name| glob.matches(name.to_string().as_bytes()));
            assert_eq!(matched.collect::<String>(), expected, "{pattern}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6000))]
        #[test]
        fn agrees_with_the_c_library(
            pattern in bytes_of("a b A B * * ? [ ] - ! ^ \\ . / [a [!b [a-b] [[:alpha:]] [[:upper:]b] [:digit:] [.a.] [=b=] ]", 9).prop_filter("undefined", |pattern| !is_undefined(pattern)),
            name in bytes_of("a b A B * ? [ ] - ! ^ \\ . / : ab", 7),
            fold: bool,
        ) {
            let case = if fold { Case::Folded } else { Case::Sensitive };
            let ours = Glob::new(&pattern, case, Locale::Bytes).matches(&name);
            prop_assert_eq!(
                ours, c_library(&pattern, &name, case),
                "pattern {:?} name {:?}", pattern.escape_ascii().to_string(), name.escape_ascii().to_string()
            );
        }

        #[test]
        fn fast_paths_are_no_different(
            pattern in bytes_of("a ab ~ * *", 6),
            name in bytes_of("a b ~ ab", 8),
        ) {
            let fast = Glob::new(&pattern, Case::Sensitive, Locale::Utf8).matches(&name);
            prop_assert_eq!(fast, c_library(&pattern, &name, Case::Sensitive));
        }
    }

    /// Expected values are from find(1) in a UTF-8 locale, one name after the
    /// other.
    #[test]
    fn characters_and_bytes_both_count() {
        for (pattern, name, case, expected) in [
            (&b"?"[..], "é".as_bytes(), Case::Sensitive, true),
            (b"??", "é".as_bytes(), Case::Sensitive, true),
            (b"???", "é".as_bytes(), Case::Sensitive, false),
            (b"???", b"\xc3\xa9\xff", Case::Sensitive, true),
            (b"??", b"\xc3\xa9\xff", Case::Sensitive, false),
            (b"bad?", b"bad\xff", Case::Sensitive, true),
            ("[é]".as_bytes(), "é".as_bytes(), Case::Sensitive, true),
            ("[é]*".as_bytes(), "É".as_bytes(), Case::Sensitive, true),
            (b"[!a]", "é".as_bytes(), Case::Sensitive, true),
            ("É".as_bytes(), "é".as_bytes(), Case::Folded, true),
            ("Σ".as_bytes(), "ς".as_bytes(), Case::Folded, false),
            ("ß".as_bytes(), "ẞ".as_bytes(), Case::Folded, true),
            (b"[[:alpha:]]*", "ß".as_bytes(), Case::Sensitive, true),
            (b"*", b".hidden", Case::Sensitive, true),
            (b"a\\", b"a\\", Case::Sensitive, false),
            (b"[!b[.a.]]", b"A", Case::Folded, true),
            (b"[*-", b"[-", Case::Sensitive, false),
            (b"[*[-", b"[*[-", Case::Sensitive, true),
        ] {
            let glob = Glob::new(pattern, case, Locale::Utf8);
            assert_eq!(glob.matches(name), expected, "{pattern:?} {name:?}");
        }
        assert_eq!(
            Glob::new(b"a\\*b", Case::Sensitive, Locale::Utf8).literal(),
            Some(&b"a*b"[..])
        );
        assert!(Glob::new(b"[[:no:]]x", Case::Sensitive, Locale::Utf8).is_hopeless());
    }
}
