//! Configuration of a service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::source::Source;
use crate::walk::LocalWalk;

/// When programs ask the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// After they have made a few calls themselves, if these took long. On a file system in memory,
    /// where a call takes a microsecond, the service has nothing to offer.
    Patient,
    /// After they have made a few calls themselves, however long these took.
    Ready,
    /// At the first call; useful where each call costs a round trip.
    Eager,
}

/// Which processes see the same file systems as the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewers {
    /// Those in this process's own mount namespace.
    Here,
    /// Those in a mount namespace that is still to be made: clients wait for
    /// [`Running::seen_in`](crate::Running::seen_in).
    Elsewhere,
}

/// Configuration of a service.
#[derive(Clone)]
pub struct Config {
    /// The covered directories; everything below them is covered, too.
    pub roots: Vec<PathBuf>,
    /// How long changes by others may stay unseen. The run's own changes are visible at once.
    pub age: Duration,
    /// A table with less remaining time than this is not given out any more.
    pub age_left: Duration,
    /// Maximum number of entries per table.
    pub entries_max: u32,
    /// When programs ask.
    pub haste: Haste,
    /// Which processes may ask.
    pub viewers: Viewers,
    /// Provides the directories' content.
    pub source: Arc<dyn Source>,
    /// Is told of programs that start with arguments that may be files.
    pub starts: Option<Started>,
}

/// The listener that is told of programs' starts.
#[derive(Clone)]
pub struct Started {
    /// Number of arguments that may be files from which on a start is told; at least 1.
    pub files_min: u32,
    /// Is called with the process's id, soon after the program's start. The process sees the same
    /// as the service's own ([`Viewers::Here`]).
    pub tell: Arc<dyn Fn(i32) + Send + Sync>,
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
    /// Covers these directories by walks of the file system, with the default limits.
    ///
    /// The default age is one second. Network and user-space file systems also cache attributes for
    /// that time; programs that wait for another program's file poll about that often.
    pub fn local(roots: Vec<PathBuf>) -> Config {
        Config {
            roots,
            age: Duration::from_secs(1),
            age_left: Duration::from_millis(500),
            entries_max: 1 << 20,
            haste: Haste::Patient,
            viewers: Viewers::Here,
            source: Arc::new(LocalWalk::default()),
            starts: None,
        }
    }
}
