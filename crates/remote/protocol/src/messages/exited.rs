//! `exited`: how a command ended.

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// How a command ended: its exit code, as a shell reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exited(pub u32);

impl Body for Exited {
    fn write(&self, out: &mut Fields) {
        out.u32(self.0);
    }

    fn read(body: &mut Reader<'_>) -> Result<Exited, BadFrame> {
        body.u32("exit code").map(Exited)
    }
}

#[cfg(test)]
impl super::Sample for Exited {
    fn example() -> Exited {
        Exited(1)
    }

    fn any() -> proptest::strategy::BoxedStrategy<Exited> {
        use proptest::prelude::*;
        any::<u32>().prop_map(Exited).boxed()
    }
}
