//! Reading ahead: opening and reading only what is in memory already, asking the kernel to read in
//! the background, and where on its device a file begins.

use std::cell::RefCell;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{Advice, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::ReadWriteFlags;

use crate::error::{Errno, Named, Op, SysError};

/// Number of bytes that [`read_through`] reads at once.
const THROUGH_BYTES: usize = 128 << 10;

/// How the components of a path are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Symbolic links are followed.
    Follow,
    /// A symbolic link anywhere in the path fails with `ELOOP`.
    Refuse,
}

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOCTTY)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// Opens a file for reading, if all that this needs is in the kernel's caches; otherwise returns
/// `None`, without waiting for a device. Opening a FIFO or a device does not block either. The
/// descriptor is in non-blocking mode.
///
/// Kernels before Linux 5.12 always return `None`.
///
/// Source: `RESOLVE_CACHED`, <https://man7.org/linux/man-pages/man2/openat2.2.html>
pub fn open_cached(path: &CStr, links: Links) -> Result<Option<File>, SysError> {
    open_by_cache(path, READ, links)
}

/// Like [`open_cached`], but opens the place in the tree alone (`O_PATH`): the file system's own
/// open function is not called.
pub fn reach_cached(path: &CStr) -> Result<Option<File>, SysError> {
    open_by_cache(path, OFlags::PATH | OFlags::CLOEXEC, Links::Follow)
}

fn open_by_cache(path: &CStr, flags: OFlags, links: Links) -> Result<Option<File>, SysError> {
    let resolve = match links {
        Links::Follow => ResolveFlags::CACHED,
        Links::Refuse => ResolveFlags::CACHED | ResolveFlags::NO_SYMLINKS,
    };
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(errno) => match Errno::from(errno) {
            // Sandboxes answer unknown calls with EPERM; the ordinary open reports the truth.
            Errno::AGAIN | Errno::NOSYS | Errno::INVAL | Errno::PERM => Ok(None),
            errno => Err(SysError::new(Op::Openat, errno)),
        },
    }
}

/// Opens a file for reading; symbolic links are followed. Opening a FIFO or a device does not
/// block. The descriptor is in non-blocking mode.
///
/// Source: <https://man7.org/linux/man-pages/man2/open.2.html>
pub fn open_without_blocking(path: &CStr) -> Result<File, SysError> {
    rustix::fs::openat(CWD, path, READ, Mode::empty())
        .named(Op::Openat)
        .map(File::from)
}

/// Ends the non-blocking mode of a descriptor that was opened for reading by this module.
///
/// Source: `F_SETFL`, <https://man7.org/linux/man-pages/man2/fcntl.2.html>
pub fn let_it_block(file: impl AsFd) -> Result<(), SysError> {
    rustix::fs::fcntl_setfl(file, OFlags::empty()).named(Op::Fcntl)
}

/// Reads from `offset` what is in the page cache, and returns the number of bytes, which is 0 at
/// the end of the file; `None` if the call would wait for a device.
///
/// # Errors
/// Fails with `EOPNOTSUPP` if the file system cannot tell.
///
/// Source: `RWF_NOWAIT`, <https://man7.org/linux/man-pages/man2/preadv2.2.html>
pub fn read_cached(
    file: impl AsFd,
    buffer: &mut [u8],
    offset: u64,
) -> Result<Option<usize>, SysError> {
    let mut parts = [IoSliceMut::new(buffer)];
    match rustix::io::preadv2(file, &mut parts, offset, ReadWriteFlags::NOWAIT) {
        Ok(count) => Ok(Some(count)),
        Err(errno) if Errno::from(errno) == Errno::AGAIN => Ok(None),
        Err(errno) => Err(SysError::new(Op::Preadv2, errno)),
    }
}

/// Returns whether the first `length_bytes` of a file are in the page cache; see [`cached_bytes`].
pub fn is_cached(file: impl AsFd, length_bytes: u64) -> Option<bool> {
    Some(cached_bytes(file, length_bytes)? >= length_bytes)
}

