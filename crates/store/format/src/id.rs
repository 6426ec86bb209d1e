//! Defines the ids of sources, snapshots and segments, and the hash of a file. In file names and
//! JSON, ids and hashes are lower-case hex of fixed width.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use trawl_model::Timestamp;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Id of a source within its index: xxh3-64 of its root path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u64);

/// Id of a snapshot within its source: its start in nanoseconds since 1970, increased if necessary
/// so that it exceeds all earlier ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotId(pub u64);

/// Id of a segment within its shard: the snapshot that wrote it and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentId {
    /// The snapshot whose writer made the segment.
    pub snapshot: SnapshotId,
    /// Number within that snapshot and shard, from 0.
    pub number: u32,
}

/// One version of a snapshot: as first written, or as rewritten behind stricter guards when a later
/// snapshot was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edition {
    /// The snapshot.
    pub id: SnapshotId,
    /// The later snapshot whose permissions were last applied to this one, if any.
    pub revision: Option<SnapshotId>,
}

/// xxh3-128 of some bytes. Detects damage, but does not resist forgery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hash(pub u128);

impl SourceId {
    /// Returns the id of the source with this root (absolute, no trailing slash, empty for `/`).
    pub fn of_root(root: &[u8]) -> SourceId {
        SourceId(xxh3_64(root))
    }
}

impl Hash {
    /// Returns the hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(xxh3_128(bytes))
    }
}

/// Parses lower-case hex digits only.
fn parse_hex(text: &str) -> Option<u128> {
    let plain = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    plain.then(|| u128::from_str_radix(text, 16).ok())?
}

/// Parses exactly sixteen lower-case hex digits.
pub(crate) fn parse_hex_64(text: &str) -> Option<u64> {
    let value = parse_hex(text).filter(|_| text.len() == 16)?;
    u64::try_from(value).ok()
}

impl SnapshotId {
    /// Returns the approximate start of the snapshot's scan.
    pub fn time(self) -> Timestamp {
        const SECOND_NS: u64 = 1_000_000_000;
        Timestamp {
            secs: (self.0 / SECOND_NS) as i64,
            nanos: (self.0 % SECOND_NS) as u32,
        }
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<SnapshotId> for Edition {
    /// Returns the first edition of the snapshot.
    fn from(id: SnapshotId) -> Edition {
        Edition { id, revision: None }
    }
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.revision {
            None => write!(f, "{}", self.id),
            Some(revision) => write!(f, "{}-{revision}", self.id),
        }
    }
}

impl FromStr for Edition {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        match text.split_once('-') {
            None => text.parse().map(|id: SnapshotId| id.into()),
            Some((id, revision)) => Ok(Edition {
                id: id.parse()?,
                revision: Some(revision.parse()?),
            }),
        }
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.snapshot, self.number)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Error for text that is not an id of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id")]
pub struct NotAnId;

impl FromStr for SourceId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        parse_hex_64(text).map(SourceId).ok_or(NotAnId)
    }
}

impl FromStr for SnapshotId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        parse_hex_64(text).map(SnapshotId).ok_or(NotAnId)
    }
}

impl FromStr for SegmentId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (snapshot, number) = text.split_once('-').ok_or(NotAnId)?;
        let id = SegmentId {
            snapshot: snapshot.parse()?,
            number: number.parse().map_err(|_| NotAnId)?,
        };
        // Only one spelling is valid: no sign, no leading zero.
        if id.number.to_string() == number {
            Ok(id)
        } else {
            Err(NotAnId)
        }
    }
}

impl FromStr for Hash {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        parse_hex(text)
            .filter(|_| text.len() == 32)
            .map(Hash)
            .ok_or(NotAnId)
    }
}

macro_rules! as_json_text {
    ($($name:ident)*) => {
        $(impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(from)?;
                text.parse().map_err(de::Error::custom)
            }
        })*
    };
}

as_json_text!(SourceId SnapshotId SegmentId Hash);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_survive_their_text(snapshot: u64, number: u32, hash: u128) {
            let id = SegmentId { snapshot: SnapshotId(snapshot), number };
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(Hash(hash).to_string().parse(), Ok(Hash(hash)));
        }

        #[test]
        fn any_text_is_an_id_or_an_error(text: String) {
            if let Ok(id) = text.parse::<SegmentId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }

    #[test]
    fn ids_have_one_spelling() {
        assert!("00000000000000FF".parse::<SnapshotId>().is_err());
        assert!("+0000000000000ff".parse::<SnapshotId>().is_err());
        assert!("00000000000000ff-01".parse::<SegmentId>().is_err());
        assert!("00000000000000ff-+1".parse::<SegmentId>().is_err());
        assert_eq!("00000000000000ff".parse(), Ok(SnapshotId(255)));
    }
}
