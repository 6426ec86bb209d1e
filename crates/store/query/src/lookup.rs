//! Finds many entries by path in one pass.
//!
//! Paths are sorted by directory. Each segment's dirs table is searched from
//! one directory to the next, keeping the current page. The names of the
//! directories found are read together, and so are the rows: each page is
//! decoded once for all paths that need it. The directories above paths that are
//! not found are looked up in the same way, since the nearest one that can be seen
//! explains why. Only the own rows of source roots and of directories behind
//! barriers are read one by one.

use crate::error::Result;
use crate::index::{Index, SegmentAt, Start, View};
use crate::locate::{Located, Reach, behind_barrier, find, find_name, why_missing};
use crate::permission::{Judge, shown};
use crate::segment::{
    DirChunk, Scratch, SegmentFile, check_names, read_dir_page, read_dirs, read_names, read_rows,
};
use crate::selection::within;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use trawl_format::schema::{PAGE_ROWS, SMALL_PAGE_ROWS, Table};
use trawl_format::{DirKey, Shard};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{FileType, path};

/// Approximate number of names read together.
const NAMES_AT_ONCE: u64 = 64 * 1024;
/// Directories with more rows are searched by bisection.
const LARGE_DIR_ROWS: u64 = 4 * PAGE_ROWS as u64;

/// Columns that give an entry's type, link target and permissions; always read.
const BASE: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Mode,
    Column::Uid,
    Column::Gid,
    Column::Acl,
    Column::LinkTarget,
]);

/// A path to look up; `at` is its position among the requested paths.
struct WantedPath<'p> {
    at: usize,
    dir: &'p [u8],
    name: &'p [u8],
}

/// Names to look up in a directory of a segment.
struct Listed<'w, 'p> {
    wanted: &'w [WantedPath<'p>],
    rows: Range<u64>,
}

impl Index {
    /// Looks up each of `paths`, as [`Index::locate`] does for one. Reads
    /// `columns` of the entries found, plus those that give type, link target
    /// and permissions.
    ///
    /// # Errors
    /// If part of the index cannot be read.
    pub fn locate_all(&self, paths: &[Vec<u8>], columns: ColumnSet) -> Result<Vec<Located>> {
        let columns = columns.union(BASE);
        let mut by_view: HashMap<*const View, (Arc<View>, Vec<usize>)> = HashMap::new();
        for (at, path) in paths.iter().enumerate() {
            if let Some(view) = self.views_around(path)?.into_iter().next() {
                let view = view.knowing(path)?;
                let group = by_view.entry(Arc::as_ptr(&view));
                group.or_insert_with(|| (view, Vec::new())).1.push(at);
            }
        }
        let mut found: Vec<Option<Located>> = paths.iter().map(|_| None).collect();
        let mut scratch = Scratch::for_lookups();
        for (view, places) in by_view.into_values() {
            look_up_in(&view, paths, &places, columns, &mut scratch, &mut found)?;
        }
        let located = found.into_iter().zip(paths);
        located
            .map(|(found, path)| found.map_or_else(|| self.locate(path), Ok))
            .collect()
    }
}

/// Looks up the paths at `places` in one view. Leaves out paths of which it knows nothing.
fn look_up_in(
    view: &Arc<View>,
    paths: &[Vec<u8>],
    places: &[usize],
    columns: ColumnSet,
    scratch: &mut Scratch,
    found: &mut [Option<Located>],
) -> Result<()> {
    let barriers = barriers(view);
    let wanted: Vec<&[u8]> = places.iter().map(|at| &paths[*at][..]).collect();
    let rows = find_all(view, &wanted, &barriers, columns, scratch)?;
    let mut missing = Vec::new();
    for (at, row) in places.iter().zip(rows) {
        match row {
            Some(row) => found[*at] = Some(found_at(view, &paths[*at], row)),
            None => missing.push(*at),
        }
    }
    // The nearest directory above that can be seen explains why. Missing paths have many of these
    // directories in common.
    let mut above = BTreeMap::new();
    for at in &missing {
        for dir in path::ancestors(&paths[*at]).filter(|dir| path::is_within(dir, view.root())) {
            if above.insert(dir, None).is_some() {
                break;
            }
        }
    }
    let dirs: Vec<&[u8]> = above.keys().copied().collect();
    let rows = find_all(view, &dirs, &barriers, BASE, scratch)?;
    above
        .values_mut()
        .zip(rows)
        .for_each(|(known, row)| *known = row);
    let mut judge = Judge::of_reader(view);
    for at in missing {
        let known = |dir| Some((dir, above.get(dir)?.as_ref()?));
        let nearest = path::ancestors(&paths[at]).find_map(known);
        found[at] = why_missing(view, nearest, &mut judge)?;
    }
    Ok(())
}

