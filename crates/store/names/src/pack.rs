//! Compresses names with a table of symbols, greedily: each step emits the
//! longest symbol that matches.

use crate::symbols::{CodeWriter, Symbols};

/// Number of leading bytes that longer symbols are indexed by.
const PREFIX_BYTES: usize = 4;
/// Marks an empty slot.
const NO_CODE: u16 = u16::MAX;

/// A symbol of four bytes or more.
struct Long {
    /// Its text as a number, first byte lowest.
    text: u128,
    len: u8,
    code: u16,
}

/// The symbols, indexed by their first bytes.
pub(crate) struct Encoder {
    /// Codes of symbols of two bytes.
    pairs: Vec<u16>,
    /// Codes of symbols of three bytes.
    threes: OpenAddressing,
    /// For each four-byte prefix, the position in `longs` of its first symbol.
    prefixes: OpenAddressing,
    /// Symbols of four or more bytes, grouped by prefix, longest first in each
    /// group.
    longs: Vec<Long>,
}

/// A hash map with open addressing that is never full.
struct OpenAddressing {
    slots: Vec<(u32, u16)>,
    shift: u32,
}

impl OpenAddressing {
    fn new(count: usize) -> OpenAddressing {
        let bits = (count * 2 + 2).next_power_of_two().ilog2();
        OpenAddressing {
            slots: vec![(0, NO_CODE); 1 << bits],
            shift: u32::BITS - bits,
        }
    }

    /// Returns the slot of a key, or the free slot where it would go.
    #[inline]
    fn place(&self, key: u32) -> usize {
        let last = self.slots.len() - 1;
        let mut place = (key.wrapping_mul(0x9e37_79b1) >> self.shift) as usize & last;
        while self.slots[place].1 != NO_CODE && self.slots[place].0 != key {
            place = (place + 1) & last;
        }
        place
    }

    fn insert(&mut self, key: u32, value: u16) {
        let place = self.place(key);
        self.slots[place] = (key, value);
    }

    #[inline]
    fn get(&self, key: u32) -> Option<u16> {
        let (_, value) = self.slots[self.place(key)];
        (value != NO_CODE).then_some(value)
    }
}

/// Returns the first 16 bytes of a text as a number, first byte lowest, padded
/// with zeros.
#[inline]
fn word(text: &[u8]) -> u128 {
    match text.first_chunk() {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => {
            let mut bytes = [0; 16];
            bytes[..text.len()].copy_from_slice(text);
            u128::from_le_bytes(bytes)
        }
    }
}

impl Encoder {
    pub(crate) fn new(symbols: &Symbols) -> Encoder {
        let of_len = |len| symbols.texts().filter(move |text| text.len() == len);
        let mut encoder = Encoder {
            pairs: vec![NO_CODE; 1 << 16],
            threes: OpenAddressing::new(of_len(3).count()),
            prefixes: OpenAddressing::new(0),
            longs: Vec::new(),
        };
        for (code, text) in symbols.texts().enumerate() {
            let (text, len, code) = (word(text), text.len(), code as u16);
            match len {
                0 | 1 => {}
                2 => encoder.pairs[usize::from(text as u16)] = code,
                3 => encoder.threes.insert(text as u32, code),
                _ => encoder.longs.push(Long {
                    text,
                    len: len as u8,
                    code,
                }),
            }
        }
        encoder.index_longs();
        encoder
    }

    fn index_longs(&mut self) {
        let longest_first = |long: &Long| (long.text as u32, u8::MAX - long.len, long.code);
        self.longs.sort_unstable_by_key(longest_first);
        let same = |a: &Long, b: &Long| a.text as u32 == b.text as u32;
        self.prefixes = OpenAddressing::new(self.longs.chunk_by(same).count());
        let mut start = 0;
        for run in self.longs.chunk_by(same) {
            self.prefixes.insert(run[0].text as u32, start as u16);
            start += run.len();
        }
    }

    /// Returns the code and length of the longest symbol at the start of a
    /// text.
    #[inline]
    fn longest(&self, text: &[u8]) -> (u16, usize) {
        let word = word(text);
        let prefix = word as u32;
        if let Some(start) = self.prefixes.get(prefix) {
            for long in self.longs.get(usize::from(start)..).unwrap_or_default() {
                let same = ((word ^ long.text).trailing_zeros() / 8) as usize;
                if same < PREFIX_BYTES {
                    break;
                }
                let len = usize::from(long.len);
                if same >= len && len <= text.len() {
                    return (long.code, len);
                }
            }
        }
        if let Some(code) = self.threes.get(prefix & 0x00ff_ffff)
            && text.len() >= 3
        {
            return (code, 3);
        }
        match self.pairs[usize::from(word as u16)] {
            code if code != NO_CODE && text.len() >= 2 => (code, 2),
            _ => (u16::from(word as u8), 1),
        }
    }

    /// Passes the codes of the text to `tell`. Each name ends with a zero byte.
    #[inline]
    pub(crate) fn codes(&self, text: &[u8], mut tell: impl FnMut(u16)) {
        let mut rest = text;
        while !rest.is_empty() {
            let (code, len) = self.longest(rest);
            tell(code);
            rest = rest.get(len..).unwrap_or_default();
        }
    }

    /// Appends the codes of the text to `out`. Each name ends with a zero byte.
    pub(crate) fn pack(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut writer = CodeWriter::default();
        self.codes(text, |code| writer.push(code, out));
        writer.finish(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_symbol_is_taken() {
        let texts = [&b"ab"[..], b"abcd", b"c\0", b"fifteen-bytes.c"];
        let symbols = Symbols::new(texts.into_iter()).unwrap();
        let encoder = Encoder::new(&symbols);
        let codes = |text: &[u8]| {
            let mut codes = Vec::new();
            encoder.codes(text, |code| codes.push(code));
            codes
        };
        assert_eq!(codes(b"abc\0"), [256, 258]);
        assert_eq!(codes(b"abcd\0"), [257, 0]);
        assert_eq!(codes(b"abcx"), [256, 99, 120]);
        assert_eq!(codes(b"fifteen-bytes.c"), [259]);
        assert_eq!(codes(b"fifteen-bytes.cc\0"), [259, 258]);
        assert_eq!(codes(b"fifteen-bytes.")[0], 102);
    }
}
