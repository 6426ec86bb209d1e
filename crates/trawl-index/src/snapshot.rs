//! A source at one time: the shards that a snapshot consists of.
//!
//! Readers find shards by walking the guard directories and opening the
//! snapshot's manifest where there is one. A guard directory that may not be
//! opened is not part of what this reader sees.
//!
//! Who may read everything need not walk: all manifests lie in one private
//! file ([`crate::pack`]). For them the rows of small segments lie once more in
//! few large ones ([`crate::bundle`]).
//!
//! An open snapshot is pinned: the reader holds a shared lock on its
//! description, and gc leaves alone what is pinned. The kernel releases the
//! lock when the reader ends, however it ends. Readers, who cannot write the
//! file, can take no other kind of lock, so that they cannot keep each other
//! out; how long gc waits for them is bounded (see [`crate::gc`]).

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
use trawl_model::{Timestamp, Uid};
use trawl_sys::lock::{Lock, try_lock};

/// How often a snapshot is opened again because it was written again
/// meanwhile.
const REVISIONS_MOST: usize = 16;

/// When and how a snapshot was made; nothing that permissions hide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotInfo {
    /// The format of the snapshot.
    pub format: u32,
    /// Its id.
    pub id: SnapshotId,
    /// The later snapshot whose permissions were last asked for in this one,
    /// too, so that it was written again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<SnapshotId>,
    /// The source's root path.
    #[serde(with = "text")]
    pub root: Vec<u8>,
    /// When the scan began: every change that was complete by then is in.
    #[serde(with = "time")]
    pub started: Timestamp,
    /// When the scan ended.
    #[serde(with = "time")]
    pub finished: Timestamp,
    /// The trawl version that wrote it.
    pub version: String,
    /// The options of the scan, by name.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// Whether what changed since a snapshot was committed is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// It is.
    Since,
    /// The snapshot alone.
    None,
}

/// Where a snapshot's shards lie. Readable by the index's owner alone, since
/// it tells which guards there are; whoever may read it knows when a shard
/// is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardList {
    pub(crate) format: u32,
    pub(crate) snapshot: SnapshotId,
    /// What guards the source as a whole: what is above its root.
    pub(crate) above: Vec<GuardStep>,
    /// Directory names from the source's `data` to each shard's.
    pub(crate) shards: Vec<Vec<String>>,
    /// Which directories are in each, in the same order.
    #[serde(default)]
    pub(crate) digests: Vec<Hash>,
    /// What those are made with.
    #[serde(default)]
    pub(crate) key: DigestKey,
    /// Attribute values in all of them.
    #[serde(default)]
    pub(crate) values: u64,
    /// The writers of its segments that have left items ([`crate::carry`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) items: Vec<SnapshotId>,
    /// A pack was written beside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) packed: bool,
    /// To each directory of barriers, empty ones included.
    pub(crate) barriers: Vec<Vec<String>>,
    /// Subtrees that get a barrier in the next snapshot because they are
    /// large and open ([`trawl_model::placement`]).
    #[serde(with = "text::list")]
    pub(crate) large_open: Vec<Vec<u8>>,
    /// The map that ids have gone through ([`trawl_model::id_map`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id_map: Option<String>,
    /// Which snapshots stay ([`crate::retention`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keep: Option<String>,
}

/// One shard of a snapshot: the rows behind one guard.
#[derive(Clone, Debug)]
pub struct Shard {
    place: Arc<Place>,
    /// What it holds.
    pub manifest: ShardManifest,
    /// Which directories are in it; known to the index's owner.
    pub digest: Option<Digest>,
    /// Which rows of its segments no longer hold.
    dead: Option<Arc<HashMap<SegmentId, Dead>>>,
}

/// Where a snapshot's shards lie.
#[derive(Debug)]
struct Place {
    /// The source's `data`.
    top: Arc<Dir>,
    /// Keeps gc away from the files while anyone may still open them.
    _pin: Option<Arc<File>>,
    /// What changed since.
    live: Option<Live>,
}

