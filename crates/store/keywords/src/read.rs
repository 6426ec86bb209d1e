//! Reads the document of an open file, within a limit: its content, and the attributes that programs
//! pushed ([`trawl_attributes`]).

use std::fs::File;
use std::io::{self, Read};

use crate::document::{Document, Value};
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
    let mut document = plain(content, is_cut);
    // First, since only so many values count. They are never cut.
    document.attributes.splice(0..0, pushed(file)?);
    Ok(document)
}

/// Returns the attributes that programs pushed to a file. Setting one changes the file's ctime, so
/// they belong to the identity by which documents are known, as the content does.
fn pushed(file: &File) -> io::Result<Vec<(String, Value)>> {
    let pushed = trawl_attributes::list(file).map_err(io::Error::other)?;
    let converted = pushed.into_iter().map(|(name, value)| (name, of(value)));
    Ok(converted.collect())
}

fn of(value: trawl_attributes::Value) -> Value {
    use trawl_attributes::Value as Pushed;
    match value {
        Pushed::Text(text) => Value::Text(text),
        Pushed::Integer(number) => Value::Integer(number),
        Pushed::Real(number) => Value::Real(number),
        Pushed::Time(time_ns) => Value::Time(time_ns),
        Pushed::List(values) => Value::List(values.into_iter().map(of).collect()),
    }
}
