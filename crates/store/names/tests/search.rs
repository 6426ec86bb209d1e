//! Compares searches with a plain scan of the same rows, and checks damaged
//! sidecars.

use std::ops::{ControlFlow, Range};
use std::path::Path;

use proptest::prelude::*;
use trawl_names::{
    Anchor, Beginning, Case, Literal, Matcher, NameText, Names, NamesWriter, Needles, Pattern,
    RowKind, RowReader, Subject, Trail,
};

/// A directory and its rows.
type Listing = (Vec<u8>, Vec<(Vec<u8>, RowKind)>);

/// An expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    row: u64,
    dir: Vec<u8>,
    name: Vec<u8>,
    kind: RowKind,
}

impl Row {
    fn subject(&self, subject: Subject) -> Vec<u8> {
        match subject {
            Subject::Name => self.name.clone(),
            Subject::Path => [&self.dir[..], b"/", &self.name].concat(),
        }
    }
}

fn written(listings: &[Listing]) -> Vec<u8> {
    let mut writer = NamesWriter::new().unwrap();
    for (dir, rows) in listings {
        writer.dir(dir).unwrap();
        for (name, kind) in rows {
            writer.row(name, *kind).unwrap();
        }
    }
    writer.finish(77).unwrap()
}

fn rows_of(listings: &[Listing]) -> Vec<Row> {
    let all = listings.iter().flat_map(|(dir, rows)| {
        rows.iter()
            .map(move |(name, kind)| (dir.clone(), name.clone(), *kind))
    });
    let row = |(row, (dir, name, kind)): (usize, (Vec<u8>, Vec<u8>, RowKind))| Row {
        row: row as u64,
        dir,
        name,
        kind,
    };
    all.enumerate().map(row).collect()
}

fn open(bytes: &[u8]) -> trawl_names::Result<Names<&[u8]>> {
    Names::open(bytes, bytes.len() as u64, Path::new("the-file"))
}

fn found(
    names: &Names<&[u8]>,
    pattern: &Pattern<'_>,
    rows: Range<u64>,
) -> trawl_names::Result<Vec<Row>> {
    let mut out = Vec::new();
    let told = names.search(pattern, rows, &mut |found| {
        out.push(Row {
            row: found.row,
            dir: found.dir.to_vec(),
            name: found.name.to_vec(),
            kind: found.kind,
        });
        ControlFlow::Continue(())
    })?;
    assert!(told.is_continue());
    Ok(out)
}

fn ranges(names: &Names<&[u8]>, pattern: &Pattern<'_>, rows: Range<u64>) -> Vec<u64> {
    let (mut out, mut last) = (Vec::new(), None);
    let told = names.ranges(pattern, rows, &mut |range| {
        assert!(!range.is_empty() && last.is_none_or(|last| last < range.start));
        last = Some(range.end);
        out.extend(range);
        ControlFlow::Continue(())
    });
    assert!(told.unwrap().is_continue());
    out
}

/// Accepts subjects whose sum of bytes is divisible by a modulus.
struct Residue {
    modulus: u8,
}

impl Residue {
    fn go(&self, place: u8, text: &[u8]) -> u8 {
        let add = |sum: u8, byte: &u8| (sum + byte % self.modulus) % self.modulus;
        text.iter().fold(place, add)
    }
}

impl Matcher for Residue {
    fn is_match(&self, subject: &[u8]) -> bool {
        self.go(0, subject) == 0
    }

    fn begin(&self, directory: &[u8], trail: &mut Trail) -> Beginning {
        match trail.enter(0, directory, |place, text| self.go(place, text)) {
            _ if self.modulus == 1 => Beginning::Decided(true),
            3 => Beginning::Unknown,
            place => Beginning::Open(place),
        }
    }

    fn goes_on(&self, place: u8, name: &[u8]) -> Option<bool> {
        (name.len() != 5).then(|| self.go(place, name) == 0)
    }
}

/// Generates names that share parts and mix upper and lower case.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let parts = [
        "a",
        "b",
        "A",
        "foo",
        "Foo",
        "bar",
        ".c",
        ".txt",
        "-",
        "_01",
        "k",
        "\u{212a}",
        "\u{17f}",
        "s",
        "i",
        "\u{130}",
        "\u{e9}",
        "\u{c9}",
        "\n",
        " ",
        "\u{4e2d}\u{6587}",
    ];
    let mut parts: Vec<Vec<u8>> = parts.map(|part| part.as_bytes().to_vec()).to_vec();
    parts.push(vec![0xff]);
    parts.push(vec![0xe2, 0x84]);
    proptest::collection::vec(proptest::sample::select(parts), 1..5)
        .prop_map(|parts| parts.concat())
}

