//! Splits a stream of bytes into records of bounded size: lines of JSON, matching lines with the
//! names of their files, or names.
//!
//! Invariants: memory is bounded, whatever the stream contains; a record that is too long is cut,
//! and its whole length is known; a wait for a record may be given up and begun again without a loss.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// How records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At a newline.
    Newline,
    /// At a NUL byte.
    Nul,
    /// At the first newline after a NUL byte: names may contain newlines, so they end with NUL.
    NulThenNewline,
}

/// A record, without its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// Its whole length.
    pub length: u64,
}

impl Record {
    /// Returns whether bytes are missing.
    pub fn is_cut(&self) -> bool {
        self.length > self.bytes.len() as u64
    }
}

/// Number of bytes that are read at a time.
const CHUNK_BYTES: usize = 16 << 10;

/// A stream of records.
#[derive(Debug)]
pub struct Records<R> {
    source: R,
    ending: Ending,
    most_bytes: usize,
    /// Bytes that were read but not examined yet.
    chunk: Vec<u8>,
    at: usize,
    /// The record that has begun.
    begun: Record,
    has_nul: bool,
}

impl<R: AsyncRead + Unpin> Records<R> {
    /// Makes a stream whose records keep at most this number of bytes.
    pub fn new(source: R, ending: Ending, most_bytes: usize) -> Records<R> {
        Records {
            source,
            ending,
            most_bytes,
            chunk: Vec::with_capacity(CHUNK_BYTES),
            at: 0,
            begun: Record::default(),
            has_nul: false,
        }
    }

    /// Returns the next record; `None` at the end of the stream. A last record without its end counts.
    ///
    /// # Errors
    /// Fails if the stream cannot be read.
    pub async fn next(&mut self) -> io::Result<Option<Record>> {
        loop {
            if let Some(record) = self.take() {
                return Ok(Some(record));
            }
            self.chunk.clear();
            self.at = 0;
            // If it is given up, nothing has been read.
            if self.source.read_buf(&mut self.chunk).await? == 0 {
                let last = std::mem::take(&mut self.begun);
                self.has_nul = false;
                return Ok((last.length > 0).then_some(last));
            }
        }
    }

    /// Returns the next bytes, whatever records they contain; `None` at the end of the stream.
    ///
    /// # Errors
    /// Fails if the stream cannot be read.
    pub async fn next_bytes(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::with_capacity(CHUNK_BYTES);
        match self.source.read_buf(&mut bytes).await? {
            0 => Ok(None),
            _ => Ok(Some(bytes)),
        }
    }

    /// Looks at the rest of the chunk, and returns the record that ends in it.
    fn take(&mut self) -> Option<Record> {
        while let Some(&byte) = self.chunk.get(self.at) {
            self.at += 1;
            if self.ends(byte) {
                self.has_nul = false;
                return Some(std::mem::take(&mut self.begun));
            }
            self.has_nul |= byte == 0;
            self.begun.length += 1;
            if self.begun.bytes.len() < self.most_bytes {
                self.begun.bytes.push(byte);
            }
        }
        None
    }

    fn ends(&self, byte: u8) -> bool {
        match self.ending {
            Ending::Newline => byte == b'\n',
            Ending::Nul => byte == 0,
            Ending::NulThenNewline => byte == b'\n' && self.has_nul,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], ending: Ending, most_bytes: usize) -> Vec<Record> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(async {
            let mut records = Records::new(bytes, ending, most_bytes);
            let mut found = Vec::new();
            while let Some(record) = records.next().await.expect("memory can be read") {
                found.push(record);
            }
            found
        })
    }

    fn texts(bytes: &[u8], ending: Ending) -> Vec<Vec<u8>> {
        all(bytes, ending, 100)
            .into_iter()
            .map(|record| record.bytes)
            .collect()
    }

    #[test]
    fn records_end_as_they_should() {
        assert_eq!(texts(b"a\n\nb", Ending::Newline), [&b"a"[..], b"", b"b"]);
        assert_eq!(texts(b"a\nb\0c\0", Ending::Nul), [&b"a\nb"[..], b"c"]);
        let hits = texts(b"a\nb\x001:x\0y\nc\x002:\n", Ending::NulThenNewline);
        assert_eq!(hits, [&b"a\nb\x001:x\0y"[..], b"c\x002:"]);
        assert!(texts(b"", Ending::Newline).is_empty());
    }

    #[test]
    fn long_records_are_cut_and_counted() {
        let long = [vec![b'x'; 3 * CHUNK_BYTES], b"\ny\n".to_vec()].concat();
        let found = all(&long, Ending::Newline, 10);
        assert_eq!(found[0].bytes, b"xxxxxxxxxx");
        assert_eq!(found[0].length, 3 * CHUNK_BYTES as u64);
        assert!(found[0].is_cut() && !found[1].is_cut());
        assert_eq!(found[1].bytes, b"y");
    }
}
