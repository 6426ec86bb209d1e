//! Bit strings, lowest bit of a byte first, and Golomb-Rice codes: the quotient
//! by a power of two in unary (ones and a terminating zero), then the remainder
//! in binary.

/// Appends bits to a buffer.
#[derive(Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    word: u64,
    used: u32,
}

impl BitWriter {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        (self.word, self.used) = (0, 0);
    }

    fn push(&mut self, value: u64, bits: u32) {
        self.word |= value << self.used;
        self.used += bits;
        while self.used >= 8 {
            self.bytes.push(self.word as u8);
            self.word >>= 8;
            self.used -= 8;
        }
    }

    pub(crate) fn push_rice(&mut self, value: u32, rice: u32) {
        let mut ones = value >> rice;
        while ones >= 32 {
            self.push(0xffff_ffff, 32);
            ones -= 32;
        }
        self.push((1 << ones) - 1, ones + 1);
        self.push(u64::from(value) & ((1 << rice) - 1), rice);
    }

    /// Returns all bytes; the last one is padded with zero bits.
    pub(crate) fn finish(&mut self) -> &[u8] {
        if self.used > 0 {
            self.bytes.push(self.word as u8);
            (self.word, self.used) = (0, 0);
        }
        &self.bytes
    }
}

/// Reads bits from a buffer.
#[derive(Debug)]
pub(crate) struct BitReader<'b> {
    /// Bytes that are not in `word` yet.
    rest: &'b [u8],
    word: u64,
    /// Number of bits in `word`.
    held: u32,
}

impl<'b> BitReader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> BitReader<'b> {
        BitReader {
            rest: bytes,
            word: 0,
            held: 0,
        }
    }

    /// Holds at least 57 bits, or all that are left.
    fn refill(&mut self) {
        while self.held <= 56
            && let Some((byte, rest)) = self.rest.split_first()
        {
            self.word |= u64::from(*byte) << self.held;
            self.held += 8;
            self.rest = rest;
        }
    }

    /// Removes bits that are held; fewer than 64.
    fn skip(&mut self, bits: u32) {
        self.word >>= bits;
        self.held -= bits;
    }

    /// Reads a number; `None` at the end of the bits or if it exceeds 32 bits. `rice` is at most 32.
    pub(crate) fn take_rice(&mut self, rice: u32) -> Option<u32> {
        let mut quotient = 0u64;
        loop {
            self.refill();
            let ones = self.word.trailing_ones().min(self.held);
            quotient += u64::from(ones);
            if ones < self.held {
                self.skip(ones);
                self.skip(1);
                break;
            }
            if self.rest.is_empty() {
                return None;
            }
            (self.word, self.held) = (0, 0);
        }
        self.refill();
        if self.held < rice {
            return None;
        }
        let low = self.word & ((1 << rice) - 1);
        self.skip(rice);
        u32::try_from(quotient.checked_mul(1 << rice)? | low).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values in proptest::collection::vec(0u32..400, 0..50), rice in 0u32..8) {
            let mut writer = BitWriter::default();
            values.iter().for_each(|value| writer.push_rice(*value, rice));
            let bytes = writer.finish().to_vec();
            let mut reader = BitReader::new(&bytes);
            for value in values {
                prop_assert_eq!(reader.take_rice(rice), Some(value));
            }
        }
    }
}
