//! An index from trigrams (three consecutive bytes) to the blocks that contain
//! them.
//!
//! Every byte belongs to one of 64 classes: one for each letter regardless of
//! case, one for each digit and frequent punctuation character, and a few for
//! groups of rare bytes. A key consists of the classes of three consecutive
//! bytes. For each key a list of the blocks that contain it is stored, as gaps
//! in Golomb-Rice code; if more than half of the blocks contain the key, the
//! list is of the others. Several trigrams may share a key, so a lookup tells
//! where a text can be, not where it is.

use xxhash_rust::xxh3::xxh3_64;

use crate::bits::BitWriter;
use crate::fold;
use crate::lists::{List, Set, push_list};
use crate::varint;

/// Bits in a class.
const CLASS_BITS: u32 = 6;
/// The number of keys.
pub(crate) const KEYS: u32 = 1 << (3 * CLASS_BITS);
/// Approximate bytes of a page of lists, which is the unit of a lookup.
const PAGE_BYTES: usize = 4096;
/// Maximum number of keys looked up for one text.
const LOOKUPS_MOST: usize = 8;

/// The class of the zero bytes between names and of slashes.
const SEPARATORS: u8 = 0;
const PUNCTUATION: &[u8; 15] = b"._- ~+,=@#%:()&";

const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 1;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'/' => SEPARATORS,
            letter @ b'a'..=b'z' => 1 + letter - b'a',
            letter @ b'A'..=b'Z' => 1 + letter - b'A',
            digit @ b'0'..=b'9' => 27 + digit - b'0',
            // Bytes of non-ASCII characters.
            follower @ 0x80..0xc0 => 54 + (follower & 7),
            leader @ 0xc0.. => 62 + (leader >> 5 & 1),
            control @ 0..0x20 => 52 + (control & 1),
            other => 52 + (other & 1),
        };
        byte += 1;
    }
    let mut at = 0;
    while at < PUNCTUATION.len() {
        table[PUNCTUATION[at] as usize] = 37 + at as u8;
        at += 1;
    }
    table
}

/// Returns the keys of a text.
fn keys(text: &[u8]) -> impl Iterator<Item = u32> {
    let mut key = 0;
    let keys = text.iter().map(move |byte| {
        key = (key << CLASS_BITS | u32::from(CLASSES[usize::from(*byte)])) & (KEYS - 1);
        key
    });
    keys.skip(2)
}

/// The description of a page of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) first_key: u32,
    pub(crate) len: u32,
    pub(crate) hash: u64,
}

/// Collects the keys of blocks.
pub(crate) struct ListWriter {
    seen: Vec<u64>,
    /// Keys of all blocks in sequence, and the end of each block's keys.
    keys: Vec<u32>,
    ends: Vec<usize>,
    folded: Vec<u8>,
}

impl ListWriter {
    pub(crate) fn new() -> ListWriter {
        ListWriter {
            seen: vec![0; KEYS as usize / 64],
            keys: Vec::new(),
            ends: Vec::new(),
            folded: Vec::new(),
        }
    }

    /// Adds a text, with its separators, to the current block.
    pub(crate) fn add(&mut self, text: &[u8]) {
        self.add_keys(text);
        if fold::has_special(text) {
            let mut folded = std::mem::take(&mut self.folded);
            fold::fold_into(text, &mut folded);
            self.add_keys(&folded);
            self.folded = folded;
        }
    }

    fn add_keys(&mut self, text: &[u8]) {
        for key in keys(text) {
            let (word, bit) = (&mut self.seen[key as usize / 64], 1 << (key % 64));
            if *word & bit == 0 {
                *word |= bit;
                self.keys.push(key);
            }
        }
    }

    /// Ends the current block.
    pub(crate) fn end_block(&mut self) {
        let start = self.ends.last().copied().unwrap_or(0);
        for key in &self.keys[start..] {
            self.seen[*key as usize / 64] = 0;
        }
        self.ends.push(self.keys.len());
    }

    /// Writes the lists and appends the pages to `out`.
    pub(crate) fn finish(self, out: &mut Vec<u8>) -> Vec<Page> {
        let mut pages = Pages {
            out,
            done: Vec::new(),
            page: Vec::new(),
            first: 0,
            last: 0,
            of: self.ends.len() as u32,
            bits: BitWriter::default(),
        };
        match self.keys.len() < KEYS as usize / 8 {
            true => self.push_sorted(&mut pages),
            false => self.push_counted(&mut pages),
        }
        pages.end_page();
        pages.done
    }

    /// Writes the lists by sorting all pairs of key and block; fast for few
    /// keys.
    fn push_sorted(&self, pages: &mut Pages<'_>) {
        let mut pairs = Vec::with_capacity(self.keys.len());
        let mut begin = 0;
        for (block, end) in self.ends.iter().enumerate() {
            pairs.extend(
                self.keys[begin..*end]
                    .iter()
                    .map(|key| (*key, block as u32)),
            );
            begin = *end;
        }
        pairs.sort_unstable();
        let mut list = Vec::new();
        for same in pairs.chunk_by(|a, b| a.0 == b.0) {
            list.clear();
            list.extend(same.iter().map(|(_, block)| *block));
            pages.push_list(same[0].0, &list);
        }
    }