/// Finds the rows of the entries at these paths: in their directories' listings, or, of the source's
/// root and of directories behind barriers, as own rows.
fn find_all(
    view: &View,
    paths: &[&[u8]],
    barriers: &HashSet<&[u8]>,
    columns: ColumnSet,
    scratch: &mut Scratch,
) -> Result<Vec<Option<RowBatch>>> {
    let mut rows = find_rows(view, paths, columns, scratch)?;
    for (path, row) in paths.iter().zip(&mut rows) {
        if row.is_none() && (*path == view.root() || barriers.contains(path)) {
            *row = find(view, path, scratch)?;
        }
    }
    Ok(rows)
}

/// Returns the directories whose own rows may be stored apart from a listing.
fn barriers(view: &View) -> HashSet<&[u8]> {
    view.shards().iter().filter_map(Shard::barrier).collect()
}

fn found_at(view: &Arc<View>, path: &[u8], row: RowBatch) -> Located {
    shown(Located::Found(Box::new(Start {
        view: Arc::clone(view),
        path: path.to_vec(),
        is_dir: first(&row).file_type() == FileType::Directory,
        row,
    })))
}

fn first(batch: &RowBatch) -> Row<'_> {
    Row {
        batch,
        at: 0,
        dir: b"",
    }
}

/// Finds the rows of the entries at `paths` that are in listings.
fn find_rows(
    view: &View,
    paths: &[&[u8]],
    columns: ColumnSet,
    scratch: &mut Scratch,
) -> Result<Vec<Option<RowBatch>>> {
    let mut rows: Vec<Option<RowBatch>> = paths.iter().map(|_| None).collect();
    let mut wanted: Vec<WantedPath<'_>> = Vec::with_capacity(paths.len());
    for (at, path) in paths.iter().enumerate() {
        if let Some((dir, name)) = path::split(path).filter(|(dir, _)| {
            // The root's own row is in no listing.
            *path != view.root() && path::is_within(dir, view.root())
        }) {
            wanted.push(WantedPath { at, dir, name });
        }
    }
    wanted.sort_by(|a, b| path::cmp(a.dir, b.dir).then(a.name.cmp(b.name)));
    for (segment, _, glance) in view.glances() {
        let Some(ends) = glance.dirs else {
            continue;
        };
        wanted.retain(|wanted| rows[wanted.at].is_none());
        let near = between(&wanted, ends);
        if near.iter().any(|w| glance.may_hold(DirKey::of(w.dir))) {
            find_in_segment(view, segment, near, columns, scratch, &mut rows)?;
        }
    }
    Ok(rows)
}

/// Returns the part of `wanted`, which is sorted, whose directories may lie
/// between the first and the last directory of a segment.
fn between<'w, 'a>(
    wanted: &'w [WantedPath<'a>],
    (first, last): (&[u8], &[u8]),
) -> &'w [WantedPath<'a>] {
    let from = wanted.partition_point(|w| path::cmp(w.dir, first) == Ordering::Less);
    let to = wanted.partition_point(|w| path::cmp(w.dir, last) != Ordering::Greater);
    wanted.get(from..to).unwrap_or_default()
}