/// Returns how many of the first `length_bytes` of a file are in the page cache, in whole pages, without
/// reading them, so that no access time changes; `None` if the kernel does not say: it is older than
/// Linux 6.5, or the caller may not write the file.
///
/// Source: cachestat(2), `struct cachestat` in `include/uapi/linux/mman.h`
pub fn cached_bytes(file: impl AsFd, length_bytes: u64) -> Option<u64> {
    /// The same number on every architecture.
    const CACHESTAT: libc::c_long = 451;
    let raw = file.as_fd().as_raw_fd();
    let range: [u64; 2] = [0, length_bytes];
    // Pages in the cache, dirty, being written back, evicted, recently evicted.
    let mut counts = [0u64; 5];
    // SAFETY: `raw` stays open as long as `file`; the kernel reads two numbers and writes five.
    let code = unsafe { libc::syscall(CACHESTAT, raw, range.as_ptr(), counts.as_mut_ptr(), 0) };
    // SAFETY: sysconf takes a number and touches no memory.
    let page_bytes = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    (code == 0).then_some(counts[0].saturating_mul(page_bytes))
}

/// Returns the whole content of a file of this size if all of it is in the page cache; `None` if
/// not, or if the file has another size by now.
///
/// # Errors
/// As [`read_cached`].
pub fn whole_if_cached(file: impl AsFd, size_bytes: usize) -> Result<Option<Vec<u8>>, SysError> {
    // One byte more shows that the file has grown.
    let mut bytes: Vec<u8> = Vec::with_capacity(size_bytes + 1);
    let part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: size_bytes + 1,
    };
    let raw = file.as_fd().as_raw_fd();
    // SAFETY: `raw` stays open as long as `file`, and the vector has room for that many bytes.
    let count = unsafe { libc::preadv2(raw, &raw const part, 1, 0, libc::RWF_NOWAIT) };
    match usize::try_from(count) {
        Ok(count) if count == size_bytes => {
            // SAFETY: the kernel has written that many bytes.
            unsafe { bytes.set_len(count) };
            Ok(Some(bytes))
        }
        Ok(_) => Ok(None),
        Err(_) => match SysError::last(Op::Preadv2) {
            error if error.errno == Errno::AGAIN => Ok(None),
            error => Err(error),
        },
    }
}

/// Reads from `offset` until there are `enough` bytes or the file ends, and returns how many there
/// are; the buffer may get more.
///
/// # Errors
/// As pread(2), except for `EINTR`, after which it goes on.
pub fn read_up_to(file: &File, buffer: &mut [u8], offset: u64, enough: usize) -> io::Result<usize> {
    let mut at = 0;
    while at < enough {
        match file.read_at(&mut buffer[at..], offset + at as u64) {
            Ok(0) => break,
            Ok(count) => at += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(at)
}

/// Reads a range and drops what was read, so that it is in the page cache; the file may end earlier.
///
/// # Errors
/// As [`read_up_to`].
pub fn read_through(file: &File, offset: u64, length_bytes: u64) -> io::Result<()> {
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(THROUGH_BYTES, 0);
        let end = offset + length_bytes;
        let mut at = offset;
        while at < end {
            let part =
                usize::try_from(end - at).map_or(THROUGH_BYTES, |left| left.min(THROUGH_BYTES));
            match read_up_to(file, &mut buffer[..part], at, part)? {
                0 => break,
                count => at += count as u64,
            }
        }
        Ok(())
    })
}

/// Has the kernel begin to read this range, and does not wait for it.
///
/// Source: `POSIX_FADV_WILLNEED`, <https://man7.org/linux/man-pages/man2/posix_fadvise.2.html>
pub fn will_need(file: impl AsFd, offset: u64, length_bytes: u64) -> Result<(), SysError> {
    advise(file, offset, length_bytes, Advice::WillNeed)
}

/// Has the kernel drop what it keeps of a file in memory, as far as that is not dirty or mapped.
///
/// Source: `POSIX_FADV_DONTNEED`, <https://man7.org/linux/man-pages/man2/posix_fadvise.2.html>
pub fn drop_cached(file: impl AsFd) -> Result<(), SysError> {
    advise(file, 0, 0, Advice::DontNeed)
}

fn advise(file: impl AsFd, offset: u64, length: u64, advice: Advice) -> Result<(), SysError> {
    rustix::fs::fadvise(file, offset, NonZeroU64::new(length), advice).named(Op::Fadvise)
}

