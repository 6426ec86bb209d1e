//! Reads one file after the other, and finds their n-grams.
//!
//! A file is covered only if
//!
//! - what is opened is what the walk saw, before and after it is read;
//! - nobody had it open for writing when reading began, since a memory mapping that was written to
//!   once can be written to again without a new ctime;
//! - its ctime is older than the clock's granularity, so that a later change has another one;
//! - its file system notices each first write to a page of a memory mapping.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;

use encoding_rs::{Encoding, UTF_8};
use trawl_grams::{Content, Identity, Parts};
use trawl_model::Timestamp;
use trawl_model::sync::lock;
use trawl_sys::file::{keep_access_time, open_for_reading};
use trawl_sys::filesystem::{self, magic};
use trawl_sys::lease::has_no_writer;
use trawl_sys::mount_table;

use super::packs::Packs;
use super::sink::Job;
use crate::options::Control;

/// Seconds for which a file must be unchanged before it is read: the coarsest granularity of times
/// (FAT) and more.
const SETTLED_SECS: i64 = 3;
/// `HUGETLBFS_MAGIC` of statfs(2).
const HUGETLBFS: u64 = 0x9584_58f6;
/// Bytes at the beginning of a file in which a NUL byte means that it is binary, as for ripgrep.
const HEAD_BYTES: usize = 64 << 10;

/// What became of a file.
pub(super) enum Outcome<'k> {
    Covered(&'k Parts),
    Unsettled,
}

/// Opens files whose content cannot change without another identity.
pub(super) struct Opener<'c> {
    control: Control<'c>,
    /// By device number, whether a first write to a mapped page changes the times.
    stamps: HashMap<u64, bool>,
}

impl<'c> Opener<'c> {
    pub(super) fn new(control: Control<'c>) -> Opener<'c> {
        Opener {
            control,
            stamps: HashMap::new(),
        }
    }

    /// Opens a file if it is settled, and still the one that the walk saw.
    pub(super) fn open(&mut self, job: &Job) -> Option<File> {
        if !is_settled(&job.identity, (self.control.clock)()) {
            return None;
        }
        let path = CString::new(&job.path[..]).ok()?;
        let file = open_for_reading(&path).ok()?;
        if !is_same(&file, job) || !self.stamps_mapped_writes(&file, job) {
            return None;
        }
        if !has_no_writer(&file).ok()? {
            return None;
        }
        keep_access_time(&file);
        Some(file)
    }

    /// Returns whether a first write to each page of a later memory mapping changes the times. File
    /// systems in memory do not write-protect pages, so that a page that was read first can be
    /// written to without a trace.
    fn stamps_mapped_writes(&mut self, file: &File, job: &Job) -> bool {
        let stamps = || filesystem::of_fd(file).is_ok_and(|of| is_stamping(of.magic, &job.path));
        *self.stamps.entry(job.identity.dev).or_insert_with(stamps)
    }
}

/// Returns whether an open file still is the one that the walk saw.
pub(super) fn is_same(file: &File, job: &Job) -> bool {
    identity(file) == Some(job.identity)
}

/// Reads files.
pub(super) struct Reader<'c> {
    opener: Opener<'c>,
    parts: Parts,
    content: Vec<u8>,
}

impl<'c> Reader<'c> {
    pub(super) fn new(control: Control<'c>) -> Reader<'c> {
        Reader {
            opener: Opener::new(control),
            parts: Parts::default(),
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
        let mut file = self.opener.open(job)?;
        self.content.clear();
        let size = job.identity.size_bytes;
        self.content.reserve(size as usize + 1);
        let bytes = (&mut file).take(size + 1);
        { bytes }.read_to_end(&mut self.content).ok()?;
        if self.content.len() as u64 != size || !is_same(&file, job) {
            return None;
        }
        let searched = as_searched(&self.content);
        let parts = self.parts.of(content_of(&searched), &searched);
        Some(Outcome::Covered(parts))
    }
}

fn is_stamping(kind: u64, path: &[u8]) -> bool {
    match kind {
        magic::TMPFS | magic::RAMFS | HUGETLBFS => false,
        // The upper directory of a container lies where only its host sees it.
        magic::OVERLAY => upper_of(path).is_none_or(|upper| {
            let upper = filesystem::of_path(Path::new(OsStr::from_bytes(&upper)));
            upper.map_or(true, |of| {
                !matches!(of.system.magic, magic::TMPFS | magic::RAMFS)
            })
        }),
        _ => true,
    }
}

/// Returns the upper directory of the overlay that a path lies in, if the mount table names it.
fn upper_of(path: &[u8]) -> Option<Vec<u8>> {
    let mounts = mount_table::read().ok()?;
    let around = mounts.iter().filter(|mount| {
        let point = mount.point.strip_suffix(b"/").unwrap_or(&mount.point);
        mount.kind == b"overlay" && trawl_model::path::is_within(path, point)
    });
    let nearest = around.max_by_key(|mount| mount.point.len())?;
    let mut options = nearest.options.split(|byte| *byte == b',');
    options.find_map(|option| option.strip_prefix(b"upperdir=").map(<[u8]>::to_vec))
}

fn is_settled(identity: &Identity, now: Timestamp) -> bool {
    identity.ctime.secs < now.secs.saturating_sub(SETTLED_SECS)
}

/// Returns what a search looks at: a file with the byte order mark of UTF-16 is decoded, and what
/// cannot be decoded is replaced.
fn as_searched(bytes: &[u8]) -> Cow<'_, [u8]> {
    match Encoding::for_bom(bytes) {
        Some((encoding, mark_bytes)) if encoding != UTF_8 => {
            let coded = bytes.get(mark_bytes..).unwrap_or_default();
            let (text, _) = encoding.decode_without_bom_handling(coded);
            Cow::Owned(text.into_owned().into_bytes())
        }
        _ => Cow::Borrowed(bytes),
    }
}

fn content_of(bytes: &[u8]) -> Content {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    match head.contains(&0) {
        true => Content::Binary,
        false => Content::Text,
    }
}

fn identity(file: &File) -> Option<Identity> {
    let attributes = file.metadata().ok().filter(Metadata::is_file)?;
    Some(Identity::of(&attributes))
}
