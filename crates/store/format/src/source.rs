//! Opens a source of an index: one tree with its snapshots.

use crate::error::{IndexError, Result};
use crate::id::{SnapshotId, SourceId};
use crate::layout;
use crate::live;
use crate::manifest::{GuardStep, check_format};
use crate::retention::Rule;
use crate::snapshot::{Changes, ShardList, Snapshot, SnapshotInfo, time};
use crate::store::{Dir, Readers, if_there};
use crate::{sealed, text};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use trawl_model::guard::Guard;
use trawl_model::placement::Placer;
use trawl_model::{DirAccess, IdMap, Timestamp};

/// Maximum number of retries when gc removes the snapshot that a reader is about to open because a
/// newer one became current.
const RETRIES: usize = 16;

/// Maximum number of retries, and the pause before each, when the changes published beside the
/// current snapshot are about to become a snapshot. Together two seconds, the limit if the writer
/// was killed.
const OUTDATED_TRIES: usize = 200;
const OUTDATED_PAUSE: Duration = Duration::from_millis(10);

/// A source's description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceInfo {
    /// Format version of the source's directory.
    pub format: u32,
    /// The source's id.
    pub id: SourceId,
    /// The source's root path: absolute, no trailing slash, empty for `/`.
    #[serde(with = "text")]
    pub root: Vec<u8>,
    /// Time when the source was added to the index.
    #[serde(with = "time")]
    pub created: Timestamp,
}

/// A source's own rule for which snapshots to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnRule {
    /// This rule was set.
    Set(Rule),
    /// No rule was set.
    Unset,
    /// This process may not know whether a rule was set: only the owner of the index may.
    Hidden,
}

/// A source of an index.
#[derive(Debug)]
pub struct Source {
    dir: Dir,
    info: SourceInfo,
    /// Directory names from `sources` to the `data` directory that contains the source.
    place: Vec<String>,
}

impl Source {
    /// Opens the source in `dir`, whose name is `id`.
    pub fn open(dir: Dir, id: SourceId, place: &[String]) -> Result<Source> {
        let bytes = dir.read(layout::SOURCE_FILE)?;
        let path = dir.join(layout::SOURCE_FILE);
        let info: SourceInfo = sealed::unseal_json(&bytes, &path)?;
        check_format(info.format, &path)?;
        if info.id != id || SourceId::of_root(&info.root) != id {
            return Err(IndexError::damaged(&path, "it describes another source"));
        }
        let place = place.to_vec();
        Ok(Source { dir, info, place })
    }

    /// Returns the source's description.
    pub fn info(&self) -> &SourceInfo {
        &self.info
    }

    /// Returns the source's id.
    pub fn id(&self) -> SourceId {
        self.info.id
    }

    /// Returns the source's root path: absolute, no trailing slash, empty for `/`.
    pub fn root(&self) -> &[u8] {
        &self.info.root
    }

    /// Returns who may read the index that contains the source.
    pub fn readers(&self) -> Readers {
        self.dir.readers()
    }

    /// Returns the path of the source's directory in the index.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the directory names from `sources` to the source's location, which encode the guard
    /// of the source as a whole.
    pub fn place(&self) -> &[String] {
        &self.place
    }

    /// Opens the directory of files for the index's owner alone.
    pub fn private(&self) -> Result<Dir> {
        self.dir.open_private()
    }

    /// Returns the source's directory in the index.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Returns the id of the current snapshot; `None` before the first commit.
    pub fn current_id(&self) -> Result<Option<SnapshotId>> {
        read_current(&self.dir)
    }

    /// Returns the map that was applied to the ids of the current snapshot. `None` if there was no
    /// map or this process may not know it.
    pub fn id_map(&self) -> Result<Option<IdMap>> {
        let Some(id) = self.current_id()? else {
            return Ok(None);
        };
        let list = ShardList::of(&self.dir, id)?;
        let text = list.and_then(|list| list.id_map);
        let map = text.map(|text| IdMap::parse(text.as_bytes()));
        map.transpose().map_err(|error| {
            let path = self.dir.join(layout::PRIVATE);
            let path = path
                .join(layout::DATA)
                .join(layout::shard_list_file(id.into()));
            IndexError::damaged(&path, format!("its id map is invalid: {error}"))
        })
    }

