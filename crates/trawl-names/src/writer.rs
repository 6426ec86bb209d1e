//! From names to a sidecar's bytes.

use crate::error::Result;

/// What a row is, as far as a sidecar says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A directory.
    Directory,
    /// Anything else.
    Other,
}

/// Makes a sidecar, fed in the segment's order: each directory, then its rows.
#[derive(Debug, Default)]
pub struct NamesWriter {
    bytes: Vec<u8>,
}

impl NamesWriter {
    /// An empty one.
    ///
    /// # Errors
    /// If there is no memory for a compressor.
    pub fn new() -> Result<NamesWriter> {
        Ok(NamesWriter::default())
    }

    /// Begins the next directory of the dirs table, whatever its kind; the
    /// rows that follow are in it.
    ///
    /// # Errors
    /// If there are too many.
    pub fn dir(&mut self, path: &[u8]) -> Result<()> {
        self.push(2, path);
        Ok(())
    }

    /// The next row.
    ///
    /// # Errors
    /// If names cannot be compressed or there are too many.
    pub fn row(&mut self, name: &[u8], kind: RowKind) -> Result<()> {
        self.push(u8::from(kind == RowKind::Directory), name);
        Ok(())
    }

    /// The whole file. `segment` is the hash of the entries file that it is
    /// of; who reads the sidecar compares it.
    ///
    /// # Errors
    /// As [`NamesWriter::row`].
    pub fn finish(mut self, segment: u128) -> Result<Vec<u8>> {
        self.bytes.extend(segment.to_le_bytes());
        Ok(self.bytes)
    }

    fn push(&mut self, tag: u8, bytes: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend((bytes.len() as u32).to_le_bytes());
        self.bytes.extend(bytes);
    }
}
