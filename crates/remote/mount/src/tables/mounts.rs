//! Finds out whether a mount is visible at its point, and what is mounted in it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::Mutex;

use trawl_model::path;
use trawl_model::sync::lock;
use trawl_sys::device::DeviceNumber;
use trawl_sys::mount_table::{self, Mount};

/// The mount table of a namespace (`mountinfo`), read on each request.
#[derive(Debug)]
pub(super) struct MountTable(Mutex<File>);

impl MountTable {
    pub(super) fn new(table: File) -> MountTable {
        MountTable(Mutex::new(table))
    }

    /// Returns the points of all mounts below a point at which a file system on this device is
    /// mounted; `None` if another file system may be visible there.
    pub(super) fn above(
        &self,
        point: &[u8],
        device: DeviceNumber,
    ) -> io::Result<Option<Vec<Vec<u8>>>> {
        let mut text = Vec::new();
        let mut table = lock(&self.0);
        table.rewind()?;
        table.read_to_end(&mut text)?;
        drop(table);
        Ok(below(&text, point, device))
    }
}

/// Returns whether an absolute path is this directory or lies below it.
fn is_within(path: &[u8], directory: &[u8]) -> bool {
    path::is_within(path, directory.strip_suffix(b"/").unwrap_or(directory))
}

fn below(text: &[u8], point: &[u8], device: DeviceNumber) -> Option<Vec<Vec<u8>>> {
    let mounts = mount_table::parse(text).map(|mount| (mount.id, mount));
    let mounts: HashMap<u64, Mount> = mounts.collect();
    let ours = |mount: &&Mount| mount.point == point && mount.device == device;
    let mut ours = mounts.iter().filter(|(_, mount)| ours(mount));
    let (Some((id, _)), None) = (ours.next(), ours.next()) else {
        return None;
    };
    // Only the mounts that it is mounted on may lie on the way to it; any other would hide it.
    let mut way = vec![*id];
    while let Some(mount) = way.last().and_then(|id| mounts.get(id)) {
        if way.contains(&mount.parent) {
            break;
        }
        way.push(mount.parent);
    }
    let hides = |(id, mount): (&u64, &Mount)| is_within(point, &mount.point) && !way.contains(id);
    if mounts.iter().any(hides) {
        return None;
    }
    let is_in = |mount: &&Mount| mount.point != point && is_within(&mount.point, point);
    let inner = mounts.values().filter(is_in);
    Some(inner.map(|mount| mount.point.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_a_mount_or_lies_in_it_is_known() {
        let device = DeviceNumber {
            major: 0,
            minor: 50,
        };
        let below = |more: &str| {
            let text = format!(
                "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /home rw - ext4 /dev/sdb rw\n\
                 9 2 0:50 / /home/u/a\\040b ro - fuse.trawl x ro\n{more}"
            );
            super::below(text.as_bytes(), b"/home/u/a b", device)
        };
        assert_eq!(below(""), Some(Vec::new()));
        // A mount beside it.
        assert_eq!(
            below("10 2 0:51 / /home/u/a rw - tmpfs x rw\n"),
            Some(Vec::new())
        );
        let inner = below("10 9 0:51 / /home/u/a\\040b/in rw - tmpfs x rw\n");
        assert_eq!(inner, Some(vec![b"/home/u/a b/in".to_vec()]));
        for hides in [
            "10 9 0:51 / /home/u/a\\040b rw - tmpfs x rw\n",
            "10 2 0:51 / /home/u rw - tmpfs x rw\n",
            "10 2 0:51 / /home rw - tmpfs x rw\n",
            "10 1 0:51 / / rw - tmpfs x rw\n",
            "10 9 0:50 / /home/u/a\\040b ro - fuse.trawl x ro\n",
        ] {
            assert_eq!(below(hides), None, "{hides}");
        }
        let other = DeviceNumber {
            minor: 51,
            ..device
        };
        assert_eq!(
            super::below(b"1 0 0:50 / / rw - x y z\n", b"/", other),
            None
        );
    }
}
