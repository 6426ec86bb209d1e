//! Tables and measurements.

pub(crate) mod arrays;
pub(crate) mod fits;

use std::io::{Read, Seek, SeekFrom};

use parquet::file::metadata::ParquetMetaDataReader;
use trawl_hooks::Value;
use trawl_hooks::found::Findings;

use crate::input::{Input, damaged, unreadable};

/// Length of the end of a file: the footer's length, and the format's name.
const END_BYTES: u64 = 8;
/// Maximum length of a footer in bytes.
const FOOTER_BYTES_MAX: u64 = 16 << 20;

/// Parquet: the schema and the number of rows, from the footer.
pub(crate) fn parquet(input: &Input, findings: &mut Findings) {
    let footer = match footer(input) {
        Ok(Some(footer)) => footer,
        Ok(None) => return damaged("the file has no footer", findings),
        Err(error) => return unreadable(&error, findings),
    };
    let metadata = match ParquetMetaDataReader::decode_metadata(&footer) {
        Ok(metadata) => metadata,
        Err(error) => return damaged(error, findings),
    };
    let file = metadata.file_metadata();
    findings.attribute("rows", Value::Integer(file.num_rows()));
    let columns = file.schema_descr().columns().iter();
    let columns: Vec<String> = columns.map(|column| column.path().string()).collect();
    for column in &columns {
        findings.line(column);
    }
    findings.attribute_texts("column", columns);
}

/// Returns the footer; `None` if there cannot be one.
fn footer(input: &Input) -> std::io::Result<Option<Vec<u8>>> {
    let Some(end) = input.size_bytes().checked_sub(END_BYTES) else {
        return Ok(None);
    };
    let mut reader = input.reader();
    let mut last = [0; END_BYTES as usize];
    reader.seek(SeekFrom::Start(end))?;
    reader.read_exact(&mut last)?;
    let [a, b, c, d, magic @ ..] = last;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let begin = end.checked_sub(length);
    let Some(begin) = begin.filter(|_| magic == *b"PAR1" && length <= FOOTER_BYTES_MAX) else {
        return Ok(None);
    };
    let mut footer = Vec::new();
    reader.seek(SeekFrom::Start(begin))?;
    reader.take(length).read_to_end(&mut footer)?;
    Ok(Some(footer))
}
