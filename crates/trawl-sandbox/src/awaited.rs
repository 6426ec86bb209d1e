//! Paths that calls were let go on with: the kernel may look at them at any later moment.
//!
//! Nobody says when it has. So a path stays here until many others have come.

use std::collections::HashSet;

/// A path stays until this many others have come, and no longer than until twice as many have.
const COUNT_LEAST: usize = 16 << 10;

/// The paths of the last calls.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    now: HashSet<Vec<u8>>,
    before: HashSet<Vec<u8>>,
}

impl Awaited {
    /// The kernel is about to look there.
    pub(crate) fn insert(&mut self, path: &[u8]) {
        if self.now.contains(path) {
            return;
        }
        if self.now.len() >= COUNT_LEAST {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.insert(path.to_vec());
    }

    /// Whether the kernel may look there still.
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
