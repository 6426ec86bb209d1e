//! A file as parsers read it: by position, no further than the limits allow.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use trawl_hooks::Limits;
use trawl_hooks::found::{Fault, Findings};

/// A file.
#[derive(Debug)]
pub(crate) struct Input {
    file: Arc<File>,
    size_bytes: u64,
    pub(crate) limits: Limits,
}

impl Input {
    pub(crate) fn new(file: File, size_bytes: u64, limits: Limits) -> Input {
        Input {
            file: Arc::new(file),
            size_bytes,
            limits,
        }
    }

    /// Returns a reader of the whole file, which seeks and does not share its position.
    pub(crate) fn reader(&self) -> BufReader<Cursor<'_>> {
        BufReader::with_capacity(64 << 10, Cursor { input: self, at: 0 })
    }

    /// Returns the file, for a library that keeps it.
    pub(crate) fn shared(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Returns the file's size when it was looked at.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns the first bytes, and whether these are all.
    pub(crate) fn beginning(&self, bytes: u64) -> io::Result<(Vec<u8>, bool)> {
        let bytes = bytes.min(self.limits.input_bytes);
        let mut read = Vec::with_capacity(usize::try_from(bytes.min(self.size_bytes)).unwrap_or(0));
        let cursor = Cursor { input: self, at: 0 };
        cursor.take(bytes).read_to_end(&mut read)?;
        let is_all = read.len() as u64 >= self.size_bytes;
        Ok((read, is_all))
    }

    /// Returns all bytes, or `None`, with a problem, if the file cannot be read or is too large.
    pub(crate) fn all(&self, findings: &mut Findings) -> Option<Vec<u8>> {
        if self.size_bytes > self.limits.input_bytes {
            findings.exceeded("size of a file of this format");
            return None;
        }
        match self.beginning(self.limits.input_bytes) {
            Ok((read, _)) => Some(read),
            Err(error) => {
                unreadable(&error, findings);
                None
            }
        }
    }
}

/// Reports that the file cannot be read.
pub(crate) fn unreadable(error: &io::Error, findings: &mut Findings) {
    findings.problem(Fault::Unreadable, &format!("cannot read: {error}"));
}

/// Reports that the file is not as its format demands.
pub(crate) fn damaged(error: impl std::fmt::Display, findings: &mut Findings) {
    findings.problem(Fault::Damaged, &error.to_string());
}

/// A position in a file.
#[derive(Debug)]
pub(crate) struct Cursor<'i> {
    input: &'i Input,
    at: u64,
}

impl Read for Cursor<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Cursor<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.input.size_bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
