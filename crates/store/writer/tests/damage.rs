//! Checks that every flipped, cut or missing byte is found and its file named.

mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use support::{files_below, new_index, new_private_index, odd_tree, write_tree};
use trawl_format::{IndexDir, Manifest, Shard, Source};
use trawl_writer::verify::{Problem, Scope, Verified, verify};

fn check(index: &Path) -> Option<Verified> {
    IndexDir::open(index)
        .ok()
        .map(|index| verify(&index, Scope::All).unwrap())
}

/// Checks that the index is refused with an error that names the file, or that the file is a
/// finding.
fn assert_found(index: &Path, file: &Path, what: &str) -> Option<Problem> {
    match check(index) {
        None => {
            let message = IndexDir::open(index).unwrap_err().to_string();
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(
                message.contains(name) || message.contains("no index"),
                "{message}"
            );
            None
        }
        Some(verified) => {
            let mut found = verified.findings.iter().filter(|f| f.problem.is_damage());
            let found = found.find(|f| f.path == file);
            let found = found
                .unwrap_or_else(|| panic!("{what} {}: {:?}", file.display(), verified.findings));
            assert!(found.to_string().contains(file.to_str().unwrap()));
            Some(found.problem.clone())
        }
    }
}

#[test]
fn damage_is_found_in_every_kind_of_file() {
    let (_dir, index) = new_index();
    write_tree(&index, &odd_tree("/srv", 30, 6, 21), 64 << 20).unwrap();
    let path = index.path().to_owned();
    let clean = check(&path).unwrap();
    assert_eq!(clean.findings, []);
    assert!(clean.files > 10);
    let mut kinds = std::collections::BTreeSet::new();
    for (file, bytes) in files_below(&path) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "lock" {
            continue;
        }
        kinds.insert(
            name.split_once('.')
                .map_or(name.clone(), |(_, kind)| kind.to_owned()),
        );
        let last = bytes.len() - 1;
        let mut offsets = vec![
            0,
            1,
            4,
            last / 3,
            last / 2,
            last.saturating_sub(4),
            last.saturating_sub(8),
            last.saturating_sub(100),
            last,
        ];
        if bytes.len() < 700 {
            offsets = (0..bytes.len()).collect();
        }
        for at in offsets {
            let mut flipped = bytes.clone();
            flipped[at.min(last)] ^= 1 << (at % 8);
            std::fs::write(&file, &flipped).unwrap();
            assert_found(&path, &file, &format!("byte {at} flipped of"));
        }
        for length in [0, 1, last / 2, last] {
            std::fs::write(&file, &bytes[..length]).unwrap();
            let problem = assert_found(&path, &file, &format!("cut to {length}:"));
            if name.ends_with(".parquet") {
                assert!(matches!(problem, Some(Problem::Truncated { .. })));
            }
        }
        std::fs::write(&file, [&bytes[..], b"x"].concat()).unwrap();
        assert_found(&path, &file, "longer");
        std::fs::remove_file(&file).unwrap();
        if name != "current" {
            // Without `current` there is no snapshot yet, as before a first commit; the other files
            // are reported as unneeded or are valid.
            let problem = assert_found(&path, &file, "missing");
            assert!(
                matches!(problem, Some(Problem::Missing) | None),
                "{problem:?}"
            );
        }
        std::fs::write(&file, &bytes).unwrap();
    }
    let expected = [
        "FORMAT",
        "current",
        "dirs.parquet",
        "entries.parquet",
        "issues.parquet",
        "json",
        "links.parquet",
        "manifest",
        "pack",
        "shards",
        "xattrs.parquet",
    ];
    assert_eq!(
        kinds.iter().map(String::as_str).collect::<Vec<_>>(),
        expected
    );
    assert_eq!(check(&path).unwrap(), clean);
}

/// Returns the only pack of an index.
fn pack_in(index: &Path) -> PathBuf {
    let mut packs = files_below(index).into_keys();
    let pack = packs.find(|f| f.extension().is_some_and(|e| e == "pack"));
    pack.expect("a pack")
}

/// Returns the full content of a snapshot, shard by shard.
fn told(source: &Source) -> BTreeMap<PathBuf, String> {
    let snapshot = source.current().unwrap().unwrap();
    let about = |shard: &Shard| {
        let manifest: &Manifest = &shard.manifest;
        let glances: Vec<_> = (0..=manifest.segments.len())
            .map(|at| shard.glance(at))
            .collect();
        let text = format!("{manifest:?} {glances:?} {:?}", shard.barrier());
        (shard.dir_path(), format!("{text} {:?}", shard.digest))
    };
    assert!(!snapshot.is_partial);
    let mut told: BTreeMap<_, _> = snapshot.shards.iter().map(about).collect();
    told.insert(PathBuf::new(), format!("{:?}", snapshot.above()));
    told
}

