//! Merges the rows of several servers into one order.
//!
//! Invariants: of each server one row is held, besides what its connection has room for; rows with
//! equal keys come in the order of the servers; a server whose answer is incomplete is named, and its
//! rows until then and those of the others are printed. What servers send is untrusted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::fs::File;

use trawl_answers::expression::Expression;
use trawl_find::output::{Output, Widths};
use trawl_remote::RemoteError;
use trawl_remote::client::{Command, OutputStream, Part};
use trawl_remote::rows::{Beginning, Piece, Pieces, Row};
use trawl_remote::wire::BadFrame;

use super::asking::{Begun, print_errors, standard_output, worse, write_all};
use crate::arguments::Arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live;
use crate::output::say;
use crate::stats::MergedStats;
use crate::top::MergedTop;
use crate::{Command as Asked, find};

/// The answer that is made of the rows of several servers.
pub(crate) trait Merged {
    /// Takes what one server says about its rows together; `None` if it is invalid.
    fn begin(&mut self, fields: &[Vec<u8>]) -> Option<()>;

    /// Takes the next row, and writes what can be written already; `None` if the row is invalid.
    fn row(&mut self, row: Row, out: &mut Vec<u8>) -> Option<()>;

    /// Writes the rest.
    ///
    /// # Errors
    /// If the answer cannot be written.
    fn finish(&mut self, _out: &mut Vec<u8>) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns whether exit code 1 of a server only says that nothing matched there, and something
    /// matched elsewhere.
    fn forgives_no_match(&self) -> bool {
        false
    }
}

/// Returns how the answers to a question become one; `None` if they are printed one after the other.
///
/// # Errors
/// If options contradict each other.
pub(super) fn of<'a>(
    arguments: &'a Arguments,
    all: &'a Expression,
) -> Result<Option<Box<dyn Merged + 'a>>, Failure> {
    Ok(match &arguments.command {
        Asked::Top(args) => Some(Box::new(MergedTop::new(args, all)?)),
        Asked::Stats(args) => Some(Box::new(MergedStats::new(args))),
        Asked::Locate(args) if args.counts() => Some(Box::new(Sum {
            limit: args.most(),
            sum: 0,
        })),
        Asked::Locate(args) if args.lists() => Some(Box::<Paths>::default()),
        Asked::Find(_) if find::may_sort(arguments.given.values_of(find::WORDS)) => {
            Some(Box::<Found>::default())
        }
        _ => None,
    })
}

/// Paths of `trawl locate`.
#[derive(Default)]
struct Paths {
    has_matched: bool,
}

impl Merged for Paths {
    fn begin(&mut self, fields: &[Vec<u8>]) -> Option<()> {
        fields.is_empty().then_some(())
    }

    fn row(&mut self, row: Row, out: &mut Vec<u8>) -> Option<()> {
        self.has_matched = true;
        out.extend(text(&row)?);
        Some(())
    }

    fn forgives_no_match(&self) -> bool {
        self.has_matched
    }
}

/// The number of paths.
struct Sum {
    limit: u64,
    sum: u64,
}

impl Merged for Sum {
    fn begin(&mut self, fields: &[Vec<u8>]) -> Option<()> {
        fields.is_empty().then_some(())
    }

    fn row(&mut self, row: Row, _: &mut Vec<u8>) -> Option<()> {
        let number = std::str::from_utf8(text(&row)?).ok()?;
        let number: u64 = number.strip_suffix('\n')?.parse().ok()?;
        self.sum = self.sum.saturating_add(number).min(self.limit);
        Some(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        out.extend(format!("{}\n", self.sum).bytes());
        Ok(())
    }

    fn forgives_no_match(&self) -> bool {
        self.sum > 0
    }
}

/// What `trawl find` prints.
#[derive(Default)]
struct Found {
    /// Widths of the columns of `-ls` so far.
    widths: Widths,
}

impl Merged for Found {
    fn begin(&mut self, fields: &[Vec<u8>]) -> Option<()> {
        fields.is_empty().then_some(())
    }

