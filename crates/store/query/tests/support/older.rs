//! Makes indexes like those of programs that did not know the last columns.

use super::answers::files_below;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use trawl_format::Hash;
use trawl_format::schema::{FORMAT, KEY_CHUNKS, KEY_FORMAT, KEY_TABLE, Table};
use xxhash_rust::xxh3::xxh3_64;

/// Writes the rows of a segment's file with only its first `columns`.
fn with_columns(file: &Path, table: Table, columns: usize) -> Vec<u8> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let kept: Vec<usize> = (0..columns).collect();
    let schema = trawl_writer::parquet_schema::arrow_schema(table)
        .project(&kept)
        .unwrap();
    let write = |pairs: &[(&str, String)]| {
        let properties = Some(trawl_writer::parquet_schema::writer_properties(table));
        let mut writer =
            ArrowWriter::try_new(Vec::new(), schema.clone().into(), properties).unwrap();
        for batch in &batches {
            writer.write(&batch.project(&kept).unwrap()).unwrap();
        }
        writer.flush().unwrap();
        let groups = writer.flushed_row_groups();
        let chunks = groups.iter().flat_map(|group| group.columns());
        let chunks: Vec<(u64, u64)> = chunks.map(|chunk| chunk.byte_range()).collect();
        for (key, value) in pairs {
            writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value.clone()));
        }
        (writer.into_inner().unwrap(), chunks)
    };
    let (bytes, chunks) = write(&[]);
    let hash = |(start, len): &(u64, u64)| xxh3_64(&bytes[*start as usize..(start + len) as usize]);
    let hashes = chunks.iter().map(|chunk| format!("{:016x}", hash(chunk)));
    let pairs = [
        (KEY_CHUNKS, hashes.collect()),
        (KEY_FORMAT, FORMAT.to_string()),
        (KEY_TABLE, table.name().to_owned()),
    ];
    write(&pairs).0
}

/// Replaces the files of one table of an index by ones with only the first
/// `columns`, as a program would have written them that knew no others.
pub(crate) fn make_older(index: &Path, table: Table, columns: usize) {
    let mut files = Vec::new();
    files_below(index, &mut files);
    let named = |end: &'static str| {
        let files = files.iter();
        files.filter(move |file| file.to_str().is_some_and(|name| name.ends_with(end)))
    };
    let derived = named(".pack").chain(named(".items"));
    derived.for_each(|file| std::fs::remove_file(file).unwrap());
    for manifest in named(".manifest") {
        let text = std::fs::read_to_string(manifest).unwrap();
        let (json, _) = text.trim_end().rsplit_once('\n').unwrap();
        let mut json: serde_json::Value = serde_json::from_str(json).unwrap();
        for segment in json["segments"].as_array_mut().unwrap() {
            let id = segment["id"].as_str().unwrap().to_owned();
            let Some(of) = segment["files"].get_mut(table.name()) else {
                continue;
            };
            let path = manifest.with_file_name(format!("{id}.{table}.parquet"));
            let bytes = with_columns(&path, table, columns);
            let tail = tail_of(&bytes);
            of["size_bytes"] = bytes.len().into();
            of["hash"] = Hash::of(&bytes).to_string().into();
            of["tail_bytes"] = tail.len().into();
            of["tail_hash"] = Hash::of(tail).to_string().into();
            std::fs::write(&path, &bytes).unwrap();
        }
        let text = format!("{json}\n");
        let sum = Hash::of(text.as_bytes());
        std::fs::write(manifest, format!("{text}xxh3-128 {sum}\n")).unwrap();
    }
}

/// Returns what follows the last column chunk.
fn tail_of(bytes: &[u8]) -> &[u8] {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let chunks = reader.metadata().row_groups().iter();
    let chunks = chunks.flat_map(|group| group.columns());
    let ends = chunks.map(|chunk| chunk.byte_range().0 + chunk.byte_range().1);
    let start = ends.max().unwrap_or(4) as usize;
    &bytes[start..]
}
