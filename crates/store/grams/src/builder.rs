//! Writes a pack: documents, and for each key the documents that have it.

use trawl_names::ReadAt;
use trawl_names::lists::{self, BitWriter};
use trawl_names::varint;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::GramsError;
use crate::keys::{Content, DocId};
use crate::pack::{HEAD_BYTES, Pack, VERSION, magic};
use crate::parts::Parts;

/// Maximum number of documents of a pack; each part of one counts.
pub const DOCS_MAX: u32 = 1 << DOC_BITS;
const DOC_BITS: u32 = 14;
/// Number of pairs of key and document from which a pack is full.
const PAIRS_FULL: usize = 8 << 20;
/// Number of pairs that no pack has: a full one, and the file with the most keys or another pack.
const PAIRS_MAX: usize = 4 * PAIRS_FULL;
/// Size in bytes from which a page of lists ends.
const PAGE_BYTES: usize = 4096;

/// A pack that grows in memory: four bytes for each pair of key and document.
#[derive(Debug)]
pub struct Builder {
    content: Content,
    docs: Vec<DocId>,
    /// Key in the high bits, number of the document in the low ones.
    pairs: Vec<u32>,
}

impl Builder {
    /// Begins a pack of documents with this content.
    pub fn new(content: Content) -> Builder {
        Builder {
            content,
            docs: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Returns what its documents contain.
    pub fn content(&self) -> Content {
        self.content
    }

    /// Returns whether the pack should be written before anything is added.
    pub fn is_full(&self) -> bool {
        self.docs.len() >= DOCS_MAX as usize || self.pairs.len() >= PAIRS_FULL
    }

    /// Returns whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    /// Returns the number of documents.
    pub fn docs(&self) -> usize {
        self.docs.len()
    }

    /// Returns the memory that it takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.pairs.len() * 4 + self.docs.len() * 16
    }

    /// Returns whether all parts of a document fit.
    pub fn has_room_for(&self, parts: &Parts) -> bool {
        self.docs.len() + parts.count() <= DOCS_MAX as usize
    }

    /// Adds a document part by part. Its content must be that of the pack, and nothing may be lost:
    /// see [`Builder::has_room_for`].
    pub fn add_parts(&mut self, id: DocId, parts: &Parts) {
        debug_assert_eq!(self.content, parts.content());
        parts.iter().for_each(|keys| self.add(id, keys));
    }

    /// Adds a document, or the next part of the document that was added last, with its distinct
    /// keys. Does nothing if there are [`DOCS_MAX`] documents.
    pub fn add(&mut self, id: DocId, keys: &[u32]) {
        if let Some(doc) = self.number(id) {
            self.pairs
                .extend(keys.iter().map(|key| key << DOC_BITS | doc));
        }
    }

    fn number(&mut self, id: DocId) -> Option<u32> {
        let number = self.docs.len() as u32;
        if number >= DOCS_MAX {
            return None;
        }
        self.docs.push(id);
        Some(number)
    }

    /// Adds the documents of a pack that `keep` selects by their number, as far as there is room.
    /// Returns how many were added.
    ///
    /// # Errors
    /// If the pack is damaged, or its documents contain something else; then nothing is added.
    pub fn absorb(
        &mut self,
        pack: &Pack<impl ReadAt>,
        keep: impl Fn(usize) -> bool,
    ) -> Result<u64, GramsError> {
        if pack.content() != self.content {
            return Err(GramsError::Content);
        }
        let (docs, pairs) = (self.docs.len(), self.pairs.len());
        let numbers: Vec<Option<u32>> = (pack.docs().iter().enumerate())
            .map(|(at, id)| keep(at).then(|| self.number(*id)).flatten())
            .collect();
        let mut is_too_much = false;
        let read = pack.for_each(|key, doc| {
            if let Some(Some(doc)) = numbers.get(doc as usize) {
                match self.pairs.len() < PAIRS_MAX {
                    true => self.pairs.push(key << DOC_BITS | doc),
                    false => is_too_much = true,
                }
            }
        });
        let read = match is_too_much {
            true => Err(GramsError::Damaged(
                "its lists are longer than any that are written",
            )),
            false => read,
        };
        if read.is_err() {
            self.docs.truncate(docs);
            self.pairs.truncate(pairs);
        }
        read.map(|()| (self.docs.len() - docs) as u64)
    }

    /// Returns the bytes of the pack.
    pub fn finish(mut self) -> Vec<u8> {
        self.pairs.sort_unstable();
        let all = self.docs.len() as u32;
        let (mut lists, mut pages) = (Vec::new(), Vec::new());
        let mut page = Page::default();
        for same in self.pairs.chunk_by(|a, b| a >> DOC_BITS == b >> DOC_BITS) {
            page.put(same, all);
            if page.bytes.len() >= PAGE_BYTES {
                std::mem::take(&mut page).end(&mut pages, &mut lists);
            }
        }
        page.end(&mut pages, &mut lists);
        let mut body = Vec::with_capacity(self.docs.len() * 16 + pages.len());
        for id in &self.docs {
            body.extend(id.object.to_le_bytes());
            body.extend(id.version.to_le_bytes());
        }
        body.extend(&pages);
        let mut out = Vec::with_capacity(HEAD_BYTES + body.len() + lists.len());
        out.extend(magic(self.content));
        out.extend(VERSION.to_le_bytes());
        out.extend(all.to_le_bytes());
        out.extend(((pages.len() / crate::pack::PAGE_ENTRY_BYTES) as u32).to_le_bytes());
        out.extend((lists.len() as u32).to_le_bytes());
        out.extend(xxh3_64(&body).to_le_bytes());
        out.extend(xxh3_64(&out).to_le_bytes());
        out.extend(body);
        out.extend(lists);
        out
    }
}

/// A page of lists.
#[derive(Default)]
struct Page {
    first: Option<u32>,
    last: u32,
    bytes: Vec<u8>,
    /// Buffers.
    list: Vec<u32>,
    bits: BitWriter,
}

impl Page {
    /// Adds the list of the documents that have a key.
    fn put(&mut self, same: &[u32], all: u32) {
        let Some(key) = same.first().map(|pair| pair >> DOC_BITS) else {
            return;
        };
        let first = *self.first.get_or_insert(key);
        varint::push(&mut self.bytes, key - self.last.max(first));
        self.last = key;
        self.list.clear();
        let docs = same.iter().map(|pair| pair & (DOCS_MAX - 1));
        self.list.extend(docs);
        lists::push_list(&self.list, all, &mut self.bits, &mut self.bytes);
    }

    fn end(self, pages: &mut Vec<u8>, lists: &mut Vec<u8>) {
        let Some(first) = self.first else {
            return;
        };
        pages.extend(first.to_le_bytes());
        pages.extend((self.bytes.len() as u32).to_le_bytes());
        pages.extend(xxh3_64(&self.bytes).to_le_bytes());
        lists.extend(self.bytes);
    }
}
