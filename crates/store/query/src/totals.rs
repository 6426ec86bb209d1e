//! Sums over a whole scope, computed from a few rows of each segment.

use crate::directories::Sums;
use crate::error::Result;
use crate::index::{Index, SegmentAt, Start, View};
use crate::links::{Repeats, SeenLinks, repeats_in};
use crate::locate::{Reach, Span, scope};
use crate::segment::{Scratch, read_dirs};
use trawl_format::SegmentInfo;
use trawl_format::schema::{DirColumn, Table};

/// Sums over everything below a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sums over all rows, with each name counted.
    pub sums: Sums,
    /// Names beyond the first of each object: subtract them to count each
    /// object once.
    pub repeats: Repeats,
    /// Number of listed directories, including the start.
    pub listed: u64,
}

const COLUMNS: [DirColumn; 13] = [
    DirColumn::FilesBefore,
    DirColumn::DirsBefore,
    DirColumn::SymlinksBefore,
    DirColumn::OthersBefore,
    DirColumn::SizeBefore,
    DirColumn::BlocksBefore,
    DirColumn::LinksBefore,
    DirColumn::Files,
    DirColumn::Dirs,
    DirColumn::Symlinks,
    DirColumn::Others,
    DirColumn::SizeSum,
    DirColumn::BlocksSum,
];

/// Running sums at a row of a dirs table.
struct At {
    before: Sums,
    links_before: u64,
    own: Sums,
}

impl Index {
    /// Returns the sums over everything below `start` (without its own row).
    pub fn totals(&self, start: &Start) -> Result<Totals> {
        let view: &View = &start.view;
        let mut scratch = Scratch::for_lookups();
        let mut totals = Totals::default();
        if !start.is_dir {
            return Ok(totals);
        }
        let mut seen = SeenLinks::new();
        for span in scope(view, &start.path, Reach::Subtree, &mut scratch)? {
            add_span(view, &span, &mut totals, &mut seen, &mut scratch)?;
        }
        Ok(totals)
    }
}

/// Returns the sums over a span from the manifest, if the span covers all
/// listings of its segment.
pub(crate) fn known_sums(segment: &SegmentInfo, span: &Span) -> Option<Sums> {
    let known = segment.sums?;
    let all = u64::from(segment.own_row)..segment.dirs;
    (span.dirs == all).then_some(Sums {
        files: known.files,
        dirs: known.dirs,
        symlinks: known.symlinks,
        others: known.others,
        size_bytes: known.size_bytes,
        blocks: known.blocks,
    })
}

fn add_span(
    view: &View,
    span: &Span,
    totals: &mut Totals,
    seen: &mut SeenLinks,
    scratch: &mut Scratch,
) -> Result<()> {
    totals.listed += span.dirs.end - span.dirs.start;
    let Some((_, segment)) = view.segment(span.segment) else {
        return Ok(());
    };
    let links = segment.files.get(&Table::Links).map_or(0, |file| file.rows);
    let mut links_in = 0..links;
    match known_sums(segment, span) {
        Some(sums) => totals.sums.add(&sums),
        None => {
            let first = running_sums(view, span.segment, span.dirs.start, scratch)?;
            let last = running_sums(view, span.segment, span.dirs.end - 1, scratch)?;
            let mut sums = last.before;
            sums.add(&last.own);
            sums.subtract(&first.before);
            totals.sums.add(&sums);
            if links > 0 {
                links_in.start = first.links_before.min(links);
                if span.dirs.end < segment.dirs {
                    let after = running_sums(view, span.segment, span.dirs.end, scratch)?;
                    links_in.end = after.links_before.clamp(links_in.start, links);
                }
            }
        }
    }
    let repeats = repeats_in(view, span.segment, links_in, seen, scratch)?;
    totals.repeats.entries += repeats.entries;
    totals.repeats.size_bytes = totals.repeats.size_bytes.wrapping_add(repeats.size_bytes);
    totals.repeats.blocks = totals.repeats.blocks.wrapping_add(repeats.blocks);
    Ok(())
}

fn running_sums(view: &View, segment: SegmentAt, row: u64, scratch: &mut Scratch) -> Result<At> {
    let Some(file) = view.file(segment, Table::Dirs)? else {
        return Err(view.damaged(segment, Table::Dirs, "its manifest does not name it"));
    };
    let chunk = read_dirs(&file, row..row + 1, &COLUMNS, scratch)?;
    let sums = |from: usize| Sums {
        files: chunk.number(from, 0),
        dirs: chunk.number(from + 1, 0),
        symlinks: chunk.number(from + 2, 0),
        others: chunk.number(from + 3, 0),
        size_bytes: chunk.number(from + 4, 0),
        blocks: chunk.number(from + 5, 0),
    };
    Ok(At {
        before: sums(0),
        links_before: chunk.number(6, 0),
        own: sums(7),
    })
}
