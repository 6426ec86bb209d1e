//! Text in UTF-8 without a byte order mark, which needs no parser: the standard library checks it in
//! this process. It has the same text and attributes as from the worker, which reads everything else
//! (a test compares them).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::found::{Extracted, Findings, Value};
use crate::limits::Limits;

/// Byte order marks, of which the worker knows the encodings.
const MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];

/// Returns the text and attributes of a file that is UTF-8; `None` if it is not, is empty, or cannot
/// be read.
pub(crate) fn read(file: &File, hook: &str, limits: &Limits) -> Option<Extracted> {
    let (mut bytes, is_all) = beginning(file, limits.text_bytes).ok()?;
    if bytes.is_empty() || MARKS.iter().any(|mark| bytes.starts_with(mark)) {
        return None;
    }
    let is_ascii = bytes.is_ascii();
    if let Err(error) = std::str::from_utf8(&bytes) {
        // A character may be cut off at the limit.
        if is_all || error.error_len().is_some() {
            return None;
        }
        bytes.truncate(error.valid_up_to());
    }
    let text = String::from_utf8(bytes).ok()?;
    let mut findings = Findings::new(hook, limits);
    let encoding = if is_ascii { "ASCII" } else { "UTF-8" };
    findings.attribute_text("encoding", encoding);
    if is_all {
        let lines = text.bytes().filter(|byte| *byte == b'\n').count();
        let lines = lines + usize::from(!text.ends_with('\n'));
        findings.attribute("lines", Value::Integer(i64::try_from(lines).ok()?));
    } else {
        findings.exceeded("text");
    }
    let mut found = findings.finish();
    found.text = text;
    Some(found)
}

/// Returns the first bytes of a file, at most `most`, and whether these are all.
fn beginning(file: &File, most: usize) -> io::Result<(Vec<u8>, bool)> {
    let size_bytes = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    // One more byte tells whether the file goes on.
    let room = most.saturating_add(1).min(size_bytes.saturating_add(1));
    let (mut bytes, mut filled) = (vec![0; room], 0);
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let is_all = filled <= most;
    bytes.truncate(filled.min(most));
    Ok((bytes, is_all))
}