/// A source at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When and how it was made; with changes since, it began when these were
    /// all in.
    pub info: SnapshotInfo,
    /// Its shards, those whose guards this process may pass.
    pub shards: Vec<Shard>,
    /// Rows of small segments of these shards once more.
    bundle: Option<Shard>,
    /// False if this process could look behind every guard: then it sees all
    /// that there is.
    pub is_partial: bool,
    /// What changed since is in: up to when.
    live: Option<LiveInfo>,
    /// What guarded the source as a whole; known to the index's owner.
    above: Option<Guard>,
    files: Files,
    reached: Reached,
}

/// What is needed to read more of a snapshot.
#[derive(Clone, Debug)]
struct Files {
    place: Arc<Place>,
    edition: Edition,
    root: Vec<u8>,
}

impl SnapshotInfo {
    pub(crate) fn from_bytes(bytes: &[u8], path: &Path, id: SnapshotId) -> Result<SnapshotInfo> {
        let info: SnapshotInfo = sealed::unseal_json(bytes, path)?;
        check_format(info.format, path)?;
        if info.id != id {
            let problem = format!("it describes snapshot {}", info.id);
            return Err(IndexError::damaged(path, problem));
        }
        Ok(info)
    }

    /// In which edition its shards are.
    pub fn edition(&self) -> Edition {
        Edition {
            id: self.id,
            revision: self.revision,
        }
    }

    pub(crate) fn read(source: &Dir, id: SnapshotId) -> Result<SnapshotInfo> {
        let snapshots = source.open_dir(layout::SNAPSHOTS)?;
        let name = layout::snapshot_file(id);
        let bytes = if_there(snapshots.read(&name))?.ok_or_else(|| no_snapshot(source, id))?;
        SnapshotInfo::from_bytes(&bytes, &snapshots.join(&name), id)
    }
}

impl ShardList {
    pub(crate) fn from_bytes(bytes: &[u8], path: &Path, id: SnapshotId) -> Result<ShardList> {
        let list: ShardList = sealed::unseal_json(bytes, path)?;
        check_format(list.format, path)?;
        if list.snapshot != id {
            let problem = format!("it lists snapshot {}", list.snapshot);
            return Err(IndexError::damaged(path, problem));
        }
        Ok(list)
    }

    /// The list of a snapshot as it is now, if this process may read it.
    pub(crate) fn of(source: &Dir, id: SnapshotId) -> Result<Option<ShardList>> {
        ShardList::read(source, SnapshotInfo::read(source, id)?.edition())
    }

