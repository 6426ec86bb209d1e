//! Writes rows as a segment: sorts and merges directories, transposes their rows into columns and
//! sums them up.

use crate::encode::{ColumnData, Compressor, Effort, TableWriter};
use crate::restricted::Restrictions;
use crate::sidecar;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::once;
use trawl_format::ListingKind;
use trawl_format::dir_filter::DirFilterBuilder;
use trawl_format::error::Result;
use trawl_format::id::SegmentId;
use trawl_format::layout;
use trawl_format::manifest::{FileRef, SegmentInfo, SegmentSums, Totals};
use trawl_format::schema::{self, DirColumn, IssueColumn, LinkColumn, Table, XattrColumn};
use trawl_format::store::Dir;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::guard::Guard;
use trawl_model::operation::Operation;
use trawl_model::{
    DirBatch, Entry, FileType, Issue, Meta, NumberVisitor, Span, StringVisitor, escape, path,
};
use trawl_names::NamesWriter;

/// Number of rows transposed at a time, small enough for the first-level cache.
const BLOCK_ROWS: usize = 256;

/// Rows of one directory.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) kind: ListingKind,
    pub(crate) batch: DirBatch,
}

/// The value of one extended attribute.
#[derive(Debug)]
pub(crate) struct XattrRow {
    pub(crate) dir: Vec<u8>,
    pub(crate) name: Vec<u8>,
    pub(crate) attr: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// Content of a segment, in any order.
#[derive(Debug, Default)]
pub(crate) struct SegmentInput {
    pub(crate) listings: Vec<Listing>,
    pub(crate) xattrs: Vec<XattrRow>,
    pub(crate) issues: Vec<Issue>,
}

impl XattrRow {
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<XattrRow>()
            + self.dir.len()
            + self.name.len()
            + self.attr.len()
            + self.value.len()
    }
}

impl SegmentInput {
    pub(crate) fn is_empty(&self) -> bool {
        self.listings.is_empty() && self.xattrs.is_empty() && self.issues.is_empty()
    }
}

/// Place and parameters for writing a segment.
pub(crate) struct Target<'a> {
    pub(crate) dir: &'a Dir,
    pub(crate) id: SegmentId,
    /// The source's root as text.
    pub(crate) root: &'a str,
    pub(crate) stay: Lifetime,
    /// What readers of the segment must pass; `None` if only the superuser may read it.
    pub(crate) guard: Option<&'a Guard>,
}

/// Expected lifetime of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// As long as a snapshot.
    Long,
    /// Until a snapshot is made of it, or shorter: speed of writing matters more than size.
    Short,
}

/// Segments with at least this many rows are always written as for [`Lifetime::Long`].
pub(crate) const LIGHT_ROWS: u64 = 1 << 17;

/// Writes a segment's files without syncing them.
pub(crate) fn write(
    target: &Target<'_>,
    input: SegmentInput,
    compressor: &mut Compressor,
) -> Result<(SegmentInfo, Totals)> {
    let rows = input.listings.iter().map(|l| l.batch.entries.len());
    let rows = rows.sum::<usize>() as u64;
    let is_light = target.stay == Lifetime::Short && rows < LIGHT_ROWS;
    compressor.set_effort(match is_light {
        true => Effort::None,
        false => Effort::Usual,
    });
    let mut writer = SegmentWriter {
        names: (!is_light).then(|| sidecar::begin(rows)).flatten(),
        target,
        compressor,
        tables: [const { None }; 5],
        type_codes: [None; 8],
        totals: Totals::default(),
        before: Totals::default(),
        own_row: false,
        first_dir: None,
        last_dir: None,
        filter: DirFilterBuilder::default(),
        restrictions: target.guard.map(Restrictions::new),
    };
    writer.reserve(rows, input.listings.len())?;
    writer.write_listings(input.listings)?;
    writer.write_xattrs(input.xattrs)?;
    writer.write_issues(input.issues)?;
    writer.finish()
}

