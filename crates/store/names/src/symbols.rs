//! The table of symbols that compresses names: 12-bit codes for texts of up to
//! 15 bytes. The first 256 codes are the single bytes.
//!
//! A zero byte ends a name and is only ever the last byte of a symbol. So a
//! code either ends a row or lies within one, and the codes alone tell where
//! names end. Two codes take three bytes, the first code in the low bits; an
//! odd code at the end takes two bytes.

/// Bits of a code.
const CODE_BITS: u32 = 12;
/// The number of codes.
pub(crate) const CODES: usize = 1 << CODE_BITS;
/// Number of codes for single bytes, which come first.
pub(crate) const BYTE_CODES: usize = 256;
/// Maximum bytes of a symbol.
pub(crate) const SYMBOL_BYTES_MOST: usize = 15;
/// Spare bytes after a text that decompression may overwrite.
pub(crate) const SPARE_BYTES: usize = FOUR_BYTES;

/// Bytes in four slots.
const FOUR_BYTES: usize = 4 * (SYMBOL_BYTES_MOST + 1);
/// Flag in a slot's last byte: the symbol ends a row.
const ENDS: u8 = 16;
/// Capacity for the row ends of a block: a power of two, and more than a block
/// has rows.
pub(crate) const ENDS_MOST: usize = 2 * crate::layout::BLOCK_ROWS;

/// The offsets after the zero bytes that end the rows of a block.
pub(crate) type Ends = [u32; ENDS_MOST];

/// A symbol's text, padded with zeros; the last byte holds its length and the
/// [`ENDS`] flag.
type Slot = [u8; SYMBOL_BYTES_MOST + 1];

/// A table of symbols. An unused code stands for the empty text.
#[derive(Debug)]
pub(crate) struct Symbols {
    slots: Vec<Slot>,
    used: usize,
}

fn slot(text: &[u8]) -> Option<Slot> {
    let mut bytes = Slot::default();
    bytes.get_mut(..text.len())?.copy_from_slice(text);
    wide(u128::from_le_bytes(bytes), text.len() as u8)
}

/// Returns the slot for the text in the lowest `len` bytes of `bytes`, first
/// byte lowest. `None` if the text is empty or too long, or has a zero byte
/// before its end.
#[inline]
fn wide(bytes: u128, len: u8) -> Option<Slot> {
    const LOW: u128 = u128::from_le_bytes([1; 16]);
    const HIGH: u128 = LOW << 7;
    if !(1..=SYMBOL_BYTES_MOST as u8).contains(&len) {
        return None;
    }
    let before_last = 8 * (u32::from(len) - 1);
    let text = bytes & (u128::MAX >> (128 - 8 - before_last));
    // Set all bits from the last byte of the text on, so that only an earlier
    // zero byte shows.
    let filled = text | u128::MAX << before_last;
    let has_zero = filled.wrapping_sub(LOW) & !filled & HIGH != 0;
    let ends = if text >> before_last == 0 { ENDS } else { 0 };
    let told = u128::from(len | ends) << (8 * SYMBOL_BYTES_MOST);
    (!has_zero).then_some((text | told).to_le_bytes())
}

impl Symbols {
    /// Makes a table of the single bytes and these texts. `None` if there are
    /// too many, or one is empty or too long, or has a zero byte before its
    /// end.
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Option<Symbols> {
        let mut slots: Vec<Slot> = (0..=u8::MAX).filter_map(|byte| slot(&[byte])).collect();
        for text in texts {
            slots.push(slot(text)?);
        }
        let used = slots.len();
        slots.resize(used.max(CODES), Slot::default());
        (used <= CODES).then_some(Symbols { slots, used })
    }

