//! Lines for the log: on standard error, with priorities where the journal reads it.

use std::os::unix::fs::MetadataExt;

use trawl_serve::{Level, Settings};

use crate::index::scan::now;

/// Where lines go, and which.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Journal {
    is_journal: bool,
    is_quiet: bool,
}

impl Journal {
    /// For standard error as it is.
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

    /// Source: <https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html>
    fn priority(self, level: Level) -> &'static str {
        match (self.is_journal, level) {
            (false, _) => "",
            (true, Level::Warning) => "<4>",
            (true, Level::Note) => "<6>",
        }
    }

    /// Settings of an engine that writes here.
    pub(crate) fn settings(self) -> Settings {
        Settings::new(now, move |level, text| self.say(level, text))
    }
}

/// `JOURNAL_STREAM` names the file that the journal gave us.
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
