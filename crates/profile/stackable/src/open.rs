//! Open files and directories, by the numbers that the kernel uses for them.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fuser::{BackingId, FileType};
use rustix::fs::{RawDir, SeekFrom};

use crate::attributes::file_type;
use crate::nodes::Node;

/// Size of the buffer for reading directories: that of the C library.
const NAMES_BYTES: usize = 32 << 10;

/// Open files or directories.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    all: RwLock<HashMap<u64, Arc<T>>>,
    given: AtomicU64,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Handles {
            all: RwLock::default(),
            given: AtomicU64::new(1),
        }
    }
}

impl<T> Handles<T> {
    /// Adds one and returns its number.
    pub(crate) fn add(&self, one: Arc<T>) -> u64 {
        let number = self.given.fetch_add(1, Ordering::Relaxed);
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(number, one);
        number
    }

    /// Returns the one with this number.
    pub(crate) fn get(&self, number: u64) -> io::Result<Arc<T>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let one = all.get(&number).map(Arc::clone);
        one.ok_or_else(|| rustix::io::Errno::BADF.into())
    }

    /// Removes the one with this number.
    pub(crate) fn remove(&self, number: u64) -> Option<Arc<T>> {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.remove(&number)
    }
}

/// An open file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: OwnedFd,
    node: Arc<Node>,
    /// Keeps what the kernel reads and writes.
    pub(crate) backing: Mutex<Option<Arc<BackingId>>>,
}

impl OpenFile {
    pub(crate) fn new(file: OwnedFd, node: Arc<Node>) -> OpenFile {
        node.opens.fetch_add(1, Ordering::Relaxed);
        OpenFile {
            file,
            node,
            backing: Mutex::new(None),
        }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.node.opens.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) inode: u64,
    /// Where reading goes on behind it.
    pub(crate) next: u64,
    pub(crate) kind: FileType,
    pub(crate) name: OsString,
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct OpenDirectory {
    pub(crate) file: OwnedFd,
    pub(crate) reading: Mutex<Reading>,
}

impl OpenDirectory {
    pub(crate) fn new(file: OwnedFd) -> OpenDirectory {
        OpenDirectory {
            file,
            reading: Mutex::default(),
        }
    }
}

/// How far a directory was read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Where the next entry lies, and entries read ahead from there.
    pub(crate) at: u64,
    pub(crate) ahead: VecDeque<Entry>,
}

impl Reading {
    /// Goes to another place, unless it is there.
    pub(crate) fn go(&mut self, directory: &OwnedFd, at: u64) -> io::Result<()> {
        if self.at != at {
            self.ahead.clear();
            rustix::fs::seek(directory, SeekFrom::Start(at))?;
            self.at = at;
        }
        Ok(())
    }

    /// Reads entries with one call, if there are none; there are none at the end.
    pub(crate) fn fill(&mut self, directory: &OwnedFd) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(NAMES_BYTES);
        let mut raw = RawDir::new(directory, spare(&mut buffer));
        while let Some(entry) = raw.next() {
            let entry = entry?;
            self.ahead.push_back(Entry {
                inode: entry.ino(),
                next: entry.next_entry_cookie(),
                kind: file_type(entry.file_type()),
                name: std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(),
            });
            if raw.is_buffer_empty() {
                break;
            }
        }
        Ok(())
    }
}

fn spare(buffer: &mut Vec<u8>) -> &mut [MaybeUninit<u8>] {
    buffer.spare_capacity_mut()
}
