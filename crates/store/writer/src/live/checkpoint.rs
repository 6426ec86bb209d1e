//! Makes a snapshot of the published changes: a base and its generations become an ordinary
//! snapshot, and later generations continue from that.
//!
//! The source's lock is held throughout. Readers of earlier generations continue: the files stay as
//! long as somebody reads them, unless they contain rows that some users may no longer see.

use super::writer::{FileIn, LiveWriter, Removal, Superseded};
use crate::carry::CHECKPOINT;
use crate::gc::{self, Collected};
use crate::guard_dirs::GuardDirs;
use crate::lock::Held;
use crate::writer::checkpoint::Both;
use crate::writer::{Committed, Prepared, WriterOptions, next_id};
use std::collections::HashSet;
use std::sync::Arc;
use trawl_format::error::{IndexError, Result};
use trawl_format::id::{SegmentId, SnapshotId};
use trawl_format::layout;
use trawl_format::retention::Keeps;
use trawl_format::snapshot::{Changes, ShardList, Snapshot, SnapshotInfo};
use trawl_model::Timestamp;

/// Parameters for making a snapshot of the published changes.
pub struct Checkpoint<'a> {
    /// Version of the program.
    pub version: String,
    /// The current time.
    pub now: Timestamp,
    /// When to remove files that only earlier generations need.
    pub removal: Removal,
    /// Called now and then; returning false ends the work without any change.
    pub go_on: &'a mut dyn FnMut() -> bool,
}

impl LiveWriter {
    /// True if readers of the last generation use files that the snapshot does not have.
    pub fn has_changes(&self) -> bool {
        self.generation() > 0 && self.overlays().next().is_some()
    }

    /// Returns the snapshot that this writer continues from.
    pub fn base_id(&self) -> SnapshotId {
        self.base.info.id
    }

    /// Returns the time up to which readers see all changes.
    pub fn known_until(&self) -> Timestamp {
        self.as_of.max(self.base.info.started)
    }

    /// Returns the number of entry rows beside the snapshot, the number in the snapshot, and the
    /// number of segments beside it.
    pub fn growth(&self) -> (u64, u64, usize) {
        let mut beside = (0, 0);
        for overlay in self.overlays() {
            beside.0 += overlay.segments.iter().map(|s| s.rows).sum::<u64>();
            beside.1 += overlay.segments.len();
        }
        (beside.0, self.base.totals().entries, beside.1)
    }

    /// Makes a snapshot that equals what readers of the last generation see, lets `publish` make it
    /// current, and continues from it. Returns `None` if nothing is new, if
    /// [`LiveWriter::is_lost`], or if `go_on` returned false.
    ///
    /// # Errors
    /// Errors of `publish`, and errors of reading or writing files. The writer then continues as
    /// before, unless [`LiveWriter::is_lost`].
    pub fn checkpoint<E: From<IndexError>>(
        &mut self,
        making: Checkpoint<'_>,
        publish: impl FnOnce(Prepared) -> std::result::Result<Committed, E>,
    ) -> std::result::Result<Option<Committed>, E> {
        if !self.has_changes() || self.is_lost() {
            return Ok(None);
        }
        let (now, removal) = (making.now, making.removal);
        let mut stopped = false;
        let prepared = self.prepare(making, &mut stopped);
        // A failed attempt may have removed empty guard directories.
        self.dirs = GuardDirs::default();
        let prepared = match prepared {
            Err(_) if stopped => return Ok(None),
            prepared => prepared?,
        };
        let id = prepared.id();
        let published = publish(prepared);
        let is_current = self.source.current_id()? == Some(id);
        if is_current {
            // The rename may have happened even if a later step failed.
            self.is_lost = true;
            self.rebase(id, now, removal)?;
            self.is_lost = false;
        } else {
            let info = SnapshotInfo::read(self.source.dir(), self.base.info.id);
            self.is_lost = info?.edition() != self.edition;
        }
        published.map(Some)
    }

