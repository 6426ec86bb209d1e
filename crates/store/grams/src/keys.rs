//! The n-grams of a content: classes of three consecutive bytes of a line.
//!
//! Each byte has one of 64 classes; small and capital ASCII letters have the same one, so a search
//! that ignores case needs the same keys as one that does not. No key spans the end of a line (a
//! newline or a zero byte, class 0), because no match does.
//!
//! Of a binary file, only the n-grams of plain bytes are kept: ASCII letters, digits and common
//! punctuation. Random bytes have nearly all n-grams, and few of them are searched for.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use xxhash_rust::xxh3::xxh3_64;

/// Bits of a class.
pub(crate) const CLASS_BITS: u32 = 6;
/// Number of possible keys.
pub(crate) const KEYS: u32 = 1 << (3 * CLASS_BITS);
/// Class of the bytes that end a line.
pub(crate) const END: u8 = 0;

/// Punctuation with a class of its own, from class 37 on.
const PUNCTUATION: &[u8; 20] = b" _.-/()*,;\"=><&:#{}\t";

/// Class of the last plain byte: the classes behind it are shared with bytes that no text has.
const PLAIN_MAX: u8 = 36 + PUNCTUATION.len() as u8;
/// Bytes of U+017F and U+212A, which equal s and k if case is ignored. Each has a class of its own in
/// binary files, so that words with these letters are not looked for in all of them.
const FOLDED: &[u8; 5] = b"\xc5\xbf\xe2\x84\xaa";

/// Class of each byte.
static CLASSES: [u8; 256] = classes();
/// Class of each byte of a binary file: bytes that are not plain end n-grams.
static BINARY_CLASSES: [u8; 256] = binary_classes();

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// Text. A line ends with a newline.
    Text,
    /// Anything else. A line ends with a newline or a zero byte, as where `grep` says that a binary
    /// file matches.
    Binary,
}

impl Content {
    fn classes(self) -> &'static [u8; 256] {
        match self {
            Content::Text => &CLASSES,
            Content::Binary => &BINARY_CLASSES,
        }
    }

    /// Returns the class of a byte.
    pub(crate) fn class(self, byte: u8) -> u8 {
        self.classes()[usize::from(byte)]
    }

    /// Returns whether a byte ends a line.
    pub(crate) fn is_line_end(self, byte: u8) -> bool {
        byte == b'\n' || self == Content::Binary && byte == 0
    }
}

const fn classes() -> [u8; 256] {
    let mut table = [0u8; 256];
    let mut byte = 0;
    while byte < 256 {
        let of = byte as u8;
        table[byte] = match of {
            b'\n' | 0 => END,
            b'a'..=b'z' => 1 + (of - b'a'),
            b'A'..=b'Z' => 1 + (of - b'A'),
            b'0'..=b'9' => 27 + (of - b'0'),
            0x80..=0xbf => 60 + (of & 1),
            0xc0..=0xff => 62 + (of & 1),
            _ => 57 + of % 3,
        };
        byte += 1;
    }
    let mut at = 0;
    while at < PUNCTUATION.len() {
        table[PUNCTUATION[at] as usize] = 37 + at as u8;
        at += 1;
    }
    table
}

const fn binary_classes() -> [u8; 256] {
    let mut table = CLASSES;
    let mut byte = 0;
    while byte < 256 {
        if table[byte] > PLAIN_MAX {
            table[byte] = END;
        }
        byte += 1;
    }
    let mut at = 0;
    while at < FOLDED.len() {
        table[FOLDED[at] as usize] = PLAIN_MAX + 1 + at as u8;
        at += 1;
    }
    table
}

/// Returns the key of three classes, none of which ends a line.
pub(crate) fn key([a, b, c]: [u8; 3]) -> Option<u32> {
    let is_inside = a != END && b != END && c != END;
    is_inside.then_some(u32::from(a) << 12 | u32::from(b) << 6 | u32::from(c))
}

/// Collects the distinct keys of contents, one after the other.
#[derive(Clone, Debug)]
pub struct Keys {
    seen: Vec<u64>,
    found: Vec<u32>,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys {
            seen: vec![0; KEYS as usize / 64],
            found: Vec::new(),
        }
    }
}

