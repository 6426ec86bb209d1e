//! Opens a snapshot: a source at one time, as a set of shards.
//!
//! Readers find shards by walking the guard directories and opening the snapshot's manifest in each
//! directory that has one. Shards behind a guard directory that the reader may not open are not
//! part of its view.
//!
//! A reader with access to everything need not walk: one private file holds all manifests
//! ([`crate::pack`]). For such readers the rows of small segments are stored again in a few large
//! ones ([`Snapshot::bundle`]).
//!
//! An open snapshot is pinned: the reader holds a shared lock on the snapshot's description, and gc
//! does not remove pinned snapshots. The kernel releases the lock when the reader ends, however it
//! ends. Readers cannot write the file, so they can take no other kind of lock and cannot lock each
//! other out. The time that gc waits for them is bounded (`trawl-writer`, module `gc`).

mod named;
pub mod time;

use crate::digest::{Digest, DigestKey};
use crate::error::{IndexError, Result};
use crate::guard_walk::{self, Reached};
use crate::id::{Edition, Hash, SegmentId, SnapshotId};
use crate::layout;
use crate::live::{Dead, Live, LiveInfo, Overlaid, Overlay};
use crate::manifest::{FileRef, GuardStep, Manifest, SegmentInfo, Totals, check_format};
use crate::pack::{self, Glance, Pack};
use crate::schema::Table;
use crate::shard_manifest::ShardManifest;
use crate::store::{Dir, if_there};
use crate::{sealed, text};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trawl_model::guard::Guard;
use trawl_model::operation::Operation;
use trawl_model::{Timestamp, Uid};
use trawl_sys::lock::{Lock, try_lock};

/// Maximum number of times that opening a snapshot is repeated because the snapshot was rewritten
/// in the meantime.
const REVISIONS_MOST: usize = 16;

/// Time and options of a snapshot; contains nothing that permissions hide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotInfo {
    /// The snapshot's format version.
    pub format: u32,
    /// The snapshot's id.
    pub id: SnapshotId,
    /// The later snapshot whose permissions were last applied to this one, if this one was
    /// rewritten to be as strict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<SnapshotId>,
    /// The source's root path.
    #[serde(with = "text")]
    pub root: Vec<u8>,
    /// Start of the scan. Every change completed before this time is included.
    #[serde(with = "time")]
    pub started: Timestamp,
    /// End of the scan.
    #[serde(with = "time")]
    pub finished: Timestamp,
    /// Version of the trawl program that wrote the snapshot.
    pub version: String,
    /// Options of the scan, by name.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// Whether to include the changes published since a snapshot was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Include them.
    Since,
    /// The snapshot alone.
    None,
}

/// List of a snapshot's shards and where they lie. Only the index's owner may read it, since it
/// reveals which guards exist. A reader of the list notices when a shard is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardList {
    /// Format version.
    pub format: u32,
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// Guard of the source as a whole: the permissions of the directories above its root.
    pub above: Vec<GuardStep>,
    /// Directory names from the source's `data` directory to each shard's.
    pub shards: Vec<Vec<String>>,
    /// Digest of the set of directories in each shard, in the order of `shards`.
    #[serde(default)]
    pub digests: Vec<Hash>,
    /// Key of the digests.
    #[serde(default)]
    pub key: DigestKey,
    /// Number of attribute values in all shards.
    #[serde(default)]
    pub values: u64,
    /// Snapshots whose writers left items for segments of this snapshot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<SnapshotId>,
    /// True if a pack was written beside this list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packed: bool,
    /// Directory names leading to each directory of barriers, including empty ones.
    pub barriers: Vec<Vec<String>>,
    /// Subtrees that get a barrier in the next snapshot because they are large and open
    /// ([`trawl_model::placement`]).
    #[serde(with = "text::list")]
    pub large_open: Vec<Vec<u8>>,
    /// The map that was applied to user and group ids ([`trawl_model::id_map`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_map: Option<String>,
    /// The rule for which snapshots to keep ([`crate::retention`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
}

