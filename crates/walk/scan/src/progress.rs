//! Counters that other threads may read while a scan runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a running scan. They are updated once a directory, so that they cost nothing per
/// entry.
#[derive(Debug, Default)]
pub struct ScanProgress {
    entries: AtomicU64,
    directories: AtomicU64,
    bytes: AtomicU64,
    issues: AtomicU64,
    vanished: AtomicU64,
}

/// The counts at one moment, or the contribution of one directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries delivered, including directories but not the root.
    pub entries: u64,
    /// Directories read, including the root.
    pub directories: u64,
    /// Apparent size of all regular files, in bytes.
    pub bytes: u64,
    /// Read errors.
    pub issues: u64,
    /// Names that no longer existed, or had been replaced, when they were examined.
    pub vanished: u64,
}

impl ScanProgress {
    /// Returns the current counts. Each is correct, but they may be from different moments.
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

    /// Adds the contribution of one directory.
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
