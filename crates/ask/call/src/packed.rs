//! Encodes records as bytes, for the buffers of the C interface and for the wire.
//!
//! All numbers are little-endian; a record begins at a multiple of eight bytes:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | length of the record, a multiple of 8 |
//! | 1 | kind: 0 match, 1 match with attributes, 2 error |
//! | 1 | the operation that failed ([`Source`]) for an error, else 0 |
//! | 2 | 0 |
//! | 4 | errno for an error, else 0 |
//! | 4 | the root's index in the list of roots |
//! | 4 | length of the path |
//! | 4 | 0 |
//! | 104 | attributes, for kind 1 alone: dev, ino, nlink, rdev, size, blocks (8 each), mode, uid, gid, blksize (4 each), seconds of atime, mtime, ctime (8 each), their nanoseconds (4 each), 4 zeros |
//! | | the path, without NUL bytes, then 1 to 8 NUL bytes |
//!
//! Invariants: bytes are untrusted. [`decode`] checks every length before it uses it, allocates
//! nothing, and accepts exactly the bytes that [`encode`] writes.

use trawl_sys::stat::Time;

use crate::record::{Attributes, Outcome, RecordRef, Source, Trouble};

/// Maximum length of a record's path, in bytes.
pub const PATH_MAX_BYTES: usize = 16 << 20;

/// Length of the shortest record, in bytes.
pub const LENGTH_MIN: usize = HEAD_BYTES + ALIGNMENT;

const HEAD_BYTES: usize = 24;
const ATTRIBUTES_BYTES: usize = 104;
const ALIGNMENT: usize = 8;

const MATCH: u8 = 0;
const MATCH_WITH_ATTRIBUTES: u8 = 1;
const ERROR: u8 = 2;

/// Bytes that are not a valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadRecord {
    /// The buffer ends before the record does.
    #[error("the record is cut short: {missing} bytes are missing")]
    Short {
        /// Number of bytes that are missing, at least.
        missing: usize,
    },
    /// A field has a value that no valid record has.
    #[error("the record's {0} is invalid")]
    Field(&'static str),
}

/// Returns the encoded length of a record, in bytes.
pub fn packed_length(record: &RecordRef<'_>) -> usize {
    let attributes = match record.outcome {
        Outcome::Match(Some(_)) => ATTRIBUTES_BYTES,
        _ => 0,
    };
    whole_length(attributes, record.path.len())
}

fn whole_length(attributes: usize, path: usize) -> usize {
    (HEAD_BYTES + attributes + path + 1).next_multiple_of(ALIGNMENT)
}

/// Appends a record to `out`. Its path must contain no NUL byte and have at most
/// [`PATH_MAX_BYTES`].
pub fn encode(record: &RecordRef<'_>, out: &mut Vec<u8>) {
    let begin = out.len();
    let length = packed_length(record);
    let (kind, source, errno) = match record.outcome {
        Outcome::Match(None) => (MATCH, 0, 0),
        Outcome::Match(Some(_)) => (MATCH_WITH_ATTRIBUTES, 0, 0),
        Outcome::Error(Trouble { source, errno }) => (ERROR, source as u8, errno),
    };
    out.reserve(length);
    // The cast is lossless: paths have at most 16 MiB.
    out.extend_from_slice(&(length as u32).to_le_bytes());
    out.extend_from_slice(&[kind, source, 0, 0]);
    out.extend_from_slice(&errno.to_le_bytes());
    out.extend_from_slice(&record.root.to_le_bytes());
    out.extend_from_slice(&(record.path.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    if let Outcome::Match(Some(attributes)) = &record.outcome {
        encode_attributes(attributes, out);
    }
    out.extend_from_slice(record.path);
    out.resize(begin + length, 0);
}

fn encode_attributes(of: &Attributes, out: &mut Vec<u8>) {
    for number in [of.dev, of.ino, of.nlink, of.rdev, of.size, of.blocks] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for number in [of.mode, of.uid, of.gid, of.blksize] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let times = [of.atime, of.mtime, of.ctime];
    for time in times {
        out.extend_from_slice(&time.secs.to_le_bytes());
    }
    for time in times {
        out.extend_from_slice(&time.nanos.to_le_bytes());
    }
    out.extend_from_slice(&[0; 4]);
}

/// Reads numbers from bytes whose length was checked before.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk() {
            Some((number, rest)) => {
                self.0 = rest;
                *number
            }
            None => [0; N],
        }
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.take())
    }
}

