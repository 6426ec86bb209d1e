//! Maps the run's page (`trawl_table::page`) into this process.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicU64, Ordering};

use trawl_table::page;

use crate::kernel::{self, Own};

/// How the page is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its generation is read.
    Look,
    /// It is advanced, and files are marked.
    Change,
}

/// Maps the page in a file, which must belong to this user or the superuser. The mapping has
/// [`page::WORDS`] words and stays until it is unmapped explicitly. Returns `None` if the file is
/// not a valid page.
pub fn map(path: &CStr, user: u32, purpose: Use) -> Option<*mut AtomicU64> {
    let (access, protection): (c_int, c_int) = match purpose {
        Use::Look => (libc::O_RDONLY, libc::PROT_READ),
        Use::Change => (libc::O_RDWR, libc::PROT_READ | libc::PROT_WRITE),
    };
    let flags = access | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NOCTTY;
    let file = Own(kernel::open(path, flags).ok()?);
    let of = kernel::fstat(file.0)?;
    let is_ours = of.st_uid == user || of.st_uid == 0;
    let is_file = of.st_mode & libc::S_IFMT == libc::S_IFREG;
    // Reading beyond the end of a shorter file would kill the process.
    if !is_ours || !is_file || of.st_size < page::BYTES as i64 {
        return None;
    }
    let mapped = kernel::map(file.0, page::BYTES, protection)?;
    let mapped: *mut AtomicU64 = mapped.cast();
    // SAFETY: the mapping is page-aligned and has at least this word.
    let magic = unsafe { (*mapped.add(page::MAGIC_WORD)).load(Ordering::Relaxed) };
    if magic == page::MAGIC {
        return Some(mapped);
    }
    // SAFETY: no other code has seen this mapping.
    unsafe { kernel::unmap(mapped.cast(), page::BYTES) };
    None
}
