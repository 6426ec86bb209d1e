//! Output of `trawl search`.

use std::io::{self, Write};

use trawl_call::{Attributes, Outcome, RecordRef, Request, ServedBy, Trouble};
use trawl_find::record;
use trawl_model::Column;
use trawl_report::{Field, Row, Schema, fields, schema};
use trawl_text::json::decimal;
use trawl_text::locale::Locale;
use trawl_text::mode;
use trawl_text::quote::Quoting;

use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted};
use crate::output::{Device, Output, say};
use crate::rows::{self, Form, Report};

const MODE: Field = record::field(Column::Mode);
const NLINK: Field = record::field(Column::Nlink);
const UID: Field = record::field(Column::Uid);
const GID: Field = record::field(Column::Gid);
const SIZE: Field = record::field(Column::Size);
const BLOCKS: Field = record::field(Column::Blocks);
const BLKSIZE: Field = record::field(Column::Blksize);
const DEV: Field = record::field(Column::Dev);
const INO: Field = record::field(Column::Ino);
const RDEV: Field = record::field(Column::Rdev);
const ATIME: Field = record::field(Column::Atime);
const MTIME: Field = record::field(Column::Mtime);
const CTIME: Field = record::field(Column::Ctime);
const SERVED_BY: Field = Field::text("served_by", "`live` or `index`");
const ERROR: Field = Field::text("error", "operation that failed");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "an entry that matches, or an error",
    fields: &[
        fields::ROOT,
        fields::PATH,
        SERVED_BY,
        MODE,
        fields::PERMISSIONS,
        NLINK,
        UID,
        GID,
        SIZE,
        BLOCKS,
        BLKSIZE,
        DEV,
        INO,
        RDEV,
        ATIME,
        MTIME,
        CTIME,
        ERROR,
        fields::ERRNO,
        fields::MESSAGE,
    ],
    forms: schema::OBJECTS,
    samples: &[
        "search --metadata * .",
        "search --served-by index --metadata * .",
    ],
};

/// Format of a path.
enum Writing {
    /// Unchanged, with this byte after it.
    Bytes(u8),
    /// For a terminal: quoted as one word of a shell where necessary.
    Quoted(Locale),
    Json,
}

/// Writer of records.
pub(super) struct Answer {
    report: Report,
    writing: Writing,
    roots: Vec<Vec<u8>>,
    troubles: u64,
    /// True if the buffer holds output.
    waits: bool,
}

impl Answer {
    pub(super) fn begin(form: Form, null: bool, request: &Request) -> Answer {
        let writing = match Device::of_stdout() {
            _ if form == Form::Json => Writing::Json,
            _ if null => Writing::Bytes(0),
            Device::Terminal => Writing::Quoted(Locale::from_env()),
            Device::Other => Writing::Bytes(b'\n'),
        };
        let roots = request.roots().iter();
        Answer {
            report: rows::report(&SCHEMA, form),
            writing,
            roots: roots.map(|root| root.shown().to_vec()).collect(),
            troubles: 0,
            waits: false,
        }
    }

    /// Prints a record.
    pub(super) fn record(&mut self, record: &RecordRef<'_>, who: ServedBy) -> Result<(), Failure> {
        self.waits = true;
        if let Outcome::Error(_) = record.outcome {
            self.troubles += 1;
        }
        if let Writing::Json = self.writing {
            let root = self.roots.get(record.root as usize);
            let root = root.map_or(&b""[..], |root| root);
            return Ok(self.report.row(|row| fill(row, root, record, who))?);
        }
        match record.outcome {
            Outcome::Match(attributes) => self.path(record.path, attributes),
            Outcome::Error(trouble) => {
                let root = self.root(record.root);
                say(told(root, record.path, trouble));
                Ok(())
            }
        }
    }

    fn root(&self, number: u32) -> &[u8] {
        let root = self.roots.get(number as usize);
        root.map_or(b"", |root| &root[..])
    }

    fn path(&mut self, path: &[u8], attributes: Option<Attributes>) -> Result<(), Failure> {
        if let Some(attributes) = attributes {
            columns(self.report.output(), &attributes).map_err(Failure::Write)?;
        }
        match self.writing {
            Writing::Bytes(end) => {
                self.report.put(path)?;
                Ok(self.report.put([end])?)
            }
            Writing::Quoted(locale) => {
                self.report.put(Quoting::ShellEscape.quote(path, locale))?;
                Ok(self.report.put("\n")?)
            }
            Writing::Json => Ok(()),
        }
    }

    /// Writes the buffer, because nothing may come for a while.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.waits) {
            self.report.output().flush().map_err(Failure::Write)?;
        }
        Ok(())
    }

    /// Writes the rest, and returns how the command ends.
    pub(super) fn finish(self) -> Result<Exit, Failure> {
        rows::finish(self.report)?;
        Ok(Exit::from_issues(self.troubles))
    }
}

fn fill(row: &mut Row<'_>, root: &[u8], record: &RecordRef<'_>, who: ServedBy) {
    row.put(&fields::ROOT, root)
        .put(&fields::PATH, record.path)
        .put(&SERVED_BY, who.name());
    match record.outcome {
        Outcome::Match(None) => {}
        Outcome::Match(Some(of)) => {
            row.put(&MODE, of.mode)
                .put(&fields::PERMISSIONS, &record::permissions(of.mode))
                .put(&NLINK, of.nlink)
                .put(&UID, of.uid)
                .put(&GID, of.gid)
                .put(&SIZE, of.size)
                .put(&BLOCKS, of.blocks)
                .put(&BLKSIZE, of.blksize)
                .put(&DEV, of.dev)
                .put(&INO, of.ino)
                .put(&RDEV, of.rdev)
                .put(&ATIME, of.atime)
                .put(&MTIME, of.mtime)
                .put(&CTIME, of.ctime);
        }
        Outcome::Error(trouble) => {
            row.put(&ERROR, trouble.source.name())
                .put(&fields::ERRNO, trouble.errno)
                .put(&fields::MESSAGE, &message(trouble));
        }
    }
}

/// Writes the columns before a path: mode, links, owner, group, size, time of last change.
fn columns(output: &mut Output, of: &Attributes) -> io::Result<()> {
    output.write_all(&mode::render(of.mode))?;
    let (nlink, uid, gid, size) = (of.nlink, of.uid, of.gid, of.size);
    let mtime = decimal(of.mtime);
    write!(output, " {nlink} {uid} {gid} {size} {mtime} ")
}

fn message(trouble: Trouble) -> String {
    cause(&io::Error::from_raw_os_error(trouble.errno))
}

/// Describes an error for people.
fn told(root: &[u8], path: &[u8], trouble: Trouble) -> String {
    use trawl_call::Source;
    let path = quoted(path);
    let root = quoted(root);
    let why = message(trouble);
    match trouble.source {
        Source::Open => format!("cannot open {path} in {root}: {why}"),
        Source::Read => format!("cannot read {path} in {root}: {why}"),
        Source::Close => format!("cannot close {path} in {root}: {why}"),
        Source::Stat => format!("cannot stat {path} in {root}: {why}"),
        Source::Depth => format!("{path} in {root} is too deep: raise --max-depth"),
        Source::Loop => format!("{path} in {root} leads back to a directory above it"),
    }
}
