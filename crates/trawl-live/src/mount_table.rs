//! The kernel's table of mounts: what a file system must be asked for, and when the table is
//! another.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use trawl_model::path;
use trawl_sys::wait::has_news;

use crate::error::{About, LiveError, Result};

const TABLE: &str = "/proc/self/mountinfo";

/// How often a table that changes while it is read is read again.
const TRIES: usize = 16;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Its number; later mounts may get the same.
    pub(crate) id: u64,
    /// That of the mount that it lies on.
    pub(crate) parent: u64,
    /// The device, `major:minor`.
    device: Vec<u8>,
    /// The directory of the file system that is its root.
    pub(crate) root: Vec<u8>,
    /// Where it is, absolute.
    pub(crate) point: Vec<u8>,
    /// The kind of file system.
    pub(crate) kind: Vec<u8>,
    /// What is mounted: a device's path, for instance.
    pub(crate) source: Vec<u8>,
    /// Options of the file system, separated by commas.
    options: Vec<u8>,
}

impl Mount {
    /// The value of an option, unescaped.
    pub(crate) fn option(&self, name: &str) -> Option<Vec<u8>> {
        let mut options = self.options.split(|byte| *byte == b',');
        let found = options.find_map(|option| {
            let value = option.strip_prefix(name.as_bytes())?;
            value.strip_prefix(b"=")
        });
        found.map(<[u8]>::to_vec)
    }

    /// The device, `major:minor`.
    pub(crate) fn device(&self) -> &[u8] {
        &self.device
    }

    /// Whether the file system, not just this mount of it, is read-only.
    pub(crate) fn is_read_only(&self) -> bool {
        let mut options = self.options.split(|byte| *byte == b',');
        options.next() == Some(b"ro")
    }

    /// Whether a look at it may have to wait for another machine or program.
    pub(crate) fn is_remote(&self) -> bool {
        const REMOTE: [&[u8]; 11] = [
            b"nfs", b"cifs", b"smb", b"fuse", b"lustre", b"ceph", b"gpfs", b"9p", b"afs",
            b"autofs", b"beegfs",
        ];
        REMOTE.iter().any(|kind| self.kind.starts_with(kind))
    }

    /// What tells it from others at its place. Options do not: what is there stays the same.
    pub(crate) fn identity(&self) -> (u64, u64, &[u8], &[u8]) {
        (self.id, self.parent, &self.device, &self.root)
    }
}

/// The mount with this id, as `statx` tells it.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html>
pub(crate) fn find(mount_id: u64) -> Result<Option<Mount>> {
    let table = fs::read(TABLE).map_err(unread)?;
    Ok(mounts(&table).find(|mount| mount.id == mount_id))
}

fn unread(source: std::io::Error) -> LiveError {
    LiveError::Read {
        path: PathBuf::from(TABLE).into_os_string().into_encoded_bytes(),
        source,
    }
}

fn mounts(table: &[u8]) -> impl Iterator<Item = Mount> {
    table.split(|byte| *byte == b'\n').filter_map(parse)
}

/// The table of this process, which tells when it is another.
#[derive(Debug)]
pub(crate) struct Table {
    /// Asked whether the table is another, which it says once.
    asked: File,
    /// The same for who waits.
    waited: File,
}

impl Table {
    /// Opens it. What is mounted from now on is news.
    pub(crate) fn open() -> Result<Table> {
        let open = || File::open(TABLE).map_err(unread);
        Ok(Table {
            asked: open()?,
            waited: open()?,
        })
    }

    /// Whether anything was mounted, unmounted or moved since this was asked.
    pub(crate) fn has_changed(&self) -> Result<bool> {
        has_news(&self.asked).about("ask for news of", TABLE.as_bytes())
    }

    /// All mounts, in the order in which they were made, as they were at one moment.
    pub(crate) fn read(&mut self) -> Result<Vec<Mount>> {
        let mut table = Vec::new();
        for _ in 0..TRIES {
            table.clear();
            self.asked.rewind().map_err(unread)?;
            self.asked.read_to_end(&mut table).map_err(unread)?;
            if !self.has_changed()? {
                break;
            }
        }
        Ok(mounts(&table).collect())
    }
}

/// Has news ([`has_news`]) when the table is another, of which it tells whoever waits.
impl AsFd for Table {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waited.as_fd()
    }
}

/// Where something is mounted below a directory, which is absolute without a trailing slash.
///
/// # Errors
/// Where the table cannot be read.
pub fn mounts_below(root: &[u8]) -> Result<Vec<Vec<u8>>> {
    let table = fs::read(TABLE).map_err(unread)?;
    let points = mounts(&table).map(|mount| mount.point);
    let is_below = |point: &Vec<u8>| point != b"/" && point != root && path::is_within(point, root);
    Ok(points.filter(is_below).collect())
}

fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    let (id, parent) = (number()?, number()?);
    let device = fields.next()?.to_vec();
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    fields.find(|field| *field == b"-")?;
    Some(Mount {
        id,
        parent,
        device,
        root,
        point,
        kind: unescape(fields.next()?),
        source: unescape(fields.next()?),
        options: unescape(fields.next()?),
    })
}

/// The kernel writes space, tab, newline, backslash and number sign as `\\ooo`.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let octal = (*first == b'\\')
            .then(|| std::str::from_utf8(after.get(..3)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                plain.push(byte);
                rest = &after[3..];
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_the_manual_says() {
        let line = br"36 35 98:0 /mnt1 /mnt/my\040disk rw,noatime master:1 - overlay none rw,upperdir=/u\134p,nfs_export=on";
        let mount = parse(line).unwrap();
        assert_eq!((mount.id, mount.parent), (36, 35));
        assert_eq!(&mount.point[..], b"/mnt/my disk");
        assert_eq!(
            (&mount.root[..], &mount.kind[..]),
            (&b"/mnt1"[..], &b"overlay"[..])
        );
        assert!(!mount.is_read_only() && !mount.is_remote());
        assert_eq!(mount.option("upperdir").unwrap(), br"/u\p");
        assert_eq!(mount.option("nfs_export").unwrap(), b"on");
        assert_eq!(mount.option("upper"), None);
        assert_eq!(parse(b"36 35 98:0"), None);
    }
}
