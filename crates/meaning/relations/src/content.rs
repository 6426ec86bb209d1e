//! Files with the same content: of the same size, and then equal byte by byte when both are read
//! now. Other names of the same file are no other files.

use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trawl_text::words::cause;

use crate::candidates::{Candidates, name};
use crate::kind::{Direction, Kind};
use crate::references;
use crate::related::{Edge, Found, Source};

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
        for other in &self.candidates.files {
            if other.size_bytes != own.len() || other.identity == identity {
                continue;
            }
            match is_equal(file, &other.path) {
                Ok(true) => found.edges.push(Edge {
                    kind: Kind::SameContent,
                    direction: Direction::Forward,
                    path: other.path.clone(),
                    weight: 1.0,
                    identity: None,
                }),
                Ok(false) => {}
                Err(error) => {
                    let (path, why) = (name(&other.path), cause(&error));
                    found.issues.push(format!("cannot compare {path}: {why}"));
                }
            }
        }
        found
    }
}

/// Returns whether two files have the same bytes.
fn is_equal(a: &Path, b: &Path) -> io::Result<bool> {
    let open = |path: &Path| {
        // The file may have become a FIFO meanwhile.
        let file = references::open(path)?;
        match file.metadata()?.is_file() {
            true => Ok(BufReader::with_capacity(BUFFER_BYTES, file)),
            false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    };
    let (mut a, mut b) = (open(a)?, open(b)?);
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
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
    use crate::candidates::Candidate;

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
