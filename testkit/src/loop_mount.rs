//! Provides a file system of a given kind and size for one test: full disks, limits, and kinds that
//! the machine's own file system does not have.
//!
//! It needs root and the right to mount, and reports if they are missing. It is always unmounted,
//! also when the test fails.

use std::fmt;
use std::path::Path;
use std::process::Command;

use crate::oracle::{command, run};
use crate::scratch::Scratch;
use crate::skip::{Skip, without_program, without_root};

/// Kinds of file systems that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// At least about 1 MiB.
    Ext4,
    /// At least 300 MiB (sparse).
    Xfs,
    /// At least about 110 MiB (sparse).
    Btrfs,
    /// In memory; any size.
    Tmpfs,
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Tmpfs => "tmpfs",
        })
    }
}

/// Maximum number of attempts to copy a disk in use without a write in between.
const TRIES: usize = 100;

/// A mounted file system, empty except for its kind's own entries.
#[derive(Debug)]
pub struct LoopMount {
    // Unmounted in `drop`, before the directories are removed.
    place: Scratch,
}

impl LoopMount {
    /// Makes and mounts a file system. The root directory belongs to root, mode 0755.
    pub fn new(kind: FileSystem, size_bytes: u64) -> Result<Self, Skip> {
        let what = format!("a {kind} file system of {size_bytes} bytes");
        let mkfs = format!("mkfs.{kind}");
        if let Some(skip) = without_root(&what) {
            return Err(skip);
        }
        if kind != FileSystem::Tmpfs
            && let Some(skip) = without_program(&what, &mkfs)
        {
            return Err(skip);
        }
        let mount = Self {
            place: Scratch::new("mount"),
        };
        std::fs::create_dir(mount.path()).map_err(|error| Skip::new(&what, error))?;
        if kind == FileSystem::Tmpfs {
            let size = format!("size={size_bytes},mode=0755");
            attempt(
                &what,
                command("mount")
                    .args(["-t", "tmpfs", "-o", &size, "trawl-test"])
                    .arg(mount.path()),
            )?;
            return Ok(mount);
        }
        let image = mount.place.join("image");
        let file = std::fs::File::create(&image).map_err(|error| Skip::new(&what, error))?;
        file.set_len(size_bytes)
            .map_err(|error| Skip::new(&what, error))?;
        attempt(&what, superuser(&mkfs).args(make_options(kind)).arg(&image))?;
        attempt(
            &what,
            command("mount")
                .args(["-o", "loop"])
                .arg(&image)
                .arg(mount.path()),
        )?;
        Ok(mount)
    }

    /// Returns a copy of an ext4 in the state that a power failure would leave now: with the
    /// content of the disk, without that still in memory. The kernel must not write to the disk
    /// while it is copied.
    pub fn after_power_cut(&self) -> Result<Self, Skip> {
        let what = "a copy of a disk in use";
        let copy = Self {
            place: Scratch::new("mount"),
        };
        std::fs::create_dir(copy.path()).map_err(|error| Skip::new(what, error))?;
        let (from, to) = (self.place.join("image"), copy.place.join("image"));
        let written = || {
            std::fs::metadata(&from)
                .and_then(|found| found.modified())
                .ok()
        };
        for _ in 0..TRIES {
            let before = written();
            attempt(
                what,
                command("cp").arg("--sparse=always").args([&from, &to]),
            )?;
            // Writes during the copy would make a state that the disk never had.
            if written() == before {
                let places = [to, copy.path()];
                attempt(what, command("mount").args(["-o", "loop"]).args(places))?;
                return Ok(copy);
            }
        }
        Err(Skip::new(what, "it is written to all the time"))
    }

    /// Unmounts it and mounts it again, perhaps on another loop device. Not for a tmpfs, which
    /// would be empty.
    pub fn mount_again(&self) -> Result<(), Skip> {
        let what = "a file system that is mounted again";
        attempt(what, command("umount").arg(self.path()))?;
        let places = [self.place.join("image"), self.path()];
        attempt(what, command("mount").args(["-o", "loop"]).args(places))
    }

    /// Returns its mount point.
    pub fn path(&self) -> std::path::PathBuf {
        self.place.join("root")
    }

    /// Remounts it read-only: every write then fails with `EROFS`.
    pub fn make_read_only(&self) -> Result<(), Skip> {
        attempt(
            "a read-only mount",
            command("mount").args(["-o", "remount,ro"]).arg(self.path()),
        )
    }
}

/// Finds a superuser's program, whose directory is not in every `PATH`.
fn superuser(program: &str) -> Command {
    let places = [Path::new("/usr/sbin"), Path::new("/sbin")];
    let found = places
        .iter()
        .map(|place| place.join(program))
        .find(|path| path.is_file());
    found.map_or_else(|| command(program), command)
}

fn make_options(kind: FileSystem) -> &'static [&'static str] {
    match kind {
        FileSystem::Ext4 => &["-q", "-F", "-m", "0"],
        FileSystem::Xfs | FileSystem::Btrfs => &["-q", "-f"],
        FileSystem::Tmpfs => &[],
    }
}

fn attempt(what: &str, command: &mut Command) -> Result<(), Skip> {
    let ran = run(command);
    if ran.code == Some(0) {
        Ok(())
    } else {
        Err(Skip::new(what, ran.to_string().replace('\n', " ")))
    }
}

impl Drop for LoopMount {
    fn drop(&mut self) {
        let path = self.path();
        let plain = run(command("umount").arg(&path));
        if plain.code != Some(0) {
            // Something still has it open, or it was never mounted: once detached, it disappears
            // with its last user.
            run(command("umount").arg("--lazy").arg(&path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    const MIB: u64 = 1 << 20;

    fn is_mounted(path: &Path) -> bool {
        let table = fs::read("/proc/self/mountinfo").expect("a table of mounts");
        // Other processes may mount elsewhere.
        String::from_utf8_lossy(&table)
            .lines()
            .any(|line| line.split(' ').nth(4) == path.to_str())
    }

    #[test]
    fn each_kind_is_mounted_and_goes_away() {
        for (kind, size_bytes) in [
            (FileSystem::Ext4, 8 * MIB),
            (FileSystem::Xfs, 320 * MIB),
            (FileSystem::Btrfs, 128 * MIB),
            (FileSystem::Tmpfs, MIB),
        ] {
            let mount = match LoopMount::new(kind, size_bytes) {
                Ok(mount) => mount,
                Err(skip) => {
                    skip.say();
                    continue;
                }
            };
            let path = mount.path();
            assert!(is_mounted(&path), "{kind}");
            fs::write(path.join("file"), "content").expect("it can be written");
            let held_open = fs::File::open(path.join("file")).expect("and read");
            drop(mount);
            drop(held_open);
            assert!(!is_mounted(&path), "{kind}");
            assert!(!path.exists(), "{kind}: the mount point is gone");
        }
    }

    #[test]
    fn a_small_one_gets_full_and_a_read_only_one_refuses() {
        let mount = match LoopMount::new(FileSystem::Ext4, 2 * MIB) {
            Ok(mount) => mount,
            Err(skip) => return skip.say(),
        };
        let mut file = fs::File::create(mount.path().join("big")).expect("a file");
        let full = (0..4 * 1024)
            .find_map(|_| file.write_all(&[7; 1024]).err())
            .expect("2 MiB cannot hold 4");
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
        drop(file);
        mount.make_read_only().expect("nothing is open");
        let refused = fs::write(mount.path().join("other"), "").expect_err("read-only");
        assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    }
}
