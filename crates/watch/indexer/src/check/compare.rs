//! Compares what a user may see on the source with what the index shows.

use trawl_model::{Timestamp, path};

use super::facts::{Entries, Facts};
use super::shown::Shown;
use super::source::Seen;

/// Meaning of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The index shows something that the source does not.
    Leak,
    /// The source shows something that the index does not.
    Missing,
    /// Both show the entry, but differently.
    Differs,
    /// The source has changed since the snapshot began.
    Changed,
    /// A directory was closed to the user since the snapshot; the index still lists it.
    Closed,
    /// The user may no longer read an attribute's value; the index still shows it.
    Withdrawn,
}

impl Kind {
    /// Returns the kind as one word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Leak => "leak",
            Kind::Missing => "missing",
            Kind::Differs => "differs",
            Kind::Changed => "changed",
            Kind::Closed => "closed",
            Kind::Withdrawn => "withdrawn",
        }
    }
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its meaning.
    pub kind: Kind,
    /// The entry or directory.
    pub path: Vec<u8>,
    /// What differs, in words.
    pub what: String,
}

/// Counts and differences for one user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Directories that were compared.
    pub directories: u64,
    /// Directories that both the source and the index list.
    pub listed: u64,
    /// Directories that neither lists.
    pub refused: u64,
    /// Directories that questions read from the live file system.
    pub live: u64,
    /// Directories with r but without x: the known deviation.
    pub unsearchable: u64,
    /// Entries that the source shows.
    pub entries: u64,
    /// Entries that are equal in everything that was compared.
    pub agreed: u64,
    /// Values of extended attributes that were compared.
    pub values: u64,
    /// Everything that differs.
    pub differences: Vec<Difference>,
}

impl Tally {
    /// Returns the number of differences of a kind.
    pub fn count(&self, kind: Kind) -> u64 {
        let of_kind = self.differences.iter().filter(|found| found.kind == kind);
        of_kind.count() as u64
    }

    /// Records a difference.
    pub(super) fn add(&mut self, kind: Kind, path: &[u8], what: impl Into<String>) {
        self.differences.push(Difference {
            kind,
            path: path.to_vec(),
            what: what.into(),
        });
    }
}

/// A directory to be compared.
pub(super) struct Case<'a> {
    pub(super) dir: &'a [u8],
    /// Whether the directory or one above it has other permissions than in the snapshot, or is
    /// gone.
    pub(super) is_changed: bool,
    /// Time of the last change of the directory's own attributes; a later change of its content
    /// changes them.
    pub(super) ctime: Timestamp,
    /// Entries that the superuser is shown.
    pub(super) all: &'a Entries,
    /// Time from which changes may be missing from the snapshot.
    pub(super) since: Timestamp,
}

/// Whether a walk that only lists directories reaches a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) on_source: bool,
    pub(super) in_index: bool,
}

