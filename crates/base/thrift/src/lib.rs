//! Reads the part of Thrift's compact protocol that Parquet metadata uses.
//!
//! - [`Compact`]: a position in the bytes of a structure.
//! - [`Kind`]: the type of a field or of a list element.
//! - [`varint`], [`zigzag`]: how the protocol encodes numbers.
//!
//! Invariants: bytes may be hostile. Every method returns `None` if the bytes
//! end early or are invalid, and nothing is allocated, so declared lengths cost
//! nothing.
//!
//! Does not know which structures there are. Source: Apache Thrift,
//! `thrift-compact-protocol.md`.

#![forbid(unsafe_code)]

/// Maximum nesting depth; no Parquet structure is deeper.
const DEEPEST: usize = 16;

/// Type of a field or of a list element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A boolean field that is true; it has no bytes besides its type.
    True,
    /// A boolean field that is false; it has no bytes besides its type.
    False,
    /// One byte.
    Byte,
    /// An integer of 16 to 64 bits.
    Int,
    /// A floating-point number of 64 bits.
    Double,
    /// Bytes after their number; text, too.
    Binary,
    /// Values of one type; a set, too.
    List,
    /// Pairs of values.
    Map,
    /// A structure.
    Struct,
}

impl Kind {
    fn from_code(code: u8) -> Option<Kind> {
        Some(match code {
            1 => Kind::True,
            2 => Kind::False,
            3 => Kind::Byte,
            4..=6 => Kind::Int,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 | 10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Struct,
            _ => return None,
        })
    }
}

/// A position in compact-protocol bytes.
#[derive(Clone, Copy, Debug)]
pub struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Compact<'a> {
    /// Returns the position at the start of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Compact { bytes, at: 0 }
    }

    /// Number of bytes read.
    pub fn position(&self) -> usize {
        self.at
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let (value, len) = varint(self.bytes.get(self.at..)?)?;
        self.at += len;
        Some(value)
    }

    /// Reads an integer of any width.
    pub fn int(&mut self) -> Option<i64> {
        self.varint().map(zigzag)
    }

    /// Reads an integer that is a count or size, and so not negative.
    pub fn unsigned(&mut self) -> Option<u64> {
        u64::try_from(self.int()?).ok()
    }

    /// Reads bytes after their number.
    pub fn binary(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.varint()?).ok()?;
        let value = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(value)
    }

    /// Reads the element type and length of a list.
    pub fn list(&mut self) -> Option<(Kind, usize)> {
        let head = self.byte()?;
        let len = match head >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            short => usize::from(short),
        };
        Some((Kind::from_code(head & 15)?, len))
    }

    /// Reads a structure. Calls `field` with the id and type of each field; it
    /// must consume the value.
    pub fn structure(
        &mut self,
        mut field: impl FnMut(&mut Self, i16, Kind) -> Option<()>,
    ) -> Option<()> {
        let mut last = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            last = match head >> 4 {
                0 => i16::try_from(self.int()?).ok()?,
                delta => last.checked_add(i16::from(delta))?,
            };
            field(self, last, Kind::from_code(head & 15)?)?;
        }
    }

    /// Skips a value.
    pub fn skip(&mut self, kind: Kind) -> Option<()> {
        self.skip_within(kind, DEEPEST)
    }

    fn skip_within(&mut self, kind: Kind, depth: usize) -> Option<()> {
        let below = depth.checked_sub(1)?;
        match kind {
            Kind::True | Kind::False => Some(()),
            Kind::Byte => self.byte().map(drop),
            Kind::Int => self.varint().map(drop),
            Kind::Double => self.advance(8),
            Kind::Binary => self.binary().map(drop),
            Kind::List => {
                let (kind, len) = self.list()?;
                (0..len).try_for_each(|_| self.skip_element(kind, below))
            }
            Kind::Map => self.skip_map(below),
            Kind::Struct => self.structure(|this, _, kind| this.skip_within(kind, below)),
        }
    }

    fn skip_map(&mut self, depth: usize) -> Option<()> {
        let len = usize::try_from(self.varint()?).ok()?;
        if len == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        let (key, value) = (Kind::from_code(kinds >> 4)?, Kind::from_code(kinds & 15)?);
        (0..len).try_for_each(|_| {
            self.skip_element(key, depth)?;
            self.skip_element(value, depth)
        })
    }

    /// In lists and maps a boolean takes a byte of its own.
    fn skip_element(&mut self, kind: Kind, depth: usize) -> Option<()> {
        match kind {
            Kind::True | Kind::False => self.byte().map(drop),
            _ => self.skip_within(kind, depth),
        }
    }

    fn advance(&mut self, bytes: usize) -> Option<()> {
        self.at = self
            .at
            .checked_add(bytes)
            .filter(|at| *at <= self.bytes.len())?;
        Some(())
    }
}

/// Reads a LEB128 number; also returns its length in bytes.
#[inline]
pub fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// Decodes the zigzag encoding of signed numbers.
#[inline]
pub fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hostile_bytes_end_in_none(bytes: Vec<u8>) {
            for kind in [Kind::Struct, Kind::List, Kind::Map, Kind::Binary] {
                let mut at = Compact::new(&bytes);
                let _ = at.skip(kind);
                prop_assert!(at.position() <= bytes.len());
            }
        }
    }

    #[test]
    fn a_structure_gives_its_fields() {
        // 1: i32 = 3, 3: binary "ab", 20: list of two booleans, stop.
        let bytes = [0x15, 6, 0x28, 2, b'a', b'b', 0x09, 40, 0x21, 1, 2, 0];
        let mut seen = Vec::new();
        let mut at = Compact::new(&bytes);
        at.structure(|at, id, kind| {
            seen.push((id, kind));
            at.skip(kind)
        })
        .unwrap();
        assert_eq!(seen, [(1, Kind::Int), (3, Kind::Binary), (20, Kind::List)]);
        assert_eq!(at.position(), bytes.len());
    }
}
