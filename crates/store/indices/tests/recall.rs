//! Answers of files against a naive search of the rows, and damaged files.

use std::ops::Range;

use proptest::prelude::*;
use trawl_indices::{Bounds, Builder, Definition, IndexFile, Kind, Subject, push_key};
use trawl_model::Column;
use trawl_model::filter::{Clause, Filter};

/// A row: owner and size.
type Values = (u32, u64);

fn file_of(definition: &Definition, rows: &[Values]) -> (Subject, Vec<u8>) {
    let mut builder = Builder::new(definition);
    for (row, (uid, size)) in rows.iter().enumerate() {
        let mut key = Vec::new();
        for column in definition.attributes() {
            let value = match column {
                Column::Uid => i128::from(*uid),
                _ => i128::from(*size),
            };
            push_key(&mut key, *column, value);
        }
        builder.add(&key, row as u32);
    }
    let subject = Subject::whole(0x1234, rows.len() as u64);
    (subject, builder.finish(subject))
}

fn filter(clauses: &[Clause]) -> Filter {
    let mut filter = Filter::default();
    clauses.iter().for_each(|clause| filter.add(*clause));
    filter
}

fn clause(column: Column, (low, high): (i128, i128)) -> Clause {
    Clause { column, low, high }
}

fn flat(mut ranges: Vec<Range<u64>>) -> Vec<u64> {
    ranges.sort_by_key(|range| range.start);
    ranges.into_iter().flatten().collect()
}

/// Rows that the clauses of the definition's attributes admit, by looking at each.
fn naive(definition: &Definition, rows: &[Values], filter: &Filter) -> Vec<u64> {
    let admits = |(uid, size): &Values| {
        filter.clauses.iter().all(|clause| match clause.column {
            Column::Uid => clause.admits((*uid).into()),
            _ => !definition.attributes().contains(&Column::Size) || clause.admits((*size).into()),
        })
    };
    (0..rows.len() as u64)
        .filter(|row| admits(&rows[*row as usize]))
        .collect()
}

fn any_rows() -> impl Strategy<Value = Vec<Values>> {
    let sizes = prop_oneof![0u64..4, 0u64..5000, any::<u64>()];
    prop_oneof![
        proptest::collection::vec((0u32..5, sizes), 0..60),
        // Long lists and many blocks.
        (1u64..9000).prop_map(|step| (0..12_000).map(|n| (n % 3, u64::from(n) / step)).collect()),
        (1u64..9000).prop_map(|step| (0..9000).map(|n| (n, u64::from(n) * step)).collect()),
    ]
}

