//! Writes one Parquet file of a segment: row groups as they fill up, then the footer. Computes the
//! hashes for the manifest.

use super::chunk::{self, Chunk, ChunkInput};
use super::column::{Coding, ColumnData};
use super::page::Compressor;
use crate::parquet_schema::{arrow_schema, writer_properties};
use parquet::arrow::ArrowSchemaConverter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, TypePtr};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use trawl_format::error::{IndexError, Result};
use trawl_format::id::Hash;
use trawl_format::manifest::FileRef;
use trawl_format::schema::{self, FieldInfo, Table};
use trawl_model::sync::lock;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Maximum bytes of text in a row group (one directory's path may exceed it).
const GROUP_TEXT_BYTES: usize = 128 << 20;

/// Row groups with fewer rows are encoded on the calling thread.
const PARALLEL_ROWS: usize = 4 * 1024;
/// Maximum number of threads that encode a row group.
const THREADS: usize = 4;

/// Fills and writes one file.
pub(crate) struct TableWriter {
    table: Table,
    path: PathBuf,
    file: File,
    parquet: SerializedFileWriter<Vec<u8>>,
    /// The row group being filled.
    columns: Vec<ColumnData>,
    group_rows: usize,
    rows: u64,
    size_bytes: u64,
    hasher: Xxh3,
    chunk_hashes: String,
}

fn parquet_error(path: &Path) -> impl Fn(parquet::errors::ParquetError) -> IndexError {
    move |error| IndexError::Encode {
        path: path.to_owned(),
        problem: error.to_string(),
    }
}

/// Returns the Parquet schema and properties of a table, which are made once.
fn parts_of(table: Table) -> Result<(TypePtr, WriterPropertiesPtr)> {
    static PARTS: [OnceLock<(TypePtr, WriterPropertiesPtr)>; 5] = [const { OnceLock::new() }; 5];
    let slot = &PARTS[table as usize];
    if slot.get().is_none() {
        let schema = ArrowSchemaConverter::new()
            .convert(&arrow_schema(table))
            .map_err(parquet_error(Path::new(table.name())))?;
        let parts = (schema.root_schema_ptr(), Arc::new(writer_properties(table)));
        let _ = slot.set(parts);
    }
    slot.get().cloned().ok_or_else(|| IndexError::Encode {
        path: table.name().into(),
        problem: "it has no schema".to_owned(),
    })
}

/// Tells whether the caller fills a text column with codes.
fn coding(table: Table, field: &FieldInfo) -> Coding {
    match (table, field.name) {
        (Table::Entries, "dir" | "type") | (Table::Xattrs, "dir") => Coding::Coded,
        _ => Coding::Plain,
    }
}

impl TableWriter {
    /// Begins a table in `file`, which is empty. `path` is for messages.
    pub(crate) fn new(table: Table, root: &str, file: File, path: PathBuf) -> Result<TableWriter> {
        let (schema, properties) = parts_of(table)?;
        let mut parquet = SerializedFileWriter::new(Vec::new(), schema, properties)
            .map_err(parquet_error(&path))?;
        for (key, value) in [
            (schema::KEY_FORMAT, schema::FORMAT.to_string()),
            (schema::KEY_TABLE, table.name().to_owned()),
            (schema::KEY_ROOT, root.to_owned()),
        ] {
            parquet.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        let fields = table.fields().iter();
        Ok(TableWriter {
            columns: fields
                .map(|field| ColumnData::new(field, coding(table, field)))
                .collect(),
            table,
            path,
            file,
            parquet,
            group_rows: 0,
            rows: 0,
            size_bytes: 0,
            hasher: Xxh3::new(),
            chunk_hashes: String::new(),
        })
    }

    /// Returns the columns to fill. Each must be extended by the same number of rows, which is then
    /// passed to [`TableWriter::filled`].
    pub(crate) fn columns(&mut self) -> &mut [ColumnData] {
        &mut self.columns
    }

    /// Reserves memory for this number of rows, but at most for one row group.
    pub(crate) fn reserve(&mut self, rows: u64) {
        let rows = rows.min(self.table.row_group_rows() as u64) as usize;
        for column in &mut self.columns {
            column.reserve(rows);
        }
    }

    /// Returns the number of rows that the row group has room for; never 0.
    pub(crate) fn room(&self) -> usize {
        self.table.row_group_rows() - self.group_rows
    }

    /// Returns the number of rows in the current row group.
    pub(crate) fn group_rows(&self) -> usize {
        self.group_rows
    }

    /// Returns the number of rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Counts rows that were filled in, and writes the row group if it is full.
    pub(crate) fn filled(&mut self, rows: usize, compressor: &mut Compressor) -> Result<()> {
        self.group_rows += rows;
        self.rows += rows as u64;
        let text_bytes: usize = self.columns.iter().map(ColumnData::text_bytes).sum();
        if self.room() == 0 || text_bytes >= GROUP_TEXT_BYTES {
            self.write_group(compressor)?;
        }
        Ok(())
    }

    fn write_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        let descriptors = self.parquet.schema_descr().columns().to_vec();
        let chunks = self.encode_chunks(descriptors, compressor)?;
        let error = parquet_error(&self.path);
        let mut group = self.parquet.next_row_group().map_err(&error)?;
        for chunk in chunks {
            self.chunk_hashes
                .push_str(&format!("{:016x}", xxh3_64(&chunk.bytes)));
            let bytes = bytes::Bytes::from(chunk.bytes);
            group.append_column(&bytes, chunk.close).map_err(&error)?;
        }
        group.close().map_err(&error)?;
        drop(error);
        self.columns.iter_mut().for_each(ColumnData::clear);
        self.group_rows = 0;
        self.write_out().map(drop)
    }

    /// Encodes the row group's columns; large row groups on several threads.
    fn encode_chunks(
        &self,
        descriptors: Vec<ColumnDescPtr>,
        compressor: &mut Compressor,
    ) -> Result<Vec<Chunk>> {
        let fields = self.table.fields().iter();
        let columns = fields.zip(descriptors).zip(&self.columns);
        let inputs: Vec<ChunkInput<'_>> = columns
            .map(|((field, column), data)| ChunkInput {
                field,
                column,
                data,
                rows: self.group_rows,
                page_rows: self.table.page_rows(),
                path: &self.path,
            })
            .collect();
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(THREADS));
        if threads == 1 || self.group_rows < PARALLEL_ROWS {
            let encode = |input| chunk::encode(input, compressor);
            return inputs.iter().map(encode).collect();
        }
        let effort = compressor.effort();
        // Encoding costs differ widely between columns, so threads take columns one by one.
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = |compressor: &mut Compressor| {
            while let Some((at, input)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                inputs.get(at).map(|input| (at, input))
            } {
                let chunk = chunk::encode(input, compressor);
                let mut done = lock(&done);
                done.push((at, chunk));
            }
        };
        std::thread::scope(|scope| -> Result<()> {
            for _ in 1..threads {
                let mut compressor = Compressor::new(&self.path)?;
                compressor.set_effort(effort);
                let work = &work;
                scope.spawn(move || work(&mut compressor));
            }
            work(compressor);
            Ok(())
        })?;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, chunk)| chunk).collect()
    }

    /// Writes finished bytes to the file and returns them.
    fn write_out(&mut self) -> Result<Vec<u8>> {
        // Otherwise bytes in the library's own buffer would count as part of the tail.
        self.parquet
            .flush()
            .map_err(|error| IndexError::io("write", &self.path, error))?;
        let bytes = std::mem::take(self.parquet.inner_mut());
        self.hasher.update(&bytes);
        self.size_bytes += bytes.len() as u64;
        self.file
            .write_all(&bytes)
            .map_err(|error| IndexError::io("write", &self.path, error))?;
        Ok(bytes)
    }

    /// Writes the remaining rows and the footer.
    pub(crate) fn finish(mut self, compressor: &mut Compressor) -> Result<FileRef> {
        if self.group_rows > 0 {
            self.write_group(compressor)?;
        }
        let hashes = std::mem::take(&mut self.chunk_hashes);
        let pair = KeyValue::new(schema::KEY_CHUNKS.to_owned(), hashes);
        self.parquet.append_key_value_metadata(pair);
        let finished = self.parquet.finish().map(drop);
        finished.map_err(parquet_error(&self.path))?;
        let tail = self.write_out()?;
        Ok(FileRef {
            rows: self.rows,
            size_bytes: self.size_bytes,
            hash: Hash(self.hasher.digest128()),
            tail_bytes: tail.len() as u64,
            tail_hash: Hash::of(&tail),
        })
    }
}
