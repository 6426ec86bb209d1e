//! `credit`: a client allows a server to send more of an answer.

use super::{Body, Steer};
use crate::server::Task;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Number of additional bytes of blocks that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit(pub u32);

impl Body for Credit {
    fn write(&self, out: &mut Fields) {
        out.u32(self.0);
    }

    fn read(body: &mut Reader<'_>) -> Result<Credit, BadFrame> {
        body.u32("credit").map(Credit)
    }
}

impl Steer for Credit {
    fn steer(&self, running: &Task) {
        running.allow(self.0);
    }
}

#[cfg(test)]
impl super::Sample for Credit {
    fn example() -> Credit {
        Credit(0x0102_0304)
    }

    fn any() -> proptest::strategy::BoxedStrategy<Credit> {
        use proptest::prelude::*;
        any::<u32>().prop_map(Credit).boxed()
    }
}