#[test]
fn a_pack_says_what_manifests_say_and_is_not_needed() {
    let (_dir, index) = new_index();
    write_tree(&index, &odd_tree("/srv", 60, 6, 21), 64 << 10).unwrap();
    let source = index.source(b"/srv").unwrap().unwrap();
    let pack = pack_in(index.path());
    let bytes = std::fs::read(&pack).unwrap();
    let packed = told(&source);
    assert!(packed.len() > 3);
    for damaged in [
        &bytes[..bytes.len() - 1],
        b"",
        &[b"x", &bytes[1..]].concat(),
    ] {
        std::fs::write(&pack, damaged).unwrap();
        assert_eq!(told(&source), packed);
    }
    std::fs::remove_file(&pack).unwrap();
    assert_eq!(told(&source), packed);
    // Check that the pack is used: no manifest is read.
    std::fs::write(&pack, bytes).unwrap();
    for (file, _) in files_below(index.path()) {
        if file.extension().is_some_and(|e| e == "manifest") {
            std::fs::remove_file(file).unwrap();
        }
    }
    assert_eq!(told(&source), packed);
}

#[test]
fn a_pack_that_differs_from_manifests_is_found() {
    let (_dir, index) = new_private_index();
    let path = index.path().to_owned();
    write_tree(&index, &odd_tree("/srv", 30, 6, 21), 64 << 20).unwrap();
    let first = std::fs::read(pack_in(&path)).unwrap();
    write_tree(&index, &odd_tree("/srv", 30, 7, 22), 64 << 20).unwrap();
    assert_eq!(check(&path).unwrap().findings, []);
    let of = |bytes: &[u8]| {
        let mut packs = files_below(&path).into_iter();
        packs.find(|(f, b)| f.extension().is_some_and(|e| e == "pack") && b[..] != *bytes)
    };
    let (newer, bytes) = of(&first).unwrap();
    // The older pack's shards with the newer snapshot's id and a valid checksum.
    let at = b"trawl pack 1\n".len() + 4;
    let mut lie = first.clone();
    lie[at..at + 8].copy_from_slice(&bytes[at..at + 8]);
    let end = lie.len() - 16;
    let hash = xxhash_rust::xxh3::xxh3_128(&lie[..end]).to_le_bytes();
    lie[end..].copy_from_slice(&hash);
    std::fs::write(&newer, &lie).unwrap();
    let problem = assert_found(&path, &newer, "another's");
    let text = problem.map(|p| p.to_string()).unwrap_or_default();
    assert!(text.contains("differs"), "{text}");
}

#[test]
fn a_snapshot_with_a_lost_shard_is_refused() {
    let (_dir, index) = new_index();
    write_tree(&index, &odd_tree("/srv", 30, 6, 21), 64 << 20).unwrap();
    // With a pack the manifests are not read.
    std::fs::remove_file(pack_in(index.path())).unwrap();
    let manifests = files_below(index.path()).into_keys();
    let mut manifests = manifests.filter(|f| f.extension().is_some_and(|e| e == "manifest"));
    let (lost, other) = (manifests.next().unwrap(), manifests.next().unwrap());
    let source = || index.source(b"/srv").unwrap().unwrap();
    source().current().unwrap().unwrap();
    let bytes = std::fs::read(&lost).unwrap();
    std::fs::remove_file(&lost).unwrap();
    let error = source().current().unwrap_err().to_string();
    assert!(error.contains(lost.to_str().unwrap()), "{error}");
    // Another shard's manifest in its place is rejected.
    std::fs::copy(&other, &lost).unwrap();
    let error = source().current().unwrap_err().to_string();
    assert!(error.contains("belongs elsewhere"), "{error}");
    std::fs::write(&lost, bytes).unwrap();
    source().current().unwrap().unwrap();
}

#[test]
fn strangers_in_the_index_are_told_and_not_followed() {
    let (dir, index) = new_index();
    write_tree(&index, &odd_tree("/srv", 10, 4, 22), 64 << 20).unwrap();
    let source = index.source(b"/srv").unwrap().unwrap();
    let planted = [
        index.path().join("planted"),
        index.path().join("sources/planted"),
        source.path().join("planted"),
        source.path().join("snapshots/planted"),
        source.path().join("data/planted"),
    ];
    for path in &planted {
        std::fs::write(path, b"x").unwrap();
    }
    let found = verify(&index, Scope::All).unwrap();
    assert!(!found.has_damage(), "{:?}", found.findings);
    for path in &planted {
        assert!(
            found
                .findings
                .iter()
                .any(|f| f.path == *path && f.problem == Problem::Foreign)
        );
    }
    // A symbolic link in place of a directory is an error and is not followed.
    let guards = source.path().join("data");
    let moved = dir.path().join("moved");
    std::fs::rename(&guards, &moved).unwrap();
    symlink(&moved, &guards).unwrap();
    assert!(source.current().is_err());
    assert!(verify(&index, Scope::All).unwrap().has_damage());
}
