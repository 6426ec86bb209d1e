//! What was deleted in one place and created in another is one object that
//! moved, if it is the same.
//!
//! The same are two names of one device and inode number whose times of
//! creation agree. Where those are not known, an inode number that was given
//! to another object would look the same: then type and time of the content
//! must agree, and the size of what is no directory. An object with several
//! names may have several new ones: they are taken for each other by name, and
//! the rest in path order.

use std::collections::{HashMap, HashSet, VecDeque};
use trawl_model::path;
use trawl_model::rows::Row;
use trawl_model::{FileType, Meta};

use crate::attribute::AttributeSet;
use crate::record::{Difference, Kind, State};
use crate::{Devices, MOVES_MOST, Which, attribute};

/// Keys that are held on each side.
const KEYS_MOST: usize = 16 << 20;

/// Stands for device and inode number; two objects may have one by accident.
pub(crate) fn key(row: &Row<'_>, devices: Devices, which: Which) -> u64 {
    let device = devices.common(row.dev().as_u64(), which);
    row.ino() ^ device.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32)
}

/// Device and inode number.
fn identity(state: &State, devices: Devices, which: Which) -> (u64, u64) {
    let device = devices.common(state.meta.dev.as_u64(), which);
    (device, state.meta.ino)
}

/// True if two entries with one device and inode number are one object.
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

/// Finds the moves among all differences, which are in path order.
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

fn taken(difference: &mut Difference) -> (Vec<u8>, Option<State>) {
    let path = std::mem::take(&mut difference.path);
    (path, difference.before.take())
}

/// Makes what was created something that moved.
fn make_moved(
    created: &mut Difference,
    from: Vec<u8>,
    before: Option<State>,
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

/// Which attributes differ.
fn unlike(before: &State, after: &State, devices: Devices, compare: AttributeSet) -> AttributeSet {
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

/// Which created difference is which deleted one, by their places.
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
            // A lone name needs no look at the others.
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

/// What was created and deleted, as keys.
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

    /// Those on both sides, and true if that may not be all.
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

/// Moves that were found before the differences are given.
#[derive(Default)]
pub(crate) struct Known {
    /// Of those objects one looks closer.
    keys: HashSet<u64>,
    /// Old names of what has new ones.
    gone: HashSet<Vec<u8>>,
    /// What was at the old name of what is at a new one.
    came: HashMap<Vec<u8>, (Vec<u8>, State)>,
}

impl Known {
    /// Those among what was created and deleted.
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

    /// True unless what this row of the first snapshot is has another name now.
    pub(crate) fn is_gone(&self, row: &Row<'_>, devices: Devices) -> bool {
        let may_have = self.keys.contains(&key(row, devices, Which::Before));
        !may_have || !self.gone.contains(&row.path())
    }

    /// What was created, or moved.
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
