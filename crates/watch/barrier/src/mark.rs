//! Keeps the mark file, which tells the next daemon whether all changes that were read had been
//! published, however the previous daemon ended.
//!
//! The mark says *unclean* from before the first change is read until all changes read are
//! published. Unread changes lie in the kernel's queue; the rest of the mark tells whether the
//! queue is still the same one. The mark is never synced: after the machine has stopped, the boot
//! id differs and the queue is gone.
//!
//! The file also holds the applier's note about the current snapshot ([`noted`]).

use std::hash::{DefaultHasher, Hasher};

use trawl_format::{SnapshotId, Watching};

const FIRST_LINE: &str = "trawl watch 1";

/// File with the id of the current boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The mark file. See the module's documentation.
#[derive(Debug)]
pub(crate) struct Mark {
    place: Watching,
    boot: String,
    /// Identity of the source as it is mounted now.
    identity: String,
    is_clean: bool,
    /// Snapshot of the index at the last clean mark.
    snapshot: Option<SnapshotId>,
    /// The line with the note about a snapshot.
    note: String,
}

/// Returns the note that the previous daemon's applier left, with the snapshot it is about, however
/// that daemon ended. Returns `None` if there is no note, or if the daemon was killed while it
/// wrote one.
#[must_use]
pub fn noted(place: &Watching) -> Option<(SnapshotId, String)> {
    let left = place.state();
    let text = std::str::from_utf8(&left).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(NOTE))?;
    let (sum, noted) = line.split_once(' ')?;
    if text.lines().next() != Some(FIRST_LINE) || sum != checksum(noted) {
        return None;
    }
    let (id, words) = noted.split_once(' ')?;
    Some((id.parse().ok()?, words.to_owned()))
}

const NOTE: &str = "note ";

/// Maximum bytes of a note; the whole mark has 512.
const NOTE_BYTES: usize = 192;

/// Returns a checksum that reveals a partly written note, since writing a mark is not atomic.
fn checksum(noted: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(noted.as_bytes());
    format!("{:016x}", hasher.finish())
}

/// Whether the index can be trusted, apart from changes that wait in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// All changes that were read were published.
    Known,
    /// The index cannot be trusted, for this reason.
    Unknown(&'static str),
}

impl Mark {
    /// Reads the mark that was left and marks the source as unclean.
    pub(crate) fn begin(place: Watching, identity: &str) -> (Mark, Past) {
        let left = place.state();
        // Without a boot id, another boot cannot be told from this one; then nothing is trusted.
        let boot = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        let mut mark = Mark {
            place,
            boot: boot.trim().to_owned(),
            identity: identity.to_owned(),
            is_clean: true,
            snapshot: None,
            note: String::new(),
        };
        mark.note = noted(&mark.place).map_or(String::new(), line_of);
        let past = mark.judge(&left);
        mark.unclean();
        (mark, past)
    }

    fn judge(&self, left: &[u8]) -> Past {
        let text = String::from_utf8_lossy(left);
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Past::Unknown("it was not watched before");
        }
        let mut value = |key: &str| {
            let line = lines.next().unwrap_or_default();
            line.strip_prefix(key).unwrap_or_default().trim().to_owned()
        };
        let [state, boot, identity] = ["state", "boot", "source"].map(&mut value);
        if boot.is_empty() || boot != self.boot {
            return Past::Unknown("the system was restarted since it was last watched");
        }
        if identity != self.identity {
            return Past::Unknown("it was remounted or replaced since it was last watched");
        }
        match &state[..] {
            "clean" => Past::Known,
            _ => Past::Unknown("the daemon that watched it was killed"),
        }
    }

    /// Records a new identity of the source.
    pub(crate) fn identify(&mut self, identity: &str) {
        identity.clone_into(&mut self.identity);
        self.is_clean = true;
        self.unclean();
    }

    /// Marks the source as unclean. Must be called before changes are read that are not published.
    pub(crate) fn unclean(&mut self) {
        if self.is_clean {
            self.is_clean = false;
            self.snapshot = None;
            self.write();
        }
    }

    /// Marks that all changes read are published.
    pub(crate) fn clean(&mut self, snapshot: Option<SnapshotId>) {
        if !self.is_clean {
            self.is_clean = true;
            self.snapshot = snapshot;
            self.write();
        }
    }

    /// Stores the note about a snapshot for the next daemon, in case this one is killed.
    pub(crate) fn note(&mut self, noted: Option<(SnapshotId, String)>) {
        let line = noted.map_or(String::new(), line_of);
        if line != self.note {
            self.note = line;
            self.write();
        }
    }

    fn write(&self) {
        let Mark { boot, identity, .. } = self;
        let state = if self.is_clean { "clean" } else { "unclean" };
        let snapshot = self.snapshot.map_or(String::new(), |id| id.to_string());
        let note = &self.note;
        let text = format!(
            "{FIRST_LINE}\nstate {state:<7}\nboot {boot}\nsource {identity}\nsnapshot {snapshot:<16}\n{note}"
        );
        self.place.set_state(text.as_bytes());
    }
}

