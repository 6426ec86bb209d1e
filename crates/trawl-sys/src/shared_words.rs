//! Memory that processes share through a file, as numbers that all of them may change at once.

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

// SAFETY: the mapping belongs to the value alone, and its words are only used as atomics.
unsafe impl Send for SharedWords {}
// SAFETY: as above; atomics may be used by several threads.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps the first `count` words of a file that is open for reading and writing, and makes it
    /// that long. Nobody must make it shorter while this exists.
    ///
    /// # Errors
    /// What the kernel says.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/mmap.2.html>
    pub fn of(file: &File, count: usize) -> Result<Self, SysError> {
        let bytes = count * size_of::<u64>();
        let failed =
            |e: std::io::Error| SysError::new(Op::Write, Errno(e.raw_os_error().unwrap_or(0)));
        file.set_len(bytes as u64).map_err(failed)?;
        // SAFETY: a new mapping at an address of the kernel's choice, of a file that is open so.
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

    /// The words.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page and has that many words, for as long as `self`, and
        // is used in no other way; any bits are a value.
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
