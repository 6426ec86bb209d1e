//! Encodes the question for a table, and the header of the answer, which comes with a descriptor.
//!
//! A question: 4 bytes `TBQ1`, level and extent (1 each), length of the path (2), maximum number of
//! entries (4), number of bytes of the path that are the directory to begin at (2), 0 (2), the
//! path. An answer: 4 bytes `TBA1`, an errno (4; 0 if there is a table), the table's length (8).
//! The table is a sealed memfd that comes with the answer (`SCM_RIGHTS`).
//!
//! A program that starts with many arguments sends [`STARTED`] instead of a question, and gets no
//! answer.

use crate::layout::{Level, PATH_BYTES_MAX};

const QUESTION: [u8; 4] = *b"TBQ1";
const ANSWER: [u8; 4] = *b"TBA1";

/// Bytes before a question's path.
pub const QUESTION_HEAD_BYTES: usize = 16;
/// Notice in the place of a question's head: the program at the other end has just started.
pub const STARTED: [u8; QUESTION_HEAD_BYTES] = *b"TBS1\0\0\0\0\0\0\0\0\0\0\0\0";
/// Maximum length of a question in bytes.
pub const QUESTION_BYTES_MAX: usize = QUESTION_HEAD_BYTES + PATH_BYTES_MAX;
/// Length of an answer in bytes.
pub const ANSWER_BYTES: usize = 16;

/// How deep a table goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Extent {
    /// The directory's own entries.
    Alone = 0,
    /// Everything below it, up to the maximum number of entries.
    Below = 1,
    /// The names in each of several directories, whose paths are separated by colons: a search
    /// path. The table is about `/`.
    Each = 2,
}

/// A question for a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Question<'a> {
    /// The directory that the table is about: an absolute path without `.`, `..` or double slashes;
    /// or several, see [`Extent::Each`].
    pub path: &'a [u8],
    /// A path below it, empty or `/` followed by names. Directories before that one, depth first,
    /// are left out, since the program has passed them.
    pub from: &'a [u8],
    /// How much to ask about each name.
    pub level: Level,
    /// How deep to go.
    pub extent: Extent,
    /// Directories that would exceed this number of entries are not listed.
    pub entries_max: u32,
}

impl<'a> Question<'a> {
    /// Encodes it; `None` if the path is too long.
    pub fn encode<'b>(&self, out: &'b mut [u8; QUESTION_BYTES_MAX]) -> Option<&'b [u8]> {
        let middle = QUESTION_HEAD_BYTES.checked_add(self.path.len())?;
        let length = self.path.len().checked_add(self.from.len())?;
        let end = QUESTION_HEAD_BYTES.checked_add(length)?;
        out.get_mut(QUESTION_HEAD_BYTES..middle)?
            .copy_from_slice(self.path);
        out.get_mut(middle..end)?.copy_from_slice(self.from);
        out[..4].copy_from_slice(&QUESTION);
        out[4] = self.level as u8;
        out[5] = self.extent as u8;
        out[6..8].copy_from_slice(&u16::try_from(length).ok()?.to_le_bytes());
        out[8..12].copy_from_slice(&self.entries_max.to_le_bytes());
        out[12..14].copy_from_slice(&u16::try_from(self.path.len()).ok()?.to_le_bytes());
        out[14..16].copy_from_slice(&[0; 2]);
        out.get(..end)
    }

    /// Returns the length of the question with this head; `None` if it is not a question.
    pub fn length(head: &[u8; QUESTION_HEAD_BYTES]) -> Option<usize> {
        let length = usize::from(u16::from_le_bytes([head[6], head[7]]));
        let is_one = head.starts_with(&QUESTION) && length <= PATH_BYTES_MAX;
        is_one.then_some(QUESTION_HEAD_BYTES + length)
    }

    /// Decodes it; `None` if it is malformed.
    pub fn decode(bytes: &'a [u8]) -> Option<Question<'a>> {
        let head: &[u8; QUESTION_HEAD_BYTES] = bytes.first_chunk()?;
        if Question::length(head)? != bytes.len() {
            return None;
        }
        let extent = match head[5] {
            0 => Extent::Alone,
            1 => Extent::Below,
            2 => Extent::Each,
            _ => return None,
        };
        let top = usize::from(u16::from_le_bytes([head[12], head[13]]));
        let (path, from) = bytes.get(QUESTION_HEAD_BYTES..)?.split_at_checked(top)?;
        if head[14..] != [0; 2] {
            return None;
        }
        Some(Question {
            path,
            from,
            level: Level::from_number(head[4])?,
            extent,
            entries_max: u32::from_le_bytes([head[8], head[9], head[10], head[11]]),
        })
    }
}

/// The header of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A table of this many bytes comes with it.
    Table(u64),
    /// There is no table; an errno.
    None(u32),
}

impl Answer {
    /// Encodes it.
    pub fn encode(self) -> [u8; ANSWER_BYTES] {
        let (errno, length) = match self {
            Answer::Table(length) => (0, length),
            Answer::None(errno) => (errno.max(1), 0),
        };
        let mut out = [0; ANSWER_BYTES];
        out[..4].copy_from_slice(&ANSWER);
        out[4..8].copy_from_slice(&errno.to_le_bytes());
        out[8..].copy_from_slice(&length.to_le_bytes());
        out
    }

    /// Decodes it; `None` if it is malformed.
    pub fn decode(bytes: &[u8; ANSWER_BYTES]) -> Option<Answer> {
        let mut length = [0; 8];
        length.copy_from_slice(&bytes[8..]);
        let length = u64::from_le_bytes(length);
        let errno = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        match (bytes.starts_with(&ANSWER), errno, length) {
            (true, 0, length) => Some(Answer::Table(length)),
            (true, errno, 0) => Some(Answer::None(errno)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn questions_are_read_as_written(path in proptest::collection::vec(any::<u8>(), 0..50), entries_max: u32, level in 0u8..3) {
            let level = Level::from_number(level).unwrap();
            let (path, from) = path.split_at(path.len() / 2);
            let question = Question { path, from, level, extent: Extent::Below, entries_max };
            let mut space = [0; QUESTION_BYTES_MAX];
            let bytes = question.encode(&mut space).unwrap();
            prop_assert_eq!(Question::decode(bytes), Some(question));
            prop_assert_eq!(Question::decode(&bytes[..bytes.len() - 1]), None);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Question::decode(&bytes);
        }
    }

    #[test]
    fn answers_are_read_as_written() {
        for answer in [Answer::Table(9), Answer::None(13)] {
            assert_eq!(Answer::decode(&answer.encode()), Some(answer));
        }
        assert_eq!(Answer::decode(&[0; ANSWER_BYTES]), None);
    }
}
