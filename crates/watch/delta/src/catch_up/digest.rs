//! Hashes the attributes by which rows and inodes are compared, for file systems that deliver
//! inodes without their names.
//!
//! Sizes are left out: the inodes' sizes are those at the time when content was last written to the
//! disk. A change of the size changes the times, too.

use std::hash::{DefaultHasher, Hasher};

use trawl_model::Timestamp;
use trawl_model::rows::Row;
use trawl_sys::stat::Inode;

use super::Search;

/// A hash that no row has.
const DOUBTFUL: u64 = 0;

/// Hashes an inode. Returns `DOUBTFUL`, which no row has, if the inode changed so late that the
/// index may not have the change.
pub(super) fn of_inode(search: &Search<'_>, inode: &Inode) -> u64 {
    if search.is_recent(inode.ctime) {
        return DOUBTFUL;
    }
    let times = [inode.mtime, inode.ctime];
    of([inode.mode, inode.nlink], times)
}

/// Hashes a row.
pub(super) fn of_row(row: &Row<'_>) -> u64 {
    let times = [row.mtime(), row.ctime()];
    of([row.mode(), row.nlink()], times)
}

fn of(numbers: [u32; 2], times: [Timestamp; 2]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for number in numbers {
        hasher.write_u32(number);
    }
    for time in times {
        hasher.write_i64(time.secs);
        hasher.write_u32(time.nanos);
    }
    hasher.finish().max(DOUBTFUL + 1)
}