    /// The texts of all codes in use, in code order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.used).map(|code| self.text(code as u16))
    }

    /// Returns the text of a code.
    #[inline]
    pub(crate) fn text(&self, code: u16) -> &[u8] {
        let slot = self.slots.get(usize::from(code));
        slot.map_or(&[], |slot| {
            &slot[..usize::from(slot[SYMBOL_BYTES_MOST] & 15)]
        })
    }

    /// For every code, whether it ends a row and whether it contains a
    /// non-ASCII byte.
    pub(crate) fn traits(&self) -> impl Iterator<Item = (bool, bool)> {
        const BEYOND_ASCII: u128 = u128::from_le_bytes([0x80; 16]) >> 8;
        self.slots.iter().map(|slot| {
            let ends = slot[SYMBOL_BYTES_MOST] & ENDS != 0;
            (ends, u128::from_le_bytes(*slot) & BEYOND_ASCII != 0)
        })
    }

    /// Serialises the table: the number and lengths of all symbols but the
    /// single bytes, then their texts.
    pub(crate) fn write(&self) -> Vec<u8> {
        let kept = || self.texts().skip(BYTE_CODES);
        let mut out = vec![];
        out.extend(((self.used - BYTE_CODES) as u16).to_le_bytes());
        out.extend(kept().map(|text| text.len() as u8));
        kept().for_each(|text| out.extend_from_slice(text));
        out
    }

    /// Parses the output of [`Symbols::write`]; `None` if it is invalid.
    pub(crate) fn read(bytes: &[u8]) -> Option<Symbols> {
        let (count, rest) = bytes.split_first_chunk()?;
        let (lens, texts) = rest.split_at_checked(usize::from(u16::from_le_bytes(*count)))?;
        let total: usize = lens.iter().map(|len| usize::from(*len)).sum();
        if total != texts.len() {
            return None;
        }
        if lens.len() > CODES - BYTE_CODES {
            return None;
        }
        let mut slots = vec![Slot::default(); CODES];
        for (slot, byte) in slots.iter_mut().zip(0..=u8::MAX) {
            *slot = wide(u128::from(byte), 1)?;
        }
        // Padding, so that a whole slot can be read at the start of each text.
        let mut padded = Vec::with_capacity(texts.len() + size_of::<Slot>());
        padded.extend_from_slice(texts);
        padded.extend(Slot::default());
        let mut rest = &padded[..];
        for (slot, len) in slots.iter_mut().skip(BYTE_CODES).zip(lens) {
            let text = u128::from_le_bytes(*rest.first_chunk()?);
            *slot = wide(text, *len)?;
            rest = rest.get(usize::from(*len)..)?;
        }
        let used = BYTE_CODES + lens.len();
        Some(Symbols { slots, used })
    }

    /// True if these codes can decompress to `len` bytes.
    pub(crate) fn can_be(&self, codes: &[u8], len: usize) -> bool {
        (1..=count(codes) * SYMBOL_BYTES_MOST).contains(&len)
    }

    /// Decompresses codes into `text` at offset `at`, and the end of each row
    /// into `ends`. `text` must have room for `len` bytes and [`SPARE_BYTES`]
    /// more. Returns the number of rows; `None` if the result is not `len`
    /// bytes long or does not end with a row.
    pub(crate) fn unpack_rows(
        &self,
        codes: &[u8],
        (at, len): (usize, usize),
        text: &mut [u8],
        ends: &mut Ends,
    ) -> Option<usize> {
        let end = at.checked_add(len)?;
        let mut writer = Writer {
            slots: self.slots.first_chunk::<CODES>()?,
            text: text.get_mut(..end.checked_add(SPARE_BYTES)?)?,
            at,
            ends,
            rows: 0,
        };
        let (fours, rest) = codes.as_chunks::<6>();
        let is_written = fours.iter().all(|four| writer.put_four(*four))
            && (0..count(rest)).all(|number| writer.put(code_at(rest, number)));
        let is_whole = is_written && writer.at == end && rest.len() % 3 != 1;
        let rows = writer.rows;
        let is_ended = rows > 0 && text.get(end.checked_sub(1)?) == Some(&0);
        (is_whole && is_ended).then_some(rows)
    }

    /// Decompresses a zero byte and the codes into the first `len` bytes of
    /// `text`, which may be longer. Returns false if the result does not have
    /// that length.
    pub(crate) fn unpack(&self, codes: &[u8], len: usize, text: &mut Vec<u8>) -> bool {
        let Some(slots) = self.slots.first_chunk::<CODES>() else {
            return false;
        };
        if len == 0 || len > count(codes) * SYMBOL_BYTES_MOST + 1 {
            return false;
        }
        if text.len() < len + SPARE_BYTES {
            text.resize(len + SPARE_BYTES, 0);
        }
        text[0] = 0;
        let mut at = 1;
        let (fours, rest) = codes.as_chunks::<6>();
        for four in fours {
            let window = text.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
            let Some(window) = window else {
                return false;
            };
            at += put_four(slots, *four, window, |_, _| ());
        }
        for number in 0..count(rest) {
            let last = self.text(code_at(rest, number));
            let Some(place) = text.get_mut(at..at + last.len()) else {
                return false;
            };
            place.copy_from_slice(last);
            at += last.len();
        }
        at == len && rest.len() % 3 != 1
    }
}