/// One shard of a snapshot: the rows behind one guard.
#[derive(Clone, Debug)]
pub struct Shard {
    place: Arc<ShardLocation>,
    /// The shard's manifest.
    pub manifest: ShardManifest,
    /// Digest of the set of directories in the shard; only the index's owner knows it.
    pub digest: Option<Digest>,
    /// Rows of the shard's segments that are superseded.
    dead: Option<Arc<HashMap<SegmentId, Dead>>>,
}

/// Location of a snapshot's shards.
#[derive(Debug)]
struct ShardLocation {
    /// The source's `data` directory.
    top: Arc<Dir>,
    /// The source's directory of named indices, if it has some.
    indices: Option<Dir>,
    /// Shared lock that keeps gc from removing the files while anyone may still open them.
    _pin: Option<Arc<File>>,
    /// Changes published since the snapshot was committed.
    live: Option<Live>,
}

/// A source at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Time and options of the snapshot. If changes since are included, `started` is the time up to
    /// which they are complete.
    pub info: SnapshotInfo,
    /// The shards whose guards this process may pass.
    pub shards: Vec<Shard>,
    /// Copies of the rows of small segments of these shards.
    bundle: Option<Shard>,
    /// False if this process could look behind every guard and so sees the whole snapshot.
    pub is_partial: bool,
    /// Time up to which changes since are included, if any are.
    live: Option<LiveInfo>,
    /// Guard of the source as a whole; only the index's owner knows it.
    above: Option<Guard>,
    files: Files,
    reached: Reached,
}

/// The data needed to read more of a snapshot.
#[derive(Clone, Debug)]
struct Files {
    place: Arc<ShardLocation>,
    edition: Edition,
    root: Vec<u8>,
}

impl SnapshotInfo {
    /// Decodes the description of a snapshot. `path` names the file in errors.
    pub fn from_bytes(bytes: &[u8], path: &Path, id: SnapshotId) -> Result<SnapshotInfo> {
        let info: SnapshotInfo = sealed::unseal_json(bytes, path)?;
        check_format(info.format, path)?;
        if info.id != id {
            let problem = format!("it describes snapshot {}", info.id);
            return Err(IndexError::damaged(path, problem));
        }
        Ok(info)
    }

    /// Returns the edition of the snapshot's shards.
    pub fn edition(&self) -> Edition {
        Edition {
            id: self.id,
            revision: self.revision,
        }
    }

    /// Reads the description of a snapshot of the source in `source`.
    ///
    /// # Errors
    /// [`IndexError::NoSnapshot`] if there is no such snapshot.
    pub fn read(source: &Dir, id: SnapshotId) -> Result<SnapshotInfo> {
        let snapshots = source.open_dir(layout::SNAPSHOTS)?;
        let name = layout::snapshot_file(id);
        let bytes = if_there(snapshots.read(&name))?.ok_or_else(|| no_snapshot(source, id))?;
        SnapshotInfo::from_bytes(&bytes, &snapshots.join(&name), id)
    }
}

impl ShardList {
    /// Decodes the list of a snapshot. `path` names the file in errors.
    pub fn from_bytes(bytes: &[u8], path: &Path, id: SnapshotId) -> Result<ShardList> {
        let list: ShardList = sealed::unseal_json(bytes, path)?;
        check_format(list.format, path)?;
        if list.snapshot != id {
            let problem = format!("it lists snapshot {}", list.snapshot);
            return Err(IndexError::damaged(path, problem));
        }
        Ok(list)
    }

    /// Reads the list of a snapshot's current edition. `None` if this process may not read it.
    pub fn of(source: &Dir, id: SnapshotId) -> Result<Option<ShardList>> {
        ShardList::read(source, SnapshotInfo::read(source, id)?.edition())
    }

