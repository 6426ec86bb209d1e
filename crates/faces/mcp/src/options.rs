//! The words of the program, which `trawl mcp` writes from its own options:
//! `--program=FILE --index=DIR --time-limit=MS --silence=MS`, in any order.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use trawl_questions::child::Program;
use trawl_questions::limits::{ASSISTANT, Limits};
use trawl_questions::words::{milliseconds, option};

/// What the words say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The program `trawl`, which answers.
    pub program: PathBuf,
    /// The index to ask, if one was named.
    pub index: Option<PathBuf>,
    /// Limits of answers.
    pub limits: Limits,
}

/// The words cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word}: not a word of trawl-mcp; start it with trawl mcp")]
pub struct UnknownWord {
    word: String,
}

impl Options {
    /// Parses the words, without the program's name.
    ///
    /// # Errors
    /// Names the first word that is unknown or has no valid value.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Options, UnknownWord> {
        let mut options = Options {
            program: Program::beside(),
            index: None,
            limits: ASSISTANT,
        };
        for word in words {
            options.take(&word).ok_or_else(|| UnknownWord {
                word: word.to_string_lossy().into_owned(),
            })?;
        }
        Ok(options)
    }

    fn take(&mut self, word: &OsStr) -> Option<()> {
        let (name, value) = option(word)?;
        match name {
            "--program" => self.program = value.into(),
            "--index" => self.index = Some(value.into()),
            "--time-limit" => self.limits.call = milliseconds(value)?,
            "--silence" => self.limits.silence = milliseconds(value)?,
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn parse(words: &[&str]) -> Result<Options, UnknownWord> {
        Options::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn words_are_read() {
        let words = ["--index=/a=b", "--program=/x/trawl", "--time-limit=1500"];
        let options = parse(&words).expect("they are valid");
        assert_eq!(options.index, Some("/a=b".into()));
        assert_eq!(options.program, PathBuf::from("/x/trawl"));
        assert_eq!(options.limits.call, Duration::from_millis(1500));
        assert_eq!(options.limits.silence, ASSISTANT.silence);
    }

    #[test]
    fn other_words_are_refused() {
        for word in ["", "mcp", "--index", "--exec=x", "--time-limit=soon", "-i"] {
            assert!(parse(&[word]).is_err(), "{word}");
        }
    }
}
