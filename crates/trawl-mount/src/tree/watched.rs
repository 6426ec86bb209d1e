//! Which directories the server watches, and what therefore may be told for long.
//!
//! What was asked for while its directory was watched, and after the last news of it, is as it is
//! now. All else has the short age; what was asked for before such news is old at once.
//!
//! Invariants: of a directory that is watched all above it are, too, so nobody puts another in its
//! place unheard; what would change unheard has the short age, wherever it is: files with several
//! names, directories that are not watched themselves.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use trawl_call::Attributes;
use trawl_model::relative_path::{is_within, join, split};
use trawl_remote::wire::News;

use super::listing::is_directory;

/// Directories of which is known whether they are watched; the others have the short age.
const COUNT_MAX: usize = 128 << 10;
/// What is asked for at once.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 1 << 20;

/// How long what is known may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// Until the server says that it has changed.
    Long,
    /// For the short age.
    Short,
    /// Not any more.
    Old,
}

/// Since when something is up to date.
#[derive(Clone, Copy, Debug)]
struct Since {
    at: Instant,
    /// Because it changed then, not because it was watched from then on.
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
    /// It cannot be.
    Refused,
    Watched {
        /// What is in it.
        inside: Since,
        /// Its own attributes.
        own: Since,
    },
}

/// What the server watches for a tree.
#[derive(Debug, Default)]
pub(super) struct Watched {
    is_on: bool,
    known: HashMap<Vec<u8>, Standing>,
    wishes: VecDeque<Vec<u8>>,
    has_refused: bool,
}

impl Watched {
    /// From now on it is noted what is to be watched, or not any more.
    pub(super) fn set_on(&mut self, is_on: bool) {
        self.is_on = is_on;
        self.clear();
    }

    /// Nothing is watched any more; true if anything was.
    pub(super) fn clear(&mut self) -> bool {
        self.wishes.clear();
        self.has_refused = false;
        let mut known = self.known.drain();
        known.any(|(_, standing)| matches!(standing, Standing::Watched { .. }))
    }

    /// The directory is used: it is to be watched, and those above it first.
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

    /// Whether some of what is used is not watched: all might be, begun with anew.
    pub(super) fn is_short(&self) -> bool {
        self.has_refused || self.known.len() >= COUNT_MAX
    }

    pub(super) fn has_wishes(&self) -> bool {
        !self.wishes.is_empty()
    }

    /// What is to be asked for next.
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

    /// The server has said something.
    pub(super) fn hear(&mut self, news: &News, now: Instant) {
        let since = |is_change| Since { at: now, is_change };
        match news {
            News::Watched(dir) => {
                // Lost meanwhile, the one above may be another one than this one is in.
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

    /// Whether there was news of what is in the directory: then it is asked for by itself.
    pub(super) fn has_changed(&self, dir: &[u8]) -> bool {
        match self.known.get(dir) {
            Some(Standing::Watched { inside, .. }) => inside.is_change,
            _ => false,
        }
    }

    /// Of a listing: which names there are.
    pub(super) fn listing(&self, dir: &[u8], asked: Instant) -> Term {
        match self.known.get(dir) {
            Some(Standing::Watched { inside, .. }) => inside.term(asked),
            _ => Term::Short,
        }
    }

    /// Of what a listing says of a name.
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

    /// Of a directory's own attributes.
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
        // What would change unheard.
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
        // In the wrong order: what `a` is was not certain then.
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
        // What nobody asked for is not believed.
        watched.hear(&News::Watched(Vec::new()), now);
        assert_eq!(watched.listing(b"", now), Term::Short);
    }
}
