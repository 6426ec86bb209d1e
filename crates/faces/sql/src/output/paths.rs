//! The paths among the columns of an answer (`--paths`).

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::{filter_record_batch, is_not_null};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::error::DataFusionError;

use crate::error::{Result, SqlError};

/// The column of paths in an answer: `path`, else the first.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    at: usize,
    /// The schema of that column alone.
    pub(crate) schema: SchemaRef,
}

impl Paths {
    /// Finds the column.
    ///
    /// # Errors
    /// If it is neither text nor bytes.
    pub(crate) fn of(schema: &SchemaRef) -> Result<Paths> {
        let is_path = |name: &str| name.eq_ignore_ascii_case("path");
        let named = schema
            .fields()
            .iter()
            .position(|field| is_path(field.name()));
        let at = named.unwrap_or(0);
        let column = schema.project(&[at]).map_err(DataFusionError::from)?;
        let field = column.field(0);
        match is_text(field.data_type()) {
            true => Ok(Paths {
                at,
                schema: Arc::new(column),
            }),
            false => Err(SqlError::NoPath {
                column: field.name().clone(),
            }),
        }
    }

    /// Returns the paths of some rows, without those that are null.
    ///
    /// # Errors
    /// If a path contains a NUL byte.
    pub(crate) fn in_rows(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let column = batch.project(&[self.at]).map_err(DataFusionError::from)?;
        let is_there = is_not_null(column.column(0)).map_err(DataFusionError::from)?;
        let column = filter_record_batch(&column, &is_there).map_err(DataFusionError::from)?;
        match has_nul(column.column(0)) {
            false => Ok(column),
            true => Err(SqlError::Usage("a path contains a NUL byte".into())),
        }
    }
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn has_nul(array: &dyn Array) -> bool {
    let is_bad = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.contains(&0));
    let of_text = |text: Option<&str>| is_bad(text.map(str::as_bytes));
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().any(of_text),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().any(of_text),
        DataType::Utf8View => array.as_string_view().iter().any(of_text),
        DataType::Binary => array.as_binary::<i32>().iter().any(is_bad),
        DataType::LargeBinary => array.as_binary::<i64>().iter().any(is_bad),
        DataType::BinaryView => array.as_binary_view().iter().any(is_bad),
        _ => array
            .as_any_dictionary_opt()
            .is_some_and(|values| has_nul(values.values())),
    }
}
