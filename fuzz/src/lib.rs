//! What the fuzz targets share.
//!
//! Checksums would stop nearly every input at the door: targets put right
//! ones around hostile content, since whoever can write an index file can
//! compute a checksum.

#![forbid(unsafe_code)]

mod victim;

use std::path::PathBuf;

use trawl_index::Hash;

pub use victim::Victim;

/// A directory in memory for this process's files.
pub fn scratch(name: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    let path = parent.join(format!("trawl-fuzz-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory for the files of the target");
    path
}

/// `body` closed by the checksum line that `docs/format.md` asks for.
pub fn sealed(body: &[u8]) -> Vec<u8> {
    let mut file = body.to_vec();
    file.push(b'\n');
    let line = format!("xxh3-128 {}\n", Hash::of(&file));
    file.extend_from_slice(line.as_bytes());
    file
}
