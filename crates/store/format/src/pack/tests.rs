//! Checks that packs are read back, and that invalid bytes are rejected.

use super::*;
use proptest::prelude::*;

const EDITION: Edition = Edition {
    id: SnapshotId(9),
    revision: None,
};

fn file(rows: u64) -> FileRef {
    FileRef {
        rows,
        size_bytes: 1000,
        hash: Hash(1 << 100),
        tail_bytes: 300,
        tail_hash: Hash(7),
    }
}

fn segment(number: u32) -> SegmentInfo {
    SegmentInfo {
        id: SegmentId {
            snapshot: SnapshotId(8),
            number,
        },
        rows: 3,
        dirs: 2,
        own_row: true,
        first_dir: Some(b"/srv".to_vec()),
        last_dir: Some(b"/srv/b\xfe".to_vec()),
        files: BTreeMap::from([
            (Table::Entries, file(3)),
            (Table::Dirs, file(2)),
            (Table::Xattrs, file(1)),
        ]),
        names: Some(NamesRef {
            size_bytes: 5,
            hash: Hash(6),
        }),
        sums: Some(SegmentSums {
            files: 3,
            size_bytes: u64::MAX,
            ..SegmentSums::default()
        }),
        filter: Some(DirFilter(vec![1, 2, 3])),
    }
}

/// Returns a segment with only attribute values, without directories.
fn bare(number: u32) -> SegmentInfo {
    SegmentInfo {
        rows: 0,
        dirs: 0,
        own_row: false,
        first_dir: None,
        last_dir: None,
        files: BTreeMap::from([(Table::Issues, file(4))]),
        names: None,
        sums: None,
        filter: None,
        ..segment(number)
    }
}

fn manifests() -> Vec<(Vec<String>, Manifest, Option<Hash>)> {
    let who = |who: &str| GuardStep::Predicate {
        who: who.to_owned(),
    };
    let barrier = GuardStep::Barrier {
        path: b"/srv/\xff".to_vec(),
        list: "other-".to_owned(),
    };
    let manifest = |guard: &[GuardStep], segments: &[SegmentInfo]| Manifest {
        format: FORMAT,
        snapshot: SnapshotId(9),
        root: b"/srv".to_vec(),
        guard: guard.to_vec(),
        segments: segments.to_vec(),
        totals: Totals {
            entries: 12,
            listed: 3,
            ..Totals::default()
        },
    };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    vec![
        (
            names(&[]),
            manifest(&[], &[segment(0), bare(1)]),
            Some(Hash(77)),
        ),
        (
            names(&["b1", "2", "data"]),
            manifest(&[who("u5+ other-"), barrier], &[segment(2)]),
            Some(Hash(0)),
        ),
        (names(&["p3", "data"]), manifest(&[who("u7+")], &[]), None),
    ]
}

fn bundle() -> [SegmentInfo; 2] {
    let listings = SegmentInfo {
        own_row: false,
        ..segment(0)
    };
    [listings, bare(1)]
}

fn encoded(edition: Edition) -> Vec<u8> {
    let manifests = manifests();
    let shards = manifests
        .iter()
        .map(|(components, manifest, digest)| Packing {
            components,
            snapshot: manifest.snapshot,
            guard: manifest.guard.clone(),
            segments: &manifest.segments,
            totals: &manifest.totals,
            digest: *digest,
            bundled: match components.is_empty() {
                true => vec![1, 2],
                false => Vec::new(),
            },
        });
    let contents = Contents {
        edition,
        root: b"/srv",
        above: &[],
        key: DigestKey::from_bytes(&[3; 32]),
        shards: shards.collect(),
        bundle: &bundle(),
    };
    encode(&contents).unwrap()
}

fn read(bytes: &[u8]) -> Result<Pack> {
    Pack::from_bytes(bytes.to_vec(), Path::new("the-file"), EDITION)
}

/// Returns the same bytes with a valid checksum.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let body = &bytes[..bytes.len().saturating_sub(HASH_BYTES)];
    [body, &xxh3_128(body).to_le_bytes()].concat()
}

/// Reads everything from a validated pack.
fn use_all(pack: &Pack) {
    for shard in 0..pack.shard_count() {
        let (_, manifest) = pack.unpack(shard).expect("what was opened unpacks");
        assert_eq!(pack.segment_count(shard), manifest.segments.len());
        let last = manifest.guard.last();
        let barrier = match last {
            Some(GuardStep::Barrier { path, .. }) => Some(&path[..]),
            _ => None,
        };
        assert_eq!(pack.barrier(shard), barrier);
        for (at, segment) in manifest.segments.iter().enumerate() {
            assert_eq!(pack.glance(shard, at), Some(Glance::of(segment)));
        }
        assert_eq!(pack.glance(shard, manifest.segments.len()), None);
    }
    let bundle = pack
        .unpack(pack.shard_count())
        .map(|(_, manifest)| manifest.segments);
    let bundle = bundle.expect("the bundle stands behind the shards").len();
    for shard in 0..pack.shard_count() {
        for at in 0..=pack.segment_count(shard) {
            assert!(
                pack.bundled(shard, at)
                    .is_none_or(|n| (1..=bundle as u32).contains(&n))
            );
        }
    }
    assert!(pack.unpack(pack.shard_count() + 1).is_none());
}