/// `struct fiemap` with room for one `struct fiemap_extent`.
#[repr(C)]
#[derive(Default)]
struct OneExtent {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    logical: u64,
    physical: u64,
    extent_length: u64,
    reserved64: [u64; 2],
    extent_flags: u32,
    extent_reserved: [u32; 3],
}

/// `FS_IOC_FIEMAP`, `_IOWR('f', 11, struct fiemap)` of `linux/fs.h`.
const FIEMAP: libc::c_ulong = 0xC020_660B;

/// `FIEMAP_EXTENT_UNKNOWN` and `FIEMAP_EXTENT_DELALLOC`: the data has no place yet.
const NOWHERE: u32 = 0x2 | 0x4;

/// Returns the byte on its device at which a file's first extent begins; `None` if it has none, or
/// its data has no place yet.
///
/// # Errors
/// Fails with `EOPNOTSUPP` on file systems without extents.
///
/// Source: <https://docs.kernel.org/filesystems/fiemap.html>
pub fn first_extent(file: impl AsFd) -> Result<Option<u64>, SysError> {
    let mut map = OneExtent {
        length: u64::MAX,
        extent_count: 1,
        ..OneExtent::default()
    };
    let raw = file.as_fd().as_raw_fd();
    // SAFETY: `raw` stays open as long as `file`; the kernel writes at most one extent behind the
    // header, for which `map` has room.
    let status = unsafe { libc::ioctl(raw, FIEMAP as _, std::ptr::from_mut(&mut map)) };
    if status != 0 {
        return Err(SysError::last(Op::Fiemap));
    }
    Ok((map.mapped_extents > 0 && map.extent_flags & NOWHERE == 0).then_some(map.physical))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::ffi::OsStrExt;

    fn c_path(path: &std::path::Path) -> std::ffi::CString {
        std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap()
    }

    #[test]
    fn what_was_just_written_is_cached() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"content").unwrap();
        let path = c_path(file.path());
        let Some(opened) = open_cached(&path, Links::Follow).unwrap() else {
            return eprintln!("skipped, because the kernel has no RESOLVE_CACHED");
        };
        let mut first = [0; 4];
        match read_cached(&opened, &mut first, 0) {
            Ok(count) => assert_eq!((count, &first), (Some(4), b"cont")),
            Err(error) => assert_eq!(error.errno, Errno::NOTSUP),
        }
        assert_eq!(
            read_cached(&opened, &mut first, 7).unwrap_or(Some(0)),
            Some(0)
        );
        let_it_block(&opened).unwrap();
        will_need(&opened, 0, 7).unwrap();
        let mut text = String::new();
        { opened }.read_to_string(&mut text).unwrap();
        assert_eq!(text, "content");
        assert!(reach_cached(&path).unwrap().is_some());
    }

    #[test]
    fn links_are_refused_where_that_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), b"x").unwrap();
        std::os::unix::fs::symlink("file", dir.path().join("link")).unwrap();
        let link = c_path(&dir.path().join("link"));
        let refused = open_cached(&link, Links::Refuse);
        assert!(matches!(
            refused,
            Ok(None)
                | Err(SysError {
                    errno: Errno::LOOP,
                    ..
                })
        ));
        assert!(open_cached(&link, Links::Follow).is_ok());
        let gone = open_cached(&c_path(&dir.path().join("gone")), Links::Follow);
        assert!(matches!(
            gone,
            Ok(None)
                | Err(SysError {
                    errno: Errno::NOENT,
                    ..
                })
        ));
    }

    #[test]
    fn a_fifo_without_a_writer_opens_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        let file = open_without_blocking(&c_path(&path)).unwrap();
        let_it_block(&file).unwrap();
        assert_eq!({ file }.read(&mut [0; 1]).unwrap(), 0);
    }

    #[test]
    fn a_file_on_a_disk_begins_somewhere() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 100_000]).unwrap();
        file.as_file().sync_all().unwrap();
        match first_extent(file.as_file()) {
            Ok(place) => assert!(place.is_some_and(|byte| byte > 0)),
            Err(error) => eprintln!("skipped, because {error}"),
        }
        let empty = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(first_extent(empty.as_file()), Ok(None) | Err(_)));
    }
}
