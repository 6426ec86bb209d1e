//! Space used, counted as GNU du does: directories after their content, files with several names
//! once.
//!
//! Sums come in path order. Where the running sums of the index are enough, no entry is looked at.

mod correction;
mod counted;
mod excluded;
mod tally;

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use trawl_model::path::{is_within, split};
use trawl_model::{Subtrees, TimeKind, Timestamp};
use trawl_query::{Detail, SeenLinks, Start, Usage, UsageOf, UsageRequest};
use trawl_session::spelling::printed_path;
use trawl_session::{Depth, Follow, Session};

use self::correction::{Corrected, Correction, elsewhere, minus};
use self::counted::{Counted, Earlier};
pub use self::excluded::Excluded;
use self::tally::Tally;
use crate::error::{AnswerError, Ended};

/// Kinds of entries that get a sum of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Directories, and the paths of the question.
    #[default]
    Directories,
    /// All entries.
    All,
}

/// Links that are counted as their targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// None.
    #[default]
    Themselves,
    /// Those that are paths of the question.
    Arguments,
    /// All.
    Targets,
}

/// Options of [`Du`]: the entries to sum up, and how.
#[derive(Debug)]
pub struct DuOptions {
    /// Kinds of entries that get a sum.
    pub shown: Shown,
    /// Deepest level below a path of the question that gets a sum.
    pub max_depth: u32,
    /// True if the question has only one path, so that no file can be counted twice.
    pub is_single: bool,
    /// True if directories are counted without their subdirectories.
    pub separate: bool,
    /// True if every name of a file counts.
    pub count_links: bool,
    /// True if entries on other file systems than the path's are left out.
    pub one_file_system: bool,
    /// Links that are counted as their targets.
    pub links: Links,
    /// Paths that are left out.
    pub excluded: Excluded,
    /// The time whose latest value is found; `None` if none is needed.
    pub time: Option<TimeKind>,
}

impl Default for DuOptions {
    fn default() -> DuOptions {
        DuOptions {
            shown: Shown::Directories,
            max_depth: u32::MAX,
            is_single: false,
            separate: false,
            count_links: false,
            one_file_system: false,
            links: Links::Themselves,
            excluded: Excluded::default(),
            time: None,
        }
    }
}

impl DuOptions {
    /// Returns true if only the sum over a single path is asked for.
    fn wants_one_sum(&self) -> bool {
        let plain = !self.separate && !self.count_links && !self.one_file_system;
        plain && self.is_single && self.max_depth == 0
    }

    /// Returns true if each entry must be looked at, because the sums that the index keeps are not
    /// enough.
    fn needs_entries(&self) -> bool {
        self.time.is_some() || !self.excluded.is_empty() || self.links == Links::Targets
    }

    fn is_shown(&self, is_dir: bool, depth: usize) -> bool {
        let listed = is_dir || depth == 0 || self.shown == Shown::All;
        let deep = u32::try_from(depth).unwrap_or(u32::MAX) > self.max_depth;
        listed && !deep
    }
}

/// Space, and the latest time of anything in it.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Space.
    pub usage: Usage,
    /// The latest time, if [`DuOptions::time`] asks for one.
    pub time: Timestamp,
}

impl Amount {
    /// No space.
    pub const NOTHING: Amount = Amount {
        usage: Usage {
            blocks: 0,
            size_bytes: 0,
            dir_size_bytes: 0,
            inodes: 0,
        },
        time: Timestamp {
            secs: i64::MIN,
            nanos: 0,
        },
    };

    /// Adds another amount.
    pub fn add(&mut self, other: &Amount) {
        self.usage.add(&other.usage);
        self.time = self.time.max(other.time);
    }

    fn untimed(usage: Usage) -> Amount {
        Amount {
            usage,
            ..Amount::NOTHING
        }
    }
}

/// The sum of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Sum<'a> {
    /// Path, spelled as the user began.
    pub path: &'a [u8],
    /// Levels below the path of the question.
    pub depth: usize,
    /// True for directories.
    pub is_dir: bool,
    /// Space of the entry and, for a directory, of its content.
    pub amount: Amount,
}

/// Receiver of sums.
pub type Visit<'v> = dyn FnMut(&Sum<'_>) -> ControlFlow<()> + 'v;

