//! `data`: bytes of an answer. The request determines what they are.

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Bytes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data(pub Vec<u8>);

impl Body for Data {
    fn write(&self, out: &mut Fields) {
        out.put(&self.0);
    }

    fn read(body: &mut Reader<'_>) -> Result<Data, BadFrame> {
        Ok(Data(body.rest().to_vec()))
    }

    /// Takes the bytes without copying them.
    fn decode(bytes: Vec<u8>) -> Result<Data, BadFrame> {
        Ok(Data(bytes))
    }
}

#[cfg(test)]
impl super::Sample for Data {
    fn example() -> Data {
        Data(b"data".to_vec())
    }

    fn any() -> proptest::strategy::BoxedStrategy<Data> {
        use proptest::prelude::*;
        super::tests::bytes().prop_map(Data).boxed()
    }
}
