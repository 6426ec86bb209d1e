//! `alive`: a server that works and has found nothing says that it continues.

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Work continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alive;

impl Body for Alive {
    fn write(&self, _: &mut Fields) {}

    fn read(_: &mut Reader<'_>) -> Result<Alive, BadFrame> {
        Ok(Alive)
    }
}

#[cfg(test)]
impl super::Sample for Alive {
    fn example() -> Alive {
        Alive
    }

    fn any() -> proptest::strategy::BoxedStrategy<Alive> {
        use proptest::prelude::*;
        Just(Alive).boxed()
    }
}
