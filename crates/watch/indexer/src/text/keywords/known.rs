//! The documents of the packs of keywords that exist.

use std::collections::HashMap;

use trawl_grams::DocId;
use trawl_keywords::Pack;
use trawl_writer::{PackPlace, TextStore};

use crate::error::Result;
use crate::text::sink::Covered;

/// A pack, and which of its documents are still there.
pub(super) struct Old {
    pub(super) place: PackPlace,
    pub(super) size_bytes: u64,
    pub(super) pack: Pack,
    pub(super) is_live: Vec<bool>,
}

/// All packs, by the guard they lie behind.
#[derive(Default)]
pub(super) struct Known {
    pub(super) packs: Vec<Old>,
    /// Damaged packs, and those of other versions: their documents count as unknown.
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
            for (number, doc) in pack.docs().iter().enumerate() {
                docs.entry(doc.id).or_insert((at, number));
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
    fn has(&mut self, components: &[String], id: DocId) -> bool {
        let at = self.docs.get(components).and_then(|docs| docs.get(&id));
        let Some((pack, number)) = at else {
            return false;
        };
        let old = self.packs.get_mut(*pack);
        if let Some(is_live) = old.and_then(|old| old.is_live.get_mut(*number)) {
            *is_live = true;
        }
        true
    }
}
