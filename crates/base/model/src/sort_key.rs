//! Keys as bytes: comparing the bytes of two keys compares the values that they were made of, so that
//! rows of several machines can be merged without knowing what they are sorted by.
//!
//! Invariant: two keys that are compared have parts of the same kinds and directions in the same order.

/// The direction of a part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The least value comes first.
    Up,
    /// The greatest value comes first.
    Down,
}

/// A key, made of parts: the first one counts most.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortKey(Vec<u8>);

/// The byte that follows a zero within a text; less than it ends the text.
const IN_TEXT: u8 = 0xff;

impl SortKey {
    /// Returns the key with a number after its other parts. An unknown number is less than all known
    /// ones.
    #[must_use]
    pub fn number(mut self, number: Option<i128>, direction: Direction) -> SortKey {
        let start = self.0.len();
        self.0.push(number.is_some().into());
        if let Some(number) = number {
            // Flipping the sign puts negative numbers before positive ones.
            self.0.extend((number ^ i128::MIN).to_be_bytes());
        }
        self.turn(start, direction)
    }

    /// Returns the key with a text after its other parts; texts are compared by their bytes.
    #[must_use]
    pub fn text(self, text: &[u8], direction: Direction) -> SortKey {
        self.bytes(text.iter().copied(), direction)
    }

    /// Returns the key with a path after its other parts, in the order of [`crate::path::cmp`].
    #[must_use]
    pub fn path(self, path: &[u8]) -> SortKey {
        // No name holds a NUL.
        let bytes = path.iter().map(|byte| match byte {
            b'/' => 0,
            other => *other,
        });
        self.bytes(bytes, Direction::Up)
    }

    /// Returns the key that has these bytes.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> SortKey {
        SortKey(bytes)
    }

    /// Returns the bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn bytes(mut self, text: impl Iterator<Item = u8>, direction: Direction) -> SortKey {
        let start = self.0.len();
        for byte in text {
            self.0.push(byte);
            if byte == 0 {
                self.0.push(IN_TEXT);
            }
        }
        self.0.extend([0, 0]);
        self.turn(start, direction)
    }

    /// Turns the part that begins at `start` around if the greatest value comes first.
    fn turn(mut self, start: usize, direction: Direction) -> SortKey {
        if direction == Direction::Down {
            self.0[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    type Parts = (Option<i128>, Vec<u8>, Vec<u8>, Option<i128>);

    fn key(parts: &Parts, direction: Direction) -> SortKey {
        let (number, text, path, last) = parts;
        let key = SortKey::default().number(*number, direction);
        key.text(text, direction)
            .path(path)
            .number(*last, Direction::Down)
    }

    fn compare(a: &Parts, b: &Parts, direction: Direction) -> Ordering {
        let front = (a.0, &a.1).cmp(&(b.0, &b.1));
        let front = match direction {
            Direction::Up => front,
            Direction::Down => front.reverse(),
        };
        front
            .then_with(|| crate::path::cmp(&a.2, &b.2))
            .then(b.3.cmp(&a.3))
    }

    fn number() -> impl Strategy<Value = Option<i128>> {
        prop_oneof![
            Just(None),
            (-2i128..3).prop_map(Some),
            any::<i128>().prop_map(Some)
        ]
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(0), Just(1), Just(0xff), any::<u8>()], 0..4)
    }

    fn parts() -> impl Strategy<Value = Parts> {
        (number(), text(), "(/[-ab]{0,2}){0,3}", number())
            .prop_map(|(first, text, path, last)| (first, text, path.into_bytes(), last))
    }

    proptest! {
        #[test]
        fn keys_are_ordered_as_their_values(a in parts(), b in parts()) {
            for direction in [Direction::Up, Direction::Down] {
                let keys = key(&a, direction).into_bytes().cmp(&key(&b, direction).into_bytes());
                prop_assert_eq!(keys, compare(&a, &b, direction));
            }
        }
    }
}
