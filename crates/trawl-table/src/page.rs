//! The page that all programs of a run share: a generation that each change moves on, and marks of
//! files that somebody in the run has opened for writing.
//!
//! It is a file of [`BYTES`] bytes, mapped shared, used as atomic 64-bit words in the machine's own
//! byte order: it does not leave the machine.

/// How long it is.
pub const BYTES: usize = (FIRST_MARK_WORD + MARK_WORDS) * 8;
/// How many words it has.
pub const WORDS: usize = BYTES / 8;
/// Always [`MAGIC`].
pub const MAGIC_WORD: usize = 0;
/// Moved on before and after each change.
pub const GENERATION_WORD: usize = 1;
/// When it was last moved on, by the monotonic clock, nanoseconds.
pub const CHANGED_WORD: usize = 2;
/// The first of the words whose bits are marks.
pub const FIRST_MARK_WORD: usize = 8;
/// What the first word says.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"TRWLPAG1");

const MARK_WORDS: usize = 1 << 12;

/// The word and the bit that are a file's mark. Other files may share it: that costs them an
/// answer, and is never wrong.
pub fn mark(dev: u64, ino: u64) -> (usize, u64) {
    // Fibonacci hashing: neighbouring inode numbers lie apart.
    let hash = (ino ^ dev.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bit = (hash >> 46) as usize & (MARK_WORDS * 64 - 1);
    (FIRST_MARK_WORD + bit / 64, 1 << (bit % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_lie_in_the_page() {
        for ino in (0..100_000).chain([u64::MAX]) {
            let (word, bit) = mark(ino % 7, ino);
            assert!((FIRST_MARK_WORD..WORDS).contains(&word) && bit.count_ones() == 1);
        }
    }
}
