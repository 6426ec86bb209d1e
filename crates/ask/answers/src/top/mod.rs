//! Ranks files, directories, owners, groups, extensions and projects by size, time or number.
//!
//! Files with several names count once. Directories are summed up from the running sums of the
//! index, without looking at their entries.

mod directories;
mod entries;
mod groups;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use trawl_model::column::ColumnSet;
use trawl_model::{SortKey, TimeKind, Timestamp, path};
use trawl_query::{Count, Entry, Start, Totals};
use trawl_session::{Depth, Follow, Part, Session};
use trawl_text::owners::Owners;

pub use self::directories::Ranked;
use crate::error::AnswerError;
use crate::expression::Expression;
use crate::stats::{By, Group, Sums};

/// Subject of a ranking, and its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Files, the largest first.
    Largest,
    /// Files, the one with the earliest time first.
    Oldest(TimeKind),
    /// Files, the one with the latest time first.
    Newest(TimeKind),
    /// Directories with everything below them.
    Directories,
    /// Directories by the number of their own entries.
    Fullest,
    /// Groups of entries of this kind.
    Groups(By),
}

/// Quantity by which directories with everything below them, and groups, are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Space used.
    Space,
    /// Number of entries.
    Entries,
}

/// The kind of size that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeKind {
    /// Allocated space.
    Allocated,
    /// Apparent size.
    Apparent,
}

impl SizeKind {
    /// Returns the size in bytes that counts, given the apparent size in bytes and the allocated
    /// space in blocks.
    pub fn of(self, size_bytes: u64, blocks: u64) -> u64 {
        match self {
            SizeKind::Apparent => size_bytes,
            SizeKind::Allocated => blocks.saturating_mul(512),
        }
    }

    fn of_count(self, count: &Count) -> u64 {
        match self {
            SizeKind::Apparent => count.size_bytes,
            SizeKind::Allocated => count.blocks,
        }
    }
}

/// Options of [`top`].
pub struct TopOptions<'a> {
    /// The subject.
    pub subject: Subject,
    /// Quantity by which directories and groups are ranked.
    pub by: Measure,
    /// The kind of size that counts.
    pub size: SizeKind,
    /// Maximum number of files or directories. All groups are returned.
    pub limit: usize,
    /// Entries that are ranked; does not apply to directories.
    pub expression: &'a Expression,
    /// Columns that are read of files.
    pub columns: ColumnSet,
    /// The time that ages refer to.
    pub now: Timestamp,
}

impl TopOptions<'_> {
    /// Returns the position of an entry among the ranked entries of several machines.
    #[must_use]
    pub fn position(&self, entry: &Entry) -> SortKey {
        entries::position(self, entry)
    }
}

/// A place that a question is about.
pub struct Place {
    /// Path as the user spelled it.
    pub given: Vec<u8>,
    /// The entry.
    pub start: Start,
}

/// The first of the subjects, in order.
pub enum Ranking {
    /// Files, each with its path spelled as the user began.
    Files(Vec<(Vec<u8>, Entry)>),
    /// Directories.
    Directories(Vec<Ranked>),
    /// All groups, and the sum that shares refer to.
    Groups(Vec<Group>, Count),
}

/// A ranking, and totals that shares refer to.
pub struct Top {
    /// The places; none lies within another.
    pub places: Vec<Place>,
    /// The first of the subjects.
    pub ranking: Ranking,
    /// Totals below all places.
    whole: Totals,
    /// Size in bytes and blocks of the places' own rows.
    own: (u64, u64),
}

/// Ranks the subjects at and below these paths. The session reports paths that do not exist.
///
/// # Errors
/// If the index cannot be read.
pub fn top(
    session: &mut Session<'_>,
    paths: &[OsString],
    options: &TopOptions<'_>,
    owners: &Owners,
) -> Result<Top, AnswerError> {
    let places = places(session, paths)?;
    let mut top = Top {
        places: Vec::new(),
        ranking: Ranking::Files(Vec::new()),
        whole: Totals::default(),
        own: (0, 0),
    };
    for place in &places {
        top.note(session, &place.start)?;
    }
    top.ranking = match options.subject {
        Subject::Largest | Subject::Oldest(_) | Subject::Newest(_) => {
            Ranking::Files(entries::first(options, session, &places)?)
        }
        Subject::Directories | Subject::Fullest => {
            Ranking::Directories(directories::first(options, session, &places)?)
        }
        Subject::Groups(by) => {
            let (rows, whole) = groups::ranked(options, by, session, &places, owners)?;
            Ranking::Groups(rows, whole)
        }
    };
    top.places = places;
    Ok(top)
}

/// Returns the groups of several machines as one ranking: groups with the same label are summed up.
#[must_use]
pub fn merged(options: &TopOptions<'_>, by: By, groups: Sums) -> Vec<Group> {
    groups::merged(options, by, groups)
}

/// Looks up the paths; no place lies within another.
fn places(session: &mut Session<'_>, paths: &[OsString]) -> Result<Vec<Place>, AnswerError> {
    let mut places: Vec<Place> = Vec::new();
    for given in paths {
        let Some(start) = session.locate(given, Follow::Last)? else {
            continue;
        };
        let is_in = |a: &Start, b: &Start| path::is_within(&a.path, &b.path);
        if places.iter().any(|known| is_in(&start, &known.start)) {
            continue;
        }
        places.retain(|known| !is_in(&known.start, &start));
        places.push(Place {
            given: given.as_bytes().to_vec(),
            start,
        });
    }
    for Place { given, start } in &places {
        session.note_part(start, given, &Part::whole(Depth::All))?;
    }
    Ok(places)
}

impl Top {
    /// Adds the entries at and below a place to the totals.
    fn note(&mut self, session: &Session<'_>, start: &Start) -> Result<(), AnswerError> {
        let totals = session.index().totals(start)?;
        let row = start.own_row();
        self.own.0 = self.own.0.wrapping_add(row.size());
        self.own.1 = self.own.1.wrapping_add(row.blocks());
        let (sums, more) = (&mut self.whole.sums, &totals.sums);
        sums.files = sums.files.wrapping_add(more.files);
        sums.dirs = sums.dirs.wrapping_add(more.dirs);
        sums.symlinks = sums.symlinks.wrapping_add(more.symlinks);
        sums.others = sums.others.wrapping_add(more.others);
        sums.size_bytes = sums.size_bytes.wrapping_add(more.size_bytes);
        sums.blocks = sums.blocks.wrapping_add(more.blocks);
        let (repeats, more) = (&mut self.whole.repeats, &totals.repeats);
        repeats.entries = repeats.entries.saturating_add(more.entries);
        repeats.size_bytes = repeats.size_bytes.wrapping_add(more.size_bytes);
        repeats.blocks = repeats.blocks.wrapping_add(more.blocks);
        Ok(())
    }

    /// Returns the number of entries below all places; every name counts.
    pub fn whole_entries(&self) -> u64 {
        self.whole.sums.entries()
    }

    /// Returns the bytes of all places, each object counted once.
    pub fn whole_bytes(&self, size: SizeKind) -> u64 {
        let (sums, repeats) = (&self.whole.sums, &self.whole.repeats);
        match size {
            SizeKind::Apparent => sums
                .size_bytes
                .wrapping_sub(repeats.size_bytes)
                .wrapping_add(self.own.0),
            SizeKind::Allocated => sums
                .blocks
                .wrapping_sub(repeats.blocks)
                .wrapping_add(self.own.1)
                .saturating_mul(512),
        }
    }
}
