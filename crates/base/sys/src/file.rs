//! Operations for writers of files: durable writes, atomic renames, links.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags};

use crate::error::{Named, Op, SysError};
use crate::stat::{Stat, stat_fd};

/// Writes a file's data and metadata to the device, or a directory's entries.
///
/// Source: <https://man7.org/linux/man-pages/man2/fsync.2.html>
pub fn sync(fd: impl AsFd) -> Result<(), SysError> {
    rustix::fs::fsync(fd).named(Op::Fsync)
}

/// Writes everything in the file system of `fd` to the device; reports write errors since Linux
/// 5.8.
///
/// Source: <https://man7.org/linux/man-pages/man2/syncfs.2.html>
pub fn sync_filesystem(fd: impl AsFd) -> Result<(), SysError> {
    rustix::fs::syncfs(fd).named(Op::Syncfs)
}

/// Like [`locate`] from the working directory or `/`; no component of the path may be a symbolic link.
///
/// Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
pub fn locate_without_links(path: &CStr) -> Result<std::os::fd::OwnedFd, SysError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve).named(Op::Openat)
}

/// Opens a file of any type as a place only (`O_PATH`), without following a symbolic link at the end:
/// neither its content nor a device is touched.
///
/// Source: <https://man7.org/linux/man-pages/man2/open.2.html>
pub fn locate(parent: impl AsFd, path: &CStr) -> Result<std::os::fd::OwnedFd, SysError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, path, flags, Mode::empty()).named(Op::Openat)
}

/// Opens the file that a path leads to, of any type, as a place only (`O_PATH`). Neither its content nor
/// a device is touched. A link at the end is followed.
///
/// # Errors
/// Fails if the path leads to nothing that the caller can reach.
///
/// Source: <https://man7.org/linux/man-pages/man2/open.2.html>
pub fn place(path: &CStr) -> Result<std::os::fd::OwnedFd, SysError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).named(Op::Openat)
}

/// Returns the attributes of the file that a path leads to, and the file's path without links and
/// dots as the kernel shows it. Neither its content nor a device is touched. A link at the end is
/// followed.
///
/// Source: `O_PATH`, <https://man7.org/linux/man-pages/man2/open.2.html>
///
/// # Errors
/// Returns the errors of open(2) and statx(2).
pub fn found_at(path: &CStr) -> Result<(Stat, Vec<u8>), SysError> {
    let file = place(path)?;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let place = rustix::fs::readlink(link, Vec::new()).named(Op::Readlinkat)?;
    Ok((stat_fd(&file)?, place.into_bytes()))
}

/// Creates an anonymous in-memory file, open for reading and writing; it disappears when it is
/// closed.
///
/// Source: <https://man7.org/linux/man-pages/man2/memfd_create.2.html>
pub fn nowhere(name: &CStr) -> Result<std::fs::File, SysError> {
    let fd = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC);
    fd.map(std::fs::File::from).named(Op::MemfdCreate)
}

/// Creates an anonymous in-memory file with these bytes, at offset 0, that nobody can change any
/// more.
///
/// Source: <https://man7.org/linux/man-pages/man2/memfd_create.2.html>,
/// <https://man7.org/linux/man-pages/man2/F_ADD_SEALS.2const.html>
///
/// # Errors
/// Fails if there are too many descriptors or too little memory.
pub fn sealed(name: &CStr, bytes: &[u8]) -> Result<std::fs::File, SysError> {
    use rustix::fs::{MemfdFlags, SealFlags};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(name, flags).named(Op::MemfdCreate)?;
    let mut written = 0;
    while written < bytes.len() {
        let count = rustix::io::pwrite(&file, &bytes[written..], written as u64);
        written += count.named(Op::Write)?;
    }
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals).named(Op::Fcntl)?;
    Ok(file.into())
}

