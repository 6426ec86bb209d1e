//! Targets of links. A program that asks for one soon asks for others, so they are fetched in
//! batches.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use trawl_model::relative_path::is_within;
use trawl_remote::client::Target;

use super::Timed;
use super::store::is_fresh;

/// Maximum number of links in a batch, and maximum length of their paths together in bytes.
const TOGETHER: usize = 1024;
const TOGETHER_BYTES: usize = 1 << 20;
/// Maximum number of targets; at this number, all are forgotten.
const COUNT_MAX: usize = 64 << 10;

/// Targets by path, and links that are likely to be asked for.
#[derive(Debug, Default)]
pub(super) struct Targets {
    known: HashMap<Vec<u8>, (Instant, Target)>,
    expected: VecDeque<Vec<u8>>,
}

impl Targets {
    /// Adds a link that is likely to be asked for.
    pub(super) fn expect(&mut self, path: Vec<u8>) {
        if self.expected.len() >= COUNT_MAX {
            self.expected.pop_front();
        }
        self.expected.push_back(path);
    }

    /// Returns the target of a link, if it is known and no older than `max_age` allows for its
    /// request time.
    pub(super) fn get(
        &self,
        path: &[u8],
        max_age: impl FnOnce(Instant) -> Duration,
    ) -> Option<Timed<Target>> {
        let (at, target) = self.known.get(path)?;
        let (at, what) = (*at, target.clone());
        let asked = at;
        is_fresh(at, max_age(at)).then_some(Timed { what, at, asked })
    }

    pub(super) fn remove(&mut self, path: &[u8]) {
        self.known.remove(path);
    }

    /// Forgets a path and everything below it.
    pub(super) fn remove_below(&mut self, top: &[u8]) {
        self.known.retain(|path, _| !is_within(path, top));
    }

    /// Returns the links to fetch together with this one, which comes first: the expected links
    /// after it, in their order of arrival, then those before it.
    pub(super) fn wanted(&mut self, path: &[u8]) -> Vec<Vec<u8>> {
        let mut wanted = vec![path.to_vec()];
        let mut bytes = path.len();
        if let Some(at) = self.expected.iter().position(|other| other == path) {
            self.expected.rotate_left(at);
            self.expected.pop_front();
        }
        while wanted.len() < TOGETHER
            && let Some(next) = self.expected.pop_front()
        {
            bytes += next.len();
            if bytes > TOGETHER_BYTES {
                self.expected.push_front(next);
                break;
            }
            if next != path {
                wanted.push(next);
            }
        }
        wanted
    }

    pub(super) fn insert(&mut self, paths: Vec<Vec<u8>>, targets: Vec<Target>, at: Instant) {
        if self.known.len() + paths.len() > COUNT_MAX {
            self.known.clear();
        }
        let targets = targets.into_iter().map(|target| (at, target));
        self.known.extend(paths.into_iter().zip(targets));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_next_is_asked_for_at_once() {
        let mut targets = Targets::default();
        for name in ["a", "b", "c"] {
            targets.expect(name.into());
        }
        let wanted = targets.wanted(b"b");
        assert_eq!(wanted, [b"b", b"c", b"a"]);
        let now = Instant::now();
        let found = wanted.iter().map(|path| Ok(path.clone())).collect();
        targets.insert(wanted, found, now);
        let long = Duration::from_secs(3600);
        let known = targets.get(b"c", |_| long).map(|known| known.what);
        assert_eq!(known, Some(Ok(b"c".to_vec())));
        assert!(targets.get(b"c", |_| Duration::ZERO).is_none());
        assert_eq!(targets.wanted(b"x"), [b"x"]);
        for number in 0..2000 {
            targets.expect(format!("{number}").into_bytes());
        }
        assert_eq!(targets.wanted(b"5").len(), TOGETHER);
        targets.expect(vec![b'x'; TOGETHER_BYTES]);
        assert!(targets.wanted(b"y").len() <= TOGETHER);
    }
}
