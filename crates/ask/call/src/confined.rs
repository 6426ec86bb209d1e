//! Roots in a tree that no path may leave, as a server exports it.
//!
//! Links inside the tree are resolved as if the tree were the whole file system
//! (`RESOLVE_IN_ROOT`), and so are the targets of links that are looked at. Paths that pass through
//! links to directories are opened from the top of the tree, so such a path may have at most 4,095
//! bytes.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use trawl_model::relative_path::join;
use trawl_sys::directory::{Links, Purpose};
use trawl_sys::{Errno, Op, SysError, confined};

/// A place in a tree that no path may leave.
#[derive(Clone, Debug)]
pub struct Confined {
    /// The top of the tree, or the reason why it cannot be reached.
    top: Result<Arc<OwnedFd>, Errno>,
    /// Path from the top.
    path: Vec<u8>,
}

impl Confined {
    /// Creates the place at this path below an open directory.
    pub fn new(top: Arc<OwnedFd>, path: &[u8]) -> Confined {
        Confined {
            top: Ok(top),
            path: path.to_vec(),
        }
    }

    /// Creates a place that cannot be reached; every operation on it fails with `errno`.
    pub fn unreachable(errno: Errno) -> Confined {
        Confined {
            top: Err(errno),
            path: Vec::new(),
        }
    }

    /// Returns the place at a path below this one.
    pub(crate) fn below(&self, below: &[u8]) -> Confined {
        Confined {
            top: self.top.clone(),
            path: join(&self.path, below),
        }
    }

    fn place(&self, below: &[u8]) -> Result<(&OwnedFd, CString), SysError> {
        let bad = |errno| SysError::new(Op::Openat, errno);
        let top = self.top.as_ref().map_err(|errno| bad(*errno))?;
        let path = match join(&self.path, below) {
            path if path.is_empty() => b".".to_vec(),
            path => path,
        };
        let path = CString::new(path).map_err(|_| bad(Errno::INVAL))?;
        Ok((top, path))
    }

    /// Opens a directory below this place.
    ///
    /// # Errors
    /// Fails with the errors of openat2(2).
    pub fn open(&self, below: &[u8], purpose: Purpose) -> Result<OwnedFd, SysError> {
        let (top, path) = self.place(below)?;
        confined::open_directory(top, &path, purpose)
    }

    /// Opens the object at this path below the place with `O_PATH`, for stat(2) alone.
    ///
    /// # Errors
    /// Fails with the errors of openat2(2).
    pub fn look(&self, below: &[u8], links: Links) -> Result<OwnedFd, SysError> {
        let (top, path) = self.place(below)?;
        confined::look(top, &path, links)
    }

    /// Opens the place as a regular file.
    ///
    /// # Errors
    /// Fails with the errors of openat2(2); `EINVAL` if it is anything but a regular file.
    pub fn open_file(&self) -> Result<OwnedFd, SysError> {
        let (top, path) = self.place(b"")?;
        confined::open_file(top, &path)
    }
}
