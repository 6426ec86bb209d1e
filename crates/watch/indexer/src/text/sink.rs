//! Finds the files that are to be read: the sink of a walk.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use trawl_format::{IndexError, layout};
use trawl_grams::{Identity, Stamp};
use trawl_model::guard::Element;
use trawl_model::placement::{GuardId, Placer};
use trawl_model::sink::SourceRoot;
use trawl_model::{Acl, DirAccess, DirBatch, DirId, Entry, FileType, Issue, Meta, Sink, Timestamp};
use trawl_writer::TextStore;

use super::known::Known;

/// The guard of a pack.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) guard: Vec<Element>,
    pub(super) components: Vec<String>,
}

/// A file to read.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) path: Vec<u8>,
    pub(super) identity: Identity,
    pub(super) place: Arc<Place>,
    /// A document that may be this file's, as it was before the file was moved.
    pub(super) before: Option<Before>,
}

impl Job {
    /// Returns the last component of the path.
    pub(super) fn name(&self) -> &[u8] {
        trawl_model::path::split(&self.path).map_or(&self.path, |(_, name)| name)
    }
}

/// A document of a pack, whose file may have been moved since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Before {
    /// Number of the pack among those that exist, and of the document in it.
    pub(super) pack: usize,
    pub(super) number: usize,
    /// Hash of the file's bytes.
    pub(super) content_hash: u128,
}

/// What packs know of a file.
pub(super) enum Covering {
    /// A pack has its document.
    Covered,
    /// No pack has it, unless this is it.
    Unknown(Option<Before>),
}

/// The documents of packs that exist.
pub(super) trait Covered {
    /// Returns whether a pack behind this guard has the document of a file with this name, and notes
    /// that it is still there.
    fn cover(&mut self, place: &Arc<Place>, identity: &Identity, name: &[u8]) -> Covering;
}

/// Decides which files are read.
pub(super) struct Finder<K = Known> {
    root: Vec<u8>,
    placer: Placer,
    /// Number of elements of the guard of the source as a whole.
    above: usize,
    places: HashMap<GuardId, Arc<Place>>,
    max_bytes: u64,
    pub(super) known: K,
    pub(super) covered: u64,
    pub(super) too_large: u64,
}

impl<K: Covered> Finder<K> {
    pub(super) fn new(root: &[u8], known: K, max_bytes: u64) -> Finder<K> {
        Finder {
            root: root.to_vec(),
            placer: Placer::new(root, &[]),
            above: 0,
            places: HashMap::new(),
            max_bytes,
            known,
            covered: 0,
            too_large: 0,
        }
    }

    /// Returns all places met, one for each guard.
    pub(super) fn places(&self) -> Vec<Arc<Place>> {
        let mut places: Vec<Arc<Place>> = self.places.values().cloned().collect();
        // Several guards of rows can have the same guard of packs.
        places.sort_by(|a, b| a.components.cmp(&b.components));
        places.dedup();
        places
    }

    fn place(&mut self, guard: GuardId) -> Arc<Place> {
        let (placer, above) = (&self.placer, self.above);
        let place = self.places.entry(guard).or_insert_with(|| {
            let mut elements = placer.guard(guard).0;
            let rows = elements.split_off(above.min(elements.len()));
            // The source's directory already lies behind the guard of the directories above the root.
            // When one of them is opened, it is moved to where more users may pass, and the packs with
            // it. So packs repeat the predicates of that guard. They do not repeat its name barriers,
            // which would shut out users who may pass but not list.
            elements.retain(|element| matches!(element, Element::Predicate(_)));
            elements.extend(rows);
            let guard = TextStore::guard_of(&elements);
            let components = layout::data_components(&guard);
            Arc::new(Place { guard, components })
        });
        Arc::clone(place)
    }

    /// Returns the files of a batch that no pack covers.
    fn jobs(&mut self, batch: &DirBatch) -> Vec<Job> {
        if batch.fragment == 0 {
            self.placer
                .enter(batch.dir, batch.parent, &batch.path, &batch.access);
        }
        let rows = self.placer.place(batch.dir);
        let mut jobs = Vec::new();
        for entry in &batch.entries {
            if entry.meta.file_type() != FileType::Regular {
                continue;
            }
            if entry.meta.size > self.max_bytes {
                self.too_large += 1;
                continue;
            }
            let guard = self.placer.value_guard(rows, &access_of(batch, entry));
            let place = self.place(guard);
            let identity = identity(&entry.meta);
            let name = batch.bytes(entry.name);
            match self.known.cover(&place, &identity, name) {
                Covering::Covered => self.covered += 1,
                Covering::Unknown(before) => jobs.push(Job {
                    path: [&batch.path[..], b"/", name].concat(),
                    identity,
                    place,
                    before,
                }),
            }
        }
        jobs
    }
}

fn access_of(batch: &DirBatch, entry: &Entry) -> DirAccess {
    DirAccess {
        mode: entry.meta.mode,
        uid: entry.meta.uid,
        gid: entry.meta.gid,
        acl: Acl::parse(batch.bytes(entry.acl)),
    }
}

fn identity(meta: &Meta) -> Identity {
    let stamp = |time: Timestamp| Stamp {
        secs: time.secs,
        nanos: time.nanos,
    };
    Identity {
        dev: meta.dev.as_u64(),
        ino: meta.ino,
        size_bytes: meta.size,
        mtime: stamp(meta.mtime),
        ctime: stamp(meta.ctime),
    }
}

/// The sink: passes files to the threads that read them.
pub(super) struct Feed<'f, K = Known> {
    pub(super) finder: &'f mut Finder<K>,
    pub(super) sender: SyncSender<Vec<Job>>,
}

impl<K: Covered> Sink for Feed<'_, K> {
    type Error = IndexError;

    fn root(&mut self, root: SourceRoot) -> Result<(), IndexError> {
        if root.path != self.finder.root {
            return Err(IndexError::Order {
                path: root.path,
                problem: "it is not the root of the source",
            });
        }
        self.finder.placer = Placer::new(&root.path, &root.above);
        let above = self.finder.placer.root_guard();
        self.finder.above = self.finder.placer.guard(above).0.len();
        Ok(())
    }

    fn batch(&mut self, batch: DirBatch) -> Result<(), IndexError> {
        let jobs = self.finder.jobs(&batch);
        if !jobs.is_empty() {
            // The threads outlive the walk.
            let _ = self.sender.send(jobs);
        }
        Ok(())
    }

    fn subtree_done(&mut self, dir: DirId) -> Result<(), IndexError> {
        self.finder.placer.done(dir);
        Ok(())
    }

    fn issue(&mut self, _: Option<DirId>, _: Issue) -> Result<(), IndexError> {
        Ok(())
    }
}
