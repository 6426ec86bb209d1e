//! The source of a sidecar's bytes.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes that several threads can read at any offset.
pub trait ReadAt {
    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`] if there are fewer bytes.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()>;
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(buffer, offset)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|at| self.get(at..)?.get(..buffer.len()));
        let bytes = bytes.ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.as_slice().read_at(buffer, offset)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        (**self).read_at(buffer, offset)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Arc<T> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        (**self).read_at(buffer, offset)
    }
}
