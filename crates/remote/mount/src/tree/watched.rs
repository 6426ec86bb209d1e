//! The directories that the server watches, and how long facts about them may therefore be told.
//!
//! A fact that was requested while its directory was watched, and after the last news about it, is
//! as of now. All other facts have the short age; facts requested before the last news are outdated
//! at once.
//!
//! Invariants: all ancestors of a watched directory are watched, too, so no directory can be
//! replaced unnoticed; facts that could change unnoticed have the short age in any directory: files
//! with several hard links, and subdirectories that are not watched themselves.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use trawl_call::Attributes;
use trawl_model::relative_path::{is_within, join, split};
use trawl_remote::wire::News;

use super::listing::is_directory;

/// Maximum number of directories that are tracked; all others have the short age.
const COUNT_MAX: usize = 128 << 10;
/// Maximum number of directories, and of bytes, in one request.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 1 << 20;

/// How long a known fact may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// Until the server reports a change.
    Long,
    /// For the short age.
    Short,
    /// No longer.
    Old,
}

/// The time since which requested facts are up to date.
#[derive(Clone, Copy, Debug)]
struct Since {
    at: Instant,
    /// Whether it is the time of a change, rather than the time at which watching began.
    is_change: bool,
}

impl Since {
    fn term(self, asked: Instant) -> Term {
        match asked >= self.at {
            true => Term::Long,
            false if self.is_change => Term::Old,
            false => Term::Short,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Standing {
    /// It is to be watched.
    Wished,
    /// It cannot be watched.
    Refused,
    Watched {
        /// Since when facts about its entries are up to date.
        inside: Since,
        /// Since when facts about its own attributes are.
        own: Since,
    },
}

/// The state of the server's watch of a tree.
#[derive(Debug, Default)]
pub(super) struct Watched {
    is_on: bool,
    known: HashMap<Vec<u8>, Standing>,
    wishes: VecDeque<Vec<u8>>,
    has_refused: bool,
}

impl Watched {
    /// Turns the tracking of directories on or off.
    pub(super) fn set_on(&mut self, is_on: bool) {
        self.is_on = is_on;
        self.clear();
    }

    /// Forgets all directories; returns whether any was watched.
    pub(super) fn clear(&mut self) -> bool {
        self.wishes.clear();
        self.has_refused = false;
        let mut known = self.known.drain();
        known.any(|(_, standing)| matches!(standing, Standing::Watched { .. }))
    }

    /// Requests that a used directory be watched, after its ancestors.
    pub(super) fn wish(&mut self, dir: &[u8]) {
        if !self.is_on || self.known.contains_key(dir) || self.known.len() >= COUNT_MAX {
            return;
        }
        if !dir.is_empty() {
            let above = split(dir).0;
            self.wish(above);
            match self.known.get(above) {
                Some(Standing::Refused) => {
                    self.known.insert(dir.to_vec(), Standing::Refused);
                    return;
                }
                Some(_) => {}
                None => return,
            }
        }
        self.known.insert(dir.to_vec(), Standing::Wished);
        self.wishes.push_back(dir.to_vec());
    }

    /// Returns whether some used directories are not watched, so that starting over may help.
    pub(super) fn is_short(&self) -> bool {
        self.has_refused || self.known.len() >= COUNT_MAX
    }

    pub(super) fn has_wishes(&self) -> bool {
        !self.wishes.is_empty()
    }

    /// Returns the next batch of directories to request.
    pub(super) fn take_wishes(&mut self) -> Vec<Vec<u8>> {
        let (mut wishes, mut bytes) = (Vec::new(), 0);
        while wishes.len() < BATCH
            && bytes < BATCH_BYTES
            && let Some(wish) = self.wishes.pop_front()
        {
            bytes += wish.len();
            wishes.push(wish);
        }
        wishes
    }

    fn is_watched(&self, dir: &[u8]) -> bool {
        matches!(self.known.get(dir), Some(Standing::Watched { .. }))
    }

    /// Handles an item of news.
    pub(super) fn hear(&mut self, news: &News, now: Instant) {
        let since = |is_change| Since { at: now, is_change };
        match news {
            News::Watched(dir) => {
                // If the parent was lost meanwhile, this directory may be in another one.
                if !dir.is_empty() && !self.is_watched(split(dir).0) {
                    self.known.remove(dir);
                } else if let Some(standing @ Standing::Wished) = self.known.get_mut(dir) {
                    *standing = Standing::Watched {
                        inside: since(false),
                        own: since(false),
                    };
                }
            }
            News::Unwatched(dir) => {
                if let Some(standing @ Standing::Wished) = self.known.get_mut(dir) {
                    *standing = Standing::Refused;
                    self.has_refused = true;
                }
            }
            News::Changed { dir, names } => {
                if let Some(Standing::Watched { inside, own }) = self.known.get_mut(dir) {
                    for name in names {
                        match &name.name[..] {
                            b"." => *own = since(true),
                            _ => *inside = since(true),
                        }
                    }
                }
            }
            News::Lost(path) => {
                self.known.retain(|dir, _| !is_within(dir, path));
                self.wishes.retain(|dir| !is_within(dir, path));
            }
        }
    }

    /// Returns whether there was news about the directory's entries; it is then requested
    /// separately.
    pub(super) fn has_changed(&self, dir: &[u8]) -> bool {
        match self.known.get(dir) {
            Some(Standing::Watched { inside, .. }) => inside.is_change,
            _ => false,
        }
    }

    /// Returns how long a listing's set of names may be told.
    pub(super) fn listing(&self, dir: &[u8], asked: Instant) -> Term {
        match self.known.get(dir) {
            Some(Standing::Watched { inside, .. }) => inside.term(asked),
            _ => Term::Short,
        }
    }

    /// Returns how long a listing's attributes of a name may be told.
    pub(super) fn entry(
        &self,
        dir: &[u8],
        asked: Instant,
        name: &[u8],
        attributes: &Attributes,
    ) -> Term {
        match self.listing(dir, asked) {
            Term::Long if is_directory(attributes) => self.own(&join(dir, name), asked),
            Term::Long if attributes.nlink > 1 => Term::Short,
            term => term,
        }
    }

    /// Returns how long a directory's own attributes may be told.
    pub(super) fn own(&self, dir: &[u8], asked: Instant) -> Term {
        match self.known.get(dir) {
            Some(Standing::Watched { own, .. }) => own.term(asked),
            _ => Term::Short,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use trawl_remote::wire::{Happened, NewsName};

    fn changed(dir: &str, name: &str) -> News {
        let name = NewsName {
            happened: Happened::Changed,
            name: name.into(),
        };
        News::Changed {
            dir: dir.into(),
            names: vec![name],
        }
    }

    fn attributes(mode: u32, nlink: u64) -> Attributes {
        Attributes {
            mode,
            nlink,
            ..Attributes::default()
        }
    }

    #[test]
    fn only_what_was_asked_for_after_the_news_lasts() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut watched = Watched::default();
        watched.wish(b"a");
        assert!(!watched.has_wishes(), "nobody watches");
        watched.set_on(true);
        watched.wish(b"a/b");
        assert_eq!(watched.take_wishes(), [&b""[..], b"a", b"a/b"]);
        watched.hear(&News::Watched(Vec::new()), at(1));
        watched.hear(&News::Watched(b"a".to_vec()), at(2));
        watched.hear(&News::Unwatched(b"a/b".to_vec()), at(2));
        assert_eq!(watched.listing(b"a", at(1)), Term::Short);
        assert_eq!(watched.listing(b"a", at(2)), Term::Long);
        assert_eq!(watched.listing(b"a/b", at(9)), Term::Short);
        assert!(watched.is_short());
        // Facts that could change unnoticed.
        let (file, dir) = (attributes(0o100_644, 1), attributes(0o040_755, 2));
        let twice = attributes(0o100_644, 2);
        for (name, attributes, term) in [
            ("x", file, Term::Long),
            ("x", twice, Term::Short),
            ("b", dir, Term::Short),
        ] {
            let found = watched.entry(b"a", at(3), name.as_bytes(), &attributes);
            assert_eq!(found, term, "{name}");
        }
        watched.hear(&changed("a", "x"), at(4));
        assert_eq!(watched.listing(b"a", at(3)), Term::Old);
        assert_eq!(watched.listing(b"a", at(4)), Term::Long);
        assert_eq!(watched.entry(b"", at(3), b"a", &dir), Term::Long);
        watched.hear(&changed("a", "."), at(5));
        assert_eq!(watched.entry(b"", at(4), b"a", &dir), Term::Old);
        assert_eq!(watched.listing(b"a", at(4)), Term::Long);
    }

    #[test]
    fn nothing_is_watched_below_what_is_not() {
        let now = Instant::now();
        let mut watched = Watched::default();
        watched.set_on(true);
        watched.wish(b"a/b");
        watched.hear(&News::Watched(Vec::new()), now);
        // In the wrong order: the identity of `a` was not certain at that time.
        watched.hear(&News::Watched(b"a/b".to_vec()), now);
        assert_eq!(watched.listing(b"a/b", now), Term::Short);
        watched.hear(&News::Watched(b"a".to_vec()), now);
        watched.take_wishes();
        watched.wish(b"a/b");
        assert_eq!(watched.take_wishes(), [b"a/b"]);
        watched.hear(&News::Watched(b"a/b".to_vec()), now);
        assert_eq!(watched.listing(b"a/b", now), Term::Long);
        watched.hear(&News::Lost(b"a".to_vec()), now);
        assert_eq!(watched.listing(b"a/b", now), Term::Short);
        assert_eq!(watched.listing(b"", now), Term::Long);
        watched.wish(b"a");
        watched.hear(&News::Unwatched(b"a".to_vec()), now);
        watched.take_wishes();
        watched.wish(b"a/c/d");
        assert!(!watched.has_wishes());
        assert!(watched.clear() && !watched.clear());
        // News about directories that were not requested are ignored.
        watched.hear(&News::Watched(Vec::new()), now);
        assert_eq!(watched.listing(b"", now), Term::Short);
    }
}