    /// The list, if this process may read it.
    pub(crate) fn read(source: &Dir, edition: Edition) -> Result<Option<ShardList>> {
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

    /// Refuses a snapshot of which a shard is missing.
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
    /// gc removes a snapshot's description before anything else of it, so
    /// one that is there before and after the walk was whole in between; and
    /// gc removes none that is pinned, so it stays so while the result lives.
    ///
    /// A snapshot that is written again meanwhile is opened again: as long
    /// as the description is the same, so is what it describes.
    ///
    /// With what changed since, if that is asked for and there is such.
    pub(crate) fn open(
        source: &Dir,
        root: &[u8],
        id: SnapshotId,
        changes: Changes,
    ) -> Result<Snapshot> {
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
                place: Arc::new(Place {
                    top: Arc::new(source.open_dir(layout::DATA)?),
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
                // Files of a generation that nobody goes by any more.
                continue;
            }
            if tries > REVISIONS_MOST || SnapshotInfo::read(source, id)?.edition() == before {
                return opened;
            }
        }
    }

    /// The same for who holds the source's lock, so that the snapshot stays
    /// as it is, with the source's `data` that is open already. What is
    /// written again is made of the manifests themselves.
    pub(crate) fn open_locked(
        source: &Dir,
        top: Arc<Dir>,
        root: &[u8],
        id: SnapshotId,
    ) -> Result<Snapshot> {
        let info = SnapshotInfo::read(source, id)?;
        let files = Files {
            place: Arc::new(Place {
                top,
                _pin: None,
                live: None,
            }),
            edition: info.edition(),
            root: root.to_vec(),
        };
        Snapshot::walk_edition(source, info, files)
    }

    /// One that is being written: these shards, each with the names that lead
    /// to it. `top` is the source's `data`.
    pub(crate) fn being_written(
        info: SnapshotInfo,
        top: Arc<Dir>,
        shards: Vec<(Vec<String>, Manifest)>,
    ) -> Snapshot {
        let files = Files {
            place: Arc::new(Place {
                top,
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
            // As after a walk: if the description is there, so is the rest.
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

    /// Finds the shards by walking.
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

    /// Adds what changed since, by where its shards lie, behind the shards
    /// that are there.
    pub(crate) fn lay_over(&mut self, mut overlays: BTreeMap<Vec<String>, Overlay>) {
        let mut newer = Vec::new();
        for shard in &mut self.shards {
            // Few overlays must not have all manifests unpacked.
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

    /// Up to when all changes are in: if anything after the snapshot is.
    pub fn live(&self) -> Option<LiveInfo> {
        self.live
    }

    /// The shards behind name barriers on the way to `asked`, an absolute
    /// path, that no listing leads to, since this process may pass there but
    /// not list. Empty if there are none.
    pub fn behind(&self, asked: &[u8]) -> Result<Vec<Shard>> {
        let (mut shards, mut newer) = (Vec::new(), Vec::new());
        self.reached
            .behind(&self.files.place.top, asked, &mut |components, data| {
                self.files.shard(components, data, &mut shards, &mut newer)
            })?;
        shards.append(&mut newer);
        Ok(shards)
    }

    /// What guarded the source as a whole when its shards were written.
    /// `None` for whoever may not know all guards.
    pub fn above(&self) -> Option<&Guard> {
        self.above.as_ref()
    }

    /// A shard more, which has the rows of those segments of the others once
    /// more that are [`Shard::bundled`]: own rows of barriers aside, which
    /// are copies. For questions of who may read everything.
    pub fn bundle(&self) -> Option<&Shard> {
        self.bundle.as_ref()
    }

    /// For each segment of the bundle whether it is read in the place of what
    /// it was made of: not if something there no longer holds.
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

    /// The snapshot as the shards alone have it.
    #[must_use]
    pub fn without_bundle(self) -> Snapshot {
        Snapshot {
            bundle: None,
            ..self
        }
    }

    /// All rows of all its segments, as if every one still held.
    #[must_use]
    pub fn with_dead_rows(mut self) -> Snapshot {
        self.shards.iter_mut().for_each(|shard| shard.dead = None);
        self
    }

    /// The bundle as if it were all.
    #[must_use]
    pub(crate) fn bundle_alone(&self) -> Snapshot {
        Snapshot {
            shards: self.bundle.iter().cloned().collect(),
            ..self.clone().without_bundle()
        }
    }

    /// Bytes of all segments, the bundle's included.
    pub fn size_bytes(&self) -> u64 {
        let shards = self.shards.iter().chain(&self.bundle);
        let segments = shards.flat_map(|shard| &shard.manifest.segments);
        segments.map(SegmentInfo::size_bytes).sum()
    }

    /// Sums over the shards that this process may read.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for shard in &self.shards {
            totals.add(&shard.manifest.totals);
        }
        totals
    }
}

impl Files {
    /// All manifests at once, for who may read them all; `None` where that
    /// cannot be had.
    fn pack(&self, source: &Dir) -> Option<Pack> {
        let private = source.open_private().ok()?;
        let us = Uid(rustix::process::geteuid().as_raw());
        if us != Uid::ROOT && private.owner().ok()? != us {
            return None;
        }
        let pack = pack::read(&private, self.edition).ok()?;
        (pack.root == self.root && pack.len() > 0).then_some(pack)
    }

    /// The pack's bundle, if all its files are there. Later damage is told by
    /// whoever reads them.
    fn bundle(&self, source: &Dir, pack: &Arc<Pack>) -> Option<Shard> {
        let manifest = ShardManifest::bundle_of(pack)?;
        let bundle = Shard {
            place: Arc::new(Place {
                top: Arc::new(source.open_private().ok()?),
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

    /// Tells a shard what is dead of it, and gives the one of the segments
    /// beside it.
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

    /// The snapshot that has these shards.
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
                true => "none of its shards is there or may be opened",
                false => "it is of another source",
            };
            return Err(IndexError::damaged(&path, problem));
        }
        let live = self.place.live.as_ref().map(|live| live.info);
        if let Some(live) = live {
            // What is told of it is true for later.
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

    /// Adds the shard in a `data` directory, if the snapshot has one there,
    /// and the one of what is newer.
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
    /// The path behind the barrier that its guard ends with, if it does. Row
    /// 0 of its first segment is then that directory's own.
    pub fn barrier(&self) -> Option<&[u8]> {
        self.manifest.barrier()
    }

    /// Directory names from the source's `data` to its own.
    pub fn components(&self) -> &[String] {
        self.manifest.components()
    }

    /// Which rows of a segment no longer hold; `None` if all do.
    pub fn dead(&self, segment: SegmentId) -> Option<&Dead> {
        self.dead.as_ref()?.get(&segment)
    }

    /// True if some rows of its segments may no longer hold.
    pub fn has_dead(&self) -> bool {
        self.dead.as_ref().is_some_and(|dead| !dead.is_empty())
    }

    /// How many segments it has.
    pub fn segment_count(&self) -> usize {
        self.manifest.segment_count()
    }

    /// What is known of a segment before its manifest is looked at.
    pub fn glance(&self, segment: usize) -> Option<Glance<'_>> {
        self.manifest.glance(segment)
    }

    /// Which of the segments of the snapshot's bundle has a segment's rows.
    pub fn bundled(&self, segment: usize) -> Option<usize> {
        let number = self.manifest.bundled(segment)?;
        (number as usize).checked_sub(1)
    }

    /// True if all files have the lengths that they should have.
    fn is_there(&self) -> bool {
        let top = &self.place.top;
        let segments = self.manifest.segments.iter();
        let mut files = segments.flat_map(SegmentInfo::named_files);
        files.all(|(name, bytes, _)| top.length_of(&name).is_ok_and(|found| found == bytes))
    }

    /// Opens one of a segment's files. The caller checks what it reads
    /// against the [`FileRef`].
    ///
    /// # Errors
    /// [`IndexError::is_missing`] if gc removed the file meanwhile: open the
    /// source's current snapshot again.
    pub fn open_file(&self, segment: &SegmentInfo, table: Table) -> Result<File> {
        let name = layout::segment_file(segment.id, table);
        self.place
            .top
            .open_below(self.components())?
            .open_file(&name)
    }

    /// Opens a segment's name sidecar: the file, its length and, for
    /// messages, its path. `None` if it has none. Whatever goes wrong, and if
    /// the sidecar is not of the length in the manifest or not of this
    /// segment's entries file, the segment's tables say the same.
    ///
    /// # Errors
    /// [`IndexError::is_missing`] if it is not there.
    pub fn open_names(&self, segment: &SegmentInfo) -> Result<Option<(File, u64, PathBuf)>> {
        let Some(names) = segment.names else {
            return Ok(None);
        };
        let name = layout::names_file(segment.id);
        let file = self
            .place
            .top
            .open_below(self.components())?
            .open_file(&name)?;
        Ok(Some((file, names.size_bytes, self.dir_path().join(name))))
    }

    /// Where a segment's file lies, for messages.
    pub fn file_path(&self, segment: SegmentId, table: Table) -> PathBuf {
        self.dir_path().join(layout::segment_file(segment, table))
    }

    /// The shard's directory, for messages: its path may be longer than
    /// system calls take.
    pub fn dir_path(&self) -> PathBuf {
        let below = layout::display_path(self.components());
        self.place.top.path().join(below)
    }

    /// Every file of the shard.
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

/// Takes a reader's lock on a snapshot's description, without waiting;
/// `None` where the file system has no such locks.
///
/// # Errors
/// [`IndexError::NoSnapshot`] if there is none or gc is removing it.
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

/// Takes gc's lock on a snapshot's description, without waiting: `None` if a
/// reader holds it. Where the file system has no such locks nobody has one.
pub(crate) fn lock_against_readers(snapshots: &Dir, id: SnapshotId) -> Result<Option<File>> {
    let file = snapshots.open_to_lock(&layout::snapshot_file(id))?;
    match try_lock(&file, Lock::Alone) {
        Ok(false) => Ok(None),
        _ => Ok(Some(file)),
    }
}

/// `{"s": seconds, "ns": nanoseconds}`.
pub(crate) mod time {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use trawl_model::Timestamp;

    #[derive(Serialize, Deserialize)]
    struct Wire {
        s: i64,
        ns: u32,
    }

    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        let wire = Wire {
            s: time.secs,
            ns: time.nanos,
        };
        wire.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let wire = Wire::deserialize(from)?;
        Ok(Timestamp {
            secs: wire.s,
            nanos: wire.ns,
        })
    }
}
