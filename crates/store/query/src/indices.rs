//! Named indices of a view's segments: which there are, and how they are made from the tables.

use crate::error::{QueryError, Result};
use crate::locate::{self, Reach, Span};
use crate::search::{INDEX_ROWS_LEAST, rows_of};
use crate::segment::{Scratch, read_rows};
use crate::view::View;
use crate::walk::check_cancelled_by;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use trawl_format::Readers;
use trawl_format::schema::Table;
use trawl_indices::{Builder, Definition, Subject, push_key, read_all};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{Row, RowBatch, Values};
use trawl_model::{FileType, path};

/// Rows that are read together.
const ROWS: u64 = 32 * 1024;

impl View {
    /// Returns the definitions of the source's named indices. Those that cannot be read are
    /// treated as absent.
    pub fn named_indices(&self) -> &[Definition] {
        self.definitions.get_or_init(|| {
            let text = self.snapshot().index_definitions();
            text.and_then(|text| read_all(&text).ok())
                .unwrap_or_default()
        })
    }

    /// Returns the names of the named indices that answered questions so far.
    pub fn indices_used(&self) -> Vec<String> {
        let used = trawl_model::sync::lock(&self.indices_used);
        used.iter().cloned().collect()
    }

    /// Records that a named index answered.
    pub(crate) fn note_index(&self, name: &str) {
        let mut used = trawl_model::sync::lock(&self.indices_used);
        if !used.contains(name) {
            used.insert(name.to_owned());
        }
    }

    /// Returns the rows of a segment (numbered as in [`View::stored_segment`]) that a named index is
    /// about: all, or those below the directory that is its part.
    ///
    /// # Errors
    /// If the segment's tables cannot be read.
    pub fn indexed_rows(&self, segment: usize, definition: &Definition) -> Result<Range<u64>> {
        let Some((_, info)) = self.segment(segment) else {
            return Ok(0..0);
        };
        if definition.part().is_empty() {
            return Ok(0..info.rows);
        }
        let Some(dirs) = self.file(segment, Table::Dirs)? else {
            return Ok(0..0);
        };
        let part = path::join(self.root(), definition.part());
        let mut scratch = Scratch::default();
        let mut dirs = locate::search(&dirs, &part, Reach::Subtree, &mut scratch)?;
        // An own row is no listing.
        dirs.start = dirs.start.max(u64::from(info.own_row));
        if dirs.start >= dirs.end {
            return Ok(0..0);
        }
        rows_of(self, &Span { segment, dirs }, &mut scratch)
    }

    /// Returns what the file of a named index for a segment is made from; `None` if there is no file:
    /// too few rows, or too many, or an index that is not over columns.
    ///
    /// # Errors
    /// If the segment's tables cannot be read.
    pub fn index_subject(
        &self,
        segment: usize,
        definition: &Definition,
    ) -> Result<Option<Subject>> {
        let Some((_, info)) = self.segment(segment) else {
            return Ok(None);
        };
        let Some(entries) = info.files.get(&Table::Entries) else {
            return Ok(None);
        };
        let can_have = (INDEX_ROWS_LEAST..=u64::from(u32::MAX)).contains(&info.rows);
        if !can_have || !definition.is_over_columns() {
            return Ok(None);
        }
        let rows = self.indexed_rows(segment, definition)?;
        let listed = rows.end.saturating_sub(rows.start);
        let subject = Subject {
            first: rows.start,
            listed,
            ..Subject::whole(entries.hash.0, info.rows)
        };
        Ok((listed >= INDEX_ROWS_LEAST).then_some(subject))
    }

    /// Returns whether a path is a directory of the source that each reader of the index can see.
    ///
    /// # Errors
    /// If the tables cannot be read.
    pub fn is_directory_to(&self, readers: Readers, path: &[u8]) -> Result<bool> {
        let Some((above, name)) = path::split(path) else {
            return Ok(false);
        };
        let mut scratch = Scratch::default();
        for span in locate::scope(self, above, Reach::Itself, &mut scratch)? {
            let Some((shard, info)) = self.segment(span.segment) else {
                continue;
            };
            if readers == Readers::Everyone && !shard.manifest.guard.is_empty() {
                continue;
            }
            let dirs = self.file(span.segment, Table::Dirs)?;
            let entries = self.file(span.segment, Table::Entries)?;
            let (Some(dirs), Some(entries)) = (dirs, entries) else {
                continue;
            };
            for dir in span.dirs {
                let rows = locate::entry_rows(&dirs, dir, info.rows, &mut scratch)?;
                let found = locate::find_name(&entries, rows, name, &mut scratch)?;
                if let Some(row) = found {
                    let columns = ColumnSet::of(&[Column::Mode]);
                    let batch = read_rows(&entries, columns, &[row..row + 1], &mut scratch)?;
                    let (batch, at, dir) = (&batch, 0, above);
                    return Ok(Row { batch, at, dir }.file_type() == FileType::Directory);
                }
            }
        }
        Ok(false)
    }

    /// Makes the file of a named index for a segment (numbered as in [`View::stored_segment`]);
    /// `None` if it has none.
    ///
    /// # Errors
    /// If the segment's tables cannot be read, and [`QueryError::Cancelled`].
    pub fn index_of(
        &self,
        segment: usize,
        definition: &Definition,
        cancel: &AtomicBool,
    ) -> Result<Option<Vec<u8>>> {
        let (Some(subject), Some(file)) = (
            self.index_subject(segment, definition)?,
            self.file(segment, Table::Entries)?,
        ) else {
            return Ok(None);
        };
        let columns = ColumnSet::of(definition.attributes());
        let (mut builder, mut scratch) = (Builder::new(definition), Scratch::default());
        let Range {
            mut start,
            end: last,
        } = subject.range();
        let mut key = Vec::new();
        while start < last {
            check_cancelled_by(Some(cancel))?;
            let end = last.min(start + ROWS);
            let batch = read_rows(&file, columns, &[start..end], &mut scratch)?;
            for (at, row) in (start..end).enumerate() {
                key.clear();
                for column in definition.attributes() {
                    let value = number(&batch, *column, at).ok_or_else(|| self.short(segment))?;
                    push_key(&mut key, *column, value);
                }
                builder.add(&key, row as u32);
            }
            scratch.recycle(batch);
            start = end;
        }
        Ok(Some(builder.finish(subject)))
    }

    fn short(&self, segment: usize) -> QueryError {
        self.damaged(segment, Table::Entries, "a column has too few values")
    }
}

fn number(batch: &RowBatch, column: Column, at: usize) -> Option<i128> {
    match batch.values(column) {
        Values::U32(numbers, _) => numbers.get(at).map(|number| i128::from(*number)),
        Values::U64(numbers, _) => numbers.get(at).map(|number| i128::from(*number)),
        Values::I64(numbers, _) => numbers.get(at).map(|number| i128::from(*number)),
        Values::Bytes(_) | Values::Derived => None,
    }
}
