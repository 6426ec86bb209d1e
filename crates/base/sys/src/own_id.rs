//! The id of this process, without a system call each time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A page that the kernel fills with zeros in every child, however it is made; `None` if the kernel
/// cannot do that.
static PAGE: OnceLock<Option<&'static AtomicU32>> = OnceLock::new();

/// Length of the page in bytes; the kernel rounds up.
const LENGTH: usize = 4096;

/// Returns the id of the calling process, also in a child that was forked without the C library.
///
/// Source: `MADV_WIPEONFORK`, <https://man7.org/linux/man-pages/man2/madvise.2.html>
#[must_use]
pub fn own_id() -> u32 {
    let Some(page) = PAGE.get_or_init(page) else {
        return std::process::id();
    };
    match page.load(Ordering::Relaxed) {
        0 => {
            let id = std::process::id();
            page.store(id, Ordering::Relaxed);
            id
        }
        id => id,
    }
}

fn page() -> Option<&'static AtomicU32> {
    // SAFETY: a new private mapping at an address that the kernel chooses. It is never unmapped, is
    // aligned to a page, and all of its bit patterns are valid numbers.
    unsafe {
        let page = libc::mmap(
            std::ptr::null_mut(),
            LENGTH,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if page == libc::MAP_FAILED {
            return None;
        }
        match libc::madvise(page, LENGTH, libc::MADV_WIPEONFORK) {
            0 => Some(&*page.cast::<AtomicU32>()),
            _ => {
                libc::munmap(page, LENGTH);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_has_an_id_of_its_own() {
        let own = own_id();
        assert_eq!((own, own_id()), (std::process::id(), std::process::id()));
        // SAFETY: the child calls nothing but functions that are safe after fork(2).
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_right = own_id() == std::process::id() && own_id() != own;
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!is_right)) };
        }
        let mut status = 0;
        // SAFETY: `status` is valid for the call.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((waited, status), (child, 0));
        assert_eq!(own_id(), own);
    }
}
