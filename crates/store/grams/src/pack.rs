//! Reads a pack: its documents at once, its lists as they are needed.

use trawl_names::ReadAt;
use trawl_names::lists::{List, Set};
use trawl_names::varint;
use xxhash_rust::xxh3::xxh3_64;

use crate::builder::DOCS_MAX;
use crate::error::GramsError;
use crate::keys::{Content, DocId, KEYS};
use crate::plan::{Need, Plan};
use crate::read::Cursor;

pub(crate) const VERSION: u32 = 2;
pub(crate) const HEAD_BYTES: usize = 40;
pub(crate) const PAGE_ENTRY_BYTES: usize = 16;
/// Maximum length of a page in bytes: a page ends with the list that fills it, and a list has at
/// most a few bits for each document.
const PAGE_BYTES_MAX: u32 = 1 << 20;

/// Returns the first bytes of a pack.
pub(crate) fn magic(content: Content) -> &'static [u8; 8] {
    match content {
        Content::Text => b"trawltxt",
        Content::Binary => b"trawlbin",
    }
}

/// Where a page of lists lies.
#[derive(Debug)]
struct PageAt {
    first: u32,
    offset: u64,
    length: u32,
    hash: u64,
}

/// An open pack.
#[derive(Debug)]
pub struct Pack<R> {
    source: R,
    content: Content,
    docs: Vec<DocId>,
    pages: Vec<PageAt>,
}

const CUT: GramsError = GramsError::Damaged("it ends too early");

impl<R: ReadAt> Pack<R> {
    /// Reads the documents and where the lists lie.
    ///
    /// # Errors
    /// If the bytes cannot be read, or are not those of a pack.
    pub fn open(source: R) -> Result<Pack<R>, GramsError> {
        let mut head = [0u8; HEAD_BYTES];
        source.read_at(&mut head, 0).map_err(GramsError::Read)?;
        let mut cursor = Cursor(&head);
        let begin = cursor.take(8).ok_or(CUT)?;
        let contents = [Content::Text, Content::Binary];
        let content = (contents
            .into_iter()
            .find(|content| magic(*content) == begin))
        .ok_or(GramsError::Damaged("it does not begin as a pack does"))?;
        let version = cursor.u32().ok_or(CUT)?;
        if version != VERSION {
            return Err(GramsError::Version(version));
        }
        let (docs, pages) = (cursor.u32().ok_or(CUT)?, cursor.u32().ok_or(CUT)?);
        let lists_bytes = cursor.u32().ok_or(CUT)?;
        let (body_hash, hash) = (cursor.u64().ok_or(CUT)?, cursor.u64().ok_or(CUT)?);
        if hash != xxh3_64(&head[..HEAD_BYTES - 8]) {
            return Err(GramsError::Damaged("its head has another checksum"));
        }
        if docs > DOCS_MAX || pages > KEYS {
            return Err(GramsError::Damaged("it is too large"));
        }
        let body_bytes = docs as usize * 16 + pages as usize * PAGE_ENTRY_BYTES;
        let mut body = vec![0; body_bytes];
        let read = source.read_at(&mut body, HEAD_BYTES as u64);
        read.map_err(GramsError::Read)?;
        if xxh3_64(&body) != body_hash {
            return Err(GramsError::Damaged("its documents have another checksum"));
        }
        let mut cursor = Cursor(&body);
        let docs = read_docs(&mut cursor, docs).ok_or(CUT)?;
        let lists = (HEAD_BYTES + body_bytes) as u64;
        let pages = read_pages(&mut cursor, pages, (lists, lists_bytes))?;
        Ok(Pack {
            source,
            content,
            docs,
            pages,
        })
    }

    /// Returns what its documents contain.
    pub fn content(&self) -> Content {
        self.content
    }

    /// Returns the documents. Equal ones in succession are parts of one.
    pub fn docs(&self) -> &[DocId] {
        &self.docs
    }

    fn all(&self) -> u32 {
        self.docs.len() as u32
    }

    /// Returns the documents that cannot match: no part of them can.
    ///
    /// # Errors
    /// As [`Pack::candidates`].
    pub fn excluded(&self, plan: &Plan) -> Result<Vec<DocId>, GramsError> {
        let candidates = self.candidates(plan)?;
        let (mut excluded, mut number) = (Vec::with_capacity(self.docs.len()), 0);
        for parts in self.docs.chunk_by(|a, b| a == b) {
            let next = number + parts.len() as u32;
            if !(number..next).any(|part| candidates.contains(part)) {
                excluded.extend(parts.first());
            }
            number = next;
        }
        Ok(excluded)
    }

    /// Returns the documents, by number, that can match. Parts of a document are documents here.
    ///
    /// # Errors
    /// If a list cannot be read.
    pub fn candidates(&self, plan: &Plan) -> Result<Set, GramsError> {
        self.evaluate(plan.need(self.content))
    }

    fn evaluate(&self, need: &Need) -> Result<Set, GramsError> {
        match need {
            Need::Anything => Ok(Set::all(self.all())),
            Need::Nothing => Ok(Set::none(self.all())),
            Need::Keys(keys) => self.with_all(keys),
            Need::And(parts) => {
                let mut both = Set::all(self.all());
                for part in parts {
                    both.keep_common(&self.evaluate(part)?);
                    if both.count() == 0 {
                        break;
                    }
                }
                Ok(both)
            }
            Need::Or(parts) => {
                let mut any = Set::none(self.all());
                for part in parts {
                    any.add_all(&self.evaluate(part)?);
                }
                Ok(any)
            }
        }
    }

