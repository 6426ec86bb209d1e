//! Files with the same content: of the same size, and then equal byte by byte when both are read
//! now. Other names of the same file are no other files.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trawl_text::words::cause;

use crate::candidates::{Candidates, name};
use crate::kind::{Direction, Kind};
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
        let file = File::open(path)?;
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
