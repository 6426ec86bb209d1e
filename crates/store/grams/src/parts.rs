//! The parts of a text: some whole lines each. A match lies in one line, so a text can match only
//! if one part has all that is required. Large texts have most keys somewhere; their parts do not.

use crate::keys::Keys;

/// Size in bytes from which a part ends with its line.
const PART_BYTES: usize = 8 << 10;
/// Maximum number of parts of a text: larger texts have larger parts.
pub(crate) const PARTS_MAX: usize = 4096;
/// Number of keys of all parts together from which parts are made larger.
const KEYS_MAX: usize = 4 << 20;

/// Collects the distinct keys of each part of texts, one text after the other.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    keys: Keys,
    found: Vec<u32>,
    /// End of each part's keys.
    ends: Vec<usize>,
}

impl Parts {
    /// Divides a text, and collects the keys of its parts. There is at least one.
    pub fn of(&mut self, text: &[u8]) -> &Parts {
        let mut part_bytes = PART_BYTES.max(text.len().div_ceil(PARTS_MAX - 1));
        while !self.divide(text, part_bytes) {
            part_bytes = part_bytes.saturating_mul(2);
        }
        self
    }

    /// Returns the number of parts.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the keys of each part.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let ranges = starts.zip(&self.ends);
        ranges.map(|(start, end)| self.found.get(*start..*end).unwrap_or_default())
    }

    /// Divides a text into parts of about this size; returns false if they have too many keys.
    fn divide(&mut self, mut text: &[u8], part_bytes: usize) -> bool {
        self.found.clear();
        self.ends.clear();
        loop {
            let end = end_of(text, part_bytes);
            let (part, rest) = text.split_at(end);
            self.found.extend_from_slice(self.keys.of(part));
            self.ends.push(self.found.len());
            if rest.is_empty() {
                return true;
            }
            if self.found.len() > KEYS_MAX {
                return false;
            }
            text = rest;
        }
    }
}

/// Returns where the first part of a text ends: behind a line, or at the end.
fn end_of(text: &[u8], part_bytes: usize) -> usize {
    let rest = text.get(part_bytes..).unwrap_or_default();
    let newline = rest.iter().position(|byte| *byte == b'\n');
    newline.map_or(text.len(), |at| part_bytes + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &[u8]) -> Vec<u32> {
        let mut keys = Keys::default().of(text).to_vec();
        keys.sort_unstable();
        keys
    }

    fn check(text: &[u8]) -> usize {
        let mut parts = Parts::default();
        parts.of(b"keys of an earlier text");
        parts.of(text);
        let mut all: Vec<u32> = parts.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, keys(text));
        // Each line is whole in one part.
        for line in text.split(|byte| *byte == b'\n') {
            let line = keys(line);
            let has_all = |part: &[u32]| line.iter().all(|key| part.contains(key));
            assert!(parts.iter().any(has_all));
        }
        assert!(parts.count() <= PARTS_MAX);
        parts.count()
    }

    #[test]
    fn every_line_lies_in_one_part() {
        assert_eq!(check(b""), 1);
        assert_eq!(check(b"short\ntext"), 1);
        let long = "x".repeat(20_000);
        assert_eq!(check(long.as_bytes()), 1);
        let lines: String = (0..3000).map(|n| format!("line number {n}\n")).collect();
        assert!(check(lines.as_bytes()) > 4);
        let both = format!("{lines}{long}\n{lines}");
        assert!(check(both.as_bytes()) > 8);
    }

    #[test]
    fn parts_stay_few() {
        let mut random = 1u64;
        let mut text = Vec::new();
        for at in 0..6_000_000u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005) + 1;
            let byte = b'!' + (random >> 40) as u8 % 90;
            text.push(if at % 100 == 99 { b'\n' } else { byte });
        }
        let mut parts = Parts::default();
        parts.of(&text);
        assert!(parts.iter().map(<[u32]>::len).sum::<usize>() <= KEYS_MAX + (1 << 18));
    }
}
