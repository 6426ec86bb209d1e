//! Marks files and directories that are opened for reading, because reading moves their time of
//! access: what stat(2) says of a marked file comes from the kernel, never from a table.
//!
//! Where no program of the run has asked for a table yet, nothing is marked and nothing costs
//! anything. A file that is opened before that and read later can therefore show an old time, as
//! long as a table may be old.
//!
//! Most opened files need no mark: reading changes nothing on a file system that is mounted
//! read-only or with `noatime`, nor, with `relatime` (the default), where the time of access is
//! recent and later than the other times (mount(8)). So marks stay few, and those files are still
//! answered from tables.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernel::{self, Quiet};
use crate::{page, settings};

/// Seconds for which a time of access counts as recent. The kernel says a day; a file may be read
/// long after it was opened.
const RECENT_SECS: i64 = 12 * 3600;

/// Mounts whose flags are remembered.
const MOUNTS: usize = 8;

/// One mount each: its id, shifted by [`RULE_BITS`], and how reading counts there. 0: unused.
static RULES: [AtomicU64; MOUNTS] = [const { AtomicU64::new(0) }; MOUNTS];
const RULE_BITS: u32 = 2;

/// What reading does to the time of access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Nothing.
    Never = 1,
    /// It is moved where it is old, or no later than the last change.
    Relative = 2,
    /// It is always moved.
    Always = 3,
}

impl Rule {
    fn of_flags(flags: u64) -> Rule {
        const READ_ONLY: u64 = 0x1;
        const NO_ATIME: u64 = 0x400;
        const RELATIVE: u64 = 0x1000;
        match flags {
            flags if flags & (READ_ONLY | NO_ATIME) != 0 => Rule::Never,
            flags if flags & RELATIVE != 0 => Rule::Relative,
            _ => Rule::Always,
        }
    }

    fn of_number(number: u64) -> Rule {
        match number {
            1 => Rule::Never,
            2 => Rule::Relative,
            _ => Rule::Always,
        }
    }
}

/// The run's generation when [`RULES`] were emptied: a change since then may have been a mount's.
static SINCE: AtomicU64 = AtomicU64::new(0);

/// The rule of the mount that an open file lies in.
fn rule(fd: c_int, mount: u64) -> Rule {
    let now = page::changes();
    if SINCE.swap(now, Ordering::Relaxed) != now {
        for kept in &RULES {
            kept.store(0, Ordering::Relaxed);
        }
    }
    let kept = &RULES[mount as usize % MOUNTS];
    let word = kept.load(Ordering::Relaxed);
    if word >> RULE_BITS == mount && word != 0 {
        return Rule::of_number(word & ((1 << RULE_BITS) - 1));
    }
    let rule = kernel::mount_flags(fd).map_or(Rule::Always, Rule::of_flags);
    kept.store(mount << RULE_BITS | rule as u64, Ordering::Relaxed);
    rule
}

/// Notes that a file or directory was opened so that it may be read. Nothing is done if `fd` is
/// not open.
#[inline]
pub(crate) fn opened(fd: c_int) {
    if fd >= 0 && settings::is_in_run() && page::may_have_tables() {
        mark(fd);
    }
}

fn mark(fd: c_int) {
    let _quiet = Quiet::new();
    let Some(of) = kernel::statx_kept(fd) else {
        return page::mark(fd);
    };
    let kind = u32::from(of.stx_mode) & libc::S_IFMT;
    if kind != libc::S_IFREG && kind != libc::S_IFDIR {
        return;
    }
    let (dev, ino) = (
        libc::makedev(of.stx_dev_major, of.stx_dev_minor),
        of.stx_ino,
    );
    if page::is_marked(dev, ino) {
        return;
    }
    let nanos =
        |at: &libc::statx_timestamp| i128::from(at.tv_sec) * 1_000_000_000 + i128::from(at.tv_nsec);
    let read = nanos(&of.stx_atime);
    let is_settled = || {
        let is_later = read > nanos(&of.stx_mtime) && read > nanos(&of.stx_ctime);
        is_later && of.stx_atime.tv_sec.saturating_add(RECENT_SECS) > kernel::date_secs()
    };
    let moves = match rule(fd, of.stx_mnt_id) {
        Rule::Never => false,
        Rule::Relative => !is_settled(),
        Rule::Always => true,
    };
    if moves {
        page::mark_object(dev, ino);
    }
}
