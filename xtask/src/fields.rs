//! Generates `docs/fields.md`, the reference of fields, from the schemas of the commands.

use crate::generate::{Bytes, GenerateError};

/// Returns the whole file.
pub(crate) fn reference() -> Result<Bytes, GenerateError> {
    Ok(trawl_cli::reports::reference().into_bytes())
}
