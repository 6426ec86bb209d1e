//! Defines the files of generations and reads them.

use super::ranges;
use crate::error::{IndexError, Result};
use crate::id::{Edition, SegmentId, SnapshotId};
use crate::layout;
use crate::manifest::{GuardStep, Manifest, SegmentInfo, Totals, check_format};
use crate::schema::{FORMAT, Table};
use crate::sealed;
use crate::snapshot::time;
use crate::store::{Dir, if_there};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use trawl_model::Timestamp;
use trawl_sys::lock::{Lock, try_lock};

/// File that names the generation in effect.
pub const STATE_FILE: &str = "state";
/// Files in which the kernel reports the id and the time of the current boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const BOOT_TIME: &str = "/proc/stat";

/// Content of `state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Format version.
    pub format: u32,
    /// The edition that the generation continues from, as text.
    pub edition: String,
    /// Id of the machine's boot in which the generation was published.
    pub boot: String,
    /// Number of the generation, from 1.
    pub generation: u64,
    /// Time up to which all changes are included.
    #[serde(with = "time")]
    pub as_of: Timestamp,
}

/// Changes of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// Format version.
    pub format: u32,
    /// The edition that it continues from, as text.
    pub edition: String,
    /// First generation that uses the overlay.
    pub generation: u64,
    /// Guard of the shard.
    pub guard: Vec<GuardStep>,
    /// Segments beside the snapshot's, oldest first.
    pub segments: Vec<SegmentInfo>,
    /// Dead rows, including those of the segments above.
    pub dead: Vec<DeadRows>,
}

/// Dead rows of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadRows {
    /// The segment.
    pub segment: SegmentId,
    /// Its dead rows.
    #[serde(flatten)]
    pub rows: Dead,
}

/// Dead rows of a segment's tables as ranges that are ascending and neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dead {
    /// Rows of the dirs table: listings with all their entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dirs: Vec<Range<u64>>,
    /// Rows of the xattrs table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xattrs: Vec<Range<u64>>,
    /// Rows of the issues table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Range<u64>>,
}

/// All overlays of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlays {
    /// Format version.
    pub format: u32,
    /// Number of the generation.
    pub generation: u64,
    /// The overlays in effect.
    pub shards: Vec<Placed>,
}

/// An overlay with the location of its shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// Directory names that lead to the shard.
    pub components: Vec<String>,
    /// The overlay.
    pub overlay: Overlay,
}

/// A generation in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveInfo {
    /// Number of the generation.
    pub generation: u64,
    /// Time up to which all changes are included.
    pub as_of: Timestamp,
}

/// The generation in effect for a reader.
#[derive(Debug)]
pub struct Live {
    /// Number and time of the generation.
    pub info: LiveInfo,
    edition: Edition,
    /// Shared lock that keeps the generation's files.
    _pin: Option<File>,
}

/// A shard's overlay in the form that a reader uses.
#[derive(Debug)]
pub(crate) struct Overlaid {
    /// Manifest of the segments beside the snapshot's; `None` if there are none.
    pub manifest: Option<Manifest>,
    pub dead: Arc<HashMap<SegmentId, Dead>>,
}

impl Dead {
    /// Returns the dead rows of a table.
    pub fn of(&self, table: Table) -> &[Range<u64>] {
        match table {
            Table::Dirs => &self.dirs,
            Table::Xattrs => &self.xattrs,
            Table::Issues => &self.issues,
            // Their rows die with their listing.
            Table::Entries | Table::Links => &[],
        }
    }

    /// Returns the dead rows of a table; `None` if rows of that table die with their listing.
    pub fn of_mut(&mut self, table: Table) -> Option<&mut Vec<Range<u64>>> {
        match table {
            Table::Dirs => Some(&mut self.dirs),
            Table::Xattrs => Some(&mut self.xattrs),
            Table::Issues => Some(&mut self.issues),
            Table::Entries | Table::Links => None,
        }
    }

    /// True if no row is dead.
    pub fn is_empty(&self) -> bool {
        self.dirs.is_empty() && self.xattrs.is_empty() && self.issues.is_empty()
    }

    /// True if no row of a segment is valid any more.
    pub fn is_all_of(&self, segment: &SegmentInfo) -> bool {
        [Table::Dirs, Table::Xattrs, Table::Issues]
            .into_iter()
            .all(|table| {
                let rows = segment.files.get(&table).map_or(0, |file| file.rows);
                ranges::count(self.of(table)) >= rows
            })
    }

    fn is_sound(&self) -> bool {
        [&self.dirs, &self.xattrs, &self.issues]
            .into_iter()
            .all(|rows| ranges::is_sound(rows))
    }
}

