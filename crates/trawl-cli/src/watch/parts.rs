//! The applier: what is dirty is read again and published beside the snapshot. Where that cannot
//! be, the source is indexed again as a whole. What was published becomes a snapshot now and then,
//! at the end, and at once where someone may no longer see something.
//!
//! After trust was lost, what changed is found out where the file system tells; where it does not,
//! or what is in the index was made in another way, a scan does.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use trawl_apply::{ApplyError as Refused, Unappliable};
use trawl_history::SegmentReader;
use trawl_index::live::{Checkpoint, Removal};
use trawl_index::{IndexDir, SnapshotId};
use trawl_live::Places;
use trawl_model::Timestamp;
use trawl_scan::Mounts;
use trawl_serve::{Applier, ApplyError, ApplyErrorKind, Published, Recovery, Scope, Taken};

use crate::failure::Failure;
use crate::index::scan::{now, publish, say_forgotten};
use crate::index::upkeep::{say_damaged, with_rule};
use crate::watch::checkpoint::Policy;
use crate::watch::moments::Moments;
use crate::watch::plain::{Plain, told};

/// Keeps a source's index by its parts.
pub(crate) struct ByParts {
    plain: Plain,
    root: Vec<u8>,
    /// None until something is to be applied, and while a snapshot is made.
    applier: Option<trawl_apply::Applier>,
    /// The last that was published was a snapshot.
    was_scanned: bool,
    /// What was published beside the snapshot was let go: nothing can go on
    /// from that snapshot.
    must_scan: bool,
    /// Up to when all changes are in, as was published last.
    as_of: Timestamp,
    policy: Policy,
    moments: Moments,
    /// Something is being done. True when something begins: it panicked before.
    is_at_work: bool,
}

/// A scan takes the place of what was to be found out, and why.
const NOT_GOING_ON: &str = "what was published is not to be gone on from";

impl ByParts {
    /// For the source with this root, which `plain` scans.
    pub(crate) fn new(plain: Plain, root: Vec<u8>, policy: Policy, moments: Moments) -> ByParts {
        ByParts {
            plain,
            moments,
            is_at_work: false,
            root,
            applier: None,
            was_scanned: false,
            must_scan: false,
            as_of: Timestamp::default(),
            policy,
        }
    }

    /// A new snapshot.
    fn scan(&mut self) -> Result<Published, ApplyError> {
        if let Some(applier) = self.applier.take() {
            self.must_scan = true;
            let ended = applier.end().map_err(failure);
            ended.map_err(|failure| told(&failure))?;
        }
        let begun = self.moments.now();
        let published = self.plain.try_scan()?;
        self.was_scanned = true;
        self.must_scan = false;
        self.policy.made(Instant::now(), Duration::ZERO);
        self.moments.scanned(begun, published.snapshot);
        Ok(published)
    }

