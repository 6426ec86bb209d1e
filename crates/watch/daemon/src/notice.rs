//! Reports of the daemon for its log.

use std::fmt;
use std::sync::Arc;

use trawl_barrier::Level;
use trawl_text::words::shown;

/// Receives the daemon's reports, from any of its threads.
pub type Log = Arc<dyn Fn(&Notice) + Send + Sync>;

/// A report of the daemon. [`fmt::Display`] gives its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A tree without a snapshot is scanned first.
    Indexing {
        /// Root of the tree.
        root: Vec<u8>,
    },
    /// The index of a source includes file systems mounted below: each change needs a scan.
    Crosses,
    /// A source is watched in another way than it could be.
    Instead {
        /// Why the better way is impossible.
        why: String,
        /// What happens instead.
        instead: String,
    },
    /// All trees are watched.
    Watching {
        /// Their roots, in one text.
        roots: String,
    },
    /// A report of a source's engine.
    Engine {
        /// Its severity.
        level: Level,
        /// Its text.
        text: String,
    },
    /// A report about the index.
    Indexer(trawl_indexer::Notice),
}

impl Notice {
    /// Returns the severity.
    pub fn level(&self) -> Level {
        match self {
            Notice::Indexing { .. } | Notice::Watching { .. } => Level::Note,
            Notice::Crosses | Notice::Instead { .. } | Notice::Indexer(_) => Level::Warning,
            Notice::Engine { level, .. } => *level,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Indexing { root } => write!(out, "{}: indexing it", shown(root)),
            Notice::Crosses => out.write_str(
                "it includes file systems that are mounted below: each change needs a scan",
            ),
            Notice::Instead { why, instead } => write!(out, "{why}; {instead}"),
            Notice::Watching { roots } => write!(out, "watching {roots}"),
            Notice::Engine { text, .. } => out.write_str(text),
            Notice::Indexer(notice) => notice.fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_as_it_could_be_is_a_warning() {
        let instead = Notice::Instead {
            why: "cannot".to_owned(),
            instead: "polling".to_owned(),
        };
        assert_eq!(instead.level(), Level::Warning);
        assert_eq!(instead.to_string(), "cannot; polling");
        let indexing = Notice::Indexing { root: Vec::new() };
        assert_eq!(indexing.level(), Level::Note);
        assert_eq!(indexing.to_string(), "/: indexing it");
    }
}
