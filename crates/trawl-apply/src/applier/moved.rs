//! Directories that were moved to where fewer reach them: files of the index tell of what they
//! hold where they were, to those who could see it there.
//!
//! No change source needs to report the move. A directory that is scanned with everything below it
//! (because its path or its permissions are new), and that not everybody can reach, is looked for
//! by its inode among the rows that no longer hold.
//!
//! A directory that is moved while a round reads can be found at its new path by that round, while
//! only the next one learns that it left the old path. So what a round found counts for the next
//! one, too, which has taken all events of such a move.

use std::collections::HashMap;

use trawl_index::Table;
use trawl_model::guard::Guard;
use trawl_query::{DirObject, Part, RowsOf, Values};

use super::Reading;
use crate::error::Result;

/// How many directories of a round are remembered. If there are more, all are taken to have moved.
const DIRECTORIES_MOST: usize = 256 * 1024;

/// Directories that were found in a round and that not everybody reaches.
#[derive(Default)]
pub(super) struct Shut {
    /// What guards their listings: one guard, or another if the directory gets a barrier for its
    /// size. Numbers stand for them, since there are few.
    places: Vec<[Guard; 2]>,
    numbers: HashMap<[Guard; 2], usize>,
    found: HashMap<DirObject, Found>,
    /// A directory that there was no room for.
    left_out: Option<Vec<u8>>,
}

/// Where a directory was found.
struct Found {
    path: Vec<u8>,
    place: usize,
}

impl Shut {
    /// Notes a directory whose listing belongs there.
    pub(super) fn note(&mut self, object: DirObject, path: &[u8], places: [Guard; 2]) {
        if places.iter().all(Guard::is_trivial) {
            return;
        }
        if self.found.len() >= DIRECTORIES_MOST {
            self.left_out.get_or_insert_with(|| path.to_vec());
            return;
        }
        let next = self.places.len();
        let place = *self.numbers.entry(places.clone()).or_insert(next);
        if place == next {
            self.places.push(places);
        }
        let path = path.to_vec();
        self.found.insert(object, Found { path, place });
    }

    /// True if rows behind this guard, of a directory that was at `path`, can be read by somebody
    /// who does not reach it where it is now.
    fn shows_less_than(&self, guard: &Guard, path: &[u8], object: &DirObject) -> bool {
        let Some(found) = self.found.get(object).filter(|found| found.path != path) else {
            return false;
        };
        let mut places = self.places.get(found.place).into_iter().flatten();
        places.all(|place| guard.tightened(place).is_some())
    }
}

impl<'a> Reading<'a> {
    /// Notes rows that no longer hold, of directories.
    pub(super) fn note_killed(&mut self, known: &[RowsOf<'a>]) {
        let of_dirs = known.iter().filter(|rows| rows.table == Table::Dirs);
        self.killed.extend(of_dirs.cloned());
    }

    /// Hides what directories hold that went where fewer reach them, where files tell of them by
    /// the paths that they had.
    pub(super) fn hide_moved(&mut self) -> Result<()> {
        // The snapshot that must be made anyway leaves out all rows that no longer hold.
        let rounds = [&self.shut, self.shut_before];
        if rounds.iter().all(|shut| shut.found.is_empty()) || self.more.withdrawn.is_some() {
            return Ok(());
        }
        if let Some(path) = rounds.iter().find_map(|shut| shut.left_out.as_ref()) {
            self.more.withdrawn = Some(path.clone());
            return Ok(());
        }
        let is_shut =
            |object: &DirObject| rounds.iter().any(|shut| shut.found.contains_key(object));
        let gone = self.view.gone_directories(&self.killed, is_shut)?;
        for one in gone {
            let guard = one.rows.shard.manifest.guard()?;
            let shows_less = |shut: &Shut| shut.shows_less_than(&guard, &one.path, &one.object);
            if shows_less(&self.shut) || shows_less(self.shut_before) {
                let rows = self
                    .all_rows()
                    .rows_of(&one.path, Part::Listing, Values::Some)?
                    .iter()
                    .map(|rows| rows.segment)
                    .collect::<Vec<_>>();
                self.hide_segments(&one.path, rows.into_iter().chain([one.rows.segment]));
            }
        }
        Ok(())
    }
}
