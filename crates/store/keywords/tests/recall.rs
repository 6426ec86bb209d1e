//! Packs answer as a naive evaluation over the same documents does, whatever packs the documents lie
//! in and however often these were merged (Propeller, Table 9: recall 100 %).

use std::collections::BTreeSet;

use proptest::prelude::*;
use trawl_grams::DocId;
use trawl_keywords::{
    AttributeTest, Builder, Document, Library, Occurrences, Pack, Query, Reference, Value, merge,
    merge_as, origins, references,
};

const WORDS: [&str; 7] = ["ssd", "flash", "nvme", "disk", "a", "gr\u{fc}n", "\u{4e2d}"];

/// Fingerprint of the source of the documents.
const SOURCE: u64 = 7;

/// A query of the test's own, from which the text of a query is made.
#[derive(Clone, Debug)]
enum Asked {
    Word(usize),
    Phrase(Vec<usize>),
    And(Vec<Asked>),
    Or(Vec<Asked>),
    Not(Box<Asked>),
}

impl Asked {
    fn text(&self) -> String {
        let list = |parts: &[Asked], between: &str| {
            let parts: Vec<String> = parts.iter().map(Asked::text).collect();
            format!("({})", parts.join(between))
        };
        match self {
            Asked::Word(word) => WORDS[*word].to_uppercase(),
            Asked::Phrase(words) => {
                let words: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
                format!("\"{}\"", words.join(" - "))
            }
            Asked::And(parts) => list(parts, " AND "),
            Asked::Or(parts) => list(parts, " OR "),
            Asked::Not(part) => format!("NOT {}", part.text()),
        }
    }

    /// Evaluates the query on a list of words.
    fn holds(&self, words: &[usize]) -> bool {
        match self {
            Asked::Word(word) => words.contains(word),
            Asked::Phrase(phrase) => words.windows(phrase.len()).any(|part| part == phrase),
            Asked::And(parts) => parts.iter().all(|part| part.holds(words)),
            Asked::Or(parts) => parts.iter().any(|part| part.holds(words)),
            Asked::Not(part) => !part.holds(words),
        }
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    let word = 0..WORDS.len();
    let leaf = prop_oneof![
        word.clone().prop_map(Asked::Word),
        prop::collection::vec(word, 1..4).prop_map(Asked::Phrase),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let list = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            list().prop_map(Asked::And),
            list().prop_map(Asked::Or),
            inner.clone().prop_map(|part| Asked::Not(Box::new(part))),
        ]
    })
}

fn documents() -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop::collection::vec(prop::collection::vec(0..WORDS.len(), 0..12), 1..30)
}

fn text(words: &[usize]) -> String {
    let words: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
    words.join(", ")
}

fn id(number: usize) -> DocId {
    DocId {
        object: number as u64,
        version: number as u64,
    }
}

fn document(words: &[usize]) -> Document {
    Document {
        text: text(words),
        ..Document::default()
    }
}

/// Returns packs with these documents, which are numbered from `first`.
fn pack(documents: &[Document], first: usize) -> Pack {
    let mut builder = Builder::new(SOURCE).unwrap();
    for (number, document) in documents.iter().enumerate() {
        builder
            .add(id(first + number), number as u64, document)
            .unwrap();
    }
    Pack::of_bytes(builder.finish().unwrap()).unwrap()
}

