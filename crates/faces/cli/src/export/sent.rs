//! Files of an export on their way to a client on another machine: rows of standard output.
//!
//! | fields of a row | meaning |
//! |---|---|
//! | name, bytes | the next bytes of this file |
//! | name | the file is complete |
//!
//! A name is `TABLE/part-NNNNN.END`, parts counted from 1, or `export.json`. Files follow one another.

use std::io::{self, Write};

use trawl_remote::rows::{Piece, Row};

use crate::unlocked::Unlocked;

/// Bytes that are sent together.
const CHUNK_BYTES: usize = 256 << 10;

/// A file that is sent to a client while it is written.
#[derive(Debug)]
pub struct Sent {
    name: String,
    /// Bytes that have not been sent yet.
    bytes: Vec<u8>,
}

impl Sent {
    /// Begins a file with this name.
    #[must_use]
    pub fn new(name: String) -> Sent {
        Sent {
            name,
            bytes: Vec::with_capacity(CHUNK_BYTES),
        }
    }

    /// Sends the rest of the file.
    ///
    /// # Errors
    /// If the client does not take it.
    pub fn finish(&mut self) -> io::Result<()> {
        self.send_bytes()?;
        self.send(Vec::new())?;
        Unlocked::stdout().flush()
    }

    fn send_bytes(&mut self) -> io::Result<()> {
        match self.bytes.is_empty() {
            true => Ok(()),
            false => {
                let bytes = std::mem::take(&mut self.bytes);
                self.send(vec![bytes])
            }
        }
    }

    fn send(&self, rest: Vec<Vec<u8>>) -> io::Result<()> {
        let fields = [self.name.clone().into_bytes()].into_iter();
        let row = Piece::Row(Row {
            key: Vec::new(),
            fields: fields.chain(rest).collect(),
        });
        Unlocked::stdout().write_all(&row.encode())
    }
}

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= CHUNK_BYTES {
            self.send_bytes()?;
        }
        Ok(bytes.len())
    }

    /// Sends nothing: rows are large.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
