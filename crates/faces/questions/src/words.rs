//! Command lines of `trawl`, made of typed arguments without a shell.
//!
//! Invariants: a path is absolute, so it begins with `/` and is no option; another value stands in
//! the same word as its option (`--name=VALUE`), behind `--`, or where find takes an argument. No
//! value contains a NUL byte.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use trawl_text::json::hex;
use trawl_text::words::quoted;

use crate::limits::{PATHS, WORDS_BYTES};
use crate::rows::Form;

/// A command line, and how its output becomes rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The words after `trawl`, first the command.
    pub words: Vec<OsString>,
    /// The form of its output.
    pub form: Form,
    /// The number of rows of a page, if the client says how many.
    pub limit: Option<u32>,
}

impl Question {
    /// Returns for each word its bytes in hexadecimal, or `None` if they are UTF-8.
    pub fn raw_words(&self) -> impl Iterator<Item = Option<String>> {
        self.words.iter().map(|word| match word.to_str() {
            Some(_) => None,
            None => Some(hex(word.as_bytes())),
        })
    }
}

/// The reason why arguments are refused. Nothing was run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// A word of an expression that is not on the allow-list.
    #[error(
        "{}: not allowed in an expression: it may have the tests and operators of find, \
         and nothing that acts, prints or reads lists of paths",
        quoted(word.as_bytes())
    )]
    Word {
        /// The word.
        word: String,
    },
    /// A test without its argument.
    #[error("{word}: its argument is missing")]
    NoArgument {
        /// The test.
        word: String,
    },
    /// Parentheses that do not match.
    #[error("the expression has parentheses that do not match")]
    Unbalanced,
    /// A relative path.
    #[error("{}: give an absolute path, which begins with /", quoted(path))]
    Relative {
        /// The path.
        path: Vec<u8>,
    },
    /// No path.
    #[error("no path was given: give at least one absolute path in paths")]
    NoPath,
    /// Several paths where one is allowed.
    #[error("several paths were given: give one")]
    SeveralPaths,
    /// A value with a NUL byte.
    #[error("an argument contains a NUL byte")]
    Nul,
    /// Bytes that are not hexadecimal digits.
    #[error("{}: not bytes in hexadecimal", quoted(text.as_bytes()))]
    Hex {
        /// The text.
        text: String,
    },
    /// Too many values.
    #[error("too many {what}: at most {most} are allowed")]
    TooMany {
        /// The kind of values.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// Too long values.
    #[error("the arguments have more than {WORDS_BYTES} bytes together")]
    TooLong,
    /// An argument that the question does not have.
    #[error("{}: no argument of this question; it has {known}", quoted(name.as_bytes()))]
    Unknown {
        /// The argument's name.
        name: String,
        /// The names of the question's arguments.
        known: String,
    },
    /// Arguments of the wrong type.
    #[error("the arguments are invalid: {why}")]
    Invalid {
        /// The reason.
        why: String,
    },
}

/// Words of a command line that are being collected.
#[derive(Clone, Debug, Default)]
pub struct Line {
    words: Vec<OsString>,
    limit: Option<u32>,
}

impl Line {
    /// Begins a command line with a command and options of our own.
    pub fn of(words: &[&str]) -> Line {
        Line {
            words: words.iter().map(OsString::from).collect(),
            limit: None,
        }
    }

    /// Sets the number of rows of a page.
    pub fn rows(&mut self, limit: Option<u32>) -> &mut Line {
        self.limit = limit;
        self
    }

    /// Adds an option of our own if it is wanted.
    pub fn option(&mut self, option: &str, is_wanted: bool) -> &mut Line {
        if is_wanted {
            self.words.push(option.into());
        }
        self
    }

    /// Adds an option with a value in the same word.
    pub fn value(&mut self, option: &str, value: Option<impl std::fmt::Display>) -> &mut Line {
        if let Some(value) = value {
            self.words.push(format!("{option}={value}").into());
        }
        self
    }

    /// Adds a test of find with its argument, as two words.
    pub fn test(&mut self, test: &str, argument: Option<impl std::fmt::Display>) -> &mut Line {
        if let Some(argument) = argument {
            self.words.push(test.into());
            self.words.push(argument.to_string().into());
        }
        self
    }

    /// Adds words that have been checked.
    pub fn words(&mut self, words: impl IntoIterator<Item = OsString>) -> &mut Line {
        self.words.extend(words);
        self
    }

    /// Adds `--`: the words after it are no options.
    pub fn end_of_options(&mut self) -> &mut Line {
        self.words.push("--".into());
        self
    }

