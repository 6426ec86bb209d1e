//! Finds files with the same content. Files are read as the asking user, their ends first.
//!
//! The files of many groups are read together, as two dynamic sets: one of their ends, one of those
//! whose ends are alike. So what has to be fetched is fetched in parallel, while others are compared.
//!
//! A file is opened through no symbolic link, and must still be the indexed one: a regular file
//! with the same device, inode number and size.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_model::path::display;
use trawl_query::Entry;
use trawl_sets::{Options, Set};

use super::candidates::{Candidates, END_BYTES, Extent};

/// Number of bytes that are read at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Number of files that are read together at first, so that the first answer comes soon, and at
/// most. A group is not divided.
const TOGETHER: [usize; 2] = [32, 4096];

/// Hash of bytes of a file.
type Hash = [u8; 32];

/// A group of candidates, and what was found in it.
#[derive(Default)]
pub(crate) struct Verified {
    /// Files of one size.
    candidates: Vec<Entry>,
    /// Positions of files with the same content, in path order; each has two or more.
    same: Vec<Vec<usize>>,
    /// Number of files that could not be read as they were indexed.
    pub(crate) unread: u64,
}

impl Verified {
    /// Returns the files with the same content: two or more each, in path order, ordered by the
    /// first.
    pub(crate) fn same(&self) -> impl Iterator<Item = Vec<&Entry>> {
        let entries = |same: &Vec<usize>| same.iter().map(|at| &self.candidates[*at]).collect();
        self.same.iter().map(entries)
    }
}

/// Collects groups of candidates, and compares the files of many groups together.
pub(crate) struct Verifier {
    waiting: Vec<Verified>,
    files: usize,
    together: usize,
}

impl Default for Verifier {
    fn default() -> Verifier {
        Verifier {
            waiting: Vec::new(),
            files: 0,
            together: TOGETHER[0],
        }
    }
}

impl Verifier {
    /// Takes a group of candidates, all of one size; returns whether it is time to compare.
    pub(crate) fn take(&mut self, candidates: &[Entry]) -> bool {
        self.files += candidates.len();
        self.waiting.push(Verified {
            candidates: candidates.to_vec(),
            ..Verified::default()
        });
        self.files >= self.together
    }

    /// Compares the files of the groups that were taken, and returns the groups in their order.
    pub(crate) fn compare(&mut self, cancel: Option<&AtomicBool>) -> Vec<Verified> {
        self.files = 0;
        self.together = TOGETHER[1].min(self.together * 2);
        let mut groups = std::mem::take(&mut self.waiting);
        let members = |(group, verified): (usize, &Verified)| {
            let positions = 0..verified.candidates.len();
            positions.map(move |at| Place { group, at })
        };
        let all = groups.iter().enumerate().flat_map(members).collect();
        let mut same = Vec::new();
        let mut alike = Vec::new();
        for ends in split(&mut groups, all, Extent::Ends, cancel) {
            let size = entry(&groups, ends[0]).row().size();
            match size <= 2 * END_BYTES as u64 {
                // The ends are all there is.
                true => same.push(ends),
                false => alike.extend(ends),
            }
        }
        same.extend(split(&mut groups, alike, Extent::Whole, cancel));
        for places in same {
            let group = places[0].group;
            groups[group]
                .same
                .push(places.into_iter().map(|place| place.at).collect());
        }
        groups.iter_mut().for_each(sort);
        groups
    }
}

fn sort(verified: &mut Verified) {
    let candidates = &verified.candidates;
    let path = |at: &usize| &candidates[*at].path;
    verified
        .same
        .sort_by(|a, b| trawl_model::path::cmp(path(&a[0]), path(&b[0])));
}

/// A file: its group, and its position there.
#[derive(Clone, Copy)]
struct Place {
    group: usize,
    at: usize,
}

fn entry(groups: &[Verified], place: Place) -> &Entry {
    &groups[place.group].candidates[place.at]
}

/// Divides files by their group and what is read of them; files that nothing equals are left out.
/// Files keep their order.
fn split(
    groups: &mut [Verified],
    places: Vec<Place>,
    extent: Extent,
    cancel: Option<&AtomicBool>,
) -> Vec<Vec<Place>> {
    let files: Vec<&Entry> = places.iter().map(|place| entry(groups, *place)).collect();
    let hashes = hashes(&files, extent, cancel);
    let mut alike: BTreeMap<(usize, Hash), Vec<Place>> = BTreeMap::new();
    for (place, hash) in places.into_iter().zip(hashes) {
        match hash {
            Some(hash) => alike.entry((place.group, hash)).or_default().push(place),
            None => groups[place.group].unread += 1,
        }
    }
    let alike = alike.into_values();
    alike.filter(|places| places.len() > 1).collect()
}

/// Hashes files, in the order in which they arrive; a file that cannot be read has no hash.
fn hashes(files: &[&Entry], extent: Extent, cancel: Option<&AtomicBool>) -> Vec<Option<Hash>> {
    let mut hashes = vec![None; files.len()];
    let names: Vec<Vec<u8>> = files.iter().map(|entry| name(entry)).collect();
    let positions: HashMap<Vec<u8>, usize> = names.iter().cloned().zip(0..).collect();
    let opener = Arc::new(Candidates(extent));
    let Ok(set) = Set::open(
        Box::new(names.into_iter()),
        vec![opener],
        Options::default(),
    ) else {
        return hashes;
    };
    while check(cancel).is_ok()
        && let Some(member) = set.iterate()
    {
        // A file that cannot be opened gets no hash, and is counted as unread.
        if let Ok(opened) = member
            && let Some(at) = positions.get(&opened.name)
        {
            hashes[*at] = hash(opened.file, files[*at], extent, cancel).ok();
        }
    }
    hashes
}

/// Returns the file's path, as it is opened.
fn name(entry: &Entry) -> Vec<u8> {
    display(&entry.path).to_vec()
}

/// Hashes a file, if it is still the indexed one.
fn hash(
    file: File,
    entry: &Entry,
    extent: Extent,
    cancel: Option<&AtomicBool>,
) -> io::Result<Hash> {
    let (meta, row) = (file.metadata()?, entry.row());
    let is_same = meta.is_file()
        && meta.size() == row.size()
        && meta.ino() == row.ino()
        && meta.dev() == row.dev().as_u64();
    match (is_same, extent) {
        (false, _) => Err(io::ErrorKind::NotFound.into()),
        (true, Extent::Ends) => ends(&file, row.size()),
        (true, Extent::Whole) => whole(file, row.size(), cancel),
    }
}

/// Hashes the first and the last bytes.
fn ends(file: &File, size: u64) -> io::Result<Hash> {
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
fn whole(mut file: File, size: u64, cancel: Option<&AtomicBool>) -> io::Result<Hash> {
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
    match read == size {
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
