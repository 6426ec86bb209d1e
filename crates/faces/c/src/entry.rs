//! A record in the form that C reads: a structure, and the memory that its pointers lead to.

use std::ptr;

use trawl_call::{Outcome, RecordRef};

use crate::layout::trawl_searchent;

/// The record that a handle returned last.
pub(crate) struct Entry {
    seen: trawl_searchent,
    path: Vec<u8>,
    stat: libc::stat,
}

// SAFETY: the pointers lead to the entry's own parts, and only C callers follow them.
unsafe impl Send for Entry {}

impl Entry {
    pub(crate) fn new() -> Entry {
        Entry {
            seen: trawl_searchent {
                path: ptr::null_mut(),
                info: ptr::null_mut(),
                errsource: 0,
                err: 0,
                root: 0,
                reserved: 0,
                path_length: 0,
            },
            path: Vec::new(),
            stat: nothing(),
        }
    }

    /// Stores a record. Its pointers are valid until the next call, as long as the entry is not
    /// moved.
    pub(crate) fn set(&mut self, record: &RecordRef<'_>) {
        self.path.clear();
        self.path.extend_from_slice(record.path);
        self.path.push(0);
        let (errsource, err) = match record.outcome {
            Outcome::Match(_) => (0, 0),
            Outcome::Error(trouble) => (trouble.source as i32, trouble.errno),
        };
        let info = match &record.outcome {
            Outcome::Match(Some(attributes)) => {
                self.stat = trawl_sys::stat_layout::stat(attributes);
                &raw mut self.stat
            }
            _ => ptr::null_mut(),
        };
        self.seen = trawl_searchent {
            path: self.path.as_mut_ptr().cast(),
            info,
            errsource,
            err,
            root: record.root,
            reserved: 0,
            path_length: record.path.len(),
        };
    }

    /// Returns the structure that C reads.
    pub(crate) fn seen(&mut self) -> *mut trawl_searchent {
        &raw mut self.seen
    }
}

pub(crate) fn nothing() -> libc::stat {
    // SAFETY: the structure consists of numbers, for which zero is a valid value.
    unsafe { std::mem::zeroed() }
}
