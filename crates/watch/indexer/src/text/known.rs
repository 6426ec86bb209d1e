//! The documents of the packs that exist.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use trawl_grams::{DocId, Identity, Pack};
use trawl_writer::{PackPlace, TextStore};

use super::sink::{Covered, Covering, Place};
use crate::error::Result;

/// A pack, and which of its documents are still there.
pub(super) struct Old {
    pub(super) place: PackPlace,
    pub(super) size_bytes: u64,
    pub(super) pack: Pack<File>,
    pub(super) is_live: Vec<bool>,
}

impl Old {
    /// Returns the number of files that are still there.
    pub(super) fn live_files(&self) -> u64 {
        let docs = self.pack.docs().iter().zip(&self.is_live);
        let live: Vec<&DocId> = docs.filter(|(_, live)| **live).map(|(id, _)| id).collect();
        live.chunk_by(|a, b| a == b).count() as u64
    }
}

/// All packs, by the guard they lie behind.
#[derive(Default)]
pub(super) struct Known {
    pub(super) packs: Vec<Old>,
    /// Damaged packs: their documents count as unknown.
    pub(super) lost: Vec<PackPlace>,
    docs: HashMap<Vec<String>, HashMap<DocId, (usize, usize)>>,
}

impl Known {
    pub(super) fn read(store: &TextStore) -> Result<Known> {
        let mut known = Known::default();
        for place in store.packs()? {
            let file = store.open_pack(&place)?;
            let size_bytes = file.metadata().map_or(0, |meta| meta.len());
            let Ok(pack) = Pack::open(file) else {
                known.lost.push(place);
                continue;
            };
            let at = known.packs.len();
            let docs = known.docs.entry(place.components.clone()).or_default();
            for (number, id) in pack.docs().iter().enumerate() {
                docs.entry(*id).or_insert((at, number));
            }
            known.packs.push(Old {
                is_live: vec![false; pack.docs().len()],
                place,
                size_bytes,
                pack,
            });
        }
        Ok(known)
    }
}

impl Covered for Known {
    fn cover(&mut self, place: &Arc<Place>, identity: &Identity, _: &[u8]) -> Covering {
        let id = identity.id();
        let docs = self.docs.get(&place.components);
        let Some((pack, number)) = docs.and_then(|docs| docs.get(&id)) else {
            return Covering::Unknown(None);
        };
        if let Some(old) = self.packs.get_mut(*pack) {
            let parts = old.pack.docs().iter().skip(*number);
            let parts = parts.take_while(|part| **part == id).count();
            let is_live = old.is_live.iter_mut().skip(*number).take(parts);
            is_live.for_each(|is_live| *is_live = true);
        }
        Covering::Covered
    }
}
