//! The context that a predicate is parsed in: its arguments, the settings made
//! so far and the environment.

use trawl_model::Timestamp;
use trawl_text::glob::{self, Case, Glob};
use trawl_text::quote;

use super::settings::Settings;
use crate::age::DAY_SECS;
use crate::environment::{Environment, Warnings};
use crate::error::FindError;
use crate::files;
use crate::output::Sink;
use crate::reference::Reference;

/// The words after a predicate.
#[derive(Debug)]
pub struct Arguments<'a> {
    /// The environment.
    pub env: &'a Environment,
    /// The settings made by options so far.
    pub settings: &'a mut Settings,
    spelled: &'a [u8],
    words: &'a [Vec<u8>],
    used: usize,
    warnings: &'a mut Vec<String>,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(
        env: &'a Environment,
        settings: &'a mut Settings,
        warnings: &'a mut Vec<String>,
        spelled: &'a [u8],
        words: &'a [Vec<u8>],
    ) -> Arguments<'a> {
        Arguments {
            env,
            settings,
            spelled,
            words,
            used: 0,
            warnings,
        }
    }

    /// Number of words taken.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// The predicate as it was spelled.
    pub fn spelled(&self) -> String {
        String::from_utf8_lossy(self.spelled).into_owned()
    }

    /// Takes the next word.
    ///
    /// # Errors
    /// If there are no more words.
    pub fn value(&mut self) -> Result<&'a [u8], FindError> {
        let word = self.words.get(self.used);
        let word = word.ok_or_else(|| FindError::MissingArgument {
            name: self.spelled(),
        })?;
        self.used += 1;
        Ok(word)
    }

    /// The error for a value that the predicate cannot use.
    pub fn invalid(&self, value: &[u8]) -> FindError {
        FindError::InvalidArgument {
            name: self.spelled(),
            value: String::from_utf8_lossy(value).into_owned(),
        }
    }

    /// Compiles a word as a shell pattern, with the rules of fnmatch(3).
    pub fn glob(&self, pattern: &[u8], case: Case) -> Glob {
        let pattern = glob::for_fnmatch(pattern, self.env.is_posix);
        Glob::new(&pattern, case, self.env.locale)
    }

    /// Quotes a value for a message.
    pub fn quoted(&self, value: &[u8]) -> String {
        quote::message(value, self.env.locale)
    }

    /// Takes the next word as a file's path and returns the file's attributes.
    ///
    /// # Errors
    /// If there is no word, or the file's attributes cannot be read.
    pub fn reference(&mut self, name: &'static str) -> Result<Reference, FindError> {
        let path = self.value()?;
        let attributes = {
            let follow = self.settings.traversal.follow;
            self.env.references.attributes(path, follow)
        };
        attributes.map_err(|why| FindError::bad(name, format!("{}: {why}", self.quoted(path))))
    }

    /// Takes the next word as the path of a file to write to.
    ///
    /// # Errors
    /// If there is no word, or the file cannot be written.
    pub fn sink(&mut self) -> Result<Sink, FindError> {
        let path = self.value()?;
        self.sink_at(path)
    }

    /// Returns the sink for the file at `path`, which is created or truncated.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn sink_at(&mut self, path: &[u8]) -> Result<Sink, FindError> {
        files::sink(&mut self.settings.files, path, self.env)
            .map_err(|why| FindError::bad("-fprint", format!("{}: {why}", self.quoted(path))))
    }

    /// The time that ages in days are measured from: a day before now or, after
    /// `-daystart`, the beginning of today.
    pub fn day_origin(&self) -> Timestamp {
        match self.settings.day_start {
            Some(midnight) => midnight,
            None => self.env.now.minus_secs(DAY_SECS),
        }
    }

    /// Warns of something doubtful, unless warnings are off.
    pub fn warn(&mut self, line: String) {
        if self.settings.warnings == Warnings::Shown {
            self.warn_always(line);
        }
    }

    /// Warns of something doubtful even if warnings are off.
    pub fn warn_always(&mut self, line: String) {
        self.warnings.push(line);
    }
}