    /// Reads the list of an edition. `None` if this process may not read it.
    pub fn read(source: &Dir, edition: Edition) -> Result<Option<ShardList>> {
        let name = layout::shard_list_file(edition);
        let read = source.open_private().and_then(|private| {
            let bytes = private.read(&name)?;
            ShardList::from_bytes(&bytes, &private.join(&name), edition.id)
        });
        match read {
            Ok(list) => Ok(Some(list)),
            Err(error) if error.is_denied() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn tell_digests(&self, shards: &mut [Shard]) {
        let sums: HashMap<_, _> = self.shards.iter().zip(&self.digests).collect();
        let key = self.key;
        for shard in shards {
            let sum = sums.get(&shard.components().to_vec()).copied().copied();
            shard.digest = sum.map(|sum| Digest { key, sum });
        }
    }

    /// Returns an error if a listed shard is missing from `shards`.
    fn check(&self, source: &Dir, edition: Edition, shards: &[Shard]) -> Result<()> {
        let found: HashSet<&[String]> = shards.iter().map(Shard::components).collect();
        let missing = self.shards.iter().find(|c| !found.contains(&c[..]));
        match missing {
            None => Ok(()),
            Some(components) => {
                let dir = source.join(layout::DATA);
                let dir = dir.join(layout::display_path(components));
                let path = dir.join(layout::manifest_file(edition));
                Err(IndexError::damaged(&path, "it is missing"))
            }
        }
    }
}

impl Snapshot {
    /// Reads a snapshot's description and manifests.
    ///
    /// gc removes a snapshot's description before anything else of it. A description that is there
    /// both before and after the walk therefore proves that the snapshot was whole in between. gc
    /// removes no pinned snapshot, so it stays whole while the result lives.
    ///
    /// A snapshot that is rewritten in the meantime is opened again: an unchanged description means
    /// unchanged content.
    ///
    /// With [`Changes::Since`], the result includes the changes published since, if there are any.
    pub fn open(source: &Dir, root: &[u8], id: SnapshotId, changes: Changes) -> Result<Snapshot> {
        let _span = Operation::OpenSnapshot.span();
        let mut tries = 0;
        loop {
            let pin = pin(source, id)?.map(Arc::new);
            let info = SnapshotInfo::read(source, id)?;
            let before = info.edition();
            let live = match changes {
                Changes::Since => Live::open(source, before)?,
                Changes::None => None,
            };
            let files = Files {
                place: Arc::new(ShardLocation {
                    top: Arc::new(source.open_dir(layout::DATA)?),
                    indices: source.open_dir(layout::INDICES).ok(),
                    _pin: pin.clone(),
                    live,
                }),
                edition: before,
                root: root.to_vec(),
            };
            let opened = Snapshot::open_edition(source, info, files);
            tries += 1;
            let is_gone = opened.as_ref().is_err_and(IndexError::is_missing);
            if is_gone && changes == Changes::Since && tries <= REVISIONS_MOST {
                // Files of a generation that is no longer in use were removed.
                continue;
            }
            if tries > REVISIONS_MOST || SnapshotInfo::read(source, id)?.edition() == before {
                return opened;
            }
        }
    }

    /// Like [`Snapshot::open`], but for a caller that holds the source's lock, so that the snapshot
    /// cannot change. `top` is the source's `data` directory, already open. Walks the guard
    /// directories instead of using the pack, because a rewrite is made from the manifests
    /// themselves.
    pub fn open_locked(
        source: &Dir,
        top: Arc<Dir>,
        root: &[u8],
        id: SnapshotId,
    ) -> Result<Snapshot> {
        let info = SnapshotInfo::read(source, id)?;
        let files = Files {
            place: Arc::new(ShardLocation {
                top,
                indices: None,
                _pin: None,
                live: None,
            }),
            edition: info.edition(),
            root: root.to_vec(),
        };
        Snapshot::walk_edition(source, info, files)
    }

    /// Makes a snapshot that is still being written from its shards, each with the directory names
    /// that lead to it. `top` is the source's `data` directory.
    pub fn being_written(
        info: SnapshotInfo,
        top: Arc<Dir>,
        shards: Vec<(Vec<String>, Manifest)>,
    ) -> Snapshot {
        let files = Files {
            place: Arc::new(ShardLocation {
                top,
                indices: None,
                _pin: None,
                live: None,
            }),
            edition: info.edition(),
            root: info.root.clone(),
        };
        let shard = |(components, manifest)| {
            files.shard_of(ShardManifest::read(components, manifest), None)
        };
        Snapshot {
            shards: shards.into_iter().map(shard).collect(),
            bundle: None,
            is_partial: false,
            live: None,
            above: None,
            info,
            files,
            reached: Reached::default(),
        }
    }

    fn open_edition(source: &Dir, info: SnapshotInfo, files: Files) -> Result<Snapshot> {
        if let Some(pack) = files.pack(source) {
            // As after a walk: if the description is still there, so is everything else.
            SnapshotInfo::read(source, info.id)?;
            let pack = Arc::new(pack);
            let above = GuardStep::to_guard(&pack.above);
            let shards = ShardManifest::all_of(&pack);
            let shard = |(manifest, digest)| files.shard_of(manifest, digest);
            let shards = shards.map(shard).collect();
            let bundle = files.bundle(source, &pack);
            let overlays = match &files.place.live {
                Some(live) => Some(live.overlays(&source.open_private()?)?),
                None => None,
            };
            let mut snapshot = files.snapshot(source, info, shards, above, Reached::default())?;
            snapshot.bundle = bundle;
            if let Some(overlays) = overlays {
                snapshot.lay_over(overlays);
            }
            return Ok(snapshot);
        }
        Snapshot::walk_edition(source, info, files)
    }

    /// Finds the shards by walking the guard directories.
    fn walk_edition(source: &Dir, info: SnapshotInfo, files: Files) -> Result<Snapshot> {
        let edition = info.edition();
        let list = ShardList::read(source, edition);
        let (mut shards, mut newer) = (Vec::new(), Vec::new());
        let walked = guard_walk::walk(&files.place.top, &mut |components, data| {
            files.shard(components, data, &mut shards, &mut newer)
        });
        SnapshotInfo::read(source, info.id)?;
        let reached = walked?;
        let list = list?;
        if let Some(list) = &list {
            list.check(source, edition, &shards)?;
            list.tell_digests(&mut shards);
        }
        let above = list.and_then(|list| GuardStep::to_guard(&list.above));
        shards.append(&mut newer);
        files.snapshot(source, info, shards, above, reached)
    }

    /// Adds the changes published since, keyed by the directory names of their shards. The segments
    /// of the changes become further shards after the existing ones.
    pub fn lay_over(&mut self, mut overlays: BTreeMap<Vec<String>, Overlay>) {
        let mut newer = Vec::new();
        for shard in &mut self.shards {
            // Stop early: a few overlays must not cause all manifests to be unpacked.
            if overlays.is_empty() {
                break;
            }
            if let Some(overlay) = overlays.remove(shard.components()) {
                let (edition, root) = (self.files.edition, &self.files.root);
                let laid = overlay.overlaid(edition, root);
                newer.extend(self.files.laid_over(Some(shard), laid));
            }
        }
        for overlay in overlays.into_values() {
            let laid = overlay.overlaid(self.files.edition, &self.files.root);
            newer.extend(self.files.laid_over(None, laid));
        }
        self.shards.append(&mut newer);
    }

    /// Returns the time up to which all changes are included, if any change after the snapshot is.
    pub fn live(&self) -> Option<LiveInfo> {
        self.live
    }

    /// Returns the shards behind name barriers on the way to `asked`, an absolute path. A walk does
    /// not find these, since this process may traverse there but not list. Empty if there are none.
    pub fn behind(&self, asked: &[u8]) -> Result<Vec<Shard>> {
        let (mut shards, mut newer) = (Vec::new(), Vec::new());
        self.reached
            .behind(&self.files.place.top, asked, &mut |components, data| {
                self.files.shard(components, data, &mut shards, &mut newer)
            })?;
        shards.append(&mut newer);
        Ok(shards)
    }

    /// Returns the guard of the source as a whole at the time its shards were written. `None` for
    /// readers that may not know all guards.
    pub fn above(&self) -> Option<&Guard> {
        self.above.as_ref()
    }

    /// Returns the bundle: an extra shard that repeats the rows of all segments that are
    /// [`Shard::bundled`], except own rows of barriers, which are copies. Only readers that may
    /// read everything have it.
    pub fn bundle(&self) -> Option<&Shard> {
        self.bundle.as_ref()
    }

    /// Tells for each segment of the bundle whether readers use it in place of the segments that it
    /// was made from. They do not if any of those has superseded rows.
    pub fn bundle_in_use(&self) -> Vec<bool> {
        let count = self.bundle.as_ref().map_or(0, Shard::segment_count);
        let mut in_use = vec![true; count];
        for shard in self.shards.iter().filter(|shard| shard.has_dead()) {
            for (at, info) in shard.manifest.segments.iter().enumerate() {
                let number = shard.bundled(at).filter(|_| shard.dead(info.id).is_some());
                if let Some(used) = number.and_then(|number| in_use.get_mut(number)) {
                    *used = false;
                }
            }
        }
        in_use
    }

    /// Returns the snapshot without its bundle, so that only the shards count.
    #[must_use]
    pub fn without_bundle(self) -> Snapshot {
        Snapshot {
            bundle: None,
            ..self
        }
    }

    /// Returns the snapshot with superseded rows treated as valid.
    #[must_use]
    pub fn with_dead_rows(mut self) -> Snapshot {
        self.shards.iter_mut().for_each(|shard| shard.dead = None);
        self
    }

    /// Returns a snapshot that consists of the bundle alone.
    #[must_use]
    pub fn bundle_alone(&self) -> Snapshot {
        Snapshot {
            shards: self.bundle.iter().cloned().collect(),
            ..self.clone().without_bundle()
        }
    }

    /// Returns the size of all segments, including the bundle's, in bytes.
    pub fn size_bytes(&self) -> u64 {
        let shards = self.shards.iter().chain(&self.bundle);
        let segments = shards.flat_map(|shard| &shard.manifest.segments);
        segments.map(SegmentInfo::size_bytes).sum()
    }

    /// Returns sums over the shards that this process may read.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for shard in &self.shards {
            totals.add(&shard.manifest.totals);
        }
        totals
    }
}