/// Returns the listings in depth-first path order, with fragments of one directory in sequence.
/// Sorts indexes, since a listing is several hundred bytes.
fn sorted(listings: Vec<Listing>) -> impl Iterator<Item = Listing> {
    let mut order: Vec<u32> = (0..listings.len() as u32).collect();
    let span = Operation::Sort.span();
    order.sort_by(|a, b| {
        let (a, b) = (&listings[*a as usize], &listings[*b as usize]);
        path::cmp(&a.batch.path, &b.batch.path)
            .then(a.kind.cmp(&b.kind))
            .then(a.batch.fragment.cmp(&b.batch.fragment))
    });
    drop(span);
    let mut slots: Vec<Option<Listing>> = listings.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(move |at| slots.get_mut(at as usize)?.take())
}

/// Merges the fragments of one directory into the first one.
fn merge_fragments(mut fragments: Vec<DirBatch>) -> DirBatch {
    let mut merged = if fragments.is_empty() {
        DirBatch::default()
    } else {
        fragments.remove(0)
    };
    for fragment in fragments {
        let shift = merged.heap.len() as u32;
        let moved = |span: Span| match span.is_empty() {
            true => Span::EMPTY,
            false => Span {
                start: span.start + shift,
                len: span.len,
            },
        };
        merged.heap.extend_from_slice(&fragment.heap);
        let entries = fragment.entries.iter();
        merged
            .entries
            .extend(entries.map(|entry| entry.with_spans(moved)));
    }
    merged
}

/// Appends the rows of a later fragment to a batch.
pub(crate) fn append_fragment(batch: &mut DirBatch, more: DirBatch) {
    *batch = merge_fragments(vec![std::mem::take(batch), more]);
}

/// Sorts rows by name unless they are sorted.
pub(crate) fn sort_rows(batch: &mut DirBatch) {
    let heap = &batch.heap;
    let name = |entry: &Entry| {
        let start = entry.name.start as usize;
        heap.get(start..start + entry.name.len as usize)
            .unwrap_or_default()
    };
    if !batch.entries.is_sorted_by(|a, b| name(a) <= name(b)) {
        batch.entries.sort_by(|a, b| name(a).cmp(name(b)));
    }
}

/// Returns the text for a byte string, and the bytes if they differ from the text.
fn text_and_raw(bytes: &[u8]) -> (Cow<'_, str>, Option<&[u8]>) {
    let text = escape::escape(bytes);
    let raw = matches!(text, Cow::Owned(_)).then_some(bytes);
    (text, raw)
}

/// Appends a byte string to its text column and its raw column.
fn push_text(columns: &mut [ColumnData], text_at: usize, raw_at: usize, bytes: &[u8]) {
    let (text, raw) = text_and_raw(bytes);
    columns[text_at].extend_bytes(once(text.as_bytes()));
    columns[raw_at].extend_optional_bytes(once(raw));
}

struct SegmentWriter<'a> {
    target: &'a Target<'a>,
    compressor: &'a mut Compressor,
    tables: [Option<TableWriter>; 5],
    /// Dictionary codes of `type` in the row group being filled.
    type_codes: [Option<u32>; 8],
    /// Sums over all rows.
    totals: Totals,
    /// Sums over rows of listings, from which the running sums are made.
    before: Totals,
    own_row: bool,
    first_dir: Option<Vec<u8>>,
    last_dir: Option<Vec<u8>>,
    /// `None` for segments with few rows.
    names: Option<NamesWriter>,
    /// Filter of the listed directories.
    filter: DirFilterBuilder,
    /// `None` if only the superuser may read the segment.
    restrictions: Option<Restrictions<'a>>,
}