/// Writes symbols to a text and records where rows end.
struct Writer<'s, 'o> {
    slots: &'s [Slot; CODES],
    text: &'o mut [u8],
    at: usize,
    ends: &'o mut Ends,
    rows: usize,
}

impl Writer<'_, '_> {
    /// Writes four symbols; returns false if there is no room.
    #[inline(always)]
    fn put_four(&mut self, four: [u8; 6]) -> bool {
        let window = self.text.get_mut(self.at..);
        let Some(window) = window.and_then(<[u8]>::first_chunk_mut) else {
            return false;
        };
        let (at, ends, rows) = (self.at, &mut *self.ends, &mut self.rows);
        let len = put_four(self.slots, four, window, |len, tail| {
            ends[*rows % ENDS_MOST] = (at + len) as u32;
            *rows += usize::from(tail / ENDS);
        });
        self.at += len;
        true
    }

    /// Writes one symbol; returns false if there is no room.
    fn put(&mut self, code: u16) -> bool {
        let slot = &self.slots[usize::from(code) % CODES];
        let tail = slot[SYMBOL_BYTES_MOST];
        let text = &slot[..usize::from(tail & 15)];
        let place = self.text.get_mut(self.at..self.at + text.len());
        let Some(place) = place else {
            return false;
        };
        place.copy_from_slice(text);
        self.at += text.len();
        self.ends[self.rows % ENDS_MOST] = self.at as u32;
        self.rows += usize::from(tail / ENDS);
        true
    }
}

/// Writes four symbols, copying each whole slot: plain stores of a fixed size.
/// Calls `written` with each symbol's end and its slot's last byte. Returns the
/// total length.
#[inline(always)]
fn put_four(
    slots: &[Slot; CODES],
    four: [u8; 6],
    window: &mut [u8; FOUR_BYTES],
    mut written: impl FnMut(usize, u8),
) -> usize {
    let mut len = 0;
    for code in four_codes(four) {
        let slot = &slots[code % CODES];
        let tail = slot[SYMBOL_BYTES_MOST];
        // The first three symbols take at most 3 × 15 bytes.
        let place = &mut window[len.min(3 * SYMBOL_BYTES_MOST)..][..SYMBOL_BYTES_MOST + 1];
        place.copy_from_slice(slot);
        len += usize::from(tail & 15);
        written(len, tail);
    }
    len
}

/// Extracts four codes from six bytes.
#[inline(always)]
pub(crate) fn four_codes(four: [u8; 6]) -> [usize; 4] {
    let mut bytes = [0; 8];
    bytes[..6].copy_from_slice(&four);
    let bits = u64::from_le_bytes(bytes) as usize;
    // `map` would add a function call for every four codes.
    let code = |at: u32| bits >> (at * CODE_BITS) & (CODES - 1);
    [code(0), code(1), code(2), code(3)]
}

/// Returns the number of codes in these bytes.
pub(crate) fn count(codes: &[u8]) -> usize {
    codes.len() / 3 * 2 + codes.len() % 3 / 2
}

/// Returns a code by its index; 0 if it does not exist.
pub(crate) fn code_at(codes: &[u8], number: usize) -> u16 {
    let at = number / 2 * 3 + number % 2;
    let byte = |at: usize| u16::from(codes.get(at).copied().unwrap_or(0));
    let bits = byte(at) | byte(at + 1) << 8;
    match number % 2 {
        0 => bits % CODES as u16,
        _ => bits >> (16 - CODE_BITS),
    }
}

/// Appends codes to a buffer.
#[derive(Default)]
pub(crate) struct CodeWriter {
    waiting: Option<u16>,
}