impl Files {
    /// Reads all manifests at once. `None` if this process may not read all of them, or the pack is
    /// missing or invalid.
    fn pack(&self, source: &Dir) -> Option<Pack> {
        let private = source.open_private().ok()?;
        let us = Uid(rustix::process::geteuid().as_raw());
        if us != Uid::ROOT && private.owner().ok()? != us {
            return None;
        }
        let pack = pack::read(&private, self.edition).ok()?;
        (pack.root == self.root && pack.shard_count() > 0).then_some(pack)
    }

    /// Returns the pack's bundle, if all its files are there with their lengths. Its readers report
    /// any other damage.
    fn bundle(&self, source: &Dir, pack: &Arc<Pack>) -> Option<Shard> {
        let manifest = ShardManifest::bundle_of(pack)?;
        let bundle = Shard {
            place: Arc::new(ShardLocation {
                top: Arc::new(source.open_private().ok()?),
                indices: None,
                _pin: self.place._pin.clone(),
                live: None,
            }),
            manifest,
            digest: None,
            dead: None,
        };
        bundle.is_there().then_some(bundle)
    }

    fn shard_of(&self, manifest: ShardManifest, digest: Option<Digest>) -> Shard {
        Shard {
            place: Arc::clone(&self.place),
            manifest,
            digest,
            dead: None,
        }
    }