impl SegmentWriter<'_> {
    fn table(&mut self, table: Table) -> Result<&mut TableWriter> {
        let slot = &mut self.tables[table as usize];
        let writer = match slot.take() {
            Some(writer) => writer,
            None => {
                let name = layout::segment_file(self.target.id, table);
                let file = self.target.dir.create_file(&name)?;
                let path = self.target.dir.join(&name);
                TableWriter::new(table, self.target.root, file, path)?
            }
        };
        Ok(slot.insert(writer))
    }

    /// Reserves memory for this number of rows and directories.
    fn reserve(&mut self, rows: u64, dirs: usize) -> Result<()> {
        for (table, rows) in [(Table::Dirs, dirs as u64), (Table::Entries, rows)] {
            if rows > 0 {
                self.table(table)?.reserve(rows);
            }
        }
        Ok(())
    }

    fn filled(&mut self, table: Table, rows: usize) -> Result<()> {
        match &mut self.tables[table as usize] {
            Some(writer) => writer.filled(rows, self.compressor),
            None => Ok(()),
        }
    }

    fn rows(&self, table: Table) -> u64 {
        self.tables[table as usize]
            .as_ref()
            .map_or(0, TableWriter::rows)
    }

    fn write_listings(&mut self, listings: Vec<Listing>) -> Result<()> {
        let mut listings = sorted(listings).peekable();
        while let Some(Listing { kind, batch }) = listings.next() {
            let mut fragments = Vec::new();
            while let Some(next) =
                listings.next_if(|next| kind == next.kind && batch.path == next.batch.path)
            {
                fragments.push(next.batch);
            }
            let mut batch = batch;
            if !fragments.is_empty() {
                fragments.insert(0, batch);
                batch = merge_fragments(fragments);
            }
            sort_rows(&mut batch);
            self.write_listing(kind, &batch)?;
            if self.first_dir.is_none() {
                self.own_row = kind != ListingKind::Listed;
                self.first_dir = Some(batch.path.clone());
            }
            self.last_dir = Some(batch.path);
        }
        Ok(())
    }

    fn write_listing(&mut self, kind: ListingKind, batch: &DirBatch) -> Result<()> {
        let sums = Sums::of(&batch.entries);
        self.write_dir(kind, batch, &sums)?;
        let first_row = self.rows(Table::Entries);
        self.write_links(&batch.entries, first_row)?;
        self.write_entries(batch)?;
        sidecar::add(&mut self.names, batch);
        self.totals.add(&sums.totals(kind, batch.fragment));
        if kind == ListingKind::Listed {
            sums.add_to(&mut self.before);
            self.filter.add(&batch.path);
        }
        Ok(())
    }

    fn write_dir(&mut self, kind: ListingKind, batch: &DirBatch, sums: &Sums) -> Result<()> {
        let first_row = self.rows(Table::Entries);
        let links_before = self.rows(Table::Links);
        let before = self.before;
        let restricted = match (kind, &mut self.restrictions) {
            (ListingKind::Listed, Some(restrictions)) => restrictions.of(batch),
            _ => None,
        };
        let columns = self.table(Table::Dirs)?.columns();
        let (path_at, raw_at) = (DirColumn::Path as usize, DirColumn::PathRaw as usize);
        push_text(columns, path_at, raw_at, &batch.path);
        let mut u32s = |column: DirColumn, value| columns[column as usize].extend_u32(once(value));
        u32s(
            DirColumn::Kind,
            match kind {
                ListingKind::Root | ListingKind::Barrier => schema::KIND_ROOT,
                ListingKind::Listed => schema::KIND_LISTING,
            },
        );
        u32s(DirColumn::Depth, path::depth(&batch.path) as u32);
        push_own(columns, batch);
        sums.push(columns);
        let mut u64s = |column: DirColumn, value| columns[column as usize].extend_u64(once(value));
        u64s(DirColumn::FirstRow, first_row);
        u64s(DirColumn::Rows, batch.entries.len() as u64);
        u64s(DirColumn::FilesBefore, before.files);
        u64s(DirColumn::DirsBefore, before.dirs);
        u64s(DirColumn::SymlinksBefore, before.symlinks);
        u64s(DirColumn::OthersBefore, before.others);
        u64s(DirColumn::SizeBefore, before.size_bytes);
        u64s(DirColumn::BlocksBefore, before.blocks);
        u64s(DirColumn::LinksBefore, links_before);
        columns[DirColumn::Restricted as usize].extend_optional_bytes(once(restricted.as_deref()));
        self.filled(Table::Dirs, 1)
    }

    fn write_links(&mut self, entries: &[Entry], first_row: u64) -> Result<()> {
        for (at, entry) in entries.iter().enumerate() {
            let meta = &entry.meta;
            if !has_links(meta) {
                continue;
            }
            let columns = self.table(Table::Links)?.columns();
            let mut u64s =
                |column: LinkColumn, value| columns[column as usize].extend_u64(once(value));
            u64s(LinkColumn::Row, first_row + at as u64);
            u64s(LinkColumn::Dev, meta.dev.as_u64());
            u64s(LinkColumn::Ino, meta.ino);
            u64s(LinkColumn::Size, meta.size);
            u64s(LinkColumn::Blocks, meta.blocks);
            columns[LinkColumn::Nlink as usize].extend_u32(once(meta.nlink));
            self.totals.links += 1;
            self.filled(Table::Links, 1)?;
        }
        Ok(())
    }

    fn write_entries(&mut self, batch: &DirBatch) -> Result<()> {
        let facts = BatchFacts::of(batch);
        let dir = escape::escape(&batch.path);
        let mut rest = &batch.entries[..];
        let mut dir_code = None;
        while !rest.is_empty() {
            let mut type_codes = self.type_codes;
            let table = self.table(Table::Entries)?;
            if table.group_rows() == 0 {
                type_codes = [None; 8];
                dir_code = None;
            }
            let (block, after) = rest.split_at(rest.len().min(BLOCK_ROWS).min(table.room()));
            rest = after;
            let columns = table.columns();
            let dirs = &mut columns[Column::Dir as usize];
            let code = *dir_code.get_or_insert_with(|| dirs.add_code(dir.as_bytes()));
            dirs.repeat_code(code, block.len());
            push_types(&mut columns[Column::Type as usize], block, &mut type_codes);
            Meta::visit_numbers(&mut NumberColumns { columns, block });
            push_strings(columns, batch, block, &facts);
            self.type_codes = type_codes;
            self.filled(Table::Entries, block.len())?;
        }
        Ok(())
    }

    fn write_xattrs(&mut self, mut rows: Vec<XattrRow>) -> Result<()> {
        // A stable sort keeps the order of one entry's attributes.
        rows.sort_by(|a, b| path::cmp(&a.dir, &b.dir).then_with(|| a.name.cmp(&b.name)));
        let mut last: Option<(&[u8], u32)> = None;
        for row in &rows {
            let table = self.table(Table::Xattrs)?;
            let starts_group = table.group_rows() == 0;
            let columns = table.columns();
            let (text, raw) = text_and_raw(&row.dir);
            let dirs = &mut columns[XattrColumn::Dir as usize];
            let code = match last {
                Some((dir, code)) if dir == &row.dir[..] && !starts_group => code,
                _ => dirs.add_code(text.as_bytes()),
            };
            last = Some((&row.dir, code));
            dirs.repeat_code(code, 1);
            columns[XattrColumn::DirRaw as usize].extend_optional_bytes(once(raw));
            let (name_at, raw_at) = (XattrColumn::Name as usize, XattrColumn::NameRaw as usize);
            push_text(columns, name_at, raw_at, &row.name);
            columns[XattrColumn::Attr as usize].extend_bytes(once(&row.attr[..]));
            columns[XattrColumn::Value as usize].extend_bytes(once(&row.value[..]));
            self.filled(Table::Xattrs, 1)?;
        }
        self.totals.xattrs += rows.len() as u64;
        Ok(())
    }

    fn write_issues(&mut self, mut issues: Vec<Issue>) -> Result<()> {
        issues.sort_by(|a, b| path::cmp(&a.path, &b.path).then_with(|| a.cmp(b)));
        for issue in &issues {
            let columns = self.table(Table::Issues)?.columns();
            let (path_at, raw_at) = (IssueColumn::Path as usize, IssueColumn::PathRaw as usize);
            push_text(columns, path_at, raw_at, &issue.path);
            columns[IssueColumn::Op as usize].extend_u32(once(u32::from(issue.op as u8)));
            let errno = i64::from(issue.errno.0);
            columns[IssueColumn::Errno as usize].extend_u64(once(errno as u64));
            columns[IssueColumn::Detail as usize].extend_bytes(once(issue.detail.as_bytes()));
            self.filled(Table::Issues, 1)?;
        }
        self.totals.issues += issues.len() as u64;
        Ok(())
    }

    fn finish(self) -> Result<(SegmentInfo, Totals)> {
        let before = self.before;
        let mut files = BTreeMap::new();
        for (table, writer) in Table::ALL.into_iter().zip(self.tables) {
            if let Some(writer) = writer {
                files.insert(table, writer.finish(self.compressor)?);
            }
        }
        let entries = files.get(&Table::Entries);
        let names = match (self.names, entries) {
            (Some(names), Some(entries)) => sidecar::finish(names, entries, self.target)?,
            _ => None,
        };
        let rows = |table| files.get(&table).map_or(0, |file: &FileRef| file.rows);
        let info = SegmentInfo {
            id: self.target.id,
            rows: rows(Table::Entries),
            dirs: rows(Table::Dirs),
            own_row: self.own_row,
            first_dir: self.first_dir,
            last_dir: self.last_dir,
            files,
            names,
            sums: Some(SegmentSums {
                files: before.files,
                dirs: before.dirs,
                symlinks: before.symlinks,
                others: before.others,
                size_bytes: before.size_bytes,
                blocks: before.blocks,
            }),
            filter: self.filter.finish(),
        };
        Ok((info, self.totals))
    }
}

