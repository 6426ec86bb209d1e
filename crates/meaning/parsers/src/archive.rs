//! Archives: names of members. Compressed files: the names in an archive inside, or text.

use std::io::{BufReader, Read};

use flate2::read::MultiGzDecoder;
use trawl_hooks::Value;
use trawl_hooks::format::is_text;
use trawl_hooks::found::Findings;

use crate::input::{Input, damaged, unreadable};
use crate::office::listing;
use crate::text::decode;

/// Length of a header of tar, and where it says what it is (POSIX.1-2017, pax).
const TAR_HEADER_BYTES: u64 = 512;
const TAR_MAGIC: std::ops::Range<usize> = 257..262;

pub(crate) fn zip(input: &Input, findings: &mut Findings) {
    match listing(input.reader()) {
        Ok((names, size_bytes)) => {
            let count = names.len();
            for name in names {
                if !findings.line(&name) {
                    break;
                }
            }
            report(count, size_bytes, findings);
        }
        Err(error) => damaged(error, findings),
    }
}

fn report(members: usize, size_bytes: u64, findings: &mut Findings) {
    for (name, number) in [
        ("members", members as u64),
        ("uncompressed-size", size_bytes),
    ] {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        findings.attribute(name, Value::Integer(number));
    }
}

pub(crate) fn tar(input: &Input, findings: &mut Findings) {
    let mut archive = tar::Archive::new(input.reader());
    // Contents are skipped, not read.
    match archive.entries_with_seek() {
        Ok(entries) => members(entries, findings),
        Err(error) => unreadable(&error, findings),
    }
}

fn members<R: Read>(entries: tar::Entries<'_, R>, findings: &mut Findings) {
    let (mut count, mut size_bytes) = (0, 0u64);
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                damaged(error, findings);
                break;
            }
        };
        count += 1;
        size_bytes = size_bytes.saturating_add(entry.size());
        if !findings.line(&String::from_utf8_lossy(&entry.path_bytes())) {
            break;
        }
    }
    report(count, size_bytes, findings);
}

pub(crate) fn gzip(input: &Input, findings: &mut Findings) {
    decompressed(MultiGzDecoder::new(input.reader()), input, findings);
}

pub(crate) fn zstandard(input: &Input, findings: &mut Findings) {
    match zstd::stream::read::Decoder::with_buffer(input.reader()) {
        Ok(decoder) => decompressed(decoder, input, findings),
        Err(error) => damaged(error, findings),
    }
}

/// Reads a decompressed stream as far as the limit.
fn decompressed(stream: impl Read, input: &Input, findings: &mut Findings) {
    let mut stream = BufReader::new(stream.take(input.limits.input_bytes));
    let mut head = Vec::new();
    if let Err(error) = (&mut stream).take(TAR_HEADER_BYTES).read_to_end(&mut head) {
        return damaged(error, findings);
    }
    if head.get(TAR_MAGIC) == Some(b"ustar") {
        let mut archive = tar::Archive::new((&head[..]).chain(&mut stream));
        match archive.entries() {
            Ok(entries) => members(entries, findings),
            Err(error) => damaged(error, findings),
        }
        if stream.get_ref().limit() == 0 {
            findings.exceeded("decompressed size");
        }
    } else if is_text(&head) {
        text(head, stream, input, findings);
    }
}

fn text(mut head: Vec<u8>, stream: impl Read, input: &Input, findings: &mut Findings) {
    // One byte more, to know whether it is all.
    let room = (input.limits.text_bytes as u64).saturating_add(1);
    let room = room.saturating_sub(head.len() as u64);
    let read = stream.take(room).read_to_end(&mut head);
    let is_all = head.len() <= input.limits.text_bytes;
    let (encoding, text) = decode(&head, is_all);
    findings.attribute_text("encoding", encoding);
    findings.text(&text);
    if let Err(error) = read {
        damaged(error, findings);
    }
}
