//! Finds files with the same content. Files are read as the asking user, their ends first.
//!
//! A file is opened through no symbolic link, and must still be the indexed one: a regular file
//! with the same device, inode number and size.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_model::path::display;
use trawl_query::Entry;

/// Number of bytes at each end that are compared first.
const END_BYTES: usize = 4096;
/// Number of bytes that are read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Reader of files.
#[derive(Default)]
pub(crate) struct Verifier {
    /// Number of files that could not be read as they were indexed.
    pub(crate) unread: u64,
}

impl Verifier {
    /// Returns the groups of `candidates`, all of one size, that have the same content. Each group
    /// has two or more files; groups are ordered by their first file.
    pub(crate) fn same<'e>(
        &mut self,
        candidates: &'e [Entry],
        cancel: Option<&AtomicBool>,
    ) -> Vec<Vec<&'e Entry>> {
        let ends = self.split(candidates.iter().collect(), |entry| ends(entry, cancel));
        let mut same: Vec<Vec<&Entry>> = Vec::new();
        for group in ends {
            same.extend(self.split(group, |entry| whole(entry, cancel)));
        }
        same.sort_by(|a, b| trawl_model::path::cmp(&a[0].path, &b[0].path));
        same
    }

    /// Groups files by the key that `of` computes; files with a key of their own are left out.
    fn split<'e, K: Ord>(
        &mut self,
        files: Vec<&'e Entry>,
        of: impl Fn(&Entry) -> io::Result<K>,
    ) -> Vec<Vec<&'e Entry>> {
        let mut groups: BTreeMap<K, Vec<&Entry>> = BTreeMap::new();
        for entry in files {
            match of(entry) {
                Ok(key) => groups.entry(key).or_default().push(entry),
                Err(_) => self.unread += 1,
            }
        }
        let groups = groups.into_values();
        groups.filter(|group| group.len() > 1).collect()
    }
}

/// Opens the file, if it is still the indexed one.
fn open(entry: &Entry) -> io::Result<File> {
    let path = CString::new(display(&entry.path))?;
    let file = trawl_sys::file::open_for_reading(&path)?;
    let (meta, row) = (file.metadata()?, entry.row());
    let is_same = meta.is_file()
        && meta.size() == row.size()
        && meta.ino() == row.ino()
        && meta.dev() == row.dev().as_u64();
    match is_same {
        true => Ok(file),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Hashes the first and the last bytes.
fn ends(entry: &Entry, cancel: Option<&AtomicBool>) -> io::Result<[u8; 32]> {
    check(cancel)?;
    let file = open(entry)?;
    let size = entry.row().size();
    let mut hash = blake3::Hasher::new();
    let mut bytes = vec![0; END_BYTES.min(usize::try_from(size).unwrap_or(END_BYTES))];
    file.read_exact_at(&mut bytes, 0)?;
    hash.update(&bytes);
    let last = size - bytes.len() as u64;
    file.read_exact_at(&mut bytes, last)?;
    hash.update(&bytes);
    Ok(*hash.finalize().as_bytes())
}

/// Hashes the whole file.
fn whole(entry: &Entry, cancel: Option<&AtomicBool>) -> io::Result<[u8; 32]> {
    let mut file = open(entry)?;
    let mut hash = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut read = 0;
    loop {
        check(cancel)?;
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                hash.update(&buffer[..n]);
                read += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    match read == entry.row().size() {
        true => Ok(*hash.finalize().as_bytes()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn check(cancel: Option<&AtomicBool>) -> io::Result<()> {
    match cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => Ok(()),
    }
}
