//! Reports of running work. The caller's listener gets them in order, on the thread that works, so
//! it must not wait.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_format::SnapshotId;
use trawl_model::Issue;
use trawl_model::path::display;
use trawl_scan::{Progress, ScanProgress};
use trawl_text::words::{quoted, shown};
use trawl_writer::gc::Collected;

use crate::surroundings::Warning;

/// Receives the reports of running work. Any closure that takes an event is a listener.
pub trait Listener {
    /// Receives the next report.
    fn hear(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>)> Listener for F {
    fn hear(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// Returns a listener that ignores everything.
pub fn silent() -> impl Listener {
    |_: &Event<'_>| ()
}

/// A report of running work.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A scan begins. The counters may be read until [`Event::Ended`], from any thread.
    Begun(&'a Arc<Running>),
    /// A path could not be read completely.
    Issue(&'a Issue),
    /// The scan that was begun last has ended, in a snapshot or in an error.
    Ended,
    /// A part of a source's permission check is done.
    Compared {
        /// Root of the source.
        root: &'a [u8],
        /// Number of comparisons done, one for each directory and user.
        done: u64,
        /// Number of all comparisons.
        of: u64,
    },
    /// A message for people.
    Notice(Notice),
}

/// The counters of a running scan.
#[derive(Debug, Default)]
pub struct Running {
    root: Vec<u8>,
    pub(crate) progress: ScanProgress,
    pub(crate) writing: AtomicBool,
}

impl Running {
    /// Creates the counters of a scan of the source with this root.
    pub fn new(root: &[u8]) -> Running {
        Running {
            root: root.to_vec(),
            ..Running::default()
        }
    }

    /// Root of the source: absolute, empty for `/`.
    pub fn root(&self) -> &[u8] {
        &self.root
    }

    /// Returns what was read so far.
    pub fn progress(&self) -> Progress {
        self.progress.get()
    }

    /// Returns true once everything is read, while the rest is written.
    pub fn is_writing(&self) -> bool {
        self.writing.load(Ordering::Relaxed)
    }
}

/// A message for people. [`fmt::Display`] gives its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// An older snapshot was removed because it is damaged: it is unknown what it would show to
    /// whom.
    Forgotten {
        /// Root of the source.
        root: Vec<u8>,
        /// The snapshot.
        id: SnapshotId,
    },
    /// A damaged file kept files beside it from being removed.
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A directory around the index keeps users out, or lets them replace the index.
    Surroundings(Warning),
    /// The daemon that watches a tree scans it now.
    HandedOver {
        /// Root of the source.
        root: Vec<u8>,
    },
    /// The daemon has brought a tree up to date.
    UpToDate {
        /// Root of the source.
        root: Vec<u8>,
    },
}

impl Notice {
    /// Returns a notice for each damaged file that was met while files were removed.
    pub fn damaged(done: &Collected) -> impl Iterator<Item = Notice> {
        let paths = done.damaged.iter();
        paths.map(|path| Notice::Damaged { path: path.clone() })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Forgotten { root, id } => write!(
                out,
                "{}: removed snapshot {id}: it is damaged, and might show more than is allowed now",
                shown(root)
            ),
            Notice::Damaged { path } => write!(
                out,
                "{} is damaged, so nothing next to it was removed: see trawl index --verify",
                path.display()
            ),
            Notice::Surroundings(warning) => warning.fmt(out),
            Notice::HandedOver { root } => write!(
                out,
                "{} is watched: its daemon scans it now",
                quoted(display(root))
            ),
            Notice::UpToDate { root } => write!(out, "{} is up to date", quoted(display(root))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_say_what_happened_where() {
        let handed_over = Notice::HandedOver { root: Vec::new() };
        assert!(handed_over.to_string().contains("/"));
        let damaged = Notice::Damaged {
            path: "/i/x".into(),
        };
        assert_eq!(
            damaged.to_string(),
            "/i/x is damaged, so nothing next to it was removed: see trawl index --verify"
        );
    }

    #[test]
    fn closures_listen() {
        let mut heard = 0;
        let mut listener = |_: &Event<'_>| heard += 1;
        listener.hear(&Event::Ended);
        silent().hear(&Event::Ended);
        assert_eq!(heard, 1);
    }
}
