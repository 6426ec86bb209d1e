//! Types of file systems by device number, for `%F` and `-fstype`, and the
//! restrictions of their mounts.
//!
//! The index stores devices, not types: the type is that of the file system now
//! mounted from the device, or `unknown` if there is none. If the mounts of a
//! device have different restrictions, the entry's path decides which mount it
//! lies in.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use trawl_model::{Dev, path};
use trawl_sys::mount_table::{self, Mount};

/// The mounted file systems, read on first use.
#[derive(Debug, Default)]
pub struct FileSystems {
    mounted: OnceLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    by_device: HashMap<Dev, Mounted>,
    /// Restrictions at each mount point, by stored path; the last one of
    /// several mounts at a mount point.
    by_point: HashMap<Vec<u8>, Allows>,
    /// Whether a mount lies below another mount of the same device.
    is_nested: bool,
}

/// The facts about a device, for all its mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mounted {
    kind: String,
    /// The restrictions of its mounts; `None` if they differ.
    allows: Option<Allows>,
}

/// The restrictions of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Allows {
    /// True if it is mounted read-only.
    read_only: bool,
    /// True if programs on it cannot be run (noexec).
    without_programs: bool,
}

impl FileSystems {
    fn table(&self) -> &Table {
        self.mounted.get_or_init(|| {
            // If the table cannot be read, every type is unknown.
            let mounts = mount_table::read().unwrap_or_default();
            table(mounts.into_iter())
        })
    }

    /// Returns the type of the file system on `dev`.
    pub fn kind(&self, dev: Dev) -> &str {
        let mounted = self.table().by_device.get(&dev);
        mounted.map_or("unknown", |mounted| &mounted.kind)
    }

    /// Returns whether a file system of this type is mounted. `unknown` always
    /// counts as mounted.
    pub fn has_kind(&self, kind: &str) -> bool {
        let mut mounted = self.table().by_device.values();
        kind == "unknown" || mounted.any(|mounted| mounted.kind == kind)
    }

    /// Returns true if a part of a file system is mounted below another mount
    /// of it. A directory may then lie below itself.
    pub(crate) fn may_loop(&self) -> bool {
        self.table().is_nested
    }

    /// Returns true if the entry on `dev` with this stored path lies on a
    /// read-only mount.
    pub fn is_read_only(&self, dev: Dev, stored: &dyn Fn() -> Vec<u8>) -> bool {
        self.table().allows(dev, stored).read_only
    }

    /// Returns true if programs at this stored path on `dev` cannot be run.
    pub fn is_without_programs(&self, dev: Dev, stored: &dyn Fn() -> Vec<u8>) -> bool {
        self.table().allows(dev, stored).without_programs
    }
}

impl Table {
    /// Returns the restrictions by device if all its mounts agree, otherwise by
    /// the nearest mount point above the entry: subvolumes have devices that
    /// are not in the mount table.
    fn allows(&self, dev: Dev, stored: &dyn Fn() -> Vec<u8>) -> Allows {
        if let Some(allows) = self.by_device.get(&dev).and_then(|mounted| mounted.allows) {
            return allows;
        }
        let stored = stored();
        let mut at = Some(&stored[..]);
        while let Some(place) = at {
            if let Some(allows) = self.by_point.get(place) {
                return *allows;
            }
            at = path::split(place).map(|(above, _)| above);
        }
        Allows::default()
    }
}

/// Builds the table of file systems from the mounts of a process.
fn table(mounts: impl Iterator<Item = Mount>) -> Table {
    let mut all = Table::default();
    let mut points = HashSet::new();
    for mount in mounts {
        let dev = mount.device;
        let allows = Allows {
            read_only: mount.has_mount_option(b"ro") || mount.has_option(b"ro"),
            without_programs: mount.has_mount_option(b"noexec"),
        };
        let point = match mount.point {
            point if point == b"/" => Vec::new(),
            point => point,
        };
        let known = all.by_device.entry(dev).or_insert_with(|| Mounted {
            kind: String::new(),
            allows: Some(allows),
        });
        known.kind = String::from_utf8_lossy(&mount.kind).into_owned();
        known.allows = known.allows.filter(|known| *known == allows);
        points.insert((dev, point.clone()));
        all.by_point.insert(point, allows);
    }
    let has_one_above = |(dev, point): &(Dev, Vec<u8>)| {
        let mut above = &point[..];
        while let Some(slash) = above.iter().rposition(|byte| *byte == b'/') {
            above = &above[..slash];
            if points.contains(&(*dev, above.to_vec())) {
                return true;
            }
        }
        false
    };
    all.is_nested = points.iter().any(has_one_above);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dev(major: u32, minor: u32) -> Dev {
        Dev { major, minor }
    }

    fn of(text: &str) -> FileSystems {
        let all = FileSystems::default();
        all.mounted
            .get_or_init(|| table(mount_table::parse(text.as_bytes())));
        all
    }

    #[test]
    fn kinds_are_found_by_device() {
        let all = of(
            "22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\nodd\n23 1 0:5 / /p rw - proc proc rw\n",
        );
        assert_eq!(all.kind(dev(254, 0)), "ext4");
        assert_eq!(all.table().by_device.len(), 2);
        assert_eq!(all.kind(dev(u32::MAX, 7)), "unknown");
    }

    #[test]
    fn a_mount_below_another_of_its_device_may_be_a_loop() {
        let root = "1 1 8:1 / / rw - ext4 /dev/a rw\n";
        for (line, expected) in [
            ("2 1 8:2 / /b rw - ext4 /dev/b rw\n", false),
            ("2 1 8:1 /a /a/b/c rw - ext4 /dev/a rw\n", true),
        ] {
            assert_eq!(of(&format!("{root}{line}")).may_loop(), expected, "{line}");
        }
        assert!(!of("1 1 8:1 /x /a rw - t s rw\n2 1 8:1 /x /ab rw - t s rw\n").may_loop());
    }

    #[test]
    fn each_mount_forbids_what_lies_in_it() {
        let all = of(
            "1 1 8:1 / / rw - ext4 /dev/a rw\n2 1 8:1 /b /with\\040space ro,noexec - ext4 /dev/a rw\n\
             3 1 8:2 / /c rw shared:1 - ext4 /dev/b ro,x\n4 1 8:1 /i /with\\040space/in rw - ext4 /dev/a rw\n",
        );
        for (dev, stored, read_only, without) in [
            (dev(8, 1), "/with", false, false),
            (dev(8, 1), "/with space", true, true),
            (dev(8, 1), "/with space/deep/er", true, true),
            (dev(8, 1), "/with space/in/it", false, false),
            (dev(8, 1), "", false, false),
            (dev(8, 2), "/anywhere", true, false),
            (dev(9, 9), "/c/subvolume", true, false),
        ] {
            let stored = || stored.as_bytes().to_vec();
            assert_eq!(all.is_read_only(dev, &stored), read_only);
            assert_eq!(all.is_without_programs(dev, &stored), without);
        }
    }
}
