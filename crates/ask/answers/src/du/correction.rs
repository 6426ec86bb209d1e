//! Sums without some parts: parts that lie in earlier arguments or on other file systems, and the
//! subdirectories of a directory (`-S`).
//!
//! Works on usage as it arrives, the entries of a directory before the directory, with one set of
//! sums for each level of depth.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::ControlFlow;

use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::path::{cmp, is_within, split};
use trawl_model::rows::Row;
use trawl_model::{FileType, Subtrees};
use trawl_query::{Request, Start, Usage, UsageOf};

use trawl_session::Session;

use crate::error::AnswerError;

/// An entry below an argument that is not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Path in the index.
    pub(crate) path: Vec<u8>,
    /// True if it is a directory.
    pub(crate) is_dir: bool,
}

/// Corrected space of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Corrected {
    /// Space including everything below it.
    pub(crate) with_below: Usage,
    /// Space without its subdirectories.
    pub(crate) without_dirs: Usage,
}

/// Corrects sums as they arrive.
#[derive(Debug)]
pub(crate) struct Correction {
    separate: bool,
    /// Sorted by path; no part lies within another.
    excluded: Vec<Part>,
    /// By depth: sums found below a directory that is still to come.
    levels: Vec<Level>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Space of the directories at this level, including everything below them.
    dirs: Usage,
    /// The part of the sums at this level that must not be counted.
    excluded: Usage,
}

impl Correction {
    /// Creates a correction that leaves out `parts`, and counts directories without their
    /// subdirectories if `separate`.
    pub(crate) fn new(mut parts: Vec<Part>, separate: bool) -> Correction {
        parts.sort_by(|a, b| cmp(&a.path, &b.path));
        parts.dedup_by(|later, earlier| is_within(&later.path, &earlier.path));
        Correction {
            separate,
            excluded: parts,
            levels: Vec::new(),
        }
    }

    /// Returns the parts that are left out.
    pub(crate) fn excluded_paths(&self) -> Subtrees {
        let paths = self.excluded.iter().map(|part| part.path.clone());
        paths.collect()
    }

    /// Returns true if the sums need no correction.
    pub(crate) fn is_needless(&self) -> bool {
        self.excluded.is_empty() && !self.separate
    }

    /// Returns true if the correction must see files and not only directories.
    pub(crate) fn needs_files(&self) -> bool {
        self.excluded.iter().any(|part| !part.is_dir)
    }

    /// Returns the corrected space of `of`; `None` if it is not counted.
    pub(crate) fn correct(&mut self, of: &UsageOf<'_>) -> Option<Corrected> {
        if self.is_needless() {
            return Some(Corrected {
                with_below: of.usage,
                without_dirs: of.usage,
            });
        }
        let below = self.close(of.depth + 1);
        self.levels.resize(of.depth + 1, Level::default());
        let excluded = self.part_around(of.path).map(|part| part.path == of.path);
        let level = self.levels.last_mut()?;
        match excluded {
            Some(is_top) => {
                if is_top {
                    level.excluded.add(&of.usage);
                }
                None
            }
            None => {
                let with_below = minus(of.usage, &below.excluded);
                level.excluded.add(&below.excluded);
                if of.is_dir {
                    level.dirs.add(&with_below);
                }
                Some(Corrected {
                    with_below,
                    without_dirs: minus(with_below, &below.dirs),
                })
            }
        }
    }

    /// Removes the levels from `depth` downwards and returns the one at `depth`.
    fn close(&mut self, depth: usize) -> Level {
        let level = self.levels.get(depth).copied().unwrap_or_default();
        self.levels.truncate(depth);
        level
    }

    /// Returns the excluded part that contains `path`.
    fn part_around(&self, path: &[u8]) -> Option<&Part> {
        let not_after = |part: &Part| cmp(&part.path, path) != Ordering::Greater;
        let after = self.excluded.partition_point(not_after);
        let nearest = after.checked_sub(1).and_then(|at| self.excluded.get(at));
        nearest.filter(|part| is_within(path, &part.path))
    }
}

/// Returns the usage without a part of it.
pub(crate) fn minus(usage: Usage, part: &Usage) -> Usage {
    Usage {
        blocks: usage.blocks.wrapping_sub(part.blocks),
        size_bytes: usage.size_bytes.wrapping_sub(part.size_bytes),
        dir_size_bytes: usage.dir_size_bytes.wrapping_sub(part.dir_size_bytes),
        inodes: usage.inodes.wrapping_sub(part.inodes),
    }
}