/// Creates an anonymous in-memory file of this size, filled with zeroes, whose size nobody can
/// change any more: a mapping of it stays valid whatever other processes do.
///
/// Source: <https://man7.org/linux/man-pages/man2/memfd_create.2.html>,
/// <https://man7.org/linux/man-pages/man2/F_ADD_SEALS.2const.html>
///
/// # Errors
/// Fails if there are too many descriptors.
pub fn nowhere_of_size(name: &CStr, bytes: u64) -> Result<std::fs::File, SysError> {
    use rustix::fs::{MemfdFlags, SealFlags};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(name, flags).named(Op::MemfdCreate)?;
    rustix::fs::ftruncate(&file, bytes).named(Op::Write)?;
    let seals = SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals).named(Op::Fcntl)?;
    Ok(file.into())
}

/// Opens a file for reading. No component of the path may be a symbolic link; opening a FIFO or a
/// device does not block.
///
/// Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
pub fn open_for_reading(path: &CStr) -> Result<std::fs::File, SysError> {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let file = rustix::fs::openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve);
    file.map(std::fs::File::from).named(Op::Openat)
}

/// Opens the content of a file for reading, relative to an open directory. Opening a FIFO or a device
/// does not block.
///
/// Source: <https://man7.org/linux/man-pages/man2/open.2.html>
pub fn open_content(
    parent: impl AsFd,
    path: &CStr,
    links: crate::directory::Links,
) -> Result<std::fs::File, SysError> {
    let mut flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if links == crate::directory::Links::Refused {
        flags |= OFlags::NOFOLLOW;
    }
    let file = rustix::fs::openat(parent, path, flags, Mode::empty());
    file.map(std::fs::File::from).named(Op::Openat)
}

/// Opens a file for writing, without changing it. Opening a FIFO or a device does not block.
///
/// Source: <https://man7.org/linux/man-pages/man2/open.2.html>
pub fn open_for_writing(path: &CStr) -> Result<std::fs::File, SysError> {
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty());
    file.map(std::fs::File::from).named(Op::Openat)
}

/// Returns another descriptor of an open file, which other programs do not inherit.
///
/// Source: `F_DUPFD_CLOEXEC`, <https://man7.org/linux/man-pages/man2/F_DUPFD_CLOEXEC.2const.html>
///
/// # Errors
/// Fails with `EBADF` if no file is open under this number.
pub fn duplicate(number: std::os::fd::RawFd) -> Result<std::os::fd::OwnedFd, SysError> {
    // SAFETY: the call takes a number, and checks that a file is open under it.
    let fd = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    if fd < 0 {
        return Err(SysError::last(Op::Fcntl));
    }
    // SAFETY: the call returned a new descriptor that nothing else owns.
    Ok(unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) })
}

/// Returns whether an open file was opened for writing.
///
/// Source: `F_GETFL`, <https://man7.org/linux/man-pages/man2/F_GETFL.2const.html>
///
/// # Errors
/// Fails with `EBADF` if the descriptor is not open.
pub fn is_open_for_writing(file: impl AsFd) -> Result<bool, SysError> {
    let flags = rustix::fs::fcntl_getfl(file).named(Op::Fcntl)?;
    let access = flags & OFlags::RWMODE;
    Ok(!flags.contains(OFlags::PATH) && (access == OFlags::WRONLY || access == OFlags::RDWR))
}

/// Asks the kernel not to update a file's access time when it is read through this descriptor. Does
/// nothing where that is not allowed.
///
/// Source: `O_NOATIME`, <https://man7.org/linux/man-pages/man2/F_SETFL.2const.html>
pub fn keep_access_time(file: impl AsFd) {
    if let Ok(flags) = rustix::fs::fcntl_getfl(&file) {
        let _ = rustix::fs::fcntl_setfl(&file, flags | OFlags::NOATIME);
    }
}

/// Behaviour of a rename if the new name exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Replaces it atomically.
    Replace,
    /// Fails with `EEXIST`.
    Keep,
    /// Swaps the two names atomically.
    Exchange,
}

