//! Up to which moment of its file system a source's index has everything, where the file system
//! numbers its moments (btrfs): so that what changed since can be asked for.
//!
//! A moment is only kept beside a snapshot once everything that the snapshot saw is on the disk: a
//! crash takes back what is not, and gives its numbers to other changes. That may take seconds, so
//! nobody waits for it but a daemon that ends. And one is only reached by
//! what tells of everything: a scan, or a round of a source that sees every change, in which files
//! that others have open for writing were looked at, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use trawl_apply::Note;
use trawl_index::SnapshotId;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Moments {
    root: Vec<u8>,
    /// The file system has such.
    are_there: bool,
    /// The source sees every change, as it is open now.
    sees_all: Arc<AtomicBool>,
    /// Everything that changed before it is in the index.
    reached: Option<Note>,
    /// When the last round began: what its barrier told of came later or before.
    last: Option<Note>,
    /// Of a snapshot.
    kept: Option<(SnapshotId, Note)>,
    /// The same of one that is not on the disk yet.
    settling: Option<Settling>,
}

/// A snapshot's moment while the disk is waited for.
#[derive(Debug)]
struct Settling {
    id: SnapshotId,
    note: Note,
    /// Whether it worked.
    done: JoinHandle<bool>,
}

impl Moments {
    /// For the source with this root; `noted` is of the snapshot that is current.
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

    /// The current snapshot is of a scan that was begun in this moment.
    pub(crate) fn scanned(&mut self, moment: Option<Note>, id: Option<SnapshotId>) {
        self.reach(moment);
        if let Some(id) = id {
            self.keep(id);
        }
    }

    /// This one.
    pub(crate) fn now(&self) -> Option<Note> {
        match self.are_there {
            true => Note::now(&self.root),
            false => None,
        }
    }

    /// Everything that changed before this one is in the index.
    pub(crate) fn reach(&mut self, moment: Option<Note>) {
        self.reached.clone_from(&moment);
        self.last = moment;
    }

    /// Everything is in that a round's barrier told of, which ended before this one: and so is what
    /// changed before the round before began.
    pub(crate) fn applied(&mut self, moment: Option<Note>) {
        if !self.sees_all.load(Ordering::Relaxed) {
            self.last = None;
            return;
        }
        if let Some(last) = std::mem::replace(&mut self.last, moment) {
            self.reached = Some(last);
        }
    }

    /// The last one that was reached.
    pub(crate) fn reached(&self) -> Option<&Note> {
        self.reached.as_ref()
    }

    /// A snapshot is current that has all up to there.
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

    /// What is to be known of a snapshot by the next daemon, as far as it is on the disk.
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

/// The moment before a scan, where there are such.
pub(crate) fn before(root: &[u8]) -> Option<Note> {
    Note::now(root)
}
