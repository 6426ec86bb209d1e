//! The applier: reads changed parts again and publishes them beside the snapshot. Where that is
//! impossible, it indexes the whole source again. Published changes become a snapshot from time to
//! time, at the end, and immediately if a user has lost access to something.
//!
//! After trust was lost, the applier asks the file system for the changes. If the file system cannot
//! tell, or if the index was made with other options, it scans the source.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use trawl_barrier::{Applier, ApplyError, ApplyErrorKind, Published, Recovery, Scope, TakenDirt};
use trawl_changes::KeyResolver;
use trawl_delta::{ApplyError as Refused, Unappliable};
use trawl_format::{IndexDir, SnapshotId};
use trawl_indexer::publish;
use trawl_indexer::upkeep::with_rule;
use trawl_model::Timestamp;
use trawl_model::operation::Operation;
use trawl_scan::Mounts;
use trawl_writer::live::{Checkpoint, Removal};

use crate::checkpoint::Policy;
use crate::error::DaemonError;
use crate::moments::Moments;
use crate::plain::{Plain, told};
use crate::texts::Texts;

/// An applier that updates a source's index part by part.
pub(crate) struct ByParts {
    plain: Plain,
    root: Vec<u8>,
    /// `None` until something is applied, and while a scan is made.
    applier: Option<trawl_delta::Applier>,
    /// Whether the last thing that was published was a scan.
    was_scanned: bool,
    /// Whether published changes were discarded, so that no work can continue from the snapshot.
    must_scan: bool,
    /// Time up to which all changes were in, when the index was published last.
    as_of: Timestamp,
    policy: Policy,
    moments: Moments,
    /// Follows what is published.
    texts: Texts,
    /// Whether work is in progress. If this is true when work begins, earlier work panicked.
    is_at_work: bool,
}

/// Reason for a scan instead of finding out the changes.
const NOT_GOING_ON: &str = "work cannot continue from what was published";

impl ByParts {
    /// Creates the applier of the source with this root, which `plain` scans.
    pub(crate) fn new(plain: Plain, root: Vec<u8>, policy: Policy, moments: Moments) -> ByParts {
        let texts = plain.texts(root.clone());
        ByParts {
            plain,
            moments,
            texts,
            is_at_work: false,
            root,
            applier: None,
            was_scanned: false,
            must_scan: false,
            as_of: Timestamp::default(),
            policy,
        }
    }

    /// Scans the source into a new snapshot.
    fn scan(&mut self) -> Result<Published, ApplyError> {
        if let Some(applier) = self.applier.take() {
            self.must_scan = true;
            let ended = applier.end().map_err(DaemonError::from);
            ended.map_err(|failure| told(&failure))?;
        }
        let begun = self.moments.now();
        let published = self.plain.try_scan()?;
        self.was_scanned = true;
        self.must_scan = false;
        self.policy.made(Instant::now(), Duration::ZERO);
        self.moments.scanned(begun, published.snapshot);
        self.texts.published();
        Ok(published)
    }

