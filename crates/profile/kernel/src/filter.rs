//! Which system calls are counted.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::KernelError;

/// Whose system calls are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// Those of a process (by its number), of all its threads, and of all processes that descend
    /// from it now or later. A child counts from its first instruction, also after its parent has
    /// ended.
    Tree(u32),
    /// Those of the processes that are in a control group (its directory) or below it when they make
    /// the call. Needs the unified hierarchy (cgroup2).
    Cgroup(PathBuf),
    /// Those of all processes of the machine.
    Everything,
    /// Those on files of a mounted file system (a directory in it), whichever process makes them.
    /// System calls refuse it: most name no file, and one that takes a path reaches its mount only
    /// while the kernel resolves the path, after the call was counted.
    Mount(PathBuf),
}

/// A filter as the programs know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// `filter` in `bpf/tasks.h`.
    pub(crate) kind: u32,
    pub(crate) root_pid: u32,
    pub(crate) cgroup_id: u64,
    pub(crate) cgroup_level: u32,
    /// The super block of a mount, once it is known.
    pub(crate) mount_super: Option<u64>,
}

const TREE: u32 = 0;
const CGROUP: u32 = 1;
const EVERYTHING: u32 = 2;
/// Only the layer of file-system operations knows it.
pub(crate) const MOUNT: u32 = 3;
/// Inode numbers of the first namespaces: `PROC_PID_INIT_INO`, `PROC_CGROUP_INIT_INO`.
const FIRST_PIDS: u64 = 0xefff_fffc;
const FIRST_CGROUPS: u64 = 0xefff_fffb;
/// `CGROUP2_SUPER_MAGIC`
const CGROUP2: u64 = 0x6367_7270;

impl Filter {
    pub(crate) fn selection(&self) -> Result<Selection, KernelError> {
        match self {
            Filter::Tree(pid) => match Path::new("/proc").join(pid.to_string()).exists() {
                true => Ok(Selection {
                    kind: TREE,
                    root_pid: *pid,
                    ..Selection::default()
                }),
                false => Err(KernelError::NoProcess(*pid)),
            },
            Filter::Everything => {
                require_first_pids("all processes")?;
                Ok(Selection {
                    kind: EVERYTHING,
                    ..Selection::default()
                })
            }
            Filter::Cgroup(path) => cgroup(path),
            Filter::Mount(_) => Err(KernelError::Filter {
                filter: "mount",
                cause: "most of them name no file, and paths are resolved after the call has begun",
            }),
        }
    }
}

impl Filter {
    /// Returns the filter of a layer that knows the file of each operation.
    pub(crate) fn selection_of_files(&self) -> Result<Selection, KernelError> {
        match self {
            Filter::Mount(_) => {
                require_first_pids("mount")?;
                Ok(Selection {
                    kind: MOUNT,
                    ..Selection::default()
                })
            }
            _ => self.selection(),
        }
    }
}

/// Calls in flight are found by walking the tasks that this process sees.
fn require_first_pids(filter: &'static str) -> Result<(), KernelError> {
    match is_namespace("pid", FIRST_PIDS) {
        true => Ok(()),
        false => Err(KernelError::Filter {
            filter,
            cause: "this process sees only the processes of its own PID namespace",
        }),
    }
}

fn is_namespace(kind: &str, number: u64) -> bool {
    let found = Path::new("/proc/self/ns").join(kind).metadata();
    found.is_ok_and(|found| found.ino() == number)
}

fn cgroup(path: &Path) -> Result<Selection, KernelError> {
    let failed = |source| KernelError::Cgroup {
        path: path.to_owned(),
        source,
    };
    require_first_pids("control group")?;
    if !is_namespace("cgroup", FIRST_CGROUPS) {
        return Err(KernelError::Filter {
            filter: "control group",
            cause: "this process is in a cgroup namespace and does not see how deep its groups lie",
        });
    }
    let path = path.canonicalize().map_err(failed)?;
    let found = path.metadata().map_err(failed)?;
    let magic = trawl_sys::filesystem::of_path(&path).map(|found| found.system.magic);
    if magic != Ok(CGROUP2) {
        return Err(KernelError::Filter {
            filter: "control group",
            cause: "the directory is not in the unified hierarchy (cgroup2)",
        });
    }
    let is_same_mount = |above: &&Path| {
        above
            .metadata()
            .is_ok_and(|above| above.dev() == found.dev())
    };
    let level = path.ancestors().skip(1).take_while(is_same_mount).count();
    Ok(Selection {
        kind: CGROUP,
        cgroup_id: found.ino(),
        cgroup_level: u32::try_from(level).unwrap_or(u32::MAX),
        ..Selection::default()
    })
}
