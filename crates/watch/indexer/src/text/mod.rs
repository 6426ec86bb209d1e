//! Packs of n-grams of a source's files ([`trawl_grams`]), for `trawl grep`.
//!
//! An update walks the source as a scan does, or takes the rows of an index that a daemon keeps up
//! to date. It reads only files that are new or changed since they were packed. Files that are gone, or that now have another guard, are removed from their packs.
//! Invariant: a document is added only if its content
//! cannot have changed since without another identity (`docs/internals/text-index.md`).

mod check;
pub mod keywords;
mod known;
mod packs;
mod read;
mod rows;
mod sink;

use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use trawl_format::{IndexDir, IndexError, Source};
use trawl_model::sync::lock;
use trawl_scan::{ScanError, ScanProgress, WalkOptions, walk};
use trawl_writer::{PackKind, TextStore};

use crate::error::{IndexerError, Result};
use crate::options::Control;
use crate::scan::Scanner;

pub use check::check;

use known::Known;
use packs::Packs;
use sink::{Covered, Feed, Finder, Job};

/// Default limit for the size of a covered file, in bytes.
pub const MAX_BYTES_DEFAULT: u64 = 32 << 20;
/// Number of directories whose files wait to be read.
const WAITING_MAX: usize = 64;
/// Maximum time to wait for another update, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(50);
const SETTING: &str = "max-size ";

/// Which files of a source are covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextChoice {
    /// As by the last update; none if there was none.
    #[default]
    AsBefore,
    /// None: packs are removed.
    Nothing,
    /// Files up to this size in bytes; without one, the limit of the last update or the default.
    UpTo(Option<u64>),
}

/// Where an update finds files, and how much it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// It walks the tree, and reads files on all processors. It waits for another update to end.
    #[default]
    Full,
    /// It takes the rows of an index that is up to date, reads files on one thread, and takes
    /// little memory. It fails if another update is under way.
    Background,
}

impl Effort {
    fn threads(self) -> usize {
        match self {
            Effort::Full => std::thread::available_parallelism().map_or(1, usize::from),
            Effort::Background => 1,
        }
    }

    /// Returns the memory of growing packs in bytes, from which the largest is written.
    fn memory_bytes(self) -> usize {
        match self {
            Effort::Full => 128 << 20,
            Effort::Background => 32 << 20,
        }
    }
}

/// Result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextUpdated {
    /// Number of files that are covered.
    pub files: u64,
    /// Number of files read, and their bytes.
    pub read: (u64, u64),
    /// Number of files that are larger than the limit; they are read by each search.
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
    (scanner, choice, effort): (&Scanner<'_>, TextChoice, Effort),
    control: Control<'_>,
) -> Result<Option<TextUpdated>> {
    let clock = Instant::now();
    let Some(source) = index.source(root)? else {
        return Ok(None);
    };
    let is_wanted = matches!(choice, TextChoice::UpTo(_));
    let Some(store) = open(&source, (PackKind::Grams, is_wanted, effort), control)? else {
        return Ok(None);
    };
    if choice == TextChoice::Nothing {
        TextStore::remove(&source, PackKind::Grams)?;
        return Ok(None);
    }
    if source.id_map()?.is_some() {
        let root = root.to_vec();
        return Err(IndexerError::TextIds { root });
    }
    let max_bytes = settle(&store, choice)?;
    let known = Known::read(&store)?;
    let memory_bytes = effort.memory_bytes();
    let packs = Mutex::new(Packs::new(store, (control.clock)(), memory_bytes));
    let mut finder: Finder = Finder::new(root, known, max_bytes);
    let files = Files {
        index,
        root,
        scanner,
        effort,
    };
    files.find(&mut finder, control, |jobs| {
        let mut reader = read::Reader::new(control);
        jobs.for_each(|job| reader.read(&job, &packs));
    })?;
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

/// Opens packs; `None` if there are none and none are wanted. Waits for a writer to end if the effort
/// allows it.
pub(crate) fn open(
    source: &Source,
    (kind, is_wanted, effort): (PackKind, bool, Effort),
    control: Control<'_>,
) -> Result<Option<TextStore>> {
    let begun = Instant::now();
    loop {
        let opened = match is_wanted {
            true => TextStore::create(source, kind).map(Some),
            false => TextStore::open(source, kind),
        };
        let waits = effort == Effort::Full && begun.elapsed() < PATIENCE;
        match opened {
            Err(IndexError::Busy { .. }) if waits => std::thread::sleep(LOOK),
            opened => return Ok(opened?),
        }
        control.check()?;
    }
}

/// Where files are found.
struct Files<'f> {
    index: &'f IndexDir,
    root: &'f [u8],
    scanner: &'f Scanner<'f>,
    effort: Effort,
}

impl Files<'_> {
    /// Finds the files of the source. Threads run `read` on the files that no pack covers; each call
    /// ends when there are no more.
    fn find<K: Covered>(
        &self,
        finder: &mut Finder<K>,
        control: Control<'_>,
        read: impl Fn(&mut dyn Iterator<Item = Job>) + Sync,
    ) -> Result<()> {
        let mut options = self.scanner.walk_options_for(self.root)?;
        options.cancel = control.cancel;
        let threads = match (self.effort, options.threads) {
            (Effort::Full, given) if given > 0 => given,
            (effort, _) => effort.threads(),
        };
        let (sender, receiver) = sync_channel::<Vec<Job>>(WAITING_MAX);
        let receiver = Mutex::new(receiver);
        let next = || lock(&receiver).recv().ok();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let jobs = std::iter::from_fn(next).flatten();
                    read(&mut jobs.filter(|_| control.check().is_ok()));
                });
            }
            self.feed(Feed { finder, sender }, &options, control)
        })
    }

    fn feed<K: Covered>(
        &self,
        mut sink: Feed<'_, K>,
        options: &WalkOptions<'_>,
        control: Control<'_>,
    ) -> Result<()> {
        if self.effort == Effort::Background {
            return rows::feed((self.index, self.root), options, &mut sink, control);
        }
        let path = trawl_model::path::display(self.root);
        let walked = walk(path, options, &ScanProgress::default(), &mut sink);
        walked.map(drop).map_err(|error| match error {
            ScanError::Cancelled => IndexerError::Interrupted,
            ScanError::Sink(error) => IndexerError::Index(error),
            other => IndexerError::Scan(other),
        })
    }
}
