//! Finds changes through the transactions of a btrfs, which delivers the inodes that changed since
//! a transaction without reading any other.
//!
//! Transaction numbers are valid only for data on the disk: a crash loses changes that the index
//! may have seen, and their numbers are reused. So the note of a snapshot is made after its last
//! transaction was committed ([`Note::settle`]), and names the subvolume.

use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use trawl_model::column::ColumnSet;
use trawl_model::path;
use trawl_model::rows::Row;
use trawl_query::{Batch, Start};
use trawl_sys::CWD;
use trawl_sys::btrfs::{self, Subvolume};
use trawl_sys::directory::{AccessTime, Links, Purpose, open_path};
use trawl_sys::{Errno, Op, OwnedFd, SysError};

use super::digest::{of_inode, of_row};
use super::{COMPARED, CatchUpResult, Judge, Method, Piece, Search, Suspect, Top, Unfit};

/// Maximum number of changed inodes; beyond it, a scan would look at no more.
const MOST: usize = 1 << 20;

/// Maximum number of rows on other devices, which are mounts and are looked at one by one.
const ELSEWHERE_MOST: u64 = 256;

/// A moment of a subvolume: every later change is in this transaction or a later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    tree: u64,
    uuid: [u8; 16],
    generation: u64,
}

impl Note {
    /// Notes the present moment; `None` if the directory is not on a btrfs.
    #[must_use]
    pub fn now(root: &[u8]) -> Option<Note> {
        let found = btrfs::subvolume(open(root)?).ok()?;
        Some(Note {
            tree: found.tree,
            uuid: found.uuid,
            generation: found.generation,
        })
    }

    /// Commits all changes made until now; returns false if that failed, so that no note is valid.
    #[must_use]
    pub fn settle(root: &[u8]) -> bool {
        open(root).is_some_and(|fd| btrfs::commit(fd).is_ok())
    }

    /// Parses the output of [`fmt::Display`]; `None` if the text is malformed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Note> {
        let mut words = text.strip_prefix("btrfs ")?.split(' ');
        let tree = words.next()?.parse().ok()?;
        let uuid = words.next().filter(|word| word.len() == 32)?;
        let uuid = u128::from_str_radix(uuid, 16).ok()?.to_be_bytes();
        let generation = words.next()?.parse().ok()?;
        words.next().is_none().then_some(Note {
            tree,
            uuid,
            generation,
        })
    }

    fn is_of(&self, subvolume: &Subvolume) -> bool {
        (self.tree, self.uuid) == (subvolume.tree, subvolume.uuid)
            && self.generation <= subvolume.generation
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uuid = u128::from_be_bytes(self.uuid);
        write!(f, "btrfs {} {uuid:032x} {}", self.tree, self.generation)
    }
}

fn open(root: &[u8]) -> Option<OwnedFd> {
    let name = CString::new(path::display(root)).ok()?;
    let purpose = Purpose::List(AccessTime::Keep);
    open_path(CWD, &name, purpose, Links::Followed).ok()
}

struct Changed {
    /// The root's device: rows with another device are in other subvolumes or are mounts.
    dev: u64,
    /// Changed inodes by number, each with the hash that its rows are compared with.
    inodes: HashMap<u64, u64>,
    /// Number of rows with another device.
    elsewhere: AtomicU64,
}

/// Finds rows whose inodes changed since the note was made.
pub(super) fn find(
    search: &Search<'_>,
    start: &Start,
    top: &Top,
    note: &Note,
) -> std::result::Result<CatchUpResult, Unfit> {
    let mut found = CatchUpResult::by(Method::Transactions);
    // Uncommitted changes are not found. The times of written files reach the disk together with
    // the content, which a commit alone does not write.
    trawl_sys::file::sync_filesystem(&top.fd)?;
    let now = btrfs::subvolume(&top.fd)?;
    if !note.is_of(&now) {
        return Err(stale());
    }
    let mut inodes = HashMap::new();
    let looked_at = btrfs::changed_since(&top.fd, note.generation, |inode| {
        if inodes.len() <= MOST {
            inodes.insert(inode.ino, of_inode(search, &inode));
        }
    })?;
    if inodes.len() > MOST {
        return Err(Unfit::TooMuch);
    }
    let judge = Changed {
        dev: top.stat.dev.as_u64(),
        inodes,
        elsewhere: AtomicU64::new(0),
    };
    search.judge(start, &judge, &mut found)?;
    // A few rows are mounts; more are in other subvolumes, which may have been put there unchanged.
    if judge.elsewhere.into_inner() > ELSEWHERE_MOST {
        return Err(stale());
    }
    found.looked_at = looked_at;
    Ok(found)
}

/// Returns the error for a note that does not apply.
fn stale() -> Unfit {
    let (op, errno) = (Op::BtrfsSubvolume, Errno::STALE);
    Unfit::System(SysError { op, errno })
}

impl Judge for Changed {
    fn columns(&self) -> ColumnSet {
        COMPARED
    }

    fn judge(&self, batch: &mut Batch<'_>, into: &mut Piece) -> trawl_query::Result<()> {
        let mut is_any = false;
        for rows in batch.columns() {
            let mut numbers = rows.ino.iter().zip(&rows.dev);
            is_any |= numbers.any(|(ino, dev)| *dev != self.dev || self.inodes.contains_key(ino));
        }
        if !is_any {
            return Ok(());
        }
        batch.for_each_listing(|listing| {
            for at in listing.range.clone() {
                let (batch, dir) = (listing.batch, listing.dir.path);
                let row = Row { batch, at, dir };
                let is_other = match row.dev().as_u64() == self.dev {
                    true => {
                        let now = self.inodes.get(&row.ino());
                        now.is_some_and(|now| *now != of_row(&row))
                    }
                    // These transactions say nothing about other devices.
                    false => {
                        self.elsewhere.fetch_add(1, Ordering::Relaxed);
                        true
                    }
                };
                if is_other {
                    into.suspects.push(Suspect::of(&row));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let note = Note {
            tree: 257,
            uuid: [0xab; 16],
            generation: 12,
        };
        assert_eq!(Note::parse(&note.to_string()), Some(note));
        for text in ["", "btrfs", "btrfs 1 ab 2", "btrfs 1 x 2", "xfs 1"] {
            assert_eq!(Note::parse(text), None, "{text}");
        }
    }
}
