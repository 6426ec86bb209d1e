//! Packs of keywords that are being made. Each thread has its own, one for each guard, so that
//! threads do not wait for each other; small ones are merged at the end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use trawl_keywords::{Builder, DOCS_MAX, Document, Pack, merge};
use trawl_model::Timestamp;
use trawl_model::sync::lock;
use trawl_writer::TextStore;

use super::KeywordsUpdated;
use super::known::{Known, Old};
use crate::error::Result;
use crate::text::sink::{Finder, Job, Place};

/// Memory of the growing packs of a thread in bytes, from which the largest is written.
const MEMORY_BYTES: usize = 128 << 20;
/// A pack with fewer documents is merged with others.
const SMALL_DOCS: usize = 2048;
/// Memory in bytes of small packs that wait to be merged.
const WAITING_BYTES: usize = 64 << 20;

/// Bytes of a pack that stay in memory until the end.
struct Small {
    pack: Pack,
    bytes: Vec<u8>,
}

/// Packs that are complete.
pub(super) struct Packs {
    store: TextStore,
    /// Number of the next pack.
    next: u64,
    small: HashMap<Arc<Place>, Vec<Small>>,
    small_bytes: usize,
    done: KeywordsUpdated,
    failed: Option<crate::error::IndexerError>,
}

/// The growing packs of a thread.
pub(super) struct Growing<'p> {
    packs: &'p Mutex<Packs>,
    builders: HashMap<Arc<Place>, (Builder, usize)>,
    memory_bytes: usize,
}

impl<'p> Growing<'p> {
    pub(super) fn new(packs: &'p Mutex<Packs>) -> Growing<'p> {
        Growing {
            packs,
            builders: HashMap::new(),
            memory_bytes: 0,
        }
    }

    /// Adds what became of a file.
    pub(super) fn put(&mut self, job: &Job, document: Option<Document>) {
        let Some(document) = document else {
            lock(self.packs).done.unsettled += 1;
            return;
        };
        match self.add(job, &document) {
            Ok(()) => {
                let mut packs = lock(self.packs);
                packs.done.files += 1;
                packs.done.read.0 += 1;
                packs.done.read.1 += job.identity.size_bytes;
            }
            Err(error) => lock(self.packs).fail(error),
        }
    }

    fn add(&mut self, job: &Job, document: &Document) -> Result<()> {
        if !self.builders.contains_key(&job.place) {
            let place = Arc::clone(&job.place);
            self.builders.insert(place, (Builder::new()?, 0));
        }
        let Some((builder, bytes)) = self.builders.get_mut(&job.place) else {
            return Ok(());
        };
        builder.add(job.identity.id(), document)?;
        let now = builder.memory_bytes();
        self.memory_bytes += now - (*bytes).min(now);
        *bytes = now;
        let is_full = builder.docs() >= DOCS_MAX;
        let largest = match is_full {
            true => Some(Arc::clone(&job.place)),
            false if self.memory_bytes < MEMORY_BYTES => None,
            false => {
                let largest = self.builders.iter().max_by_key(|(_, (_, bytes))| *bytes);
                largest.map(|(place, _)| Arc::clone(place))
            }
        };
        match largest.and_then(|place| self.builders.remove_entry(&place)) {
            Some((place, (builder, bytes))) => {
                self.memory_bytes -= bytes.min(self.memory_bytes);
                self.complete(place, builder);
            }
            None => {}
        }
        Ok(())
    }

    fn complete(&self, place: Arc<Place>, builder: Builder) {
        let docs = builder.docs();
        // Other threads go on while this one encodes.
        let bytes = builder.finish();
        let mut packs = lock(self.packs);
        match bytes {
            Ok(bytes) => packs.put(place, docs, bytes),
            Err(error) => packs.fail(error.into()),
        }
    }

    /// Completes all packs.
    pub(super) fn finish(mut self) {
        for (place, (builder, _)) in std::mem::take(&mut self.builders) {
            self.complete(place, builder);
        }
    }
}

impl Packs {
    pub(super) fn new(store: TextStore, now: Timestamp) -> Packs {
        Packs {
            store,
            next: u64::try_from(now.as_nanos()).unwrap_or_default(),
            small: HashMap::new(),
            small_bytes: 0,
            done: KeywordsUpdated::default(),
            failed: None,
        }
    }