/// The checked fields at the beginning of a record.
struct Head {
    length: usize,
    kind: u8,
    trouble: Option<Trouble>,
    root: u32,
    attributes_length: usize,
    path_length: usize,
}

fn decode_head(bytes: &[u8]) -> Result<Head, BadRecord> {
    let mut head = Numbers(bytes);
    let length = head.u32() as usize;
    let [kind, source, zero, zeros] = head.take();
    let errno = head.u32() as i32;
    let root = head.u32();
    let path_length = head.u32() as usize;
    if head.u32() != 0 || zero != 0 || zeros != 0 {
        return Err(BadRecord::Field("padding"));
    }
    let attributes_length = match kind {
        MATCH | ERROR => 0,
        MATCH_WITH_ATTRIBUTES => ATTRIBUTES_BYTES,
        _ => return Err(BadRecord::Field("kind")),
    };
    if path_length > PATH_MAX_BYTES {
        return Err(BadRecord::Field("path length"));
    }
    if length != whole_length(attributes_length, path_length) {
        return Err(BadRecord::Field("length"));
    }
    Ok(Head {
        length,
        kind,
        trouble: trouble(kind, source, errno)?,
        root,
        attributes_length,
        path_length,
    })
}

/// Decodes the record at the beginning of `bytes`, and returns it with its length in bytes.
///
/// # Errors
/// [`BadRecord::Short`] if more bytes may complete the record, [`BadRecord::Field`] if a field is
/// invalid.
pub fn decode(bytes: &[u8]) -> Result<(RecordRef<'_>, usize), BadRecord> {
    let missing = |wanted: usize| BadRecord::Short {
        missing: wanted - bytes.len(),
    };
    let head = bytes.get(..HEAD_BYTES).ok_or_else(|| missing(HEAD_BYTES))?;
    let head = decode_head(head)?;
    let body = bytes.get(HEAD_BYTES..head.length);
    let body = body.ok_or_else(|| missing(head.length))?;
    let (attributes, rest) = body.split_at(head.attributes_length);
    let (path, padding) = rest.split_at(head.path_length);
    if path.contains(&0) {
        return Err(BadRecord::Field("path"));
    }
    if padding.iter().any(|byte| *byte != 0) {
        return Err(BadRecord::Field("padding"));
    }
    let outcome = match (head.trouble, head.kind) {
        (Some(trouble), _) => Outcome::Error(trouble),
        (None, MATCH) => Outcome::Match(None),
        (None, _) => Outcome::Match(Some(decode_attributes(attributes)?)),
    };
    let root = head.root;
    let record = RecordRef {
        root,
        path,
        outcome,
    };
    Ok((record, head.length))
}

fn trouble(kind: u8, source: u8, errno: i32) -> Result<Option<Trouble>, BadRecord> {
    match (kind, source, errno) {
        (ERROR, source, errno) => {
            let source = Source::from_number(source).ok_or(BadRecord::Field("source"))?;
            match errno > 0 {
                true => Ok(Some(Trouble { source, errno })),
                false => Err(BadRecord::Field("errno")),
            }
        }
        (_, 0, 0) => Ok(None),
        (_, 0, _) => Err(BadRecord::Field("errno")),
        _ => Err(BadRecord::Field("source")),
    }
}

