//! By the transactions of a btrfs: it gives the inodes that changed since one, without a look at
//! any other.
//!
//! Numbers of transactions are only good for what is on the disk: after a crash changes that the
//! index may have seen are gone, and their numbers are given to others. So the note of a snapshot is
//! made after its last transaction was committed ([`Note::settle`]), and names the subvolume.

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
use super::{COMPARED, Found, Judge, Method, Piece, Search, Suspect, Top, Unfit, device};

/// More inodes than this are as many as a scan would look at.
const MOST: usize = 1 << 20;

/// Rows with other devices that are each looked at: mounts.
const ELSEWHERE_MOST: u64 = 256;

/// A moment of a subvolume: everything that changes after it does so in this transaction or a later
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    tree: u64,
    uuid: [u8; 16],
    generation: u64,
}

impl Note {
    /// This moment; `None` where the directory is on no btrfs.
    #[must_use]
    pub fn now(root: &[u8]) -> Option<Note> {
        let found = btrfs::subvolume(open(root)?).ok()?;
        Some(Note {
            tree: found.tree,
            uuid: found.uuid,
            generation: found.generation,
        })
    }

    /// Has everything that was changed until now committed; false if that was not possible, so that
    /// no note counts.
    #[must_use]
    pub fn settle(root: &[u8]) -> bool {
        open(root).is_some_and(|fd| btrfs::commit(fd).is_ok())
    }

    /// What [`fmt::Display`] writes; `None` if it is not that.
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
    /// The device of the root: rows with another lie in other subvolumes, or are mounts.
    dev: u64,
    /// By number, and what their rows are compared with.
    inodes: HashMap<u64, u64>,
    /// Rows with another device.
    elsewhere: AtomicU64,
}

/// Finds rows whose inodes changed since the note was made.
pub(super) fn find(
    search: &Search<'_>,
    start: &Start,
    top: &Top,
    note: &Note,
) -> std::result::Result<Found, Unfit> {
    let mut found = Found::by(Method::Transactions);
    // What is not committed is not found; and times of what is written come to the disk with the
    // content, which a commit alone leaves where it is.
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
        dev: device(&top.stat).as_u64(),
        inodes,
        elsewhere: AtomicU64::new(0),
    };
    search.judge(start, &judge, &mut found)?;
    // Some mounts; more are in other subvolumes, which may have been put there as they are.
    if judge.elsewhere.into_inner() > ELSEWHERE_MOST {
        return Err(stale());
    }
    found.looked_at = looked_at;
    Ok(found)
}

/// The note says nothing of this.
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
                    // Of others, these transactions say nothing.
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