/// True if an entry has a row in the links table.
pub(crate) fn has_links(meta: &Meta) -> bool {
    meta.nlink > 1 && meta.file_type() != FileType::Directory
}

/// Appends a directory's own attributes.
fn push_own(columns: &mut [ColumnData], batch: &DirBatch) {
    let own = &batch.own;
    let mut u64s = |column: DirColumn, value| columns[column as usize].extend_u64(once(value));
    u64s(DirColumn::OwnIno, own.ino);
    u64s(DirColumn::OwnDev, own.dev.as_u64());
    u64s(DirColumn::OwnSize, own.size);
    u64s(DirColumn::OwnBlocks, own.blocks);
    u64s(DirColumn::OwnAtime, own.atime.secs as u64);
    u64s(DirColumn::OwnMtime, own.mtime.secs as u64);
    u64s(DirColumn::OwnCtime, own.ctime.secs as u64);
    let mut u32s = |column: DirColumn, value| columns[column as usize].extend_u32(once(value));
    u32s(DirColumn::OwnMode, own.mode);
    u32s(DirColumn::OwnNlink, own.nlink);
    u32s(DirColumn::OwnUid, own.uid.0);
    u32s(DirColumn::OwnGid, own.gid.0);
    u32s(DirColumn::OwnAtimeNs, own.atime.nanos);
    u32s(DirColumn::OwnMtimeNs, own.mtime.nanos);
    u32s(DirColumn::OwnCtimeNs, own.ctime.nanos);
    let secs = own.btime.map(|time| time.secs as u64);
    columns[DirColumn::OwnBtime as usize].extend_optional_u64(once(secs));
    let nanos = own.btime.map(|time| time.nanos);
    columns[DirColumn::OwnBtimeNs as usize].extend_optional_u32(once(nanos));
}

