//! The implementation of `TRAWL_SET`: an open set, and the records that its functions return.

use std::collections::HashMap;
use std::ffi::c_int;
use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::ThreadId;

use trawl_call::Attributes;
use trawl_model::sync::lock;
use trawl_sets::member::Op;
use trawl_sets::{Digest, Opened, Problem, Set};

use crate::entry;
use crate::failure::{self, Failure};
use crate::fork;
use crate::sets::layout::{
    TRAWL_SET_ERR_EXPAND, TRAWL_SET_ERR_FETCH, TRAWL_SET_ERR_OPEN, trawl_setent,
};

/// An open set. Any thread may use it at any time.
pub struct SetHandle {
    set: Set,
    /// Identifies the process that opened it.
    generation: u64,
    is_cancelled: AtomicBool,
    /// The errno of the first problem; 0 for none.
    problem: AtomicI32,
    /// For each thread, the record that it got last.
    records: Mutex<HashMap<ThreadId, Box<Record>>>,
    /// A name that a digest found and its caller had no room for.
    pending: Mutex<Option<Vec<u8>>>,
}

impl std::fmt::Debug for SetHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetHandle").finish_non_exhaustive()
    }
}

/// A record in the form that C reads, and the memory that its pointers lead to.
struct Record {
    seen: trawl_setent,
    name: Vec<u8>,
    stat: libc::stat,
    /// The member's file, unless it is the caller's to close.
    file: Option<File>,
}

// SAFETY: the pointers lead to the record's own parts, and only C callers follow them.
unsafe impl Send for Record {}

impl SetHandle {
    pub(crate) fn new(set: Set) -> SetHandle {
        SetHandle {
            set,
            generation: fork::generation(),
            is_cancelled: AtomicBool::new(false),
            problem: AtomicI32::new(0),
            records: Mutex::default(),
            pending: Mutex::default(),
        }
    }

    /// Returns the set.
    ///
    /// # Errors
    /// Fails in a child of fork(2).
    pub(crate) fn set(&self) -> Result<&Set, Failure> {
        match self.generation == fork::generation() {
            true => Ok(&self.set),
            false => {
                let text = "this set belongs to the process that this one was forked from";
                Err(Failure::invalid(text))
            }
        }
    }

    /// Returns the next member or the error in its place; `None` at the end.
    pub(crate) fn iterate(&self, is_kept: bool) -> Result<Option<*mut trawl_setent>, Failure> {
        let set = self.set()?;
        // The descriptor that this thread got last is closed before it waits for the next.
        if let Some(record) = lock(&self.records).get_mut(&std::thread::current().id()) {
            record.file = None;
        }
        match set.iterate() {
            Some(Ok(opened)) => Ok(Some(self.keep(Record::opened(opened, is_kept)))),
            Some(Err(problem)) => Ok(Some(self.keep(self.wrong(problem)))),
            None => self.end(),
        }
    }

    /// Calls a function with each member or error that is left, until it returns anything but 0.
    pub(crate) fn apply(
        &self,
        mut each: impl FnMut(*const trawl_setent) -> c_int,
    ) -> Result<c_int, Failure> {
        let set = self.set()?;
        loop {
            let mut record = match set.iterate() {
                Some(Ok(opened)) => Record::opened(opened, false),
                Some(Err(problem)) => self.wrong(problem),
                None => return self.end::<c_int>().map(|end| end.unwrap_or(0)),
            };
            let said = each(record.seen());
            if said != 0 {
                return Ok(said);
            }
        }
    }

    /// Returns the next description or error; `None` at the end.
    pub(crate) fn digest(&self) -> Result<Option<*mut trawl_setent>, Failure> {
        match self.set()?.digest() {
            Some(Ok(digest)) => Ok(Some(self.keep(Record::described(digest)))),
            Some(Err(problem)) => Ok(Some(self.keep(self.wrong(problem)))),
            None => self.end(),
        }
    }

    /// Writes names of further members, each with a NUL, and returns their length.
    pub(crate) fn digest_names(&self, buffer: &mut [u8]) -> Result<usize, Failure> {
        let set = self.set()?;
        let mut pending = lock(&self.pending);
        let mut used = 0;
        loop {
            let name = match pending.take().map(Ok).or_else(|| {
                let next = set.digest()?;
                Some(next.map(|digest| digest.name))
            }) {
                Some(Ok(name)) => name,
                Some(Err(problem)) => {
                    self.note(&problem);
                    continue;
                }
                None if used == 0 => return self.end::<usize>().map(|end| end.unwrap_or(0)),
                None => return Ok(used),
            };
            let Some(room) = buffer.get_mut(used..used + name.len() + 1) else {
                let needed = name.len() + 1;
                *pending = Some(name);
                return match used {
                    0 => Err(Failure::new(
                        libc::ERANGE,
                        format_args!("the next name needs {needed} bytes"),
                    )),
                    used => Ok(used),
                };
            };
            room[..name.len()].copy_from_slice(&name);
            room[name.len()] = 0;
            used += name.len() + 1;
        }
    }

