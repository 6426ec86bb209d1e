//! The names of a directory, or of a fragment of one, read and sorted.
//!
//! Names are stored one after another in one buffer, each terminated by a NUL so that it can be
//! passed to the kernel directly. Sorting moves fixed-size keys with the first eight bytes of each
//! name, which decide most comparisons.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use trawl_sys::directory::Reader;
use trawl_sys::{Errno, SysError};

/// Maximum number of entries in one batch.
pub(crate) const FRAGMENT_ENTRIES: usize = 65_536;

#[derive(Clone, Copy, Debug)]
struct Key {
    prefix: u64,
    ino: u64,
    start: u32,
    /// Length without the NUL.
    len: u32,
}

/// The names of one fragment.
#[derive(Debug, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    keys: Vec<Key>,
    by_inode: Vec<u32>,
}

/// The reason why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The fragment is full.
    Full,
    /// The directory has no more entries.
    Done,
    /// Reading the directory failed.
    Failed(SysError),
}

impl Names {
    /// Reads the next fragment, sorted by name.
    pub(crate) fn read(&mut self, reader: &mut Reader<'_, BorrowedFd<'_>>) -> End {
        self.bytes.clear();
        self.keys.clear();
        let end = self.fill(reader);
        self.sort();
        end
    }

    /// Uses these names, sorted, instead of reading a directory.
    pub(crate) fn set<'n>(&mut self, names: impl Iterator<Item = &'n CStr>) {
        self.bytes.clear();
        self.keys.clear();
        for name in names {
            // Their inode numbers are unknown.
            self.push(name, 0);
        }
        self.sort();
    }

    fn fill(&mut self, reader: &mut Reader<'_, BorrowedFd<'_>>) -> End {
        while self.keys.len() < FRAGMENT_ENTRIES {
            match reader.next() {
                None => return End::Done,
                Some(Err(e)) if e.errno == Errno::INTR => {}
                Some(Err(e)) => return End::Failed(e),
                Some(Ok(entry)) if entry.is_dot() => {}
                Some(Ok(entry)) => self.push(entry.name(), entry.ino()),
            }
        }
        End::Full
    }

    fn push(&mut self, name: &CStr, ino: u64) {
        // 65,536 names of a few KiB at most: far below 4 GiB.
        let (start, len) = (self.bytes.len() as u32, name.to_bytes().len() as u32);
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
        self.keys.push(Key {
            prefix: prefix(name.to_bytes()),
            ino,
            start,
            len,
        });
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let tail = |key: &Key| {
            let start = key.start as usize;
            bytes
                .get(start..start + key.len as usize)
                .unwrap_or_default()
        };
        self.keys
            .sort_unstable_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| tail(a).cmp(tail(b))));
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the total number of bytes of all names, without their NULs.
    pub(crate) fn name_bytes(&self) -> usize {
        self.bytes.len() - self.keys.len()
    }

    /// Returns the name at `index` in name order.
    pub(crate) fn get(&self, index: usize) -> Option<&CStr> {
        let key = self.keys.get(index)?;
        let start = key.start as usize;
        let bytes = self.bytes.get(start..=start + key.len as usize)?;
        CStr::from_bytes_with_nul(bytes).ok()
    }

    /// Returns the indices for [`Names::get`] in inode order, in which file systems store inodes.
    /// Return the vector with [`Names::keep_inode_order`].
    pub(crate) fn take_inode_order(&mut self) -> Vec<u32> {
        let mut order = std::mem::take(&mut self.by_inode);
        order.clear();
        order.extend(0..self.keys.len() as u32);
        order.sort_unstable_by_key(|i| self.keys.get(*i as usize).map(|key| key.ino));
        order
    }

    /// Takes the vector back, to reuse its memory for the next directory.
    pub(crate) fn keep_inode_order(&mut self, order: Vec<u32>) {
        self.by_inode = order;
    }
}

/// Returns the first eight bytes as a number with the same order. Short names are padded with NULs,
/// which no name contains.
fn prefix(name: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = name.len().min(8);
    first[..len].copy_from_slice(&name[..len]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn order_is_that_of_bytes() {
        let mut want: Vec<CString> = [
            "b",
            "a",
            "aa",
            "abcdefgh",
            "abcdefghi",
            "abcdefgh\u{1}",
            "A",
            "\u{ff}",
            "zz zz zz zz",
            "zz zz zz z",
        ]
        .map(|n| CString::new(n).unwrap())
        .into();
        want.push(CString::new(b"\xff\xfe".to_vec()).unwrap());
        let mut names = Names::default();
        for (i, name) in want.iter().enumerate() {
            names.push(name, 100 - i as u64);
        }
        names.sort();
        want.sort();
        let got: Vec<_> = (0..names.len())
            .map(|i| names.get(i).unwrap().to_owned())
            .collect();
        assert_eq!(got, want);
        let inodes: Vec<u64> = names
            .take_inode_order()
            .iter()
            .map(|i| names.keys[*i as usize].ino)
            .collect();
        assert!(inodes.is_sorted());
    }
}