impl CodeWriter {
    #[inline]
    pub(crate) fn push(&mut self, code: u16, out: &mut Vec<u8>) {
        match self.waiting.take() {
            None => self.waiting = Some(code),
            Some(first) => {
                let bits = u32::from(first) | u32::from(code) << CODE_BITS;
                out.extend_from_slice(&bits.to_le_bytes()[..3]);
            }
        }
    }

    /// Appends the pending code if their number is odd.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(code) = self.waiting.take() {
            out.extend_from_slice(&code.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Encoder;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_come_back(
            names in proptest::collection::vec("[a-c.é]{0,20}", 1..40),
            texts in proptest::collection::btree_set("[a-c.]{2,14}\0?", 0..60),
        ) {
            let symbols = Symbols::new(texts.iter().map(String::as_bytes)).unwrap();
            let symbols = Symbols::read(&symbols.write()).unwrap();
            let text: Vec<u8> = names.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
            let mut codes = Vec::new();
            Encoder::new(&symbols).pack(&text, &mut codes);
            let mut out = Vec::new();
            prop_assert!(symbols.unpack(&codes, text.len() + 1, &mut out));
            prop_assert_eq!(&out[1..=text.len()], &text[..]);
            prop_assert!(!symbols.unpack(&codes, text.len(), &mut out));
            prop_assert!(!symbols.unpack(&codes, text.len() + 2, &mut out));
            let mut ends = [0; ENDS_MOST];
            let mut rows = vec![b'x'; 3 + text.len() + SPARE_BYTES];
            let told = symbols.unpack_rows(&codes, (3, text.len()), &mut rows, &mut ends);
            prop_assert_eq!(told, Some(names.len()));
            prop_assert_eq!(&rows[..3], b"xxx");
            prop_assert_eq!(&rows[3..3 + text.len()], &text[..]);
            let mut start = 3;
            for (name, end) in names.iter().zip(ends) {
                prop_assert_eq!(&rows[start..end as usize - 1], name.as_bytes());
                start = end as usize;
            }
            prop_assert!(symbols.unpack_rows(&codes, (3, text.len() - 1), &mut rows, &mut ends).is_none());
            prop_assert!(symbols.unpack_rows(&codes, (2, text.len() + 1), &mut rows, &mut ends).is_none());
            let one_by_one: Vec<u8> = (0..count(&codes))
                .flat_map(|number| symbols.text(code_at(&codes, number)).to_vec())
                .collect();
            prop_assert_eq!(one_by_one, text);
        }

        #[test]
        fn hostile_codes_never_panic(codes: Vec<u8>, table: Vec<u8>, len in 0usize..2000) {
            let symbols = Symbols::read(&table).or_else(|| Symbols::new(std::iter::empty())).unwrap();
            let mut out = Vec::new();
            let _ = symbols.unpack(&codes, len, &mut out);
            let mut ends = [0; ENDS_MOST];
            let told = symbols.unpack_rows(&codes, (len / 2, len), &mut out, &mut ends);
            prop_assert!(told.is_none_or(|rows| rows <= len));
            let _ = code_at(&codes, len);
        }
    }

    #[test]
    fn symbols_that_make_no_sense_are_refused() {
        for text in [
            &b""[..],
            b"a\0b",
            b"\0\0",
            b"sixteen bytes ..",
            &[b'a'; 300],
        ] {
            assert!(Symbols::new([text].into_iter()).is_none(), "{text:?}");
            let table = [&[1, 0, text.len() as u8], text].concat();
            assert!(Symbols::read(&table).is_none(), "{text:?}");
        }
        for text in [&b"\0"[..], b"a\0", b"\xff\x01", b"fifteen bytes.\0"] {
            let table = [&[1, 0, text.len() as u8], text].concat();
            let symbols = Symbols::read(&table).unwrap();
            assert_eq!(symbols.text(BYTE_CODES as u16), text);
        }
        let many = CODES - BYTE_CODES + 1;
        assert!(Symbols::new(vec![&b"ab"[..]; many].into_iter()).is_none());
        let lens_and_texts = [vec![1; many], vec![b'x'; many]].concat();
        let table = [&(many as u16).to_le_bytes()[..], &lens_and_texts].concat();
        assert!(Symbols::read(&table).is_none());
        assert!(Symbols::read(b"\x01\0\x03ab").is_none());
    }
}