impl Placed {
    /// Returns a copy of an overlay with the location of its shard.
    pub fn of(components: &[String], overlay: &Overlay) -> Placed {
        Placed {
            components: components.to_vec(),
            overlay: overlay.clone(),
        }
    }
}

impl Overlay {
    /// Returns an overlay without changes for the shard behind this guard.
    pub fn new(edition: Edition, guard: Vec<GuardStep>) -> Overlay {
        Overlay {
            format: FORMAT,
            edition: edition.to_string(),
            generation: 0,
            guard,
            segments: Vec::new(),
            dead: Vec::new(),
        }
    }

    /// Decodes an overlay of an edition. `path` names it in errors.
    pub fn from_bytes(bytes: &[u8], path: &Path, edition: Edition) -> Result<Overlay> {
        let overlay: Overlay = sealed::unseal_json(bytes, path)?;
        overlay.check(edition, path)?;
        Ok(overlay)
    }

    /// Returns an error if the overlay belongs to another edition or is invalid.
    fn check(&self, edition: Edition, path: &Path) -> Result<()> {
        check_format(self.format, path)?;
        if self.edition != edition.to_string() {
            return Err(IndexError::damaged(path, "it belongs to another snapshot"));
        }
        match self.dead.iter().all(|dead| dead.rows.is_sound()) {
            true => Ok(()),
            false => Err(IndexError::damaged(path, "its ranges are invalid")),
        }
    }

    /// Converts the overlay for readers of a source with this root.
    pub(crate) fn overlaid(self, edition: Edition, root: &[u8]) -> Overlaid {
        let segments = self.segments;
        let manifest = (!segments.is_empty()).then(|| Manifest {
            format: self.format,
            snapshot: edition.id,
            root: root.to_vec(),
            guard: self.guard,
            segments,
            totals: Totals::default(),
        });
        let dead = self.dead.into_iter().map(|dead| (dead.segment, dead.rows));
        Overlaid {
            manifest,
            dead: Arc::new(dead.collect()),
        }
    }
}

/// Returns the id of the machine's current boot; empty if it is unknown.
pub fn boot_id() -> String {
    let text = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
    text.trim().to_owned()
}

/// True if a file last changed before the machine was booted. `state` is never synced, so a file
/// from before may contain anything. False if the boot time is unknown.
fn is_before_boot(file: &File) -> bool {
    let text = std::fs::read_to_string(BOOT_TIME).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("btime "));
    let booted = line.and_then(|time| time.trim().parse::<i64>().ok());
    let changed = file.metadata().map(|meta| meta.ctime()).ok();
    matches!((booted, changed), (Some(booted), Some(changed)) if changed < booted)
}

/// Reads `state`, of whatever edition and boot, and returns it with its file if that could be
/// locked. `None` if there is no `state`, or only a damaged one from before the current boot.
///
/// # Errors
/// [`IndexError::Damaged`] if a `state` of this boot is damaged: the snapshot alone does not
/// contain everything that was published.
fn read_state(source: &Dir) -> Result<Option<(State, Option<File>)>> {
    let Some(dir) = if_there(source.open_dir(layout::LIVE))? else {
        return Ok(None);
    };
    let Some(file) = if_there(dir.open_file(STATE_FILE))? else {
        return Ok(None);
    };
    // Locking before reading ensures that the file that is read is pinned.
    let pin = try_lock(&file, Lock::Shared).is_ok_and(|locked| locked);
    let path = dir.join(STATE_FILE);
    match parse_state(&file, &path) {
        Ok(state) => Ok(Some((state, pin.then_some(file)))),
        Err(_) if is_before_boot(&file) => Ok(None),
        Err(IndexError::Damaged { path, problem }) => Err(IndexError::damaged(
            &path,
            format!("{problem}: index the source again, or restart the daemon that watches it"),
        )),
        Err(error) => Err(error),
    }
}

fn parse_state(file: &File, path: &Path) -> Result<State> {
    let bytes = crate::store::read_file(file, path)?;
    let state: State = sealed::unseal_json(&bytes, path)?;
    check_format(state.format, path)?;
    match state.edition.parse::<Edition>() {
        Ok(_) => Ok(state),
        Err(_) => Err(IndexError::damaged(path, "it names no edition")),
    }
}

impl Live {
    /// Returns the generation in effect for an edition; `None` if only the snapshot is.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if `state` is damaged, so that this is unknown.
    pub fn open(source: &Dir, edition: Edition) -> Result<Option<Live>> {
        let Some((state, pin)) = read_state(source)? else {
            return Ok(None);
        };
        let boot = boot_id();
        let is_of_boot = !boot.is_empty() && state.boot == boot;
        let counts = state.edition == edition.to_string() && is_of_boot;
        Ok(counts.then_some(Live {
            info: LiveInfo {
                generation: state.generation,
                as_of: state.as_of,
            },
            edition,
            _pin: pin,
        }))
    }

