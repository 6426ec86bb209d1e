//! The bytes of a pack: documents, and Tantivy's files of their postings.
//!
//! ```text
//! head | documents | files | hashes of blocks | content of the files
//! ```
//! `docs/internals/keywords.md` has the fields. Everything that is read is checked against a hash.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

use trawl_grams::DocId;
use trawl_model::sync::lock;
use xxhash_rust::xxh3::xxh3_64;

use crate::document::Gaps;
use crate::error::{KeywordsError, Result};
use crate::sidecar;

const MAGIC: &[u8; 8] = b"trawlkwd";
/// Version of the bytes, of the words of a text and of the terms of attributes.
const VERSION: u32 = 4;
const HEAD_BYTES: usize = 56;
const DOC_BYTES: usize = 24;
const FILE_BYTES: usize = 80;
const NAME_BYTES: usize = 64;
/// A look-up of a term reads a few hundred bytes here and there.
const BLOCK_BYTES: usize = 16 << 10;
/// Maximum number of blocks of a pack in memory.
const KEPT_BLOCKS: usize = 64;
/// Limits for what is read into memory before its hash is checked.
const DOCS_MAX: u32 = 1 << 20;
const FILES_MAX: u32 = 64;
const BLOCKS_MAX: u32 = 1 << 20;

/// A document of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its identity.
    pub id: DocId,
    /// What is missing of its file's content.
    pub gaps: Gaps,
}

/// The bytes of a block.
type Block = Arc<[u8]>;

/// One of Tantivy's files.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) at: u64,
    pub(crate) size_bytes: u64,
}

#[derive(Debug)]
enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

