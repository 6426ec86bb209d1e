//! `served by`: a server says who finds the records that follow.

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// The source of an answer at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Answerer {
    /// A walk of the file system.
    Live = 1,
    /// An index that is as of now.
    Index = 2,
}

impl Body for Answerer {
    fn write(&self, out: &mut Fields) {
        out.put(&[*self as u8, 0, 0, 0]);
    }

    fn read(body: &mut Reader<'_>) -> Result<Answerer, BadFrame> {
        let who = match body.u8("answerer")? {
            1 => Answerer::Live,
            2 => Answerer::Index,
            _ => return Err(BadFrame::Field("answerer")),
        };
        body.exactly(&[0; 3], "padding")?;
        Ok(who)
    }
}

#[cfg(test)]
impl super::Sample for Answerer {
    fn example() -> Answerer {
        Answerer::Index
    }

    fn any() -> proptest::strategy::BoxedStrategy<Answerer> {
        use proptest::prelude::*;
        prop_oneof![Just(Answerer::Live), Just(Answerer::Index)].boxed()
    }
}
