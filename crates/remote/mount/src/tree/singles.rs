//! Answers about single paths: the top, and entries of directories that cannot be listed.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use trawl_call::Attributes;
use trawl_model::relative_path::is_within;
use trawl_sys::Errno;

use super::Timed;
use super::store::is_fresh;

/// Maximum number of answers; at this number, all are forgotten.
const COUNT_MAX: usize = 32 << 10;

/// Answers by path.
#[derive(Debug, Default)]
pub(super) struct Singles(HashMap<Vec<u8>, Timed<Result<Attributes, Errno>>>);

impl Singles {
    pub(super) fn get(
        &self,
        path: &[u8],
        max_age: Duration,
    ) -> Option<Timed<Result<Attributes, Errno>>> {
        let known = self.0.get(path)?;
        is_fresh(known.at, max_age).then_some(*known)
    }

    /// Returns the answer about a path, however old.
    pub(super) fn newest(&self, path: &[u8]) -> Option<&Timed<Result<Attributes, Errno>>> {
        self.0.get(path)
    }

    pub(super) fn remove(&mut self, path: &[u8]) {
        self.0.remove(path);
    }

    /// Forgets a path and everything below it.
    pub(super) fn remove_below(&mut self, top: &[u8]) {
        self.0.retain(|path, _| !is_within(path, top));
    }

    /// Stores an answer that was requested at `asked`.
    pub(super) fn insert(&mut self, path: &[u8], what: Result<Attributes, Errno>, asked: Instant) {
        if self.0.len() >= COUNT_MAX {
            self.0.clear();
        }
        let at = Instant::now();
        self.0.insert(path.to_vec(), Timed { what, at, asked });
    }
}