/// Finds the rows of the entries `inside`, which may be in the segment.
fn find_in_segment(
    view: &View,
    at: SegmentAt,
    inside: &[WantedPath<'_>],
    columns: ColumnSet,
    scratch: &mut Scratch,
    rows: &mut [Option<RowBatch>],
) -> Result<()> {
    let Some((shard, segment)) = view.segment(at) else {
        return Ok(());
    };
    let is_near = |w: &WantedPath<'_>| !behind_barrier(shard, w.dir, Reach::Itself);
    if !inside.iter().any(is_near) {
        return Ok(());
    }
    let (Some(dirs), Some(entries)) = (view.file(at, Table::Dirs)?, view.file(at, Table::Entries)?)
    else {
        return Ok(());
    };
    // The own row of a source's root or of a barrier is not a listing.
    let first_listing = u64::from(segment.own_row);
    let mut table = DirTable::new(&dirs, first_listing, view.dead(at, Table::Dirs));
    let mut listed: Vec<Listed<'_, '_>> = Vec::new();
    let mut waiting = 0;
    let take = |listed: &mut Vec<Listed<'_, '_>>, scratch: &mut Scratch, rows: &mut [_]| {
        take_names(&entries, listed, columns, scratch, rows)
    };
    for group in inside.chunk_by(|a, b| a.dir == b.dir) {
        if !is_near(&group[0]) {
            continue;
        }
        for found in table.find(group[0].dir, segment.rows, scratch)? {
            waiting += found.end - found.start;
            listed.push(Listed {
                wanted: group,
                rows: found,
            });
        }
        if waiting >= NAMES_AT_ONCE {
            take(&mut listed, scratch, rows)?;
            waiting = 0;
        }
    }
    take(&mut listed, scratch, rows)
}

/// Finds the names of `listed` among their rows, and reads the rows found.
/// Leaves `listed` empty.
fn take_names(
    entries: &SegmentFile,
    listed: &mut Vec<Listed<'_, '_>>,
    columns: ColumnSet,
    scratch: &mut Scratch,
    out: &mut [Option<RowBatch>],
) -> Result<()> {
    // Pairs of a row and the position of the path that it answers.
    let mut found: Vec<(u64, usize)> = Vec::new();
    for large in listed.iter().filter(|l| is_large(&l.rows)) {
        for wanted in large.wanted {
            let row = find_name(entries, large.rows.clone(), wanted.name, scratch)?;
            found.extend(row.map(|row| (row, wanted.at)));
        }
    }
    listed.retain(|l| !is_large(&l.rows) && !l.rows.is_empty());
    listed.sort_by_key(|l| l.rows.start);
    if listed
        .windows(2)
        .any(|two| two[0].rows.end > two[1].rows.start)
    {
        return Err(entries.damaged("directories in it share rows"));
    }
    let ranges: Vec<Range<u64>> = listed.iter().map(|l| l.rows.clone()).collect();
    let names = read_names(entries, &ranges, scratch)?;
    if !check_names(&names) {
        return Err(entries.damaged("it contains invalid names"));
    }
    let mut start = 0;
    for Listed { wanted, rows } in listed.drain(..) {
        let len = (rows.end - rows.start) as usize;
        let mut low = start;
        for wanted in wanted {
            low = lower_bound(low..start + len, |at| names.get(at) < wanted.name);
            if low < start + len && names.get(low) == wanted.name {
                found.push((rows.start + (low - start) as u64, wanted.at));
            }
        }
        start += len;
    }
    read_found(entries, found, columns, scratch, out)
}

fn is_large(rows: &Range<u64>) -> bool {
    rows.end - rows.start > LARGE_DIR_ROWS
}

/// Reads rows, and stores each as a batch of its own for the paths that it
/// answers.
fn read_found(
    entries: &SegmentFile,
    mut found: Vec<(u64, usize)>,
    columns: ColumnSet,
    scratch: &mut Scratch,
    out: &mut [Option<RowBatch>],
) -> Result<()> {
    found.sort_unstable();
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (row, _) in &found {
        match ranges.last_mut() {
            Some(last) if last.end > *row => {}
            Some(last) if last.end == *row => last.end += 1,
            _ => ranges.push(*row..*row + 1),
        }
    }
    let batch = read_rows(entries, columns, &ranges, scratch)?;
    let mut nth = 0;
    let mut before = None;
    for (row, at) in found {
        nth += usize::from(before.is_some_and(|before| before != row));
        before = Some(row);
        let row = Row {
            batch: &batch,
            at: nth,
            dir: b"",
        };
        out[at] = Some(row.alone());
    }
    scratch.recycle(batch);
    Ok(())
}

/// A dirs table that is searched for directories in ascending order.
struct DirTable<'f> {
    file: &'f SegmentFile,
    /// The first row that is a listing.
    first: u64,
    /// Rows that are dead.
    dead: &'f [Range<u64>],
    /// The first path of each page that has been looked up.
    begins: HashMap<u64, Vec<u8>>,
    /// The current page.
    page: Arc<DirChunk>,
}