    /// Returns the rule for which snapshots to keep.
    pub fn retention(&self) -> Result<OwnRule> {
        if self.private().is_err_and(|error| error.is_denied()) {
            return Ok(OwnRule::Hidden);
        }
        let Some(text) = kept_rule(&self.dir, self.current_id()?)? else {
            return Ok(OwnRule::Unset);
        };
        text.parse::<Rule>().map(OwnRule::Set).map_err(|error| {
            let path = self.dir.join(layout::PRIVATE).join(layout::DATA);
            IndexError::damaged(&path, format!("its retention rule is invalid: {error}"))
        })
    }

    /// Returns the guard of the source as a whole: the permissions of the directories above its
    /// root. `None` if this process may not know it.
    pub fn above(&self) -> Result<Option<Guard>> {
        let Some(id) = self.current_id()? else {
            return Ok(None);
        };
        let list = ShardList::of(&self.dir, id)?;
        Ok(list.and_then(|list| GuardStep::to_guard(&list.above)))
    }

    /// True if the source lies where the index puts a source with this root below directories with
    /// these permissions.
    pub fn lies_behind(&self, above: &[DirAccess]) -> bool {
        let placer = Placer::new(self.root(), above);
        let guard = placer.guard(placer.root_guard());
        layout::data_components(&guard.0) == self.place
    }

    /// Opens the current snapshot; `None` before the first commit.
    pub fn current(&self) -> Result<Option<Snapshot>> {
        self.open_current(Changes::None)
    }

    /// Opens the current snapshot with all changes published since.
    pub fn now(&self) -> Result<Option<Snapshot>> {
        self.open_current(Changes::Since)
    }

    /// True if changes were published that continue from the current snapshot and may apply.
    pub fn has_changes(&self) -> Result<bool> {
        let current = self.current_id()?;
        Ok(current.is_some_and(|id| live::goes_on_from(&self.dir, id)))
    }

    fn open_current(&self, changes: Changes) -> Result<Option<Snapshot>> {
        let (mut tries, mut outdated) = (0, 0);
        loop {
            let Some(id) = self.current_id()? else {
                return match is_current_lost(&self.dir)? {
                    true => Err(IndexError::damaged(
                        &self.dir.join(layout::CURRENT_FILE),
                        "it is missing",
                    )),
                    false => Ok(None),
                };
            };
            match Snapshot::open(&self.dir, &self.info.root, id, changes) {
                Ok(snapshot) => {
                    if changes == Changes::None || !self.is_outdated(&snapshot, &mut outdated)? {
                        return Ok(Some(snapshot));
                    }
                }
                Err(error) => {
                    let moved = self.current_id()? != Some(id);
                    if !moved || tries == RETRIES {
                        return Err(self.named_by_current(error, id));
                    }
                    tries += 1;
                }
            }
        }
    }

    /// True if the changes published beside a snapshot were not found because they are about to
    /// become a snapshot, or already have: then the caller opens the source again.
    fn is_outdated(&self, snapshot: &Snapshot, tries: &mut usize) -> Result<bool> {
        if snapshot.live().is_some() || *tries >= OUTDATED_TRIES {
            return Ok(false);
        }
        *tries += 1;
        if self.current_id()? != Some(snapshot.info.id) {
            return Ok(true);
        }
        // The snapshot was rewritten as strictly as the coming snapshot requires.
        let is_revised = live::edition(&self.dir)?.is_some_and(|edition| {
            edition.id == snapshot.info.id && edition != snapshot.info.edition()
        });
        if is_revised {
            std::thread::sleep(OUTDATED_PAUSE);
        }
        Ok(is_revised)
    }

