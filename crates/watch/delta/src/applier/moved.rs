//! Hides directories that were moved to a place that fewer users can reach: files of the index show
//! their content under the old path to users who could see it there.
//!
//! No change source needs to report the move. A directory that is scanned with everything below it
//! (because its path or its permissions are new), and that not everybody can reach, is looked up by
//! its inode among the dead rows.
//!
//! A directory that is moved while a round reads can be found at its new path by that round, while
//! only the next round learns that it left the old path. So the directories found by one round
//! count for the next round, too, which has taken all events of such a move.

use std::collections::HashMap;

use trawl_format::Table;
use trawl_model::guard::Guard;
use trawl_query::{DirObject, Part, RowsOf, Values};

use super::Reading;
use crate::error::Result;

/// Maximum number of directories remembered per round. Beyond it, all are assumed to have moved.
const DIRECTORIES_MOST: usize = 256 * 1024;

/// Directories that a round found and that not everybody can reach.
#[derive(Default)]
pub(super) struct Shut {
    /// The guards of their listings: the ordinary guard, and the one that applies if the directory
    /// gets a barrier for its size. Directories refer to them by index, since there are few.
    places: Vec<[Guard; 2]>,
    numbers: HashMap<[Guard; 2], usize>,
    found: HashMap<DirObject, FoundDirectory>,
    /// A directory that did not fit in.
    left_out: Option<Vec<u8>>,
}

/// The place where a directory was found.
struct FoundDirectory {
    path: Vec<u8>,
    place: usize,
}

impl Shut {
    /// Notes a directory and the guards of its listing.
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
        self.found.insert(object, FoundDirectory { path, place });
    }

    /// Returns true if rows behind this guard, of a directory that was at `path`, can be read by
    /// somebody who cannot reach the directory where it is now.
    fn shows_less_than(&self, guard: &Guard, path: &[u8], object: &DirObject) -> bool {
        let Some(found) = self.found.get(object).filter(|found| found.path != path) else {
            return false;
        };
        let mut places = self.places.get(found.place).into_iter().flatten();
        places.all(|place| guard.tightened(place).is_some())
    }
}

impl<'a> Reading<'a> {
    /// Notes dead rows of directories.
    pub(super) fn note_killed(&mut self, known: &[RowsOf<'a>]) {
        let of_dirs = known.iter().filter(|rows| rows.table == Table::Dirs);
        self.killed.extend(of_dirs.cloned());
    }

    /// Hides the content of directories that were moved to where fewer users reach them, if files
    /// show it under the old paths.
    pub(super) fn hide_moved(&mut self) -> Result<()> {
        // The pending snapshot leaves out all dead rows.
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
