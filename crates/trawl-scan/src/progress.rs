//! Counters that another thread may read while a scan runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a running scan. Written once a directory, so that they cost nothing an entry.
#[derive(Debug, Default)]
pub struct ScanProgress {
    entries: AtomicU64,
    directories: AtomicU64,
    bytes: AtomicU64,
    issues: AtomicU64,
    vanished: AtomicU64,
}

/// The counts at one moment, or what one directory adds to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries delivered, directories among them, the root not.
    pub entries: u64,
    /// Directories read, the root among them.
    pub directories: u64,
    /// Apparent size of the regular files, bytes.
    pub bytes: u64,
    /// Things that could not be read.
    pub issues: u64,
    /// Names that were gone, or were something else, when they were looked at.
    pub vanished: u64,
}

impl ScanProgress {
    /// The counts now. Each is right, though not all of the same moment.
    #[must_use]
    pub fn get(&self) -> Progress {
        Progress {
            entries: self.entries.load(Ordering::Relaxed),
            directories: self.directories.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            issues: self.issues.load(Ordering::Relaxed),
            vanished: self.vanished.load(Ordering::Relaxed),
        }
    }

    /// Adds what one directory brought.
    pub(crate) fn add(&self, more: Progress) {
        let pairs = [
            (&self.entries, more.entries),
            (&self.directories, more.directories),
            (&self.bytes, more.bytes),
            (&self.issues, more.issues),
            (&self.vanished, more.vanished),
        ];
        for (counter, by) in pairs {
            if by != 0 {
                counter.fetch_add(by, Ordering::Relaxed);
            }
        }
    }
}
