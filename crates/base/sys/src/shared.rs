//! A small file that is written through a memory mapping: stored bytes are visible to later readers
//! of the file at once, however this process ends, and writing causes no event.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Errno, Op, SysError};

/// The first bytes of a file, mapped shared and writable.
#[derive(Debug)]
pub struct SharedBytes {
    start: *mut AtomicU8,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone, and its bytes are only used as atomics.
unsafe impl Send for SharedBytes {}

impl SharedBytes {
    /// Maps the first `length` bytes of a file that is open for reading and writing; a shorter file
    /// is extended with zeroes. The file must not be truncated below `length` while the mapping
    /// exists.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/mmap.2.html>
    pub fn of(file: &File, length: usize) -> Result<Self, SysError> {
        let io =
            |op| move |e: std::io::Error| SysError::new(op, Errno(e.raw_os_error().unwrap_or(0)));
        let had = file.metadata().map_err(io(Op::Statx))?.len();
        let had = usize::try_from(had).unwrap_or(length);
        if had < length {
            // The zeroes are written, so that a later store cannot meet a full disk.
            let zeroes = vec![0; length - had];
            file.write_all_at(&zeroes, had as u64)
                .map_err(io(Op::Write))?;
        }
        // SAFETY: this makes a new mapping, at an address chosen by the kernel, of a file that is
        // open for reading and writing.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match start == libc::MAP_FAILED {
            true => Err(SysError::last(Op::Mmap)),
            false => Ok(SharedBytes {
                start: start.cast(),
                length,
            }),
        }
    }

    fn bytes(&self) -> &[AtomicU8] {
        // SAFETY: the mapping has that many bytes and lives as long as `self`; it is accessed in no
        // other way, and any byte is a valid value.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    /// Returns a copy of the bytes.
    #[must_use]
    pub fn get(&self) -> Vec<u8> {
        let bytes = self.bytes().iter();
        bytes.map(|byte| byte.load(Ordering::SeqCst)).collect()
    }

    /// Replaces the bytes from front to back; missing bytes become zero, excess bytes are ignored.
    pub fn set(&self, new: &[u8]) {
        let new = new.iter().copied().chain(std::iter::repeat(0));
        for (byte, new) in self.bytes().iter().zip(new) {
            byte.store(new, Ordering::SeqCst);
        }
    }
}

impl Drop for SharedBytes {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `of`, and nothing borrows it any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_in_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"before").unwrap();
        let shared = SharedBytes::of(&file.reopen().unwrap(), 100);
        // A file opened for reading only cannot be mapped writable.
        assert!(SharedBytes::of(&File::open(file.path()).unwrap(), 6).is_err());
        let shared = shared.unwrap();
        assert!(shared.get().starts_with(b"before\0"));
        shared.set(b"new");
        let read = std::fs::read(file.path()).unwrap();
        assert_eq!((read.len(), &read[..7]), (100, &b"new\0\0\0\0"[..]));
    }
}
