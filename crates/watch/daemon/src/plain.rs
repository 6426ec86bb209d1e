//! The plain applier: after any change, it indexes the source again, as `trawl index` does;
//! unchanged segments are shared. This is correct, but expensive for a large source.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trawl_barrier::{Applier, ApplyError, ApplyErrorKind, Published, Scope, TakenDirt};
use trawl_changes::KeyResolver;
use trawl_delta::ApplyOptions;
use trawl_format::{IndexDir, IndexError};
use trawl_indexer::upkeep::retain;
use trawl_indexer::{Event, Job, Retention, ScanOptions, Scanner};

use crate::daemon::Host;
use crate::error::{DaemonError, Result};
use crate::notice::Notice;
use crate::texts::Texts;

/// After a scan, the source is left alone for this many times the scan's duration, unless somebody
/// asks.
const REST: u32 = 20;

/// Scanner that indexes a source repeatedly.
pub(crate) struct Plain {
    index: PathBuf,
    root: PathBuf,
    options: ScanOptions,
    host: Host,
    took: Duration,
}

impl Plain {
    /// Creates the applier of a source that is scanned with these options.
    pub(crate) fn new(index: PathBuf, root: PathBuf, options: ScanOptions, host: Host) -> Plain {
        Plain {
            index,
            root,
            options,
            host,
            took: Duration::ZERO,
        }
    }

    /// Scans the whole source and makes the result the current snapshot.
    pub(crate) fn scan(&mut self) -> Result<Published> {
        let begun = Instant::now();
        let index = IndexDir::open(&self.index)?;
        let scanner = self.scanner(&index)?;
        let log = &self.host.log;
        let mut listener = |event: &Event<'_>| {
            if let Event::Notice(notice) = event {
                log(&Notice::Indexer(notice.clone()));
            }
        };
        let done = scanner.run(&Job::Walk(self.root.clone()), &mut listener)?;
        let retention = (&self.options.retention, (self.host.control.clock)());
        retain(&index, &done.root, retention, &mut listener)?;
        self.took = begun.elapsed();
        Ok(Published {
            snapshot: Some(done.committed.id),
            ..Published::default()
        })
    }

    pub(crate) fn try_scan(&mut self) -> std::result::Result<Published, ApplyError> {
        self.scan().map_err(|failure| told(&failure))
    }

    /// Starts to keep the source's packs of n-grams and of keywords up to date.
    pub(crate) fn texts(&self, root: Vec<u8>) -> Texts {
        let place = (self.index.clone(), root);
        Texts::start(place, self.options.clone(), self.host.clone())
    }

    /// Returns the directory of the index.
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }

    /// Returns the options about snapshots to keep.
    pub(crate) fn retention(&self) -> &Retention {
        &self.options.retention
    }

    /// Returns what the process that runs the daemon provides.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Returns why a part that is read now would not fit the index, because the index was made in
    /// another way; `None` if it fits.
    pub(crate) fn goes_on(&self, root: &[u8]) -> Result<Option<&'static str>> {
        let index = IndexDir::open(&self.index)?;
        let source = index.source(root)?;
        let current = match source {
            Some(source) => source.snapshots()?.pop(),
            None => None,
        };
        let Some(current) = current else {
            return Ok(Some("there is no snapshot"));
        };
        if current.version != env!("CARGO_PKG_VERSION") {
            return Ok(Some("another version of the program indexed it"));
        }
        let scanner = self.scanner(&index)?;
        match scanner.reads_as(root, &current.options)? {
            true => Ok(None),
            false => Ok(Some("it was indexed with other options")),
        }
    }

    /// Returns the options for reading a part of the source.
    pub(crate) fn apply_options(&self) -> Result<ApplyOptions> {
        let index = IndexDir::open(&self.index)?;
        let root = self.root.as_os_str().as_bytes();
        let root = trawl_model::path::normalize(root).unwrap_or_default();
        let walk = self.scanner(&index)?.walk_options_for(&root)?;
        Ok(ApplyOptions {
            mounts: walk.mounts,
            excludes: walk.excludes,
            xattrs: walk.xattrs,
            memory_bytes: 0,
        })
    }

    fn scanner<'s>(&'s self, index: &'s IndexDir) -> Result<Scanner<'s>> {
        Ok(Scanner::new(index, &self.options, self.host.control)?)
    }
}

/// Converts a failure for the daemon.
pub(crate) fn told(failure: &DaemonError) -> ApplyError {
    ApplyError {
        kind: kind_of(failure),
        message: failure.to_string(),
    }
}

fn kind_of(failure: &DaemonError) -> ApplyErrorKind {
    match failure {
        DaemonError::Interrupted => ApplyErrorKind::Stopped,
        DaemonError::Index(IndexError::Busy { .. }) => ApplyErrorKind::Busy,
        DaemonError::Index(IndexError::Io { cause, .. })
            if matches!(
                cause.0.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded
            ) =>
        {
            ApplyErrorKind::NoSpace
        }
        _ => ApplyErrorKind::Broken,
    }
}

impl Applier for Plain {
    fn apply(
        &mut self,
        _: &TakenDirt,
        _: &mut dyn KeyResolver,
    ) -> std::result::Result<Published, ApplyError> {
        self.try_scan()
    }

    fn rescan(
        &mut self,
        _: &Scope,
        _: &str,
        _: &mut dyn KeyResolver,
    ) -> std::result::Result<Published, ApplyError> {
        self.try_scan()
    }

    fn rest(&self) -> Duration {
        self.took * REST
    }
}
