//! The moment of its file system up to which a source's index has all changes, where the file
//! system numbers its moments (btrfs). Later changes can then be asked for.
//!
//! A moment is noted with a snapshot only once everything that the snapshot saw is on disk: a crash
//! undoes changes that are not, and reuses their numbers for other changes. Waiting for the disk
//! may take seconds, so only a daemon that is ending waits for it. A moment is reached only by work
//! that covers all changes: a scan, or a round of a source that sees every change, if the round
//! also looked at files that others have open for writing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use trawl_delta::Note;
use trawl_format::SnapshotId;

/// Moments of a source, as described in the module's documentation.
#[derive(Debug)]
pub(crate) struct Moments {
    root: Vec<u8>,
    /// Whether the file system numbers its moments.
    are_there: bool,
    /// Whether the source, as it is open now, sees every change.
    sees_all: Arc<AtomicBool>,
    /// The index has everything that changed before this moment.
    reached: Option<Note>,
    /// Moment at which the last round began; changes that its barrier reported may be older or newer.
    last: Option<Note>,
    /// Moment of a snapshot that is on disk.
    kept: Option<(SnapshotId, Note)>,
    /// Moment of a snapshot that is not on disk yet.
    settling: Option<Settling>,
}

/// A snapshot's moment while it waits for the disk.
#[derive(Debug)]
struct Settling {
    id: SnapshotId,
    note: Note,
    /// Thread that waits for the disk, and returns whether everything is on it.
    done: JoinHandle<bool>,
}

impl Moments {
    /// Creates the moments of the source with this root; `noted` belongs to the current snapshot.
    pub(crate) fn new(
        root: &[u8],
        noted: Option<(SnapshotId, String)>,
        sees_all: Arc<AtomicBool>,
    ) -> Moments {
        let noted = noted.and_then(|(id, text)| Some((id, Note::parse(&text)?)));
        Moments {
            root: root.to_vec(),
            are_there: Note::now(root).is_some(),
            sees_all,
            reached: noted.as_ref().map(|(_, note)| note.clone()),
            last: None,
            kept: noted,
            settling: None,
        }
    }

    /// Records that the current snapshot is of a scan that began at this moment.
    pub(crate) fn scanned(&mut self, moment: Option<Note>, id: Option<SnapshotId>) {
        self.reach(moment);
        if let Some(id) = id {
            self.keep(id);
        }
    }

    /// Returns the present moment.
    pub(crate) fn now(&self) -> Option<Note> {
        match self.are_there {
            true => Note::now(&self.root),
            false => None,
        }
    }

    /// Records that the index has everything that changed before this moment.
    pub(crate) fn reach(&mut self, moment: Option<Note>) {
        self.reached.clone_from(&moment);
        self.last = moment;
    }

    /// Records that a round was applied that began at this moment. The index then has everything
    /// that changed before the previous round began.
    pub(crate) fn applied(&mut self, moment: Option<Note>) {
        if !self.sees_all.load(Ordering::Relaxed) {
            self.last = None;
            return;
        }
        if let Some(last) = std::mem::replace(&mut self.last, moment) {
            self.reached = Some(last);
        }
    }

    /// Returns the last moment that was reached.
    pub(crate) fn reached(&self) -> Option<&Note> {
        self.reached.as_ref()
    }

    /// Records that the current snapshot has everything up to the moment that was reached.
    pub(crate) fn keep(&mut self, id: SnapshotId) {
        (self.kept, self.settling) = (None, None);
        let Some(note) = self.reached.clone() else {
            return;
        };
        let root = self.root.clone();
        let waiter = thread::Builder::new().name("commit".to_owned());
        let done = waiter.spawn(move || Note::settle(&root));
        self.settling = done.ok().map(|done| Settling { id, note, done });
    }

    /// Returns what the next daemon needs to know about the snapshot, if it is on disk.
    pub(crate) fn noted(&mut self) -> Option<(SnapshotId, String)> {
        let is_done = |settling: &mut Settling| settling.done.is_finished();
        if let Some(settled) = self.settling.take_if(is_done) {
            self.take(settled);
        }
        let kept = self.kept.as_ref();
        kept.map(|(id, note)| (*id, note.to_string()))
    }

    /// Waits for the disk.
    pub(crate) fn settle(&mut self) {
        if let Some(settling) = self.settling.take() {
            self.take(settling);
        }
    }

    fn take(&mut self, settling: Settling) {
        let Settling { id, note, done } = settling;
        if done.join().is_ok_and(|is_on_disk| is_on_disk) {
            self.kept = Some((id, note));
        }
    }
}

/// Returns the moment before a scan; `None` if the file system does not number its moments.
pub(crate) fn before(root: &[u8]) -> Option<Note> {
    Note::now(root)
}
