//! Computes a number that identifies the set of directories in a shard, so that two snapshots can
//! be compared without reading their shards.
//!
//! The number is the sum, modulo 2^128, of a keyed hash of each directory's path. It does not
//! depend on the order of directories or on the segments that contain them. Anyone who knows the
//! key or sees sums can forge sums, so both are in the list of shards, which only the index's owner
//! may read.

use crate::error::{IndexError, Result};
use crate::id::Hash;
use crate::listing_kind::ListingKind;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A source's key: 32 random bytes, passed on from snapshot to snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestKey([Hash; 2]);

/// Identifies a set of directories. Equal digests of one source mean equal sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The key that it was made with.
    pub key: DigestKey,
    /// Sum of the keyed hashes of the directories.
    pub sum: Hash,
}

impl DigestKey {
    /// Returns a new random key. `path` is for messages.
    pub fn random(path: &Path) -> Result<DigestKey> {
        let mut bytes = [0u8; 32];
        let filled = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
        let failed = |cause: std::io::Error| IndexError::io("get random numbers for", path, cause);
        let filled = filled.map_err(|errno| failed(errno.into()))?;
        if filled != bytes.len() {
            return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(DigestKey::from_bytes(&bytes))
    }

    /// Returns the 32 bytes of the key.
    pub fn bytes(&self) -> [u8; 32] {
        let mut key = [0u8; 32];
        key[..16].copy_from_slice(&self.0[0].0.to_le_bytes());
        key[16..].copy_from_slice(&self.0[1].0.to_le_bytes());
        key
    }

    /// Makes a key from the output of [`DigestKey::bytes`].
    pub fn from_bytes(bytes: &[u8; 32]) -> DigestKey {
        let (low, high) = bytes.split_at(16);
        DigestKey([low, high].map(first_half))
    }

    /// Returns the share of one directory in the sum.
    pub fn of(&self, kind: ListingKind, path: &[u8]) -> Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.bytes());
        hasher.update(&[kind as u8]).update(path);
        first_half(hasher.finalize().as_bytes())
    }
}

/// Returns the first 16 bytes as a hash.
fn first_half(bytes: &[u8]) -> Hash {
    let half = bytes.first_chunk().copied().unwrap_or_default();
    Hash(u128::from_le_bytes(half))
}