impl Bytes {
    fn size_bytes(&self) -> io::Result<u64> {
        match self {
            Bytes::File(file) => Ok(file.metadata()?.len()),
            Bytes::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Bytes::File(file) => file.read_exact_at(buffer, at),
            Bytes::Memory(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
                let found = rest.and_then(|rest| rest.get(..buffer.len()));
                buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}

/// A pack. Its documents are in memory; postings are read when they are asked for.
#[derive(Clone, Debug)]
pub struct Pack(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bytes: Bytes,
    fingerprint: u64,
    docs: Vec<Listed>,
    parts: Vec<Part>,
    hashes: Vec<u64>,
    content_at: u64,
    content_bytes: u64,
    /// The blocks that were read last, with their numbers. A pack never changes, so they stay true.
    kept: Mutex<VecDeque<(u64, Block)>>,
}

impl Pack {
    /// Opens a pack that lies in a file.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or has another version.
    pub fn open(file: File) -> Result<Pack> {
        Pack::new(Bytes::File(file))
    }

    /// Opens a pack that lies in memory.
    ///
    /// # Errors
    /// As [`Pack::open`].
    pub fn of_bytes(bytes: Vec<u8>) -> Result<Pack> {
        Pack::new(Bytes::Memory(bytes))
    }

    fn new(bytes: Bytes) -> Result<Pack> {
        let mut head = [0u8; HEAD_BYTES];
        bytes.read(0, &mut head)?;
        let head = Head::parse(&head)?;
        let end = (HEAD_BYTES + head.tables_bytes()) as u64;
        if end.saturating_add(head.content_bytes) != bytes.size_bytes()? {
            return Err(KeywordsError::Damaged("it has another length"));
        }
        let mut tables = vec![0u8; head.tables_bytes()];
        bytes.read(HEAD_BYTES as u64, &mut tables)?;
        if xxh3_64(&tables) != head.tables_hash {
            return Err(KeywordsError::Damaged("its tables have another hash"));
        }
        let (docs, rest) = tables.split_at(head.docs as usize * DOC_BYTES);
        let (parts, hashes) = rest.split_at(head.parts as usize * FILE_BYTES);
        let docs = docs.chunks_exact(DOC_BYTES).map(|doc| Listed {
            id: DocId {
                object: number(doc, 0),
                version: number(doc, 8),
            },
            gaps: Gaps::of_bits(number(doc, 16)),
        });
        let parts = parts.chunks_exact(FILE_BYTES).map(part);
        let inner = Inner {
            fingerprint: head.fingerprint,
            docs: docs.collect(),
            parts: parts.collect::<Result<Vec<_>>>()?,
            hashes: hashes.chunks_exact(8).map(|hash| number(hash, 0)).collect(),
            content_at: (HEAD_BYTES + tables.len()) as u64,
            content_bytes: head.content_bytes,
            bytes,
            kept: Mutex::default(),
        };
        let ends_inside = |part: &Part| {
            let end = part.at.checked_add(part.size_bytes);
            end.is_some_and(|end| end <= inner.content_bytes)
        };
        match inner.parts.iter().all(ends_inside) {
            true => Ok(Pack(Arc::new(inner))),
            false => Err(KeywordsError::Damaged("a file in it ends behind it")),
        }
    }

    /// Returns the documents, in the order of their numbers.
    pub fn docs(&self) -> &[Listed] {
        &self.0.docs
    }

    /// Returns the fingerprint of the source of the documents ([`crate::Documents`]).
    pub fn fingerprint(&self) -> u64 {
        self.0.fingerprint
    }

    /// Reads the whole pack: every block, every list of postings, and what is beside them.
    ///
    /// # Errors
    /// If a block has another hash, a list has a document that the pack does not have, or something
    /// cannot be read.
    pub fn check(&self) -> Result<()> {
        let inner = &self.0;
        let blocks = inner.hashes.len() as u64;
        let mut at = 0;
        while at < blocks {
            let end = (at + KEPT_BLOCKS as u64).min(blocks);
            inner.blocks(at..end)?;
            at = end;
        }
        crate::library::check(self)?;
        if sidecar::origins(self)?.len() != self.docs().len() {
            return Err(KeywordsError::Damaged("its origins are of other documents"));
        }
        for (_, number) in self.docs().iter().zip(0u32..) {
            sidecar::references(self, number)?;
        }
        Ok(())
    }

    /// Returns Tantivy's file of this name.
    pub(crate) fn part(&self, name: &str) -> Option<&Part> {
        self.0.parts.iter().find(|part| part.name == name)
    }

    /// Reads bytes of the files' content.
    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let inner = &self.0;
        if range.start > range.end || range.end > inner.content_bytes {
            let what = "a place behind the pack's end";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let block = BLOCK_BYTES as u64;
        let blocks = range.start / block..range.end.div_ceil(block);
        let is_large = blocks.end.saturating_sub(blocks.start) > KEPT_BLOCKS as u64 / 2;
        let bytes = match is_large {
            true => inner.blocks(blocks.clone())?,
            false => {
                let blocks = blocks.clone().map(|number| inner.block(number));
                blocks.collect::<io::Result<Vec<Block>>>()?.concat()
            }
        };
        let skipped = blocks.start * block;
        let part = (range.start - skipped) as usize..(range.end - skipped) as usize;
        match bytes.get(part.clone()) {
            Some(whole) if whole.len() == bytes.len() => Ok(bytes),
            Some(part) => Ok(part.to_vec()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Inner {
    /// Reads blocks and checks their hashes.
    fn blocks(&self, numbers: Range<u64>) -> io::Result<Vec<u8>> {
        let damaged = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        let block = BLOCK_BYTES as u64;
        let begin = numbers.start * block;
        let end = (numbers.end * block).min(self.content_bytes).max(begin);
        let mut bytes = vec![0u8; (end - begin) as usize];
        self.bytes.read(self.content_at + begin, &mut bytes)?;
        let hashes = self.hashes.iter().skip(numbers.start as usize);
        let mut pairs = bytes.chunks(BLOCK_BYTES).zip(hashes);
        match pairs.all(|(block, hash)| xxh3_64(block) == *hash) {
            true => Ok(bytes),
            false => Err(damaged("a block of the pack has another hash")),
        }
    }

    /// Returns a block, which is read unless it was among the last ones.
    fn block(&self, number: u64) -> io::Result<Block> {
        let kept = lock(&self.kept)
            .iter()
            .find(|(at, _)| *at == number)
            .cloned();
        if let Some((_, block)) = kept {
            return Ok(block);
        }
        let block: Block = self.blocks(number..number + 1)?.into();
        let mut kept = lock(&self.kept);
        if kept.len() == KEPT_BLOCKS {
            kept.pop_front();
        }
        kept.push_back((number, Arc::clone(&block)));
        Ok(block)
    }
}

struct Head {
    docs: u32,
    parts: u32,
    blocks: u32,
    content_bytes: u64,
    tables_hash: u64,
    fingerprint: u64,
}

impl Head {
    fn parse(bytes: &[u8; HEAD_BYTES]) -> Result<Head> {
        let short = |at| number(bytes, at) as u32;
        if !bytes.starts_with(MAGIC) {
            return Err(KeywordsError::Damaged("it begins with other bytes"));
        }
        if short(8) != VERSION {
            return Err(KeywordsError::Version(short(8)));
        }
        if xxh3_64(&bytes[..48]) != number(bytes, 48) {
            return Err(KeywordsError::Damaged("its head has another hash"));
        }
        let head = Head {
            docs: short(12),
            parts: short(16),
            blocks: short(20),
            content_bytes: number(bytes, 24),
            tables_hash: number(bytes, 32),
            fingerprint: number(bytes, 40),
        };
        let blocks = head.content_bytes.div_ceil(BLOCK_BYTES as u64);
        let fits = head.docs <= DOCS_MAX && head.parts <= FILES_MAX && head.blocks <= BLOCKS_MAX;
        match fits && blocks == u64::from(head.blocks) {
            true => Ok(head),
            false => Err(KeywordsError::Damaged("its numbers are out of range")),
        }
    }

    fn tables_bytes(&self) -> usize {
        self.docs as usize * DOC_BYTES + self.parts as usize * FILE_BYTES + self.blocks as usize * 8
    }
}

/// Returns eight bytes as a number; bytes behind the end count as 0.
fn number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0u8; 8];
    for (to, from) in eight.iter_mut().zip(bytes.iter().skip(at)) {
        *to = *from;
    }
    u64::from_le_bytes(eight)
}

fn part(bytes: &[u8]) -> Result<Part> {
    let name = bytes.get(..NAME_BYTES).unwrap_or_default();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = std::str::from_utf8(name);
    let name = name.map_err(|_| KeywordsError::Damaged("a file in it has an odd name"))?;
    Ok(Part {
        name: name.to_owned(),
        at: number(bytes, NAME_BYTES),
        size_bytes: number(bytes, NAME_BYTES + 8),
    })
}

/// Returns the bytes of a pack with these documents, of a source with this fingerprint, and files.
pub(crate) fn encode(
    fingerprint: u64,
    docs: &[Listed],
    files: &[(String, Vec<u8>)],
) -> Result<Vec<u8>> {
    let mut tables = Vec::new();
    for doc in docs {
        for number in [doc.id.object, doc.id.version, doc.gaps.to_bits()] {
            tables.extend(number.to_le_bytes());
        }
    }
    let mut content = Vec::with_capacity(files.iter().map(|(_, bytes)| bytes.len()).sum());
    for (name, bytes) in files {
        if name.len() >= NAME_BYTES {
            return Err(KeywordsError::Damaged("the name of a file is too long"));
        }
        let mut padded = [0u8; NAME_BYTES];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        tables.extend(padded);
        tables.extend((content.len() as u64).to_le_bytes());
        tables.extend((bytes.len() as u64).to_le_bytes());
        content.extend_from_slice(bytes);
    }
    let mut blocks = 0u32;
    for block in content.chunks(BLOCK_BYTES) {
        tables.extend(xxh3_64(block).to_le_bytes());
        blocks += 1;
    }
    if docs.len() > DOCS_MAX as usize || files.len() > FILES_MAX as usize || blocks > BLOCKS_MAX {
        return Err(KeywordsError::Damaged("it would be too large"));
    }
    let mut bytes = MAGIC.to_vec();
    for number in [VERSION, docs.len() as u32, files.len() as u32, blocks] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend((content.len() as u64).to_le_bytes());
    bytes.extend(xxh3_64(&tables).to_le_bytes());
    bytes.extend(fingerprint.to_le_bytes());
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes.extend(tables);
    bytes.extend(content);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Gap;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let doc = |object, is_cut| Listed {
            id: DocId { object, version: 7 },
            gaps: match is_cut {
                true => Gaps::both(Gap::Timeout),
                false => Gaps::default(),
            },
        };
        let files = [
            ("one".to_owned(), vec![1; 100_000]),
            ("two".to_owned(), vec![2; 70_000]),
        ];
        encode(9, &[doc(1, false), doc(2, true)], &files).unwrap()
    }

    #[test]
    fn a_pack_has_what_was_put_into_it() {
        let pack = Pack::of_bytes(sample()).unwrap();
        assert_eq!(pack.docs().len(), 2);
        assert_eq!(pack.docs()[0].gaps, Gaps::default());
        assert_eq!(pack.docs()[1].gaps, Gaps::both(Gap::Timeout));
        assert_eq!(pack.fingerprint(), 9);
        let part = pack.part("two").unwrap();
        assert_eq!((part.at, part.size_bytes), (100_000, 70_000));
        let read = pack.read(99_999..100_001).unwrap();
        assert_eq!(read, [1, 2]);
        assert_eq!(pack.read(0..170_000).unwrap().len(), 170_000);
        assert!(pack.read(170_000..170_000).unwrap().is_empty());
        assert!(pack.read(0..170_001).is_err());
    }

    proptest! {
        /// A changed byte is noticed where it is read.
        #[test]
        fn damage_is_noticed(at in 0usize..170_000, bit in 0u8..8, end in 0usize..170_000) {
            let mut bytes = sample();
            let whole = bytes.clone();
            let at = at.min(bytes.len() - 1);
            bytes[at] ^= 1 << bit;
            let read = |bytes| Pack::of_bytes(bytes).and_then(|pack| Ok(pack.read(0..170_000)?));
            prop_assert!(read(bytes).is_err());
            prop_assert!(read(whole[..end].to_vec()).is_err());
        }
    }
}