    /// Makes a snapshot of the published changes, unless `go_on` returns false.
    fn checkpoint(
        &mut self,
        removal: Removal,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<SnapshotId>, DaemonError> {
        // If access must be removed at once, nothing waits for the disk.
        let is_urgent = removal == Removal::AtOnce;
        let (begun, retention) = (Instant::now(), self.plain.retention());
        let host = self.plain.host();
        let Some(applier) = &mut self.applier else {
            return Ok(None);
        };
        let making = Checkpoint {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now: (host.control.clock)(),
            removal,
            go_on,
        };
        let root = &self.root;
        let _span = Operation::Publish.span();
        let done = applier.checkpoint(making, |prepared| {
            let committed = publish(prepared, retention, (host.control.clock)())?;
            for id in &committed.tightened.damaged {
                let (root, id) = (root.clone(), *id);
                host.report(trawl_indexer::Notice::Forgotten { root, id });
            }
            Ok::<_, DaemonError>(committed)
        })?;
        let Some(committed) = done else {
            return Ok(None);
        };
        let rule = retention.rule_for(applier.source())?;
        let now = (host.control.clock)();
        let collected = with_rule(&rule, now, |rule| applier.collect(rule));
        let collected = collected.map_err(DaemonError::from)?;
        trawl_indexer::Notice::damaged(&collected).for_each(|notice| host.report(notice));
        self.policy.made(Instant::now(), begun.elapsed());
        if !is_urgent {
            self.moments.keep(committed.id);
        }
        Ok(Some(committed.id))
    }

    /// Finds out what changed since the known state was true, and applies it together with the
    /// dirty paths. Scans everything if that is impossible.
    fn find_out(
        &mut self,
        taken: &TakenDirt,
        places: &mut dyn KeyResolver,
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

    /// Returns why only a scan is possible; `None` if it is not needed.
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
        let now = (self.plain.host().control.clock)();
        let applier = trawl_delta::Applier::begin(&index, &self.root, options, now)?;
        self.applier = Some(applier);
        Ok(())
    }

    /// Runs `work` with the applier, or scans the source if that is impossible.
    fn with(
        &mut self,
        work: impl FnOnce(
            &mut trawl_delta::Applier,
            &AtomicBool,
        ) -> Result<trawl_delta::Applied, Refused>,
    ) -> Result<Published, ApplyError> {
        if self.must_scan {
            return self.scan();
        }
        match self.attempt(work)? {
            Ok(published) => Ok(published),
            Err(_) => self.scan(),
        }
    }

    /// Runs `work` with the applier; says why if that is impossible.
    fn attempt(
        &mut self,
        work: impl FnOnce(
            &mut trawl_delta::Applier,
            &AtomicBool,
        ) -> Result<trawl_delta::Applied, Refused>,
    ) -> Result<Result<Published, Unappliable>, ApplyError> {
        // The applier does not read mounted file systems again.
        let options = self.plain.apply_options();
        if options.is_ok_and(|options| options.mounts == Mounts::Cross) {
            let why = "it includes file systems that are mounted below".to_owned();
            return Ok(Err(Unappliable::Untold { why }));
        }
        let done = self.begin().and_then(|()| match &mut self.applier {
            // There are few dirty paths: a daemon that must end finishes them first.
            Some(applier) => work(applier, &AtomicBool::new(false)),
            None => Ok(trawl_delta::Applied::default()),
        });
        match done {
            Ok(_) => self.published().map(Ok),
            Err(Refused::Unappliable(why)) => Ok(Err(why)),
            Err(error) => Err(told(&error.into())),
        }
    }

    /// Records that changes were published. If the snapshot's files show more than users may see
    /// now, a new snapshot is made.
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
        self.texts.published();
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

impl Applier for ByParts {
    fn apply(
        &mut self,
        taken: &TakenDirt,
        places: &mut dyn KeyResolver,
    ) -> Result<Published, ApplyError> {
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
            Ok(trawl_delta::Applied::default())
        })?;
        Ok(published.snapshot.is_some().then_some(published))
    }

    fn rescan(
        &mut self,
        scope: &Scope,
        _: &str,
        _: &mut dyn KeyResolver,
    ) -> Result<Published, ApplyError> {
        match scope {
            Scope::Everything => self.scan(),
            Scope::Subtree(dir) => {
                // Other directories may be dirty because of later changes.
                let as_of = self.as_of;
                self.with(|applier, cancel| applier.refresh(dir, as_of, cancel))
            }
        }
    }

    fn catch_up(
        &mut self,
        taken: &TakenDirt,
        _: &str,
        places: &mut dyn KeyResolver,
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
        self.texts.stop();
        let made = self.checkpoint(Removal::WhenUnread, &mut || true);
        let made = made.map_err(|failure| told(&failure))?;
        if let Some(applier) = self.applier.take() {
            let ended = applier.end().map_err(DaemonError::from);
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