/// Appends the entries' types as dictionary codes.
fn push_types(column: &mut ColumnData, block: &[Entry], codes: &mut [Option<u32>; 8]) {
    let mut lookup = [0u32; 8];
    let mut seen = [false; 8];
    for entry in block {
        seen[entry.meta.file_type() as usize & 7] = true;
    }
    for entry in block {
        let kind = entry.meta.file_type();
        let at = kind as usize & 7;
        if seen[at] {
            seen[at] = false;
            lookup[at] = *codes[at].get_or_insert_with(|| column.add_code(&[kind.letter()]));
        }
        if seen == [false; 8] {
            break;
        }
    }
    column.extend_codes(
        block
            .iter()
            .map(|entry| lookup[entry.meta.file_type() as usize & 7]),
    );
}

/// Appends every number column of a block of entries.
struct NumberColumns<'a> {
    columns: &'a mut [ColumnData],
    block: &'a [Entry],
}

macro_rules! extend_numbers {
    ($($visit:ident $ty:ty, $extend:ident $convert:expr;)*) => {
        impl NumberVisitor for NumberColumns<'_> {
            $(#[inline]
            fn $visit(&mut self, column: Column, of: impl Fn(&Meta) -> $ty + Copy) {
                let values = self.block.iter().map(|entry| $convert(of(&entry.meta)));
                self.columns[column as usize].$extend(values);
            })*
        }
    };
}

