//! The devices whose requests are counted.
//!
//! Source: <https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block>

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trawl_sys::mount_table::{self, Mount};

use crate::error::KernelError;
use crate::filter::Filter;

/// Slots for devices that appear after the layer was attached.
const SPARE: u32 = 6;
/// More devices share the last slot.
const SLOTS_MAX: u32 = 256;
/// Deepest stack of devices (LVM on RAID on partitions …) that is followed.
const DEPTH_MAX: u32 = 16;

/// The selected devices.
pub(crate) enum Disks {
    /// All, of which the machine has this many now.
    All(u32),
    /// These, by the kernel's number.
    These(BTreeMap<u32, String>),
}

impl Disks {
    pub(crate) fn selected_by(filter: &Filter) -> Result<Disks, KernelError> {
        match filter {
            Filter::Everything => Ok(Disks::All(disks_with_room())),
            Filter::Mount(path) => below_mount(path).map(Disks::These),
            Filter::Tree(_) => Err(refused("process")),
            Filter::Cgroup(_) => Err(refused("control group")),
        }
    }

    /// Slots with the last one, for devices that have none.
    pub(crate) fn slots(&self) -> u32 {
        let own = match self {
            Disks::All(count) => count.saturating_add(SPARE),
            Disks::These(all) => u32::try_from(all.len()).unwrap_or(u32::MAX),
        };
        own.saturating_add(1).clamp(2, SLOTS_MAX)
    }
}

fn refused(filter: &'static str) -> KernelError {
    KernelError::RequestFilter {
        filter,
        cause: "most writes are issued later, by threads of the kernel for everybody; record \
                the whole machine (--all), or the devices of a mount"
            .to_owned(),
    }
}

/// Devices of size 0 do nothing: unused loop devices, drives without a medium.
fn disks_with_room() -> u32 {
    let disks = std::fs::read_dir("/sys/block").into_iter().flatten();
    let has_room = |disk: &PathBuf| {
        let size = std::fs::read_to_string(disk.join("size"));
        size.is_ok_and(|size| size.trim() != "0")
    };
    let with_room = disks.flatten().map(|disk| disk.path()).filter(has_room);
    u32::try_from(with_room.count()).unwrap_or(u32::MAX)
}

fn below_mount(path: &Path) -> Result<BTreeMap<u32, String>, KernelError> {
    let failed = |source| KernelError::Mount {
        path: path.to_owned(),
        source,
    };
    let full = path.canonicalize().map_err(failed)?;
    let mounts = mount_table::read().map_err(failed)?;
    let contains =
        |mount: &&Mount| full.starts_with(Path::new(std::ffi::OsStr::from_bytes(&mount.point)));
    // Of mounts on the same directory, the last one is seen.
    let mount = mounts
        .iter()
        .filter(contains)
        .max_by_key(|mount| mount.point.len());
    let mut disks = BTreeMap::new();
    for device in mount.map(devices_of).unwrap_or_default() {
        add_disks(&device, DEPTH_MAX, &mut disks).map_err(failed)?;
    }
    match disks.is_empty() {
        false => Ok(disks),
        true => Err(KernelError::RequestFilter {
            filter: "mount",
            cause: format!("no block device is below {}", path.display()),
        }),
    }
}

/// The directories below `/sys` of the devices that a file system is made on.
fn devices_of(mount: &Mount) -> Vec<PathBuf> {
    let source = Path::new(std::ffi::OsStr::from_bytes(&mount.source));
    let own = by_number(mount.device.major, mount.device.minor);
    let named = || {
        let number = source.metadata().ok()?.rdev();
        by_number(rustix::fs::major(number), rustix::fs::minor(number))
    };
    let Some(device) = own.or_else(named) else {
        return Vec::new();
    };
    match mount.kind == b"btrfs" {
        true => members_of_btrfs(&device).unwrap_or_else(|| vec![device]),
        false => vec![device],
    }
}

fn by_number(major: u32, minor: u32) -> Option<PathBuf> {
    let path = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    path.canonicalize().ok()
}

/// The devices of the btrfs that has this one.
fn members_of_btrfs(device: &Path) -> Option<Vec<PathBuf>> {
    for system in std::fs::read_dir("/sys/fs/btrfs").ok()?.flatten() {
        let members = std::fs::read_dir(system.path().join("devices"));
        let members = members.into_iter().flatten().flatten();
        let members: Vec<PathBuf> = members
            .filter_map(|member| member.path().canonicalize().ok())
            .collect();
        if members.iter().any(|member| member == device) {
            return Some(members);
        }
    }
    None
}

/// Adds a device's disk; for a device that is made of others, their disks.
fn add_disks(device: &Path, depth: u32, disks: &mut BTreeMap<u32, String>) -> io::Result<()> {
    let is_partition = device.join("partition").exists();
    let disk = match device.parent() {
        Some(parent) if is_partition => parent,
        _ => device,
    };
    let lower = std::fs::read_dir(disk.join("slaves"));
    let lower: Vec<_> = lower.into_iter().flatten().flatten().collect();
    if depth > 0 {
        for one in &lower {
            add_disks(&one.path().canonicalize()?, depth - 1, disks)?;
        }
    }
    let number = std::fs::read_to_string(disk.join("dev"))?;
    let number = parse_number(&number).ok_or(io::ErrorKind::InvalidData)?;
    let name = disk.file_name().unwrap_or_default().to_string_lossy();
    // Some devices that are made of others have requests of their own.
    disks.insert(number, name.replace('!', "/"));
    Ok(())
}

/// `MAJOR:MINOR` as the kernel's own number, which the programs use.
fn parse_number(text: &str) -> Option<u32> {
    let (major, minor) = text.trim().split_once(':')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some((major << 20) | minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `MKDEV` of `include/linux/kdev_t.h`: the major number above 20 bits of the minor one.
    #[test]
    fn numbers_are_the_kernels() {
        assert_eq!(parse_number("254:1\n"), Some(0x0fe0_0001));
        assert_eq!(parse_number("7:1048575"), Some(0x007f_ffff));
        assert_eq!(parse_number("7:1048576"), None);
        assert_eq!(parse_number("7"), None);
    }

    #[test]
    fn there_is_a_slot_for_devices_without_one() {
        assert_eq!(Disks::All(2).slots(), 2 + SPARE + 1);
        assert_eq!(Disks::All(u32::MAX).slots(), SLOTS_MAX);
        assert_eq!(Disks::These(BTreeMap::from([(1, "a".into())])).slots(), 2);
    }

    #[test]
    fn processes_cannot_be_selected() {
        let refused = Disks::selected_by(&Filter::Tree(1)).err().unwrap();
        assert!(refused.to_string().contains("by threads of the kernel"));
    }
}
