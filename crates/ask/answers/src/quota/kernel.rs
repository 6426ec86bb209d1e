//! The kernel as a source of quotas.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

use trawl_sys::filesystem;
use trawl_sys::mount_table::{self, Mount};
use trawl_sys::quota::{self, Kind, Quota};
use trawl_sys::stat::{Stat, stat_fd};
use trawl_sys::{Errno, Op, OwnedFd, SysError, file, identity};

use super::{FileSystem, Source};

/// The kernel.
#[derive(Debug)]
pub struct Kernel {
    mounts: Vec<Mount>,
}

impl Kernel {
    /// Reads the table of mounts. Without it, a path takes the place of its mount point.
    pub fn new() -> Kernel {
        Kernel {
            mounts: mount_table::read().unwrap_or_default(),
        }
    }

    /// Returns the mount of a file; the id of a mount is unknown before Linux 5.8.
    fn mount(&self, stat: &Stat) -> Option<&Mount> {
        let mut mounts = self.mounts.iter().rev();
        match stat.mnt_id {
            0 => mounts.find(|mount| mount.device == stat.dev),
            id => mounts.find(|mount| mount.id == id),
        }
    }
}

impl Default for Kernel {
    fn default() -> Kernel {
        Kernel::new()
    }
}

impl Source for Kernel {
    type Place = OwnedFd;

    fn is_supported(&self) -> bool {
        quota::is_supported()
    }

    fn open(&self, path: &OsStr) -> Result<(FileSystem, OwnedFd), SysError> {
        let name = CString::new(path.as_bytes());
        let name = name.map_err(|_| SysError::new(Op::Openat, Errno::INVAL))?;
        let place = file::place(&name)?;
        let stat = stat_fd(&place)?;
        let mount = self.mount(&stat);
        let system = FileSystem {
            mount: mount.map_or_else(|| path.as_bytes().to_vec(), |mount| mount.point.clone()),
            kind: match mount {
                Some(mount) => mount.kind.clone(),
                None => name_of(&place)?.as_bytes().to_vec(),
            },
            device: stat.dev,
        };
        Ok((system, place))
    }

    fn is_kept(&self, place: &OwnedFd, kind: Kind) -> Result<bool, SysError> {
        quota::is_kept(place, kind)
    }

    fn of_id(&self, place: &OwnedFd, kind: Kind, id: u32) -> Result<Option<Quota>, SysError> {
        quota::of_id(place, kind, id)
    }

    fn next_id(&self, place: &OwnedFd, kind: Kind, id: u32) -> Result<Option<Quota>, SysError> {
        quota::from_id(place, kind, id)
    }

    fn own(&self, kind: Kind) -> Result<Vec<u32>, SysError> {
        Ok(match kind {
            Kind::User => vec![identity::effective_uid()],
            Kind::Group => {
                let mut groups: BTreeSet<u32> = identity::groups()?.into_iter().collect();
                groups.insert(identity::effective_gid());
                groups.into_iter().collect()
            }
            // The kernel shows nobody the quota of a project by their ids.
            Kind::Project => Vec::new(),
        })
    }
}

fn name_of(place: &OwnedFd) -> Result<&'static str, SysError> {
    let system = filesystem::of_fd(place)?;
    Ok(filesystem::name(system.magic).unwrap_or("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota::{Remark, quotas};

    #[test]
    fn proc_is_found_in_the_table_of_mounts_and_keeps_no_quotas() {
        let kernel = Kernel::new();
        let (system, _) = kernel.open(OsStr::new("/proc/self")).unwrap();
        assert_eq!(
            (&system.mount[..], &system.kind[..]),
            (&b"/proc"[..], &b"proc"[..])
        );
        let found = quotas(&kernel, &["/proc/self".into(), "/proc".into()]);
        if kernel.is_supported() {
            assert_eq!(found.remarks, [Remark::none_of(&system)]);
        }
        assert!(found.entries.is_empty());
    }

    #[test]
    fn a_path_that_is_not_there_is_named() {
        let found = quotas(&Kernel::new(), &["/proc/nowhere".into(), "/a\0b".into()]);
        let said: Vec<String> = found.remarks.iter().map(ToString::to_string).collect();
        if quota::is_supported() {
            assert!(
                said[0].starts_with("cannot reach /proc/nowhere: no such file"),
                "{said:?}"
            );
            assert_eq!(said.len(), 2);
        }
        assert!(found.is_incomplete());
    }
}
