//! The mounts below a root, and the objects visible there.

use std::collections::BTreeMap;
use std::ffi::CString;

use trawl_model::escape::escape;
use trawl_model::path;
use trawl_sys::CWD;
use trawl_sys::device::DeviceNumber;
use trawl_sys::filesystem;
use trawl_sys::mount_table::Mount;
use trawl_sys::stat::{Stat, Time, stat_at, unique_mount};

use super::crossed::Point;
use super::shown;

/// Whether the content of mounts below the root belongs to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// Only the mount point belongs to it, as with `find -xdev`.
    Stays,
    /// All of the content belongs to it.
    Crosses,
}

/// How a mount point differs from its previous state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Differs {
    /// The object visible there has other attributes.
    Attributes,
    /// Another object is visible there, or may be below.
    Another,
}

/// State of one mount point.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spot {
    /// The mounts there, the lowest first.
    mounts: Vec<Mount>,
    seen: MountPointState,
}

/// Result of a look at a mount point.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MountPointState {
    /// Not visible: something is mounted above it, or it is gone.
    Hidden,
    /// Not examined, because that might take long.
    Unasked,
    There(Box<MountPointLook>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct MountPointLook {
    /// Unique id of the mount, if the kernel reports it.
    mount: Option<u64>,
    stat: Stat,
}

/// The mounts at and below a root, and those that it lies on.
#[derive(Clone, Debug)]
pub(super) struct Below {
    spots: BTreeMap<Vec<u8>, Spot>,
    /// Mounts at the root and above.
    above: Vec<Mount>,
    /// Path of the root.
    root: Vec<u8>,
    device: Option<DeviceNumber>,
    number: u64,
}

impl MountPointState {
    fn at(point: &[u8], mounts: &[Mount]) -> MountPointState {
        let Some(top) = mounts
            .last()
            .filter(|mount| !filesystem::is_shared(&mount.kind))
        else {
            return MountPointState::Unasked;
        };
        let Ok(name) = CString::new(point) else {
            return MountPointState::Hidden;
        };
        let Ok(mut stat) = stat_at(CWD, &name) else {
            return MountPointState::Hidden;
        };
        if stat.is_mount_root() == Some(false) {
            return MountPointState::Hidden;
        }
        stat.meta.atime = Time::default();
        if top.kind == b"proc" {
            // The link count is the number of processes.
            stat.meta.nlink = 0;
            [stat.meta.mtime, stat.meta.ctime] = [Time::default(); 2];
        }
        let mount = unique_mount(&name);
        MountPointState::There(Box::new(MountPointLook { mount, stat }))
    }

    /// Returns the identity of the visible object, regardless of its attributes.
    fn identity(&self) -> Option<(Option<u64>, DeviceNumber, u64, u32)> {
        match self {
            MountPointState::There(look) => {
                let MountPointLook { mount, stat } = &**look;
                Some((*mount, stat.dev, stat.ino, stat.type_bits()))
            }
            MountPointState::Hidden | MountPointState::Unasked => None,
        }
    }

    fn is_hidden(&self) -> bool {
        *self == MountPointState::Hidden
    }
}

impl Spot {
    fn identities(&self) -> impl Iterator<Item = (u64, u64, DeviceNumber, &[u8])> {
        self.mounts.iter().map(Mount::identity)
    }

    /// Returns how the state `now` differs from this one.
    fn compare(&self, now: &Spot) -> Option<Differs> {
        let is_same = self.identities().eq(now.identities())
            && self.seen.identity() == now.seen.identity()
            && self.seen.is_hidden() == now.seen.is_hidden();
        match is_same {
            false => Some(Differs::Another),
            true if self.seen != now.seen => Some(Differs::Attributes),
            true => None,
        }
    }
}

impl Below {
    /// Makes the state from the mount table.
    pub(super) fn of(mounts: &[Mount], root: &[u8], crossing: Crossing) -> Below {
        let at = |mount: &Mount| {
            mount
                .point
                .strip_suffix(b"/")
                .unwrap_or(&mount.point)
                .to_vec()
        };
        let above = mounts
            .iter()
            .filter(|mount| path::is_within(root, &at(mount)));
        let above: Vec<Mount> = above.cloned().collect();
        let own = lies_on(&above).map(|mount| mount.device);
        let mut spots = BTreeMap::new();
        for mount in mounts {
            let point = at(mount);
            if point == root || !path::is_within(&point, root) {
                continue;
            }
            let on = mounts.iter().find(|other| other.id == mount.parent);
            // A mount on another file system is not in the tree.
            let is_in = crossing == Crossing::Crosses || on.map(|mount| mount.device) == own;
            if is_in || spots.contains_key(&point) {
                let spot = spots.entry(point).or_insert_with(|| Spot {
                    mounts: Vec::new(),
                    seen: MountPointState::Hidden,
                });
                spot.mounts.push(mount.clone());
            }
        }
        for (point, spot) in &mut spots {
            spot.seen = MountPointState::at(point, &spot.mounts);
        }
        let name = if root.is_empty() { b"/" } else { root };
        let found = CString::new(name).ok();
        let found = found.and_then(|name| stat_at(CWD, &name).ok());
        Below {
            number: number_of(&spots),
            spots,
            above,
            root: root.to_vec(),
            device: found.map(|found| found.dev),
        }
    }

    /// Returns true if nothing is mounted below the root.
    pub(super) fn is_empty(&self) -> bool {
        self.spots.is_empty()
    }

    pub(super) fn points(&self) -> impl Iterator<Item = &[u8]> {
        self.spots.keys().map(|point| &point[..])
    }

    /// Returns true if the root's file system is read-only.
    pub(super) fn is_read_only(&self) -> bool {
        lies_on(&self.above).is_some_and(|mount| mount.has_option(b"ro"))
    }

    /// Returns the mount points at which a directory of another file system is visible that belongs
    /// to the tree.
    pub(super) fn of_other_devices(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for (path, spot) in &self.spots {
            let (mount, device) = match &spot.seen {
                MountPointState::Hidden => continue,
                MountPointState::Unasked => (None, None),
                MountPointState::There(look) if !look.stat.is_directory() => continue,
                MountPointState::There(look) => (look.mount, Some(look.stat.dev)),
            };
            if device.is_none() || device != self.device {
                points.push(Point {
                    path: path.clone(),
                    mount,
                    device,
                    is_remote: device.is_none(),
                });
            }
        }
        points
    }

    /// Returns the mount points at which a directory of the root's own device is visible.
    pub(super) fn of_same_device(&self) -> Vec<Vec<u8>> {
        let spots = self.spots.iter().filter(|(_, spot)| match &spot.seen {
            MountPointState::There(look) => {
                Some(look.stat.dev) == self.device && look.stat.is_directory()
            }
            MountPointState::Hidden | MountPointState::Unasked => false,
        });
        spots.map(|(point, _)| point.clone()).collect()
    }

    /// Returns the directory below the root that is also visible at a mount point; the root itself
    /// if it lies in the directory that is visible there.
    pub(super) fn bound_from(&self, point: &[u8]) -> Option<Vec<u8>> {
        let seen = &self.spots.get(point)?.mounts.last()?.root;
        let on = lies_on(&self.above)?;
        // The path of the visible directory in the mount that the root lies on.
        let in_mount = match below(seen, &on.root) {
            Some(in_mount) => in_mount,
            // A directory above that mount's root is visible.
            None => below(&on.root, seen).map(|_| &b""[..])?,
        };
        let place = path::join(trimmed(&on.point), in_mount);
        let place = trimmed(&place);
        match path::is_within(place, &self.root) {
            true => Some(place.to_vec()),
            false => path::is_within(&self.root, place).then(|| self.root.clone()),
        }
    }

    /// Returns the differences of `now` from this state; the root is included if the mounts that it
    /// lies on differ.
    pub(super) fn compare(&self, now: &Below) -> Vec<(Vec<u8>, Differs)> {
        let mut differs = Vec::new();
        let lies_on = |below: &Below| -> Vec<_> {
            let mounts = below.above.iter().map(Mount::identity);
            mounts.map(|(a, b, c, d)| (a, b, c, d.to_vec())).collect()
        };
        if lies_on(self) != lies_on(now) {
            differs.push((self.root.clone(), Differs::Another));
        }
        let gone = self
            .spots
            .keys()
            .filter(|point| !now.spots.contains_key(*point));
        differs.extend(gone.map(|point| (point.clone(), Differs::Another)));
        for (point, spot) in &now.spots {
            let how = match self.spots.get(point) {
                Some(before) => before.compare(spot),
                None => Some(Differs::Another),
            };
            differs.extend(how.map(|how| (point.clone(), how)));
        }
        differs
    }

    /// Examines all mount points again, and returns the differences.
    pub(super) fn look_again(&mut self) -> Vec<(Vec<u8>, Differs)> {
        let mut differs = Vec::new();
        for (point, spot) in &mut self.spots {
            let seen = MountPointState::at(point, &spot.mounts);
            let mounts = spot.mounts.clone();
            let before = std::mem::replace(spot, Spot { mounts, seen });
            let how = before.compare(spot);
            if how == Some(Differs::Another) {
                // It is found again when the table is read.
                *spot = before;
            }
            differs.extend(how.map(|how| (point.clone(), how)));
        }
        differs
    }

    /// Describes the event that replaced the mount that the root lay on, according to the current
    /// table.
    pub(super) fn what_became(&self, now: &[Mount], root: &[u8]) -> Option<String> {
        let before = lies_on(&self.above)?;
        let what = shown(&before.kind, &before.source);
        let point = escape(&before.point);
        let still = now
            .iter()
            .find(|mount| mount.identity() == before.identity());
        let still = still.or_else(|| {
            let moved = |mount: &&Mount| (mount.id, mount.device) == (before.id, before.device);
            now.iter().find(moved)
        });
        let Some(still) = still else {
            return Some(format!(
                "{what} was unmounted from {point}, where another directory is now"
            ));
        };
        if still.point != before.point {
            let there = escape(&still.point);
            return Some(format!("{what} was moved from {point} to {there}"));
        }
        let over = now.iter().rfind(|mount| {
            let is_over =
                path::is_within(root, mount.point.strip_suffix(b"/").unwrap_or(&mount.point));
            let is_known = self
                .above
                .iter()
                .any(|one| one.identity() == mount.identity());
            is_over && !is_known
        })?;
        let what = shown(&over.kind, &over.source);
        Some(format!(
            "{what} was mounted over it, on {}",
            escape(&over.point)
        ))
    }

    /// Returns a number for the set of mounts, which differs when the mounts differ.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// Source: FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>
fn number_of(spots: &BTreeMap<Vec<u8>, Spot>) -> u64 {
    let mut number: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            number = (number ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (point, spot) in spots {
        add(point);
        for (id, parent, device, root) in spot.identities() {
            add(&id.to_le_bytes());
            add(&parent.to_le_bytes());
            add(format!("{}:{}", device.major, device.minor).as_bytes());
            add(root);
        }
        let unique = spot.seen.identity().and_then(|(mount, ..)| mount);
        add(&unique.unwrap_or_default().to_le_bytes());
    }
    number
}

fn trimmed(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"/").unwrap_or(path)
}

/// Returns a path relative to a directory that contains it or is the path itself; `None` otherwise.
fn below<'p>(path: &'p [u8], directory: &[u8]) -> Option<&'p [u8]> {
    let rest = path.strip_prefix(trimmed(directory))?;
    match rest {
        b"" => Some(rest),
        rest => rest.strip_prefix(b"/"),
    }
}

/// Returns the mount that a root lies on, given the mounts at it and above.
fn lies_on(above: &[Mount]) -> Option<&Mount> {
    above.iter().max_by_key(|mount| mount.point.len())
}
