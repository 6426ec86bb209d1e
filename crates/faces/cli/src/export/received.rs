//! Files of an export that come from a server.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use trawl_remote::RemoteError;
use trawl_remote::client::{Command, OutputStream, Part};
use trawl_remote::rows::{Piece, Pieces, Row};
use trawl_remote::wire::BadFrame;
use trawl_text::units::{Scale, format};

use super::destination::{ABOUT, Destination, ExportError};
use super::{Progress, part_name};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live;
use crate::sql::{ExportArgs, Format};

/// Writes what a server answers to a question with these arguments, and returns the exit code there.
/// `tell` prints messages of the server.
pub(crate) fn receive(
    server: &str,
    mut command: Command,
    args: &ExportArgs,
    tell: fn(&[u8]),
) -> Result<u8, Failure> {
    let nonsense = |source| RemoteError::Nonsense {
        server: server.to_owned(),
        source,
    };
    let mut files = Files::new(args)?;
    let mut pieces = Pieces::default();
    let code = loop {
        while let Some(piece) = pieces.take().map_err(nonsense)? {
            let taken = match piece {
                Piece::Row(row) => files.take(&row)?,
                Piece::Beginning(_) => None,
            };
            taken.ok_or(nonsense(BadFrame::Field("row of an export")))?;
        }
        match command.next_part(&|| !live::is_interrupted())? {
            Part::Printed(OutputStream::Output, bytes) => pieces.add(&bytes),
            Part::Printed(OutputStream::Errors, bytes) => {
                files.progress.end();
                tell(&bytes);
            }
            Part::Exited(code) => break u8::try_from(code).unwrap_or(Exit::Fatal.code()),
        }
    };
    files.progress.end();
    // Otherwise it was refused or broke off there, which the server has said.
    if code <= Exit::Issues.code() {
        pieces.end().map_err(nonsense)?;
        let whole = files.publish()?;
        whole.ok_or(nonsense(BadFrame::Field("end of an export")))?;
    }
    Ok(code)
}

/// The files of an export.
struct Files {
    destination: Destination,
    format: Format,
    /// The tables of the question, with the number of their parts so far.
    tables: Vec<(&'static str, u64)>,
    /// Whether the description has come.
    is_described: bool,
    /// The file that is being written, and its name.
    open: Option<(String, PathBuf, File)>,
    /// Number of bytes that have come.
    bytes: u64,
    progress: Progress,
}

impl Files {
    fn new(args: &ExportArgs) -> Result<Files, ExportError> {
        let (format, dir) = args.wanted()?;
        let tables = args.wanted_tables().into_iter();
        Ok(Files {
            destination: Destination::make(dir, args.force)?,
            format,
            tables: tables.map(|table| (table.name(), 0)).collect(),
            is_described: false,
            open: None,
            bytes: 0,
            progress: Progress::new(),
        })
    }

    /// Takes bytes or the end of a file; `None` if the server sends something else.
    fn take(&mut self, row: &Row) -> Result<Option<()>, ExportError> {
        let (name, bytes) = match &row.fields[..] {
            [name] => (name, None),
            [name, bytes] => (name, Some(bytes)),
            _ => return Ok(None),
        };
        let Ok(name) = std::str::from_utf8(name) else {
            return Ok(None);
        };
        if self.open.is_none() && self.begin(name)?.is_none() {
            return Ok(None);
        }
        let Some((open, path, file)) = &mut self.open else {
            return Ok(None);
        };
        if open != name {
            return Ok(None);
        }
        let failed = |source| ExportError::file("write", path, source);
        match bytes {
            Some(bytes) => {
                file.write_all(bytes).map_err(failed)?;
                self.bytes += bytes.len() as u64;
                let all = self.bytes;
                self.progress.show(|| {
                    let all = format(u128::from(all), Scale::Binary);
                    format!("{name}: {all} received")
                });
            }
            None => {
                file.sync_all().map_err(failed)?;
                self.open = None;
            }
        }
        Ok(Some(()))
    }