    /// Records a shard's superseded rows in `shard`, and returns a shard made of the segments
    /// beside it, if there are any.
    fn laid_over(&self, shard: Option<&mut Shard>, laid: Overlaid) -> Option<Shard> {
        if let Some(shard) = shard {
            shard.dead = Some(Arc::clone(&laid.dead));
        }
        let manifest = laid.manifest?;
        let components = layout::components_of(&manifest.guard)?;
        let manifest = ShardManifest::read(components, manifest);
        let mut newer = self.shard_of(manifest, None);
        newer.dead = Some(laid.dead);
        Some(newer)
    }

    /// Makes the snapshot from its shards. Fails if there are none or they belong to another
    /// source.
    fn snapshot(
        self,
        source: &Dir,
        mut info: SnapshotInfo,
        shards: Vec<Shard>,
        above: Option<Guard>,
        reached: Reached,
    ) -> Result<Snapshot> {
        if info.root != self.root || shards.is_empty() {
            let path = source
                .join(layout::SNAPSHOTS)
                .join(layout::snapshot_file(info.id));
            let problem = match shards.is_empty() {
                true => "none of its shards exists or may be opened",
                false => "it belongs to another source",
            };
            return Err(IndexError::damaged(&path, problem));
        }
        let live = self.place.live.as_ref().map(|live| live.info);
        if let Some(live) = live {
            // The changes are complete up to this later time.
            info.started = info.started.max(live.as_of);
        }
        Ok(Snapshot {
            info,
            shards,
            bundle: None,
            is_partial: reached.is_partial(),
            live,
            above,
            files: self,
            reached,
        })
    }

