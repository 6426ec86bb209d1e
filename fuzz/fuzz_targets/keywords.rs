//! Keywords: a query or a condition, answered by a pack as by reading the documents; or a pack with
//! changes and right hashes, which gives documents that are there or an error, never a panic.

#![no_main]

use std::sync::{Once, OnceLock};

use libfuzzer_sys::fuzz_target;
use trawl_grams::DocId;
use trawl_keywords::{
    AttributeTest, Builder, Document, Library, Occurrences, Pack, Query, Value, merge, passages,
};
use xxhash_rust::xxh3::xxh3_64;

static QUIET: Once = Once::new();

fuzz_target!(|data: &[u8]| {
    // The crate catches the panics of Tantivy; the fuzzer's own hook would abort.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let Some((kind, bytes)) = data.split_first() else {
        return;
    };
    match (kind % 3, std::str::from_utf8(bytes)) {
        (0, Ok(text)) => ask_words(text),
        (1, Ok(text)) => ask_attributes(text),
        _ => change(bytes),
    }
});

/// Documents with few words, so that queries meet them.
fn documents() -> Vec<(DocId, Document)> {
    let words = ["ssd", "flash", "nvme", "a", "b", "Straße", "x9"];
    let document = |number: u64| {
        let chosen = words.iter().zip(0..).filter(|(_, at)| number >> at & 1 == 1);
        let mut text: Vec<&str> = chosen.map(|(word, _)| *word).collect();
        if number % 3 == 0 {
            text.reverse();
        }
        let list = vec![Value::Real(number as f64 / 4.0), Value::Text("B c".to_owned())];
        let document = Document {
            text: text.join(" "),
            attributes: vec![
                ("n".to_owned(), Value::Integer(number as i64 - 60)),
                ("when".to_owned(), Value::Time(number as i64 * 86_400_000_000_000)),
                ("l".to_owned(), Value::List(list)),
            ],
            ..Document::default()
        };
        let id = DocId {
            object: number,
            version: 1,
        };
        (id, document)
    };
    (0..128).map(document).collect()
}

fn sound() -> Vec<u8> {
    let mut builder = Builder::new(1).expect("memory");
    for (id, document) in documents() {
        builder.add(id, id.object, &document).expect("memory");
    }
    builder.finish().expect("memory")
}

/// The documents, and the library that has them.
struct Known {
    documents: Vec<(DocId, Document)>,
    library: Library,
    bytes: Vec<u8>,
}

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let bytes = sound();
        let mut library = Library::default();
        let pack = Pack::of_bytes(bytes.clone()).expect("it was just made");
        library.add(pack).expect("it was just made");
        Known {
            documents: documents(),
            library,
            bytes,
        }
    })
}

fn ask_words(text: &str) {
    let Ok(query) = Query::parse(text) else {
        return;
    };
    let answer = known().library.query(&query);
    assert!(!answer.is_partial());
    for (id, document) in &known().documents {
        let read = Occurrences::find(&query, &document.text).matches(&query);
        assert_eq!(answer.score(*id).is_some(), read, "{}", document.text);
        passages(&document.text, &[&query], 3);
    }
}

fn ask_attributes(text: &str) {
    let Ok(test) = AttributeTest::parse(text) else {
        return;
    };
    let answer = known().library.attribute(&test);
    assert!(!answer.is_partial());
    for (id, document) in &known().documents {
        assert_eq!(answer.score(*id).is_some(), test.matches(document));
    }
}

fn change(changes: &[u8]) {
    let mut bytes = known().bytes.clone();
    for change in changes.chunks_exact(4) {
        let at = usize::from(change[0]) << 16 | usize::from(change[1]) << 8 | usize::from(change[2]);
        let length = bytes.len();
        bytes[at % length] ^= change[3];
    }
    let Some(bytes) = sealed(bytes) else {
        return;
    };
    let Ok(pack) = Pack::of_bytes(bytes) else {
        return;
    };
    let stays = vec![true; pack.docs().len()];
    let docs = pack.docs().len();
    let mut library = Library::default();
    if library.add(pack.clone()).is_ok() {
        for text in ["ssd OR nvme", "\"flash nvme\"", "NOT a"] {
            let query = Query::parse(text).expect("a query");
            let answer = library.query(&query);
            let found = pack.docs().iter().filter(|doc| answer.score(doc.id).is_some());
            assert!(found.count() <= docs);
        }
        library.attribute(&AttributeTest::parse("n<3").expect("a condition"));
    }
    let _ = merge(&[(pack, stays)]);
}

/// Puts right hashes into a pack. `docs/internals/keywords.md` has the layout.
fn sealed(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let number = |bytes: &[u8], at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(four) as usize)
    };
    let (docs, files, blocks) = (number(&bytes, 12)?, number(&bytes, 16)?, number(&bytes, 20)?);
    let hashes = 48 + docs.checked_mul(24)? + files.checked_mul(80)?;
    let content = hashes.checked_add(blocks.checked_mul(8)?)?;
    let found: Vec<u64> = bytes.get(content..)?.chunks(64 << 10).map(xxh3_64).collect();
    for (at, hash) in (hashes..content).step_by(8).zip(found) {
        bytes.get_mut(at..at + 8)?.copy_from_slice(&hash.to_le_bytes());
    }
    let tables = xxh3_64(bytes.get(48..content)?);
    bytes.get_mut(32..40)?.copy_from_slice(&tables.to_le_bytes());
    let head = xxh3_64(bytes.get(..40)?);
    bytes.get_mut(40..48)?.copy_from_slice(&head.to_le_bytes());
    Some(bytes)
}
