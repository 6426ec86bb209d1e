//! The first bytes of a file, by which engines know what it is.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;

/// Returns the first `N` bytes of a regular file; `None` if it has fewer or cannot be read.
pub(crate) fn head<const N: usize>(path: &[u8]) -> Option<[u8; N]> {
    let path = CString::new(path).ok()?;
    // Anything but a regular file could block.
    let file = trawl_sys::confined::open_file_anywhere(&path).ok()?;
    let mut head = [0; N];
    File::from(file).read_exact(&mut head).ok()?;
    Some(head)
}
