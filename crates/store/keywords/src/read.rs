//! Reads the document of an open file, within a limit.

use std::fs::File;
use std::io::{self, Read};

use crate::document::Document;
use crate::plain::plain;

/// Bytes of a file that are read. Words behind them do not count, and an answer that may depend on
/// them says so.
pub const BYTES_MAX: u64 = 16 << 20;

/// Reads a file from its current position, and returns its document.
///
/// # Errors
/// If it cannot be read.
pub fn document_of(file: &mut File) -> io::Result<Document> {
    let mut content = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut content)?;
    let is_cut = content.len() as u64 > BYTES_MAX;
    content.truncate(BYTES_MAX as usize);
    Ok(plain(content, is_cut))
}