    /// Keeps the first error until the end.
    fn fail(&mut self, error: crate::error::IndexerError) {
        self.failed.get_or_insert(error);
    }

    /// Takes a pack. A small one waits to be merged with others.
    fn put(&mut self, place: Arc<Place>, docs: usize, bytes: Vec<u8>) {
        if docs >= SMALL_DOCS || self.small_bytes + bytes.len() > WAITING_BYTES {
            return self.write(&place, &bytes);
        }
        match Pack::of_bytes(bytes.clone()) {
            Ok(pack) => {
                self.small_bytes += bytes.len();
                let small = self.small.entry(place).or_default();
                small.push(Small { pack, bytes });
            }
            Err(error) => self.fail(error.into()),
        }
    }

    fn write(&mut self, place: &Place, bytes: &[u8]) {
        self.done.size_bytes += bytes.len() as u64;
        let written = self.store.write_pack(&place.guard, self.next, bytes);
        self.next += 1;
        if let Err(error) = written {
            self.fail(error.into());
        }
    }

    /// Writes what is left, and then removes the packs whose documents were moved.
    pub(super) fn finish(mut self, finder: Finder<Known>) -> Result<KeywordsUpdated> {
        self.done.files += finder.covered;
        let places = finder.places();
        let mut gone = finder.known.lost;
        let mut moving: HashMap<Vec<String>, Vec<Old>> = HashMap::new();
        for old in finder.known.packs {
            match self.stays(&old) {
                true => self.done.size_bytes += old.size_bytes,
                false => {
                    gone.push(old.place.clone());
                    let components = old.place.components.clone();
                    moving.entry(components).or_default().push(old);
                }
            }
        }
        for place in places {
            let old = moving.remove(&place.components).unwrap_or_default();
            self.combine(&place, old);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        gone.iter()
            .try_for_each(|place| self.store.remove_pack(place))?;
        Ok(self.done)
    }

    /// Returns whether an old pack stays as it is: all its documents are still there, and it is not
    /// so small that it is merged with new ones.
    fn stays(&self, old: &Old) -> bool {
        let is_whole = old.is_live.iter().all(|is_live| *is_live);
        let is_here = |place: &&Arc<Place>| place.components == old.place.components;
        let grows = || self.small.keys().any(|place| is_here(&place));
        is_whole && !(old.is_live.len() < SMALL_DOCS && grows())
    }

    /// Merges old packs and new small ones of a place.
    fn combine(&mut self, place: &Arc<Place>, old: Vec<Old>) {
        let new = self.small.remove(place).unwrap_or_default();
        if let ([only], true) = (&new[..], old.is_empty()) {
            let bytes = only.bytes.clone();
            return self.write(place, &bytes);
        }
        let mut parts: Vec<(Pack, Vec<bool>)> = Vec::new();
        let all = |pack: &Pack| vec![true; pack.docs().len()];
        parts.extend(
            new.into_iter()
                .map(|new| (new.pack.clone(), all(&new.pack))),
        );
        parts.extend(old.into_iter().map(|old| (old.pack, old.is_live)));
        let mut group: Vec<(Pack, Vec<bool>)> = Vec::new();
        let mut docs = 0;
        for part in parts {
            let more = part.1.iter().filter(|stays| **stays).count();
            if docs + more > DOCS_MAX {
                self.merge(place, &std::mem::take(&mut group));
                docs = 0;
            }
            docs += more;
            group.push(part);
        }
        self.merge(place, &group);
    }

    fn merge(&mut self, place: &Place, group: &[(Pack, Vec<bool>)]) {
        if group.is_empty() {
            return;
        }
        match (merge(group), group) {
            (Ok(Some(bytes)), _) => self.write(place, &bytes),
            (Ok(None), _) => {}
            // The next update reads the documents of a damaged pack again.
            (Err(_), [(_, stays)]) => {
                let lost = stays.iter().filter(|stays| **stays).count() as u64;
                self.done.files = self.done.files.saturating_sub(lost);
                self.done.unsettled += lost;
            }
            (Err(_), _) => {
                for part in group {
                    self.merge(place, std::slice::from_ref(part));
                }
            }
        }
    }
}