    /// Makes the next digest begin again.
    pub(crate) fn rewind_digest(&self) -> Result<(), Failure> {
        let set = self.set()?;
        let mut pending = lock(&self.pending);
        *pending = None;
        set.rewind_digest();
        Ok(())
    }

    /// Ends the set's work.
    pub(crate) fn cancel(&self) -> Result<(), Failure> {
        let set = self.set()?;
        self.is_cancelled.store(true, Ordering::Relaxed);
        set.cancel();
        Ok(())
    }

    /// Returns the errno of the first error returned in the place of a member; 0 for none.
    pub(crate) fn problem(&self) -> c_int {
        self.problem.load(Ordering::Relaxed)
    }

    /// Closes the set. In a child of fork(2), its memory stays allocated.
    pub(crate) fn close(self: Box<SetHandle>) {
        if self.generation != fork::generation() {
            std::mem::forget(self);
            return;
        }
        self.set.clone().close();
    }

    /// Fails if the set was cancelled.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.end::<()>().map(|_| ())
    }

    /// Returns the end, which is an error if the set was cancelled.
    fn end<T>(&self) -> Result<Option<T>, Failure> {
        match self.is_cancelled.load(Ordering::Relaxed) {
            true => Err(Failure::new(libc::ECANCELED, "the set was cancelled")),
            false => Ok(None),
        }
    }

    fn note(&self, problem: &Problem) -> c_int {
        let errno = problem.source.raw_os_error().unwrap_or(libc::EIO);
        // Only the first one is kept.
        let _ = (self.problem).compare_exchange(0, errno, Ordering::Relaxed, Ordering::Relaxed);
        failure::keep(Failure::new(errno, problem).text);
        errno
    }

    fn wrong(&self, problem: Problem) -> Record {
        let errno = self.note(&problem);
        let mut record = Record::named(problem.name);
        record.seen.err = errno;
        record.seen.errsource = match problem.op {
            Op::Expand => TRAWL_SET_ERR_EXPAND,
            Op::Open => TRAWL_SET_ERR_OPEN,
            Op::Fetch => TRAWL_SET_ERR_FETCH,
        };
        record
    }

    /// Keeps a record for this thread until it gets the next one.
    fn keep(&self, record: Record) -> *mut trawl_setent {
        let mut records = lock(&self.records);
        let kept = records.entry(std::thread::current().id());
        let kept = kept.insert_entry(Box::new(record)).into_mut();
        kept.seen()
    }
}

impl Record {
    fn named(name: Vec<u8>) -> Record {
        let mut name = name;
        let name_length = name.len();
        name.push(0);
        Record {
            seen: trawl_setent {
                name: ptr::null_mut(),
                name_length,
                info: ptr::null_mut(),
                fd: -1,
                is_stream: 0,
                errsource: 0,
                err: 0,
            },
            name,
            stat: entry::nothing(),
            file: None,
        }
    }

    fn opened(opened: Opened, is_kept: bool) -> Record {
        let mut record = Record::named(opened.name);
        record.seen.is_stream = c_int::from(opened.is_stream);
        match is_kept {
            true => record.seen.fd = opened.file.into_raw_fd(),
            false => {
                record.seen.fd = opened.file.as_raw_fd();
                record.file = Some(opened.file);
            }
        }
        record
    }

    fn described(digest: Digest) -> Record {
        let mut record = Record::named(digest.name);
        if let Some(attributes) = &digest.attributes {
            record.set_attributes(attributes);
        }
        record
    }

    fn set_attributes(&mut self, attributes: &Attributes) {
        self.stat = trawl_sys::stat_layout::stat(attributes);
        // A mark: `seen` sets the pointer once the record lies still.
        self.seen.info = ptr::dangling_mut();
    }

    /// Returns the structure that C reads, valid until the record is moved.
    fn seen(&mut self) -> *mut trawl_setent {
        self.seen.name = self.name.as_mut_ptr().cast();
        if !self.seen.info.is_null() {
            self.seen.info = &raw mut self.stat;
        }
        &raw mut self.seen
    }
}
