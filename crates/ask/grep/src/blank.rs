//! Opens members that are not read: an empty file stands in their place.

use std::fs::File;
use std::io;

use trawl_sets::member::Op;
use trawl_sets::opener::Fetched;
use trawl_sets::{Found, Look, Opener, PlaceId, Problem};

/// The opener of members whose content cannot match.
#[derive(Debug)]
pub struct Blank {
    empty: File,
}

impl Blank {
    /// Opens what stands in their place.
    ///
    /// # Errors
    /// Fails if `/dev/null` cannot be opened.
    pub fn new() -> io::Result<Blank> {
        let empty = File::open("/dev/null")?;
        Ok(Blank { empty })
    }
}

impl Opener for Blank {
    fn place(&self, found: &Found) -> Option<PlaceId> {
        found.is_blank.then_some(PlaceId::Mount(u64::MAX))
    }

    fn look(&self, found: &Found) -> Option<Look> {
        let place = self.place(found)?;
        Some(Look::Here(place, self.fetch(found, 0)))
    }

    fn fetch(&self, found: &Found, _: u64) -> Result<Fetched, Problem> {
        let file = self.empty.try_clone().map_err(|source| Problem {
            name: found.name.clone(),
            op: Op::Open,
            source,
        })?;
        Ok(Fetched {
            was_cached: true,
            content: Some(Vec::new()),
            ..Fetched::of(file, 0)
        })
    }
}
