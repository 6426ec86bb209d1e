//! `block`: records of an answer.

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Whole records, encoded as in `trawl_call::packed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block(pub Vec<u8>);

impl Body for Block {
    fn write(&self, out: &mut Fields) {
        out.put(&self.0);
    }

    fn read(body: &mut Reader<'_>) -> Result<Block, BadFrame> {
        Ok(Block(body.rest().to_vec()))
    }

    /// Takes the bytes without copying them.
    fn decode(bytes: Vec<u8>) -> Result<Block, BadFrame> {
        Ok(Block(bytes))
    }
}

#[cfg(test)]
impl super::Sample for Block {
    fn example() -> Block {
        Block(b"records".to_vec())
    }

    fn any() -> proptest::strategy::BoxedStrategy<Block> {
        use proptest::prelude::*;
        super::tests::bytes().prop_map(Block).boxed()
    }
}
