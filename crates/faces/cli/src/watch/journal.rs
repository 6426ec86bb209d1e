//! Log lines on standard error, with priorities if the systemd journal reads them.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use trawl_daemon::{Level, Log, Notice};

use crate::output::say;

/// Destination of log lines, and which are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Journal {
    is_journal: bool,
    is_quiet: bool,
}

impl Journal {
    /// Creates a log for the present standard error.
    pub(crate) fn new(is_quiet: bool) -> Journal {
        Journal {
            is_journal: is_read_by_journal(),
            is_quiet,
        }
    }

    /// Writes a line.
    pub(crate) fn say(self, level: Level, text: &str) {
        if self.is_quiet && level == Level::Note {
            return;
        }
        eprintln!("{}trawl: {text}", self.priority(level));
    }

    /// Returns the prefix that gives a line's priority to the journal.
    ///
    /// Source: <https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html>
    fn priority(self, level: Level) -> &'static str {
        match (self.is_journal, level) {
            (false, _) => "",
            (true, Level::Warning) => "<4>",
            (true, Level::Note) => "<6>",
        }
    }

    /// Returns the log of a daemon.
    pub(crate) fn log(self) -> Log {
        Arc::new(move |notice| match notice {
            Notice::Indexer(notice) => say(notice),
            notice => self.say(notice.level(), &notice.to_string()),
        })
    }
}

/// Returns true if standard error is the file that the journal provided, which `JOURNAL_STREAM`
/// names.
///
/// Source: <https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html>
fn is_read_by_journal() -> bool {
    let named = std::env::var("JOURNAL_STREAM").ok();
    let ours = std::fs::metadata("/proc/self/fd/2").ok();
    let ours = ours.map(|ours| format!("{}:{}", ours.dev(), ours.ino()));
    named.is_some() && named == ours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_for_the_journal_alone() {
        let mut journal = Journal {
            is_journal: true,
            is_quiet: false,
        };
        assert_eq!(journal.priority(Level::Warning), "<4>");
        assert_eq!(journal.priority(Level::Note), "<6>");
        journal.is_journal = false;
        assert_eq!(journal.priority(Level::Warning), "");
    }
}
