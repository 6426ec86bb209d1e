//! Reads a client's lines, and writes lines to it.

use std::io;
use std::time::{Duration, Instant};

use crate::frames::send;
use crate::transport::{Receive, Transmit};

/// Maximum length of a line in bytes.
const LINE_MAX_BYTES: usize = 16 << 10;
/// Number of bytes that are sent at once.
const PIECE_BYTES: usize = 64 << 10;

/// Reads lines.
pub(super) struct LineReader {
    from: Box<dyn Receive>,
    bytes: Vec<u8>,
    /// Maximum time for a line to arrive once it has begun.
    half: Duration,
}

impl LineReader {
    pub(super) fn new(from: Box<dyn Receive>, half: Duration) -> LineReader {
        LineReader {
            from,
            bytes: Vec::new(),
            half,
        }
    }

    /// Returns the next line without its line break, if it begins within `patience`; `None` if the
    /// client has disconnected or sends nothing.
    pub(super) fn next(&mut self, patience: Duration) -> io::Result<Option<Vec<u8>>> {
        let begun = Instant::now();
        let mut looked = 0;
        loop {
            if let Some(at) = self.bytes[looked..].iter().position(|byte| *byte == b'\n') {
                let rest = self.bytes.split_off(looked + at + 1);
                let mut line = std::mem::replace(&mut self.bytes, rest);
                line.pop();
                line.retain(|byte| *byte != b'\r');
                return Ok(Some(line));
            }
            looked = self.bytes.len();
            if looked > LINE_MAX_BYTES {
                return Err(io::Error::other("a line is too long"));
            }
            let whole = match looked {
                0 => patience,
                _ => self.half,
            };
            let left = whole.saturating_sub(begun.elapsed());
            let mut piece = [0; 4096];
            match self.from.receive(&mut piece, left) {
                Ok(0) if self.bytes.is_empty() => return Ok(None),
                Ok(0) => return Err(io::Error::other("the connection ended within a line")),
                Ok(count) => self.bytes.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::TimedOut && looked == 0 => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Writes lines.
pub(super) struct LineWriter {
    to: Box<dyn Transmit>,
    waiting: Vec<u8>,
    stall: Duration,
}

impl LineWriter {
    pub(super) fn new(to: Box<dyn Transmit>, stall: Duration) -> LineWriter {
        LineWriter {
            to,
            waiting: Vec::new(),
            stall,
        }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        match self.waiting.len() >= PIECE_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        send(&mut *self.to, &self.waiting, self.stall)?;
        self.waiting.clear();
        Ok(())
    }
}
