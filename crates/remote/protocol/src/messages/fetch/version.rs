//! The version of a file, which precedes the file's bytes in the answer to `fetch`.
//!
//! Encoding: a record, as in `trawl_call::packed`, with the file's attributes; the file's time of
//! birth (seconds 8, nanoseconds 4; 0 if the file system does not record it); 1 if the version is
//! settled, else 0 (1).
//!
//! Invariant: the bytes are untrusted.

use trawl_call::packed::{decode, encode};
use trawl_call::{Attributes, Outcome, RecordRef};
use trawl_sys::stat::Time;

use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// The state of a file while bytes of it were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The file's attributes.
    pub attributes: Attributes,
    /// Time of birth, which distinguishes the file from an earlier one with its inode number. Zero:
    /// unknown.
    pub born: Time,
    /// Whether any later change of the contents changes the attributes, too. Times of change are
    /// only as precise as the clock that they are taken from.
    pub is_settled: bool,
}

impl Version {
    /// Appends the encoded version.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let record = RecordRef {
            root: 0,
            path: b".",
            outcome: Outcome::Match(Some(self.attributes)),
        };
        encode(&record, bytes);
        let mut rest = Fields::default();
        rest.u64(self.born.secs.cast_unsigned())
            .u32(self.born.nanos);
        rest.put(&[u8::from(self.is_settled)]);
        bytes.extend_from_slice(&rest.0);
    }

    /// Decodes a version, and returns it with its length in bytes.
    ///
    /// # Errors
    /// Fails for anything that [`Version::encode`] does not write.
    pub fn decode(bytes: &[u8]) -> Result<(Version, usize), BadFrame> {
        let bad = BadFrame::Field("version of a file");
        let (record, length) = decode(bytes).map_err(|_| bad)?;
        let attributes = match (record.root, record.path, record.outcome) {
            (0, b".", Outcome::Match(Some(attributes))) => attributes,
            _ => return Err(bad),
        };
        let mut rest = Reader::new(&bytes[length..]);
        let secs = rest.u64("version of a file")?.cast_signed();
        let nanos = rest.u32("version of a file")?;
        let is_settled = match rest.u8("version of a file")? {
            0 => false,
            1 => true,
            _ => return Err(bad),
        };
        let version = Version {
            attributes,
            born: Time { secs, nanos },
            is_settled,
        };
        Ok((version, bytes.len() - rest.left()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn version(numbers: [u64; 4], is_settled: bool) -> Version {
        let [ino, size, secs, born] = numbers;
        let time = |secs: u64| Time {
            secs: (secs >> 8).cast_signed(),
            nanos: (secs % 1_000_000_000) as u32,
        };
        Version {
            attributes: Attributes {
                ino,
                size,
                mtime: time(secs),
                ctime: time(!secs),
                ..Attributes::default()
            },
            born: time(born),
            is_settled,
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(numbers: [u64; 4], is_settled: bool, behind in vec(any::<u8>(), 0..9)) {
            let version = version(numbers, is_settled);
            let mut bytes = Vec::new();
            version.encode(&mut bytes);
            let length = bytes.len();
            for cut in 0..length {
                prop_assert!(Version::decode(&bytes[..cut]).is_err());
            }
            bytes.extend_from_slice(&behind);
            prop_assert_eq!(Version::decode(&bytes), Ok((version, length)));
        }

        #[test]
        fn no_bytes_panic(bytes in vec(any::<u8>(), 0..300)) {
            let _ = Version::decode(&bytes);
        }
    }
}
