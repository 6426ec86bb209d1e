//! Replies of daemons, questions for tables, tables, and notes of the daemon: malformed, or
//! something that is written as it was read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_barrier::protocol;
use trawl_barrier::status::{Status, prometheus};
use trawl_delta::Note;
use trawl_table::wire::{ANSWER_BYTES, Answer, QUESTION_BYTES_MAX, Question};
use trawl_table::{Builder, EntryParts, Level, Search, Stat, Table};

/// Bytes of a table's header that say what it is.
const HEAD_BYTES: usize = 8;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    match first % 5 {
        0 => {
            let _ = protocol::Answer::parse(rest);
        }
        1 => {
            if let Some(status) = Status::parse(rest) {
                let text = prometheus(&[("/a\"\n".to_owned(), status)]);
                for line in text.lines() {
                    assert!(
                        line.starts_with("# ") || line.starts_with("trawl_watch_"),
                        "{line}"
                    );
                }
            }
        }
        2 => asked(rest),
        3 => {
            let text = String::from_utf8_lossy(rest);
            if let Some(note) = Note::parse(&text) {
                assert_eq!(Note::parse(&note.to_string()), Some(note));
            }
        }
        _ => table(rest),
    }
});

fn asked(bytes: &[u8]) {
    if let Some(question) = Question::decode(bytes) {
        let mut space = [0; QUESTION_BYTES_MAX];
        assert_eq!(question.encode(&mut space).expect("it was read"), bytes);
    }
    if let Some(answer) = bytes.first_chunk::<ANSWER_BYTES>().and_then(Answer::decode) {
        assert_eq!(answer.encode()[..], bytes[..ANSWER_BYTES]);
    }
}

/// Looks at all of a table; the header's marks are put right.
fn table(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let sample = sample();
    let length = bytes.len().min(HEAD_BYTES);
    bytes[..length].copy_from_slice(&sample[..length]);
    for bytes in [&bytes, &changed(sample, &bytes[length..])] {
        let Ok(table) = Table::new(bytes) else {
            continue;
        };
        assert!(!table.says_absent(b"/r/name") || table.directory(0).is_some());
        let _ = (
            table.path(),
            table.level(),
            table.begun_ns(),
            table.generation(),
        );
        for number in 0..table.len().min(64) {
            let Some(directory) = table.directory(number as u32) else {
                continue;
            };
            let _ = (
                directory.itself(),
                directory.parent(),
                directory.is_searchable(),
            );
            for place in 0..directory.len().min(64) {
                let Some(entry) = directory.entry(place) else {
                    continue;
                };
                assert!(entry.name().len() <= bytes.len());
                let _ = directory.find(entry.name());
                let _ = (
                    entry.stat(),
                    entry.link(),
                    entry.access(),
                    entry.directory(),
                );
            }
        }
    }
}

fn sample() -> Vec<u8> {
    let mut builder = Builder::new(b"/r", &Stat::default(), Level::Attributes);
    let first = builder.len();
    let sub = EntryParts {
        name: b"sub",
        ..EntryParts::default()
    };
    let file = EntryParts {
        name: b"name",
        ..EntryParts::default()
    };
    let sub = builder.push(&sub);
    builder.push(&file);
    builder.listed(0, first, Search::Allowed);
    builder.add_directory(sub, Some(0));
    builder.finish().expect("a table")
}

/// Changes bytes: each change is a place and a value.
fn changed(mut bytes: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[at] = change[2];
    }
    bytes
}
