//! Encodes columns of numbers: `DELTA_BINARY_PACKED` and dictionaries.

use super::bits::{pack, push_varint, push_zigzag, width_of};

const BLOCK: usize = 128;
const MINI: usize = 32;
const MINIS: usize = BLOCK / MINI;

/// A physical integer type of Parquet.
pub(super) trait Number: Copy + Eq + Ord {
    /// Returns the value that Parquet stores, sign-extended.
    fn stored(self) -> i64;
    /// Returns `self - before`, wrapping in the stored type, sign-extended.
    fn delta(self, before: Self) -> i64;
    /// Returns `delta - min` of this type as an unsigned number.
    fn excess(delta: i64, min: i64) -> u64;
    /// Appends the `PLAIN` bytes.
    fn push_plain(self, out: &mut Vec<u8>);
    /// Returns a key for hashing.
    fn key(self) -> u64;
}

impl Number for u32 {
    #[inline]
    fn stored(self) -> i64 {
        i64::from(self as i32)
    }

    #[inline]
    fn delta(self, before: u32) -> i64 {
        i64::from(self.wrapping_sub(before) as i32)
    }

    #[inline]
    fn excess(delta: i64, min: i64) -> u64 {
        u64::from(delta.wrapping_sub(min) as u32)
    }

    fn push_plain(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    #[inline]
    fn key(self) -> u64 {
        u64::from(self)
    }
}

impl Number for u64 {
    #[inline]
    fn stored(self) -> i64 {
        self as i64
    }

    #[inline]
    fn delta(self, before: u64) -> i64 {
        self.wrapping_sub(before) as i64
    }

    #[inline]
    fn excess(delta: i64, min: i64) -> u64 {
        delta.wrapping_sub(min) as u64
    }

    fn push_plain(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    #[inline]
    fn key(self) -> u64 {
        self
    }
}

/// Appends a page's values as `DELTA_BINARY_PACKED`.
pub(super) fn push_delta<T: Number>(out: &mut Vec<u8>, values: &[T]) {
    push_varint(out, BLOCK as u64);
    push_varint(out, MINIS as u64);
    push_varint(out, values.len() as u64);
    let Some((first, rest)) = values.split_first() else {
        push_zigzag(out, 0);
        return;
    };
    push_zigzag(out, first.stored());
    // Pairs each block with the values that precede its values.
    for (block, before) in rest.chunks(BLOCK).zip(values.chunks(BLOCK)) {
        push_block(out, block, before);
    }
}

fn push_block<T: Number>(out: &mut Vec<u8>, block: &[T], before: &[T]) {
    let mut deltas = [0i64; BLOCK];
    for ((to, value), before) in deltas.iter_mut().zip(block).zip(before) {
        *to = value.delta(*before);
    }
    let min = deltas[..block.len()].iter().copied().min().unwrap_or(0);
    push_zigzag(out, min);
    let mut excess = [0u64; BLOCK];
    for (to, delta) in excess.iter_mut().zip(&deltas[..block.len()]) {
        *to = T::excess(*delta, min);
    }
    let mut widths = [0u8; MINIS];
    for (width, mini) in widths.iter_mut().zip(excess.chunks(MINI)) {
        *width = width_of(mini.iter().fold(0, |all, v| all | v)) as u8;
    }
    out.extend_from_slice(&widths);
    for (width, mini) in widths.iter().zip(excess.chunks(MINI)) {
        pack(out, mini, u32::from(*width));
    }
}

/// The distinct values of a column chunk, and each row's index into them.
pub(super) struct Dictionary<T> {
    pub(super) values: Vec<T>,
    pub(super) indices: Vec<u32>,
}

/// Maximum number of distinct values for a dictionary.
const DISTINCT_LIMIT: usize = 1 << 15;

impl<T: Number> Dictionary<T> {
    /// Returns `None` if there are too many distinct values for a dictionary to save space.
    pub(super) fn of(values: &[T]) -> Option<Dictionary<T>> {
        let first = *values.first()?;
        if values.iter().all(|v| *v == first) {
            return Some(Dictionary {
                values: vec![first],
                indices: vec![0; values.len()],
            });
        }
        let mut table = Slots::new();
        let mut indices = Vec::with_capacity(values.len());
        let (mut last, mut last_index) = (first, table.index_of(first));
        for value in values {
            if *value != last {
                last = *value;
                last_index = table.index_of(last);
            }
            indices.push(last_index);
            if table.values.len() > DISTINCT_LIMIT {
                return None;
            }
        }
        (table.values.len() * 2 <= values.len().max(16)).then_some(Dictionary {
            values: table.values,
            indices,
        })
    }
}

/// Open-addressing hash table of values and their indexes.
struct Slots<T> {
    /// Index + 1; 0 means a free slot. The length is a power of two.
    slots: Vec<u32>,
    values: Vec<T>,
}

impl<T: Number> Slots<T> {
    fn new() -> Self {
        Slots {
            slots: vec![0; 256],
            values: Vec::new(),
        }
    }

    fn index_of(&mut self, value: T) -> u32 {
        let mut at = self.slot_of(value);
        loop {
            match self.slots[at] {
                0 => break,
                taken if self.values[taken as usize - 1] == value => return taken - 1,
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
        self.values.push(value);
        self.slots[at] = self.values.len() as u32;
        if self.values.len() * 2 > self.slots.len() {
            self.grow();
        }
        self.values.len() as u32 - 1
    }

    fn slot_of(&self, value: T) -> usize {
        let hash = value.key().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 4];
        for index in 0..self.values.len() {
            let mut at = self.slot_of(self.values[index]);
            while self.slots[at] != 0 {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = index as u32 + 1;
        }
    }
}
