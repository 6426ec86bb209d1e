//! What a pack knows of its documents besides postings: where they come from, and their references.
//! Two more files beside Tantivy's, read only when they are asked for.
//!
//! ```text
//! origins     24 bytes a document: still id, hash of the content (0: none)
//! references  8 bytes a document: end of its references; then these, as JSON
//! ```

use crate::document::Reference;
use crate::error::{KeywordsError, Result};
use crate::pack::Pack;

const ORIGINS: &str = "origins";
const REFERENCES: &str = "references";
const ORIGIN_BYTES: usize = 24;
const END_BYTES: u64 = 8;
const DAMAGED: KeywordsError = KeywordsError::Damaged("its lists of references make no sense");

/// Where a document comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// See [`crate::Documents::still_id`].
    pub still_id: u64,
    /// See [`crate::content_hash`].
    pub content_hash: Option<u128>,
}

/// The two files of a pack, being made or read.
#[derive(Debug, Default)]
pub(crate) struct Sidecars {
    origins: Vec<u8>,
    ends: Vec<u8>,
    references: Vec<u8>,
}

impl Sidecars {
    /// Adds a document.
    pub(crate) fn push(&mut self, origin: Origin, references: &[Reference]) -> Result<()> {
        self.origins.extend(origin.still_id.to_le_bytes());
        let hash = origin.content_hash.unwrap_or_default();
        self.origins.extend(hash.to_le_bytes());
        if !references.is_empty() {
            let pairs: Vec<(&str, &str)> = references
                .iter()
                .map(|one| (&one.kind[..], &one.target[..]))
                .collect();
            let written = serde_json::to_writer(&mut self.references, &pairs);
            written.map_err(std::io::Error::from)?;
        }
        self.end();
        Ok(())
    }

    fn end(&mut self) {
        self.ends
            .extend((self.references.len() as u64).to_le_bytes());
    }

    /// Adds a document of another pack.
    pub(crate) fn absorb(&mut self, other: &Sidecars, number: u32) -> Result<()> {
        let at = number as usize * ORIGIN_BYTES;
        let origin = other.origins.get(at..at + ORIGIN_BYTES).ok_or(DAMAGED)?;
        self.origins.extend_from_slice(origin);
        let end = |number: u64| number_at(&other.ends, number * END_BYTES);
        let from = match number {
            0 => Some(0),
            number => end(u64::from(number) - 1),
        };
        let range = from.zip(end(number.into()));
        let own = range.and_then(|(from, to)| other.references.get(from as usize..to as usize));
        self.references.extend_from_slice(own.ok_or(DAMAGED)?);
        self.end();
        Ok(())
    }

    /// Memory in use, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.origins.len() + self.ends.len() + self.references.len()
    }

    /// Returns the files.
    pub(crate) fn finish(mut self) -> [(String, Vec<u8>); 2] {
        self.ends.append(&mut self.references);
        [
            (ORIGINS.to_owned(), self.origins),
            (REFERENCES.to_owned(), self.ends),
        ]
    }
}

/// Returns eight bytes as a number.
fn number_at(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let eight = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*eight))
}

/// Reads bytes of a file of a pack.
fn bytes_of(pack: &Pack, name: &str, from: u64, to: u64) -> Result<Vec<u8>> {
    let part = pack.part(name).ok_or(DAMAGED)?;
    if from > to || to > part.size_bytes {
        return Err(DAMAGED);
    }
    Ok(pack.read(part.at + from..part.at + to)?)
}

/// Reads both files of a pack.
pub(crate) fn read(pack: &Pack) -> Result<Sidecars> {
    let whole = |name| {
        let size_bytes = pack.part(name).map_or(0, |part| part.size_bytes);
        bytes_of(pack, name, 0, size_bytes)
    };
    let mut ends = whole(REFERENCES)?;
    let split = pack.docs().len() * END_BYTES as usize;
    if split > ends.len() {
        return Err(DAMAGED);
    }
    let references = ends.split_off(split);
    Ok(Sidecars {
        origins: whole(ORIGINS)?,
        ends,
        references,
    })
}

/// Returns where the documents of a pack come from, in the order of their numbers.
///
/// # Errors
/// If the pack is damaged.
pub fn origins(pack: &Pack) -> Result<Vec<Origin>> {
    let bytes = bytes_of(pack, ORIGINS, 0, (pack.docs().len() * ORIGIN_BYTES) as u64)?;
    let origin = |bytes: &[u8]| {
        let mut hash = [0u8; 16];
        hash.copy_from_slice(bytes.get(8..24)?);
        let hash = u128::from_le_bytes(hash);
        Some(Origin {
            still_id: number_at(bytes, 0)?,
            content_hash: Some(hash).filter(|hash| *hash != 0),
        })
    };
    let all: Option<Vec<Origin>> = bytes.chunks_exact(ORIGIN_BYTES).map(origin).collect();
    all.ok_or(DAMAGED)
}

/// Returns the references of a document of a pack, by the document's number.
///
/// # Errors
/// If the pack is damaged.
pub fn references(pack: &Pack, number: u32) -> Result<Vec<Reference>> {
    let number = u64::from(number);
    let first = number.saturating_sub(1) * END_BYTES;
    let ends = bytes_of(pack, REFERENCES, first, (number + 1) * END_BYTES)?;
    let to = number_at(&ends, ends.len() as u64 - END_BYTES).ok_or(DAMAGED)?;
    let from = match number {
        0 => 0,
        _ => number_at(&ends, 0).ok_or(DAMAGED)?,
    };
    if from == to {
        return Ok(Vec::new());
    }
    let begin = pack.docs().len() as u64 * END_BYTES;
    let place = begin.checked_add(from).zip(begin.checked_add(to));
    let (from, to) = place.ok_or(DAMAGED)?;
    let json = bytes_of(pack, REFERENCES, from, to)?;
    let pairs: Vec<(String, String)> = serde_json::from_slice(&json).map_err(|_| DAMAGED)?;
    let reference = |(kind, target)| Reference { kind, target };
    Ok(pairs.into_iter().map(reference).collect())
}
