//! Changes of the working directory: where neither `FTS_NOCHDIR` nor `FTS_LOGICAL` was asked for, it
//! is the one that has the entry, as in the C library, by the same checks.

use std::ffi::{CStr, c_int};

use super::stream::{D, DONTCHDIR, ERR, Entry, LOGICAL, NOCHDIR, ROOT, STOP, SYMFOLLOW, Stream};
use crate::calls::wander;
use crate::kernel::{self, set_errno};
use crate::place::Step;

impl Stream {
    /// Keeps the working directory, to come back to it; where it cannot be opened none is changed.
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

    /// Goes back to where the walk began, for good.
    pub(super) fn end(&mut self) -> Result<(), c_int> {
        let back = self.back_to_start();
        if !self.has(NOCHDIR) {
            let _ = kernel::close(self.root_fd);
        }
        back
    }

    /// Goes back to where the walk began.
    pub(super) fn back_to_start(&self) -> Result<(), c_int> {
        match self.has(NOCHDIR) {
            true => Ok(()),
            false => wander::back_to(self.root_fd),
        }
    }

    /// Ends the walk where it could not go on; whether that is so.
    pub(super) fn is_stopped_by(&mut self, gone: Result<(), c_int>) -> bool {
        if let Err(errno) = gone {
            self.options |= STOP;
            set_errno(errno);
        }
        gone.is_err()
    }

    /// Where going into an entry leads.
    ///
    /// # Safety
    /// It is one of this stream.
    unsafe fn step<'a>(entry: *mut Entry) -> Step<'a> {
        // SAFETY: as the caller promises; names end in NUL.
        unsafe {
            match (*entry).level == ROOT || (*entry).flags & SYMFOLLOW != 0 {
                true => Step::Anywhere,
                false => wander::step_into((*entry).access),
            }
        }
    }

    /// Goes into a directory that is being read.
    ///
    /// # Safety
    /// It is an entry of this stream, and its access path leads there; the directory is open.
    pub(super) unsafe fn go_into_stream(
        &self,
        entry: *mut Entry,
        directory: *mut libc::DIR,
    ) -> Result<(), c_int> {
        if self.has(NOCHDIR) {
            return Ok(());
        }
        // SAFETY: as the caller promises; access paths end in NUL.
        unsafe {
            let path = CStr::from_ptr((*entry).access);
            let of = ((*entry).dev, (*entry).ino);
            wander::into_stream(directory, path, Stream::step(entry), of)
        }
    }

    /// Goes into a directory that was read before. Where that fails what is in it is told of all
    /// the same, from above.
    ///
    /// # Safety
    /// It is an entry of this stream, the one that the walk is at.
    pub(super) unsafe fn go_into_read(&mut self, entry: *mut Entry) {
        if self.has(NOCHDIR) {
            return;
        }
        // SAFETY: as the caller promises; access paths end in NUL.
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

    /// Leaves a directory that was gone into only to look at what is in it.
    ///
    /// # Safety
    /// It is an entry of this stream.
    pub(super) unsafe fn leave(&self, entry: *mut Entry) -> Result<(), c_int> {
        // SAFETY: as the caller promises.
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
    /// It is one of this stream.
    unsafe fn up(&self, to: *mut Entry) -> Result<(), c_int> {
        match self.has(NOCHDIR) {
            true => Ok(()),
            // SAFETY: as the caller promises.
            false => wander::up(unsafe { ((*to).dev, (*to).ino) }),
        }
    }

    /// Leaves a directory through which the walk is.
    ///
    /// # Safety
    /// It is an entry of this stream.
    pub(super) unsafe fn back_out_of(&self, entry: *mut Entry) -> Result<(), c_int> {
        // SAFETY: as the caller promises.
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

    /// A link that is followed to a directory: there is no other way back from there.
    ///
    /// # Safety
    /// It is an entry of this stream.
    pub(super) unsafe fn keep_way_back(&self, entry: *mut Entry) {
        // SAFETY: as the caller promises.
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