/// Returns a library of packs with up to `size` documents.
fn library(documents: &[Document], size: usize) -> Library {
    let mut library = Library::default();
    for (part, first) in documents.chunks(size).zip((0..).step_by(size)) {
        library.add(pack(part, first)).unwrap();
    }
    library
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn queries_find_what_a_naive_evaluation_finds(
        all in documents(),
        queries in prop::collection::vec(asked(), 1..6),
        size in 1usize..40,
    ) {
        let texts: Vec<Document> = all.iter().map(|words| document(words)).collect();
        let library = library(&texts, size);
        for asked in &queries {
            let query = Query::parse(&asked.text()).unwrap();
            let answer = library.query(&query);
            for (number, words) in all.iter().enumerate() {
                let expected = asked.holds(words);
                let found = answer.score(id(number)).is_some();
                prop_assert_eq!(found, expected, "{} in {:?}", asked.text(), text(words));
                let read = Occurrences::find(&query, &text(words)).matches(&query);
                prop_assert_eq!(read, expected, "{} in {:?}", asked.text(), text(words));
            }
        }
    }

    #[test]
    fn documents_that_were_taken_out_are_gone(
        all in documents(),
        stays in prop::collection::vec(any::<bool>(), 30),
        asked in asked(),
    ) {
        let texts: Vec<Document> = all.iter().map(|words| document(words)).collect();
        let cut = all.len() / 2;
        let parts = [pack(&texts[..cut], 0), pack(&texts[cut..], cut)];
        let kept = [stays[..cut].to_vec(), stays[cut..all.len()].to_vec()];
        let merged = merge(&[
            (parts[0].clone(), kept[0].clone()),
            (parts[1].clone(), kept[1].clone()),
        ]).unwrap();
        let mut library = Library::default();
        let mut listed = BTreeSet::new();
        if let Some(bytes) = merged {
            // Documents that were taken out leave no trace, not even in the size.
            let of_left = |from: usize, to: usize| {
                let left = (from..to).filter(|number| stays[*number]);
                let left: Vec<Document> = left.map(|number| texts[number].clone()).collect();
                (pack(&left, 0), vec![true; left.len()])
            };
            let others = [of_left(0, cut), of_left(cut, all.len())];
            let without = merge(&others).unwrap().unwrap();
            prop_assert_eq!(bytes.len(), without.len());
            let pack = Pack::of_bytes(bytes).unwrap();
            listed.extend(pack.docs().iter().map(|doc| doc.id));
            library.add(pack).unwrap();
        }
        let query = Query::parse(&asked.text()).unwrap();
        let answer = library.query(&query);
        for (number, words) in all.iter().enumerate() {
            prop_assert_eq!(listed.contains(&id(number)), stays[number]);
            let expected = stays[number] && asked.holds(words);
            prop_assert_eq!(answer.score(id(number)).is_some(), expected);
        }
    }

    #[test]
    fn attributes_are_compared_by_value(
        values in prop::collection::vec((-3i64..4, 0u8..4), 1..30),
        wanted in -3i64..4,
        size in 1usize..40,
    ) {
        let value = |(number, kind): (i64, u8)| match kind {
            0 => Value::Integer(number),
            1 => Value::Real(number as f64 + 0.5),
            2 => Value::List(vec![Value::Integer(number), Value::Text("one".into())]),
            _ => Value::Text(number.to_string()),
        };
        let documents: Vec<Document> = values.iter().map(|one| Document {
            attributes: vec![("Exposure".into(), value(*one)), ("x".into(), Value::Integer(0))],
            ..Document::default()
        }).collect();
        let library = library(&documents, size);
        type Compare = fn(f64, f64) -> bool;
        let operators: [(&str, Compare); 6] = [
            ("=", |a, b| a == b),
            ("!=", |a, b| a != b),
            ("<", |a, b| a < b),
            ("<=", |a, b| a <= b),
            (">", |a, b| a > b),
            (">=", |a, b| a >= b),
        ];
        for (operator, compare) in operators {
            let test = AttributeTest::parse(&format!("exposure{operator}{wanted}")).unwrap();
            let answer = library.attribute(&test);
            for (number, (found, kind)) in values.iter().enumerate() {
                let real = *found as f64 + if *kind == 1 { 0.5 } else { 0.0 };
                let is_ordered = !matches!(operator, "=" | "!=");
                let expected = compare(real, wanted as f64) && !(*kind == 3 && is_ordered);
                let packed = answer.score(id(number)).is_some();
                prop_assert_eq!(packed, expected, "{} {} {:?}", operator, wanted, values[number]);
                prop_assert_eq!(test.matches(&documents[number]), expected);
            }
        }
    }
}