    fn row(&mut self, row: Row, out: &mut Vec<u8>) -> Option<()> {
        let text = text(&row)?;
        match row.key.is_empty() {
            // Help, or output that is not sorted.
            true => out.extend(text),
            false => out.extend(Output::decode(text)?.finish(&mut self.widths)),
        }
        Some(())
    }
}

/// Returns the only field of a row.
fn text(row: &Row) -> Option<&[u8]> {
    match &row.fields[..] {
        [text] => Some(text),
        _ => None,
    }
}

/// A server whose rows are merged.
struct Source {
    server: String,
    command: Option<Command>,
    pieces: Pieces,
    /// Whether it has said what precedes its rows.
    has_begun: bool,
    /// Its next row.
    row: Option<Row>,
}

/// Number of bytes that are written at once.
const CHUNK_BYTES: usize = 64 << 10;

/// An answer in the making.
struct Merge<'m> {
    merged: Box<dyn Merged + 'm>,
    sources: Vec<Source>,
    /// The servers that have a row, by its key.
    waiting: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// Maximum number of rows.
    limit: u64,
    has_begun: bool,
    printed: u64,
    out: Vec<u8>,
    output: File,
    exit: Exit,
    /// Whether a server ended with exit code 1.
    is_doubtful: bool,
}

/// Prints the answers of all servers as one, and returns how the whole ended.
pub(super) fn print<'m>(
    begun: Vec<Result<Begun, Failure>>,
    merged: Box<dyn Merged + 'm>,
) -> Result<Exit, Failure> {
    let mut merge = Merge {
        merged,
        sources: Vec::new(),
        waiting: BinaryHeap::new(),
        limit: 0,
        has_begun: false,
        printed: 0,
        out: Vec::new(),
        output: standard_output()?,
        exit: Exit::Complete,
        is_doubtful: false,
    };
    match merge.run(begun) {
        Err(Failure::Remote(RemoteError::Cancelled { .. })) => Ok(Exit::Interrupted),
        Err(failure) => Err(failure),
        Ok(()) => Ok(merge.end()),
    }
}