    /// Turns [`IndexError::NoSnapshot`] into damage: gc cannot have removed a snapshot that
    /// `current` names, so a file of the index is missing.
    fn named_by_current(&self, error: IndexError, id: SnapshotId) -> IndexError {
        match error {
            IndexError::NoSnapshot { .. } => {
                let path = self.dir.join(layout::SNAPSHOTS);
                IndexError::damaged(&path.join(layout::snapshot_file(id)), "it is missing")
            }
            error => error,
        }
    }

    /// Returns the committed snapshots, oldest first.
    ///
    /// A description that a killed writer left before its commit is newer than the current snapshot
    /// and is left out.
    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        let Some(current) = self.current_id()? else {
            return Ok(Vec::new());
        };
        let mut infos = Vec::new();
        for id in snapshot_ids(&self.dir)? {
            if id > current {
                continue;
            }
            match SnapshotInfo::read(&self.dir, id) {
                Ok(info) => infos.push(info),
                Err(IndexError::NoSnapshot { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(infos)
    }

    /// Opens a committed snapshot by its id.
    ///
    /// # Errors
    /// [`IndexError::NoSnapshot`] if there is no such snapshot.
    pub fn snapshot(&self, id: SnapshotId) -> Result<Snapshot> {
        if self.current_id()?.is_none_or(|current| id > current) {
            return Err(IndexError::NoSnapshot {
                path: self.dir.path().to_owned(),
                snapshot: id,
            });
        }
        Snapshot::open(&self.dir, &self.info.root, id, Changes::None)
    }
}

/// Returns the rule for which snapshots to keep, from the newest readable list of a committed
/// snapshot: losing one list must not lose the rule.
pub fn kept_rule(dir: &Dir, current: Option<SnapshotId>) -> Result<Option<String>> {
    let ids = snapshot_ids(dir)?.into_iter().rev();
    let committed = ids.filter(|id| Some(*id) <= current);
    let mut lists = committed.filter_map(|id| ShardList::of(dir, id).ok().flatten());
    Ok(lists.next().and_then(|list| list.keep))
}

/// Reads the id in the `current` file; `None` if the file does not exist.
pub fn read_current(dir: &Dir) -> Result<Option<SnapshotId>> {
    let Some(bytes) = if_there(dir.read(layout::CURRENT_FILE))? else {
        return Ok(None);
    };
    let path = dir.join(layout::CURRENT_FILE);
    let body = sealed::unseal(&bytes, &path)?;
    let id = body.strip_suffix('\n').and_then(|text| text.parse().ok());
    id.map(Some)
        .ok_or_else(|| IndexError::damaged(&path, "it does not name a snapshot"))
}

/// True if a source without `current` has had one: it has snapshots that neither a first writer,
/// running or killed, nor a removal would have left.
pub fn is_current_lost(dir: &Dir) -> Result<bool> {
    let descriptions = if_there(snapshot_ids(dir))?.unwrap_or_default().len();
    // A running or killed writer has signed the lock file and may have left its one description. A
    // lock file that may not be read proves nothing.
    let is_signed = dir
        .read(layout::LOCK_FILE)
        .is_ok_and(|text| !text.is_empty());
    let is_changing = dir.list()?.iter().any(|name| {
        name.starts_with(layout::CURRENT_FILE) && name.ends_with(layout::TEMPORARY_ENDING)
    });
    let is_lost = descriptions > usize::from(is_signed) && !is_changing;
    // The first commit may have happened in the meantime.
    Ok(is_lost && if_there(dir.open_file(layout::CURRENT_FILE))?.is_none())
}

/// Returns the ids of all snapshot files, ascending, committed or not.
pub fn snapshot_ids(dir: &Dir) -> Result<Vec<SnapshotId>> {
    let names = dir.open_dir(layout::SNAPSHOTS)?.list()?;
    let ids = names.iter().filter_map(|name| layout::snapshot_name(name));
    let mut ids: Vec<SnapshotId> = ids.collect();
    ids.sort_unstable();
    Ok(ids)
}
