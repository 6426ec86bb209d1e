//! What the fuzz targets share.
//!
//! Checksums would stop nearly every input at the door: targets put right
//! ones around hostile content, since whoever can write an index file can
//! compute a checksum.

#![forbid(unsafe_code)]

#[path = "../../crates/store/query/tests/forged/questions.rs"]
pub mod questions;
#[path = "../../crates/store/query/tests/forged/victim.rs"]
mod victim;

use std::path::PathBuf;

pub use victim::{Victim, sealed};

/// An index to be changed.
pub fn victim() -> Victim {
    Victim::new(&scratch("index"))
}

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
