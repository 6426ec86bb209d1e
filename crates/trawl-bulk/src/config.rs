//! What a service is to do.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::source::Source;
use crate::walk::LocalWalk;

/// When programs ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// Once they have done a few calls themselves: where a call costs a microsecond, a program
    /// that does only few of them shall not pay for an answer.
    Patient,
    /// At the first call: where each costs a round trip.
    Eager,
}

/// What a service is to do.
#[derive(Clone)]
pub struct Config {
    /// The directories that are covered, with all that is below them.
    pub roots: Vec<PathBuf>,
    /// How long what others change may stay unseen. What the run itself changes is seen at once.
    pub age: Duration,
    /// The most entries of one table.
    pub entries_max: u32,
    /// When programs ask.
    pub haste: Haste,
    /// Who says what there is.
    pub source: Arc<dyn Source>,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("roots", &self.roots)
            .field("age", &self.age)
            .field("entries_max", &self.entries_max)
            .field("haste", &self.haste)
            .finish_non_exhaustive()
    }
}

impl Config {
    /// Covers these directories by walks of the file system, with the usual bounds.
    ///
    /// A second is what network and user-space file systems keep attributes for, too: who waits
    /// for somebody else's file looks about that often.
    pub fn local(roots: Vec<PathBuf>) -> Config {
        Config {
            roots,
            age: Duration::from_secs(1),
            entries_max: 1 << 20,
            haste: Haste::Patient,
            source: Arc::new(LocalWalk),
        }
    }
}