/// Creates a file without a name, open for reading and writing, that disappears with its last
/// descriptor.
///
/// Uses `O_TMPFILE`; fails with `ENOTSUP` or `EISDIR` if the file system does not support it.
///
/// Source: <https://man7.org/linux/man-pages/man2/open.2.html>
pub fn unnamed_temporary(directory: &std::path::Path) -> Result<std::fs::File, SysError> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC | OFlags::EXCL;
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::openat(rustix::fs::CWD, directory, flags, mode)
        .named(Op::Openat)
        .map(std::fs::File::from)
}

/// Renames `old` in one directory to `new` in another of the same file system.
///
/// Source: <https://man7.org/linux/man-pages/man2/renameat2.2.html>
pub fn rename(
    old_directory: impl AsFd,
    old: &CStr,
    new_directory: impl AsFd,
    new: &CStr,
    existing: Existing,
) -> Result<(), SysError> {
    let flags = match existing {
        Existing::Replace => RenameFlags::empty(),
        Existing::Keep => RenameFlags::NOREPLACE,
        Existing::Exchange => RenameFlags::EXCHANGE,
    };
    rustix::fs::renameat_with(old_directory, old, new_directory, new, flags).named(Op::Renameat2)
}

/// Removes the file (not directory) `name`.
///
/// Source: <https://man7.org/linux/man-pages/man2/unlink.2.html>
pub fn remove_file(directory: impl AsFd, name: &CStr) -> Result<(), SysError> {
    rustix::fs::unlinkat(directory, name, AtFlags::empty()).named(Op::Unlinkat)
}

/// Removes the empty directory `name`.
///
/// Source: <https://man7.org/linux/man-pages/man2/unlink.2.html>
pub fn remove_directory(directory: impl AsFd, name: &CStr) -> Result<(), SysError> {
    rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR).named(Op::Unlinkat)
}

/// Creates `new` as a further name of the file `old`; a symbolic link is itself linked.
///
/// Source: <https://man7.org/linux/man-pages/man2/link.2.html>
pub fn hard_link(
    old_directory: impl AsFd,
    old: &CStr,
    new_directory: impl AsFd,
    new: &CStr,
) -> Result<(), SysError> {
    rustix::fs::linkat(old_directory, old, new_directory, new, AtFlags::empty()).named(Op::Linkat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Errno;
    use std::fs::File;

    #[test]
    fn a_fixed_size_stays() {
        use std::os::unix::fs::FileExt;
        let file = nowhere_of_size(c"test", 5000).unwrap();
        file.set_len(4999).unwrap_err();
        file.set_len(5001).unwrap_err();
        file.set_len(5000).unwrap();
        file.write_all_at(b"end", 4997).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 5000);
    }

    #[test]
    fn sealed_bytes_stay() {
        use std::io::{Read, Write};
        for size in [0, 1, 3 << 20] {
            let bytes = vec![7; size];
            let mut file = sealed(c"test", &bytes).unwrap();
            let mut read = Vec::new();
            file.read_to_end(&mut read).unwrap();
            assert!(read == bytes);
            assert!(file.write(b"x").is_err() && file.set_len(size as u64 + 1).is_err());
        }
    }

    #[test]
    fn names_come_and_go() {
        let dir = tempfile::tempdir().unwrap();
        let fd = File::open(dir.path()).unwrap();
        std::fs::write(dir.path().join("a"), b"a").unwrap();
        hard_link(&fd, c"a", &fd, c"b").unwrap();
        let kept = rename(&fd, c"a", &fd, c"b", Existing::Keep);
        assert_eq!(kept.unwrap_err().errno, Errno::EXIST);
        std::fs::create_dir(dir.path().join("d")).unwrap();
        rename(&fd, c"a", &fd, c"d", Existing::Exchange).unwrap();
        remove_directory(&fd, c"a").unwrap();
        remove_file(&fd, c"b").unwrap();
        remove_file(&fd, c"d").unwrap();
        sync(&fd).unwrap();
        sync_filesystem(&fd).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
