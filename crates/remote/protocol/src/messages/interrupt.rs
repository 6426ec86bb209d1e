//! `interrupt`: a client no longer wants the answer to a request.

use super::{Body, Steer};
use crate::server::Task;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// The answer is no longer wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt;

impl Body for Interrupt {
    fn write(&self, _: &mut Fields) {}

    fn read(_: &mut Reader<'_>) -> Result<Interrupt, BadFrame> {
        Ok(Interrupt)
    }
}

impl Steer for Interrupt {
    fn steer(&self, running: &Task) {
        running.interrupt();
    }
}

#[cfg(test)]
impl super::Sample for Interrupt {
    fn example() -> Interrupt {
        Interrupt
    }

    fn any() -> proptest::strategy::BoxedStrategy<Interrupt> {
        use proptest::prelude::*;
        Just(Interrupt).boxed()
    }
}
