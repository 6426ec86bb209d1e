//! A manifest with any content, with and without a right checksum: an error
//! or a manifest whose numbers agree, never a panic.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use trawl_format::{Manifest, SnapshotId};

fuzz_target!(|data: &[u8]| {
    let path = Path::new("manifest");
    let _ = Manifest::from_bytes(data, path, SnapshotId(1));
    let sealed = trawl_fuzz::sealed(data);
    if let Ok(manifest) = Manifest::from_bytes(&sealed, path, SnapshotId(1)) {
        assert_eq!(manifest.snapshot, SnapshotId(1));
        for segment in &manifest.segments {
            assert!(segment.files.values().all(|file| file.tail_bytes <= file.size_bytes));
        }
    }
});