    /// True if the published changes are not in effect any more and nothing can be published that
    /// continues from them: the source must be scanned.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Removes the older snapshots that `retention` does not keep, and the files that no other
    /// snapshot needs.
    ///
    /// # Errors
    /// If files cannot be listed or removed.
    pub fn collect(&self, retention: impl Keeps) -> Result<Collected> {
        let current = self.base.info.id;
        gc::remove_old_snapshots(&self.source, current, current, &retention)
    }

    fn prepare(&mut self, making: Checkpoint<'_>, stopped: &mut bool) -> Result<Prepared> {
        let snapshot = self.snapshot();
        let list = ShardList::read(self.source.dir(), self.edition)?.ok_or_else(|| {
            let name = layout::shard_list_file(self.edition);
            IndexError::damaged(&self.source.dir().join(&name), "it cannot be read")
        })?;
        let started = self.known_until();
        let next = next_id(&self.source, started)?;
        let source = self.index.source(self.source.root())?;
        let mut go_on = || match (making.go_on)() {
            true => Ok(()),
            false => {
                *stopped = true;
                Err(IndexError::read_back("it was told to stop"))
            }
        };
        Prepared::of_both(Both {
            index: Arc::clone(&self.index),
            source: source.ok_or_else(|| IndexError::NoSnapshot {
                path: self.source.path().to_owned(),
                snapshot: self.base.info.id,
            })?,
            top: Arc::clone(&self.top),
            lock: Held::Lent {
                lock: Arc::clone(&self.lock),
                was_interrupted: self.lock.was_interrupted && self.is_first,
            },
            // The id must be larger than those of the segments that it takes over.
            id: next.max(SnapshotId(self.writer_id().0.saturating_add(1))),
            options: WriterOptions {
                memory_bytes: self.memory_bytes,
                started,
                version: making.version,
                options: self.options(),
            },
            above: self.above.clone(),
            list,
            barriers: self.barriers.clone(),
            snapshot: &snapshot,
            base_shards: self.base.shards.len(),
            writer: self.writer_id(),
            go_on: &mut go_on,
        })
    }

    /// Returns the base's scan options, with the last scanned snapshot recorded.
    fn options(&self) -> std::collections::BTreeMap<String, String> {
        let info = &self.base.info;
        let mut options = info.options.clone();
        options
            .entry(CHECKPOINT.to_owned())
            .or_insert_with(|| info.id.to_string());
        options
    }

    /// Continues from the snapshot that is now current. Files that only earlier generations need
    /// are removed when nobody reads these, or at once.
    fn rebase(&mut self, id: SnapshotId, now: Timestamp, removal: Removal) -> Result<()> {
        let base = Snapshot::open(self.source.dir(), self.source.root(), id, Changes::None)?;
        let base = base.without_bundle();
        let files = self.files_without(&base);
        let private = layout::overlays_file(self.edition, self.generation());
        self.before.push_back(Superseded {
            state: self.state.take(),
            files,
            private: vec![private],
        });
        self.shards.clear();
        self.next_segments.clear();
        self.dirs = GuardDirs::default();
        // The snapshot has made those that are needed.
        self.barriers.clear();
        self.placer.forget_hidden_lists();
        self.edition = base.info.edition();
        self.base = base;
        self.generation = 0;
        self.id = next_id(&self.source, now)?;
        self.is_first = false;
        match removal {
            Removal::WhenUnread => self.remove_unread(),
            Removal::AtOnce => self.remove_before(),
        }
    }

    /// Returns the overlays, and the files of segments beside the snapshot that `base` has not
    /// taken over.
    fn files_without(&self, base: &Snapshot) -> Vec<FileIn> {
        let adopted: HashSet<(&[String], SegmentId)> = (base.shards.iter())
            .flat_map(|shard| {
                let segments = shard.manifest.segments.iter();
                segments.map(|segment| (shard.components(), segment.id))
            })
            .collect();
        let mut files = Vec::new();
        for (components, shard) in &self.shards {
            let overlay = &shard.overlay;
            let name = layout::overlay_file(self.edition, overlay.generation);
            files.push((components.clone(), name));
            let segments = overlay.segments.iter();
            for segment in segments.filter(|s| !adopted.contains(&(&components[..], s.id))) {
                let names = segment.named_files();
                files.extend(names.map(|(name, _, _)| (components.clone(), name)));
            }
        }
        files
    }
}
