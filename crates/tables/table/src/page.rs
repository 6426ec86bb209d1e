//! Defines the page that all programs of a run share: a generation that each change advances, marks
//! of files that a program of the run has opened, and notes about started programs that have not
//! announced that they report their changes.
//!
//! It is a file of [`BYTES`] bytes, mapped shared and used as atomic 64-bit words in the machine's
//! byte order, since it does not leave the machine.

/// Length in bytes.
pub const BYTES: usize = (FIRST_STARTED_WORD + STARTED_WORDS) * 8;
/// Number of words.
pub const WORDS: usize = BYTES / 8;
/// Always [`MAGIC`].
pub const MAGIC_WORD: usize = 0;
/// Generation; advanced before and after each change.
pub const GENERATION_WORD: usize = 1;
/// Time of the last change, by the monotonic clock, in nanoseconds.
pub const CHANGED_WORD: usize = 2;
/// Bit set of the words from [`FIRST_STARTED_WORD`] on that hold a note. While there is a note
/// about a program other than the reader, no table is believed.
pub const STARTED_WORD: usize = 3;
/// Not 0 once programs were started whose end nobody can determine: no table is believed any more.
pub const UNCOUNTED_WORD: usize = 4;
/// Not 0 once a process of the run entered another PID namespace: process ids no longer tell which
/// processes are alive.
pub const NAMESPACES_WORD: usize = 5;
/// Not 0 once a program of the run asked for a table of files: from then on programs also mark
/// what they open for reading.
pub const TABLES_WORD: usize = 6;
/// The first of the words whose bits are marks.
pub const FIRST_MARK_WORD: usize = 8;
/// The first of the words with notes about started programs ([`started`]); 0 means none.
pub const FIRST_STARTED_WORD: usize = FIRST_MARK_WORD + MARK_WORDS;
/// Number of these words.
pub const STARTED_WORDS: usize = 64;
/// The value of the first word.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"TRWLPAG2");

const MARK_WORDS: usize = 1 << 12;

/// In a note: the process is the one that starts the program, and its child is not known yet.
pub const IS_PARENT: u64 = 1 << 22;
/// In a note: it is being removed and stands for no program.
pub const IS_LEAVING: u64 = 1 << 23;
const PROCESS_BITS: u64 = IS_PARENT - 1;

/// Returns the note for a program that `process` becomes, or starts (with [`IS_PARENT`]). `file` is
/// a hash of the executed file, of which 40 bits are stored. Process ids have 22 bits.
pub fn started(process: u32, file: u64) -> u64 {
    (u64::from(process) & PROCESS_BITS) | (file << 24)
}

/// Returns the process of a note.
pub fn process(started: u64) -> u32 {
    (started & PROCESS_BITS) as u32
}

/// Returns the word and the bit of a file's mark. Other files may share it: that costs them an
/// answer and is never wrong.
pub fn mark(dev: u64, ino: u64) -> (usize, u64) {
    // Fibonacci hashing spreads neighbouring inode numbers.
    let hash = (ino ^ dev.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bit = (hash >> 46) as usize & (MARK_WORDS * 64 - 1);
    (FIRST_MARK_WORD + bit / 64, 1 << (bit % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_started_program_is_told_from_others() {
        let of = |process, file| started(process, file);
        assert_ne!(of(1, 2), of(2, 2));
        assert_ne!(of(1, 2), of(1, 3));
        for word in [of((1 << 22) - 1, u64::MAX), of(7, 0) | IS_PARENT] {
            assert_eq!(word & IS_LEAVING, 0);
        }
        assert_eq!(process(of(4_194_303, u64::MAX) | IS_PARENT), 4_194_303);
        assert_eq!(FIRST_STARTED_WORD + STARTED_WORDS, WORDS);
    }

    #[test]
    fn marks_lie_in_the_page() {
        for ino in (0..100_000).chain([u64::MAX]) {
            let (word, bit) = mark(ino % 7, ino);
            assert!((FIRST_MARK_WORD..FIRST_STARTED_WORD).contains(&word) && bit.count_ones() == 1);
        }
    }
}
