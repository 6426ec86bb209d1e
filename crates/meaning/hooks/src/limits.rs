//! Upper bounds of what a hook may use and find.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Upper bounds for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// Text found, in bytes.
    pub text_bytes: usize,
    /// Number of attributes, and of the values of one list.
    pub attributes: usize,
    /// One value or one target of a relation, in bytes.
    pub value_bytes: usize,
    /// Number of relations.
    pub relations: usize,
    /// Bytes that a built-in hook reads of the file, and bytes that it decompresses.
    pub input_bytes: u64,
    /// Processor time for a file, in seconds.
    pub cpu_secs: u64,
    /// Time for a file, in milliseconds: the file's device and other processes count.
    pub wall_ms: u64,
    /// Address space of a process, in bytes.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            text_bytes: 4 << 20,
            attributes: 1024,
            value_bytes: 4096,
            relations: 4096,
            input_bytes: 64 << 20,
            cpu_secs: 10,
            wall_ms: 30_000,
            memory_bytes: 1 << 30,
        }
    }
}

/// Length of the longest JSON form of a byte, such as `\u0000`.
const ESCAPED_BYTES: usize = 6;
/// Room for keys and punctuation of one attribute or relation.
const KEYS_BYTES: usize = 512;
/// An answer of a worker is never longer.
const ANSWER_BYTES_MAX: usize = 256 << 20;

impl Limits {
    /// Returns the time for a file.
    #[must_use]
    pub fn wall(&self) -> Duration {
        Duration::from_millis(self.wall_ms)
    }

    /// Returns the length of the longest answer within these limits, in bytes.
    #[must_use]
    pub fn answer_bytes(&self) -> usize {
        let text = self.text_bytes.saturating_mul(ESCAPED_BYTES);
        let each = self.value_bytes.saturating_mul(ESCAPED_BYTES) + KEYS_BYTES;
        let count = self.attributes.saturating_add(self.relations);
        text.saturating_add(each.saturating_mul(count))
            .min(ANSWER_BYTES_MAX)
    }
}
