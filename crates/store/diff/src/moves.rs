//! Finds moves: pairs of a deleted and a created entry that are the same
//! object.
//!
//! Two entries are the same object if they have the same device, inode number
//! and time of creation. If a time of creation is unknown, a reused inode
//! number could look like a move; then the type and `mtime` must agree as well,
//! and the size unless it is a directory. An object with several old names may
//! have several new ones: they are paired first by name, and the rest in path
//! order.

use std::collections::{HashMap, HashSet, VecDeque};
use trawl_model::path;
use trawl_model::rows::{OwnedRow, Row};
use trawl_model::{FileType, Meta};

use crate::attribute::AttributeSet;
use crate::record::{Difference, Kind};
use crate::{Devices, MOVES_MOST, Which, attribute};

/// Maximum number of keys held for each side.
const KEYS_MOST: usize = 16 << 20;

/// Returns a hash of device and inode number. Two objects may share a key by
/// accident.
pub(crate) fn key(row: &Row<'_>, devices: Devices, which: Which) -> u64 {
    let device = devices.common(row.dev().as_u64(), which);
    row.ino() ^ device.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32)
}

/// Returns the device and inode number.
fn identity(state: &OwnedRow, devices: Devices, which: Which) -> (u64, u64) {
    let device = devices.common(state.meta.dev.as_u64(), which);
    (device, state.meta.ino)
}

/// True if two entries with the same device and inode number are the same
/// object.
fn is_same(before: &Meta, after: &Meta) -> bool {
    if before.file_type() != after.file_type() {
        return false;
    }
    match (before.btime, after.btime) {
        (Some(before), Some(after)) => before == after,
        _ => {
            let is_dir = before.file_type() == FileType::Directory;
            before.mtime == after.mtime && (is_dir || before.size == after.size)
        }
    }
}

/// Joins deletions and creations into moves. `all` must be in path order.
pub(crate) fn join(
    mut all: Vec<Difference>,
    devices: Devices,
    compare: AttributeSet,
) -> impl Iterator<Item = Difference> {
    let pairs = pair(&all, devices);
    let mut gone = HashSet::new();
    for (new, old) in pairs {
        gone.insert(old);
        let Some((path, before)) = all.get_mut(old).map(taken) else {
            continue;
        };
        if let Some(created) = all.get_mut(new) {
            make_moved(created, path, before, devices, compare);
        }
    }
    let numbered = all.into_iter().enumerate();
    numbered.filter_map(move |(at, difference)| (!gone.contains(&at)).then_some(difference))
}

fn taken(difference: &mut Difference) -> (Vec<u8>, Option<OwnedRow>) {
    let path = std::mem::take(&mut difference.path);
    (path, difference.before.take())
}

/// Turns a creation into a move.
fn make_moved(
    created: &mut Difference,
    from: Vec<u8>,
    before: Option<OwnedRow>,
    devices: Devices,
    compare: AttributeSet,
) {
    created.kind = Kind::Moved;
    created.from = Some(from);
    if let (Some(before), Some(after)) = (&before, &created.after) {
        created.attributes = unlike(before, after, devices, compare);
    }
    created.before = before;
}

/// Returns the attributes that differ.
fn unlike(
    before: &OwnedRow,
    after: &OwnedRow,
    devices: Devices,
    compare: AttributeSet,
) -> AttributeSet {
    let is_same_device = devices.common(before.meta.dev.as_u64(), Which::Before)
        == devices.common(after.meta.dev.as_u64(), Which::After);
    let (before, after) = (before.batch(), after.batch());
    let row = |batch| Row {
        batch,
        at: 0,
        dir: b"",
    };
    attribute::changed(&row(&before), &row(&after), compare, is_same_device)
}