fn kind() -> impl Strategy<Value = RowKind> {
    proptest::sample::select(vec![RowKind::Directory, RowKind::Other])
}

/// Generates a segment: directories in path order, not all of them listed, and
/// enough of them for several blocks.
fn listings() -> impl Strategy<Value = Vec<Listing>> {
    let dir = proptest::collection::vec(name(), 0..4);
    let rows = proptest::collection::vec((name(), kind()), 0..12);
    let many = 1usize..40;
    proptest::collection::vec((dir, rows), 1..60)
        .prop_flat_map(move |dirs| (Just(dirs), many.clone()))
        .prop_map(|(dirs, copies)| {
            let mut listings: Vec<Listing> = Vec::new();
            for (at, (components, rows)) in dirs.into_iter().enumerate() {
                for copy in 0..if at % 3 == 0 { copies } else { 1 } {
                    let mut path: Vec<u8> = components
                        .iter()
                        .flat_map(|c| [b"/", &c[..]].concat())
                        .collect();
                    if copy > 0 {
                        path.extend(format!("/d{copy}").bytes());
                    }
                    listings.push((path, rows.clone()));
                }
            }
            listings.sort_by(|a, b| {
                let parts = |path: &[u8]| {
                    path.split(|c| *c == b'/')
                        .map(<[u8]>::to_vec)
                        .collect::<Vec<_>>()
                };
                parts(&a.0).cmp(&parts(&b.0))
            });
            listings.dedup_by(|a, b| a.0 == b.0);
            listings
                .iter_mut()
                .for_each(|(_, rows)| rows.sort_by(|a, b| a.0.cmp(&b.0)));
            listings
        })
}

fn anchor() -> impl Strategy<Value = Anchor> {
    use Anchor::{Anywhere, End, Start, Whole};
    proptest::sample::select(vec![Anywhere, Anywhere, Start, End, Whole])
}

fn subject() -> impl Strategy<Value = Subject> {
    proptest::sample::select(vec![Subject::Name, Subject::Path])
}

fn case() -> impl Strategy<Value = Case> {
    proptest::sample::select(vec![Case::Sensitive, Case::Folded])
}

/// Returns a piece of some row's path, or something similar.
fn literal(rows: &[Row], pick: (usize, usize, usize), other: Option<Vec<u8>>) -> Vec<u8> {
    let Some(row) = rows.get(pick.0 % rows.len().max(1)) else {
        return other.unwrap_or_default();
    };
    let path = row.subject(Subject::Path);
    let start = pick.1 % path.len();
    let end = start + pick.2 % (path.len() - start + 1);
    other.unwrap_or_else(|| path[start..end].to_vec())
}

fn contains(text: &[u8], literal: &[u8], anchor: Anchor, case: Case) -> bool {
    let fold = |bytes: &[u8]| match case {
        Case::Sensitive => bytes.to_vec(),
        Case::Folded => bytes.to_ascii_lowercase(),
    };
    let (text, literal) = (fold(text), fold(literal));
    match anchor {
        Anchor::Anywhere => {
            literal.is_empty() || text.windows(literal.len()).any(|window| window == literal)
        }
        Anchor::Start => text.starts_with(&literal),
        Anchor::End => text.ends_with(&literal),
        Anchor::Whole => text == literal,
    }
}