impl Keys {
    /// Returns the distinct keys of a content, or a part of it, in no order.
    pub fn of(&mut self, content: Content, bytes: &[u8]) -> &[u32] {
        for key in self.found.drain(..) {
            self.seen[key as usize / 64] = 0;
        }
        let classes = content.classes();
        let (mut key, mut length) = (0u32, 0u32);
        for byte in bytes {
            let class = classes[usize::from(*byte)];
            if class == END {
                length = 0;
                continue;
            }
            key = (key << CLASS_BITS | u32::from(class)) & (KEYS - 1);
            length += 1;
            if length < 3 {
                continue;
            }
            let (word, bit) = (&mut self.seen[key as usize / 64], 1u64 << (key % 64));
            if *word & bit == 0 {
                *word |= bit;
                self.found.push(key);
            }
        }
        &self.found
    }
}

/// A time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Seconds since 1970.
    pub secs: i64,
    /// Nanoseconds.
    pub nanos: u32,
}

/// What identifies a file with this content: whoever changes the content changes the ctime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Device that contains it.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Time of last modification.
    pub mtime: Stamp,
    /// Time of last status change.
    pub ctime: Stamp,
}

/// Hashes of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId {
    /// Hash of device and inode number.
    pub object: u64,
    /// Hash of everything.
    pub version: u64,
}

impl Identity {
    /// Returns the identity of the file with these attributes.
    pub fn of(attributes: &Metadata) -> Identity {
        let stamp = |secs, nanos: i64| Stamp {
            secs,
            nanos: nanos as u32,
        };
        Identity {
            dev: attributes.dev(),
            ino: attributes.ino(),
            size_bytes: attributes.size(),
            mtime: stamp(attributes.mtime(), attributes.mtime_nsec()),
            ctime: stamp(attributes.ctime(), attributes.ctime_nsec()),
        }
    }

    /// Returns the hashes.
    pub fn id(&self) -> DocId {
        let mut bytes = [0u8; 48];
        let stamps = [self.mtime, self.ctime];
        let numbers = [self.dev, self.ino, self.size_bytes];
        let secs = stamps.map(|stamp| stamp.secs as u64);
        for (at, number) in numbers.into_iter().chain(secs).enumerate() {
            bytes[at * 8..][..8].copy_from_slice(&number.to_le_bytes());
        }
        for (at, stamp) in stamps.iter().enumerate() {
            bytes[40 + at * 4..][..4].copy_from_slice(&stamp.nanos.to_le_bytes());
        }
        DocId {
            object: xxh3_64(&bytes[..16]),
            version: xxh3_64(&bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fold_ascii_letters_and_stay_within_lines() {
        let mut keys = Keys::default();
        let mut of = |text: &[u8]| {
            let mut found = keys.of(Content::Text, text).to_vec();
            found.sort_unstable();
            found
        };
        assert_eq!(of(b"abC"), of(b"ABc"));
        assert_eq!(of(b"ab\ncd\0ef"), []);
        assert_eq!(of(b"abcabcabc").len(), 3);
        assert_ne!(of(b"foo"), of(b"f00"));
        assert_eq!(of(b""), []);
    }

    #[test]
    fn binary_files_keep_the_keys_of_plain_bytes() {
        let mut keys = Keys::default();
        let all = (0..=255u8).flat_map(|byte| [byte, b'a', b'b', b'\n']);
        let all: Vec<u8> = all.collect();
        // Letters in one case, digits, punctuation, and the bytes of two more letters.
        let kept = 26 + 10 + PUNCTUATION.len() + FOLDED.len();
        assert_eq!(keys.of(Content::Binary, &all).len(), kept);
        assert!(kept < 1 << CLASS_BITS);
        assert_eq!(keys.of(Content::Binary, b"a\x80b\xffc\x01d!e").len(), 0);
        // Of other characters, nothing is known.
        assert_eq!(
            keys.of(Content::Binary, "x\u{e4}\u{f6}x".as_bytes()).len(),
            0
        );
    }

    #[test]
    fn every_part_of_an_identity_counts() {
        let base = Identity {
            dev: 1,
            ino: 2,
            size_bytes: 3,
            mtime: Stamp { secs: 4, nanos: 5 },
            ctime: Stamp { secs: 6, nanos: 7 },
        };
        let others = [
            Identity { dev: 9, ..base },
            Identity { ino: 9, ..base },
            Identity {
                size_bytes: 9,
                ..base
            },
            Identity {
                mtime: Stamp { secs: 9, nanos: 5 },
                ..base
            },
            Identity {
                mtime: Stamp { secs: 4, nanos: 9 },
                ..base
            },
            Identity {
                ctime: Stamp { secs: 9, nanos: 7 },
                ..base
            },
            Identity {
                ctime: Stamp { secs: 6, nanos: 9 },
                ..base
            },
        ];
        assert!(others.iter().all(|other| other.id() != base.id()));
        assert_eq!(others[2].id().object, base.id().object);
    }
}