    /// Writes the lists by a counting sort; fast for many keys.
    fn push_counted(&self, pages: &mut Pages<'_>) {
        let (starts, blocks) = self.by_key();
        for (key, ends) in starts.windows(2).enumerate() {
            let list = &blocks[ends[0] as usize..ends[1] as usize];
            if !list.is_empty() {
                pages.push_list(key as u32, list);
            }
        }
    }

    /// Sorts blocks by key. Returns the start of each key's blocks, and all
    /// blocks.
    fn by_key(&self) -> (Vec<u32>, Vec<u32>) {
        let mut starts = vec![0u32; KEYS as usize + 1];
        for key in &self.keys {
            starts[*key as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut blocks = vec![0u32; self.keys.len()];
        let mut begin = 0;
        for (block, end) in self.ends.iter().enumerate() {
            for key in &self.keys[begin..*end] {
                let at = &mut next[*key as usize];
                blocks[*at as usize] = block as u32;
                *at += 1;
            }
            begin = *end;
        }
        (starts, blocks)
    }
}

/// Writes lists into pages.
struct Pages<'o> {
    out: &'o mut Vec<u8>,
    done: Vec<Page>,
    page: Vec<u8>,
    first: u32,
    last: u32,
    /// The number of blocks.
    of: u32,
    bits: BitWriter,
}

impl Pages<'_> {
    fn push_list(&mut self, key: u32, list: &[u32]) {
        self.begin_list(key);
        push_list(list, self.of, &mut self.bits, &mut self.page);
    }

    fn begin_list(&mut self, key: u32) {
        if self.page.len() >= PAGE_BYTES {
            self.end_page();
        }
        if self.page.is_empty() {
            (self.first, self.last) = (key, key);
        }
        varint::push(&mut self.page, key - self.last);
        self.last = key;
    }

    fn end_page(&mut self) {
        if self.page.is_empty() {
            return;
        }
        self.done.push(Page {
            first_key: self.first,
            len: self.page.len() as u32,
            hash: xxh3_64(&self.page),
        });
        self.out.append(&mut self.page);
    }
}

/// Finds a key's blocks in its page; `None` if the page is invalid.
pub(crate) fn find_list(page: &[u8], first_key: u32, key: u32, of: u32) -> Option<Set> {
    let mut rest = page;
    let mut at = first_key;
    while !rest.is_empty() {
        at = at.checked_add(varint::take(&mut rest)?)?;
        let list = List::take(&mut rest)?;
        if at == key {
            return list.read(of);
        }
        if at > key {
            break;
        }
    }
    Some(Set::none(of))
}

/// Returns the keys to look up for a text with separators that must be
/// contained: at most a few, spread over the text, ascending. If case is
/// ignored, trigrams with non-ASCII bytes are left out, because such characters
/// have other bytes in the other case.
pub(crate) fn lookup_keys(text: &[u8], ascii_only: AsciiOnly) -> Vec<u32> {
    let triples = text.windows(3);
    let usable = triples.filter(|triple| ascii_only == AsciiOnly::No || triple.is_ascii());
    let mut all: Vec<u32> = usable.filter_map(|triple| keys(triple).next()).collect();
    if all.len() > LOOKUPS_MOST {
        let last = all.len() - 1;
        all = (0..LOOKUPS_MOST)
            .map(|at| all[at * last / (LOOKUPS_MOST - 1)])
            .collect();
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether to look up only trigrams of ASCII bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsciiOnly {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lookup(bytes: &[u8], pages: &[Page], key: u32, of: u32) -> Set {
        let mut start = 0;
        let mut found = Set::none(of);
        for (at, page) in pages.iter().enumerate() {
            let end = start + page.len as usize;
            let is_last = pages.get(at + 1).is_none_or(|next| next.first_key > key);
            if page.first_key <= key && is_last {
                found = find_list(&bytes[start..end], page.first_key, key, of).unwrap();
            }
            start = end;
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn lists_tell_what_blocks_hold(
            blocks in proptest::collection::vec(proptest::collection::vec("[a-dA-D./é]{0,9}", 0..9), 1..90)
        ) {
            let mut writer = ListWriter::new();
            for block in &blocks {
                block.iter().for_each(|text| writer.add(text.as_bytes()));
                writer.end_block();
            }
            let mut bytes = Vec::new();
            let pages = writer.finish(&mut bytes);
            let of = blocks.len() as u32;
            let all: std::collections::BTreeSet<u32> =
                blocks.iter().flatten().flat_map(|text| keys(text.as_bytes())).chain([0, 77, KEYS - 1]).collect();
            for key in all {
                let holds = |block: &Vec<String>| block.iter().any(|t| keys(t.as_bytes()).any(|k| k == key));
                let expected: Vec<u32> = (0..of).filter(|at| holds(&blocks[*at as usize])).collect();
                let found: Vec<u32> = lookup(&bytes, &pages, key, of).iter().collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn hostile_pages_never_panic(bytes: Vec<u8>, key in 0..KEYS, of in 0u32..300) {
            let _ = find_list(&bytes, 0, key, of);
        }
    }
}
