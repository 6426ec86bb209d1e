//! Output of `trawl locate`.

use std::io::{self, Write};

use trawl_model::SortKey;
use trawl_model::mapped::theirs;
use trawl_query::Hit;
use trawl_report::{Schema, fields, schema};
use trawl_text::locale::Locale;
use trawl_text::quote::{Quoting, Terminal};

use super::LocateArgs;
use crate::failure::Failure;
use crate::output::Device;
use crate::rows::{self, Form, Report};

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a path that matches",
    fields: &[fields::PATH.always()],
    forms: schema::ROWS,
    samples: &["locate /"],
};

/// Maximum number of fuzzy answers if the output is not a terminal.
const GUESSES: u64 = 100;

/// Format of a path.
#[derive(Clone, Copy)]
enum Writing {
    /// Unchanged, with this byte after it.
    Bytes(u8),
    /// For a terminal: quoted as one word of a shell where necessary.
    Quoted(Locale),
    /// For a terminal: without quotes.
    Shown(Terminal),
    /// As a row.
    Rows,
}

/// Writer of paths, or of their number.
pub(super) struct Answer {
    report: Report,
    writing: Writing,
    limit: Option<u64>,
    /// Number of paths so far.
    given: u64,
    path: Vec<u8>,
    /// True if the buffer holds output.
    waits: bool,
}

impl Answer {
    pub(super) fn begin(args: &LocateArgs) -> Result<Answer, Failure> {
        let device = Device::of_stdout();
        let locale = Locale::from_env();
        let writing = match (args.form.form(), device) {
            (Form::Json | Form::Csv | Form::Arrow, _) => Writing::Rows,
            _ if args.null => Writing::Bytes(0),
            (Form::Text, Device::Other) => Writing::Bytes(b'\n'),
            _ if args.literal => Writing::Shown(Terminal::Watched(locale)),
            _ => Writing::Quoted(locale),
        };
        let rows = trawl_sys::process::terminal_rows(io::stdout());
        // One row is for the prompt.
        let rows = rows.map(|rows| u64::from(rows).saturating_sub(1).max(1));
        let guesses = args.fuzzy.then(|| rows.unwrap_or(GUESSES));
        let mut answer = Answer {
            report: rows::report(&SCHEMA, args.form.form()),
            writing,
            limit: args.limit.or(guesses),
            given: 0,
            path: Vec::new(),
            waits: false,
        };
        answer.report.begin()?;
        answer.report.output().begin_rows(answer.limit, &[])?;
        Ok(answer)
    }

    /// Returns the maximum number of paths; the largest number if there is none.
    pub(super) fn most(&self) -> u64 {
        self.limit.unwrap_or(u64::MAX)
    }

    /// Returns true once the maximum is reached.
    pub(super) fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.given >= limit)
    }

    /// Adds to the number of paths.
    pub(super) fn add(&mut self, count: u64) {
        self.given = self.given.saturating_add(count).min(self.most());
    }

    /// Writes a path, unless the maximum is reached. `position` is its position among the paths of
    /// several machines; without one it is that of the path.
    pub(super) fn hit(&mut self, hit: Hit<'_>, position: Option<SortKey>) -> Result<(), Failure> {
        if self.is_full() {
            return Ok(());
        }
        self.given += 1;
        self.waits = true;
        self.path.clear();
        self.path.extend_from_slice(hit.dir);
        // Only the root of the file system has an empty name.
        self.path.push(b'/');
        self.path.extend_from_slice(hit.name);
        let path = &*theirs(&self.path);
        let done = match self.writing {
            Writing::Bytes(end) => (self.report.put(path)).and_then(|()| self.report.put([end])),
            Writing::Quoted(locale) => {
                let quoted = Quoting::ShellEscape.quote(path, locale);
                self.report.put([&quoted[..], b"\n"].concat())
            }
            Writing::Shown(terminal) => self.report.put([&terminal.show(path)[..], b"\n"].concat()),
            Writing::Rows => self.report.row(|row| {
                row.put(&fields::PATH, path);
            }),
        };
        done?;
        let position = || position.unwrap_or_else(|| SortKey::default().path(path));
        self.report.output().end_row(position)
    }

    /// Writes the buffer, because nothing more comes for a while.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.waits) {
            self.report.output().flush().map_err(Failure::Write)?;
        }
        Ok(())
    }

    /// Writes the number of paths.
    pub(super) fn print_count(&mut self) -> Result<(), Failure> {
        self.report.put(format!("{}\n", self.given))?;
        self.report.output().end_row(SortKey::default)
    }

    /// Writes the rest, and returns the number of paths.
    pub(super) fn finish(self) -> Result<u64, Failure> {
        rows::finish(self.report)?;
        Ok(self.given)
    }
}