#[test]
fn a_damaged_pack_is_an_error_and_not_an_answer() {
    let words: Vec<usize> = (0..WORDS.len()).collect();
    let texts: Vec<Document> = (0..40).map(|n| document(&words[..n % 8])).collect();
    let mut builder = Builder::new(SOURCE).unwrap();
    for (number, document) in texts.iter().enumerate() {
        builder.add(id(number), number as u64, document).unwrap();
    }
    let bytes = builder.finish().unwrap();
    for at in (0..bytes.len()).step_by(61) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x5a;
        let Ok(pack) = Pack::of_bytes(damaged) else {
            continue;
        };
        let mut library = Library::default();
        if library.add(pack).is_ok() {
            let query = Query::parse("ssd").unwrap();
            let answer = library.query(&query);
            assert!(
                answer.is_partial() || answer.score(id(1)).is_some(),
                "byte {at}"
            );
        }
    }
}

/// The oracle is BM25 as Robertson and Zaragoza (2009) give it, with k1 = 1.2 and b = 0.75; lengths
/// of up to 40 words are exact in Tantivy's norms.
#[test]
fn scores_are_those_of_bm25_over_all_packs() {
    let texts = ["ssd ssd disk", "ssd", "disk flash", "flash"];
    let documents: Vec<Document> = texts
        .iter()
        .map(|text| Document {
            text: (*text).to_owned(),
            ..Document::default()
        })
        .collect();
    let query = Query::parse("ssd OR disk").unwrap();
    let bm25 = |frequency: f32, documents_with: f32, length: f32| {
        let (all, average) = (4.0f32, 7.0 / 4.0);
        let idf = (1.0 + (all - documents_with + 0.5) / (documents_with + 0.5)).ln();
        let norm = 1.2 * (1.0 - 0.75 + 0.75 * length / average);
        idf * frequency * 2.2 / (frequency + norm)
    };
    let expected = [
        Some(bm25(2.0, 2.0, 3.0) + bm25(1.0, 2.0, 3.0)),
        Some(bm25(1.0, 2.0, 1.0)),
        Some(bm25(1.0, 2.0, 2.0)),
        None,
    ];
    for size in 1..5 {
        let answer = library(&documents, size).query(&query);
        for (number, expected) in expected.iter().enumerate() {
            let found = answer.score(id(number));
            let is_near = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-5,
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(is_near, "{size} {number}: {found:?} {expected:?}");
        }
    }
}

/// References and origins follow their documents through merges, and those of documents that were
/// taken out are gone.
#[test]
fn references_follow_their_documents() {
    let of = |number: usize| -> Vec<Reference> {
        let target = |at: usize| Reference {
            kind: "includes".into(),
            target: format!("file{number}-{at}.h"),
        };
        (0..number % 4).map(target).collect()
    };
    let documents: Vec<Document> = (0..20)
        .map(|number| Document {
            text: "ssd".into(),
            references: of(number),
            content_hash: (number % 3 > 0).then_some(number as u128 + 1),
            ..Document::default()
        })
        .collect();
    let parts = [pack(&documents[..9], 0), pack(&documents[9..], 9)];
    // Odd documents go; others are known by another number from now on.
    let renamed = |first: usize, count: usize| {
        let numbers = first..first + count;
        let ids = numbers.map(|number| (number % 2 == 0).then_some(id(number + 100)));
        ids.collect()
    };
    let merged = merge_as(&[
        (parts[0].clone(), renamed(0, 9)),
        (parts[1].clone(), renamed(9, 11)),
    ]);
    let bytes = merged.unwrap().unwrap();
    let is_in = |text: &str| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(is_in("file2-1.h") && !is_in("file3-1.h"));
    let pack = Pack::of_bytes(bytes).unwrap();
    assert_eq!(pack.fingerprint(), SOURCE);
    let found = origins(&pack).unwrap();
    for (at, number) in (0..20).step_by(2).enumerate() {
        assert_eq!(pack.docs()[at].id, id(number + 100));
        assert_eq!(references(&pack, at as u32).unwrap(), of(number));
        assert_eq!(found[at].content_hash, documents[number].content_hash);
    }
    assert!(references(&pack, 10).is_err());
    let mut library = Library::default();
    library.add(pack).unwrap();
    assert_eq!(library.references(id(102)).unwrap(), Some(of(2)));
    assert_eq!(library.references(id(101)).unwrap(), None);
}
