//! Reads one file after the other, and finds their n-grams.
//!
//! A file is covered only if
//!
//! - what is opened is what the walk saw, before and after it is read;
//! - nobody had it open for writing when reading began, since a memory mapping that was written to
//!   once can be written to again without a new ctime;
//! - its ctime is older than the clock's granularity, so that a later change has another one.

use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io::Read;
use std::sync::Mutex;

use trawl_grams::{Identity, Keys};
use trawl_model::Timestamp;
use trawl_model::sync::lock;
use trawl_sys::file::{keep_access_time, open_for_reading};
use trawl_sys::lease::has_no_writer;

use super::packs::Packs;
use super::sink::Job;
use crate::options::Control;

/// Seconds for which a file must be unchanged before it is read: the coarsest granularity of times
/// (FAT) and more.
const SETTLED_SECS: i64 = 3;
/// Bytes at the beginning of a file in which a NUL byte means that it is no text, as for ripgrep.
const HEAD_BYTES: usize = 64 << 10;

/// What became of a file.
pub(super) enum Outcome<'k> {
    Covered(&'k [u32]),
    LeftOut,
    Unsettled,
}

/// Reads files.
pub(super) struct Reader<'c> {
    control: Control<'c>,
    keys: Keys,
    content: Vec<u8>,
}

impl<'c> Reader<'c> {
    pub(super) fn new(control: Control<'c>) -> Reader<'c> {
        Reader {
            control,
            keys: Keys::default(),
            content: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, job: &Job, packs: &Mutex<Packs>) {
        let outcome = self.outcome(job).unwrap_or(Outcome::Unsettled);
        let full = lock(packs).put(job, outcome);
        if let Some(full) = full {
            // Other threads go on while this one encodes.
            let (place, bytes) = full.encode();
            lock(packs).write(&place, &bytes);
        }
    }

    /// Returns `None` if the file cannot be read, or is not what the walk saw.
    fn outcome(&mut self, job: &Job) -> Option<Outcome<'_>> {
        let mut file = open_settled(job, self.control)?;
        self.content.clear();
        let size = job.identity.size_bytes;
        self.content.reserve(size as usize + 1);
        let head = (&mut file).take(HEAD_BYTES as u64);
        { head }.read_to_end(&mut self.content).ok()?;
        if !is_text(&self.content) {
            return Some(Outcome::LeftOut);
        }
        let rest = (&mut file).take(size + 1);
        { rest }.read_to_end(&mut self.content).ok()?;
        let is_same = self.content.len() as u64 == size && is_same(&file, job);
        is_same.then(|| Outcome::Covered(self.keys.of(&self.content)))
    }
}

/// Opens a file whose content cannot change without another identity, if it is still the one that the
/// walk saw.
pub(super) fn open_settled(job: &Job, control: Control<'_>) -> Option<File> {
    if !is_settled(&job.identity, (control.clock)()) {
        return None;
    }
    let path = CString::new(&job.path[..]).ok()?;
    let file = open_for_reading(&path).ok()?;
    if !is_same(&file, job) || !has_no_writer(&file).ok()? {
        return None;
    }
    keep_access_time(&file);
    Some(file)
}

/// Returns whether an open file still is the one that the walk saw.
pub(super) fn is_same(file: &File, job: &Job) -> bool {
    identity(file) == Some(job.identity)
}

fn is_settled(identity: &Identity, now: Timestamp) -> bool {
    identity.ctime.secs < now.secs.saturating_sub(SETTLED_SECS)
}

/// Returns whether a file that begins so is searched as it is: it has no NUL byte there, nor a mark
/// of an encoding, which makes a search decode it.
fn is_text(head: &[u8]) -> bool {
    let marks: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"];
    let is_marked = marks.iter().any(|mark| head.starts_with(mark));
    !is_marked && !head.contains(&0)
}

fn identity(file: &File) -> Option<Identity> {
    let attributes = file.metadata().ok().filter(Metadata::is_file)?;
    Some(Identity::of(&attributes))
}
