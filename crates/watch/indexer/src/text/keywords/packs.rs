//! Packs of keywords that are being made. Each thread has its own, one for each guard, so that
//! threads do not wait for each other; small ones are merged at the end.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use trawl_grams::DocId;
use trawl_keywords::{Builder, DOCS_MAX, Document, Documents, Pack, merge_as};
use trawl_model::Timestamp;
use trawl_model::sync::lock;
use trawl_writer::TextStore;

use super::known::{Known, Moved, Old, note_moved};
use super::{KeywordsUpdated, Outcome};
use crate::error::Result;
use crate::text::sink::{Before, Finder, Job, Place};

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
    documents: Arc<dyn Documents>,
    /// Documents of old packs whose files were moved, with their identities now.
    moved: HashMap<Arc<Place>, Vec<(Before, DocId)>>,
    done: KeywordsUpdated,
    failed: Option<crate::error::IndexerError>,
}

/// The growing packs of a thread.
pub(super) struct Growing<'p> {
    packs: &'p Mutex<Packs>,
    documents: Arc<dyn Documents>,
    builders: HashMap<Arc<Place>, (Builder, usize)>,
    memory_bytes: usize,
    /// Memory from which the largest is written.
    memory_max_bytes: usize,
}

/// Documents of a pack that are merged into another: their identities there.
type Part = (Pack, Vec<Option<DocId>>);

