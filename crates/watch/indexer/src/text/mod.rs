//! Packs of n-grams of a source's files ([`trawl_grams`]), for `trawl grep`.
//!
//! An update walks the source as a scan does. It reads only files that are new or changed since they
//! were packed. Files that are gone, or that now have another guard, are removed from their packs.
//! Invariant: a document is added only if its content
//! cannot have changed since without another identity (`docs/internals/text-index.md`).

pub mod keywords;
mod known;
mod packs;
mod read;
mod sink;

use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use trawl_format::IndexDir;
use trawl_model::sync::lock;
use trawl_scan::{ScanError, ScanProgress, walk};
use trawl_writer::{PackKind, TextStore};

use crate::error::{IndexerError, Result};
use crate::options::Control;
use crate::scan::Scanner;

use known::Known;
use packs::Packs;
use sink::{Finder, Job};

/// Default limit for the size of a covered file, in bytes.
pub const MAX_BYTES_DEFAULT: u64 = 16 << 20;
/// Number of directories whose files wait to be read.
const WAITING_MAX: usize = 64;
const SETTING: &str = "max-size ";

/// Which files of a source are covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextChoice {
    /// As by the last update; none if there was none.
    #[default]
    AsBefore,
    /// None: packs are removed.
    Nothing,
    /// Text files up to this size in bytes; without one, the limit of the last update or the
    /// default.
    UpTo(Option<u64>),
}

/// Result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextUpdated {
    /// Number of files that are covered.
    pub files: u64,
    /// Number of files read, and their bytes.
    pub read: (u64, u64),
    /// Number of files that are not text or too large; they are read by each search.
    pub left_out: u64,
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
    (scanner, choice): (&Scanner<'_>, TextChoice),
    control: Control<'_>,
) -> Result<Option<TextUpdated>> {
    let clock = Instant::now();
    let Some(source) = index.source(root)? else {
        return Ok(None);
    };
    if choice == TextChoice::Nothing {
        TextStore::remove(&source, PackKind::Grams)?;
        return Ok(None);
    }
    let store = match choice {
        TextChoice::UpTo(_) => Some(TextStore::create(&source, PackKind::Grams)?),
        _ => TextStore::open(&source, PackKind::Grams)?,
    };
    let Some(store) = store else {
        return Ok(None);
    };
    if source.id_map()?.is_some() {
        let root = root.to_vec();
        return Err(IndexerError::TextIds { root });
    }
    let max_bytes = settle(&store, choice)?;
    let known = Known::read(&store)?;
    let packs = Mutex::new(Packs::new(store, (control.clock)()));
    let mut finder: Finder = Finder::new(root, known, max_bytes);
    find(root, &mut finder, (scanner, control), &packs)?;
    control.check()?;
    let packs = packs
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut done = packs.finish(finder)?;
    done.elapsed = clock.elapsed();
    Ok(Some(done))
}

/// Returns the limit for the size of files, and remembers it.
fn settle(store: &TextStore, choice: TextChoice) -> Result<u64> {
    let before = store.settings()?.and_then(|text| {
        let text = String::from_utf8(text).ok()?;
        text.strip_prefix(SETTING)?.trim_end().parse::<u64>().ok()
    });
    let wanted = match choice {
        TextChoice::UpTo(Some(limit)) => Some(limit),
        _ => before,
    };
    let limit = wanted.unwrap_or(MAX_BYTES_DEFAULT);
    if before != Some(limit) {
        store.set_settings(format!("{SETTING}{limit}\n").as_bytes())?;
    }
    Ok(limit)
}

/// Walks the source; threads read the files that are not covered.
fn find(
    root: &[u8],
    finder: &mut Finder,
    (scanner, control): (&Scanner<'_>, Control<'_>),
    packs: &Mutex<Packs>,
) -> Result<()> {
    let options = scanner.walk_options_for(root)?;
    let (sender, receiver) = sync_channel::<Vec<Job>>(WAITING_MAX);
    let receiver = Mutex::new(receiver);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut reader = read::Reader::new(control);
                while let Ok(jobs) = { lock(&receiver).recv() } {
                    if control.check().is_ok() {
                        jobs.iter().for_each(|job| reader.read(job, packs));
                    }
                }
            });
        }
        let path = trawl_model::path::display(root);
        let mut sink = sink::Feed { finder, sender };
        let walked = walk(path, &options, &ScanProgress::default(), &mut sink);
        drop(sink);
        walked.map(drop).map_err(|error| match error {
            ScanError::Cancelled => IndexerError::Interrupted,
            ScanError::Sink(error) => IndexerError::Index(error),
            other => IndexerError::Scan(other),
        })
    })
}
