//! `end`: the last message of an answer that succeeded.

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is complete.
    Whole,
    /// The rest can be requested with this cookie.
    Paused(Vec<u8>),
}

/// The end of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Number of records sent; of data, the number of bytes.
    pub records: u64,
    /// How the answer ended.
    pub ending: Ending,
}

impl End {
    /// Returns the end of a complete answer.
    pub(crate) fn whole(records: u64) -> End {
        let ending = Ending::Whole;
        End { records, ending }
    }
}

impl Body for End {
    fn write(&self, out: &mut Fields) {
        let (how, cookie) = match &self.ending {
            Ending::Whole => (0, &[][..]),
            Ending::Paused(cookie) => (1, &cookie[..]),
        };
        out.put(&[how, 0, 0, 0, 0, 0, 0, 0]);
        out.u64(self.records).bytes(cookie);
    }

    fn read(body: &mut Reader<'_>) -> Result<End, BadFrame> {
        let how = body.u8("end")?;
        body.exactly(&[0; 7], "padding")?;
        let records = body.u64("number of records")?;
        let ending = match (how, body.bytes("cookie")?) {
            (0, []) => Ending::Whole,
            (1, cookie) if !cookie.is_empty() => Ending::Paused(cookie.to_vec()),
            _ => return Err(BadFrame::Field("end")),
        };
        Ok(End { records, ending })
    }
}

#[cfg(test)]
impl super::Sample for End {
    fn example() -> End {
        End {
            records: 3,
            ending: Ending::Paused(b"cookie".to_vec()),
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<End> {
        use proptest::prelude::*;
        let cookie = proptest::collection::vec(any::<u8>(), 1..9);
        let ending = prop_oneof![Just(Ending::Whole), cookie.prop_map(Ending::Paused)];
        let end = |(records, ending)| End { records, ending };
        (any::<u64>(), ending).prop_map(end).boxed()
    }
}
