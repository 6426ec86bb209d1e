//! Files with the same content: of the same size, and then equal byte by byte when both are read
//! now. Other names of the same file are no other files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trawl_text::words::cause;

use crate::candidates::{Candidate, Candidates, name};
use crate::kind::{Direction, Kind};
use crate::references;
use crate::related::{Edge, Found, Source, about};

const BUFFER_BYTES: usize = 128 << 10;

/// Compares a file with candidates.
#[derive(Debug)]
pub struct SameContent<'c> {
    candidates: &'c Candidates,
}

impl<'c> SameContent<'c> {
    /// Uses these candidates.
    #[must_use]
    pub fn new(candidates: &'c Candidates) -> SameContent<'c> {
        SameContent { candidates }
    }
}

impl Source for SameContent<'_> {
    fn kinds(&self, kind: &Kind) -> bool {
        *kind == Kind::SameContent
    }

    fn edges(&mut self, file: &Path) -> Found {
        let mut found = Found::default();
        let own = match file.metadata() {
            Ok(own) if own.len() > 0 => own,
            _ => return found,
        };
        let identity = (own.dev(), own.ino());
        let is_alike =
            |other: &&Candidate| other.size_bytes == own.len() && other.identity != identity;
        let mut others = self.candidates.files.iter().filter(is_alike).peekable();
        if others.peek().is_none() {
            return found;
        }
        let mut reader = match open(file) {
            Ok(reader) => reader,
            Err(error) => {
                found.issues.push(unread(file, &error));
                return found;
            }
        };
        for other in others {
            match is_equal((file, &mut reader), &other.path) {
                Ok(true) => found.edges.push(Edge {
                    kind: Kind::SameContent,
                    direction: Direction::Forward,
                    path: other.path.clone(),
                    weight: 1.0,
                    identity: None,
                }),
                Ok(false) => {}
                Err(why) => found.issues.push(why),
            }
        }
        found
    }
}

fn open(path: &Path) -> io::Result<BufReader<File>> {
    // The file may have become a FIFO meanwhile.
    let file = references::open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(BufReader::with_capacity(BUFFER_BYTES, file)),
        false => Err(io::Error::other("it is no regular file any more")),
    }
}

/// Returns a message about the file that was asked about, as the source of references gives it.
fn unread(file: &Path, error: &io::Error) -> String {
    about(file, &format!("cannot read: {}", cause(error)))
}

/// Returns whether the file that was asked about, which is open, and another one have the same bytes.
///
/// # Errors
/// A message about the file that cannot be read.
fn is_equal((file, a): (&Path, &mut BufReader<File>), other: &Path) -> Result<bool, String> {
    let of_file = |error: io::Error| unread(file, &error);
    let of_other = |error: io::Error| format!("cannot compare {}: {}", name(other), cause(&error));
    a.rewind().map_err(of_file)?;
    let mut b = open(other).map_err(of_other)?;
    loop {
        let left = a.fill_buf().map_err(of_file)?;
        let right = b.fill_buf().map_err(of_other)?;
        let count = left.len().min(right.len());
        if count == 0 {
            return Ok(left.is_empty() && right.is_empty());
        }
        if left[..count] != right[..count] {
            return Ok(false);
        }
        a.consume(count);
        b.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_became_a_fifo_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let (file, fifo) = (folder.path().join("file"), folder.path().join("fifo"));
        std::fs::write(&file, "abc").unwrap();
        let made = trawl_testkit::oracle::command("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let candidates = Candidates {
            files: vec![Candidate {
                path: fifo,
                size_bytes: 3,
                identity: (0, 0),
            }],
            issues: Vec::new(),
        };
        let found = SameContent::new(&candidates).edges(&file);
        assert!(found.edges.is_empty(), "{:?}", found.edges);
        assert_eq!(found.issues.len(), 1, "{:?}", found.issues);
        assert!(
            found.issues[0].starts_with("cannot compare"),
            "{:?}",
            found.issues
        );
    }
}
