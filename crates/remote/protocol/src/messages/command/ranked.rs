//! `ranked command`: a command line whose rows the client merges with those of other servers.
//!
//! It is a message of its own, so that a server that prints text only refuses it. The program that
//! answers prints [`crate::rows`] on its standard output.

use super::MappedCommand;
use crate::messages::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// A request to answer a command line in rows. Paths need not be mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedCommand(pub MappedCommand);

impl Body for RankedCommand {
    fn write(&self, out: &mut Fields) {
        self.0.write(out);
    }

    fn read(body: &mut Reader<'_>) -> Result<RankedCommand, BadFrame> {
        MappedCommand::read(body).map(RankedCommand)
    }
}

impl RankedCommand {
    /// Returns whether paths are mapped.
    pub(super) fn is_mapped(&self) -> bool {
        !self.0.trees.is_empty()
    }

    /// Returns what is wrong with it, if anything is.
    pub(super) fn fault(&self) -> Option<String> {
        match self.is_mapped() {
            true => self.0.fault(),
            false => self.0.request.line.fault(),
        }
    }

    /// Returns the words that tell the program how to answer, before those of the command line.
    pub(super) fn words(&self) -> Vec<Vec<u8>> {
        let mut words = vec![ROWS.to_vec()];
        if self.is_mapped() {
            words.extend(self.0.words());
        }
        words
    }
}

/// The word before a command that prints rows instead of text, and before [`super::MAPPED`].
pub const ROWS: &[u8] = b"--rows";

#[cfg(test)]
impl crate::messages::Sample for RankedCommand {
    fn example() -> RankedCommand {
        RankedCommand(MappedCommand::example())
    }

    fn any() -> proptest::strategy::BoxedStrategy<RankedCommand> {
        use proptest::prelude::*;
        MappedCommand::any().prop_map(RankedCommand).boxed()
    }
}
