//! Extended attributes. Who asks for those of one name soon asks for its neighbours': they are read
//! many at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trawl_remote::client::{ExtendedAttributes, Target, XattrsOf};
use trawl_sys::Errno;

use super::listing::Listing;
use super::store::is_fresh;

/// Names that are asked for together, and how long their paths may be together.
const TOGETHER: usize = 1024;
const TOGETHER_BYTES: usize = 1 << 20;
/// When there are so many, or they take so much memory, all are forgotten.
const COUNT_MAX: usize = 64 << 10;
const BYTES_MAX: usize = 32 << 20;

/// What one name has.
type Attributes = Result<Arc<ExtendedAttributes>, Errno>;

/// Answers by path.
#[derive(Debug, Default)]
pub(super) struct Xattrs {
    known: HashMap<Vec<u8>, (Instant, Attributes)>,
    bytes: usize,
}

impl Xattrs {
    pub(super) fn get(&self, path: &[u8], max_age: Duration) -> Option<Attributes> {
        let (at, found) = self.known.get(path)?;
        is_fresh(*at, max_age).then(|| found.clone())
    }

    /// What the server said of these, as far as it did.
    pub(super) fn insert(&mut self, paths: Vec<Vec<u8>>, found: Vec<XattrsOf>, at: Instant) {
        for (path, found) in paths.into_iter().zip(found) {
            if let Some(found) = found {
                self.insert_one(&path, found.map(Arc::new), at);
            }
        }
    }

    pub(super) fn insert_one(&mut self, path: &[u8], found: Attributes, at: Instant) {
        if self.known.len() >= COUNT_MAX || self.bytes >= BYTES_MAX {
            *self = Xattrs::default();
        }
        let of_one = |(name, value): &(Vec<u8>, Target)| {
            let value = value.as_ref().map_or(0, Vec::len);
            name.len() + value + 64
        };
        let of_all = found.as_ref().map_or(0, |all| all.iter().map(of_one).sum());
        self.bytes += path.len() + 128 + of_all;
        self.known.insert(path.to_vec(), (at, found));
    }
}

/// What to ask for with this name, which is the first: those behind it in its directory, then those
/// before.
pub(super) fn wanted(dir: &[u8], name: &[u8], listing: &Listing) -> Vec<Vec<u8>> {
    let join = |name: &[u8]| match dir {
        b"" => name.to_vec(),
        dir => [dir, b"/", name].concat(),
    };
    let mut wanted = vec![join(name)];
    let mut bytes = wanted[0].len();
    let entries = &listing.entries;
    let behind = entries.partition_point(|entry| *entry.name <= *name);
    let before = entries.partition_point(|entry| *entry.name < *name);
    for entry in entries[behind..].iter().chain(&entries[..before]) {
        bytes += dir.len() + entry.name.len() + 1;
        if wanted.len() == TOGETHER || bytes > TOGETHER_BYTES {
            break;
        }
        wanted.push(join(&entry.name));
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Entry;

    #[test]
    fn neighbours_are_asked_for_too() {
        let entry = |name: &str| Entry {
            name: name.as_bytes().into(),
            found: Err(Errno::ACCES),
        };
        let names = ["a", "b", "c"].map(entry).to_vec();
        let listing = Listing::new(Instant::now(), Ok(names));
        assert_eq!(wanted(b"d", b"b", &listing), [b"d/b", b"d/c", b"d/a"]);
        assert_eq!(wanted(b"", b"a", &listing), [b"a", b"b", b"c"]);
        // One that came later.
        let all = wanted(b"", b"bb", &listing);
        assert_eq!(all, [&b"bb"[..], b"c", b"a", b"b"]);
    }

    #[test]
    fn what_was_not_said_is_not_known() {
        let mut xattrs = Xattrs::default();
        let long = Duration::from_secs(3600);
        let one = vec![(b"user.a".to_vec(), Ok(b"x".to_vec()))];
        let found = vec![Some(Ok(one.clone())), None, Some(Err(Errno::ACCES))];
        let paths = ["p", "q", "r"]
            .map(|path| path.as_bytes().to_vec())
            .to_vec();
        xattrs.insert(paths, found, Instant::now());
        assert_eq!(*xattrs.get(b"p", long).unwrap().unwrap(), one);
        assert_eq!(xattrs.get(b"q", long), None);
        assert_eq!(xattrs.get(b"r", long), Some(Err(Errno::ACCES)));
        assert_eq!(xattrs.get(b"p", Duration::ZERO), None);
        for number in 0..2000 {
            let value = vec![(b"user.a".to_vec(), Ok(vec![0; 40_000]))];
            let path = format!("{number}").into_bytes();
            xattrs.insert(vec![path], vec![Some(Ok(value))], Instant::now());
            assert!(xattrs.bytes <= BYTES_MAX + 50_000);
        }
    }
}