    /// A snapshot of what was published, unless it is told not to go on.
    fn checkpoint(
        &mut self,
        removal: Removal,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<SnapshotId>, Failure> {
        // Who waits for a right to be taken away does not wait for the disk.
        let is_urgent = removal == Removal::AtOnce;
        let (begun, retention) = (Instant::now(), self.plain.retention());
        let Some(applier) = &mut self.applier else {
            return Ok(None);
        };
        let making = Checkpoint {
            reader: Box::new(SegmentReader),
            bundler: Box::new(SegmentReader),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now: now(),
            removal,
            go_on,
        };
        let root = &self.root;
        let done = applier.checkpoint(making, |prepared| {
            let (committed, tightened) = publish(prepared, retention)?;
            say_forgotten(root, &tightened);
            Ok::<_, Failure>(committed)
        })?;
        let Some(committed) = done else {
            return Ok(None);
        };
        let rule = retention.rule_for(applier.source())?;
        say_damaged(&with_rule(&rule, |rule| applier.collect(rule)).map_err(failure)?);
        self.policy.made(Instant::now(), begun.elapsed());
        if !is_urgent {
            self.moments.keep(committed.id);
        }
        Ok(Some(committed.id))
    }

    /// Finds out what changed since what is known was true, and has that applied with what is dirty;
    /// scans everything where that is not possible.
    fn find_out(
        &mut self,
        taken: &Taken,
        places: &mut dyn Places,
    ) -> Result<Published, ApplyError> {
        let begun = self.moments.now();
        let note = self.moments.reached().cloned();
        let as_of = taken.as_of.unwrap_or(self.as_of);
        let mut recovery = None;
        let done = self.attempt(|applier, cancel| {
            let when = (as_of, cancel);
            let caught = applier.catch_up(&taken.dirty, note.as_ref(), places, when)?;
            recovery = Some(Recovery {
                method: Some(caught.method.name()),
                why: caught.why,
                looked_at: caught.looked_at,
                dirty: caught.dirty,
            });
            Ok(caught.applied)
        });
        match done {
            Ok(Ok(published)) => {
                self.as_of = as_of;
                self.moments.reach(begun);
                Ok(Published {
                    recovery,
                    ..published
                })
            }
            Ok(Err(why)) => self.scan_for(why.to_string()),
            Err(error) => {
                self.must_scan |= error.kind == ApplyErrorKind::Broken;
                Err(error)
            }
        }
    }

    /// Why nothing but a scan will do.
    fn must_scan_for(&self) -> Option<String> {
        if self.must_scan || self.is_at_work {
            return Some(NOT_GOING_ON.to_owned());
        }
        if self.applier.is_some() {
            return None;
        }
        match self.plain.goes_on(&self.root) {
            Ok(None) => None,
            Ok(Some(why)) => Some(why.to_owned()),
            Err(failure) => Some(failure.to_string()),
        }
    }

    fn scan_for(&mut self, why: String) -> Result<Published, ApplyError> {
        let published = self.scan()?;
        let recovery = Recovery {
            why: Some(why),
            ..Recovery::default()
        };
        Ok(Published {
            recovery: Some(recovery),
            ..published
        })
    }

    fn begin(&mut self) -> Result<(), Refused> {
        if self.applier.is_some() {
            return Ok(());
        }
        let index = IndexDir::open(self.plain.index())?;
        let options = self.plain.apply_options();
        let options = options.map_err(|_| Refused::Unappliable(Unappliable::NoRoot))?;
        let applier = trawl_apply::Applier::begin(&index, &self.root, options, now())?;
        self.applier = Some(applier);
        Ok(())
    }

    /// Does something with the applier, or makes a snapshot where it cannot.
    fn with(
        &mut self,
        work: impl FnOnce(
            &mut trawl_apply::Applier,
            &AtomicBool,
        ) -> Result<trawl_apply::Applied, Refused>,
    ) -> Result<Published, ApplyError> {
        if self.must_scan {
            return self.scan();
        }
        match self.attempt(work)? {
            Ok(published) => Ok(published),
            Err(_) => self.scan(),
        }
    }

    /// The same, but it says why where it cannot.
    fn attempt(
        &mut self,
        work: impl FnOnce(
            &mut trawl_apply::Applier,
            &AtomicBool,
        ) -> Result<trawl_apply::Applied, Refused>,
    ) -> Result<Result<Published, Unappliable>, ApplyError> {
        // What is mounted below is not among what is read again.
        let options = self.plain.apply_options();
        if options.is_ok_and(|options| options.mounts == Mounts::Cross) {
            let why = "what is mounted below is part of it".to_owned();
            return Ok(Err(Unappliable::Untold { why }));
        }
        let done = self.begin().and_then(|()| match &mut self.applier {
            // What is dirty is little: a daemon that is to end ends this first.
            Some(applier) => work(applier, &AtomicBool::new(false)),
            None => Ok(trawl_apply::Applied::default()),
        });
        match done {
            Ok(_) => self.published().map(Ok),
            Err(Refused::Unappliable(why)) => Ok(Err(why)),
            Err(error) => Err(told(&failure(error))),
        }
    }

    /// Something was: if fewer may see it than files of the snapshot show, a snapshot is made.
    fn published(&mut self) -> Result<Published, ApplyError> {
        self.was_scanned = false;
        let mut snapshot = None;
        if self
            .applier
            .as_ref()
            .is_some_and(|one| one.must_checkpoint())
        {
            let made = self.checkpoint(Removal::AtOnce, &mut || true);
            snapshot = made.map_err(|failure| told(&failure))?;
        }
        if self.applier.as_ref().is_some_and(|one| one.has_changes()) {
            self.policy.published(Instant::now());
        }
        Ok(Published {
            snapshot,
            generation: match (&self.applier, snapshot) {
                (Some(applier), None) => applier.generation(),
                _ => 0,
            },
            is_checkpoint: snapshot.is_some(),
            ..Published::default()
        })
    }
}

fn failure(error: Refused) -> Failure {
    match error {
        Refused::Index(error) => Failure::Index(error),
        Refused::Query(error) => Failure::Query(error),
        Refused::Live(error) => trawl_serve::ServeError::from(error).into(),
        Refused::Scan(trawl_scan::ScanError::Cancelled) => Failure::Interrupted,
        Refused::Scan(trawl_scan::ScanError::Sink(error)) => Failure::Index(error),
        other => Failure::Usage(other.to_string()),
    }
}

impl Applier for ByParts {
    fn apply(&mut self, taken: &Taken, places: &mut dyn Places) -> Result<Published, ApplyError> {
        let as_of = taken.as_of.unwrap_or(self.as_of);
        let begun = self.moments.now();
        self.is_at_work = true;
        let done = self.with(|applier, cancel| applier.apply(&taken.dirty, places, as_of, cancel));
        self.is_at_work = false;
        let is_broken = |error: &ApplyError| error.kind == ApplyErrorKind::Broken;
        self.must_scan |= done.as_ref().is_err_and(is_broken);
        let published = done?;
        self.as_of = as_of;
        if taken.has_open_files {
            self.moments.applied(begun);
        }
        Ok(published)
    }