    /// Adds the snapshot's shard in a `data` directory, if there is one, to `shards`, and the shard
    /// of newer segments to `newer`.
    fn shard(
        &self,
        components: &[String],
        data: &Dir,
        shards: &mut Vec<Shard>,
        newer: &mut Vec<Shard>,
    ) -> Result<()> {
        let mut shard = self.manifest_in(components, data)?;
        if let Some(live) = &self.place.live
            && let Some(overlay) = live.overlay(data)?
        {
            if layout::components_of(&overlay.guard).as_deref() != Some(components) {
                return Err(IndexError::damaged(
                    data.path(),
                    "an overlay belongs elsewhere",
                ));
            }
            let laid = overlay.overlaid(self.edition, &self.root);
            newer.extend(self.laid_over(shard.as_mut(), laid));
        }
        shards.extend(shard);
        Ok(())
    }

    fn manifest_in(&self, components: &[String], data: &Dir) -> Result<Option<Shard>> {
        let name = layout::manifest_file(self.edition);
        let _span = Operation::ReadManifest.span();
        let Some(bytes) = if_there(data.read(&name))? else {
            return Ok(None);
        };
        let path = data.join(&name);
        let manifest = Manifest::from_bytes(&bytes, &path, self.edition.id)?;
        if manifest.root != self.root || layout::data_components(&manifest.guard()?.0) != components
        {
            return Err(IndexError::damaged(&path, "it belongs elsewhere"));
        }
        let manifest = ShardManifest::read(components.to_vec(), manifest);
        Ok(Some(self.shard_of(manifest, None)))
    }
}

impl Shard {
    /// Returns the path behind the barrier that the shard's guard ends with, if it ends with one.
    /// Row 0 of the shard's first segment is then the own row of that directory.
    pub fn barrier(&self) -> Option<&[u8]> {
        self.manifest.barrier()
    }

    /// Returns the directory names from the source's `data` directory to the shard's.
    pub fn components(&self) -> &[String] {
        self.manifest.components()
    }

    /// Returns the superseded rows of a segment; `None` if all its rows are valid.
    pub fn dead(&self, segment: SegmentId) -> Option<&Dead> {
        self.dead.as_ref()?.get(&segment)
    }

    /// True if some rows of the shard's segments may be superseded.
    pub fn has_dead(&self) -> bool {
        self.dead.as_ref().is_some_and(|dead| !dead.is_empty())
    }

    /// Returns the number of segments.
    pub fn segment_count(&self) -> usize {
        self.manifest.segment_count()
    }

