//! Progress of the check: a line on standard error every few seconds.

use std::time::{Duration, Instant};

use trawl_indexer::{Event, Listener};
use trawl_report::{Field, Schema, fields, json_object, schema};

use crate::failure::shown;
use crate::index::events::fill_event;
use crate::index::progress::{Style, grouped};
use crate::output::say;

const COMPARED_DIRECTORIES: Field = Field::integer("compared", "number of comparisons made so far");
const OF: Field = Field::integer("of", "number of comparisons");

/// The progress of a check.
pub(crate) static COMPARED: Schema = Schema {
    row: "the progress of a check of permissions",
    fields: &[fields::EVENT, fields::ROOT, COMPARED_DIRECTORIES, OF],
    forms: schema::OBJECTS,
    samples: &[],
};

/// Progress of a source's check.
pub(super) struct Progress {
    style: Style,
    said: Instant,
}

impl Progress {
    pub(super) fn new(style: Style) -> Progress {
        Progress {
            style,
            said: Instant::now(),
        }
    }

    /// Shows how many comparisons were made, unless this was shown a short time ago.
    fn show(&mut self, root: &[u8], (compared, of): (u64, u64)) {
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
        let (done, all) = (grouped(compared), grouped(of));
        let line = format!("{}: {done} of {all} comparisons", shown(root));
        match self.style {
            Style::Line => eprint!("\r\x1b[K{line}"),
            Style::Json => {
                let object = json_object(COMPARED.fields, |row| {
                    fill_event(row, "progress", root);
                    row.put(&COMPARED_DIRECTORIES, compared).put(&OF, of);
                });
                eprintln!("{object}");
            }
            Style::Plain | Style::Silent => eprintln!("trawl: {line}"),
        }
    }
}

impl Listener for Progress {
    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Compared { root, done, of } => self.show(root, (*done, *of)),
            Event::Notice(notice) => say(notice),
            _ => {}
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
