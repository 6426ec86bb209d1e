//! The number of directories that a walk may keep open, so that the directories below them can be
//! opened by name.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of directories that a program's own walk keeps open.
const PROGRAM_KEPT_MAX: usize = 512;
/// Descriptors that such a program needs for everything else: streams, files, commands.
const PROGRAM_SPARE: usize = 16;
/// Descriptors that one thread of a walk needs at the same time.
const PER_THREAD: usize = 4;
/// Maximum number of directories that a walk in another program keeps open.
const LIBRARY_KEPT_MAX: usize = 256;
/// Descriptors that are left to that program in any case.
const LIBRARY_SPARE: usize = 64;

/// The number of directories that may still be kept open.
#[derive(Debug)]
pub struct Budget {
    left: AtomicUsize,
}

impl Budget {
    /// Returns the budget of a program that has nothing to do but this walk, on `threads` threads:
    /// all descriptors that the process's limit leaves to it, but at most 512.
    pub fn of_program(threads: usize) -> Arc<Budget> {
        let spare = PROGRAM_SPARE.saturating_add(threads.saturating_mul(PER_THREAD));
        Budget::of(limit().saturating_sub(spare).min(PROGRAM_KEPT_MAX))
    }

    /// Returns the budget of a library, whose caller needs most descriptors itself: a quarter of
    /// those that the process's limit allows beyond 64, but at most 256.
    pub fn of_library() -> Arc<Budget> {
        let left = limit().saturating_sub(LIBRARY_SPARE) / 4;
        Budget::of(left.min(LIBRARY_KEPT_MAX))
    }

    fn of(left: usize) -> Arc<Budget> {
        Arc::new(Budget {
            left: AtomicUsize::new(left),
        })
    }

    fn take(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }
}

/// Returns how many threads a program's walk can have under the process's limit of descriptors, at
/// least one, if it needs `others` descriptors besides.
pub fn threads_max(others: usize) -> usize {
    (limit().saturating_sub(others) / PER_THREAD).max(1)
}

fn limit() -> usize {
    usize::try_from(trawl_sys::process::descriptor_limit()).unwrap_or(usize::MAX)
}

/// An open directory that counts against a budget until it is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) fd: Arc<OwnedFd>,
    budget: Arc<Budget>,
}

impl Kept {
    /// Keeps a directory open; `None` if the budget is spent.
    pub(crate) fn within(budget: &Arc<Budget>, fd: &Arc<OwnedFd>) -> Option<Kept> {
        budget.take().then(|| Kept {
            fd: Arc::clone(fd),
            budget: Arc::clone(budget),
        })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.budget.left.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_can_be_kept_again() {
        let budget = Budget::of(1);
        let fd = Arc::new(OwnedFd::from(std::fs::File::open("/").unwrap()));
        let kept = Kept::within(&budget, &fd);
        assert!(kept.is_some());
        assert!(Kept::within(&budget, &fd).is_none());
        drop(kept);
        assert!(Kept::within(&budget, &fd).is_some());
    }
}
