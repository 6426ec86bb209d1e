//! What is dirty is published as a generation beside the snapshot; what no generation can tell, and
//! everything after trust was lost, by a new snapshot of the whole source.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use trawl_apply::{Applied, ApplyError as Refused};
use trawl_index::{IndexDir, IndexError, SnapshotId};
use trawl_live::Places;
use trawl_model::Timestamp;
use trawl_serve::{Applier, ApplyError, ApplyErrorKind, Published, Scope, Taken};
use trawl_sys::signal;

use crate::failure::Failure;
use crate::index::scan::now;
use crate::watch::plain::Plain;

/// So many times as long as a scan took, the source is left alone, unless somebody asks.
const REST: u32 = 20;

/// Writes one source. See the module's documentation.
pub(crate) struct Generations {
    plain: Plain,
    /// Goes on from the current snapshot; it has the source's lock.
    live: Option<trawl_apply::Applier>,
    snapshot: Option<SnapshotId>,
    /// What was published last took a scan.
    was_scan: bool,
}

/// Why nothing was published by a generation.
enum Obstacle {
    /// It takes a new snapshot.
    Unfit,
    /// It can be tried again.
    Failed(ApplyError),
}

impl Generations {
    pub(crate) fn new(plain: Plain) -> Generations {
        Generations {
            plain,
            live: None,
            snapshot: None,
            was_scan: false,
        }
    }

    /// Lets go of the source, as a scan needs it.
    fn end(&mut self) -> Result<(), ApplyError> {
        match self.live.take() {
            Some(live) => live.end().map_err(|error| failed(&error)),
            None => Ok(()),
        }
    }

    fn scan(&mut self) -> Result<Published, ApplyError> {
        self.end()?;
        let published = self.plain.scan().map_err(|failure| ApplyError {
            kind: kind_of(&failure),
            message: failure.to_string(),
        })?;
        self.snapshot = published.snapshot;
        self.was_scan = true;
        Ok(published)
    }

    /// Begins where the current snapshot ends.
    fn begin(&mut self) -> Result<&mut trawl_apply::Applier, Obstacle> {
        if self.live.is_none() {
            let begun = self.begun().map_err(obstacle)?;
            self.live = Some(begun);
        }
        self.live.as_mut().ok_or(Obstacle::Unfit)
    }

    fn begun(&mut self) -> Result<trawl_apply::Applier, Refused> {
        let (index, root, args) = self.plain.parts();
        let index = IndexDir::open(index)?;
        let root = root.as_os_str().as_bytes();
        let root = if root == b"/" { &b""[..] } else { root };
        let begun = trawl_apply::Applier::begin(&index, root, args.apply_options(), now())?;
        if let Some(source) = index.source(root)? {
            self.snapshot = source.current_id()?;
        }
        Ok(begun)
    }

    fn publish(
        &mut self,
        work: impl FnOnce(&mut trawl_apply::Applier) -> Result<Applied, Refused>,
    ) -> Result<Published, ApplyError> {
        let done = self.begin().and_then(|live| work(live).map_err(obstacle));
        match done {
            Ok(_) => {
                self.was_scan = false;
                Ok(Published {
                    snapshot: self.snapshot,
                    stale: Vec::new(),
                })
            }
            Err(Obstacle::Unfit) => self.scan(),
            Err(Obstacle::Failed(error)) => Err(error),
        }
    }
}

impl Applier for Generations {
    fn apply(&mut self, taken: &Taken, places: &mut dyn Places) -> Result<Published, ApplyError> {
        let cancel = signal::interrupted();
        self.publish(|live| live.apply(&taken.dirty, places, taken.as_of, cancel))
    }

    fn rescan(
        &mut self,
        scope: &Scope,
        _: &str,
        _: &mut dyn Places,
    ) -> Result<Published, ApplyError> {
        let as_of: Timestamp = now();
        match scope {
            Scope::Everything => self.scan(),
            Scope::Subtree(path) => {
                self.publish(|live| live.refresh(path, as_of, signal::interrupted()))
            }
        }
    }

    /// Generations count no more for who begins anew.
    fn outlives(&self) -> bool {
        self.live.as_ref().is_none_or(|live| live.generation() == 0)
    }

    fn rest(&self) -> Duration {
        match self.was_scan {
            true => self.plain.took() * REST,
            false => Duration::ZERO,
        }
    }
}

impl Drop for Generations {
    fn drop(&mut self) {
        // What cannot be given back now, the next writer finds and cleans up.
        let _ = self.end();
    }
}

fn obstacle(refused: Refused) -> Obstacle {
    match refused {
        Refused::Unappliable(_) => Obstacle::Unfit,
        other => Obstacle::Failed(failed(&other)),
    }
}

fn failed(error: &Refused) -> ApplyError {
    let kind = match error {
        Refused::Index(error) => kind_of_index(error),
        Refused::Scan(trawl_scan::ScanError::Cancelled) => ApplyErrorKind::Stopped,
        Refused::Scan(trawl_scan::ScanError::Sink(error)) => kind_of_index(error),
        _ => ApplyErrorKind::Broken,
    };
    ApplyError {
        kind,
        message: error.to_string(),
    }
}

fn kind_of(failure: &Failure) -> ApplyErrorKind {
    match failure {
        Failure::Interrupted => ApplyErrorKind::Stopped,
        Failure::Index(error) => kind_of_index(error),
        _ => ApplyErrorKind::Broken,
    }
}

fn kind_of_index(error: &IndexError) -> ApplyErrorKind {
    match error {
        IndexError::Busy { .. } => ApplyErrorKind::Busy,
        IndexError::Io { cause, .. } => match cause.0.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ApplyErrorKind::NoSpace,
            _ => ApplyErrorKind::Broken,
        },
        _ => ApplyErrorKind::Broken,
    }
}
