//! Results of stat(2) and statx(2) as the bytes that the kernel writes.

use trawl_model::Meta;

use crate::stat::Time;

/// The result of stat(2). Device numbers are encoded as by makedev(3). Not [`Meta`], because packed
/// records carry any 64-bit number of links, which [`Meta`] cannot hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `st_dev`
    pub dev: u64,
    /// `st_ino`
    pub ino: u64,
    /// `st_nlink`
    pub nlink: u64,
    /// `st_rdev`
    pub rdev: u64,
    /// `st_size`, bytes.
    pub size: u64,
    /// `st_blocks`, 512 bytes each.
    pub blocks: u64,
    /// `st_mode`
    pub mode: u32,
    /// `st_uid`
    pub uid: u32,
    /// `st_gid`
    pub gid: u32,
    /// `st_blksize`, bytes.
    pub blksize: u32,
    /// `st_atim`
    pub atime: Time,
    /// `st_mtim`
    pub mtime: Time,
    /// `st_ctim`
    pub ctime: Time,
}

impl Attributes {
    /// Returns the attributes of an object, as stat(2) would.
    #[must_use]
    pub fn of(meta: &Meta) -> Attributes {
        Attributes {
            dev: meta.dev.as_u64(),
            ino: meta.ino,
            nlink: u64::from(meta.nlink),
            rdev: meta.rdev.as_u64(),
            size: meta.size,
            blocks: meta.blocks,
            mode: meta.mode,
            uid: meta.uid.0,
            gid: meta.gid.0,
            blksize: meta.blksize,
            atime: meta.atime,
            mtime: meta.mtime,
            ctime: meta.ctime,
        }
    }
}

fn bytes_of<T: Copy>(value: &T) -> Vec<u8> {
    let length = size_of::<T>();
    let mut bytes = vec![0; length];
    // SAFETY: both are valid for that length and do not overlap; the structures below have no
    // padding that was not zeroed with them.
    unsafe {
        std::ptr::copy_nonoverlapping(
            std::ptr::from_ref(value).cast::<u8>(),
            bytes.as_mut_ptr(),
            length,
        );
    }
    bytes
}

/// Returns a `struct stat` as bytes.
#[must_use]
pub fn stat_bytes(of: &Attributes) -> Vec<u8> {
    bytes_of(&stat(of))
}

/// Returns the structure that stat(2) would fill.
///
/// Source: <https://man7.org/linux/man-pages/man3/stat.3type.html>
#[must_use]
pub fn stat(of: &Attributes) -> libc::stat {
    // SAFETY: an all-zero `stat` is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    stat.st_dev = of.dev;
    stat.st_ino = of.ino;
    stat.st_nlink = of.nlink as _;
    stat.st_rdev = of.rdev;
    stat.st_size = of.size as _;
    stat.st_blocks = of.blocks as _;
    stat.st_mode = of.mode;
    stat.st_uid = of.uid;
    stat.st_gid = of.gid;
    stat.st_blksize = of.blksize as _;
    (stat.st_atime, stat.st_atime_nsec) = (of.atime.secs, of.atime.nanos.into());
    (stat.st_mtime, stat.st_mtime_nsec) = (of.mtime.secs, of.mtime.nanos.into());
    (stat.st_ctime, stat.st_ctime_nsec) = (of.ctime.secs, of.ctime.nanos.into());
    stat
}

/// Returns a `struct statx` as bytes, with all fields that `struct stat` has.
///
/// Source: <https://man7.org/linux/man-pages/man2/statx.2.html>
#[must_use]
pub fn statx_bytes(of: &Attributes) -> Vec<u8> {
    // SAFETY: an all-zero `statx` is valid.
    let mut statx: libc::statx = unsafe { std::mem::zeroed() };
    let time = |time: Time, to: &mut libc::statx_timestamp| {
        (to.tv_sec, to.tv_nsec) = (time.secs, time.nanos);
    };
    statx.stx_mask = libc::STATX_BASIC_STATS;
    statx.stx_ino = of.ino;
    statx.stx_nlink = of.nlink as u32;
    statx.stx_size = of.size;
    statx.stx_blocks = of.blocks;
    statx.stx_mode = of.mode as u16;
    statx.stx_uid = of.uid;
    statx.stx_gid = of.gid;
    statx.stx_blksize = of.blksize;
    (statx.stx_dev_major, statx.stx_dev_minor) = (libc::major(of.dev), libc::minor(of.dev));
    (statx.stx_rdev_major, statx.stx_rdev_minor) = (libc::major(of.rdev), libc::minor(of.rdev));
    time(of.atime, &mut statx.stx_atime);
    time(of.mtime, &mut statx.stx_mtime);
    time(of.ctime, &mut statx.stx_ctime);
    bytes_of(&statx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn bytes_are_those_of_the_kernel() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let known = file.as_file().metadata().unwrap();
        let time = |secs, nanos: i64| Time {
            secs,
            nanos: nanos as u32,
        };
        let raw = Attributes {
            dev: known.dev(),
            ino: known.ino(),
            nlink: known.nlink(),
            rdev: known.rdev(),
            size: known.size(),
            blocks: known.blocks(),
            mode: known.mode(),
            uid: known.uid(),
            gid: known.gid(),
            blksize: known.blksize() as u32,
            atime: time(known.atime(), known.atime_nsec()),
            mtime: time(known.mtime(), known.mtime_nsec()),
            ctime: time(known.ctime(), known.ctime_nsec()),
        };
        let mut kernel = vec![0u8; size_of::<libc::stat>()];
        let fd = std::os::fd::AsRawFd::as_raw_fd(file.as_file());
        // SAFETY: the buffer has the length that the kernel writes.
        let code = unsafe { libc::syscall(libc::SYS_fstat, fd, kernel.as_mut_ptr()) };
        assert_eq!(code, 0);
        assert_eq!(stat_bytes(&raw), kernel);
        assert_eq!(statx_bytes(&raw).len(), 256);
    }
}