impl<'f> DirTable<'f> {
    fn new(file: &'f SegmentFile, first: u64, dead: &'f [Range<u64>]) -> DirTable<'f> {
        DirTable {
            file,
            first,
            dead,
            begins: HashMap::new(),
            page: Arc::default(),
        }
    }

    /// Returns the rows that belong to `dir` in the entries table, which has
    /// `entries` rows.
    fn find(&mut self, dir: &[u8], entries: u64, scratch: &mut Scratch) -> Result<Vec<Range<u64>>> {
        let page_rows = SMALL_PAGE_ROWS as u64;
        let (mut low, mut high) = (0, self.file.rows().div_ceil(page_rows));
        // Find the last page that begins before `dir`, or the first page.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match path::cmp(self.begin(middle, scratch)?, dir) {
                Ordering::Less => low = middle,
                _ => high = middle,
            }
        }
        let mut found = Vec::new();
        for page in low.. {
            self.turn_to(page, scratch)?;
            let chunk = &self.page;
            let from = lower_bound(0..chunk.len(), |at| {
                path::cmp(chunk.path.get(at), dir) == Ordering::Less
            });
            for at in from..chunk.len() {
                if chunk.path.get(at) != dir {
                    return Ok(found);
                }
                let row = chunk.rows.start + at as u64;
                let is_dead = within(self.dead, &(row..row + 1)).next().is_some();
                if row < self.first || is_dead {
                    continue;
                }
                let (first, rows) = (chunk.number(0, at), chunk.number(1, at));
                let end = first.checked_add(rows).filter(|end| *end <= entries);
                let end =
                    end.ok_or_else(|| self.file.damaged("it refers to rows that are not there"))?;
                found.push(first..end);
            }
            // The directory may continue on the next page.
            if chunk.rows.end >= self.file.rows() {
                break;
            }
        }
        Ok(found)
    }

    fn turn_to(&mut self, page: u64, scratch: &mut Scratch) -> Result<()> {
        let start = page * SMALL_PAGE_ROWS as u64;
        let rows = start..(start + SMALL_PAGE_ROWS as u64).min(self.file.rows());
        if self.page.rows != rows {
            self.page = read_dir_page(self.file, start, scratch)?;
        }
        Ok(())
    }

    /// Returns the first path of a page.
    fn begin(&mut self, page: u64, scratch: &mut Scratch) -> Result<&[u8]> {
        if !self.begins.contains_key(&page) {
            let row = page * SMALL_PAGE_ROWS as u64;
            let chunk = read_dirs(self.file, row..row + 1, &[], scratch)?;
            self.begins.insert(page, chunk.path.get(0).to_vec());
        }
        Ok(self.begins.get(&page).map_or(&[][..], Vec::as_slice))
    }
}

/// Returns the first position in `range` that is not `before`, or its end.
fn lower_bound(range: Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        match before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