    /// Returns the command line.
    ///
    /// # Errors
    /// Fails if a word has a NUL byte, or all of them are too long.
    pub fn finish(self, form: Form) -> Result<Question, Refused> {
        let has_nul = |word: &OsString| word.as_encoded_bytes().contains(&0);
        if self.words.iter().any(has_nul) {
            return Err(Refused::Nul);
        }
        let bytes: usize = self.words.iter().map(|word| word.len()).sum();
        match bytes > WORDS_BYTES {
            true => Err(Refused::TooLong),
            false => Ok(Question {
                words: self.words,
                form,
                limit: self.limit,
            }),
        }
    }
}

/// Returns the name and the value of a word such as `--name=VALUE`, which `trawl` gives to programs that
/// serve questions; `None` if it has another form.
pub fn option(word: &OsStr) -> Option<(&str, &OsStr)> {
    let bytes = word.as_bytes();
    let end = bytes.iter().position(|byte| *byte == b'=')?;
    let name = std::str::from_utf8(&bytes[..end]).ok()?;
    Some((name, OsStr::from_bytes(&bytes[end + 1..])))
}

/// Returns the time that the value of such a word gives in milliseconds.
pub fn milliseconds(value: &OsStr) -> Option<Duration> {
    value.to_str()?.parse().ok().map(Duration::from_millis)
}

/// Returns absolute paths, given as text and as bytes in hexadecimal.
///
/// # Errors
/// Says which path is not allowed; at least one must be given.
pub fn paths(texts: &[String], raw: &[String]) -> Result<Vec<OsString>, Refused> {
    if texts.len() + raw.len() > PATHS {
        return Err(Refused::TooMany {
            what: "paths",
            most: PATHS,
        });
    }
    let texts = texts.iter().map(|text| Ok(text.clone().into_bytes()));
    let raw = raw.iter().map(|digits| bytes_of(digits));
    let paths: Vec<OsString> = texts
        .chain(raw)
        .map(|path| absolute(path?))
        .collect::<Result<_, Refused>>()?;
    match paths.is_empty() {
        true => Err(Refused::NoPath),
        false => Ok(paths),
    }
}

fn absolute(path: Vec<u8>) -> Result<OsString, Refused> {
    match path.first() {
        _ if path.contains(&0) => Err(Refused::Nul),
        Some(b'/') => Ok(OsString::from_vec(path)),
        _ => Err(Refused::Relative { path }),
    }
}

/// Returns the bytes that hexadecimal digits stand for.
fn bytes_of(digits: &str) -> Result<Vec<u8>, Refused> {
    let wrong = || Refused::Hex {
        text: digits.chars().take(80).collect(),
    };
    let value = |digit: u8| {
        (digit as char)
            .to_digit(16)
            .and_then(|v| u8::try_from(v).ok())
    };
    let pairs = digits.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(value(*high)? << 4 | value(*low)?),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(texts: &[&str], raw: &[&str]) -> Result<Vec<OsString>, Refused> {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        paths(&owned(texts), &owned(raw))
    }

    #[test]
    fn paths_are_absolute_and_no_options() {
        let found = given(&["/a", "/ -x"], &["2fff0a"]).expect("they are absolute");
        let bytes: Vec<&[u8]> = found.iter().map(|path| path.as_encoded_bytes()).collect();
        assert_eq!(bytes, [&b"/a"[..], b"/ -x", b"/\xff\n"]);
        for path in ["", "a", "-delete", "--index=/x", "./a", "~", "(", "!"] {
            assert!(
                matches!(given(&[path], &[]), Err(Refused::Relative { .. })),
                "{path}"
            );
        }
        assert_eq!(given(&[], &[]), Err(Refused::NoPath));
        assert_eq!(given(&["/a\0b"], &[]), Err(Refused::Nul));
        for digits in ["2", "2x", "+f", "/a", "2f2"] {
            assert!(
                matches!(given(&[], &[digits]), Err(Refused::Hex { .. })),
                "{digits}"
            );
        }
        assert!(matches!(
            given(&["/"; PATHS + 1], &[]),
            Err(Refused::TooMany { .. })
        ));
    }

    #[test]
    fn lines_are_bounded_and_have_no_nul() {
        let mut line = Line::of(&["find"]);
        line.value("--at", Some("a\0b"));
        assert_eq!(line.finish(Form::Objects), Err(Refused::Nul));
        let mut line = Line::of(&["find"]);
        line.test("-name", Some("x".repeat(WORDS_BYTES)));
        assert_eq!(line.finish(Form::Objects), Err(Refused::TooLong));
    }
}
