//! Reads a file at any offset through one buffer.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Number of bytes read at a time when a trace is read sequentially.
pub(crate) const READ_AHEAD_BYTES: usize = 512 << 10;

/// The part of a file that is in memory.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    file: &'a File,
    size: u64,
    /// Buffer that only grows; `len` bytes of it hold the file's data from `start` on.
    buffer: Vec<u8>,
    len: usize,
    start: u64,
}

impl<'a> Window<'a> {
    /// Makes a window on a file of `size` bytes.
    pub(crate) fn new(file: &'a File, size: u64) -> Self {
        Window {
            file,
            size,
            buffer: Vec::new(),
            len: 0,
            start: 0,
        }
    }

    /// Returns the file's size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns at least `want` bytes from `offset` on, fewer only at the end of the file. If it has
    /// to read, it reads `read_ahead` bytes.
    pub(crate) fn get(&mut self, offset: u64, want: usize, read_ahead: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let want = want.min(left);
        let has = offset
            .checked_sub(self.start)
            .and_then(|skip| usize::try_from(skip).ok())
            .filter(|skip| skip.checked_add(want).is_some_and(|end| end <= self.len));
        let skip = match has {
            Some(skip) => skip,
            None => {
                self.fill(offset, want.max(read_ahead).min(left))?;
                0
            }
        };
        Ok(self.buffer.get(skip..self.len).unwrap_or_default())
    }

    fn fill(&mut self, offset: u64, length: usize) -> io::Result<()> {
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        (self.start, self.len) = (offset, 0);
        while let Some(room) = self
            .buffer
            .get_mut(self.len..length)
            .filter(|r| !r.is_empty())
        {
            match self.file.read_at(room, offset + self.len as u64) {
                // The file was truncated meanwhile; the missing data is cut off.
                Ok(0) => break,
                Ok(more) => self.len += more,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