/// Pairs creations with deletions, as (created, deleted) positions in `all`.
fn pair(all: &[Difference], devices: Devices) -> Vec<(usize, usize)> {
    let mut deleted: HashMap<(u64, u64), VecDeque<usize>> = HashMap::new();
    for (at, difference) in all.iter().enumerate() {
        if let (Kind::Deleted, Some(state)) = (difference.kind, &difference.before) {
            let identity = identity(state, devices, Which::Before);
            deleted.entry(identity).or_default().push_back(at);
        }
    }
    let mut pairs = Vec::new();
    for is_by_name in [true, false] {
        let mut taken: HashSet<usize> = pairs.iter().map(|(new, _)| *new).collect();
        for (at, difference) in all.iter().enumerate() {
            let (Kind::Created, Some(after)) = (difference.kind, &difference.after) else {
                continue;
            };
            let Some(names) = deleted.get_mut(&identity(after, devices, Which::After)) else {
                continue;
            };
            let fits = |old: &usize| {
                let old = &all[*old];
                let is_same = old
                    .before
                    .as_ref()
                    .is_some_and(|before| is_same(&before.meta, &after.meta));
                is_same && (!is_by_name || base(&old.path) == base(&difference.path))
            };
            if !taken.contains(&at)
                && let Some(found) = names.iter().position(fits)
                && let Some(old) = names.remove(found)
            {
                taken.insert(at);
                pairs.push((at, old));
            }
        }
    }
    pairs
}

fn base(whole: &[u8]) -> &[u8] {
    path::split(whole).map_or(whole, |(_, name)| name)
}

/// Keys of created and deleted entries.
#[derive(Default)]
pub(crate) struct Keys {
    before: Vec<u64>,
    after: Vec<u64>,
    is_full: bool,
}

impl Keys {
    pub(crate) fn add(&mut self, row: &Row<'_>, devices: Devices, which: Which) {
        let keys = match which {
            Which::Before => &mut self.before,
            Which::After => &mut self.after,
        };
        match keys.len() < KEYS_MOST {
            true => keys.push(key(row, devices, which)),
            false => self.is_full = true,
        }
    }

    /// Returns the keys on both sides, and true if some may be missing.
    pub(crate) fn in_both(mut self) -> (HashSet<u64>, bool) {
        self.before.sort_unstable();
        self.after.sort_unstable();
        self.after.dedup();
        let is_before = |key: &u64| self.before.binary_search(key).is_ok();
        let both = self.after.iter().copied().filter(is_before);
        let both: HashSet<u64> = both.take(MOVES_MOST).collect();
        let is_cut = self.is_full || both.len() == MOVES_MOST;
        (both, is_cut)
    }
}

/// Moves that were found before the differences are reported.
#[derive(Default)]
pub(crate) struct Known {
    /// Keys of objects that may have moved.
    keys: HashSet<u64>,
    /// Old paths of moved entries.
    gone: HashSet<Vec<u8>>,
    /// New path of a moved entry, with its old path and old state.
    came: HashMap<Vec<u8>, (Vec<u8>, OwnedRow)>,
}

impl Known {
    /// Pairs up the moves among created and deleted entries.
    pub(crate) fn new(mut held: Vec<Difference>, keys: HashSet<u64>, devices: Devices) -> Known {
        let mut known = Known {
            keys,
            ..Known::default()
        };
        for (new, old) in pair(&held, devices) {
            let (from, before) = taken(&mut held[old]);
            known.gone.insert(from.clone());
            let to = std::mem::take(&mut held[new].path);
            known.came.insert(to, (from, before.unwrap_or_default()));
        }
        known
    }

    /// True unless this entry of the first snapshot has a new path in the
    /// second.
    pub(crate) fn is_gone(&self, row: &Row<'_>, devices: Devices) -> bool {
        let may_have = self.keys.contains(&key(row, devices, Which::Before));
        !may_have || !self.gone.contains(&row.path())
    }

    /// Returns a move if the entry is a known one, and a creation otherwise.
    pub(crate) fn created(
        &self,
        row: &Row<'_>,
        devices: Devices,
        compare: AttributeSet,
    ) -> Difference {
        let mut created = Difference::created(row);
        if self.keys.contains(&key(row, devices, Which::After))
            && let Some((from, before)) = self.came.get(&created.path)
        {
            let (from, before) = (from.clone(), before.clone());
            make_moved(&mut created, from, Some(before), devices, compare);
        }
        created
    }
}
