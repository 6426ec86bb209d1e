//! Encodes columns as Parquet bytes.
//!
//! The Parquet library writes the schema, footer and page indexes. Pages are encoded here, because
//! the library's page writer stores no page checksums, hashes every value of a dictionary column,
//! and creates a compression context per page. Measurements are at the end of `docs/format.md`.
//!
//! `bits` → `numbers` and `bytes` (one page's values) → `chunk` (a column of a row group) → `file`
//! (row groups, footer, hashes).

mod bits;
mod bytes;
mod chunk;
mod column;
mod file;
mod numbers;
mod page;

pub(crate) use column::ColumnData;
pub(crate) use file::TableWriter;
pub(crate) use page::{Compressor, Effort};