    /// Makes a file; `None` if it is not one that may come next.
    fn begin(&mut self, name: &str) -> Result<Option<()>, ExportError> {
        let expected = |(table, parts): &(&str, u64)| {
            let part = part_name(parts + 1, self.format);
            name.strip_prefix(table)
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|rest| rest == part)
        };
        let table = self.tables.iter().position(expected);
        match table.and_then(|at| self.tables.get_mut(at)) {
            Some((table, parts)) => {
                if *parts == 0 {
                    self.destination.make_table(table)?;
                }
                *parts += 1;
            }
            None if name == ABOUT && !self.is_described => self.is_described = true,
            None => return Ok(None),
        }
        let path = self.destination.part().join(name);
        let mut options = File::options();
        // File names and sizes are private to the owner.
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|source| ExportError::file("write", &path, source))?;
        self.open = Some((name.to_owned(), path, file));
        Ok(Some(()))
    }

    /// Gives the export its name; `None` if something is missing.
    fn publish(self) -> Result<Option<()>, ExportError> {
        let has_all = self.tables.iter().all(|(_, parts)| *parts > 0);
        if self.open.is_some() || !self.is_described || !has_all {
            return Ok(None);
        }
        for (table, _) in &self.tables {
            self.destination.sync_table(table)?;
        }
        self.destination.publish().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command as Asked, arguments};
    use std::path::Path;
    use trawl_testkit::Scratch;

    fn args(dir: &Path) -> Box<ExportArgs> {
        let words = ["trawl", "export", "--tables", "entries,issues", "--csv"];
        let words = words.into_iter().map(Into::into).chain([dir.into()]);
        match arguments::parse(words.collect()).expect("valid").command {
            Asked::Export(args) => args,
            _ => panic!("it is an export"),
        }
    }

    /// Returns whether the rows are taken, and whether they are a whole export.
    fn taken(dir: &Scratch, name: &str, rows: &[&[&str]]) -> (bool, bool) {
        let mut files = Files::new(&args(&dir.join(name))).expect("room");
        for fields in rows {
            let row = Row {
                key: Vec::new(),
                fields: fields
                    .iter()
                    .map(|field| field.as_bytes().to_vec())
                    .collect(),
            };
            if files.take(&row).expect("room").is_none() {
                return (false, false);
            }
        }
        (true, files.publish().expect("room").is_some())
    }

    #[test]
    fn only_the_files_of_the_question_are_made() {
        let dir = Scratch::new("export-received");
        let whole: &[&[&str]] = &[
            &["entries/part-00001.csv", "a"],
            &["entries/part-00001.csv", "b"],
            &["entries/part-00001.csv"],
            &["entries/part-00002.csv"],
            &["issues/part-00001.csv", "x"],
            &["issues/part-00001.csv"],
            &["export.json", "{}"],
            &["export.json"],
        ];
        assert_eq!(taken(&dir, "whole", whole), (true, true));
        let read = |name: &str| std::fs::read_to_string(dir.join("whole").join(name));
        assert_eq!(read("entries/part-00001.csv").expect("it was made"), "ab");
        assert_eq!(read("entries/part-00002.csv").expect("it was made"), "");
        for (row, number) in [
            (&["../x", "a"][..], 0),
            (&["/etc/x", "a"], 0),
            (&["entries/../x", "a"], 0),
            (&["entries/part-00002.csv", "a"], 0),
            (&["entries/part-00001.parquet", "a"], 0),
            (&["dirs/part-00001.csv", "a"], 0),
            (&["entries/part-00001.csv", "a", "b"], 0),
            (&[], 0),
            (&["issues/part-00001.csv", "a"], 1),
            (&["entries/part-00001.csv", "a"], 3),
            (&["export.json", "a"], 8),
        ] {
            let rows = [&whole[..number], &[row]].concat();
            assert_eq!(taken(&dir, "not", &rows), (false, false), "{row:?}");
            assert!(!dir.join("not").exists(), "{row:?}");
        }
        // What breaks off is no export.
        for length in 0..whole.len() {
            assert_eq!(taken(&dir, "not", &whole[..length]), (true, false));
            assert!(!dir.join("not").exists(), "{length}");
        }
        let left = std::fs::read_dir(dir.join(".")).expect("our own").count();
        assert_eq!(left, 1, "only the whole export");
    }
}