    /// Returns the overlay of the shard with this `data` directory, if it has one.
    pub fn overlay(&self, data: &Dir) -> Result<Option<Overlay>> {
        let generations = data.list()?;
        let generations = generations
            .iter()
            .filter_map(|name| layout::overlay_name(name));
        let ours = generations.filter(|(edition, generation)| {
            *edition == self.edition && *generation <= self.info.generation
        });
        let Some((_, newest)) = ours.max_by_key(|(_, generation)| *generation) else {
            return Ok(None);
        };
        let name = layout::overlay_file(self.edition, newest);
        let path = data.join(&name);
        let overlay = Overlay::from_bytes(&data.read(&name)?, &path, self.edition)?;
        let is_placed = layout::components_of(&overlay.guard).is_some();
        match overlay.generation == newest && is_placed {
            true => Ok(Some(overlay)),
            false => Err(IndexError::damaged(
                &path,
                "its content does not match its name",
            )),
        }
    }

    /// Returns all overlays by the directory names of their shards, for readers that may read
    /// everything.
    pub fn overlays(&self, private: &Dir) -> Result<BTreeMap<Vec<String>, Overlay>> {
        let name = layout::overlays_file(self.edition, self.info.generation);
        let path = private.join(&name);
        let read: Overlays = sealed::unseal_json(&private.read(&name)?, &path)?;
        check_format(read.format, &path)?;
        let mut overlays = BTreeMap::new();
        for Placed {
            components,
            overlay,
        } in read.shards
        {
            overlay.check(self.edition, &path)?;
            if layout::components_of(&overlay.guard).as_ref() != Some(&components) {
                return Err(IndexError::damaged(&path, "a shard belongs elsewhere"));
            }
            overlays.insert(components, overlay);
        }
        Ok(overlays)
    }
}

/// Returns the edition that the last published generation continues from, in this boot or an
/// earlier one.
///
/// # Errors
/// If `state` cannot be read or is damaged.
pub fn edition(source: &Dir) -> Result<Option<Edition>> {
    let state = read_state(source)?;
    Ok(state.and_then(|(state, _)| state.edition.parse::<Edition>().ok()))
}

/// True if the last published generation continues from this snapshot, or if that is unknown.
pub fn goes_on_from(source: &Dir, id: SnapshotId) -> bool {
    edition(source).map_or(true, |edition| {
        edition.is_some_and(|edition| edition.id == id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn overlay() -> Overlay {
        let edition = Edition::from(SnapshotId(7));
        let mut overlay = Overlay::new(edition, Vec::new());
        let segment = SegmentId {
            snapshot: SnapshotId(7),
            number: 3,
        };
        let rows = Dead {
            dirs: vec![0..2, 5..6],
            ..Dead::default()
        };
        overlay.dead.push(DeadRows { segment, rows });
        overlay
    }

    fn read(overlay: &Overlay, edition: SnapshotId) -> Result<Overlay> {
        let bytes = sealed::seal_json(overlay, Path::new("o")).unwrap();
        Overlay::from_bytes(&bytes, Path::new("o"), edition.into())
    }

    #[test]
    fn an_overlay_reads_back_and_one_that_lies_does_not() {
        assert_eq!(read(&overlay(), SnapshotId(7)).unwrap(), overlay());
        assert!(read(&overlay(), SnapshotId(8)).is_err());
        let range = |(start, end)| Range { start, end };
        for ranges in [
            &[(2, 1)][..],
            &[(3, 4), (0, 1)],
            &[(0, 2), (2, 3)],
            &[(1, 1)],
        ] {
            let mut lying = overlay();
            lying.dead[0].rows.xattrs = ranges.iter().copied().map(range).collect();
            assert!(read(&lying, SnapshotId(7)).is_err());
        }
        let mut newer = overlay();
        newer.format = FORMAT + 1;
        assert!(read(&newer, SnapshotId(7)).is_err());
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text: String, at: usize, letter: char) {
            let _ = Overlay::from_bytes(&sealed::seal(&text), Path::new("o"), SnapshotId(7).into());
            let bytes = sealed::seal_json(&overlay(), Path::new("o")).unwrap();
            let body = sealed::unseal(&bytes, Path::new("o")).unwrap();
            let mut letters: Vec<char> = body.chars().collect();
            let at = at % letters.len();
            letters[at] = letter;
            let text: String = letters.into_iter().collect();
            let _ = Overlay::from_bytes(&sealed::seal(&text), Path::new("o"), SnapshotId(7).into());
        }
    }
}
