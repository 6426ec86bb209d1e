//! Output of `trawl search`.

use std::io::{self, Write};

use trawl_call::{Attributes, Outcome, RecordRef, Request, ServedBy, Trouble};
use trawl_text::json::{Object, decimal};
use trawl_text::locale::Locale;
use trawl_text::mode;
use trawl_text::quote::Quoting;

use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted};
use crate::output::{Device, Output, say};

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
    output: Output,
    writing: Writing,
    roots: Vec<Vec<u8>>,
    troubles: u64,
    /// True if the buffer holds output.
    waits: bool,
}

impl Answer {
    pub(super) fn begin(json: bool, null: bool, request: &Request) -> Answer {
        let writing = match Device::of_stdout() {
            _ if json => Writing::Json,
            _ if null => Writing::Bytes(0),
            Device::Terminal => Writing::Quoted(Locale::from_env()),
            Device::Other => Writing::Bytes(b'\n'),
        };
        let roots = request.roots().iter();
        Answer {
            output: Output::stdout(),
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
            let line = self.json(record, who).close() + "\n";
            return self.output.put(line);
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
            columns(&mut self.output, &attributes).map_err(Failure::Write)?;
        }
        match self.writing {
            Writing::Bytes(end) => {
                self.output.put(path)?;
                self.output.put([end])
            }
            Writing::Quoted(locale) => {
                self.output.put(Quoting::ShellEscape.quote(path, locale))?;
                self.output.put("\n")
            }
            Writing::Json => Ok(()),
        }
    }

    fn json(&self, record: &RecordRef<'_>, who: ServedBy) -> Object {
        let object = Object::new()
            .bytes("root", self.root(record.root))
            .bytes("path", record.path)
            .text("served_by", who.name());
        match record.outcome {
            Outcome::Match(None) => object,
            Outcome::Match(Some(of)) => object
                .number("mode", of.mode)
                .text("permissions", &trawl_find::record::permissions(of.mode))
                .number("nlink", of.nlink)
                .number("uid", of.uid)
                .number("gid", of.gid)
                .number("size", of.size)
                .number("blocks", of.blocks)
                .number("blksize", of.blksize)
                .number("dev", of.dev)
                .number("ino", of.ino)
                .number("rdev", of.rdev)
                .time("atime", Some(of.atime))
                .time("mtime", Some(of.mtime))
                .time("ctime", Some(of.ctime)),
            Outcome::Error(trouble) => object
                .text("error", trouble.source.name())
                .number("errno", trouble.errno)
                .text("message", &message(trouble)),
        }
    }

    /// Writes the buffer, because nothing may come for a while.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.waits) {
            self.output.flush().map_err(Failure::Write)?;
        }
        Ok(())
    }

    /// Writes the rest, and returns how the command ends.
    pub(super) fn finish(self) -> Result<Exit, Failure> {
        self.output.finish()?;
        Ok(Exit::from_issues(self.troubles))
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