#[test]
fn a_row_behind_the_last_is_an_error() {
    for len in [1usize, 2, 255, 256, 257] {
        let row = |row: usize| (format!("{row}").into_bytes(), RowKind::Other);
        let bytes = written(&[(b"/a".to_vec(), (0..len).map(row).collect())]);
        let names = open(&bytes).unwrap();
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        let mut text = NameText {
            bytes: &mut bytes,
            offsets: &mut offsets,
        };
        let last = names.rows() - 1;
        for rows in [last + 1..last + 2, last..last + 2] {
            let read = RowReader::default().read(&names, &[rows], &mut text);
            assert!(read.is_err(), "of {len} rows");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn literals_are_found_where_a_scan_finds_them(
        listings in listings(), pick: (usize, usize, usize), other in proptest::option::weighted(0.2, name()),
        anchor in anchor(), subject in subject(), case in case(), cut: (prop::sample::Index, prop::sample::Index),
    ) {
        let rows = rows_of(&listings);
        let bytes = written(&listings);
        let names = open(&bytes).unwrap();
        prop_assert_eq!(names.rows(), rows.len() as u64);
        prop_assert_eq!(names.segment(), 77);
        names.check().unwrap();
        let literal = literal(&rows, pick, other);
        let len = rows.len() + 1;
        let (start, end) = (cut.0.index(len) as u64, cut.1.index(len) as u64);
        for part in [0..u64::MAX, start.min(end)..start.max(end)] {
            let matches = |row: &&Row| part.contains(&row.row)
                && contains(&row.subject(subject), &literal, anchor, case);
            let expected: Vec<Row> = rows.iter().filter(matches).cloned().collect();
            let pattern = Literal { bytes: literal.clone(), anchor };
            let pattern = Pattern::literal(pattern, subject, case);
            prop_assert_eq!(&found(&names, &pattern, part.clone()).unwrap(), &expected);
            let expected: Vec<u64> = expected.iter().map(|row| row.row).collect();
            prop_assert_eq!(&ranges(&names, &pattern, part.clone()), &expected);
            let mut in_parts = Vec::new();
            for part in names.split(part, 3) {
                in_parts.extend(ranges(&names, &pattern, part));
            }
            prop_assert_eq!(in_parts, expected);
        }
    }

    /// Searches with a matcher that continues from prefixes find the same rows
    /// as one that tests whole paths.
    #[test]
    fn a_matcher_that_goes_on_decides_as_one_that_sees_all(
        listings in listings(), modulus in 1u8..5, cut in 0u64..3000,
    ) {
        let rows = rows_of(&listings);
        let bytes = written(&listings);
        let names = open(&bytes).unwrap();
        let from = cut.min(rows.len() as u64);
        let stepwise = Residue { modulus };
        let whole = |subject: &[u8]| stepwise.is_match(subject);
        let needles = || Needles::none(Subject::Path, Case::Sensitive);
        let wanted = found(&names, &Pattern::matcher(needles(), &whole), from..u64::MAX).unwrap();
        let pattern = Pattern::matcher(needles(), &stepwise);
        prop_assert_eq!(&found(&names, &pattern, from..u64::MAX).unwrap(), &wanted);
        let numbers: Vec<u64> = wanted.iter().map(|row| row.row).collect();
        prop_assert_eq!(ranges(&names, &pattern, from..u64::MAX), numbers);
    }

    #[test]
    fn rows_are_read_wherever_they_are(
        listings in listings(),
        picks in proptest::collection::vec((0u64..1500, 1u64..1500), 0..5),
    ) {
        let rows = rows_of(&listings);
        let bytes = written(&listings);
        let names = open(&bytes).unwrap();
        let mut reader = RowReader::default();
        let (mut bytes, mut offsets) = (vec![b'x'; 30], vec![9]);
        let (mut wanted, mut start) = (Vec::new(), 0);
        for (gap, len) in picks {
            let end = (start + gap + len).min(rows.len() as u64);
            wanted.push((start + gap).min(end)..end);
            start = end;
        }
        for ranges in [&wanted[..], &wanted[wanted.len() / 2..], &[]] {
            let mut text = NameText { bytes: &mut bytes, offsets: &mut offsets };
            reader.read(&names, ranges, &mut text).unwrap();
            let got = offsets.windows(2).map(|pair| &bytes[pair[0] as usize..pair[1] as usize - 1]);
            let wanted = ranges.iter().cloned().flatten().map(|row| &rows[row as usize].name[..]);
            prop_assert_eq!(got.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
        }
        let beyond = names.rows()..names.rows() + 1;
        let mut text = NameText { bytes: &mut bytes, offsets: &mut offsets };
        prop_assert!(reader.read(&names, &[beyond], &mut text).is_err());
    }

    #[test]
    fn hostile_bytes_never_panic(
        listings in listings(), flips in proptest::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4), cut: prop::sample::Index, subject in subject(),
    ) {
        let rows = rows_of(&listings);
        let bytes = written(&listings);
        let literal = Literal::anywhere(literal(&rows, (1, 2, 3), None));
        let pattern = Pattern::literal(literal, subject, Case::Folded);
        let expected = found(&open(&bytes).unwrap(), &pattern, 0..u64::MAX).unwrap();
        let mut hostile = bytes.clone();
        for (at, flip) in flips {
            let at = at.index(hostile.len());
            hostile[at] ^= flip;
        }
        // Damage behind correct hashes may give any answer, but no panic.
        if let Some(sealed) = trawl_names::sealed(&hostile) {
            let _ = open(&sealed).and_then(|names| {
                names.check()?;
                found(&names, &pattern, 0..u64::MAX)
            });
        }
        let short = &bytes[..cut.index(bytes.len())];
        for bytes in [&hostile[..], short] {
            let answer = open(bytes).and_then(|names| found(&names, &pattern, 0..u64::MAX));
            match answer {
                Ok(answer) => prop_assert_eq!(&answer, &expected),
                Err(error) => prop_assert!(error.to_string().contains("the-file"), "{}", error),
            }
        }
    }
}

/// Changes each byte of a small sidecar: the result must be the same answer or
/// an error.
#[test]
fn every_changed_byte_is_noticed_or_does_not_matter() {
    let listings: Vec<Listing> = (0..30)
        .map(|dir| {
            let rows = (0..40).map(|row| (format!("file{row:03}.c").into_bytes(), RowKind::Other));
            (format!("/top/dir{dir:02}").into_bytes(), rows.collect())
        })
        .collect();
    let bytes = written(&listings);
    let pattern = Pattern::literal(Literal::anywhere("r1"), Subject::Path, Case::Sensitive);
    let expected = found(&open(&bytes).unwrap(), &pattern, 0..u64::MAX).unwrap();
    assert_eq!(expected.len(), 400);
    let mut noticed = 0;
    for at in 0..bytes.len() {
        let mut hostile = bytes.clone();
        hostile[at] ^= 1 << (at % 8);
        let checked = open(&hostile).and_then(|names| names.check());
        assert!(checked.is_err(), "byte {at} of {}", bytes.len());
        match open(&hostile).and_then(|names| found(&names, &pattern, 0..u64::MAX)) {
            Ok(answer) => assert_eq!(answer, expected, "byte {at}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 0);
}

#[test]
fn searches_end_when_they_are_told_to() {
    let rows = (0..5000).map(|row| (format!("{row:05}").into_bytes(), RowKind::Other));
    let bytes = written(&[(b"".to_vec(), rows.collect())]);
    let names = open(&bytes).unwrap();
    let mut count = 0;
    let pattern = Pattern::literal(Literal::anywhere("7"), Subject::Name, Case::Sensitive);
    let told = names.search(&pattern, 0..u64::MAX, &mut |_| {
        count += 1;
        if count == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert!(told.unwrap().is_break());
    assert_eq!(count, 3);
}

#[test]
fn a_rare_text_selects_little() {
    let rows = (0..20_000).map(|row| (format!("plain{row:05}.txt").into_bytes(), RowKind::Other));
    let mut rows: Vec<_> = rows.collect();
    rows[12_345].0 = b"quux.zip".to_vec();
    let bytes = written(&[(b"/srv".to_vec(), rows)]);
    let names = open(&bytes).unwrap();
    let literal = |bytes: &[u8], anchor| Literal {
        bytes: bytes.to_vec(),
        anchor,
    };
    let both = vec![
        vec![literal(b"qu", Anchor::Start)],
        vec![literal(b".zip", Anchor::End)],
    ];
    for (all, subject) in [
        (both, Subject::Name),
        (
            vec![vec![literal(b"/quux", Anchor::Anywhere)]],
            Subject::Path,
        ),
    ] {
        let case = Case::Folded;
        let needles = Needles { subject, case, all };
        let selected = names.select(&needles, 0..u64::MAX).unwrap();
        assert_eq!(selected.len(), 1, "{needles:?}");
        assert!(selected[0].contains(&12_345) && selected[0].end - selected[0].start <= 256);
    }
    let nowhere = Literal::anywhere("nowhere");
    let needles = Needles::literal(nowhere, Subject::Path, Case::Sensitive);
    assert!(names.select(&needles, 0..u64::MAX).unwrap().is_empty());
}

#[test]
fn an_empty_sidecar_holds_nothing() {
    for listings in [vec![], vec![(b"/empty".to_vec(), vec![])]] {
        let bytes = written(&listings);
        let names = open(&bytes).unwrap();
        names.check().unwrap();
        assert_eq!(found(&names, &Pattern::everything(), 0..9).unwrap(), []);
        assert!(names.split(0..9, 4).is_empty());
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        let mut text = NameText {
            bytes: &mut bytes,
            offsets: &mut offsets,
        };
        let mut reader = RowReader::default();
        let (none, first) = (0..0, 0..1);
        for none in [&[][..], std::slice::from_ref(&none)] {
            reader.read(&names, none, &mut text).unwrap();
            assert_eq!(text.offsets[..], [0]);
        }
        let beyond = reader.read(&names, std::slice::from_ref(&first), &mut text);
        assert!(beyond.is_err());
    }
}