fn decode_attributes(bytes: &[u8]) -> Result<Attributes, BadRecord> {
    let mut numbers = Numbers(bytes);
    let mut attributes = Attributes {
        dev: numbers.u64(),
        ino: numbers.u64(),
        nlink: numbers.u64(),
        rdev: numbers.u64(),
        size: numbers.u64(),
        blocks: numbers.u64(),
        mode: numbers.u32(),
        uid: numbers.u32(),
        gid: numbers.u32(),
        blksize: numbers.u32(),
        ..Attributes::default()
    };
    let secs = [numbers.i64(), numbers.i64(), numbers.i64()];
    let nanos = [numbers.u32(), numbers.u32(), numbers.u32()];
    if nanos.iter().any(|nanos| *nanos > 999_999_999) {
        return Err(BadRecord::Field("time"));
    }
    if numbers.u32() != 0 {
        return Err(BadRecord::Field("padding"));
    }
    let time = |at: usize| Time {
        secs: secs[at],
        nanos: nanos[at],
    };
    attributes.atime = time(0);
    attributes.mtime = time(1);
    attributes.ctime = time(2);
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attributes() -> impl Strategy<Value = Attributes> {
        let time =
            || (any::<i64>(), 0u32..1_000_000_000).prop_map(|(secs, nanos)| Time { secs, nanos });
        let wide = proptest::array::uniform6(any::<u64>());
        let narrow = proptest::array::uniform4(any::<u32>());
        (wide, narrow, time(), time(), time()).prop_map(|(wide, narrow, atime, mtime, ctime)| {
            let [dev, ino, nlink, rdev, size, blocks] = wide;
            let [mode, uid, gid, blksize] = narrow;
            Attributes {
                dev,
                ino,
                nlink,
                rdev,
                size,
                blocks,
                mode,
                uid,
                gid,
                blksize,
                atime,
                mtime,
                ctime,
            }
        })
    }

    fn outcome() -> impl Strategy<Value = Outcome> {
        let trouble = (1u8..7, 1i32..200).prop_map(|(source, errno)| Trouble {
            source: Source::from_number(source).unwrap(),
            errno,
        });
        prop_oneof![
            proptest::option::of(attributes()).prop_map(Outcome::Match),
            trouble.prop_map(Outcome::Error),
        ]
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            records in proptest::collection::vec((any::<u32>(), proptest::collection::vec(1u8.., 0..40), outcome()), 0..6),
        ) {
            let mut bytes = Vec::new();
            for (root, path, outcome) in &records {
                let record = RecordRef { root: *root, path, outcome: *outcome };
                let before = bytes.len();
                encode(&record, &mut bytes);
                prop_assert_eq!(bytes.len() - before, packed_length(&record));
            }
            let mut rest = &bytes[..];
            for (root, path, outcome) in &records {
                for cut in 0..HEAD_BYTES {
                    prop_assert_eq!(decode(&rest[..cut]).map(drop), Err(BadRecord::Short { missing: HEAD_BYTES - cut }));
                }
                let (record, length) = decode(rest).unwrap();
                prop_assert_eq!((record.root, record.path, record.outcome), (*root, &path[..], *outcome));
                prop_assert_eq!(decode(&rest[..length - 1]).map(drop), Err(BadRecord::Short { missing: 1 }));
                rest = &rest[length..];
            }
            prop_assert!(rest.is_empty());
        }

        /// Bytes that decode to a record are exactly the bytes that the record encodes to.
        #[test]
        fn nothing_else_is_read(path in proptest::collection::vec(1u8.., 0..9), outcome in outcome(), at: usize, value: u8) {
            let mut bytes = Vec::new();
            encode(&RecordRef { root: 7, path: &path, outcome }, &mut bytes);
            let at = at % bytes.len();
            bytes[at] = value;
            if let Ok((record, length)) = decode(&bytes) {
                let mut again = Vec::new();
                encode(&record, &mut again);
                prop_assert_eq!(&again[..], &bytes[..length]);
            }
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut bytes = Vec::new();
        let outcome = Outcome::Match(None);
        encode(
            &RecordRef {
                root: 0,
                path: b"a",
                outcome,
            },
            &mut bytes,
        );
        bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(decode(&bytes), Err(BadRecord::Field("path length")));
        bytes[16..20].copy_from_slice(&2u32.to_le_bytes());
        bytes[0..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(decode(&bytes), Err(BadRecord::Field("length")));
    }
}
