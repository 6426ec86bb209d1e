//! The progress of an export on a terminal: a line that disappears.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Interval at which progress is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// The line of progress; nothing if standard error is not a terminal.
#[derive(Debug)]
pub struct Progress {
    is_watched: bool,
    shown: Instant,
    is_open: bool,
}

impl Progress {
    /// Begins without a line.
    #[must_use]
    pub fn new() -> Progress {
        Progress {
            is_watched: io::stderr().is_terminal(),
            shown: Instant::now(),
            is_open: false,
        }
    }

    /// Shows this text, unless another was shown a moment ago.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        if self.is_watched && self.shown.elapsed() >= SHOWN_EVERY {
            self.shown = Instant::now();
            self.is_open = true;
            let _ = write!(io::stderr(), "\r\x1b[K{}", text());
        }
    }

    /// Removes the line.
    pub fn end(&mut self) {
        if self.is_open {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        self.is_open = false;
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
