//! Traces have the requested length, are reproducible and ordered, and resemble a file system.

use std::collections::{BTreeMap, BTreeSet};

/// The examined parts of a line.
struct Line {
    path: Vec<u8>,
    kind: u8,
    numbers: Vec<u64>,
    parent_ino: u64,
}

const INO: usize = 0;
const MODE: usize = 1;
const NLINK: usize = 2;

fn generate(arguments: &[&str]) -> Vec<u8> {
    let ran = trawl_testkit::oracle::command(env!("CARGO_BIN_EXE_trawl-gen"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
    ran.stdout
}

/// Reads counted fields by their length, since names may contain any byte.
fn lines(mut rest: &[u8]) -> Vec<Line> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let path = counted(&mut rest).to_vec();
        let kind = plain(&mut rest)[0];
        let number = |field: &[u8]| String::from_utf8_lossy(field).parse::<u64>().unwrap();
        let numbers = (0..11).map(|_| number(plain(&mut rest))).collect();
        counted(&mut rest);
        counted(&mut rest);
        for _ in 0..5 {
            plain(&mut rest);
        }
        counted(&mut rest);
        counted(&mut rest);
        let parent_ino = number(plain(&mut rest));
        rest = rest.strip_prefix(b"\n").unwrap();
        all.push(Line {
            path,
            kind,
            numbers,
            parent_ino,
        });
    }
    all
}

fn plain<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().position(|byte| *byte == 0x1e).unwrap();
    let field = &rest[..end];
    *rest = &rest[end + 1..];
    field
}

fn counted<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let length = usize::from_str_radix(str::from_utf8(&rest[..4]).unwrap(), 16).unwrap();
    let field = &rest[4..4 + length];
    assert_eq!(rest[4 + length], 0x1e);
    *rest = &rest[5 + length..];
    field
}

fn parent(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    &path[..slash.unwrap_or(0)]
}

#[test]
fn rows_come_out_exactly() {
    for rows in [1, 2, 5, 6, 7, 50, 999, 20_000] {
        assert_eq!(lines(&generate(&[&rows.to_string()])).len(), rows);
    }
}

#[test]
fn a_seed_decides_everything() {
    let one = generate(&["3000", "7"]);
    assert_eq!(one, generate(&["3000", "7"]));
    assert_ne!(one, generate(&["3000", "8"]));
}

#[test]
fn every_entry_has_its_place() {
    let all = lines(&generate(&["60000"]));
    let mut dirs: BTreeMap<&[u8], u64> = BTreeMap::new();
    let mut last: Option<Vec<&[u8]>> = None;
    let mut stanza: &[u8] = b"";
    let mut seen = BTreeSet::new();
    for line in &all {
        assert!(seen.insert(&line.path), "each path once");
        if line.kind == b'd' {
            let components: Vec<&[u8]> = match line.path.is_empty() {
                true => Vec::new(),
                false => line.path.split(|byte| *byte == b'/').collect(),
            };
            assert!(
                last.as_ref().is_none_or(|last| *last < components),
                "in order"
            );
            last = Some(components);
            stanza = &line.path;
        } else {
            assert_eq!(parent(&line.path), stanza, "entries follow their directory");
        }
        if !line.path.is_empty() {
            assert_eq!(dirs.get(parent(&line.path)), Some(&line.parent_ino));
        }
        if line.kind == b'd' {
            dirs.insert(&line.path, line.numbers[INO]);
        }
    }
}

#[test]
fn inodes_are_shared_by_hard_links_alone() {
    let all = lines(&generate(&["60000"]));
    let mut names: BTreeMap<u64, Vec<&Line>> = BTreeMap::new();
    for line in &all {
        names.entry(line.numbers[INO]).or_default().push(line);
    }
    let shared: Vec<_> = names.values().filter(|names| names.len() > 1).collect();
    assert!(shared.len() > 20, "{}", shared.len());
    for same in shared {
        assert!(same.iter().all(|line| line.numbers == same[0].numbers));
        assert!(same.len() as u64 <= same[0].numbers[NLINK]);
    }
}

#[test]
fn a_stranger_sees_a_twentieth_of_a_closed_centre() {
    let all = lines(&generate(&["60000", "42", "closed"]));
    let top = |line: &Line| line.path.split(|byte| *byte == b'/').count() == 2;
    let mut open = 0;
    for line in &all {
        let in_software = line.path.starts_with(b"sw/");
        open += usize::from(in_software);
        if line.kind == b'd' && top(line) && !in_software {
            assert_eq!(line.numbers[MODE] & 0o7777, 0o700);
        }
    }
    assert!((2_000..4_000).contains(&open), "{open}");
}

#[test]
fn nonsense_is_refused() {
    for arguments in [&[][..], &["0"], &["x"], &["10", "x"], &["10", "1", "open"]] {
        let ran = trawl_testkit::oracle::command(env!("CARGO_BIN_EXE_trawl-gen"))
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2));
        assert!(ran.stdout.is_empty() && ran.stderr.starts_with(b"usage: "));
    }
}
