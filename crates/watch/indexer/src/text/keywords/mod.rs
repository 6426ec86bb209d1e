//! Packs of keywords and attributes of a source's files ([`trawl_keywords`]), for `trawl find`.
//!
//! An update is that of the packs of n-grams: a walk, or the rows of a watched index, of which only
//! files are read that are new or changed, under the same conditions ([`super::read`]), with packs
//! behind the same guards. What differs:
//!
//! - Every regular file is covered: files that are not text have no words.
//! - Documents come from the caller ([`Documents`]), which runs hooks in processes without rights.
//! - No hook runs again for a file that was moved. Its ctime has changed, so its bytes are compared
//!   by their hash.

mod known;
mod packs;

use std::fs::File;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_format::IndexDir;
use trawl_keywords::{Document, Documents, content_hash, document_unless};
use trawl_writer::{PackKind, TextStore};

use super::sink::{Finder, Job};
use super::{Effort, Files, read};
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

/// How an update is made.
#[derive(Clone, Debug)]
pub struct Making {
    /// Whether there are packs.
    pub choice: KeywordsChoice,
    /// Where files are found, and how much the update takes.
    pub effort: Effort,
    /// Reads documents.
    pub documents: Arc<dyn Documents>,
}

/// A file of which something is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileIssue {
    /// Its path.
    pub path: Vec<u8>,
    /// The reason, in words.
    pub reason: String,
}

/// Maximum number of issues that an update names.
const ISSUES_MAX: usize = 1000;

/// Result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeywordsUpdated {
    /// Number of files that are covered.
    pub files: u64,
    /// Number of files from which documents were made, and their bytes.
    pub read: (u64, u64),
    /// Number of files that were moved, or got other permissions, with their documents.
    pub moved: u64,
    /// Number of files that had just been changed or were open for writing, could not be read, or
    /// lie where nothing can tell.
    pub unsettled: u64,
    /// Number of covered files that could not be read as a whole.
    pub incomplete: u64,
    /// The issues of files that were read, at most 1,000.
    pub issues: Vec<FileIssue>,
    /// Size of all packs in bytes.
    pub size_bytes: u64,
    /// Time from the first to the last system call.
    pub elapsed: Duration,
}

impl KeywordsUpdated {
    /// Notes an issue, unless there are too many.
    fn issue(&mut self, path: &[u8], reason: &str) {
        if self.issues.len() < ISSUES_MAX {
            self.issues.push(FileIssue {
                path: path.to_vec(),
                reason: reason.to_owned(),
            });
        }
    }
}

/// Brings the packs of a source up to date. Returns `None` if it has none and none are wanted.
///
/// # Errors
/// If the source or the index cannot be read or written, or the work was interrupted.
pub fn update(
    index: &IndexDir,
    root: &[u8],
    (scanner, making): (&Scanner<'_>, &Making),
    control: Control<'_>,
) -> Result<Option<KeywordsUpdated>> {
    let clock = Instant::now();
    let Some(source) = index.source(root)? else {
        return Ok(None);
    };
    let store = match making.choice {
        KeywordsChoice::Nothing => {
            TextStore::remove(&source, PackKind::Keywords)?;
            None
        }
        choice => {
            let is_wanted = choice == KeywordsChoice::Wanted;
            super::open(
                &source,
                (PackKind::Keywords, is_wanted, making.effort),
                control,
            )?
        }
    };
    let Some(store) = store else {
        return Ok(None);
    };
    if source.id_map()?.is_some() {
        let root = root.to_vec();
        return Err(IndexerError::KeywordIds { root });
    }
    let known = Known::read(&store, Arc::clone(&making.documents), making.effort)?;
    let packs = Mutex::new(Packs::new(store, (control.clock)(), &making.documents));
    let mut finder = Finder::new(root, known, u64::MAX);
    let files = Files {
        index,
        root,
        scanner,
        effort: making.effort,
    };
    files.find(&mut finder, control, |jobs| {
        let mut growing = Growing::new(&packs, making.effort.memory_bytes());
        let mut opener = read::Opener::new(control);
        for job in jobs {
            let source = (&*making.documents, control.cancel);
            let outcome = outcome(&job, &mut opener, source);
            if control.check().is_err() {
                // What was read is not written.
                return;
            }
            growing.put(&job, outcome);
        }
        growing.finish();
    })?;
    control.check()?;
    let packs = packs
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut done = packs.finish(finder)?;
    done.elapsed = clock.elapsed();
    Ok(Some(done))
}

/// What became of a file.
enum Outcome {
    /// Its document.
    Read(Box<Document>),
    /// It has the bytes of [`Job::before`].
    Moved,
    /// It is not settled, or cannot be opened.
    Unsettled,
    /// It cannot be read, for this reason.
    Failed(String),
}

/// Reads the document of a file, unless the file was only moved.
fn outcome(
    job: &Job,
    opener: &mut read::Opener<'_>,
    source: (&dyn Documents, &AtomicBool),
) -> Outcome {
    let Some(mut file) = opener.open(job) else {
        return Outcome::Unsettled;
    };
    let made = made(job, &mut file, source);
    match (made, read::is_same(&file, job)) {
        (_, false) => Outcome::Unsettled,
        (Ok(outcome), true) => outcome,
        (Err(error), true) => Outcome::Failed(error.to_string()),
    }
}

fn made(
    job: &Job,
    file: &mut File,
    (documents, cancel): (&dyn Documents, &AtomicBool),
) -> std::io::Result<Outcome> {
    let content_hash = content_hash(file)?;
    if job
        .before
        .is_some_and(|before| Some(before.content_hash) == content_hash)
    {
        return Ok(Outcome::Moved);
    }
    let mut document = document_unless(cancel, documents, file, job.name())?;
    document.content_hash = content_hash;
    Ok(Outcome::Read(Box::new(document)))
}