fn line_of((id, words): (SnapshotId, String)) -> String {
    let noted = format!("{id} {words}");
    match noted.len() <= NOTE_BYTES && !noted.contains('\n') {
        true => format!("{NOTE}{} {noted}\n", checksum(&noted)),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_format::Readers;
    use trawl_model::Timestamp;

    #[test]
    fn only_a_clean_end_of_the_same_source_is_trusted() {
        let scratch = trawl_testkit::Scratch::new("mark");
        let index =
            trawl_writer::create_index(&scratch.join("index"), Some(Readers::Owner)).unwrap();
        let source = trawl_writer::add_source(&index, b"/s", &[], Timestamp::default()).unwrap();
        let begin = |identity| {
            let place = Watching::begin(&index, &source).unwrap();
            Mark::begin(place, identity)
        };
        let known = |past| past == Past::Known;
        let (mut mark, past) = begin("fs 1");
        assert!(!known(past), "the first time");
        mark.clean(Some(SnapshotId(7)));
        drop(mark);
        let (mark, past) = begin("fs 1");
        assert!(known(past), "after a clean end");
        drop(mark);
        let (mut mark, past) = begin("fs 1");
        assert!(!known(past), "after a beginning without an end");
        mark.clean(None);
        mark.unclean();
        drop(mark);
        let (mut mark, past) = begin("fs 1");
        assert!(!known(past), "something was read");
        mark.clean(None);
        drop(mark);
        let (mut mark, past) = begin("fs 2");
        assert!(!known(past), "another file system");
        mark.clean(None);
        let text = String::from_utf8(mark.place.state()).unwrap();
        let elsewhere = text.replace(&mark.boot, "another-boot");
        mark.place.set_state(elsewhere.as_bytes());
        drop(mark);
        assert!(!known(begin("fs 2").1), "another boot");
    }

    #[test]
    fn a_note_outlives_the_daemon_and_is_whole_or_none() {
        let scratch = trawl_testkit::Scratch::new("note");
        let index =
            trawl_writer::create_index(&scratch.join("index"), Some(Readers::Owner)).unwrap();
        let source = trawl_writer::add_source(&index, b"/s", &[], Timestamp::default()).unwrap();
        let place = || Watching::begin(&index, &source).unwrap();
        let (mut mark, _) = Mark::begin(place(), "fs 1");
        assert_eq!(noted(&mark.place), None);
        let note = Some((SnapshotId(7), "words of any kind 12".to_owned()));
        mark.note(note.clone());
        mark.clean(Some(SnapshotId(7)));
        mark.unclean();
        drop(mark);
        assert_eq!(noted(&place()), note);
        let (mark, _) = Mark::begin(place(), "fs 2");
        assert_eq!(noted(&mark.place), note);
        let text = String::from_utf8(mark.place.state()).unwrap();
        mark.place.set_state(text.replace("12", "13").as_bytes());
        drop(mark);
        assert_eq!(noted(&place()), None, "half written");
        let (mut mark, _) = Mark::begin(place(), "fs 2");
        mark.note(Some((SnapshotId(8), "x".repeat(NOTE_BYTES))));
        assert_eq!(noted(&mark.place), None, "too long");
    }
}
