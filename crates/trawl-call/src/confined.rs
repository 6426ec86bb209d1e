//! Roots that lie in a tree which nothing leads out of: what a server gives to others.
//!
//! Links within are resolved as if the tree were all there is (`RESOLVE_IN_ROOT`); whatever is
//! looked at through a link is looked at so. Paths that lead through links to directories are
//! opened from the top, so they may have at most 4,095 bytes.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use trawl_model::relative_path::join;
use trawl_sys::directory::{Links, Purpose};
use trawl_sys::{Errno, Op, SysError, confined};

/// A place in a tree that nothing leads out of.
#[derive(Clone, Debug)]
pub struct Confined {
    /// Why it cannot be reached, if so.
    top: Result<Arc<OwnedFd>, Errno>,
    /// From the top.
    path: Vec<u8>,
}

impl Confined {
    /// The place at this path below an open directory.
    pub fn new(top: Arc<OwnedFd>, path: &[u8]) -> Confined {
        Confined {
            top: Ok(top),
            path: path.to_vec(),
        }
    }

    /// A place that cannot be reached.
    pub fn unreachable(errno: Errno) -> Confined {
        Confined {
            top: Err(errno),
            path: Vec::new(),
        }
    }

    /// The place at a path below it.
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

    /// Opens a directory below it.
    ///
    /// # Errors
    /// Those of openat2(2).
    pub fn open(&self, below: &[u8], purpose: Purpose) -> Result<OwnedFd, SysError> {
        let (top, path) = self.place(below)?;
        confined::open_directory(top, &path, purpose)
    }

    /// Opens what is there, for stat(2) alone.
    ///
    /// # Errors
    /// Those of openat2(2).
    pub fn look(&self, below: &[u8], links: Links) -> Result<OwnedFd, SysError> {
        let (top, path) = self.place(below)?;
        confined::look(top, &path, links)
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// Those of openat2(2); `EINVAL` for anything else.
    pub fn open_file(&self) -> Result<OwnedFd, SysError> {
        let (top, path) = self.place(b"")?;
        confined::open_file(top, &path)
    }
}
