//! Changes of the working directory: without `FTS_NOCHDIR` and `FTS_LOGICAL` it is the one that
//! holds the entry, as in the C library, with the same checks.

use std::ffi::{CStr, c_int};

use super::stream::{D, DONTCHDIR, ERR, Entry, LOGICAL, NOCHDIR, ROOT, STOP, SYMFOLLOW, Stream};
use crate::calls::wander;
use crate::kernel::{self, set_errno};
use crate::place::Step;

impl Stream {
    /// Opens the working directory, to return to it. If that fails, the working directory is not
    /// changed.
    pub(super) fn begin(&mut self) {
        self.root_fd = -1;
        if self.has(LOGICAL) {
            self.options |= NOCHDIR;
        }
        if !self.has(NOCHDIR) {
            match wander::open_here() {
                Ok(here) => self.root_fd = wander::keep(here),
                Err(_) => self.options |= NOCHDIR,
            }
        }
    }

    /// Returns to where the walk began, for good.
    pub(super) fn end(&mut self) -> Result<(), c_int> {
        let back = self.back_to_start();
        if !self.has(NOCHDIR) {
            let _ = kernel::close(self.root_fd);
        }
        back
    }

    /// Returns to where the walk began.
    pub(super) fn back_to_start(&self) -> Result<(), c_int> {
        match self.has(NOCHDIR) {
            true => Ok(()),
            false => wander::back_to(self.root_fd),
        }
    }

    /// Ends the walk if `gone` is an error; returns whether it is.
    pub(super) fn is_stopped_by(&mut self, gone: Result<(), c_int>) -> bool {
        if let Err(errno) = gone {
            self.options |= STOP;
            set_errno(errno);
        }
        gone.is_err()
    }

    /// Returns where entering an entry leads.
    ///
    /// # Safety
    /// The entry belongs to this stream.
    unsafe fn step<'a>(entry: *mut Entry) -> Step<'a> {
        // SAFETY: guaranteed by the caller; names end in NUL.
        unsafe {
            match (*entry).level == ROOT || (*entry).flags & SYMFOLLOW != 0 {
                true => Step::Anywhere,
                false => wander::step_into((*entry).access),
            }
        }
    }

    /// Enters a directory that is being read.
    ///
    /// # Safety
    /// The entry belongs to this stream, its access path leads there, and the directory is open.
    pub(super) unsafe fn go_into_stream(
        &self,
        entry: *mut Entry,
        directory: *mut libc::DIR,
    ) -> Result<(), c_int> {
        if self.has(NOCHDIR) {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller; access paths end in NUL.
        unsafe {
            let path = CStr::from_ptr((*entry).access);
            let of = ((*entry).dev, (*entry).ino);
            wander::into_stream(directory, path, Stream::step(entry), of)
        }
    }

    /// Enters a directory that was read before. If that fails, its entries are still reported,
    /// relative to the parent.
    ///
    /// # Safety
    /// The entry belongs to this stream and is the walk's present one.
    pub(super) unsafe fn go_into_read(&mut self, entry: *mut Entry) {
        if self.has(NOCHDIR) {
            return;
        }
        // SAFETY: guaranteed by the caller; access paths end in NUL.
        unsafe {
            let path = CStr::from_ptr((*entry).access);
            let of = ((*entry).dev, (*entry).ino);
            if let Err(errno) = wander::into(path, Stream::step(entry), of) {
                (*entry).errno = errno;
                (*entry).flags |= DONTCHDIR;
                let mut child = self.child;
                while !child.is_null() {
                    (*child).access = (*entry).access;
                    child = (*child).link;
                }
            }
        }
    }

    /// Leaves a directory that was entered only to look at its entries.
    ///
    /// # Safety
    /// The entry belongs to this stream.
    pub(super) unsafe fn leave(&self, entry: *mut Entry) -> Result<(), c_int> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match (*entry).level == ROOT {
                true => self.back_to_start(),
                false => self.up((*entry).parent),
            }
        }
    }

    /// Goes up, to this entry.
    ///
    /// # Safety
    /// The entry belongs to this stream.
    unsafe fn up(&self, to: *mut Entry) -> Result<(), c_int> {
        match self.has(NOCHDIR) {
            true => Ok(()),
            // SAFETY: guaranteed by the caller.
            false => wander::up(unsafe { ((*to).dev, (*to).ino) }),
        }
    }

    /// Leaves a directory whose walk is complete.
    ///
    /// # Safety
    /// The entry belongs to this stream.
    pub(super) unsafe fn back_out_of(&self, entry: *mut Entry) -> Result<(), c_int> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let flags = (*entry).flags;
            if (*entry).level == ROOT {
                self.back_to_start()
            } else if flags & SYMFOLLOW != 0 {
                let back = match self.has(NOCHDIR) {
                    true => Ok(()),
                    false => wander::back_to((*entry).symfd),
                };
                let _ = kernel::close((*entry).symfd);
                back
            } else if flags & DONTCHDIR == 0 {
                self.up((*entry).parent)
            } else {
                Ok(())
            }
        }
    }

    /// Opens a way back from a followed link to a directory, from which there is no other.
    ///
    /// # Safety
    /// The entry belongs to this stream.
    pub(super) unsafe fn keep_way_back(&self, entry: *mut Entry) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if (*entry).info != D || self.has(NOCHDIR) {
                return;
            }
            match wander::open_here() {
                Ok(here) => {
                    (*entry).symfd = wander::keep(here);
                    (*entry).flags |= SYMFOLLOW;
                }
                Err(errno) => {
                    (*entry).errno = errno;
                    (*entry).info = ERR;
                }
            }
        }
    }
}
