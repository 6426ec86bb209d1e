//! Packs of keywords and attributes of a source's files ([`trawl_keywords`]), for `trawl find`.
//!
//! An update is that of the packs of n-grams: a walk that reads only files that are new or changed,
//! under the same conditions ([`super::read`]), with packs behind the same guards. What differs is
//! that every regular file is covered: files that are not text have no words.

mod known;
mod packs;

use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use trawl_format::IndexDir;
use trawl_model::sync::lock;
use trawl_scan::{ScanError, ScanProgress, walk};
use trawl_writer::{PackKind, TextStore};

use super::sink::{Feed, Finder, Job};
use super::{WAITING_MAX, read};
use crate::error::{IndexerError, Result};
use crate::options::Control;
use crate::scan::Scanner;

use known::Known;
use packs::{Growing, Packs};

/// Whether a source has packs of keywords.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeywordsChoice {
    /// As by the last update; none if there was none.
    #[default]
    AsBefore,
    /// None: packs are removed.
    Nothing,
    /// It has.
    Wanted,
}

/// Result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeywordsUpdated {
    /// Number of files that are covered.
    pub files: u64,
    /// Number of files read, and their bytes.
    pub read: (u64, u64),
    /// Number of files that had just been changed or were open for writing, could not be read, or
    /// lie where nothing can tell.
    pub unsettled: u64,
    /// Size of all packs in bytes.
    pub size_bytes: u64,
    /// Time from the first to the last system call.
    pub elapsed: Duration,
}

/// Brings the packs of a source up to date. Returns `None` if it has none and none are wanted.
///
/// # Errors
/// If the source or the index cannot be read or written, or the work was interrupted.
pub fn update(
    index: &IndexDir,
    root: &[u8],
    (scanner, choice): (&Scanner<'_>, KeywordsChoice),
    control: Control<'_>,
) -> Result<Option<KeywordsUpdated>> {
    let clock = Instant::now();
    let Some(source) = index.source(root)? else {
        return Ok(None);
    };
    let store = match choice {
        KeywordsChoice::Nothing => {
            TextStore::remove(&source, PackKind::Keywords)?;
            None
        }
        KeywordsChoice::Wanted => Some(TextStore::create(&source, PackKind::Keywords)?),
        KeywordsChoice::AsBefore => TextStore::open(&source, PackKind::Keywords)?,
    };
    let Some(store) = store else {
        return Ok(None);
    };
    if source.id_map()?.is_some() {
        let root = root.to_vec();
        return Err(IndexerError::KeywordIds { root });
    }
    let known = Known::read(&store)?;
    let packs = Mutex::new(Packs::new(store, (control.clock)()));
    let mut finder = Finder::new(root, known, u64::MAX);
    find(root, &mut finder, (scanner, control), &packs)?;
    control.check()?;
    let packs = packs
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut done = packs.finish(finder)?;
    done.elapsed = clock.elapsed();
    Ok(Some(done))
}

/// Walks the source; threads read the files that are not covered.
fn find(
    root: &[u8],
    finder: &mut Finder<Known>,
    (scanner, control): (&Scanner<'_>, Control<'_>),
    packs: &Mutex<Packs>,
) -> Result<()> {
    let options = scanner.walk_options_for(root)?;
    let (sender, receiver) = sync_channel::<Vec<Job>>(WAITING_MAX);
    let receiver = Mutex::new(receiver);
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        given => given,
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut growing = Growing::new(packs);
                let mut opener = read::Opener::new(control);
                while let Ok(jobs) = { lock(&receiver).recv() } {
                    for job in jobs.iter().filter(|_| control.check().is_ok()) {
                        growing.put(job, document(job, &mut opener));
                    }
                }
                growing.finish();
            });
        }
        let path = trawl_model::path::display(root);
        let mut sink = Feed { finder, sender };
        let walked = walk(path, &options, &ScanProgress::default(), &mut sink);
        drop(sink);
        walked.map(drop).map_err(|error| match error {
            ScanError::Cancelled => IndexerError::Interrupted,
            ScanError::Sink(error) => IndexerError::Index(error),
            other => IndexerError::Scan(other),
        })
    })
}

/// Reads the document of a file; `None` if the file is not settled, or cannot be read.
fn document(job: &Job, opener: &mut read::Opener<'_>) -> Option<trawl_keywords::Document> {
    let mut file = opener.open(job)?;
    let document = trawl_keywords::document_of(&mut file).ok()?;
    read::is_same(&file, job).then_some(document)
}