fn any_range() -> impl Strategy<Value = (i128, i128)> {
    let single = prop_oneof![0i128..6, 0i128..5000];
    prop_oneof![
        single.prop_map(|value| (value, value)),
        (-3i128..40, 0i128..9000).prop_map(|(low, width)| (low, low + width)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_ordered_index_finds_what_a_look_at_each_row_finds(
        rows in any_rows(), uid in any_range(), size in any_range()
    ) {
        for attributes in [&["size"][..], &["uid"], &["uid", "size"]] {
            let definition = Definition::new("a", Kind::Ordered, attributes).unwrap();
            let (subject, bytes) = file_of(&definition, &rows);
            let file = IndexFile::open(&bytes, bytes.len() as u64, &definition, subject).unwrap();
            file.check().unwrap();
            let mut clauses = vec![];
            if attributes.contains(&"uid") {
                clauses.push(clause(Column::Uid, uid));
            }
            if attributes.contains(&"size") {
                clauses.push(clause(Column::Size, size));
            }
            let filter = filter(&clauses);
            let wanted = naive(&definition, &rows, &filter);
            let Some(bounds) = Bounds::of(&definition, &filter) else {
                prop_assert!(wanted.is_empty());
                continue;
            };
            let found = flat(file.rows_within(&bounds, u64::MAX).unwrap().unwrap());
            if attributes.len() == 2 && uid.0 != uid.1 {
                // The range of the first attribute counts alone.
                prop_assert!(wanted.iter().all(|row| found.contains(row)));
            } else {
                prop_assert_eq!(&found, &wanted);
            }
            if let Some(most) = (found.len() as u64).checked_sub(1) {
                prop_assert_eq!(file.rows_within(&bounds, most).unwrap(), None);
                prop_assert!(file.rows_within(&bounds, most + 1).unwrap().is_some());
            }
        }
    }

    #[test]
    fn a_hashed_index_finds_what_a_look_at_each_row_finds(
        rows in any_rows(), uid in 0i128..6, size in 0i128..5000
    ) {
        let definition = Definition::new("a", Kind::Hashed, &["size", "uid"]).unwrap();
        let (subject, bytes) = file_of(&definition, &rows);
        let file = IndexFile::open(&bytes, bytes.len() as u64, &definition, subject).unwrap();
        file.check().unwrap();
        let clauses = [clause(Column::Uid, (uid, uid)), clause(Column::Size, (size, size))];
        let filter = filter(&clauses);
        let bounds = Bounds::of(&definition, &filter).unwrap();
        let found = flat(file.rows_within(&bounds, u64::MAX).unwrap().unwrap());
        prop_assert_eq!(found, naive(&definition, &rows, &filter));
    }

    /// "it" is an error, or the answer is the same: no damage changes an answer.
    #[test]
    fn a_changed_byte_never_changes_an_answer(
        rows in proptest::collection::vec((0u32..5, 0u64..400), 1..2500),
        at in any::<proptest::sample::Index>(), flip in 1u8..=255, hashed in any::<bool>()
    ) {
        let kind = if hashed { Kind::Hashed } else { Kind::Ordered };
        let definition = Definition::new("a", kind, &["size"]).unwrap();
        let (subject, mut bytes) = file_of(&definition, &rows);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        for size in [0, 7, 399] {
            let filter = filter(&[clause(Column::Size, (size, size))]);
            let bounds = Bounds::of(&definition, &filter).unwrap();
            let opened = IndexFile::open(&bytes, bytes.len() as u64, &definition, subject);
            let found = opened.and_then(|file| file.rows_within(&bounds, u64::MAX));
            if let Ok(found) = found {
                prop_assert_eq!(flat(found.unwrap()), naive(&definition, &rows, &filter));
            }
        }
    }

    /// Hostile bytes with right checksums are those of a writer gone wrong: they give an error or
    /// some answer, but no panic and no endless loop.
    #[test]
    fn any_bytes_in_place_of_blocks_do_no_harm(
        junk in proptest::collection::vec(any::<u8>(), 0..600), cut in any::<proptest::sample::Index>()
    ) {
        let definition = Definition::new("a", Kind::Ordered, &["size"]).unwrap();
        let rows: Vec<Values> = (0..2000).map(|n| (0, n)).collect();
        let (subject, bytes) = file_of(&definition, &rows);
        let filter = filter(&[clause(Column::Size, (3, 999))]);
        let bounds = Bounds::of(&definition, &filter).unwrap();
        let cut = cut.index(bytes.len());
        for bytes in [&junk[..], &bytes[..cut], &[&bytes[..cut], &junk[..]].concat()] {
            let opened = IndexFile::open(bytes, bytes.len() as u64, &definition, subject);
            let _ = opened.and_then(|file| file.rows_within(&bounds, u64::MAX));
        }
    }
}

/// A file of a part of a segment has the rows of the part, and no others.
#[test]
fn a_file_of_a_part_has_its_rows() {
    let whole = Definition::new("a", Kind::Ordered, &["size"]).unwrap();
    let definition = whole.below(b"b").unwrap();
    let subject = Subject {
        first: 100,
        listed: 50,
        ..Subject::whole(7, 1000)
    };
    let made = |rows: Range<u64>| {
        let mut builder = Builder::new(&definition);
        for row in rows {
            builder.add(&(row % 5).to_be_bytes(), row as u32);
        }
        builder.finish(subject)
    };
    let open = |bytes: &[u8]| {
        let file = IndexFile::open(bytes.to_vec(), bytes.len() as u64, &definition, subject)?;
        file.check()?;
        Ok::<_, trawl_indices::IndexFileError>(file)
    };
    let file = open(&made(100..150)).unwrap();
    assert_eq!(file.listed(), 100..150);
    let filter = filter(&[clause(Column::Size, (3, 3))]);
    let bounds = Bounds::of(&definition, &filter).unwrap();
    let found = flat(file.rows_within(&bounds, u64::MAX).unwrap().unwrap());
    let naive: Vec<u64> = (100..150).filter(|row| row % 5 == 3).collect();
    assert_eq!(found, naive);
    for other in [99..149, 101..151, 100..149, 0..50, 100..151] {
        assert!(open(&made(other.clone())).is_err(), "{other:?}");
    }
}

#[test]
fn files_of_other_segments_and_definitions_are_refused() {
    let definition = Definition::new("a", Kind::Ordered, &["size"]).unwrap();
    let (subject, bytes) = file_of(&definition, &[(0, 1), (0, 2)]);
    let open = |definition: &Definition, subject| {
        IndexFile::open(&bytes, bytes.len() as u64, definition, subject).is_ok()
    };
    assert!(open(&definition, subject));
    let others = [
        Subject {
            segment: 7,
            ..subject
        },
        Subject { rows: 3, ..subject },
        Subject {
            listed: 1,
            ..subject
        },
        Subject {
            first: 1,
            ..subject
        },
    ];
    assert!(others.iter().all(|other| !open(&definition, *other)));
    for other in [
        ("b", Kind::Ordered, "size"),
        ("a", Kind::Hashed, "size"),
        ("a", Kind::Ordered, "uid"),
    ] {
        let other = Definition::new(other.0, other.1, &[other.2]).unwrap();
        assert!(!open(&other, subject));
    }
}
