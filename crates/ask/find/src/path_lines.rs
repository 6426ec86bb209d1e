//! Builds the paths of many rows, each followed by one byte, without escaping.
//!
//! All names of a directory have the same prefix. The prefix and short names
//! are copied in chunks of a fixed size, which may overwrite the bytes after
//! them before these are written. The buffer is as long as the longest text so
//! far. It is passed from one text to the next without being cleared.

use std::ops::Range;

use trawl_model::rows::ByteColumn;

/// Bytes copied at once.
const CHUNK_BYTES: usize = 32;

type Chunk = [u8; CHUNK_BYTES];

/// The text built so far, and the directory whose rows come next.
pub(crate) struct PathLines {
    /// The text, followed by arbitrary bytes.
    bytes: Vec<u8>,
    len: usize,
    end: u8,
    /// The path of the directory with a slash at its end, padded to whole
    /// chunks.
    beginning: Vec<Chunk>,
    beginning_len: usize,
}

impl PathLines {
    /// Creates an empty text. `memory` may hold arbitrary bytes; `end` follows
    /// each path.
    pub(crate) fn new(memory: Vec<u8>, end: u8) -> PathLines {
        PathLines {
            bytes: memory,
            len: 0,
            end,
            beginning: Vec::new(),
            beginning_len: 0,
        }
    }

    /// Switches to a directory, given by its path with a slash at its end.
    pub(crate) fn enter(&mut self, directory: &[u8]) {
        self.beginning.clear();
        let (whole, rest) = directory.as_chunks();
        self.beginning.extend_from_slice(whole);
        let mut last = Chunk::default();
        last[..rest.len()].copy_from_slice(rest);
        self.beginning.push(last);
        self.beginning_len = directory.len();
    }

    /// Appends the paths of rows of the directory, given by their names.
    pub(crate) fn push(&mut self, names: &ByteColumn, rows: Range<usize>) {
        let Some(offsets) = names.offsets.get(rows.start..=rows.end) else {
            return;
        };
        let ends = offsets.first().zip(offsets.last());
        let names_len = ends.map_or(0, |(first, last)| last.saturating_sub(*first) as usize);
        let most = names_len + rows.len() * (self.beginning_len + 1);
        let room = self.len + most + 2 * CHUNK_BYTES;
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let mut rest = &mut self.bytes[self.len..];
        let before = rest.len();
        for pair in offsets.windows(2) {
            let (start, end) = (pair[0] as usize, pair[1].saturating_sub(names.gap) as usize);
            let name = names.data.get(start..).unwrap_or_default();
            let name_len = end.saturating_sub(start).min(name.len());
            let chunks = rest.as_chunks_mut().0.iter_mut();
            chunks
                .zip(&self.beginning)
                .for_each(|(to, from)| *to = *from);
            let place = &mut rest[self.beginning_len..];
            put(place, name, name_len);
            place[name_len] = self.end;
            rest = &mut place[name_len + 1..];
        }
        self.len += before - rest.len();
    }

    /// Returns the text.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }
}

/// Copies the first `len` bytes of `text` to the beginning of `place`, which
/// has room for one more chunk.
#[inline]
fn put(place: &mut [u8], text: &[u8], len: usize) {
    let chunks = (place.first_chunk_mut::<CHUNK_BYTES>(), text.first_chunk());
    match chunks {
        (Some(to), Some(from)) if len <= CHUNK_BYTES => *to = *from,
        _ => place[..len].copy_from_slice(&text[..len]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn paths_are_as_if_joined_one_by_one(
            listings in proptest::collection::vec(
                ("[a/]{0,70}/", proptest::collection::vec("[b-d\n]{1,40}|e{200}", 0..9)), 0..5),
            memory in proptest::collection::vec(Just(b'x'), 0..300),
            skipped in 0usize..3, gap in 0u32..2, spare in 0usize..50,
        ) {
            let mut lines = PathLines::new(memory, b'\n');
            let mut wanted = Vec::new();
            for (directory, names) in &listings {
                let mut column = ByteColumn::default();
                for name in names {
                    column.push(&[name.as_bytes(), &b"\0"[..gap as usize]].concat());
                }
                column.gap = gap;
                column.data.resize(column.data.len() + spare, b'!');
                let first = skipped.min(names.len());
                for name in &names[first..] {
                    wanted.extend_from_slice([directory, name.as_str(), "\n"].concat().as_bytes());
                }
                lines.enter(directory.as_bytes());
                lines.push(&column, first..names.len());
            }
            prop_assert_eq!(lines.finish(), wanted);
        }
    }
}