impl<'p> Growing<'p> {
    pub(super) fn new(packs: &'p Mutex<Packs>, memory_max_bytes: usize) -> Growing<'p> {
        Growing {
            packs,
            documents: Arc::clone(&lock(packs).documents),
            builders: HashMap::new(),
            memory_bytes: 0,
            memory_max_bytes,
        }
    }

    /// Adds what became of a file.
    pub(super) fn put(&mut self, job: &Job, outcome: Outcome) {
        let document = match outcome {
            Outcome::Read(document) => document,
            Outcome::Moved => return self.moved(job),
            Outcome::Unsettled => {
                lock(self.packs).done.unsettled += 1;
                return;
            }
            Outcome::Failed(reason) => {
                let done = &mut lock(self.packs).done;
                done.unsettled += 1;
                return done.issue(&job.path, &reason);
            }
        };
        match self.add(job, &document) {
            Ok(()) => {
                let done = &mut lock(self.packs).done;
                done.files += 1;
                done.read.0 += 1;
                done.read.1 += job.identity.size_bytes;
                done.incomplete += u64::from(document.gaps.are_issues());
                for problem in &document.problems {
                    done.issue(&job.path, problem);
                }
            }
            Err(error) => lock(self.packs).fail(error),
        }
    }

    fn moved(&self, job: &Job) {
        let Some(before) = job.before else {
            return;
        };
        let id = self.documents.id(&job.identity, job.name());
        let mut packs = lock(self.packs);
        packs.done.files += 1;
        packs.done.moved += 1;
        let place = Arc::clone(&job.place);
        packs.moved.entry(place).or_default().push((before, id));
    }

    fn add(&mut self, job: &Job, document: &Document) -> Result<()> {
        if !self.builders.contains_key(&job.place) {
            let place = Arc::clone(&job.place);
            let builder = Builder::new(self.documents.fingerprint())?;
            self.builders.insert(place, (builder, 0));
        }
        let Some((builder, bytes)) = self.builders.get_mut(&job.place) else {
            return Ok(());
        };
        let id = self.documents.id(&job.identity, job.name());
        let still_id = self.documents.still_id(&job.identity, job.name());
        builder.add(id, still_id, document)?;
        let now = builder.memory_bytes();
        self.memory_bytes += now - (*bytes).min(now);
        *bytes = now;
        let is_full = builder.docs() >= DOCS_MAX;
        let largest = match is_full {
            true => Some(Arc::clone(&job.place)),
            false if self.memory_bytes < self.memory_max_bytes => None,
            false => {
                let largest = self.builders.iter().max_by_key(|(_, (_, bytes))| *bytes);
                largest.map(|(place, _)| Arc::clone(place))
            }
        };
        let full = largest.and_then(|place| self.builders.remove_entry(&place));
        if let Some((place, (builder, bytes))) = full {
            self.memory_bytes -= bytes.min(self.memory_bytes);
            self.complete(place, builder);
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
    pub(super) fn new(store: TextStore, now: Timestamp, documents: &Arc<dyn Documents>) -> Packs {
        Packs {
            store,
            next: u64::try_from(now.as_nanos()).unwrap_or_default(),
            small: HashMap::new(),
            small_bytes: 0,
            documents: Arc::clone(documents),
            moved: HashMap::new(),
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
        self.done.moved += finder.known.moved_files;
        self.done.incomplete += finder.known.gaps;
        let places = finder.places();
        let Known {
            packs: all,
            lost: mut gone,
            moved,
            ..
        } = finder.known;
        let mut parts = self.arriving(moved, &all);
        let new = self.small.keys().map(|place| &place.components);
        let grows: HashSet<Vec<String>> = new.chain(parts.keys()).cloned().collect();
        for old in &all {
            let components = &old.place.components;
            if stays(old, grows.contains(components)) {
                self.done.size_bytes += old.size_bytes;
            } else {
                gone.push(old.place.clone());
                let parts = parts.entry(components.clone()).or_default();
                parts.push(part_of(old));
            }
        }
        for place in places {
            let parts = parts.remove(&place.components).unwrap_or_default();
            self.combine(&place, parts);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        gone.iter()
            .try_for_each(|place| self.store.remove_pack(place))?;
        Ok(self.done)
    }

    /// Returns the documents of old packs that move to each place.
    fn arriving(
        &mut self,
        mut moved: HashMap<Arc<Place>, Moved>,
        all: &[Old],
    ) -> HashMap<Vec<String>, Vec<Part>> {
        for (place, found) in std::mem::take(&mut self.moved) {
            let moved = moved.entry(place).or_default();
            for (before, id) in found {
                note_moved(moved, all, (before.pack, before.number), id);
            }
        }
        let mut parts: HashMap<Vec<String>, Vec<Part>> = HashMap::new();
        for (place, moved) in moved {
            let part = |(pack, ids): (usize, _)| Some((all.get(pack)?.pack.clone(), ids));
            let own = parts.entry(place.components.clone()).or_default();
            own.extend(moved.into_iter().filter_map(part));
        }
        parts
    }

    /// Merges new small packs of a place, and documents of old packs.
    fn combine(&mut self, place: &Arc<Place>, old: Vec<Part>) {
        let new = self.small.remove(place).unwrap_or_default();
        if let ([only], true) = (&new[..], old.is_empty()) {
            let bytes = only.bytes.clone();
            return self.write(place, &bytes);
        }
        let all = |pack: &Pack| pack.docs().iter().map(|doc| Some(doc.id)).collect();
        let new = new.into_iter().map(|new| {
            let ids = all(&new.pack);
            (new.pack, ids)
        });
        let mut group: Vec<Part> = Vec::new();
        let mut docs = 0;
        for part in new.chain(old) {
            let more = count(&part);
            if docs + more > DOCS_MAX {
                self.merge(place, &std::mem::take(&mut group));
                docs = 0;
            }
            docs += more;
            group.push(part);
        }
        self.merge(place, &group);
    }

    fn merge(&mut self, place: &Place, group: &[Part]) {
        if group.is_empty() {
            return;
        }
        match (merge_as(group), group) {
            (Ok(Some(bytes)), _) => self.write(place, &bytes),
            (Ok(None), _) => {}
            // The next update reads the documents of a damaged pack again.
            (Err(_), [part]) => {
                let lost = count(part) as u64;
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

/// Returns whether an old pack stays as it is: all its documents are still there, and it is not so
/// small that it is merged with new ones.
fn stays(old: &Old, grows: bool) -> bool {
    let is_whole = old.is_live.iter().all(|is_live| *is_live);
    is_whole && !(old.is_live.len() < SMALL_DOCS && grows)
}

/// Returns the documents of an old pack that are still there.
fn part_of(old: &Old) -> Part {
    let docs = old.pack.docs().iter().zip(&old.is_live);
    let ids = docs.map(|(doc, is_live)| is_live.then_some(doc.id));
    (old.pack.clone(), ids.collect())
}

/// Number of documents.
fn count((_, ids): &Part) -> usize {
    ids.iter().flatten().count()
}
