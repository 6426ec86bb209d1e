//! What a service is to do.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::source::Source;
use crate::walk::LocalWalk;

/// When programs ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// Once they have done a few calls themselves and these took long: on a file system in memory,
    /// where a call takes a microsecond, the service has nothing to offer.
    Patient,
    /// Once they have done a few calls themselves, however long these took.
    Ready,
    /// At the first call: where each costs a round trip.
    Eager,
}

/// Who sees what the source says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewers {
    /// Those in this process's own mounts.
    Here,
    /// Those in mounts that are still to be made: who asks waits for
    /// [`Running::seen_in`](crate::Running::seen_in).
    Elsewhere,
}

/// What a service is to do.
#[derive(Clone)]
pub struct Config {
    /// The directories that are covered, with all that is below them.
    pub roots: Vec<PathBuf>,
    /// How long what others change may stay unseen. What the run itself changes is seen at once.
    pub age: Duration,
    /// A table that has less left than this is not given any more.
    pub age_left: Duration,
    /// The most entries of one table.
    pub entries_max: u32,
    /// When programs ask.
    pub haste: Haste,
    /// Who may ask.
    pub viewers: Viewers,
    /// Who says what there is.
    pub source: Arc<dyn Source>,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("roots", &self.roots)
            .field("age", &self.age)
            .field("age_left", &self.age_left)
            .field("entries_max", &self.entries_max)
            .field("haste", &self.haste)
            .field("viewers", &self.viewers)
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
            age_left: Duration::from_millis(500),
            entries_max: 1 << 20,
            haste: Haste::Patient,
            viewers: Viewers::Here,
            source: Arc::new(LocalWalk::default()),
        }
    }
}
