//! The mode that asks call by call: a round trip for each name and each directory, as in ordinary
//! remote file systems.

use std::sync::Arc;
use std::time::Instant;

use trawl_call::{Attributes, Outcome, Source};
use trawl_model::relative_path::join;
use trawl_sys::Errno;

use super::assembly::is_name;
use super::listing::{Entry, Listing};
use super::{Inner, Timed};

impl Inner {
    /// Requests the attributes of a single name, as by lstat(2); `None` if it does not exist.
    pub(super) fn one(&self, dir: &[u8], name: &[u8]) -> Result<Timed<Option<Attributes>>, Errno> {
        let Timed { what, at, asked } = self.single(&join(dir, name))?;
        match what {
            Ok(found) => Ok(Timed {
                what: Some(found),
                at,
                asked,
            }),
            Err(Errno::NOENT) => Ok(Timed {
                what: None,
                at,
                asked,
            }),
            Err(errno) => Err(errno),
        }
    }

    /// Requests the listing of a single directory, unless a recent one is known.
    pub(super) fn listed(&self, dir: &[u8]) -> Result<Arc<Listing>, Errno> {
        if let Some(listing) = self.state().store.get(dir, self.max_age) {
            return Ok(listing);
        }
        self.list_now(dir)
    }

    /// Requests the listing of a single directory, whatever is known.
    pub(super) fn list_now(&self, dir: &[u8]) -> Result<Arc<Listing>, Errno> {
        let at = Instant::now();
        let records = self.asked(self.remote.list(&self.server_path(dir)))?;
        let (mut entries, mut trouble) = (Vec::with_capacity(records.len()), None);
        for record in records {
            let found = match record.outcome {
                Outcome::Match(attributes) => attributes.ok_or(Errno::IO),
                Outcome::Error(found) => match (found.source, Errno(found.errno)) {
                    (Source::Open | Source::Read, errno) => {
                        trouble = Some(errno);
                        continue;
                    }
                    // It was removed meanwhile.
                    (Source::Stat, Errno::NOENT) => continue,
                    (_, errno) => Err(errno),
                },
            };
            if !is_name(&record.path) {
                let text = format!(
                    "cannot read the answer of {}: the records of {} are invalid",
                    self.name,
                    self.shown(dir)
                );
                return Err(self.failed(&text));
            }
            let name = record.path.into_boxed_slice();
            entries.push(Entry { name, found });
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        entries.dedup_by(|one, other| one.name == other.name);
        let listing = Listing::new([at; 2], trouble.map_or(Ok(entries), Err));
        let mut state = self.state();
        state.store.insert(dir.to_vec(), Arc::clone(&listing));
        Ok(listing)
    }
}
