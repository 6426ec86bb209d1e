//! SQL on Parquet files, answered by the program `trawl-sql`.

use trawl_call::request::Cancel;
use trawl_sets::expand::Engine;
use trawl_sets::{Names, Problem};
use trawl_sys::child::SignalMask;

use crate::Settings;
use crate::error::EngineError;
use crate::head::head;
use crate::sql::{About, Paths};

/// The first bytes of every file (Parquet's file format, "File Format").
const MAGIC: &[u8; 4] = b"PAR1";

/// Answers SQL on Parquet files. The file is the table `file`; the column named `path`, or the
/// first one, has paths or URLs. A row where it is null is left out.
#[derive(Clone, Debug)]
pub struct Parquet {
    settings: Settings,
    /// The signals that `trawl-sql` blocks.
    mask: SignalMask,
}

impl Parquet {
    /// Returns the engine.
    pub fn new(settings: Settings) -> Parquet {
        Parquet {
            settings,
            mask: SignalMask::current(),
        }
    }
}

impl Engine for Parquet {
    fn accepts(&self, prefix: &[u8]) -> bool {
        head::<4>(prefix).is_some_and(|head| head == *MAGIC)
    }

    fn run(&self, prefix: &[u8], query: &[u8], _: &Cancel) -> Result<Box<dyn Names>, Problem> {
        let query = std::str::from_utf8(query).map_err(|_| EngineError::Text.at(prefix))?;
        let paths = Paths::ask(&self.settings, prefix, query, (About::File, self.mask));
        Ok(Box::new(paths.map_err(|error| error.at(prefix))?))
    }
}
