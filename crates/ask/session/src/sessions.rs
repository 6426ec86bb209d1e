//! Sessions of a question about several times.

use std::path::PathBuf;

use trawl_query::AsOf;

use crate::error::SessionError;
use crate::options::Options;
use crate::session::Session;

/// Opens sessions that differ only in the time that they are about.
#[derive(Debug)]
pub struct Sessions<'a> {
    indexes: Vec<PathBuf>,
    options: Options<'a>,
}

impl<'a> Sessions<'a> {
    /// Returns an opener of sessions about these indexes.
    pub fn new(indexes: Vec<PathBuf>, options: Options<'a>) -> Sessions<'a> {
        Sessions { indexes, options }
    }

    /// Opens a session about this time.
    ///
    /// # Errors
    /// See [`Session::open`].
    pub fn open(&self, as_of: AsOf) -> Result<Session<'a>, SessionError> {
        let mut options = self.options;
        options.when.at = Some(as_of);
        Session::open(&self.indexes, options)
    }
}
