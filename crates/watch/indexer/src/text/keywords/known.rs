//! The documents of the packs of keywords that exist.

use std::collections::HashMap;
use std::sync::Arc;

use trawl_grams::{DocId, Identity};
use trawl_keywords::{Documents, Gap, Pack, origins};
use trawl_writer::{PackPlace, TextStore};

use crate::error::Result;
use crate::text::Effort;
use crate::text::sink::{Before, Covered, Covering, Place};

/// A pack, and which of its documents are still there.
pub(super) struct Old {
    pub(super) place: PackPlace,
    pub(super) size_bytes: u64,
    pub(super) pack: Pack,
    pub(super) is_live: Vec<bool>,
}

/// The documents of an old pack that now lie behind another guard, by the packs' numbers: for each
/// document its identity, if it is one of them.
pub(super) type Moved = HashMap<usize, Vec<Option<DocId>>>;

/// All packs, by the guard they lie behind.
pub(super) struct Known {
    documents: Arc<dyn Documents>,
    effort: Effort,
    pub(super) packs: Vec<Old>,
    /// Damaged packs, and those of other versions or hooks: their documents count as unknown.
    pub(super) lost: Vec<PackPlace>,
    docs: HashMap<Vec<String>, HashMap<DocId, (usize, usize)>>,
    /// The same documents, whatever their guard.
    anywhere: HashMap<DocId, (usize, usize)>,
    /// Documents by what stays when a file is moved.
    still: HashMap<u64, Before>,
    /// What is found behind another guard than before.
    pub(super) moved: HashMap<Arc<Place>, Moved>,
    /// Number of files that were so.
    pub(super) moved_files: u64,
    /// Number of documents with issues that are still there.
    pub(super) gaps: u64,
}

impl Known {
    pub(super) fn read(
        store: &TextStore,
        documents: Arc<dyn Documents>,
        effort: Effort,
    ) -> Result<Known> {
        let mut known = Known {
            documents,
            effort,
            packs: Vec::new(),
            lost: Vec::new(),
            docs: HashMap::new(),
            anywhere: HashMap::new(),
            still: HashMap::new(),
            moved: HashMap::new(),
            moved_files: 0,
            gaps: 0,
        };
        for place in store.packs()? {
            let file = store.open_pack(&place)?;
            let size_bytes = file.metadata().map_or(0, |meta| meta.len());
            match Pack::open(file) {
                Ok(pack) if known.add(&place, &pack) => known.packs.push(Old {
                    is_live: vec![false; pack.docs().len()],
                    place,
                    size_bytes,
                    pack,
                }),
                _ => known.lost.push(place),
            }
        }
        Ok(known)
    }

    /// Adds the documents of a pack. Returns false if it cannot be used.
    fn add(&mut self, place: &PackPlace, pack: &Pack) -> bool {
        if pack.fingerprint() != self.documents.fingerprint() {
            return false;
        }
        let Ok(origins) = origins(pack) else {
            return false;
        };
        let at = self.packs.len();
        let docs = self.docs.entry(place.components.clone()).or_default();
        for (number, (doc, origin)) in pack.docs().iter().zip(origins).enumerate() {
            let is_slow = [doc.gaps.text, doc.gaps.attributes].contains(&Some(Gap::Timeout));
            if is_slow && self.effort == Effort::Full {
                // The machine may be less busy now.
                continue;
            }
            docs.entry(doc.id).or_insert((at, number));
            self.anywhere.entry(doc.id).or_insert((at, number));
            if let Some(content_hash) = origin.content_hash {
                let before = Before {
                    pack: at,
                    number,
                    content_hash,
                };
                self.still.entry(origin.still_id).or_insert(before);
            }
        }
        true
    }

    fn note_gaps(&mut self, (pack, number): (usize, usize)) {
        let old = self.packs.get(pack);
        let doc = old.and_then(|old| old.pack.docs().get(number));
        self.gaps += u64::from(doc.is_some_and(|doc| doc.gaps.are_issues()));
    }
}

/// Notes that a document of an old pack has an identity in another place.
pub(super) fn note_moved(moved: &mut Moved, old: &[Old], at: (usize, usize), id: DocId) {
    let docs = old.get(at.0).map_or(0, |old| old.pack.docs().len());
    let ids = moved.entry(at.0).or_insert_with(|| vec![None; docs]);
    if let Some(own) = ids.get_mut(at.1) {
        *own = Some(id);
    }
}

impl Covered for Known {
    fn cover(&mut self, place: &Arc<Place>, identity: &Identity, name: &[u8]) -> Covering {
        let id = self.documents.id(identity, name);
        let docs = self.docs.get(&place.components);
        if let Some(at) = docs.and_then(|docs| docs.get(&id)).copied() {
            let old = self.packs.get_mut(at.0);
            if let Some(is_live) = old.and_then(|old| old.is_live.get_mut(at.1)) {
                *is_live = true;
            }
            self.note_gaps(at);
            return Covering::Covered;
        }
        // Permissions above the file have changed: its content has not.
        if let Some(at) = self.anywhere.get(&id).copied() {
            let moved = self.moved.entry(Arc::clone(place)).or_default();
            note_moved(moved, &self.packs, at, id);
            self.moved_files += 1;
            self.note_gaps(at);
            return Covering::Covered;
        }
        let still = self.documents.still_id(identity, name);
        Covering::Unknown(self.still.get(&still).copied())
    }
}
