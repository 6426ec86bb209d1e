//! The parts of a content: some whole lines each. A match lies in one line, so a content can match
//! only if one part has all that is required. Large contents have most keys somewhere; their parts
//! do not.

use crate::keys::{Content, Keys};

/// Maximum number of parts of a content: larger ones have larger parts.
pub(crate) const PARTS_MAX: usize = 4096;
/// Number of keys of all parts together from which parts are made larger.
const KEYS_MAX: usize = 4 << 20;

/// Collects the distinct keys of each part of contents, one content after the other.
#[derive(Clone, Debug)]
pub struct Parts {
    content: Content,
    keys: Keys,
    found: Vec<u32>,
    /// End of each part's keys.
    ends: Vec<usize>,
}

impl Default for Parts {
    fn default() -> Parts {
        Parts {
            content: Content::Text,
            keys: Keys::default(),
            found: Vec::new(),
            ends: Vec::new(),
        }
    }
}

impl Parts {
    /// Divides a content, and collects the keys of its parts. There is at least one.
    pub fn of(&mut self, content: Content, bytes: &[u8]) -> &Parts {
        self.content = content;
        let mut part_bytes = part_bytes(content).max(bytes.len().div_ceil(PARTS_MAX - 1));
        while !self.divide(bytes, part_bytes) {
            part_bytes = part_bytes.saturating_mul(2);
        }
        self
    }

    /// Returns what was divided.
    pub fn content(&self) -> Content {
        self.content
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

    /// Divides bytes into parts of about this size; returns false if they have too many keys.
    fn divide(&mut self, mut bytes: &[u8], part_bytes: usize) -> bool {
        self.found.clear();
        self.ends.clear();
        loop {
            let end = end_of(self.content, bytes, part_bytes);
            let (part, rest) = bytes.split_at(end);
            self.found
                .extend_from_slice(self.keys.of(self.content, part));
            self.ends.push(self.found.len());
            if rest.is_empty() {
                return true;
            }
            if self.found.len() > KEYS_MAX {
                return false;
            }
            bytes = rest;
        }
    }
}

/// Returns the size in bytes from which a part ends with its line. Binary files have few keys for
/// their size.
fn part_bytes(content: Content) -> usize {
    match content {
        Content::Text => 8 << 10,
        Content::Binary => 32 << 10,
    }
}

/// Returns where the first part ends: behind a line, or at the end.
fn end_of(content: Content, bytes: &[u8], part_bytes: usize) -> usize {
    let rest = bytes.get(part_bytes..).unwrap_or_default();
    let line_end = rest.iter().position(|byte| content.is_line_end(*byte));
    line_end.map_or(bytes.len(), |at| part_bytes + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(content: Content, bytes: &[u8]) -> Vec<u32> {
        let mut keys = Keys::default().of(content, bytes).to_vec();
        keys.sort_unstable();
        keys
    }

    fn check(content: Content, text: &[u8]) -> usize {
        let mut parts = Parts::default();
        parts.of(Content::Text, b"keys of an earlier text");
        parts.of(content, text);
        assert_eq!(parts.content(), content);
        let mut all: Vec<u32> = parts.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, keys(content, text));
        // Each line is whole in one part.
        for line in text.split(|byte| content.is_line_end(*byte)) {
            let line = keys(content, line);
            let has_all = |part: &[u32]| line.iter().all(|key| part.contains(key));
            assert!(parts.iter().any(has_all));
        }
        assert!(parts.count() <= PARTS_MAX);
        parts.count()
    }

    #[test]
    fn every_line_lies_in_one_part() {
        assert_eq!(check(Content::Text, b""), 1);
        assert_eq!(check(Content::Text, b"short\ntext"), 1);
        let long = "x".repeat(20_000);
        assert_eq!(check(Content::Text, long.as_bytes()), 1);
        let lines: String = (0..3000).map(|n| format!("line number {n}\n")).collect();
        assert!(check(Content::Text, lines.as_bytes()) > 4);
        let both = format!("{lines}{long}\n{lines}");
        assert!(check(Content::Text, both.as_bytes()) > 8);
    }

    #[test]
    fn strings_of_a_binary_file_lie_in_one_part() {
        assert_eq!(check(Content::Binary, b"\0\xff"), 1);
        let strings: String = (0..9000).map(|n| format!("\0symbol_{n}")).collect();
        assert_eq!(check(Content::Text, strings.as_bytes()), 1);
        assert!(check(Content::Binary, strings.as_bytes()) > 2);
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
        parts.of(Content::Text, &text);
        assert!(parts.iter().map(<[u32]>::len).sum::<usize>() <= KEYS_MAX + (1 << 18));
    }
}