    fn look(&mut self) -> Result<Option<Published>, ApplyError> {
        let published = self.with(|applier, cancel| {
            applier.check(cancel)?;
            Ok(trawl_apply::Applied::default())
        })?;
        Ok(published.snapshot.is_some().then_some(published))
    }

    fn rescan(
        &mut self,
        scope: &Scope,
        _: &str,
        _: &mut dyn Places,
    ) -> Result<Published, ApplyError> {
        match scope {
            Scope::Everything => self.scan(),
            Scope::Subtree(dir) => {
                // Elsewhere something may be dirty that came later.
                let as_of = self.as_of;
                self.with(|applier, cancel| applier.refresh(dir, as_of, cancel))
            }
        }
    }

    fn catch_up(
        &mut self,
        taken: &Taken,
        _: &str,
        places: &mut dyn Places,
    ) -> Result<Published, ApplyError> {
        let must_scan = self.must_scan_for();
        self.is_at_work = true;
        let done = match must_scan {
            Some(why) => self.scan_for(why),
            None => self.find_out(taken, places),
        };
        self.is_at_work = false;
        done
    }

    fn note(&mut self) -> Option<(SnapshotId, String)> {
        self.moments.noted()
    }

    fn compacts_at(&self) -> Option<Instant> {
        let applier = self.applier.as_ref().filter(|one| one.has_changes())?;
        self.policy.at(applier.growth(), Instant::now())
    }

    fn compact(&mut self, is_wanted: &dyn Fn() -> bool) -> Result<Option<SnapshotId>, ApplyError> {
        let insists = self.policy.insists();
        self.is_at_work = true;
        let made = self.checkpoint(Removal::WhenUnread, &mut || insists || !is_wanted());
        self.is_at_work = false;
        if !matches!(made, Ok(Some(_))) {
            self.policy.left_off(Instant::now());
        }
        let made = made.map_err(|failure| told(&failure));
        let is_broken = |error: &ApplyError| error.kind == ApplyErrorKind::Broken;
        self.must_scan |= made.as_ref().is_err_and(is_broken);
        made
    }

    fn close(&mut self) -> Result<Option<SnapshotId>, ApplyError> {
        let made = self.checkpoint(Removal::WhenUnread, &mut || true);
        let made = made.map_err(|failure| told(&failure))?;
        if let Some(applier) = self.applier.take() {
            let ended = applier.end().map_err(failure);
            ended.map_err(|failure| told(&failure))?;
        }
        self.moments.settle();
        Ok(made)
    }

    fn rest(&self) -> Duration {
        match self.was_scanned {
            true => self.plain.rest(),
            false => Duration::ZERO,
        }
    }
}