impl Case<'_> {
    /// Compares what a user may see with what the index shows them.
    pub(super) fn compare(&self, seen: Seen, shown: Shown, reached: Reached, tally: &mut Tally) {
        tally.directories += 1;
        // A directory that no longer exists was not closed.
        let if_changed = match seen {
            Seen::Gone => Kind::Changed,
            _ => Kind::Closed,
        };
        match (seen, shown) {
            (Seen::NamesOnly, Shown::Nothing | Shown::Live) => {
                tally.unsearchable += 1;
                return;
            }
            (Seen::Listing(_) | Seen::Refused | Seen::Gone, Shown::Live) => {
                tally.live += 1;
            }
            (Seen::Refused | Seen::Gone, Shown::Nothing) => tally.refused += 1,
            (Seen::Listing(seen), Shown::Listing(shown)) => {
                tally.listed += 1;
                self.compare_entries(&seen, &shown, tally);
            }
            (Seen::Listing(_), Shown::Nothing) => {
                let kind = self.unless_changed(Kind::Missing);
                tally.add(
                    kind,
                    self.dir,
                    "it may be listed; the index does not show its entries",
                );
            }
            (Seen::Gone, Shown::Listing(_)) => {
                let kind = self.unless_changed(Kind::Leak);
                tally.add(kind, self.dir, "it does not exist; the index lists it");
            }
            (Seen::Refused | Seen::NamesOnly, Shown::Listing(_)) => {
                let kind = self.leak_or(Kind::Closed);
                tally.add(kind, self.dir, "permission denied; the index lists it");
            }
        }
        match (reached.on_source, reached.in_index) {
            (true, false) => {
                let kind = self.unless_changed(Kind::Missing);
                tally.add(
                    kind,
                    self.dir,
                    "a walk from the root reaches it; a walk of the index does not",
                );
            }
            (false, true) => {
                let kind = self.leak_or(if_changed);
                tally.add(
                    kind,
                    self.dir,
                    "no walk from the root reaches it; a walk of the index does",
                );
            }
            _ => {}
        }
    }

    fn unless_changed(&self, kind: Kind) -> Kind {
        match self.is_changed {
            true => Kind::Changed,
            false => kind,
        }
    }

    /// Returns a leak, or `if_changed` if permissions have changed since the snapshot.
    fn leak_or(&self, if_changed: Kind) -> Kind {
        match self.is_changed {
            true => if_changed,
            false => Kind::Leak,
        }
    }

    /// Returns `kind`, or [`Kind::Changed`] if the object with this change time has changed since
    /// the snapshot.
    fn unless_since(&self, kind: Kind, ctime: Timestamp) -> Kind {
        match ctime >= self.since {
            true => Kind::Changed,
            false => self.unless_changed(kind),
        }
    }

    fn compare_entries(&self, seen: &Entries, shown: &Entries, tally: &mut Tally) {
        for (name, facts) in seen {
            tally.entries += 1;
            let path = path::join(self.dir, name);
            match shown.get(name) {
                Some(shown) => self.compare_entry(&path, facts, shown, tally),
                None if self.all.contains_key(name) => {
                    let kind = self.unless_changed(Kind::Missing);
                    tally.add(kind, &path, "it may be seen; the index does not show it");
                }
                // The superuser is not shown it either: it was created later, or was left out of
                // the scan.
                None => tally.agreed += 1,
            }
        }
        for name in shown.keys().filter(|name| !seen.contains_key(*name)) {
            tally.entries += 1;
            let kind = self.unless_since(Kind::Leak, self.ctime);
            let path = path::join(self.dir, name);
            tally.add(kind, &path, "it must not be seen; the index shows it");
        }
    }

    fn compare_entry(&self, path: &[u8], seen: &Facts, shown: &Facts, tally: &mut Tally) {
        let before = tally.differences.len();
        if let Some(what) = seen.difference(shown) {
            let kind = self.unless_since(Kind::Differs, seen.ctime);
            tally.add(kind, path, what);
        }
        for (name, value) in &seen.attributes {
            tally.values += 1;
            let label = trawl_text::words::shown(name);
            let missing = self.unless_since(Kind::Missing, seen.ctime);
            match (value, shown.attributes.get(name)) {
                (_, None) => {
                    tally.add(missing, path, format!("its attribute {label} is not shown"))
                }
                (None, Some(Some(_))) => {
                    let kind = match self.unless_since(Kind::Leak, seen.ctime) {
                        Kind::Changed => Kind::Withdrawn,
                        kind => kind,
                    };
                    let what = format!("the value of {label} may not be read; the index shows it");
                    tally.add(kind, path, what);
                }
                (Some(_), Some(None)) => {
                    tally.add(missing, path, format!("the value of {label} is not shown"));
                }
                (value, Some(shown)) if value != shown => {
                    let kind = self.unless_since(Kind::Differs, seen.ctime);
                    tally.add(
                        kind,
                        path,
                        format!("the index shows another value of {label}"),
                    );
                }
                _ => {}
            }
        }
        let others = shown.attributes.keys();
        for name in others.filter(|name| !seen.attributes.contains_key(*name)) {
            let kind = self.unless_since(Kind::Leak, seen.ctime);
            let label = trawl_text::words::shown(name);
            tally.add(
                kind,
                path,
                format!("it has no attribute {label}; the index shows one"),
            );
        }
        tally.agreed += u64::from(tally.differences.len() == before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Reached = Reached {
        on_source: false,
        in_index: false,
    };

    fn entries(names: &[&str]) -> Entries {
        let entry = |name: &&str| (name.as_bytes().to_vec(), Facts::default());
        names.iter().map(entry).collect()
    }

    fn compare(is_changed: bool, seen: Seen, shown: Shown, reached: Reached) -> Tally {
        let all = entries(&["a", "b"]);
        let case = Case {
            dir: b"/d",
            is_changed,
            ctime: Timestamp { secs: 1, nanos: 0 },
            all: &all,
            since: Timestamp { secs: 5, nanos: 0 },
        };
        let mut tally = Tally::default();
        case.compare(seen, shown, reached, &mut tally);
        tally
    }

    fn kinds(tally: &Tally) -> Vec<Kind> {
        tally.differences.iter().map(|found| found.kind).collect()
    }

    #[test]
    fn listings_are_compared_both_ways() {
        let listing = |names: &[&str]| Seen::Listing(entries(names));
        let shown = |names: &[&str]| Shown::Listing(entries(names));
        let ask = |seen, shown| kinds(&compare(false, seen, shown, NEVER));
        assert_eq!(ask(listing(&["a"]), shown(&["a"])), []);
        assert_eq!(ask(listing(&["a"]), shown(&["a", "b"])), [Kind::Leak]);
        assert_eq!(ask(listing(&["a", "b"]), shown(&["a"])), [Kind::Missing]);
        assert_eq!(ask(listing(&["a", "new"]), shown(&["a"])), []);
        assert_eq!(ask(Seen::Refused, shown(&[])), [Kind::Leak]);
        assert_eq!(ask(Seen::NamesOnly, shown(&[])), [Kind::Leak]);
        assert_eq!(ask(Seen::Gone, shown(&[])), [Kind::Leak]);
        assert_eq!(ask(listing(&[]), Shown::Nothing), [Kind::Missing]);
        assert_eq!(ask(Seen::Refused, Shown::Nothing), []);
        assert_eq!(ask(listing(&[]), Shown::Live), []);
        assert_eq!(ask(Seen::NamesOnly, Shown::Nothing), []);
    }

    #[test]
    fn who_comes_there_is_compared_both_ways() {
        let reached = |on_source, in_index| Reached {
            on_source,
            in_index,
        };
        let ask = |is_changed, reached| {
            let (seen, shown) = (Seen::Listing(entries(&[])), Shown::Listing(entries(&[])));
            kinds(&compare(is_changed, seen, shown, reached))
        };
        assert_eq!(ask(false, reached(true, true)), []);
        assert_eq!(ask(false, reached(false, true)), [Kind::Leak]);
        assert_eq!(ask(false, reached(true, false)), [Kind::Missing]);
        assert_eq!(ask(true, reached(false, true)), [Kind::Closed]);
    }

    #[test]
    fn attributes_are_compared_one_by_one() {
        let facts = |value: Option<&[u8]>, size, ctime| Facts {
            size,
            ctime: Timestamp {
                secs: ctime,
                nanos: 0,
            },
            attributes: [(b"user.x".to_vec(), value.map(<[u8]>::to_vec))].into(),
            ..Facts::default()
        };
        let ask = |seen: Facts, shown: Facts| {
            let one = |facts| Entries::from([(b"a".to_vec(), facts)]);
            let (seen, shown) = (Seen::Listing(one(seen)), Shown::Listing(one(shown)));
            kinds(&compare(false, seen, shown, NEVER))
        };
        let known = || facts(Some(b"v"), 1, 1);
        assert_eq!(ask(known(), known()), []);
        assert_eq!(ask(known(), facts(Some(b"v"), 2, 1)), [Kind::Differs]);
        assert_eq!(ask(known(), facts(None, 1, 1)), [Kind::Missing]);
        assert_eq!(ask(facts(None, 1, 1), known()), [Kind::Leak]);
        assert_eq!(ask(known(), facts(Some(b"w"), 1, 1)), [Kind::Differs]);
        let bare = Facts {
            attributes: [].into(),
            ..known()
        };
        assert_eq!(ask(bare.clone(), known()), [Kind::Leak]);
        assert_eq!(ask(known(), bare), [Kind::Missing]);
        let later = [Kind::Changed, Kind::Changed];
        assert_eq!(ask(facts(Some(b"w"), 1, 9), known()), later);
    }
}