#[test]
fn manifests_come_back() {
    let pack = read(&encoded(EDITION)).unwrap();
    use_all(&pack);
    assert_eq!(pack.key, DigestKey::from_bytes(&[3; 32]));
    for (at, (components, manifest, digest)) in manifests().into_iter().enumerate() {
        assert_eq!(pack.unpack(at), Some((components, manifest)));
        assert_eq!(pack.digest(at), digest);
    }
}

#[test]
fn the_bundle_comes_back() {
    let pack = read(&encoded(EDITION)).unwrap();
    let (components, manifest) = pack.unpack(pack.shard_count()).unwrap();
    assert_eq!(
        (components, manifest.segments),
        (Vec::new(), bundle().to_vec())
    );
    let bundled = [(0, 0), (0, 1), (0, 2), (1, 0), (9, 0)].map(|(s, at)| pack.bundled(s, at));
    assert_eq!(bundled, [Some(1), Some(2), None, None, None]);
}

#[test]
fn a_bundle_that_contradicts_its_shards_is_refused() {
    let encoded = |bundled: u32, change: fn(&mut SegmentInfo)| {
        let (components, manifest, digest) = manifests().swap_remove(0);
        let mut bundle = bundle();
        change(&mut bundle[0]);
        let contents = Contents {
            edition: EDITION,
            root: b"/srv",
            above: &[],
            key: DigestKey::default(),
            shards: vec![Packing {
                components: &components,
                snapshot: manifest.snapshot,
                guard: Vec::new(),
                segments: &manifest.segments,
                totals: &manifest.totals,
                digest,
                bundled: vec![bundled],
            }],
            bundle: &bundle,
        };
        encode(&contents).unwrap()
    };
    assert!(read(&encoded(2, |_| ())).is_ok());
    assert!(read(&encoded(3, |_| ())).is_err());
    assert!(read(&encoded(2, |segment| segment.own_row = true)).is_err());
}

#[test]
fn a_pack_of_another_edition_is_refused() {
    let later = Edition {
        revision: Some(SnapshotId(10)),
        ..EDITION
    };
    let message = read(&encoded(later)).unwrap_err().to_string();
    assert!(message.contains("the-file"), "{message}");
    assert!(Pack::from_bytes(encoded(later), Path::new("f"), later).is_ok());
}

#[test]
fn a_segment_that_contradicts_itself_is_refused() {
    let changes: [fn(&mut SegmentInfo); 4] = [
        |s| s.rows = 4,
        |s| s.dirs = 0,
        |s| s.last_dir = None,
        |s| s.files.values_mut().for_each(|f| f.tail_bytes = 1001),
    ];
    for change in changes {
        let mut segments = [segment(0)];
        change(&mut segments[0]);
        let (components, manifest, digest) = manifests().swap_remove(0);
        let contents = Contents {
            edition: EDITION,
            root: b"/srv",
            above: &[],
            key: DigestKey::default(),
            shards: vec![Packing {
                components: &components,
                snapshot: manifest.snapshot,
                guard: Vec::new(),
                segments: &segments,
                totals: &manifest.totals,
                digest,
                bundled: Vec::new(),
            }],
            bundle: &[],
        };
        assert!(read(&encode(&contents).unwrap()).is_err());
    }
}

#[test]
fn every_flipped_or_missing_byte_is_found() {
    let bytes = encoded(EDITION);
    for at in 0..bytes.len() {
        assert!(read(&bytes[..at]).is_err());
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        assert!(read(&flipped).is_err(), "byte {at}");
    }
}

/// With a valid checksum the damage reaches the decoder.
#[test]
fn no_flipped_byte_with_a_right_checksum_panics() {
    let bytes = encoded(EDITION);
    for at in 0..bytes.len() {
        for bit in [0x01, 0x80, 0xff] {
            let mut flipped = bytes.clone();
            flipped[at] ^= bit;
            if let Ok(pack) = read(&sealed(&flipped)) {
                use_all(&pack);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = read(&bytes);
        let _ = read(&sealed(&[MAGIC, &bytes].concat()));
    }

    #[test]
    fn no_bytes_in_between_panic(at: prop::sample::Index, cut: prop::sample::Index, with: Vec<u8>) {
        let bytes = encoded(EDITION);
        let (start, end) = (at.index(bytes.len()), cut.index(bytes.len()));
        let (start, end) = (start.min(end), start.max(end));
        for end in [start, (start + with.len()).min(bytes.len()), end] {
            let hostile = [&bytes[..start], &with, &bytes[end..]].concat();
            if let Ok(pack) = read(&sealed(&hostile)) {
                use_all(&pack);
            }
        }
    }
}