extend_numbers! {
    u32 u32, extend_u32 |number| number;
    u64 u64, extend_u64 |number| number;
    i64 i64, extend_u64 |number| number as u64;
    optional_u32 Option<u32>, extend_optional_u32 |number| number;
    optional_u64 Option<u64>, extend_optional_u64 |number| number;
    optional_i64 Option<i64>, extend_optional_u64 |number: Option<i64>| number.map(|n| n as u64);
}

/// Whether a batch has rare features, determined once per batch.
struct BatchFacts {
    names_are_text: bool,
    /// Columns of byte strings in which an entry has a value.
    held: ColumnSet,
}

impl BatchFacts {
    fn of(batch: &DirBatch) -> BatchFacts {
        let mut held = HeldStrings(&batch.entries, ColumnSet::EMPTY);
        Entry::visit_strings(&mut held);
        BatchFacts {
            names_are_text: batch.heap.is_ascii(),
            held: held.1,
        }
    }
}

/// Finds the columns of byte strings in which one of some entries has a value.
struct HeldStrings<'a>(&'a [Entry], ColumnSet);

impl StringVisitor for HeldStrings<'_> {
    fn string(&mut self, column: Column, of: impl Fn(&Entry) -> Span + Copy) {
        if self.0.iter().any(|entry| !of(entry).is_empty()) {
            self.1 = self.1.union(ColumnSet::of(&[column]));
        }
    }
}

/// Appends every column of byte strings of a block of entries, except the names.
struct StringColumns<'a> {
    columns: &'a mut [ColumnData],
    batch: &'a DirBatch,
    block: &'a [Entry],
    held: ColumnSet,
}

impl StringVisitor for StringColumns<'_> {
    fn string(&mut self, column: Column, of: impl Fn(&Entry) -> Span + Copy) {
        let values = &mut self.columns[column as usize];
        if !self.held.contains(column) {
            return values.extend_nulls(self.block.len());
        }
        let value = |span: Span| (!span.is_empty()).then(|| self.batch.bytes(span));
        values.extend_optional_bytes(self.block.iter().map(|entry| value(of(entry))));
    }
}