    /// Returns the facts about a segment that are known without unpacking the manifest.
    pub fn glance(&self, segment: usize) -> Option<Glance<'_>> {
        self.manifest.glance(segment)
    }

    /// Returns the index of the bundle's segment that repeats a segment's rows.
    pub fn bundled(&self, segment: usize) -> Option<usize> {
        let number = self.manifest.bundled(segment)?;
        (number as usize).checked_sub(1)
    }

    /// True if all files are there with their expected lengths.
    fn is_there(&self) -> bool {
        let top = &self.place.top;
        let segments = self.manifest.segments.iter();
        let mut files = segments.flat_map(SegmentInfo::named_files);
        files.all(|(name, bytes, _)| top.length_of(&name).is_ok_and(|found| found == bytes))
    }

    /// Opens one of a segment's files. The caller checks the bytes against the [`FileRef`].
    ///
    /// # Errors
    /// [`IndexError::is_missing`] if gc removed the file in the meantime: open the source's current
    /// snapshot again.
    pub fn open_file(&self, segment: &SegmentInfo, table: Table) -> Result<File> {
        self.open_named(&layout::segment_file(segment.id, table))
    }

    fn open_named(&self, name: &str) -> Result<File> {
        let _span = Operation::OpenSegment.span();
        let dir = self.place.top.open_below(self.components())?;
        dir.open_file(name)
    }

    /// Opens a segment's name sidecar and returns the file, its expected length in bytes and its
    /// path for messages. `None` if the segment has none. A reader that cannot open the sidecar, or
    /// finds that it has another length or belongs to another entries file, can read the segment's
    /// tables instead, which hold the same data.
    ///
    /// # Errors
    /// [`IndexError::is_missing`] if the file is not there.
    pub fn open_names(&self, segment: &SegmentInfo) -> Result<Option<(File, u64, PathBuf)>> {
        let Some(names) = segment.names else {
            return Ok(None);
        };
        let name = layout::names_file(segment.id);
        let file = self.open_named(&name)?;
        Ok(Some((file, names.size_bytes, self.dir_path().join(name))))
    }

    /// Returns the path of a segment's file, for messages.
    pub fn file_path(&self, segment: SegmentId, table: Table) -> PathBuf {
        self.dir_path().join(layout::segment_file(segment, table))
    }

    /// Returns the path of the shard's directory, for messages only: it may be longer than system
    /// calls accept.
    pub fn dir_path(&self) -> PathBuf {
        let below = layout::display_path(self.components());
        self.place.top.path().join(below)
    }

    /// Returns every table file of the shard.
    pub fn files(&self) -> impl Iterator<Item = (&SegmentInfo, Table, &FileRef)> {
        self.manifest.segments.iter().flat_map(|segment| {
            let files = segment.files.iter();
            files.map(move |(table, file)| (segment, *table, file))
        })
    }
}

fn no_snapshot(source: &Dir, id: SnapshotId) -> IndexError {
    IndexError::NoSnapshot {
        path: source.path().to_owned(),
        snapshot: id,
    }
}

/// Takes a reader's lock on a snapshot's description without waiting. `None` if the file system
/// does not support these locks.
///
/// # Errors
/// [`IndexError::NoSnapshot`] if there is no such snapshot or gc is removing it.
fn pin(source: &Dir, id: SnapshotId) -> Result<Option<File>> {
    let snapshots = source.open_dir(layout::SNAPSHOTS)?;
    let file = if_there(snapshots.open_file(&layout::snapshot_file(id)))?;
    let file = file.ok_or_else(|| no_snapshot(source, id))?;
    match try_lock(&file, Lock::Shared) {
        Ok(true) => Ok(Some(file)),
        Ok(false) => Err(no_snapshot(source, id)),
        Err(_) => Ok(None),
    }
}

/// Takes gc's lock on a snapshot's description without waiting. `None` if a reader holds a lock. If
/// the file system does not support these locks, no reader holds one and the file is returned.
pub fn lock_against_readers(snapshots: &Dir, id: SnapshotId) -> Result<Option<File>> {
    let file = snapshots.open_to_lock(&layout::snapshot_file(id))?;
    match try_lock(&file, Lock::Alone) {
        Ok(false) => Ok(None),
        _ => Ok(Some(file)),
    }
}
