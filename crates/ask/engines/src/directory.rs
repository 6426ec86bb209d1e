//! Queries on directories: find expressions, and SQL.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_call::request::Cancel;
use trawl_sets::expand::Engine;
use trawl_sets::{Names, Problem};
use trawl_sys::child::SignalMask;

use crate::Settings;
use crate::error::EngineError;
use crate::relay::Relay;
use crate::words::split;
use crate::{expression, sql};

/// Answers queries on directories. A query that begins with the word `select` or `with` is SQL, any
/// other one is a find expression.
#[derive(Clone, Debug)]
pub struct Directory {
    settings: Settings,
    /// The signals that `trawl-sql` blocks.
    mask: SignalMask,
}

impl Directory {
    /// Returns the engine.
    pub fn new(settings: Settings) -> Directory {
        Directory {
            settings,
            mask: SignalMask::current(),
        }
    }

    /// Returns the entries of a directory that a find expression selects, given as words; as paths
    /// relative to the directory.
    ///
    /// # Errors
    /// Fails if a word is an action, or no thread can be started.
    pub fn select(&self, directory: &[u8], words: &[Vec<u8>]) -> Result<Box<dyn Names>, Problem> {
        let words = expression::checked(words.to_vec()).map_err(|error| error.at(directory))?;
        let (path, settings) = (directory.to_vec(), self.settings.clone());
        let relay = Relay::start(directory, move |sender| {
            expression::ask(&settings, &path, &words, sender)
        });
        let relay = relay.map_err(|error| EngineError::System(error).at(directory))?;
        Ok(Box::new(relay))
    }
}

impl Engine for Directory {
    fn accepts(&self, prefix: &[u8]) -> bool {
        Path::new(OsStr::from_bytes(prefix)).is_dir()
    }

    fn run(&self, prefix: &[u8], query: &[u8], _: &Cancel) -> Result<Box<dyn Names>, Problem> {
        if !sql::is_sql(query) {
            let words = split(query).map_err(|error| error.at(prefix))?;
            return self.select(prefix, &words);
        }
        let query = std::str::from_utf8(query).map_err(|_| EngineError::Text.at(prefix))?;
        let paths = sql::Paths::ask(
            &self.settings,
            prefix,
            query,
            (sql::About::Directory, self.mask),
        );
        Ok(Box::new(paths.map_err(|error| error.at(prefix))?))
    }
}