fn push_strings(columns: &mut [ColumnData], batch: &DirBatch, block: &[Entry], facts: &BatchFacts) {
    let (name_at, raw_at) = (Column::Name as usize, Column::NameRaw as usize);
    if facts.names_are_text {
        columns[name_at].extend_bytes(block.iter().map(|e| batch.bytes(e.name)));
        columns[raw_at].extend_nulls(block.len());
    } else {
        for entry in block {
            push_text(columns, name_at, raw_at, batch.bytes(entry.name));
        }
    }
    Entry::visit_strings(&mut StringColumns {
        columns,
        batch,
        block,
        held: facts.held,
    });
}

/// Sums, minima and maxima over a directory's rows.
#[derive(Default)]
pub(crate) struct Sums {
    rows: u64,
    files: u64,
    dirs: u64,
    symlinks: u64,
    others: u64,
    size: u64,
    blocks: u64,
    size_range: (u64, u64),
    atime: (i64, i64),
    mtime: (i64, i64),
    ctime: (i64, i64),
}

impl Sums {
    pub(crate) fn of(entries: &[Entry]) -> Sums {
        let Some(first) = entries.first() else {
            return Sums::default();
        };
        let first = &first.meta;
        let mut sums = Sums {
            rows: entries.len() as u64,
            size_range: (first.size, first.size),
            atime: (first.atime.secs, first.atime.secs),
            mtime: (first.mtime.secs, first.mtime.secs),
            ctime: (first.ctime.secs, first.ctime.secs),
            ..Sums::default()
        };
        for Entry { meta, .. } in entries {
            match meta.file_type() {
                FileType::Regular => sums.files += 1,
                FileType::Directory => sums.dirs += 1,
                FileType::Symlink => sums.symlinks += 1,
                _ => sums.others += 1,
            }
            sums.size = sums.size.wrapping_add(meta.size);
            sums.blocks = sums.blocks.wrapping_add(meta.blocks);
            widen(&mut sums.size_range, meta.size);
            widen(&mut sums.atime, meta.atime.secs);
            widen(&mut sums.mtime, meta.mtime.secs);
            widen(&mut sums.ctime, meta.ctime.secs);
        }
        sums
    }

    /// Returns the share of a listing in the sums over a shard, except for rows of other tables.
    pub(crate) fn totals(&self, kind: ListingKind, fragment: u32) -> Totals {
        let mut totals = Totals::default();
        if kind != ListingKind::Barrier {
            self.add_to(&mut totals);
        }
        totals.listed = u64::from(kind == ListingKind::Listed && fragment == 0);
        totals
    }

    fn add_to(&self, totals: &mut Totals) {
        totals.entries += self.rows;
        totals.files += self.files;
        totals.dirs += self.dirs;
        totals.symlinks += self.symlinks;
        totals.others += self.others;
        totals.size_bytes = totals.size_bytes.wrapping_add(self.size);
        totals.blocks = totals.blocks.wrapping_add(self.blocks);
    }

    fn push(&self, columns: &mut [ColumnData]) {
        let mut push = |column: DirColumn, value| columns[column as usize].extend_u64(once(value));
        push(DirColumn::Files, self.files);
        push(DirColumn::Dirs, self.dirs);
        push(DirColumn::Symlinks, self.symlinks);
        push(DirColumn::Others, self.others);
        push(DirColumn::SizeSum, self.size);
        push(DirColumn::BlocksSum, self.blocks);
        push(DirColumn::SizeMin, self.size_range.0);
        push(DirColumn::SizeMax, self.size_range.1);
        push(DirColumn::AtimeMin, self.atime.0 as u64);
        push(DirColumn::AtimeMax, self.atime.1 as u64);
        push(DirColumn::MtimeMin, self.mtime.0 as u64);
        push(DirColumn::MtimeMax, self.mtime.1 as u64);
        push(DirColumn::CtimeMin, self.ctime.0 as u64);
        push(DirColumn::CtimeMax, self.ctime.1 as u64);
    }
}

#[inline]
fn widen<T: Ord + Copy>(range: &mut (T, T), value: T) {
    range.0 = range.0.min(value);
    range.1 = range.1.max(value);
}
