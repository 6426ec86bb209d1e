//! A number that says which directories a shard holds, so that two snapshots
//! can be compared without reading their shards.
//!
//! It is the sum, modulo 2^128, of a keyed hash of each directory's path: the
//! order does not matter, nor in which segments they are. Sums can be forged
//! by whoever knows the key or sees sums, so both are kept in the list of
//! shards, which is for the index's owner alone.

use crate::error::{IndexError, Result};
use crate::id::Hash;
use crate::segment::ListingKind;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A source's key: 32 random bytes, taken over from snapshot to snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DigestKey([Hash; 2]);

/// Which directories there are. Equal ones of one source say that they are
/// the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    pub(crate) key: DigestKey,
    pub(crate) sum: Hash,
}

impl DigestKey {
    /// A new one. `path` is for messages.
    pub(crate) fn random(path: &Path) -> Result<DigestKey> {
        let mut bytes = [0u8; 32];
        let filled = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
        let failed = |cause: std::io::Error| IndexError::io("get random numbers for", path, cause);
        let filled = filled.map_err(|errno| failed(errno.into()))?;
        if filled != bytes.len() {
            return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(DigestKey::from_bytes(&bytes))
    }

    pub(crate) fn bytes(&self) -> [u8; 32] {
        let mut key = [0u8; 32];
        key[..16].copy_from_slice(&self.0[0].0.to_le_bytes());
        key[16..].copy_from_slice(&self.0[1].0.to_le_bytes());
        key
    }

    /// The inverse of [`DigestKey::bytes`].
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> DigestKey {
        let (low, high) = bytes.split_at(16);
        DigestKey([low, high].map(first_half))
    }

    /// What a directory adds.
    pub(crate) fn of(&self, kind: ListingKind, path: &[u8]) -> Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.bytes());
        hasher.update(&[kind as u8]).update(path);
        first_half(hasher.finalize().as_bytes())
    }
}

/// The first 16 bytes.
fn first_half(bytes: &[u8]) -> Hash {
    let half = bytes.first_chunk().copied().unwrap_or_default();
    Hash(u128::from_le_bytes(half))
}