/// A question about the space of paths: what was counted so far, and the total.
pub struct Du<'a> {
    options: &'a DuOptions,
    tally: Tally<'a>,
    /// Files with several names that were already counted.
    seen: SeenLinks,
    /// The paths counted so far; nothing is counted twice.
    counted: Counted,
    total: Amount,
}

impl<'a> Du<'a> {
    /// Begins a question; nothing is counted yet.
    pub fn new(session: &Session<'a>, options: &'a DuOptions) -> Du<'a> {
        Du {
            options,
            tally: Tally::new(session, options),
            seen: match options.count_links {
                true => SeenLinks::counting_each_name(),
                false => SeenLinks::new(),
            },
            counted: Counted::default(),
            // For no file at all, GNU du shows 1970.
            total: Amount {
                time: Timestamp::default(),
                ..Amount::NOTHING
            },
        }
    }

    /// Returns the sum over all paths so far.
    pub fn total(&self) -> Amount {
        self.total
    }

    /// Sums up a path and passes the sums to `visit`, which may end the answer. A path that does not
    /// exist, or that was counted as part of an earlier one, gives no sum; the session reports what
    /// is missing.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn add(
        &mut self,
        session: &mut Session<'_>,
        given: &OsStr,
        visit: &mut Visit<'_>,
    ) -> Result<(), AnswerError> {
        let name = one_slash(given.as_bytes());
        if self.options.excluded.has(name) {
            return Ok(());
        }
        let follow = match self.options.links {
            Links::Themselves => Follow::Never,
            Links::Arguments | Links::Targets => Follow::Last,
        };
        let Some(start) = session.locate(given, follow)? else {
            return Ok(());
        };
        Ended::error(match self.options.needs_entries() {
            true => self.tallied(session, name, &start, visit),
            false => self.summed(session, name, &start, visit),
        })
    }

    /// Counts a path from the sums that the index keeps.
    fn summed(
        &mut self,
        session: &mut Session<'_>,
        name: &[u8],
        start: &Start,
        visit: &mut Visit<'_>,
    ) -> Result<(), Ended> {
        let earlier = match self.options.count_links {
            true => Earlier::Nothing,
            false => self.counted.earlier(session.index(), start)?,
        };
        if matches!(earlier, Earlier::Everything) {
            return Ok(());
        }
        let mut part = trawl_session::Part::whole(Depth::All);
        if self.options.wants_one_sum() {
            self.one_sum(session, name, start, visit)?;
            return Ok(session.note_part(start, name, &part)?);
        }
        let mut excluded = match self.options.one_file_system && start.is_dir {
            true => elsewhere(session, start)?,
            false => Vec::new(),
        };
        let left_out: Subtrees = excluded.iter().map(|part| part.path.clone()).collect();
        if !self.options.count_links {
            excluded.extend(self.counted.below(&start.path));
        }
        let mut correction = Correction::new(excluded, self.options.separate);
        part.skip = correction.excluded_paths();
        let mut whole = self.each(session, name, start, &mut correction, visit)?;
        if let Earlier::Itself(own) = earlier {
            whole = minus(whole, &own);
        }
        self.total.usage.add(&whole);
        if !self.options.count_links {
            self.counted.insert(start, left_out);
        }
        Ok(session.note_part(start, name, &part)?)
    }

    /// Counts a path entry by entry.
    fn tallied(
        &mut self,
        session: &mut Session<'_>,
        name: &[u8],
        start: &Start,
        visit: &mut Visit<'_>,
    ) -> Result<(), Ended> {
        let options = self.options;
        let whole = self.tally.count(start, name, &mut |sum| match options
            .is_shown(sum.is_dir, sum.depth)
        {
            true => visit(sum),
            false => ControlFlow::Continue(()),
        });
        session.note_unreachable(self.tally.take_unreachable());
        self.total.add(&whole?);
        // Directories that were left out are not reported as unreadable.
        let hides = |path: &[u8]| {
            let mut below = path;
            while let Some((above, _)) = split(below).filter(|_| is_within(below, &start.path)) {
                let printed = printed_path(name, &start.path, below);
                if options.excluded.has(&printed) {
                    return true;
                }
                below = above;
            }
            false
        };
        let part = trawl_session::Part {
            depth: Depth::All,
            skip: Subtrees::new(),
            hides: &hides,
        };
        Ok(session.note_part(start, name, &part)?)
    }

    /// Passes on a sum for each directory of a path, or for each file. Returns the sum of the path.
    fn each(
        &mut self,
        session: &Session<'_>,
        name: &[u8],
        start: &Start,
        correction: &mut Correction,
        visit: &mut Visit<'_>,
    ) -> Result<Usage, Ended> {
        let request = self.request(session, correction);
        let mut seen = std::mem::take(&mut self.seen);
        let (mut is_stopped, mut whole) = (false, Usage::default());
        session.index().usage(start, &request, &mut seen, |of| {
            let Some(sums) = correction.correct(of) else {
                return ControlFlow::Continue(());
            };
            if of.depth == 0 {
                whole = sums.with_below;
            }
            let flow = self.corrected(name, start, of, &sums, visit);
            is_stopped = flow.is_break();
            flow
        })?;
        self.seen = seen;
        if is_stopped {
            return Err(Ended::Stopped);
        }
        Ok(whole)
    }

    fn request<'s>(&self, session: &Session<'s>, correction: &Correction) -> UsageRequest<'s> {
        let deepest = usize::try_from(self.options.max_depth).unwrap_or(usize::MAX);
        let everything = self.options.shown == Shown::All || correction.needs_files();
        UsageRequest {
            // Corrected sums need the sums of every directory.
            max_depth: correction.is_needless().then_some(deepest),
            detail: match everything {
                true => Detail::Everything,
                false => Detail::Directories,
            },
            cancel: session.cancel(),
        }
    }

    /// Passes on a corrected sum if it is to be shown.
    fn corrected(
        &self,
        name: &[u8],
        start: &Start,
        of: &UsageOf<'_>,
        sums: &Corrected,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        if !self.options.is_shown(of.is_dir, of.depth) {
            return ControlFlow::Continue(());
        }
        let path = printed_path(name, &start.path, of.path);
        let usage = match self.options.separate {
            true => sums.without_dirs,
            false => sums.with_below,
        };
        visit(&Sum {
            path: &path,
            depth: of.depth,
            is_dir: of.is_dir,
            amount: Amount::untimed(usage),
        })
    }

    /// Computes the sum of everything from running sums, without looking at each directory.
    fn one_sum(
        &mut self,
        session: &Session<'_>,
        name: &[u8],
        start: &Start,
        visit: &mut Visit<'_>,
    ) -> Result<(), Ended> {
        let totals = session.index().totals(start)?;
        let row = start.own_row();
        let (sums, repeats) = (totals.sums, totals.repeats);
        let usage = Usage {
            blocks: row
                .blocks()
                .wrapping_add(sums.blocks)
                .wrapping_sub(repeats.blocks),
            size_bytes: row
                .size()
                .wrapping_add(sums.size_bytes)
                .wrapping_sub(repeats.size_bytes),
            inodes: (1 + sums.entries()).saturating_sub(repeats.entries),
            ..Usage::default()
        };
        self.total.usage.add(&usage);
        let sum = Sum {
            path: name,
            depth: 0,
            is_dir: start.is_dir,
            amount: Amount::untimed(usage),
        };
        Ended::check(visit(&sum))
    }
}

/// Removes all trailing slashes except the first, as fts(3) does. A path of exactly two slashes
/// stays, because it may mean something other than `/`.
fn one_slash(given: &[u8]) -> &[u8] {
    let trimmed = given
        .iter()
        .rposition(|b| *b != b'/')
        .map_or(0, |last| last + 1);
    match given.len() - trimmed {
        0 | 1 => given,
        2 if trimmed == 0 => given,
        _ => given.get(..=trimmed).unwrap_or(given),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_at_the_end_are_as_few_as_in_fts() {
        for (given, kept) in [
            ("a", "a"),
            ("a/", "a/"),
            ("a///", "a/"),
            ("/", "/"),
            ("//", "//"),
            ("///", "/"),
        ] {
            assert_eq!(one_slash(given.as_bytes()), kept.as_bytes());
        }
    }
}