    /// Returns the documents that have all of these keys: rare keys first, and no others once
    /// nothing is left.
    fn with_all(&self, keys: &[u32]) -> Result<Set, GramsError> {
        let mut pages = Vec::with_capacity(keys.len());
        for key in keys {
            match self.page_of(*key) {
                Some(page) => pages.push((*key, page, self.page(page)?)),
                None => return Ok(Set::none(self.all())),
            }
        }
        let mut lists = Vec::with_capacity(keys.len());
        for (key, page, bytes) in &pages {
            match self.find(*key, page, bytes)? {
                Some(list) => lists.push(list),
                None => return Ok(Set::none(self.all())),
            }
        }
        lists.sort_by_key(List::count);
        let mut both = Set::all(self.all());
        for list in &lists {
            both.keep_common(&self.decode(list)?);
            if both.count() == 0 {
                break;
            }
        }
        Ok(both)
    }

    fn decode(&self, list: &List<'_>) -> Result<Set, GramsError> {
        let read = list.read(self.all());
        read.ok_or(GramsError::Damaged("a list is not as long as it says"))
    }

    /// Returns the page that the list of a key is in, if there is one.
    fn page_of(&self, key: u32) -> Option<&PageAt> {
        let behind = self.pages.partition_point(|page| page.first <= key);
        self.pages.get(behind.checked_sub(1)?)
    }

    /// Returns the list of a key in its page; `None` if no document has it.
    fn find<'b>(
        &self,
        key: u32,
        page: &PageAt,
        bytes: &'b [u8],
    ) -> Result<Option<List<'b>>, GramsError> {
        let mut found = None;
        self.lists(page, bytes, |of, list| {
            if of == key {
                found = Some(list);
            }
            Ok(of < key)
        })?;
        Ok(found)
    }

    fn page(&self, page: &PageAt) -> Result<Vec<u8>, GramsError> {
        let mut bytes = vec![0; page.length as usize];
        let read = self.source.read_at(&mut bytes, page.offset);
        read.map_err(GramsError::Read)?;
        match xxh3_64(&bytes) == page.hash {
            true => Ok(bytes),
            false => Err(GramsError::Damaged("a page has another checksum")),
        }
    }

    /// Calls `visit` with each key of a page and its list, until it returns false or an error.
    fn lists<'b>(
        &self,
        page: &PageAt,
        mut bytes: &'b [u8],
        mut visit: impl FnMut(u32, List<'b>) -> Result<bool, GramsError>,
    ) -> Result<(), GramsError> {
        let mut key = page.first;
        while !bytes.is_empty() {
            let ahead = varint::take(&mut bytes).ok_or(CUT)?;
            let list = List::take(&mut bytes).ok_or(CUT)?;
            key = key.saturating_add(ahead);
            if key >= KEYS {
                return Err(GramsError::Damaged("a list has an impossible key"));
            }
            if !visit(key, list)? {
                break;
            }
        }
        Ok(())
    }

    /// Reads all lists.
    ///
    /// # Errors
    /// If one cannot be read, or is damaged.
    pub fn check(&self) -> Result<(), GramsError> {
        self.for_each(|_, _| {})
    }

    /// Calls `visit` with each pair of a key and a document.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u32, u32)) -> Result<(), GramsError> {
        for page in &self.pages {
            let bytes = self.page(page)?;
            self.lists(page, &bytes, |key, list| {
                self.decode(&list)?.iter().for_each(|doc| visit(key, doc));
                Ok(true)
            })?;
        }
        Ok(())
    }
}

fn read_docs(cursor: &mut Cursor<'_>, docs: u32) -> Option<Vec<DocId>> {
    let doc = |_| {
        Some(DocId {
            object: cursor.u64()?,
            version: cursor.u64()?,
        })
    };
    (0..docs).map(doc).collect()
}

fn read_pages(
    cursor: &mut Cursor<'_>,
    pages: u32,
    (mut offset, lists_bytes): (u64, u32),
) -> Result<Vec<PageAt>, GramsError> {
    let end = offset + u64::from(lists_bytes);
    let mut all: Vec<PageAt> = Vec::with_capacity(pages as usize);
    for _ in 0..pages {
        let page = PageAt {
            first: cursor.u32().ok_or(CUT)?,
            length: cursor.u32().ok_or(CUT)?,
            offset,
            hash: cursor.u64().ok_or(CUT)?,
        };
        let is_behind = all.last().is_none_or(|last| last.first < page.first);
        offset += u64::from(page.length);
        if !is_behind || page.length > PAGE_BYTES_MAX || offset > end {
            return Err(GramsError::Damaged("its pages are out of order"));
        }
        all.push(page);
    }
    Ok(all)
}

/// Returns the bytes with the checksums that a pack with them would have, for tests with crafted
/// bytes; `None` if they are too short.
pub fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = bytes.to_vec();
    let mut cursor = Cursor(bytes.get(12..20)?);
    let (docs, pages) = (cursor.u32()? as usize, cursor.u32()? as usize);
    let first = docs.checked_mul(16)?.checked_add(HEAD_BYTES)?;
    let lists = pages.checked_mul(PAGE_ENTRY_BYTES)?.checked_add(first)?;
    let mut at = lists;
    for page in 0..pages {
        let entry = first + page * PAGE_ENTRY_BYTES;
        let length = Cursor(bytes.get(entry + 4..entry + 8)?).u32()? as usize;
        let hash = xxh3_64(bytes.get(at..at.checked_add(length)?)?);
        out.get_mut(entry + 8..entry + 16)?
            .copy_from_slice(&hash.to_le_bytes());
        at += length;
    }
    let body = xxh3_64(out.get(HEAD_BYTES..lists)?);
    out.get_mut(24..32)?.copy_from_slice(&body.to_le_bytes());
    let head = xxh3_64(out.get(..32)?);
    out.get_mut(32..40)?.copy_from_slice(&head.to_le_bytes());
    Some(out)
}
