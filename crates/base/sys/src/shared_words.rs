//! Memory that processes share through a file, as words that all of them may change concurrently.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;

use crate::error::{Errno, Op, SysError};

/// The first words of a file, mapped shared and writable.
#[derive(Debug)]
pub struct SharedWords {
    start: *mut AtomicU64,
    count: usize,
}

// SAFETY: the mapping belongs to this value alone, and its words are only used as atomics.
unsafe impl Send for SharedWords {}
// SAFETY: as above; several threads may use atomics.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Sets the length of a file, which is open for reading and writing, to `count` words, and maps
    /// them. The file must not be truncated while the mapping exists.
    ///
    /// # Errors
    /// Returns the kernel's error.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/mmap.2.html>
    pub fn of(file: &File, count: usize) -> Result<Self, SysError> {
        let bytes = count * size_of::<u64>();
        let failed =
            |e: std::io::Error| SysError::new(Op::Write, Errno(e.raw_os_error().unwrap_or(0)));
        file.set_len(bytes as u64).map_err(failed)?;
        // SAFETY: this makes a new mapping, at an address chosen by the kernel, of a file that is
        // open for reading and writing.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match start == libc::MAP_FAILED {
            true => Err(SysError::last(Op::Mmap)),
            false => Ok(SharedWords {
                start: start.cast(),
                count,
            }),
        }
    }

    /// Returns the words.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page boundary, has that many words and lives as long as
        // `self`; it is accessed in no other way, and any bits are a valid value.
        unsafe { std::slice::from_raw_parts(self.start, self.count) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        let bytes = self.count * size_of::<u64>();
        // SAFETY: the mapping was made by `of`, and nothing borrows it any more.
        unsafe { libc::munmap(self.start.cast(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn what_one_adds_the_other_sees() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let one = SharedWords::of(&file.reopen().unwrap(), 600).unwrap();
        let other = SharedWords::of(&file.reopen().unwrap(), 600).unwrap();
        one.words()[599].fetch_add(5, Ordering::SeqCst);
        assert_eq!(other.words()[599].load(Ordering::SeqCst), 5);
        assert_eq!(other.words().len(), 600);
    }
}
