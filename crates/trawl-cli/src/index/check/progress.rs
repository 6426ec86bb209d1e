//! Progress of the check: a line on standard error every few seconds.

use std::time::{Duration, Instant};

use crate::failure::shown;
use crate::index::progress::{Style, event, grouped};

/// Progress of a source's check.
pub(super) struct Progress {
    style: Style,
    root: Vec<u8>,
    done: u64,
    all: u64,
    said: Instant,
}

impl Progress {
    pub(super) fn new(style: Style, root: &[u8], directories: usize, users: usize) -> Progress {
        Progress {
            style,
            root: root.to_vec(),
            done: 0,
            all: directories as u64 * users as u64,
            said: Instant::now(),
        }
    }

    /// Records that this number of directories was compared for a user.
    pub(super) fn add(&mut self, directories: usize) {
        self.done += directories as u64;
        let every = match self.style {
            Style::Line => Duration::from_millis(100),
            Style::Plain => Duration::from_secs(5),
            Style::Json => Duration::from_secs(1),
            Style::Silent => return,
        };
        if self.said.elapsed() < every {
            return;
        }
        self.said = Instant::now();
        let (done, all) = (grouped(self.done), grouped(self.all));
        let line = format!("{}: {done} of {all} comparisons", shown(&self.root));
        match self.style {
            Style::Line => eprint!("\r\x1b[K{line}"),
            Style::Json => {
                let object = event("progress", &self.root).number("compared", self.done);
                eprintln!("{}", object.number("of", self.all).close());
            }
            Style::Plain | Style::Silent => eprintln!("trawl: {line}"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.style == Style::Line {
            eprint!("\r\x1b[K");
        }
    }
}
