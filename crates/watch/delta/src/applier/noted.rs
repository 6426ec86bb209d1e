//! Forwards rows from the scanner to a round, counts them, and notes the entries that others depend
//! on.

use trawl_format::{GuardStep, IndexError};
use trawl_model::sink::{PartSink, SourceRoot};
use trawl_model::{DirAccess, DirBatch, DirId, FileType, IdMap, Issue, Sink};
use trawl_query::DirObject;
use trawl_scan::Extent;
use trawl_writer::live::Round;

use super::Applied;
use super::moved::Shut;
use super::named::Settling;
use crate::access;
use crate::known::{KnownEntry, Listing};

/// The entries of a listing that others depend on.
#[derive(Default)]
pub(super) struct NotedEntries {
    /// The directory.
    pub(super) dir: Option<DirId>,
    /// The entries by name.
    pub(super) entries: Vec<(Vec<u8>, KnownEntry)>,
}

/// A directory that was found and that not everybody may list and pass.
pub(super) struct Closed {
    pub(super) path: Vec<u8>,
    /// Guards of the shards where its listing belongs.
    pub(super) places: [Vec<GuardStep>; 2],
}

/// Returns the part of a batch that describes the directory itself.
pub(super) fn head_of(batch: &DirBatch) -> DirBatch {
    DirBatch {
        dir: batch.dir,
        parent: batch.parent,
        path: batch.path.clone(),
        access: batch.access.clone(),
        own: batch.own,
        ..DirBatch::default()
    }
}

/// A sink that forwards batches, counts them, and notes the entries of one listing in the form in
/// which the index will have them.
pub(super) struct Noted<'a, 'w> {
    pub(super) round: &'a mut Round<'w>,
    pub(super) applied: &'a mut Applied,
    pub(super) id_map: Option<&'a IdMap>,
    /// The directory whose listing is noted, if any.
    pub(super) dir: Option<&'a [u8]>,
    /// The entries that the index had of it.
    pub(super) known: &'a Listing,
    pub(super) found: NotedEntries,
    /// Whether the first batch of that directory is held back because rows are to be added to it.
    pub(super) is_part: bool,
    /// The batch held back.
    pub(super) held: Option<DirBatch>,
    /// Directories whose access decides where the rows are placed.
    pub(super) met: &'a mut Vec<(Vec<u8>, DirAccess)>,
    pub(super) settling: &'a mut Settling,
    pub(super) extent: Extent,
    /// Directories of a subtree that not everybody may list and pass.
    pub(super) closed: Vec<Closed>,
    /// Directories among them that not everybody can reach.
    pub(super) shut: &'a mut Shut,
}

impl Noted<'_, '_> {
    fn note(&mut self, batch: &DirBatch) {
        for entry in &batch.entries {
            let name = batch.bytes(entry.name);
            let is_dir = entry.meta.file_type() == FileType::Directory;
            if is_dir || self.known.has(name) {
                let now = KnownEntry::of_entry(batch, entry);
                self.found.entries.push((name.to_vec(), now));
            }
        }
    }
}

impl Noted<'_, '_> {
    /// Notes a directory of a subtree, from its first batch.
    fn note_closed(&mut self, batch: &DirBatch) {
        let is_first = self.extent == Extent::Subtree && batch.fragment == 0;
        let Some(above) = batch.parent.filter(|_| is_first) else {
            return;
        };
        let mut access = batch.access.clone();
        if let Some(map) = self.id_map {
            map.apply_access(&mut access);
        }
        let is_open = access::is_open(&access);
        if is_open && self.round.is_for_all(above) {
            return;
        }
        let guards = self.round.guards_of(above, &batch.path, &access);
        if !is_open {
            let places = guards.each_ref().map(GuardStep::of_guard);
            let path = batch.path.clone();
            self.closed.push(Closed { path, places });
        }
        let object = DirObject::of(&batch.own);
        self.shut.note(object, &batch.path, guards);
    }

    /// Notes a batch and forwards it.
    pub(super) fn pass(&mut self, batch: DirBatch) -> std::result::Result<(), IndexError> {
        if self.dir == Some(&batch.path[..]) {
            match self.id_map {
                None => self.note(&batch),
                Some(map) => {
                    let mut mapped = batch.clone();
                    map.apply(&mut mapped);
                    self.note(&mapped);
                }
            }
        }
        self.round.batch(batch)
    }
}

impl Sink for Noted<'_, '_> {
    type Error = IndexError;

    fn root(&mut self, root: SourceRoot) -> std::result::Result<(), IndexError> {
        self.round.root(root)
    }

    fn batch(&mut self, batch: DirBatch) -> std::result::Result<(), IndexError> {
        self.applied.directories += u64::from(batch.fragment == 0);
        self.applied.entries += batch.entries.len() as u64;
        self.settling.note(&batch, self.extent);
        self.note_closed(&batch);
        if self.dir == Some(&batch.path[..]) {
            self.found.dir = Some(batch.dir);
            if batch.fragment == 0 {
                self.met.push((batch.path.clone(), batch.access.clone()));
                if self.is_part {
                    self.held = Some(batch);
                    return Ok(());
                }
            }
        }
        self.pass(batch)
    }

    fn subtree_done(&mut self, dir: DirId) -> std::result::Result<(), IndexError> {
        self.round.subtree_done(dir)
    }

    fn issue(&mut self, dir: Option<DirId>, issue: Issue) -> std::result::Result<(), IndexError> {
        self.round.issue(dir, issue)
    }
}

impl PartSink for Noted<'_, '_> {
    fn passed(
        &mut self,
        dir: DirId,
        parent: Option<DirId>,
        path: &[u8],
        access: &DirAccess,
    ) -> std::result::Result<(), IndexError> {
        self.met.push((path.to_vec(), access.clone()));
        self.round.passed(dir, parent, path, access)
    }
}
