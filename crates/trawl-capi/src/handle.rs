//! A search under way: what a `TRAWL_SEARCH` is, and who may call what when.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::fd::RawFd;
use std::sync::{Mutex, MutexGuard, TryLockError};

use trawl_call::search::{Filled, Rest};
use trawl_call::{CallError, Cancel, Cookie, Search, ServedBy};

use crate::entry::Entry;
use crate::failure::{BROKEN, BUSY, FOREIGN, Failure};
use crate::fork;
use crate::helper::Helper;
use crate::layout::trawl_searchent;

/// A search under way. Only [`Handle::cancel`] may be called while another thread calls something.
pub struct Handle {
    cancel: Cancel,
    /// The process that opened it.
    generation: u64,
    state: Mutex<State>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

struct State {
    /// `None` while the helper has it.
    search: Option<Search>,
    helper: Option<Helper>,
    entry: Entry,
    /// Behind the record that was given last.
    place: Cookie,
    served_by: Option<ServedBy>,
    is_at_end: bool,
    /// What ended the search early.
    failed: Option<c_int>,
    text: CString,
}

impl Handle {
    pub(crate) fn new(search: Search) -> Handle {
        Handle {
            cancel: search.cancel(),
            generation: fork::generation(),
            state: Mutex::new(State {
                place: search.cookie(),
                search: Some(search),
                helper: None,
                entry: Entry::new(),
                served_by: None,
                is_at_end: false,
                failed: None,
                text: CString::default(),
            }),
        }
    }

    /// Ends the search, from any thread.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Goes to the next record; `None` at the end.
    pub(crate) fn read(&self) -> Result<Option<*mut trawl_searchent>, c_int> {
        self.go_on(State::read)
    }

    /// Puts whole records into a buffer.
    pub(crate) fn fill(&self, buffer: &mut [u8]) -> Result<Filled, c_int> {
        self.go_on(|state| state.fill(buffer))
    }

    /// A descriptor that is readable when something can be read without waiting.
    pub(crate) fn descriptor(&self) -> Result<RawFd, c_int> {
        let mut state = self.lock().map_err(|(errno, _)| errno)?;
        match state.descriptor() {
            Ok(descriptor) => Ok(descriptor),
            Err(failure) => {
                // The search itself goes on.
                state.text = failure.text;
                Err(failure.errno)
            }
        }
    }

    /// Where the search is, also after it failed.
    pub(crate) fn cookie(&self) -> Result<Vec<u8>, c_int> {
        let state = self.lock().map_err(|(errno, _)| errno)?;
        Ok(state.place.to_bytes())
    }

    /// Who gave the last record.
    pub(crate) fn served_by(&self) -> Result<Option<ServedBy>, c_int> {
        let state = self.lock().map_err(|(errno, _)| errno)?;
        Ok(state.served_by)
    }

    /// What went wrong last.
    pub(crate) fn text(&self) -> *const c_char {
        match self.lock() {
            Ok(state) => state.text.as_ptr(),
            Err((_, text)) => text.as_ptr(),
        }
    }

    /// Closes it. In a child of fork(2), which has no part of the search but its memory and
    /// descriptors, the memory stays.
    pub(crate) fn close(self: Box<Handle>) {
        self.cancel();
        if self.generation != fork::generation() {
            std::mem::forget(self);
        }
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>, (c_int, &'static CStr)> {
        if self.generation != fork::generation() {
            return Err((libc::EINVAL, FOREIGN));
        }
        self.state.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => (libc::EBUSY, BUSY),
            TryLockError::Poisoned(_) => (libc::EIO, BROKEN),
        })
    }

    /// Does something that gives records. What fails once fails ever after.
    fn go_on<T>(&self, step: impl FnOnce(&mut State) -> Result<T, CallError>) -> Result<T, c_int> {
        let mut state = self.lock().map_err(|(errno, _)| errno)?;
        if let Some(errno) = state.failed {
            return Err(errno);
        }
        let done = match self.cancel.is_cancelled() && !state.is_at_end {
            true => Err(CallError::Cancelled),
            false => step(&mut state),
        };
        done.map_err(|error| state.fail(error.into()))
    }
}

/// What the next call has to expect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Record,
    End,
    Failure,
}

impl State {
    fn read(&mut self) -> Result<Option<*mut trawl_searchent>, CallError> {
        let Some(mut search) = self.take_search() else {
            return Err(lost());
        };
        let read = search.advance();
        if let (Ok(true), Ok(Some(record))) = (&read, search.record()) {
            self.entry.set(&record);
        }
        let next = match read {
            Ok(true) => Next::Record,
            Ok(false) => Next::End,
            Err(_) => Next::Failure,
        };
        self.put_back(search, next);
        Ok(read?.then(|| self.entry.seen()))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled, CallError> {
        let Some(mut search) = self.take_search() else {
            return Err(lost());
        };
        // Who polls does not wait here.
        let filled = match self.helper {
            Some(_) => search.fill_ready(buffer),
            None => search.fill(buffer),
        };
        let next = match &filled {
            Ok(filled) if filled.rest == Rest::Nothing => Next::End,
            Ok(_) => Next::Record,
            Err(_) => Next::Failure,
        };
        self.put_back(search, next);
        filled
    }

    fn take_search(&mut self) -> Option<Search> {
        let helper = &self.helper;
        let back = || helper.as_ref().and_then(Helper::take_back);
        self.search.take().or_else(back)
    }

    /// Notes where the search is; what has to be waited for next, the helper waits for.
    fn put_back(&mut self, search: Search, next: Next) {
        self.place = search.cookie();
        self.served_by = search.served_by();
        self.is_at_end = next == Next::End;
        match (&self.helper, next) {
            (Some(helper), Next::Record) if search.is_waiting() => helper.hand_over(search),
            (Some(helper), Next::End) => {
                helper.make_readable();
                self.search = Some(search);
            }
            _ => self.search = Some(search),
        }
    }

    fn fail(&mut self, failure: Failure) -> c_int {
        self.failed = Some(failure.errno);
        self.text = failure.text;
        if let Some(helper) = &self.helper {
            helper.make_readable();
        }
        failure.errno
    }

    fn descriptor(&mut self) -> Result<RawFd, Failure> {
        if let Some(helper) = &self.helper {
            return Ok(helper.descriptor());
        }
        let helper = Helper::start()?;
        let descriptor = helper.descriptor();
        match self.search.take() {
            Some(search) if search.is_waiting() && !self.is_at_end && self.failed.is_none() => {
                helper.hand_over(search);
            }
            search => {
                helper.make_readable();
                self.search = search;
            }
        }
        self.helper = Some(helper);
        Ok(descriptor)
    }
}

/// The helper ended in a panic, with the search.
fn lost() -> CallError {
    CallError::Thread(std::io::Error::from_raw_os_error(libc::EIO))
}
