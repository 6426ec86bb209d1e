//! The applier: what is dirty is read again and published beside the snapshot. Where that cannot
//! be, the source is indexed again as a whole. What was published becomes a snapshot now and then,
//! at the end, and at once where someone may no longer see something.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use trawl_apply::{ApplyError as Refused, Unappliable};
use trawl_history::SegmentReader;
use trawl_index::live::{Checkpoint, Removal};
use trawl_index::{IndexDir, SnapshotId};
use trawl_live::Places;
use trawl_model::Timestamp;
use trawl_scan::Mounts;
use trawl_serve::{Applier, ApplyError, Published, Scope, Taken};

use crate::failure::Failure;
use crate::index::scan::{now, publish, say_forgotten};
use crate::index::upkeep::{say_damaged, with_rule};
use crate::watch::checkpoint::Policy;
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
}

impl ByParts {
    /// For the source with this root, which `plain` scans.
    pub(crate) fn new(plain: Plain, root: Vec<u8>, policy: Policy) -> ByParts {
        ByParts {
            plain,
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
        let published = self.plain.try_scan()?;
        self.was_scanned = true;
        self.must_scan = false;
        self.policy.made(Instant::now(), Duration::ZERO);
        Ok(published)
    }

    /// A snapshot of what was published, unless it is told not to go on.
    fn checkpoint(
        &mut self,
        removal: Removal,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<SnapshotId>, Failure> {
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
        Ok(Some(committed.id))
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
        // What is mounted below is not among what is read again.
        let options = self.plain.apply_options();
        let crosses = options.is_ok_and(|options| options.mounts == Mounts::Cross);
        if crosses || self.must_scan {
            return self.scan();
        }
        let done = self.begin().and_then(|()| match &mut self.applier {
            // What is dirty is little: a daemon that is to end ends this first.
            Some(applier) => work(applier, &AtomicBool::new(false)),
            None => Ok(trawl_apply::Applied::default()),
        });
        match done {
            Ok(_) => {
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
                    is_checkpoint: snapshot.is_some(),
                    stale: Vec::new(),
                })
            }
            Err(Refused::Unappliable(_)) => self.scan(),
            Err(error) => Err(told(&failure(error))),
        }
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
        let published =
            self.with(|applier, cancel| applier.apply(&taken.dirty, places, as_of, cancel))?;
        self.as_of = as_of;
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

    fn compacts_at(&self) -> Option<Instant> {
        let applier = self.applier.as_ref().filter(|one| one.has_changes())?;
        self.policy.at(applier.growth(), Instant::now())
    }

    fn compact(&mut self, is_wanted: &dyn Fn() -> bool) -> Result<Option<SnapshotId>, ApplyError> {
        let insists = self.policy.insists();
        let made = self.checkpoint(Removal::WhenUnread, &mut || insists || !is_wanted());
        if !matches!(made, Ok(Some(_))) {
            self.policy.left_off(Instant::now());
        }
        made.map_err(|failure| told(&failure))
    }

    fn close(&mut self) -> Result<Option<SnapshotId>, ApplyError> {
        let made = self.checkpoint(Removal::WhenUnread, &mut || true);
        let made = made.map_err(|failure| told(&failure))?;
        if let Some(applier) = self.applier.take() {
            let ended = applier.end().map_err(failure);
            ended.map_err(|failure| told(&failure))?;
        }
        Ok(made)
    }

    fn rest(&self) -> Duration {
        match self.was_scanned {
            true => self.plain.rest(),
            false => Duration::ZERO,
        }
    }
}
