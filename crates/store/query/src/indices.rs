//! Named indices of a view's segments: which there are, and how they are made from the tables.

use crate::error::{QueryError, Result};
use crate::search::INDEX_ROWS_LEAST;
use crate::segment::{Scratch, read_rows};
use crate::view::View;
use crate::walk::check_cancelled_by;
use std::sync::atomic::AtomicBool;
use trawl_format::SegmentInfo;
use trawl_format::schema::Table;
use trawl_indices::{Builder, Definition, Subject, push_key, read_all};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{RowBatch, Values};

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

    /// Makes the file of a named index for a segment (numbered as in [`View::stored_segment`]);
    /// `None` if the segment is too small or too large to have one.
    ///
    /// # Errors
    /// If the segment's tables cannot be read, and [`QueryError::Cancelled`].
    pub fn index_of(
        &self,
        segment: usize,
        definition: &Definition,
        cancel: &AtomicBool,
    ) -> Result<Option<Vec<u8>>> {
        let Some((_, _, info)) = self.stored_segment(segment) else {
            return Ok(None);
        };
        let (Some(subject), Some(file)) = (subject_of(info), self.file(segment, Table::Entries)?)
        else {
            return Ok(None);
        };
        if !can_have_index(info) {
            return Ok(None);
        }
        let columns = ColumnSet::of(definition.attributes());
        let (mut builder, mut scratch) = (Builder::new(definition), Scratch::default());
        let (mut key, mut start) = (Vec::new(), 0);
        while start < info.rows {
            check_cancelled_by(Some(cancel))?;
            let end = info.rows.min(start + ROWS);
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

/// Returns true if a segment is neither too small nor too large to have named indices.
pub fn can_have_index(info: &SegmentInfo) -> bool {
    (INDEX_ROWS_LEAST..=u64::from(u32::MAX)).contains(&info.rows)
}

/// Returns what the files of named indices for a segment are made from; `None` if it has no entries.
pub fn subject_of(info: &SegmentInfo) -> Option<Subject> {
    let entries = info.files.get(&Table::Entries)?;
    Some(Subject {
        segment: entries.hash.0,
        rows: info.rows,
    })
}

fn number(batch: &RowBatch, column: Column, at: usize) -> Option<i128> {
    match batch.values(column) {
        Values::U32(numbers, _) => numbers.get(at).map(|number| i128::from(*number)),
        Values::U64(numbers, _) => numbers.get(at).map(|number| i128::from(*number)),
        Values::I64(numbers, _) => numbers.get(at).map(|number| i128::from(*number)),
        Values::Bytes(_) | Values::Derived => None,
    }
}