/// Returns the topmost entries below `start` that lie on other devices.
pub(crate) fn elsewhere(session: &Session<'_>, start: &Start) -> Result<Vec<Part>, AnswerError> {
    let device = i128::from(start.own_row().dev().as_u64());
    let mut parts = Vec::new();
    for (low, high) in [(0, device - 1), (device + 1, i128::from(u64::MAX))] {
        if low <= high {
            parts.extend(on_devices(session, start, low, high)?);
        }
    }
    Ok(parts)
}

fn on_devices(
    session: &Session<'_>,
    start: &Start,
    low: i128,
    high: i128,
) -> Result<Vec<Part>, AnswerError> {
    let clause = Clause {
        column: Column::Dev,
        low,
        high,
    };
    let request = Request {
        columns: ColumnSet::of(&[Column::Name, Column::Mode, Column::Dev]),
        filter: Filter {
            clauses: vec![clause],
            ..Filter::default()
        },
        ..Request::default()
    };
    let (mut parts, mut tops) = (Vec::new(), HashSet::new());
    session.index().walk(
        start,
        &request,
        |listing, found: &mut Vec<Part>| {
            let rows = listing.range.clone().map(|at| Row {
                batch: listing.batch,
                at,
                dir: listing.dir.path,
            });
            // The filter is approximate: some rows that it passes do not match.
            let elsewhere = rows.filter(|row| clause.admits(i128::from(row.dev().as_u64())));
            found.extend(elsewhere.map(|row| Part {
                path: row.path(),
                is_dir: row.file_type() == FileType::Directory,
            }));
        },
        |found| {
            // Only the topmost entries are kept, regardless of how much lies below them.
            for part in found {
                if !lies_in(&part.path, &tops) {
                    tops.insert(part.path.clone());
                    parts.push(part);
                }
            }
            ControlFlow::Continue(())
        },
    )?;
    Ok(parts)
}

/// Returns true if one of `tops` lies above `path`.
fn lies_in(path: &[u8], tops: &HashSet<Vec<u8>>) -> bool {
    let mut below = path;
    while let Some((dir, _)) = split(below).filter(|_| !tops.is_empty()) {
        if tops.contains(dir) {
            return true;
        }
        below = dir;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, depth: usize, is_dir: bool, blocks: u64) -> UsageOf<'_> {
        let usage = Usage {
            blocks,
            ..Usage::default()
        };
        UsageOf {
            path: path.as_bytes(),
            depth,
            is_dir,
            usage,
        }
    }

    fn run(correction: &mut Correction, lines: &[UsageOf<'_>]) -> Vec<Option<(u64, u64)>> {
        let corrected = lines.iter().map(|line| correction.correct(line));
        corrected
            .map(|sums| sums.map(|s| (s.with_below.blocks, s.without_dirs.blocks)))
            .collect()
    }

    #[test]
    fn parts_are_taken_off_every_directory_above_them() {
        let part = |path: &str| Part {
            path: path.into(),
            is_dir: true,
        };
        let mut correction = Correction::new(vec![part("/a/b/c"), part("/a/b/c/d")], false);
        let lines = [
            of("/a/b/c/d", 3, true, 1),
            of("/a/b/c", 2, true, 4),
            of("/a/b", 1, true, 10),
            of("/a/b-", 1, true, 5),
            of("/a", 0, true, 20),
        ];
        let sums = run(&mut correction, &lines);
        assert_eq!(sums[..2], [None, None]);
        assert_eq!(sums[2].map(|s| s.0), Some(6));
        assert_eq!(sums[3].map(|s| s.0), Some(5));
        assert_eq!(sums[4].map(|s| s.0), Some(16));
    }

    #[test]
    fn directories_are_kept_apart() {
        let mut correction = Correction::new(Vec::new(), true);
        let lines = [
            of("/a/b/c", 2, true, 4),
            of("/a/b/f", 2, false, 2),
            of("/a/b", 1, true, 10),
            of("/a", 0, true, 20),
        ];
        let apart: Vec<u64> = run(&mut correction, &lines)
            .into_iter()
            .flatten()
            .map(|s| s.1)
            .collect();
        assert_eq!(apart, [4, 2, 6, 10]);
    }
}
