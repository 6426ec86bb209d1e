//! Questions about contents: `grep`, `read`.
//!
//! `trawl grep` takes names of sets before `--`, which may contain commands; so files are always
//! selected by a find expression after it, in which a path is nothing but a path.

use schemars::JsonSchema;
use serde::Deserialize;

use super::trees::Selection;
use super::{Arguments, Place};
use crate::limits::{READ_DEFAULT, READ_MAX};
use crate::rows::Form;
use crate::words::{Line, Question, Refused};

/// Arguments of `grep`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Grep {
    /// Regular expression, in the syntax of ripgrep.
    pattern: String,
    /// Whether the pattern is a fixed text.
    #[serde(default)]
    fixed: bool,
    /// Whether the pattern ignores the case of letters.
    #[serde(default)]
    any_case: bool,
    /// Whether only whole words match.
    #[serde(default)]
    whole_words: bool,
    /// Most matching lines of each file.
    #[serde(default)]
    max_lines: Option<u32>,
    /// Whether only the names of files with a match are wanted.
    #[serde(default)]
    names_only: bool,
    #[serde(flatten)]
    place: Place,
    #[serde(flatten)]
    selection: Selection,
}

impl Arguments for Grep {
    fn question(&self) -> Result<Question, Refused> {
        let form = if self.names_only {
            Form::Names
        } else {
            Form::Hits
        };
        let mut line = Line::of(&["grep", "--no-binary", "--null", "--with-filename"]);
        line.option("--line-number", form == Form::Hits)
            .option("--files-with-matches", form == Form::Names)
            .option("--no-heading", true)
            .option("--sort=path", true)
            .option("--fixed-strings", self.fixed)
            .option("--ignore-case", self.any_case)
            .option("--word-regexp", self.whole_words)
            .value("--max-count", self.max_lines)
            .value("--regexp", Some(&self.pattern))
            .end_of_options();
        self.place.add(&mut line)?;
        self.selection.add(&mut line)?;
        line.finish(form)
    }
}

/// Arguments of `read`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Read {
    /// Absolute path of the file.
    #[serde(default)]
    path: Option<String>,
    /// The same, as bytes in hexadecimal: the path_raw of a row whose name is not UTF-8.
    #[serde(default)]
    path_raw: Option<String>,
    /// First byte (default: 0).
    #[serde(default)]
    pub offset: u64,
    /// Most bytes, up to 65536 (default: 16384).
    #[serde(default)]
    length: Option<u32>,
}

impl Read {
    /// Returns the path.
    ///
    /// # Errors
    /// Fails unless one absolute path is given.
    pub fn path(&self) -> Result<std::ffi::OsString, Refused> {
        let list = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
        let mut paths = crate::words::paths(&list(&self.path), &list(&self.path_raw))?;
        match (paths.pop(), paths.is_empty()) {
            (Some(path), true) => Ok(path),
            _ => Err(Refused::SeveralPaths),
        }
    }

    /// Returns the number of bytes.
    pub fn length(&self) -> usize {
        self.length.unwrap_or(READ_DEFAULT).clamp(1, READ_MAX) as usize
    }
}
