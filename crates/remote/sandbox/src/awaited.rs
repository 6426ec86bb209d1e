//! The paths of calls that were allowed to continue: the kernel may look at them at any later
//! moment.
//!
//! Nothing tells when it has done so. So a path is remembered until many others have followed.

use std::collections::HashSet;

/// A path is remembered until at least this many others have followed, and at most twice as many.
const COUNT_LEAST: usize = 16 << 10;

/// The paths of the last calls.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    now: HashSet<Vec<u8>>,
    before: HashSet<Vec<u8>>,
}

impl Awaited {
    /// Records that the kernel is about to look at a path.
    pub(crate) fn insert(&mut self, path: &[u8]) {
        if self.now.contains(path) {
            return;
        }
        if self.now.len() >= COUNT_LEAST {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.insert(path.to_vec());
    }

    /// Returns whether the kernel may still be about to look at a path.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        self.now.contains(path) || self.before.contains(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known() {
        let mut awaited = Awaited::default();
        let path = |number: usize| number.to_string().into_bytes();
        for number in 0..5 * COUNT_LEAST {
            awaited.insert(&path(number));
            assert!(awaited.contains(&path(number.saturating_sub(COUNT_LEAST))));
        }
        assert!(!awaited.contains(&path(0)));
        assert!(awaited.now.len() + awaited.before.len() <= 2 * COUNT_LEAST);
    }
}
