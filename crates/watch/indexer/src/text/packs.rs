//! Packs that are being made: one that grows for each guard and kind of content, within a limit of
//! memory for all.

use std::collections::HashMap;
use std::sync::Arc;

use trawl_grams::{Builder, Content, DOCS_MAX};
use trawl_model::Timestamp;
use trawl_writer::TextStore;

use super::TextUpdated;
use super::known::Old;
use super::read::Outcome;
use super::sink::{Finder, Job, Place};
use crate::error::Result;

/// A pack with fewer documents is combined with new ones.
const SMALL_DOCS: usize = 2048;

/// What the files of a pack have in common.
type Kind = (Arc<Place>, Content);

/// A pack that is complete.
pub(super) struct Full {
    place: Arc<Place>,
    builder: Builder,
}

impl Full {
    pub(super) fn encode(self) -> (Arc<Place>, Vec<u8>) {
        (self.place, self.builder.finish())
    }
}

/// The growing packs.
pub(super) struct Packs {
    store: TextStore,
    growing: HashMap<Kind, Builder>,
    memory_bytes: usize,
    /// Memory from which the largest is written.
    memory_max_bytes: usize,
    /// Number of the next pack.
    next: u64,
    done: TextUpdated,
    failed: Option<trawl_format::IndexError>,
}

impl Packs {
    pub(super) fn new(store: TextStore, now: Timestamp, memory_max_bytes: usize) -> Packs {
        Packs {
            store,
            growing: HashMap::new(),
            memory_bytes: 0,
            memory_max_bytes,
            next: u64::try_from(now.as_nanos()).unwrap_or_default(),
            done: TextUpdated::default(),
            failed: None,
        }
    }

    /// Adds what became of a file. Returns a pack that must be written.
    pub(super) fn put(&mut self, job: &Job, outcome: Outcome<'_>) -> Option<Full> {
        match outcome {
            Outcome::Covered(parts) => {
                self.done.files += 1;
                self.done.read.0 += 1;
                self.done.read.1 += job.identity.size_bytes;
                let content = parts.content();
                let kind = (Arc::clone(&job.place), content);
                let builder = self.growing.entry(kind.clone());
                let builder = builder.or_insert_with(|| Builder::new(content));
                // All parts of a file are in one pack.
                let full = match builder.has_room_for(parts) {
                    true => None,
                    false => Some(std::mem::replace(builder, Builder::new(content))),
                };
                let before = builder.memory_bytes();
                builder.add_parts(job.identity.id(), parts);
                self.memory_bytes += builder.memory_bytes() - before;
                let is_full = builder.is_full();
                match full {
                    Some(builder) => Some(self.taken(&job.place, builder)),
                    None => self.full(&kind, is_full),
                }
            }
            Outcome::Unsettled => {
                self.done.unsettled += 1;
                None
            }
        }
    }

    fn full(&mut self, kind: &Kind, is_full: bool) -> Option<Full> {
        let kind = match is_full {
            true => kind.clone(),
            false if self.memory_bytes < self.memory_max_bytes => return None,
            false => {
                let largest = self
                    .growing
                    .iter()
                    .max_by_key(|(_, pack)| pack.memory_bytes());
                largest?.0.clone()
            }
        };
        let builder = self.growing.remove(&kind)?;
        Some(self.taken(&kind.0, builder))
    }

    /// Notes that a pack no longer grows.
    fn taken(&mut self, place: &Arc<Place>, builder: Builder) -> Full {
        self.memory_bytes = self.memory_bytes.saturating_sub(builder.memory_bytes());
        let place = Arc::clone(place);
        Full { place, builder }
    }

    /// Writes a pack. An error is kept until the end.
    pub(super) fn write(&mut self, place: &Place, bytes: &[u8]) {
        self.done.size_bytes += bytes.len() as u64;
        let written = self.store.write_pack(&place.guard, self.next, bytes);
        self.next += 1;
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    /// Writes what is left, and then removes the packs whose documents were moved.
    pub(super) fn finish(mut self, finder: Finder) -> Result<TextUpdated> {
        self.done.files += finder.covered;
        self.done.left_out += finder.too_large;
        let places = finder.places();
        let mut gone = finder.known.lost;
        for old in finder.known.packs {
            let is_here = |place: &&Arc<Place>| place.components == old.place.components;
            if !self.stays(&old, places.iter().find(is_here)) {
                gone.push(old.place);
            }
        }
        for ((place, _), builder) in std::mem::take(&mut self.growing) {
            if !builder.is_empty() {
                self.write(&place, &builder.finish());
            }
        }
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        gone.iter()
            .try_for_each(|place| self.store.remove_pack(place))?;
        Ok(self.done)
    }

    /// Returns whether an old pack stays. If not, the documents that are still there are moved to
    /// the growing pack of its place.
    fn stays(&mut self, old: &Old, place: Option<&Arc<Place>>) -> bool {
        let live = old.is_live.iter().filter(|is_live| **is_live).count();
        let content = old.pack.content();
        let kind = place.map(|place| (Arc::clone(place), content));
        let grows = (kind.as_ref()).is_some_and(|kind| self.growing.contains_key(kind));
        if live == old.is_live.len() && !(grows && live < SMALL_DOCS) {
            self.done.size_bytes += old.size_bytes;
            return true;
        }
        let (Some(kind), true) = (kind, live > 0) else {
            return false;
        };
        let empty = || Builder::new(content);
        let mut builder = self.growing.remove(&kind).unwrap_or_else(empty);
        if builder.is_full() || builder.docs() + live > DOCS_MAX as usize {
            let full = std::mem::replace(&mut builder, empty());
            self.write(&kind.0, &full.finish());
        }
        // The documents of a damaged pack are read again by the next update.
        let moved = builder.absorb(&old.pack, |at| old.is_live[at]);
        if moved.is_err() {
            self.done.files = self.done.files.saturating_sub(old.live_files());
        }
        self.growing.insert(kind, builder);
        false
    }
}