impl Merge<'_> {
    fn run(&mut self, begun: Vec<Result<Begun, Failure>>) -> Result<(), Failure> {
        for begun in begun {
            let opened = begun.and_then(|begun| {
                let server = begun.server().to_owned();
                Ok((server, begun.command()?))
            });
            match opened {
                Ok((server, command)) => self.sources.push(Source {
                    server,
                    command: Some(command),
                    pieces: Pieces::default(),
                    has_begun: false,
                    row: None,
                }),
                Err(failure) => self.lose(failure)?,
            }
        }
        for at in 0..self.sources.len() {
            self.advance(at)?;
        }
        while let Some(Reverse((_, at))) = self.waiting.pop() {
            let row = self
                .sources
                .get_mut(at)
                .and_then(|source| source.row.take());
            if let Some(row) = row {
                self.take(at, row)?;
            }
            self.advance(at)?;
        }
        if self.has_begun {
            self.merged.finish(&mut self.out)?;
        }
        self.write()
    }

    /// Prints a row, unless there are enough. The rest is read for the sake of messages and exit
    /// codes: a server sends no more rows than the answer may have.
    fn take(&mut self, at: usize, row: Row) -> Result<(), Failure> {
        // Rows without keys are text.
        if self.printed >= self.limit && !row.key.is_empty() {
            return Ok(());
        }
        if self.merged.row(row, &mut self.out).is_none() {
            return self.refuse(at, BadFrame::Field("row"));
        }
        self.has_begun = true;
        self.printed += 1;
        match self.out.len() >= CHUNK_BYTES {
            true => self.write(),
            false => Ok(()),
        }
    }

    /// Waits for the next row of a server.
    fn advance(&mut self, at: usize) -> Result<(), Failure> {
        loop {
            let Some(source) = self.sources.get_mut(at) else {
                return Ok(());
            };
            match source.pieces.take() {
                // Rows without keys are text, which nothing precedes.
                Ok(Some(Piece::Row(row))) if source.has_begun || row.key.is_empty() => {
                    self.waiting.push(Reverse((row.key.clone(), at)));
                    source.row = Some(row);
                    return Ok(());
                }
                Ok(Some(Piece::Beginning(beginning))) if !source.has_begun => {
                    source.has_begun = true;
                    if self.begin(&beginning).is_none() {
                        return self.refuse(at, BadFrame::Field("beginning"));
                    }
                }
                Ok(Some(_)) => return self.refuse(at, BadFrame::Field("order of pieces")),
                Ok(None) if source.command.is_some() => self.receive(at)?,
                Ok(None) => return Ok(()),
                Err(bad) => return self.refuse(at, bad),
            }
        }
    }

    /// Takes what a server says about its rows together; `None` if it is invalid.
    fn begin(&mut self, beginning: &Beginning) -> Option<()> {
        let (head, fields) = beginning.fields.split_first()?;
        self.merged.begin(fields)?;
        self.limit = self.limit.max(beginning.limit);
        if !std::mem::replace(&mut self.has_begun, true) {
            self.out.extend(head);
        }
        Some(())
    }

    /// Waits for more of a server's answer.
    fn receive(&mut self, at: usize) -> Result<(), Failure> {
        self.write()?;
        let Some(source) = self.sources.get_mut(at) else {
            return Ok(());
        };
        let Some(command) = &mut source.command else {
            return Ok(());
        };
        match command.next_part(&|| !live::is_interrupted()) {
            Ok(Part::Printed(OutputStream::Output, bytes)) => source.pieces.add(&bytes),
            Ok(Part::Printed(OutputStream::Errors, bytes)) => print_errors(&bytes),
            Ok(Part::Exited(code)) => {
                source.command = None;
                let bad = source.pieces.end().err();
                self.note(u8::try_from(code).unwrap_or(Exit::Fatal.code()));
                // The answer may have ended within a row.
                if let Some(bad) = bad {
                    self.refuse(at, bad)?;
                }
            }
            Err(error) => {
                source.command = None;
                self.lose(error.into())?;
            }
        }
        Ok(())
    }

    fn note(&mut self, code: u8) {
        match code {
            1 => self.is_doubtful = true,
            code => self.exit = worse(self.exit, Exit::Command(code)),
        }
    }

    /// Leaves a server that sends something invalid.
    fn refuse(&mut self, at: usize, source: BadFrame) -> Result<(), Failure> {
        let Some(refused) = self.sources.get_mut(at) else {
            return Ok(());
        };
        refused.command = None;
        refused.pieces = Pieces::default();
        let server = refused.server.clone();
        self.lose(RemoteError::Nonsense { server, source }.into())
    }

    /// Names a server whose answer is missing or incomplete.
    fn lose(&mut self, failure: Failure) -> Result<(), Failure> {
        match failure {
            Failure::Remote(RemoteError::Cancelled { .. }) => Err(failure),
            Failure::Remote(_) => {
                say(&failure);
                self.exit = worse(self.exit, Exit::Command(Exit::Issues.code()));
                Ok(())
            }
            failure => Err(failure),
        }
    }

    fn write(&mut self) -> Result<(), Failure> {
        let out = std::mem::take(&mut self.out);
        write_all(&mut self.output, &out).map_err(Failure::Write)
    }

    fn end(self) -> Exit {
        match self.is_doubtful && !self.merged.forgives_no_match() {
            true => worse(self.exit, Exit::Command(Exit::Issues.code())),
            false => self.exit,
        }
    }
}

/// Returns why the answers of several servers cannot be joined, if they cannot.
pub(super) fn why_not_joined(arguments: &Arguments) -> Option<String> {
    let given = &arguments.given;
    if matches!(&arguments.command, Asked::Export(_)) {
        return Some(
            "each server has an export of its own: export from one after the other".into(),
        );
    }
    let words: &[OsString] = given.values_of(find::WORDS);
    let is_arrow = match &arguments.command {
        Asked::Find(_) => find::writes_arrow(words),
        _ => given.values.iter().any(|(id, _)| id == "arrow"),
    };
    is_arrow.then(|| {
        "the Arrow streams of several servers cannot be joined: ask the servers one after the other, \
         or use --json or --csv"
            .into()
    })
}
